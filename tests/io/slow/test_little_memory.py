"""Packed texts of few bytes that become many take no more memory than they may, of every kind."""

import gzip
import os

import numpy as np
import pytest

from error_assertions import raises
from recveil.auditing.auxiliary_file import read_knowledge
from recveil.io import read_levels, understand
from recveil.io.side_tables import read_trust, users_in_levels, users_in_trust
from recveil.methods import anonymize
from recveil.methods.synthetic.options import parse_item_catalog
from recveil.ratings import RatingScale
from recveil.runtime.memory import memory_limited
from recveil.verification import verify

USERS = np.array(["ann", "ben"], dtype=object)

LONG = "x" * 100_000

N = 3_000  # so that each is about 300 MB of text, and some hundred kilobytes as a file


def packed(tmp_path, name, lines, head=""):
    path = tmp_path / name
    with gzip.open(path, "wt", 1) as file:
        file.write(head)
        file.writelines(lines)
    assert path.stat().st_size < 3_000_000
    return path


@pytest.fixture
def little():
    with memory_limited("50MB"):
        yield


def refused(path):
    return raises("machine.memory", path.name)


def test_levels(tmp_path, little):
    path = packed(tmp_path, "levels.csv.gz", (f"{LONG}{n},2\n" for n in range(N)), "user_id,k\n")
    for read in (users_in_levels, lambda path: read_levels(path, USERS, 1)):
        with refused(path):
            read(path)


def test_levels_of_many_short_lines(tmp_path, little):
    path = packed(tmp_path, "levels.csv.gz", ("a,2\n" * 1_000 for _ in range(300)), "user_id,k\n")
    with refused(path):
        read_levels(path, USERS, 1)


def test_trust(tmp_path, little):
    path = packed(tmp_path, "trust.txt.gz", (f"ann {LONG}{n} 1\n" for n in range(N)))
    for read in (users_in_trust, lambda path: read_trust(path, USERS)):
        with refused(path):
            read(path)


def test_a_list_of_items(tmp_path, little):
    path = packed(tmp_path, "items.txt.gz", (f"{LONG}{n}\n" for n in range(N)))
    with refused(path):
        parse_item_catalog(path)


@pytest.mark.parametrize("column", ["user", "item", "time"])
def test_tables_and_outside_knowledge(tmp_path, little, column):
    """Of ids, each different one is kept, and of times as text, every one."""
    usual = {"user": "u", "item": "i", "rating": "4", "time": "2005-12-31"}
    ends = {name: "{}" if name == "item" else "" for name in usual} | {column: "{}"}

    def line(n):
        long = usual | {column: LONG}
        return ",".join(long[name] + ends[name].format(n) for name in usual) + "\n"

    head = ",".join(usual) + "\n"
    path = packed(tmp_path, "ratings.csv.gz", (line(n) for n in range(N)), head)
    for read in (understand, read_knowledge, lambda path: verify(path, k=2)):
        with refused(path):
            read(path)


def test_long_ids_of_few_users_are_no_harm(tmp_path, little):
    lines = (f"{LONG}{n % 2},{n},4\n" for n in range(N))
    path = packed(tmp_path, "ratings.csv.gz", lines, "user,item,rating\n")
    assert understand(path).ratings.n_users == 2


@pytest.mark.parametrize("name", ["release.json", "README.md", "classes.csv"])
def test_files_of_a_release_that_are_far_too_large(tmp_path, name):
    ratings = "user,item,rating\n1,1,4\n2,1,4\n1,2,3\n2,2,3\n"
    (tmp_path / "ratings.csv").write_text(ratings)
    anonymize(
        tmp_path / "ratings.csv",
        tmp_path / "out",
        k=2,
        method="predictive",
        seed=1,
        scale=RatingScale(1, 5, 1),
    )
    file = tmp_path / "out" / name
    os.truncate(file, 3 * 10**8)  # it takes no room on the disk
    if name == "release.json":
        with raises("release.damaged"):
            verify(tmp_path / "out")
        return
    found = verify(tmp_path / "out")
    assert not found.holds
    assert name in " ".join(violation.where for violation in found.violations)
