"""What the fast and the slow tests of `test_fitting.py` share."""

import numpy as np
from scipy.optimize import brentq

from recveil.methods.synthetic.fitting import (
    FitTargets,
    FittedItems,
)


def chances_of(items, factors, activity):
    """The users' probabilities in floats, with offsets that keep their numbers of ratings."""
    odds = factors @ np.asarray(items.item_embeddings, float).T + np.asarray(items.offsets, float)
    chances = np.empty_like(odds)
    for one_user, wanted in enumerate(activity):
        offset = brentq(
            lambda at, p=one_user, w=wanted: _sum(odds[p] + at) - w, -60, 60, xtol=1e-13
        )
        chances[one_user] = 1 / (1 + np.exp(-odds[one_user] - offset))
    return chances


def _sum(odds):
    return (1 / (1 + np.exp(-odds))).sum()


def expected(items, factors, activity, result):
    """Expected moments of the users' embeddings, and popularity."""
    chances = chances_of(items, factors, activity)
    lengths = np.sqrt(chances @ result.weights[:, 1])
    stands_for = result.n_users / len(factors)
    item_embeddings = chances * result.weights[:, 0] / lengths[:, None]
    popular = np.maximum(result.popularity, 0) / np.linalg.norm(np.maximum(result.popularity, 0))
    popular = popular * result.is_centred
    along = item_embeddings @ popular
    across = np.maximum(np.sqrt(1 - along**2), along / 4)
    item_embeddings = (item_embeddings - np.outer(along, popular)) / across[:, None]
    return np.sqrt(stands_for) * item_embeddings, stands_for * np.sqrt(
        result.share / activity
    ) @ chances


def stated_of(n_items, seed=0, n_users=2_000.0, **changed) -> FitTargets:
    rng = np.random.default_rng(seed)
    half = rng.random((n_items, n_items))
    result = FitTargets(
        moments=5 * (half + half.T),
        moments_noise=0.7,
        popularity=20 + 100 * rng.random(n_items),
        popularity_noise=2.0,
        weights=np.column_stack([0.6 + 0.3 * rng.random(n_items), 0.4 + 0.3 * rng.random(n_items)]),
        activity=np.array([2.0, 3.0, 4.0, 5.0]),
        share=0.8,
        n_users=n_users,
    )
    return result._replace(**changed)


def planted(n_items=40, n_directions=2, n_users=6_000.0, noise=0.0, seed=5, **changed):
    """Items' offsets and embeddings, and the exact moments of users who are drawn by them."""
    rng = np.random.default_rng(seed)
    offsets = rng.normal(size=n_items) - 1
    item_embeddings = np.column_stack(
        [0.1 * rng.normal(size=n_items), np.zeros((n_items, n_directions))]
    )
    item_embeddings[:, 1:] = 0.9 * rng.normal(size=(n_items, n_directions))
    activity = np.repeat([5.0, 8.0, 12.0], 500)
    logs = (np.log(activity) - np.log(activity).mean()) / np.log(activity).std()
    factors = np.column_stack([logs, rng.normal(size=(1_500, n_directions))])
    items = FittedItems(offsets, item_embeddings)
    result = stated_of(n_items, n_users=n_users, activity=np.array([5.0, 8.0, 12.0]), share=1.0)
    result = result._replace(**changed)
    result = result._replace(popularity=expected(items, factors, activity, result)[1])
    rows, _ = expected(items, factors, activity, result)
    hidden = np.triu(rng.normal(size=(n_items, n_items)), 1) * noise
    moments = rows.T @ rows + hidden + hidden.T
    return items, result._replace(moments=moments, moments_noise=noise)
