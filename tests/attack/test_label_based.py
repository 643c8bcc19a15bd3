import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.attack import match_known_ratings
from recveil.datasets import make_ratings
from recveil.errors import RecveilError
from recveil.ratings import Ratings


def test_by_hand():
    # ann: a5 b3 c1; ben: a5 b3 d2; cid: a5 b4 c1. Knowing all three ratings of ann, only ann
    # agrees; in a copy of ann, two do.
    rows = {"ann": "a5 b3 c1", "ben": "a5 b3 d2", "cid": "a5 b4 c1", "twin": "a5 b3 c1"}
    users, items, values = zip(
        *((user, label[0], int(label[1])) for user, row in rows.items() for label in row.split()),
        strict=True,
    )
    matches = match_known_ratings(Ratings.from_columns(users, items, values), known=3)
    assert matches.records.tolist() == [2, 1, 1, 2]
    assert matches.unique_share == 0.5


@given(known=st.integers(1, 6), seed=st.integers(0, 1_000))
def test_the_target_always_agrees_and_skipped_targets_count_as_not_found(known, seed):
    ratings = make_ratings(n_users=30, n_items=15, n_ratings=120, seed=seed)
    matches = match_known_ratings(ratings, known, seed)
    enough = ratings.activity >= known
    assert (matches.records[enough] >= 1).all()
    assert (matches.records[~enough] == 0).all()
    assert matches.skipped == (~enough).sum()
    assert matches.unique_share == np.mean(matches.records == 1)  # of all targets asked for


def test_full_exact_knowledge_finds_everyone_who_is_unique():
    ratings = make_ratings(n_users=60, n_items=20, n_ratings=240, seed=2)
    rows = [tuple(map(tuple, ratings.row(user))) for user in range(60)]
    for user, row in enumerate(rows):
        known = len(row[0])
        holders = sum(
            set(zip(*row, strict=True)) <= set(zip(*other, strict=True)) for other in rows
        )
        assert match_known_ratings(ratings, known).records[user] == holders


def test_more_knowledge_never_finds_fewer():
    ratings = make_ratings(n_users=400, n_items=100, n_ratings=12_000, seed=2)
    shares = [match_known_ratings(ratings, known).records.mean() for known in (1, 2, 4)]
    assert shares == sorted(shares, reverse=True)


def test_known_must_be_positive():
    with pytest.raises(RecveilError, match="known is 0"):
        match_known_ratings(make_ratings(10, 10, 20), known=0)
