"""Histories of releases that follow each other, and a second opinion on what they reveal together.

The oracle reads private folders and published rows by itself, and intersects by brute force.
"""

import csv
import itertools
import json
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from hypothesis import strategies as st

from recveil.attacks.membership.inference import only
from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings
from recveil.release.coverage import CoverageWarning
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

N_RELEASES, N_USERS = 10, 70
RATINGS = make_ratings(n_users=N_USERS, n_items=24, n_ratings=800, seed=4)
LIKES = RATINGS.as_likes()
# Strata of attributes need more users.
MANY = make_ratings(n_users=150, n_items=24, n_ratings=1700, seed=4)
DECLARED = {"attribute": ["gender", "age"], "sensitive_attribute": "plan"}


@st.composite
def tables(draw, n_releases=N_RELEASES, n_users=N_USERS, first=(22, 45)):
    """Draw which users the table of each month has: some join, some leave, some come back."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_first = draw(st.integers(*first))
    joining, leaving = (
        draw(st.sampled_from([0.02, 0.1, 0.3])),
        draw(st.sampled_from([0, 0.05, 0.2])),
    )
    returning = draw(st.sampled_from([0.0, 0.3]))
    there = np.arange(n_users) < n_first
    known = there.copy()
    found = [np.flatnonzero(there)]
    for _ in range(n_releases - 1):
        chance = np.where(there, 1 - leaving, np.where(known, returning, joining))
        drawn = rng.random(n_users) < chance
        there = drawn if drawn.sum() >= 24 else there
        known |= there
        found.append(np.flatnonzero(there))
    return found


def declare(users: np.ndarray, month: int, file: Path) -> Path:
    """Write attributes of users, of whom a tenth has others than in the first month."""
    lines = ["user_id,gender,age,plan"]
    for user in users.tolist():
        rng = np.random.default_rng(user)
        if np.random.default_rng([user, month]).random() < 0.1:
            rng = np.random.default_rng([user, month, 1])
        age = ["young", "old", ""][rng.choice(3, p=[0.7, 0.25, 0.05])]
        plan = ["free", "basic", "pro", "max"][rng.choice(4, p=[0.4, 0.2, 0.2, 0.2])]
        lines.append(f"{user},{'FM'[rng.integers(2)]},{age},{plan}")
    file.write_text("\n".join([*lines, ""]))
    return file


def publish(
    history: list[np.ndarray],
    folder: Path,
    k: int,
    ratings: Ratings = RATINGS,
    **options: object,
) -> list[Path]:
    """Publish a series of releases; a month that lost too many users is skipped.

    Those of `MANY` have attributes.
    """
    written: list[Path] = []
    for month, users in enumerate(history):
        output = folder / f"month-{month}"
        previous = Path(f"{written[-1]}.private") if written else None
        table = only(ratings, users)
        if ratings is MANY:
            options |= {"users": declare(table.users, month, folder / "users.csv"), **DECLARED}
        options |= {"k": k, "seed": month, "previous": previous, "allow_sparse_coverage": True}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CoverageWarning)  # of suppressed attributes
                anonymize(table, output, **options)
        except RecveilError as error:
            if error.code not in ("release.mismatch", "table.too-few-users", "attribute.values"):
                raise
            continue
        if written:
            assert verify(output, against=written[-1], private=f"{output}.private").holds
        written.append(output)
    return written


def published_rows(release: Path) -> dict[str, tuple]:
    """Return each published row, with its attributes that are equal in a class, by its id."""
    rows: dict[str, list] = {}
    for row in pq.read_table(release / "ratings.parquet").to_pylist():
        rows.setdefault(row.pop("user_id"), []).append(tuple(row.values()))
    for user_id, row in attributes_of(release).items():
        rows[user_id].append(tuple(row[name] for name in DECLARED["attribute"]))
    return {user_id: tuple(row) for user_id, row in rows.items()}


def records_of(release: Path) -> dict[object, str]:
    """Return the published id of each user who has one."""
    assignment = pq.read_table(f"{release}.private/assignment.parquet").to_pylist()
    return {each["user_id"]: each["published_id"] for each in assignment}


def rows_of(release: Path) -> dict[object, tuple]:
    """Return the published row of each user who has one."""
    rows, records = published_rows(release), records_of(release)
    assert sorted(records.values()) == sorted(rows)
    return {user: rows[record] for user, record in records.items()}


def attributes_of(release: Path) -> dict[str, dict[str, str]]:
    """Return the published attributes by published id."""
    if not (release / "users.csv").is_file():
        return {}
    with (release / "users.csv").open(newline="") as file:
        return {row["user_id"]: row for row in csv.DictReader(file)}


def assert_diverse(releases: list[Path], l: int = 2) -> None:  # noqa: E741
    """Require that no differences of sensitive values show one of fewer than l.

    Users who were new in the same row have the same sensitive values in each release.
    """
    atom_of, plans_of = {}, []
    for release in releases:
        attributes = attributes_of(release)
        plan_of = {user: attributes[at]["plan"] for user, at in records_of(release).items()}
        classes = defaultdict(set)
        for user, row in rows_of(release).items():
            classes[row].add(user)
        for users in classes.values():
            plans = Counter(plan_of[user] for user in users)
            for atom in {atom_of[user] for user in users if user in atom_of}:
                assert plans >= plans_of[atom]
                plans -= plans_of[atom]
            atom_of |= dict.fromkeys(users - atom_of.keys(), len(plans_of))
            assert plans.total() == sum(atom_of[user] == len(plans_of) for user in users)
            known = plans.total() - plans["*"]
            assert all(n * l <= known for plan, n in plans.items() if plan != "*")
            plans_of.append(plans)


def fewest_candidates(releases: list[Path]) -> int:
    """Return the fewest users with the same rows in a set of releases, over all sets and users."""
    rows = [rows_of(release) for release in releases]
    users = sorted(set().union(*rows))
    # The row of each user in each release by a number; 0 for none.
    numbers = [{row: n for n, row in enumerate(set(each.values()), 1)} for each in rows]
    trail = [
        [
            number[each[user]] if user in each else 0
            for each, number in zip(rows, numbers, strict=True)
        ]
        for user in users
    ]
    fewest = len(users)
    for size in range(1, len(releases) + 1):
        for some in itertools.combinations(range(len(releases)), size):
            seen = Counter(tuple(path[at] for at in some) for path in trail)
            fewest = min([fewest, *(n for path, n in seen.items() if any(path))])
    return fewest


def figures_of(release: Path) -> dict[str, object]:
    """Return what became of the users of the releases before."""
    return json.loads(Path(f"{release}.private/private.json").read_text())["previous"]
