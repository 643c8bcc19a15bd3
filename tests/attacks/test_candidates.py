import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.attacks import Candidates, candidates
from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records


def test_by_hand():
    # ann: heat 4, up 2; ben: heat 5; cid: up 2. By item: heat ann 4, ben 5; up ann 2, cid 2.
    ratings = Ratings.from_columns(
        ["ann", "ann", "ben", "cid"], ["heat", "up", "heat", "up"], [4, 2, 5, 2], days=[9, 8, 7, 6]
    )
    found = Candidates.from_ratings(ratings)
    assert found.indptr.tolist() == [0, 2, 4]
    assert found.records.tolist() == [0, 1, 0, 2]
    assert found.levels[found.codes].tolist() == [4, 5, 2, 2]
    assert found.days.tolist() == [9, 7, 8, 6]
    assert found.support.tolist() == [2, 2]
    assert found.activity.tolist() == [2, 1, 1]
    assert (found.n_records, found.n_users) == (3, 3)


def test_support_counts_users_not_records():
    block = Records(
        np.array([2, 5]), np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([4, 3, 2.5])
    )
    found = Candidates.from_records([block, block], n_items=3, scale=RatingScale(1, 5))
    assert found.support.tolist() == [4, 14, 0]
    assert (found.n_records, found.n_users) == (4, 14)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000))
def test_every_rating_is_listed_once(seed):
    ratings = make_ratings(n_users=20, n_items=15, n_ratings=90, seed=seed)
    found = Candidates.from_ratings(ratings)
    matrix = np.zeros((20, 15))
    for item in range(15):
        own = slice(found.indptr[item], found.indptr[item + 1])
        assert (np.diff(found.records[own]) > 0).all()
        matrix[found.records[own], item] = found.levels[found.codes[own]]
    assert np.array_equal(matrix, ratings.csr.toarray())


@pytest.mark.parametrize("at_a_time", [1, 7, 1 << 14])
def test_equal_records_have_equal_numbers(monkeypatch, at_a_time):
    monkeypatch.setattr(candidates, "_RECORDS_AT_A_TIME", at_a_time)
    ratings = make_ratings(n_users=60, n_items=4, n_ratings=100, seed=2)
    rows = [tuple(row) for row in ratings.csr.toarray().tolist()]
    first = {row: rows.index(row) for row in rows}
    found = Candidates.from_ratings(ratings).classes()
    assert 1 < len(first) < 60
    assert found.tolist() == [list(first).index(row) for row in rows]


@pytest.mark.parametrize(("n_levels", "dtype"), [(2, np.uint8), (256, np.uint8), (257, np.uint16)])
def test_codes_are_as_small_as_the_labels_allow(n_levels, dtype):
    values = np.linspace(0, 1, n_levels)
    ratings = Ratings.from_columns(np.arange(n_levels), np.zeros(n_levels, int), values)
    found = Candidates.from_ratings(ratings)
    assert found.codes.dtype == dtype
    assert np.allclose(found.levels[found.codes], values)


def test_very_many_labels_are_rounded_by_a_hair():
    n = 100_000
    values = np.random.default_rng(0).uniform(-10, 10, n).astype(np.float32)
    ratings = Ratings.from_columns(np.arange(n), np.zeros(n, int), values)
    found = Candidates.from_ratings(ratings)
    assert found.levels.size < n
    assert np.abs(found.levels[found.codes] - values).max() < 20 / 30_000
