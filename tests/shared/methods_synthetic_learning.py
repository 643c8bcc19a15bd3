"""What the fast and the slow tests of `test_learning.py` share."""

import numpy as np

from recveil.methods.synthetic.gaussian_mechanism import Mechanism, WithoutNoise
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.methods.synthetic.learning import (
    BOLDER,
    QUERY,
    follow_embeddings,
    learn_users,
)
from recveil.methods.synthetic.sum_queries import SHARES, Public, measure
from recveil.methods.synthetic.user_model import UserModel
from recveil.ratings import Ratings, RatingScale

STARS = RatingScale(1, 5, 1)

N_ITEMS, N_USERS = 80, 2_500

PUBLIC = Public(True, N_ITEMS)


def planted(tilt, liking, seed=1) -> Ratings:
    """Users who choose by two clear embedding dimensions, and rate by them as far as is said."""
    rng = np.random.default_rng(seed)
    item_embeddings = np.zeros((N_ITEMS, 3), np.float32)
    item_embeddings[:, 1] = np.where(np.arange(N_ITEMS) % 2, 1, -1)
    item_embeddings[:, 2] = np.where(np.arange(N_ITEMS) // 2 % 2, 0.9, -0.9)
    model = UserModel(
        offsets=rng.normal(size=N_ITEMS).astype(np.float32),
        item_embeddings=item_embeddings,
        activity=np.linspace(10, 30, 128),
        rating_means=0.4 * rng.normal(size=N_ITEMS),
        cuts=np.array([-1.4, -0.7, 0.1, 0.9]),
        strictness=0.4,
        chance=0.85,
        slopes=np.asarray(tilt, float),
        slope_spreads=np.asarray(liking, float),
        scale=STARS,
    )
    blocks = list(model.draw(N_USERS, rng, whole=True))
    sizes = np.concatenate([np.diff(block.indptr) for block in blocks])
    items = np.concatenate([block.indices for block in blocks])
    values = np.concatenate([block.values for block in blocks])
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Ratings(np.arange(N_USERS), np.arange(N_ITEMS), indptr, items, values, None, STARS)


def found(ratings, sigma=0.0, mechanism=None, seed=3):
    exact = dict.fromkeys(SHARES, 0.0)
    measured = measure(ratings, WithoutNoise(), PUBLIC, exact)
    model = learn_users(measured, STARS, np.random.default_rng(2))
    if mechanism is None:
        noisy = Mechanism(NoiseSource.repeatable(seed), {QUERY: sigma}) if sigma else WithoutNoise()
        mechanism = noisy
    return follow_embeddings(
        ratings, mechanism, measured, model, sigma, np.random.default_rng(seed)
    )


def moves(model):
    """How far ratings are moved along the two directions with the longest embeddings.

    That is what counts: learnt item_embeddings can be longer than those that were planted.
    """
    lengths = model.item_embeddings[:, 1:].std(axis=0) / BOLDER
    main = np.argsort(lengths)[-2:]
    return (model.slopes * lengths)[main], (model.slope_spreads * lengths)[main]


PLANTED = np.array([0.9, 1.0])
