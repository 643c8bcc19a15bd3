"""KGather: worked examples of its parts, the gain against brute force, and what it promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.clustering import MDAV, KGather, sse
from recveil.clustering.base import number_by_lowest_member
from recveil.clustering.k_gather import (
    GroupState,
    Noise,
    dissolve,
    exchange,
    mdav_of_leaf,
    voronoi_leaves,
)
from recveil.clustering.microaggregation import mdav_of_rows
from shared.clustering_k_gather import check_stock, clusters, leaf_of, look


def look_around(leaf, k):
    """Let all rows look, one after the other; return how many exchanges there were."""
    return sum(look(leaf, i, k) for i in range(len(leaf.rows)))


class TestExchange:
    def test_a_swap(self):
        # Centroids: (0 + 1 + 11) / 3 = 4 and (2 + 10 + 12) / 3 = 8. Sizes are k, so no user moves.
        # Row 2 at 11 may swap for 2, 10 or 12, with d = 9, 1, -1 and p - q = -4: the gains
        # d (2/3 d + 8) are 9 * 14 = 126, 8.67 and -7.33. So for row 3, at 2.
        # SSE before: 16 + 9 + 49 + 36 + 4 + 16 = 130; after, around 1 and 11: 1 + 0 + 1 twice = 4.
        leaf = leaf_of([0, 1, 11, 2, 10, 12], [0, 0, 0, 1, 1, 1], 3)
        assert look(leaf, 2, 3) == 1
        assert leaf.group.tolist() == [0, 0, 1, 0, 1, 1]
        assert leaf.centroids.ravel().tolist() == [1, 11]
        check_stock(leaf)
        assert look_around(leaf, 3) == 0

    def test_a_move(self):
        # k = 2: a group of three may lose one, a group of two may take one. Row 2 at 8 has the
        # centroid (0 + 1 + 8) / 3 = 3, the other is 10. To leave gains 3/2 * 25 = 37.5, to join
        # costs 2/3 * 4 = 2.67: 34.83 in all. To swap for 9 or 11, d = -1 or -3, p - q = -7 and
        # 1/3 + 1/2 = 5/6, gains d (5/6 d + 14) < 0.
        leaf = leaf_of([0, 1, 8, 9, 11], [0, 0, 0, 1, 1], 2)
        assert look(leaf, 2, 2) == 1
        assert leaf.group.tolist() == [0, 0, 1, 1, 1]
        assert leaf.sizes.tolist() == [2, 3]
        check_stock(leaf)
        # The largest regret is that of none: all are nearest to their own centroid.
        assert look_around(leaf, 2) == 0
        assert (leaf.regret < 0).all()

    def test_a_group_of_k_gives_up_no_user(self):
        # Row 1 at 9 would gain by moving to 10 and 11, but its group has two rows only. To swap for
        # 10, d = -1, p - q = 4.5 - 10.5 = -6 and 1/2 + 1/2 = 1, gains -1 (-1 + 12) < 0.
        leaf = leaf_of([0, 9, 10, 11], [0, 0, 1, 1], 2)
        assert look(leaf, 1, 2) == 0

    def test_regret_is_half_the_difference_of_squares(self):
        # Centroids 3 and 10. Row 2 at 8: 25 from its own, 4 from the other: (25 - 4) / 2.
        # It is noted although the row then moves.
        leaf = leaf_of([0, 1, 8, 9, 11], [0, 0, 0, 1, 1], 2)
        look(leaf, 2, 2)
        assert leaf.regret[2] == 10.5

    def test_of_noise_the_highest_sum_wins(self):
        # As in the swap, row 2 gains 126 for 2. The noise of the candidates is read from place 1
        # on: staying 0, then 2, 10 and 12. With 200 for the last, 12 wins although it costs 7.33.
        leaf = leaf_of([0, 1, 11, 2, 10, 12], [0, 0, 0, 1, 1, 1], 3)
        gumbel = np.array([999, 0, 0, 0, 200] + [0] * 8, dtype=np.float32)
        noise = Noise(gumbel, np.ones(6, dtype=np.int64), np.float32(1))
        nearness = leaf.rows[[2]] @ leaf.centroids.T - (leaf.centroids**2).sum(axis=1) / 2
        assert exchange(leaf, nearness, 2, 3, noise) == 1
        assert leaf.group.tolist() == [0, 0, 1, 1, 1, 0]

    def test_the_two_nearest_groups_are_looked_at(self):
        # Row 0 at 10 sits with 0. Groups at 2 and 3 (centroid 2.5), at 11 and 12 (11.5), at 20 and
        # 30 (25): the nearest are 11.5 and 2.5. To swap for 2: p = 5, d = 8, gain 8 (8 - 5) = 24;
        # for 3: 7 (7 - 5) = 14; for 11: d = -1, gain -1 (-1 + 13) < 0; for 12 < 0.
        leaf = leaf_of([10, 0, 20, 30, 11, 12, 2, 3], [0, 0, 1, 1, 2, 2, 3, 3], 2)
        assert look(leaf, 0, 2) == 1
        assert leaf.group.tolist() == [3, 0, 1, 1, 2, 2, 0, 3]


class TestDissolve:
    def straddling(self, k):
        # Two clusters of three, around 1 and 101, and a pair with one row near each: k = 2, n = 8.
        return leaf_of([0, 1, 2, 100, 101, 102, 3, 99], [0, 0, 0, 1, 1, 1, 2, 2], k)

    def test_a_straddling_group_is_given_up(self):
        # k = 3, so that the clusters may take up to five; the pair is a group that small
        # for the sake of the example. Its centroid is 51, its SSE 48² + 48² = 4608. Row 6 joins
        # the first cluster for 3/4 * 2² = 3, row 7 the second likewise.
        leaf = self.straddling(3)
        look_around_for_regrets(leaf)
        dissolve(leaf, 3)
        assert leaf.group.tolist() == [0, 0, 0, 1, 1, 1, 0, 1]
        assert leaf.sizes.tolist() == [4, 4, 0]
        check_stock(leaf)

    def test_a_full_group_takes_no_user(self):
        # k = 2: groups of three are full. There is no room for the pair.
        leaf = self.straddling(2)
        look_around_for_regrets(leaf)
        dissolve(leaf, 2)
        assert leaf.sizes.tolist() == [3, 3, 2]

    def test_a_group_at_one_place_stays(self):
        # Its members are nearest to their own centroid; dissolved, they would cost more.
        leaf = leaf_of([0, 1, 2, 100, 101, 102, 50, 51, 52], [0] * 3 + [1] * 3 + [2] * 3, 3)
        look_around_for_regrets(leaf)
        dissolve(leaf, 3)
        assert leaf.sizes.tolist() == [3, 3, 3]


def look_around_for_regrets(leaf):
    """Note the regrets as `exchange` does, without exchanging anything."""
    squares = ((leaf.rows[:, None] - leaf.centroids) ** 2).sum(axis=2)
    at = np.arange(len(leaf.rows))
    own = squares[at, leaf.group]
    squares[at, leaf.group] = np.inf
    leaf.regret[:] = (own - squares.min(axis=1)) / 2


class TestMDAVOfLeaf:
    def test_seven_rows_by_hand(self):
        # The mean is 0. 20 is farthest and takes 10; -10, farthest from 20, takes -9; three rows
        # are left, fewer than 2k: -5, -4, -2.
        column = np.array([[-10], [-5], [20], [-9], [-4], [10], [-2]], dtype=np.float32)
        assert mdav_of_leaf(column @ column.T, 2).tolist() == [1, 2, 0, 1, 2, 0, 2]

    @settings(deadline=None, max_examples=150)
    @given(
        n=st.integers(1, 40), width=st.integers(1, 3), k=st.integers(1, 8), seed=st.integers(0, 999)
    )
    def test_it_is_mdav_on_the_same_rows(self, n, width, k, seed):
        # No two distances are equal: of equal ones, rounding chooses.
        X = np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)
        X -= X.mean(axis=0)
        k = min(k, n)
        theirs = number_by_lowest_member(mdav_of_rows(X, k))
        assert (number_by_lowest_member(mdav_of_leaf(X @ X.T, k)) == theirs).all()


class TestVoronoiLeaves:
    def test_equal_rows_are_halved(self):
        leaves = voronoi_leaves(np.ones((9, 2), dtype=np.float32), 3, np.random.default_rng(0))
        assert [leaf.tolist() for leaf in leaves] == [[0, 1, 2], [3, 4], [5, 6], [7, 8]]

    def test_clusters_stay_whole(self):
        rng = np.random.default_rng(0)
        cluster = rng.integers(20, size=2000)
        X = (rng.normal(size=(2000, 5)) + 100 * rng.normal(size=(20, 5))[cluster]).astype(
            np.float32
        )
        mixed = sum(len(set(cluster[leaf])) - 1 for leaf in voronoi_leaves(X, 300, rng))
        # Twenty clusters of about 100 in leaves of up to 300: to cut one is the exception.
        assert mixed <= 20 - 7 + 3


class TestGroups:
    def test_closeness_rises_by_what_the_sse_falls(self):
        X = clusters(900).astype(np.float32)
        groups = GroupState(X, 4, np.random.default_rng(0))
        for number in range(4):
            before, closeness = sse(X, groups.labels), groups.closeness
            groups.exchange(temperature=float(number), dissolving=number > 1)
            fall = before - sse(X, groups.labels)
            assert groups.closeness - closeness == pytest.approx(fall, rel=1e-6, abs=1e-3)
            sizes = np.bincount(groups.labels)
            assert 4 <= sizes.min() <= sizes.max() < 8

    def test_without_noise_no_round_makes_it_worse(self):
        X = clusters(900).astype(np.float32)
        groups = GroupState(X, 4, np.random.default_rng(0))
        found = [groups.closeness]
        while groups.exchange(temperature=0, dissolving=False):
            found.append(groups.closeness)
        assert len(found) > 2
        assert (np.diff(found) > 0).all()


@pytest.mark.parametrize("k", [2, 3, 7, 50])
@pytest.mark.parametrize("anneal", [0, 1, 50])
def test_it_is_never_worse_than_its_start(k, anneal):
    X = clusters(800, seed=k)
    start = KGather(k, n_rounds=0, random_state=0).fit(X).labels_
    assert sse(X, KGather(k, anneal=anneal, random_state=0).fit(X).labels_) <= sse(X, start)


@pytest.mark.parametrize("k", [2, 5, 50])
def test_without_rounds_it_is_mdav_if_one_leaf_holds_all(k):
    X = clusters(800, seed=k)
    ours, theirs = KGather(k, n_rounds=0).fit(X).labels_, MDAV(k).fit(X).labels_
    assert (ours == theirs).all()


@pytest.mark.parametrize("k", [3, 5, 10, 50])
def test_it_is_clearly_better_than_mdav(k):
    X = clusters(3000, seed=k)
    assert sse(X, KGather(k, random_state=0).fit(X).labels_) < 0.95 * sse(X, MDAV(k).fit(X).labels_)


@pytest.mark.parametrize("n", [10, 11, 14, 15])
def test_from_2k_rows_on_there_are_groups(n):
    X = np.arange(n)[:, None] ** 2.0
    sizes = np.bincount(KGather(5, random_state=0).fit(X).labels_)
    assert len(sizes) == n // 5
    assert 5 <= sizes.min() <= sizes.max() < 10


def test_rows_far_out_do_not_matter():
    X = np.concatenate([np.random.default_rng(0).normal(size=5000), 10.0 ** np.arange(30)])
    sizes = np.bincount(KGather(3, random_state=0).fit(X[:, None]).labels_)
    assert 3 <= sizes.min() <= sizes.max() < 6


@pytest.mark.parametrize("anneal", [-0.1, float("nan"), float("inf")])
def test_a_senseless_noise_is_refused(anneal):
    with raises("argument.value") as caught:
        KGather(2, anneal=anneal).fit(np.zeros((9, 1)))
    assert "anneal" in str(caught.value)


def test_a_senseless_number_of_rounds_is_refused():
    with raises("argument.value") as caught:
        KGather(2, n_rounds=1.5).fit(np.zeros((9, 1)))
    assert "n_rounds" in str(caught.value)
