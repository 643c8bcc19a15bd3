"""Without `delta`, it is at most one over ten times the noisy number of users."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.methods import anonymize
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings
from recveil.release.ledger import epsilon_of
from recveil.release.synthetic_form import _is_split_by, default_delta, queries_of
from recveil.verification import verify

N_USERS = 120_000
OPTIONS = {"epsilon": 1.0, "n_users": 100, "ledger": "none"}
SHARES = [query.share for query in queries_of(likes=True)]


@pytest.fixture(scope="module")
def likes():
    """Three of twelve items per user, each four in a row."""
    users = np.arange(N_USERS)
    items = (users[:, None] * 5 + np.arange(3)) % 12
    return Ratings.from_columns(np.repeat(users, 3), items.ravel(), np.ones(3 * N_USERS)).as_likes()


@pytest.mark.parametrize(
    ("n_users", "expected"),
    [(1.0, 1e-6), (100_000, 1e-6), (100_001, 1e-7), (1_000_000, 1e-7), (1_000_001, 1e-8)],
)
def test_powers_of_ten(n_users, expected):
    assert default_delta(n_users) == expected <= 1 / (10 * n_users)


@pytest.mark.parametrize("catalog", ["as-rated", None])
def test_many_users_get_a_smaller_one_and_all_of_its_budget(likes, tmp_path, catalog):
    anonymize(likes, tmp_path / "out", item_catalog=catalog, **OPTIONS)
    assert verify(tmp_path / "out").violations == []
    claim = json.loads((tmp_path / "out" / "release.json").read_text())["claim"]
    queries, delta = claim["ledger"]["queries"], claim["delta"]
    assert (delta, claim["epsilon"]) == (1e-7, 1.0)
    threshold = claim["ledger"]["threshold_delta"]
    assert threshold == pytest.approx(0 if catalog else 1e-8)
    spent = epsilon_of(math.hypot(*(1 / query["sigma"] for query in queries)), delta - threshold)
    assert 1 - 1e-6 < spent <= 1.0
    # The first answer had the noise of the larger delta, before the number of users was known.
    at_first = Synthesizer(1.0, item_catalog=catalog).planned()
    assert queries[0]["sigma"] == pytest.approx(10 / at_first.mu, rel=1e-6)
    assert "at most" in (tmp_path / "out" / "README.md").read_text()


def test_a_given_delta_is_kept(likes):
    release = Synthesizer(1.0, 1e-6, item_catalog="as-rated", n_users=100, seed=1).anonymize(likes)
    assert release.published.claim.delta == 1e-6


def test_a_plan_needs_a_given_one(likes, tmp_path):
    plan = {"item_catalog": "as-rated", "n_users": 100, "releases": 2, "seed": 1}
    with raises("option.value", "at most 1e-07"):
        Synthesizer(1.0, **plan).anonymize(likes)
    release = Synthesizer(1.0, 1e-7, **plan).anonymize(likes)
    assert release.published.claim.delta <= 1e-7 / 2


@pytest.fixture(scope="module")
def claim(likes):
    maker = Synthesizer(1.0, item_catalog="as-rated", n_users=100, seed=1)
    return maker.anonymize(likes).published.claim


class TestSplit:
    """The first query alone may have another share, and only that of the default."""

    def forged(self, claim, place, factor, **changed):
        queries = list(claim.ledger.queries)
        queries[place] = replace(queries[place], sigma=queries[place].sigma * factor)
        return replace(claim, ledger=replace(claim.ledger, queries=tuple(queries)), **changed)

    def test_the_split_is_accepted(self, claim):
        assert _is_split_by(claim.ledger, SHARES, claim)

    @pytest.mark.parametrize(("place", "factor"), [(0, 1.1), (0, 0.9), (1, 1.1), (3, 0.9)])
    def test_another_split_is_not(self, claim, place, factor):
        claim = self.forged(claim, place, factor)
        assert not _is_split_by(claim.ledger, SHARES, claim)

    @pytest.mark.parametrize("delta", [1e-6, 3e-7])
    def test_of_another_delta_it_is_not(self, claim, delta):
        claim = replace(claim, delta=delta)
        assert not _is_split_by(claim.ledger, SHARES, claim)
