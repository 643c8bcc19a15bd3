"""What the fast and the slow tests of `test_k_gather.py` share."""

import numpy as np

from recveil.clustering.k_gather import (
    Leaf,
    Noise,
    exchange,
)


def leaf_of(X, group, k):
    """Make a leaf of rows as they stand; groups are numbered 0, 1, ..."""
    rows = np.asarray(X, dtype=np.float32).reshape(len(X), -1)
    group = np.array(group)
    sizes = np.bincount(group)
    members = np.zeros((len(sizes), 2 * k - 1), dtype=np.int64)
    for g, size in enumerate(sizes):
        members[g, :size] = np.flatnonzero(group == g)
    centroids = np.array([rows[group == g].mean(axis=0) for g in range(len(sizes))])
    return Leaf(rows, group, members, sizes, centroids, np.zeros(len(rows), dtype=np.float32))


def look(leaf, i, k):
    """Let one row look for an exchange, without noise."""
    noise = Noise(np.zeros(4 * k, dtype=np.float32), np.zeros(len(leaf.rows), int), np.float32(0))
    nearness = leaf.rows[[i]] @ leaf.centroids.T - (leaf.centroids**2).sum(axis=1) / 2
    return exchange(leaf, nearness, i, k, noise)


def check_stock(leaf):
    """What a leaf says of its groups agrees with the group of each row."""
    for g, size in enumerate(leaf.sizes):
        assert sorted(leaf.members[g, :size]) == np.flatnonzero(leaf.group == g).tolist()
        if size:
            mean = leaf.rows[leaf.group == g].mean(axis=0)
            np.testing.assert_allclose(leaf.centroids[g], mean, rtol=1e-5, atol=1e-5)


def clusters(n, d=5, seed=0):
    """Rows in clusters that overlap, none of which counts a multiple of anything."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 3 * rng.normal(size=(30, d))[rng.integers(30, size=n)]
