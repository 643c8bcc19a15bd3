"""Union-split: worked examples, the union against all pairs, the split against all placings."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.clustering import UnionSplit
from recveil.clustering.union_split import _split, _unite


def as_rows(X):
    """Take the rows as they stand, unscaled, so that whole numbers stay whole."""
    return np.asarray(X, dtype=np.float32).reshape(len(X), -1)


def unite(X, k):
    return _unite(as_rows(X), k).tolist()


def split(X, k, n_rounds=10):
    return _split(as_rows(X), np.arange(len(X)), k, n_rounds).tolist()


def test_the_closest_clusters_are_united_first():
    # 0 and 1, then 5 and 7. 20 is alone, 14 from their centroid 6, and joins them.
    assert unite([0, 1, 5, 7, 20], 2) == [0, 0, 2, 2, 2]


def test_clusters_are_as_far_apart_as_their_centroids():
    # 0 and 2 make 1, 4.5 and 7.1 make 5.8, though 4.5 is nearer to 2. -3 is 4 from 1 and 10 is 4.2
    # from 5.8, while 1 and 5.8 are 4.8 apart.
    assert unite([0, 2, 4.5, 7.1, -3, 10], 3) == [0, 0, 2, 2, 0, 2]


def test_two_clusters_of_k_are_left_apart_however_close():
    # {0, 1} and {2, 3} have k rows each and stay apart, though 9 is farther from any; 9 joins 2.5.
    assert unite([0, 1, 2, 3, 9], 2) == [0, 0, 2, 2, 2]


def test_of_equally_close_ones_the_first_are_united():
    # 0 is 1 from 1 and from -1: rows 0 and 1 are united, which leaves -1 and -2 to each other.
    assert unite([0, 1, -1, -2], 2) == [0, 0, 2, 2]


def test_a_split_follows_the_gap():
    # The centroid is 8.4: 20 is farthest, and 0 is farthest from 20.
    assert split([0, 1, 19, 20, 2], 2) == [False, False, True, True, False]


def test_a_split_leaves_k_on_both_sides():
    # 20 parts from 0, 1, 2, and takes 2, the cheapest: 18² - 2² = 320 to 0's 400 and 1's 360.
    assert split([0, 1, 2, 20], 2) == [False, False, True, True]


def test_the_sides_settle():
    # The centroid is 6.9, 17 is farthest, then 0. In the first round 8 is nearer to 0 (8 to 9), but
    # of the means 12.7 and 2.5 it is nearer to the former (4.7 to 5.5). Then they are 11.5 and 0.7.
    rows = [0, 1, 1, 8, 17, 10, 11]
    assert split(rows, 2, n_rounds=1) == [False, False, False, False, True, True, True]
    assert split(rows, 2) == [False, False, False, True, True, True, True]


def test_what_grew_too_large_is_parted():
    # 0 and 1 unite, 2 joins them, then 20 does: a cluster of four, which is parted.
    assert unite([0, 1, 2, 20], 2) == [0] * 4
    assert UnionSplit(2).fit(as_rows([0, 1, 2, 20])).labels_.tolist() == [0, 0, 1, 1]


def test_nothing_is_drawn():
    X = np.random.default_rng(0).normal(size=(100, 3))
    labels = [UnionSplit(4, random_state=seed).fit(X).labels_.tolist() for seed in (0, 1, None)]
    assert labels[0] == labels[1] == labels[2]


def slow_unite(X, k):
    """Look at all pairs for each union."""
    size = dict.fromkeys(range(len(X)), 1)
    centroid = dict(enumerate(X))
    labels = np.arange(len(X))
    while min(size.values()) < k:
        pairs = [(a, b) for a in size for b in size if a != b and size[a] < k]
        pair = min(pairs, key=lambda p: (((centroid[p[0]] - centroid[p[1]]) ** 2).sum(), p))
        kept, gone = sorted(pair)
        total = size[kept] * centroid[kept] + size[gone] * centroid[gone]
        size[kept] += size.pop(gone)
        centroid[kept] = total / size[kept]
        labels[labels == gone] = kept
    return labels.tolist()


@settings(deadline=None, max_examples=60)
@given(n=st.integers(1, 40), k=st.integers(1, 8), d=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_unions_are_those_of_the_oracle(n, k, d, seed):
    X = np.random.default_rng(seed).standard_normal((max(n, k), d), dtype=np.float32)
    assert unite(X, k) == slow_unite(X.astype(np.float64), k)


@settings(deadline=None, max_examples=100)
@given(numbers=st.lists(st.integers(-9, 9), min_size=1, max_size=30), k=st.integers(1, 8))
def test_so_are_they_if_many_are_equally_close(numbers, k):
    k = min(k, len(numbers))
    assert unite(numbers, k) == slow_unite(np.array(numbers, dtype=float)[:, np.newaxis], k)


def cost(X, side, centres):
    return ((X[side] - centres[0]) ** 2).sum() + ((X[~side] - centres[1]) ** 2).sum()


@settings(deadline=None, max_examples=60)
@given(n=st.integers(2, 9), d=st.integers(1, 3), seed=st.integers(0, 10_000), data=st.data())
def test_no_placing_within_the_bound_is_better_than_that_of_a_round(n, d, seed, data):
    k = data.draw(st.integers(1, n // 2))
    X = np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32).astype(np.float64)
    first = X[((X - X.mean(axis=0)) ** 2).sum(axis=1).argmax()]
    centres = first, X[((X - first) ** 2).sum(axis=1).argmax()]
    placings = [
        np.isin(np.arange(n), chosen)
        for size in range(k, n - k + 1)
        for chosen in combinations(range(n), size)
    ]
    best = min(placings, key=lambda side: cost(X, side, centres))
    assert split(X, k, n_rounds=1) == best.tolist()


@settings(deadline=None)
@given(n=st.integers(2, 40), seed=st.integers(0, 1000), data=st.data())
def test_more_rounds_never_make_a_split_worse(n, seed, data):
    k = data.draw(st.integers(1, n // 2))
    X = np.random.default_rng(seed).standard_normal((n, 2), dtype=np.float32).astype(np.float64)
    errors = []
    for n_rounds in range(1, 6):
        side = np.array(split(X, k, n_rounds))
        assert k <= side.sum() <= n - k
        errors.append(cost(X, side, (X[side].mean(axis=0), X[~side].mean(axis=0))))
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(errors))
