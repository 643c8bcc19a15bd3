"""Who only checks releases needs few libraries, and gets the same verdicts, to the byte."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import anonymize
from shared.verify_alone import LEFT_OUT, PROGRAM

STORED = Path(__file__).parents[1] / "verification"


MISSING = "numba is not installed: the verdict is the same, but large tables take longer\n"


def run(lines, hidden=()):
    command = [sys.executable, "-c", PROGRAM, json.dumps([list(hidden), lines])]
    surroundings = os.environ | {"COLUMNS": "80", "PYTHONWARNINGS": "error"}
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Releases of every kind, some of them forged, and files of other programs."""
    folder = tmp_path_factory.mktemp("alone")
    releases = [STORED / "arrow_18", *sorted(STORED.glob("format_[14]/*"))]
    for number, path in enumerate(releases[::3]):
        forged = shutil.copytree(path, folder / f"forged-{number}")
        for file in forged.glob("ratings.*"):
            content = file.read_bytes()
            file.write_bytes(content[:-200] + bytes([content[-200] ^ 1]) + content[-199:])
        releases.append(forged)
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=600, seed=1)
    likes = ratings.to_arrow().select(["user_id", "item_id"])
    diverse = {"k": 3, "method": "predictive", "b": 2, "l": 2, "homogenize": "simple"}
    anonymize(likes, folder / "likes", method="k-corating", k=3, seed=1)
    anonymize(ratings, folder / "diverse", **diverse, seed=1)
    releases += [folder / "likes", folder / "diverse"]
    write_ratings(ratings, folder / "plain.csv")
    write_ratings(ratings, folder / "plain.parquet")
    (folder / "odd.csv").write_bytes(b'user,item,rating\n1,7,"4"\r\n\n2,7,4\n3,"7",4\n3,8,1\n')
    plain = [
        ["verify", str(folder / "plain.csv"), "--k", "2", "--b", "3", "--l", "2"],
        ["verify", str(folder / "plain.parquet"), "--k", "2", "--claim", "co-rated"],
        ["verify", str(folder / "odd.csv"), "--k", "2"],
        ["verify", str(folder / "nothing.csv"), "--k", "2"],
        ["verify", str(folder / "diverse"), "--links"],
    ]
    return [["verify", str(path)] for path in releases] + plain


@pytest.fixture(scope="module")
def alone(lines):
    return run(lines, LEFT_OUT)


def test_the_verdicts_are_the_same_to_the_byte(lines, alone):
    with_all, loaded = run(lines)
    assert "numba" in loaded
    assert {code for code, _, _ in with_all} == {0, 1, 2}
    for line, (code, out, err), whole in zip(lines, alone[0], with_all, strict=True):
        assert err.startswith(MISSING), line
        assert [code, out, err.removeprefix(MISSING)] == whole, line


def test_other_verbs_name_what_they_lack(tmp_path):
    write_ratings(make_ratings(n_users=20, n_items=10, n_ratings=90), tmp_path / "r.csv")
    line = ["anonymize", str(tmp_path / "r.csv"), "-o", str(tmp_path / "out"), "--k", "3"]
    result, _ = run([line], LEFT_OUT)
    ((code, _, err),) = result
    assert code == 2
    assert re.search(r"error: [\w-]+ is not installed; only verify works without it", err)
    assert not (tmp_path / "out").exists()
