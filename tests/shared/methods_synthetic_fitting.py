"""What the fast and the slow tests of `test_fitting.py` share."""

import numpy as np
from scipy.optimize import brentq

from recveil.methods.synthetic.fitting import (
    FitTargets,
    FittedItems,
)


def chances_of(items, crowd, activity):
    """Everybody's chances in floats, with offsets so that they rate as much as they do."""
    odds = crowd @ np.asarray(items.item_embeddings, float).T + np.asarray(items.offsets, float)
    chances = np.empty_like(odds)
    for person, wanted in enumerate(activity):
        offset = brentq(lambda at, p=person, w=wanted: _sum(odds[p] + at) - w, -60, 60, xtol=1e-13)
        chances[person] = 1 / (1 + np.exp(-odds[person] - offset))
    return chances


def _sum(odds):
    return (1 / (1 + np.exp(-odds))).sum()


def expected(items, crowd, activity, told):
    """A crowd's expected item_embeddings, as many as there are people, and its popularity."""
    chances = chances_of(items, crowd, activity)
    lengths = np.sqrt(chances @ told.weights[:, 1])
    stands_for = told.n_users / len(crowd)
    item_embeddings = chances * told.weights[:, 0] / lengths[:, None]
    popular = np.maximum(told.popularity, 0) / np.linalg.norm(np.maximum(told.popularity, 0))
    along = item_embeddings @ popular
    across = np.maximum(np.sqrt(1 - along**2), along / 4)
    item_embeddings = (item_embeddings - np.outer(along, popular)) / across[:, None]
    return np.sqrt(stands_for) * item_embeddings, stands_for * np.sqrt(
        told.share / activity
    ) @ chances


def told_of(n_items, seed=0, n_users=2_000.0, **changed) -> FitTargets:
    rng = np.random.default_rng(seed)
    half = rng.random((n_items, n_items))
    told = FitTargets(
        moments=5 * (half + half.T),
        moments_noise=0.7,
        popularity=20 + 100 * rng.random(n_items),
        popularity_noise=2.0,
        weights=np.column_stack([0.6 + 0.3 * rng.random(n_items), 0.4 + 0.3 * rng.random(n_items)]),
        activity=np.array([2.0, 3.0, 4.0, 5.0]),
        share=0.8,
        n_users=n_users,
    )
    return told._replace(**changed)


def planted(n_items=40, n_directions=2, n_users=6_000.0, noise=0.0, seed=5):
    """Items' offsets and item_embeddings, and the exact moments of people who are drawn by them."""
    rng = np.random.default_rng(seed)
    offsets = rng.normal(size=n_items) - 1
    item_embeddings = np.column_stack(
        [0.1 * rng.normal(size=n_items), np.zeros((n_items, n_directions))]
    )
    item_embeddings[:, 1:] = 0.9 * rng.normal(size=(n_items, n_directions))
    activity = np.repeat([5.0, 8.0, 12.0], 500)
    logs = (np.log(activity) - np.log(activity).mean()) / np.log(activity).std()
    crowd = np.column_stack([logs, rng.normal(size=(1_500, n_directions))])
    items = FittedItems(offsets, item_embeddings)
    told = told_of(n_items, n_users=n_users, activity=np.array([5.0, 8.0, 12.0]), share=1.0)
    told = told._replace(popularity=expected(items, crowd, activity, told)[1])
    rows, _ = expected(items, crowd, activity, told)
    hidden = np.triu(rng.normal(size=(n_items, n_items)), 1) * noise
    moments = rows.T @ rows + hidden + hidden.T
    return items, told._replace(moments=moments, moments_noise=noise)
