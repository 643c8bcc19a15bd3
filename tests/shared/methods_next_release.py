"""Histories of releases that follow each other, and a second opinion on what they reveal together.

The oracle reads private folders and published rows by itself, and intersects by brute force.
"""

import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from hypothesis import strategies as st

from recveil.attacks.membership.inference import only
from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

N_RELEASES, N_USERS = 10, 70
RATINGS = make_ratings(n_users=N_USERS, n_items=24, n_ratings=800, seed=4)
LIKES = RATINGS.as_likes()


@st.composite
def tables(draw, n_releases=N_RELEASES):
    """Draw which users the table of each month has: some join, some leave, some come back."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_first = draw(st.integers(22, 45))
    joining, leaving = (
        draw(st.sampled_from([0.02, 0.1, 0.3])),
        draw(st.sampled_from([0, 0.05, 0.2])),
    )
    returning = draw(st.sampled_from([0.0, 0.3]))
    there = np.arange(N_USERS) < n_first
    known = there.copy()
    found = [np.flatnonzero(there)]
    for _ in range(n_releases - 1):
        chance = np.where(there, 1 - leaving, np.where(known, returning, joining))
        drawn = rng.random(N_USERS) < chance
        there = drawn if drawn.sum() >= 24 else there
        known |= there
        found.append(np.flatnonzero(there))
    return found


def publish(
    history: list[np.ndarray], folder: Path, k: int, ratings: Ratings = RATINGS
) -> list[Path]:
    """Publish a series of releases; a month that lost too many users is skipped."""
    written: list[Path] = []
    for month, users in enumerate(history):
        output = folder / f"month-{month}"
        previous = Path(f"{written[-1]}.private") if written else None
        try:
            anonymize(
                *(only(ratings, users), output),
                k=k,
                seed=month,
                previous=previous,
                allow_sparse_coverage=True,
            )
        except RecveilError as error:
            if error.code not in ("release.mismatch", "table.too-few-users"):
                raise
            continue
        if written:
            assert verify(output, against=written[-1], private=f"{output}.private").holds
        written.append(output)
    return written


def rows_of(release: Path) -> dict[object, tuple]:
    """Return the published row of each user who has one."""
    rows: dict[str, list] = {}
    for row in pq.read_table(release / "ratings.parquet").to_pylist():
        rows.setdefault(row["user_id"], []).append((row["item_id"], row["rating"]))
    assignment = pq.read_table(f"{release}.private/assignment.parquet").to_pylist()
    assert sorted(each["published_id"] for each in assignment) == sorted(rows)
    return {each["user_id"]: tuple(rows[each["published_id"]]) for each in assignment}


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
