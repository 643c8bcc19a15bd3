import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from error_assertions import raises
from recveil.attacks import AttackTarget
from recveil.datasets import make_ratings
from recveil.evaluation.disclosure import link_disclosure
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.verification._verify import verify
from recveil.verification.link_posterior import (
    item_shares,
    link_bound,
    link_existence,
    link_posterior,
    links_of_rows,
)

shares = st.floats(0, 1)
sizes = st.integers(1, 300)


class TestPosterior:
    def test_by_hand(self):
        # p = 1/2, k = 2: (1/2) / (1 - 1/4) = 2/3. p = 1/4, k = 3: (1/4) / (1 - 27/64) = 16/37.
        assert link_posterior([0.5, 0.25], [2, 3]) == pytest.approx([2 / 3, 16 / 37], rel=1e-15)

    def test_ends(self):
        assert link_posterior([0.0, 1.0], 5).tolist() == [0.2, 1.0]
        assert link_posterior([0.0, 0.3, 1.0], 1) == pytest.approx([1, 1, 1])

    @pytest.mark.parametrize("p", [1e-9, 1e-17, 1e-300, 5e-324])
    def test_a_tiny_share_leaves_one_in_k(self, p):
        # Series: p / (1 - (1 - p)^k) = 1/k + p (k - 1) / 2k + ...
        assert link_posterior(p, 7) == pytest.approx(1 / 7 + p * 3 / 7, rel=1e-12)

    @given(p=st.floats(1e-6, 1), k=sizes)
    def test_it_is_exact(self, p, k):
        exact = Fraction(p) / (1 - (1 - Fraction(p)) ** k)
        assert link_posterior(p, k) == pytest.approx(float(exact), rel=1e-13)

    @given(p=shares, q=shares, k=sizes)
    def test_it_grows_with_the_share_and_falls_with_k(self, p, q, k):
        low, high = sorted([p, q])
        slack = 1 + 1e-12
        assert 1 / k <= link_posterior(low, k) * slack
        assert link_posterior(low, k) <= link_posterior(high, k) * slack
        assert link_posterior(p, k + 1) <= link_posterior(p, k) * slack


class TestBound:
    def test_by_hand(self):
        # k = 4: 1/4 + p / (2 - 4p). At p = 1/8: 1/4 + 1/12 = 1/3; at 1/k: 1/4 + 1/4 = 2/k.
        assert link_bound([0, 0.125, 0.25], 4) == pytest.approx([1 / 4, 1 / 3, 1 / 2])

    def test_it_covers_no_share_above_one_in_k(self):
        # 2 - kp is 0.5 at p = 0.3, 0 at 0.4, negative beyond.
        assert np.isnan(link_bound([0.3, 0.4, 0.5, 1.0], 5)).all()

    @given(p=shares, k=sizes)
    def test_it_bounds_the_posterior_where_it_is_one(self, p, k):
        bound = link_bound(p, k)
        assert np.isnan(bound) == (p > 1 / k)
        if p <= 1 / k:
            assert link_posterior(p, k) <= bound * (1 + 1e-12) <= 2 / k * (1 + 2e-12)

    @pytest.mark.parametrize("k", range(2, 60))
    def test_how_loose_it_is_at_one_in_k(self, k):
        assert 4 / (3 * k) * (1 - 1e-12) <= link_posterior(1 / k, k) < 1 / (k * (1 - 1 / math.e))


class TestExistence:
    def test_by_hand(self):
        # Items with p = 1/4 and 1/2 in groups of 2 and 4.
        # Posteriors: (1/4)/(7/16) = 4/7, (1/4)/(175/256) = 64/175; 2/3, (1/2)/(15/16) = 8/15.
        # Edges 2, 4 and 6, 8: only p = 1/2 in groups of 4 is above 1/k, 8 of 20 edges.
        links = link_existence([[0.25], [0.5]], [2, 4], [[2, 4], [6, 8]])
        posterior = [[4 / 7, 64 / 175], [2 / 3, 8 / 15]]
        assert links.posterior == pytest.approx(np.array(posterior))
        assert np.isnan(links.bound).tolist() == [[False, False], [False, True]]
        assert links.mean == pytest.approx((8 / 7 + 256 / 175 + 4 + 64 / 15) / 20)
        assert links.highest == pytest.approx(2 / 3)
        assert links.uncovered_share == 0.4

    def test_what_is_not_released_does_not_count(self):
        links = link_existence([0.1, 1.0], 5, [3, 0])
        assert links.highest == links.mean == links.posterior[0]
        assert links.uncovered_share == 0

    def test_no_edges(self):
        links = link_existence([0.1, 1.0], 5, 0)
        assert np.isnan([links.mean, links.highest, links.uncovered_share]).all()

    @pytest.mark.parametrize(
        ("share", "k", "edges", "name"),
        [
            ([0.5, 1.01], 2, 1, "share"),
            (-0.1, 2, 1, "share"),
            (np.nan, 2, 1, "share"),
            (0.5, 0, 1, "k"),
            (0.5, np.nan, 1, "k"),
            (0.5, 2, -1, "edges"),
            (0.5, 2, np.nan, "edges"),
        ],
    )
    def test_senseless_numbers_are_refused(self, share, k, edges, name):
        with raises("argument.value") as error:
            link_existence(share, k, edges)
        assert str(error.value).startswith(f"{name}: ")


