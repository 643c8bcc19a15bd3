"""Bounded t-means: its placing against a slow oracle, its means, its bounds."""

import numpy as np
import pytest

from recveil.clustering import BoundedTMeans, armse, sse
from recveil.datasets import make_ratings
from recveil.predict import FunkSVD


def squared_distances(X, centres):
    return ((X[:, np.newaxis] - centres[np.newaxis]) ** 2).sum(axis=2)


def plain_t_means(X, t, min_size, rounds, rng):
    """Bounded t-means as plainly as can be: row by row, each to the nearest centre not yet full."""
    centres = X[rng.choice(len(X), t, replace=False)].astype(float)
    found = []
    for _ in range(rounds):
        distance = squared_distances(X, centres)
        free = np.full(t, min_size)
        labels = np.full(len(X), -1)
        for row in range(len(X)):
            if free.any():
                labels[row] = np.where(free > 0, distance[row], np.inf).argmin()
                free[labels[row]] -= 1
        labels = np.where(labels < 0, distance.argmin(axis=1), labels)
        centres = np.array([X[labels == c].mean(axis=0) for c in range(t)])
        found.append((sse(X, labels), labels))
    return min(found, key=lambda pair: pair[0])[1]


@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("shape", ["cloud", "factors", "outliers"])
def test_groups_are_no_wider_than_those_of_the_plain_version(k, shape):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    if shape == "outliers":  # as the factors of users are: few are far away from all others
        X = rng.standard_t(1.5, size=(200, 4))
    if shape == "factors":
        ratings = make_ratings(n_users=200, n_items=150, n_ratings=6_000, seed=1)
        X = FunkSVD(rank=10, seed=0).fit(ratings).padding().coordinates().astype(float)
    starts = range(8)
    ours = [armse(X, BoundedTMeans(k, random_state=seed).fit(X).labels_) for seed in starts]
    plain = [
        armse(X, plain_t_means(X, len(X) // k, k, 10, np.random.default_rng(seed)))
        for seed in starts
    ]
    assert np.mean(ours) < np.mean(plain)
