"""How many clusters rows prove: by hand, against all sets of rows, and in honest releases."""

import tempfile
from itertools import combinations, pairwise
from pathlib import Path

import independent
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.datasets import make_ratings
from recveil.methods import SparseRows
from recveil.ratings import RatingScale
from recveil.verification import equivalence_classes, verify
from recveil.verification.equivalence_classes import DistinctRows

ROWS = st.dictionaries(st.integers(0, 5), st.integers(1, 3), min_size=1)


def collected(rows: list[dict], cuts: tuple[int, ...] = ()) -> DistinctRows:
    """Add rows, each the values of items, in blocks that begin at the cuts."""
    found = DistinctRows()
    for first, last in pairwise([0, *cuts, len(rows)]):
        block = [sorted(row.items()) for row in rows[first:last]]
        cells = np.array([cell for row in block for cell in row]).reshape(-1, 2)
        indptr = np.cumsum([0, *map(len, block)])
        found.add([repr(row).encode() for row in block], indptr, cells[:, 0], cells[:, 1] / 2)
    return found


def fewest_clusters(rows: list[dict], cuts: tuple[int, ...] = ()) -> int:
    return collected(rows, cuts).fewest_clusters()


def disagree(one: dict, other: dict) -> bool:
    return any(one[item] != other[item] for item in one.keys() & other.keys())


@pytest.mark.parametrize(
    ("rows", "fewest"),
    [
        ([], 0),
        ([{1: 3}], 1),
        # An item has two values: so there are two clusters.
        ([{1: 3}, {1: 4}], 2),
        # No item has more than two values, but any two rows disagree on one.
        ([{1: 1, 2: 1}, {1: 2, 3: 1}, {2: 2, 3: 2}], 3),
        # The last row agrees with the first, whose cluster may be its own.
        ([{1: 1, 2: 1}, {1: 2, 3: 1}, {2: 2, 3: 2}, {1: 1, 3: 2}], 3),
        # Rows without a common item may be of one cluster.
        ([{1: 1}, {2: 2}, {3: 3}], 1),
        # Short rows come last: the long ones disagree, the first agrees with both.
        ([{1: 1}, {2: 1, 3: 1}, {2: 2, 3: 1}], 2),
        # Only the values of an item prove three: the longest row agrees with two of them.
        ([{1: 1, 7: 1, 8: 1}, {2: 1}, {2: 2}, {2: 3}], 3),
        # Likes prove nothing.
        ([{1: 1, 2: 1}, {1: 1, 3: 1}], 1),
    ],
)
def test_by_hand(rows, fewest):
    assert fewest_clusters(rows) == independent.least_clusters(rows) == fewest


@settings(deadline=None)
@given(rows=st.lists(ROWS, max_size=7), data=st.data())
def test_no_more_than_the_largest_set_of_rows_that_disagree(rows, data):
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=2).map(sorted))
    found = fewest_clusters(rows, tuple(cuts))
    sets = (some for size in range(len(rows) + 1) for some in combinations(rows, size))
    proven = (some for some in sets if all(disagree(*two) for two in combinations(some, 2)))
    assert found <= max(map(len, proven))
    assert found == independent.least_clusters(rows)


@settings(deadline=None)
@given(
    values=st.lists(st.lists(st.integers(1, 4), min_size=9, max_size=9), min_size=1, max_size=6),
    seed=st.integers(0, 999),
)
def test_rows_of_so_many_clusters_never_prove_more(values, seed):
    rng, rows = np.random.default_rng(seed), []
    for _ in range(40):
        cluster = values[rng.integers(len(values))]
        rows.append({item: cluster[item] for item in np.flatnonzero(rng.random(9) < 0.6).tolist()})
    assert fewest_clusters([row for row in rows if row]) <= len(values)


@pytest.mark.parametrize("most", [0, 3])
def test_fewer_comparisons_prove_no_more(most, monkeypatch):
    rng = np.random.default_rng(1)
    rows = [dict(enumerate(row)) for row in rng.integers(1, 4, (60, 6)).tolist()]
    enough = fewest_clusters(rows)
    monkeypatch.setattr(equivalence_classes, "MOST_COMPARISONS", most)
    assert 3 <= fewest_clusters(rows) < enough


@settings(deadline=None, max_examples=5)
@given(
    seed=st.integers(0, 99),
    k=st.sampled_from([2, 5, 23]),
    size=st.sampled_from([20, 21, 40]),
    scale=st.sampled_from([(1, 5, 1), (0.5, 4, 0.5), (-10, 10, 0.01)]),
    likes=st.booleans(),
    layout=st.sampled_from(["users", "groups"]),
)
def test_honest_releases_hold(seed, k, size, scale, likes, layout):
    ratings = make_ratings(130, 40, 2_000, seed=seed, scale=RatingScale(*scale))
    release = SparseRows(k, size, seed=seed).anonymize(ratings.as_likes() if likes else ratings)
    with tempfile.TemporaryDirectory() as folder:
        release.write(Path(folder, "out"), layout=layout)
        verdict = verify(Path(folder, "out"))
        problems = list(independent.problems(Path(folder, "out")))
    assert verdict.holds, verdict.violations
    assert not problems


def test_equal_rows_are_kept_once():
    rows = collected([{1: 3, 2: 1}] * 50 + [{1: 4}], (20,))
    assert (rows.n_bytes, rows.fewest_clusters()) == (3 * 8, 2)