class TestItemShares:
    def test_by_hand(self):
        # Two groups of 2 and one of 4, 8 users. Item 0 stands in a group of 2 and that of 4:
        # between 2 and 6 raters. Item 1 in all: between 3 and 8. Item 2 in none.
        found = item_shares([[1, 1, 0], [0, 1, 0], [1, 1, 0]], [2, 2, 4])
        assert found.lowest.tolist() == [2 / 8, 3 / 8, 0]
        assert found.highest.tolist() == [6 / 8, 1, 0]
        p = found.likely[0]
        assert 2 * (1 - (1 - p) ** 2) + 1 - (1 - p) ** 4 == pytest.approx(2, abs=1e-12)
        assert found.likely[1:].tolist() == [1, 0]

    def test_equal_sizes_have_a_closed_form(self):
        # 1 - (1 - p)^3 = 7/8 at p = 1/2.
        table = np.arange(8)[:, None] < 7
        assert item_shares(table, np.full(8, 3)).likely == pytest.approx([0.5], rel=1e-14)

    @given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 30))
    def test_the_true_share_lies_between(self, seed, k, n_groups):
        rng = np.random.default_rng(seed)
        rated = rng.random((n_groups, k, 12)) < rng.random(12)
        found = item_shares(rated.any(axis=1), np.full(n_groups, k))
        true = rated.mean(axis=(0, 1))
        assert (found.lowest <= true + 1e-12).all()
        assert (true <= found.highest + 1e-12).all()
        assert (found.lowest <= found.likely + 1e-12).all()
        assert (found.likely <= found.highest + 1e-12).all()

    @pytest.mark.parametrize("sizes", [[1], [1, 0], []])
    def test_a_missing_size_is_refused(self, sizes):
        with raises("argument.value"):
            item_shares(np.ones((2, 2)), sizes)
        with raises("argument.value"):
            item_shares(np.ones((0, 2)), [])


def test_links_of_rows_by_hand():
    # Items 0 and 1 with p 0.1 and 1. Rows: {0, 1} of 2 users, {1} of 3.
    # Edges: item 0 in a row of 2: 2; item 1 in rows of 2 and 3: 2 and 3. Seven in all.
    # p/(1-(1-p)^2) = 0.1/0.19; p = 1 is certain.
    links = links_of_rows([[1, 1], [0, 1]], [2, 3], [0.1, 1.0])
    assert links.mean == pytest.approx((2 * 0.1 / 0.19 + 5) / 7)
    assert links.highest == 1
    assert links.uncovered_share == pytest.approx(5 / 7)


def test_the_real_shares_are_between_the_bounds_of_the_rows():
    ratings = make_ratings(n_users=200, n_items=50, n_ratings=2500, seed=3)
    release = PredictiveAnonymizer(4, "simple", seed=1).anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    real = link_disclosure(ratings, table)
    shape = (table.indptr.size - 1, 50)
    held = np.ones(table.indices.size)
    support = sparse.csr_array((held, table.indices, table.indptr), shape=shape)
    shares = item_shares(support, table.candidates.sizes)
    low, high = (
        links_of_rows(support, table.candidates.sizes, p).mean
        for p in (shares.lowest, shares.highest)
    )
    assert low <= real.mean <= high
    # Plainly: of all (member, item) pairs of the rows, how many are real ratings?
    pairs = int((np.diff(table.indptr) * table.candidates.sizes).sum())
    assert real.mean == pytest.approx(ratings.n_ratings / pairs, abs=0.1)


@pytest.mark.parametrize("protect", ["none", "shuffle", "mean"])
def test_nothing_is_reported_of_rows_that_were_filled_up(protect, tmp_path):
    ratings = make_ratings(n_users=80, n_items=60, n_ratings=700, seed=3)
    KCoRater(4, protect=protect, seed=1).anonymize(ratings).write(tmp_path / "out")
    found = verify(tmp_path / "out", links=True)
    assert found.links is None
    assert found.no_links.code == "method"
    assert found.to_dict()["no_links"] == found.no_links.values[0]
    assert verify(tmp_path / "out").no_links is None


def test_of_simple_rows_it_is_reported(tmp_path):
    ratings = make_ratings(n_users=80, n_items=60, n_ratings=700, seed=3)
    PredictiveAnonymizer(4, "simple", seed=1).anonymize(ratings).write(tmp_path / "out")
    found = verify(tmp_path / "out", links=True)
    assert found.links is not None
    assert (found.no_links, found.to_dict()["no_links"]) == (None, None)
