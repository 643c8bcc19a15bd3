"""KGather: worked examples of its parts, the gain against brute force, and what it promises."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recveil.clustering import KGather, sse
from recveil.clustering.k_gather import (
    dissolve,
    voronoi_leaves,
)
from shared.clustering_k_gather import check_stock, clusters, leaf_of, look


class TestExchange:
    @settings(deadline=None, max_examples=150)
    @given(data=st.data(), k=st.integers(2, 4), d=st.integers(1, 3))
    def test_the_exchange_is_the_best_by_brute_force(self, data, k, d):
        """Whole numbers and two or three groups, so that every row looks at all others."""
        sizes = data.draw(st.lists(st.integers(k, 2 * k - 1), min_size=2, max_size=3))
        group = np.repeat(np.arange(len(sizes)), sizes)
        X = data.draw(arrays(np.float32, (len(group), d), elements=st.integers(-9, 9).map(float)))
        i = data.draw(st.integers(0, len(group) - 1))
        leaf = leaf_of(X, group, k)
        look(leaf, i, k)
        own, start = group[i], sse(X, group)
        falls = [0.0]
        for other in range(len(group)):
            if group[other] != own:
                swapped = group.copy()
                swapped[[i, other]] = group[[other, i]]
                falls.append(start - sse(X, swapped))
        for to in range(len(sizes)):
            if to != own and sizes[own] > k and sizes[to] < 2 * k - 1:
                moved = group.copy()
                moved[i] = to
                falls.append(start - sse(X, moved))
        assert start - sse(X, leaf.group) == pytest.approx(max(falls), abs=1e-3)
        check_stock(leaf)


class TestDissolve:
    def straddling(self, k):
        # Two clusters of three, around 1 and 101, and a pair with one row near each: k = 2, n = 8.
        return leaf_of([0, 1, 2, 100, 101, 102, 3, 99], [0, 0, 0, 1, 1, 1, 2, 2], k)

    @settings(deadline=None, max_examples=100)
    @given(data=st.data(), k=st.integers(2, 4))
    def test_sizes_stay_below_2k_and_no_user_is_lost(self, data, k):
        sizes = data.draw(st.lists(st.integers(k, 2 * k - 1), min_size=1, max_size=5))
        group = np.repeat(np.arange(len(sizes)), sizes)
        X = data.draw(arrays(np.float32, (len(group), 2), elements=st.integers(-9, 9).map(float)))
        leaf = leaf_of(X, group, k)
        leaf.regret[:] = 1000  # whatever it is, it decides only whether a try is worth while
        dissolve(leaf, k)
        left = leaf.sizes[leaf.sizes > 0]
        assert left.sum() == len(X)
        assert k <= left.min() <= left.max() < 2 * k
        check_stock(leaf)


class TestVoronoiLeaves:
    @settings(deadline=None, max_examples=150)
    @given(
        X=arrays(np.float32, st.tuples(st.integers(1, 200), st.integers(1, 3)),
                 elements=st.integers(-3, 3).map(float)),
        most=st.integers(1, 40),
        seed=st.integers(0, 99),
    )  # fmt: skip
    def test_leaves_part_the_rows_and_are_not_too_large(self, X, most, seed):
        leaves = voronoi_leaves(X, most, np.random.default_rng(seed))
        assert 1 <= min(map(len, leaves)) <= max(map(len, leaves)) <= most
        assert sorted(np.concatenate(leaves).tolist()) == list(range(len(X)))


@pytest.mark.parametrize(("n", "k"), [(9000, 2), (9000, 7), (20_000, 40), (10_000, 1700)])
def test_the_number_of_threads_does_not_matter(n, k):
    X = clusters(n, d=3)  # several leaves, of rows as well as of groups
    labels = []
    before = numba.get_num_threads()
    try:
        for threads in (1, min(2, before)):
            numba.set_num_threads(threads)
            labels.append(KGather(k, n_rounds=4, random_state=0).fit(X).labels_)
    finally:
        numba.set_num_threads(before)
    sizes = np.bincount(labels[0])
    assert k <= sizes.min() <= sizes.max() < 2 * k
    assert (labels[0] == labels[1]).all()
