"""Learning people: from noisy sums to the rule by which people are drawn."""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from recveil.anonymize.synthetic.bounded_vectors import RATED
from recveil.anonymize.synthetic.choice_sums import ChoiceSums
from recveil.anonymize.synthetic.drawn_labels import Labels, learn_labels
from recveil.anonymize.synthetic.fitting_people import FittedItems, fit_items, on_told
from recveil.anonymize.synthetic.likes_model import LikesModel
from recveil.anonymize.synthetic.noisy_sums import NoisySums
from recveil.anonymize.synthetic.people_model import PeopleModel
from recveil.anonymize.synthetic.standing_out import Told
from recveil.ratings import RatingScale

Numbers = NDArray[np.float64]

# Means of items are pulled towards what is usual by at least this variance about it.
_LEAST_VARIANCE = 0.01
# What is usual and the variance about it need each other: so many turns are enough.
_TURNS = 20


def learn_people(measured: NoisySums, scale: RatingScale, rng: np.random.Generator) -> PeopleModel:
    """Fit the rule by which people are drawn to noisy sums.

    Parameters
    ----------
    measured : NoisySums
    scale : RatingScale
    rng : Generator
        Draws the crowd that stands for everybody while items are fitted.

    Returns
    -------
    PeopleModel
        Its items are the told ones, in their order. Ratings follow no taste: people have not been
        asked that yet (`recveil.anonymize.synthetic.following_tastes`).
    """
    popularity = np.maximum(measured.items.popularity, 0)
    told, chosen = measured.told, measured.chosen
    labels = learn_labels(
        measured.level_shares,
        measured.levels,
        scale,
        item_means(measured),
        popularity[told],
        measured.spread_of_people,
    )
    place = np.searchsorted(told, chosen)
    liked = np.clip(labels.liked_share(measured.levels, scale)[place], 0.02, 0.98)
    weights = np.column_stack([liked + (1 - liked) * RATED, liked + (1 - liked) * RATED**2])
    offsets, tastes = _fit(measured.choices, weights, rng)
    return _model(measured, labels, offsets, tastes, scale)


def learn_likes(measured: ChoiceSums, rng: np.random.Generator) -> LikesModel:
    """Fit the rule by which people who like items are drawn to noisy sums.

    Parameters
    ----------
    measured : ChoiceSums
    rng : Generator
        Draws the crowd that stands for everybody while items are fitted.

    Returns
    -------
    LikesModel
        Its items are the told ones, in their order.
    """
    offsets, tastes = _fit(measured, np.ones((measured.chosen.size, 2)), rng)
    activity = on_told(measured.activity, measured.share_told, measured.told.size)
    return LikesModel(offsets.astype(np.float32), tastes, activity)


def item_means(measured: NoisySums) -> Numbers:
    """Return items' mean ratings, moved to -1 to 1, pulled by their noise towards what is usual.

    Usual is a line in the logarithm of popularity: popular items are mostly rated higher.

    Returns
    -------
    ndarray of float64, shape (n_told,)
    """
    sums = measured.items
    popularity = np.maximum(sums.popularity[measured.told], sums.popularity_noise)
    off = np.clip(sums.off_centre[measured.told] / popularity, -2, 2)
    unsure = (sums.off_noise / popularity) ** 2
    usual, between = _usual(off, unsure, popularity)
    pulled = usual + (off - usual) * between / (between + unsure)
    return np.clip(measured.centre + pulled, -1, 1)


def _usual(off: Numbers, unsure: Numbers, popularity: Numbers) -> tuple[Numbers, float]:
    """Return what is usual for items as popular, and the variance about it, by moments.

    Parameters
    ----------
    off, unsure, popularity : ndarray of float64, shape (n_told,)
        How far means are from the centre; the variance of their noise; how much each is rated.

    Examples
    --------
    >>> usual, between = _usual(np.array([0.1, 0.2, 0.3]), np.zeros(3), np.exp([1.0, 2.0, 3.0]))
    >>> usual.round(6).tolist(), between
    ([0.1, 0.2, 0.3], 0.01)
    """
    line = np.column_stack([np.ones(popularity.size), np.log(popularity)])
    between = _LEAST_VARIANCE
    for _ in range(_TURNS):
        weights = 1 / (unsure + between)
        # Items that are all as popular tell no slope: the shortest solution has none.
        roots = np.sqrt(weights)[:, None]
        usual = line @ linalg.lstsq(line * roots, off * roots[:, 0])[0]
        squares = weights**2 @ ((off - usual) ** 2 - unsure) / (weights @ weights)
        between = max(float(squares), _LEAST_VARIANCE)
    return usual, between


def _fit(
    measured: ChoiceSums, weights: Numbers, rng: np.random.Generator
) -> tuple[Numbers, NDArray[np.float32]]:
    """Return offsets and tastes of all told items; those with moments are fitted."""
    told = Told(
        moments=measured.moments,
        moments_noise=measured.moments_noise,
        popularity=measured.popularity[measured.chosen],
        popularity_noise=measured.popularity_noise,
        weights=weights,
        activity=measured.activity,
        share=measured.share_chosen,
        n_people=measured.n_people,
    )
    fitted = fit_items(told, rng)
    place = np.searchsorted(measured.told, measured.chosen)
    offsets = _tail_offsets(np.maximum(measured.popularity[measured.told], 0), place, fitted)
    tastes = np.zeros((measured.told.size, fitted.tastes.shape[1]), np.float32)
    offsets[place], tastes[place] = fitted.offsets, fitted.tastes
    return offsets, tastes


def _tail_offsets(popularity: Numbers, place: NDArray[np.int64], fitted: FittedItems) -> Numbers:
    """Return offsets of all told items by their popularity, as the least popular fitted have it."""
    least = np.argsort(popularity[place])[: max(50, place.size // 4)]
    mean = fitted.offsets[least] + (fitted.tastes[least] ** 2).sum(axis=1) / 2
    usual = np.median(mean - np.log(np.maximum(popularity[place[least]], 1e-3)))
    return np.asarray(usual + np.log(np.maximum(popularity, 1e-3)))


def _model(
    measured: NoisySums,
    labels: Labels,
    offsets: Numbers,
    tastes: NDArray[np.float32],
    scale: RatingScale,
) -> PeopleModel:
    return PeopleModel(
        offsets=offsets.astype(np.float32),
        tastes=tastes,
        activity=on_told(measured.activity, measured.share_told, measured.told.size),
        worth=labels.worth,
        cuts=labels.cuts,
        strictness=labels.strictness,
        chance=labels.chance,
        tilts=np.zeros(tastes.shape[1] - 1),
        likings=np.zeros(tastes.shape[1] - 1),
        scale=scale,
    )
