"""Refined items lower what refining is said to lower, and come near its minimum."""

import numpy as np
import pytest
from users_here import UsersHere

from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale
from recveil.spark import embeddings
from recveil.spark.embeddings import (
    FACTOR_PENALTY,
    USER_PENALTY,
    ItemFactors,
    RatedItems,
    _bends,
    _slopes,
    refine_factors,
)

RATINGS = make_ratings(120, 30, 1500, seed=2, scale=RatingScale(1, 5, 1))


@pytest.fixture
def items():
    mean = float(RATINGS.values.mean())
    sums = np.bincount(RATINGS.indices, RATINGS.values - mean)
    return RatedItems(RATINGS.support, (mean + sums / (RATINGS.support + 5)).astype("f4"), mean)


@pytest.fixture
def known(items):
    factors = np.random.default_rng(0).normal(scale=0.3, size=(30, 4))
    return ItemFactors.of(items.offset, factors, RATINGS.scale)


def result(known, items):
    """What refining lowers: squared errors, and pulls."""
    of_users = known.fit_users(RATINGS)
    cells = of_users[RATINGS.user_positions()], known.factors[RATINGS.indices]
    errors = RATINGS.values - known.offset[RATINGS.indices] - np.einsum("ij,ij->i", *cells)
    pulls = (
        FACTOR_PENALTY * RATINGS.activity + USER_PENALTY,
        FACTOR_PENALTY * RATINGS.support + USER_PENALTY,
    )
    of_items = (known.factors[:, :-1] ** 2).sum(axis=1)
    means = 2 * ((known.offset - items.mean) ** 2).sum()
    return (errors**2).sum() + pulls[0] @ (of_users**2).sum(axis=1) + pulls[1] @ of_items + means


def test_each_move_lowers_errors_and_pulls(known, items, monkeypatch):
    all_users, values = UsersHere(RATINGS), [result(known, items)]
    monkeypatch.setattr(embeddings, "REFINED", 1)
    for _ in range(30):
        known = refine_factors(all_users, items, known)
        values.append(result(known, items))
    assert np.all(np.diff(values) < 1e-3)
    assert values[4] - values[-1] < 0.1 * (values[0] - values[-1])


def test_a_slope_is_that_of_errors(known, items):
    sums = _slopes(RATINGS, known) / 2**16
    of_users = known.fit_users(RATINGS).astype(float)
    own = np.hstack([of_users[:, :-1], np.ones((120, 1))])[RATINGS.user_positions()]
    cells = of_users[RATINGS.user_positions()], known.factors[RATINGS.indices]
    errors = RATINGS.values - known.offset[RATINGS.indices] - np.einsum("ij,ij->i", *cells)
    for item in range(30):
        rated = RATINGS.indices == item
        assert np.allclose(sums[item], errors[rated] @ own[rated], atol=1e-3)
    assert np.allclose(sums[30:], own.T @ own, atol=1e-2)
    ways = np.random.default_rng(1).normal(size=(30, 5)).astype("f4")
    along = np.einsum("ij,ij->i", own, ways[RATINGS.indices]) ** 2
    assert np.allclose(
        _bends(RATINGS, known, ways) / 2**16, np.bincount(RATINGS.indices, along), atol=1e-2
    )


def test_the_scale_changes_nothing(known, items):
    wide = RatingScale(0, 100, 25)
    ratings = Ratings.from_columns(
        RATINGS.user_positions(), RATINGS.indices, (RATINGS.values - 1) * 25, scale=wide
    )
    same = ItemFactors.of((known.offset - 1) * 25, known.factors[:, :-1], wide)
    of_wide = items._replace(offset=(items.offset - 1) * 25, mean=(items.mean - 1) * 25)
    here = refine_factors(UsersHere(RATINGS), items, known)
    there = refine_factors(UsersHere(ratings), of_wide, same)
    assert np.allclose(there.factors, here.factors * 25, atol=1e-2)
    assert np.allclose(there.offset, (here.offset - 1) * 25, atol=1e-2)


def test_what_distinguishes_users_by_little_is_learned(monkeypatch):
    """A pull by each rating takes away all that is weaker; it left nothing of large tables."""
    rng = np.random.default_rng(3)
    users, liked = np.unique(rng.integers(0, 1200, (500_000, 2)), axis=0).T
    likings, kinds = rng.normal(size=(2, 1200))
    result = 3 + 0.085 * likings[users] * kinds[liked] + rng.normal(0, 0.02, users.size)
    scale = RatingScale(1, 5, 0.01)
    ratings = Ratings.from_columns(users, liked, result.round(2).clip(1, 5), scale=scale)
    all_users = UsersHere(ratings)
    items = RatedItems.of(all_users)
    first = np.random.default_rng(0).normal(scale=0.1, size=(1200, 3))
    monkeypatch.setattr(embeddings, "REFINED", 8)
    known = refine_factors(all_users, items, ItemFactors.of(items.offset, first, scale))
    cells = known.fit_users(ratings)[ratings.user_positions()], known.factors[ratings.indices]
    left = ratings.values - known.offset[ratings.indices] - (cells[0] * cells[1]).sum(axis=1)
    assert left.std() < 0.065 < 0.085 < result.std()
