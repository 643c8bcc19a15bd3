"""Following tastes: how far ratings follow the tastes that people choose by, from noisy sums.

People who choose by the same tastes rate by them as well, more or less: on one table hardly, on
another entirely. What people tell of it (`embedding_vectors`) is compared with what a drawn crowd
tells
that follows its tastes by a known measure, and the measure is moved until both tell the same.
Whatever blurs real people's answers, such as how few ratings they have, blurs the crowd's as well.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from recveil.methods.synthetic.bounded_sums import RATED, moved, sum_grid
from recveil.methods.synthetic.embedding_sums import (
    EmbeddingMap,
    embedding_moments,
    embedding_vectors,
    turned,
)
from recveil.methods.synthetic.fitting import FittedItems, Told, fit_items, on_told
from recveil.methods.synthetic.noisy_sums import (
    WHAT,
    ChoiceSums,
    NoisySums,
    People,
    QueriedItems,
    added_up,
)
from recveil.methods.synthetic.rating_model import Labels, learn_labels
from recveil.methods.synthetic.user_model import LikesModel, UserModel
from recveil.ratings import RatingScale
from recveil.release.synthetic_form import MOST_TILT
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]

# Means of items are pulled towards what is usual by at least this variance about it.
_LEAST_VARIANCE = 0.01
# What is usual and the variance about it need each other: so many turns are enough.
_LEARNING_TURNS = 20


def learn_users(measured: NoisySums, scale: RatingScale, rng: np.random.Generator) -> UserModel:
    """Fit the rule by which people are drawn to noisy sums.

    Parameters
    ----------
    measured : NoisySums
    scale : RatingScale
    rng : Generator
        Draws the crowd that stands for everybody while items are fitted.

    Returns
    -------
    UserModel
        Its items are the told ones, in their order. Ratings follow no taste: people have not been
        asked that yet (`recveil.methods.synthetic.learning`).
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
    activity = on_told(measured.activity, measured.share_as_json, measured.told.size)
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
    for _ in range(_LEARNING_TURNS):
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
) -> UserModel:
    return UserModel(
        offsets=offsets.astype(np.float32),
        tastes=tastes,
        activity=on_told(measured.activity, measured.share_as_json, measured.told.size),
        worth=labels.worth,
        cuts=labels.cuts,
        strictness=labels.strictness,
        chance=labels.chance,
        tilts=np.zeros(tastes.shape[1] - 1),
        likings=np.zeros(tastes.shape[1] - 1),
        scale=scale,
    )


QUERY = "ratings by taste"
# The crowd that is drawn to compare with, and how many cells it may have.
_CROWD, _FEWEST, _CELLS = 2_000, 300, 40_000_000
# Measures are moved so many times.
_TURNS = 4
# What is usual if noise hides everything, and how far tables are from it, as a variance. Of tilts,
# and of the squares of likings.
_USUAL_TILT, _USUAL_LIKING = (0.15, 0.2**2), (0.15**2, 0.05**2)
# Drawn people follow tastes so many times as far as people told: recommenders that learn from them
# predict better so, on MovieLens and on invented people, as learnt tastes are not quite true ones.
BOLDER = 1.5
# Directions differ at least by this variance; a crowd follows its tastes at least so far.
_LEAST_BETWEEN, _LEAST_PROBE = 1e-4, 0.05
_LEAST_SLOPE = 1e-6


def follow_embeddings(
    ratings: People,
    mechanism: QueriedItems,
    measured: NoisySums,
    model: UserModel,
    sigma: float,
    rng: np.random.Generator,
) -> UserModel:
    """Ask people how far they rate by taste, and return the rule that follows tastes so far.

    Parameters
    ----------
    ratings : Ratings, or whoever is spread
        Those that were measured.
    mechanism : Mechanism or WithoutNoise
    measured : NoisySums
    model : UserModel
        Learnt from them. In what is returned, tastes are turned, so that directions do not go
        together.
    sigma : float
        The noise of the query, for a vector of length 1.
    rng : Generator
        Draws crowds.

    Returns
    -------
    UserModel
    """
    popularity = np.maximum(measured.items.popularity[measured.told], 0)
    tastes = model.tastes.copy()
    tastes[:, 1:] = turned(tastes[:, 1:], popularity)
    model = model._replace(tastes=tastes)
    items = EmbeddingMap.of(tastes[:, 1:], popularity, item_means(measured))
    grid = sum_grid(sigma)
    exact = added_up(ratings, embedding_moments, measured.told, items, grid)
    told = mechanism.measure(QUERY, WHAT[QUERY], exact, grid)[:, : model.tilts.size]
    if not model.tilts.size:
        return model
    n_people = max(measured.n_people, 1.0)
    answer = _Answer(told / n_people, (sigma / n_people) ** 2, n_people)
    return _moved_until_alike(model, items, answer, int(rng.integers(1 << 62)))


@brief
class _Answer(NamedTuple):
    """What people tell: means of their vectors, shape (2, n_directions), and their noise."""

    means: Numbers
    variance: float
    n_people: float


def _moved_until_alike(
    model: UserModel, items: EmbeddingMap, answer: _Answer, drawing: int
) -> UserModel:
    n = int(np.clip(_CELLS // max(1, len(model.offsets)), _FEWEST, _CROWD))
    n_directions = model.tilts.size

    def crowd(tilts: Numbers, likings: Numbers) -> tuple[Numbers, Numbers]:
        # Each time the same people, who choose the same: only how they rate is another.
        of = model._replace(tilts=tilts, likings=likings)
        vectors = _vectors_of(of, items, n, np.random.default_rng(drawing))
        return vectors.mean(axis=0), vectors.var(axis=0)

    tilts = np.full(n_directions, _USUAL_TILT[0])
    likings = np.full(n_directions, np.sqrt(_USUAL_LIKING[0]))
    for _ in range(_TURNS):
        tilts = np.where(tilts < 0, -1.0, 1.0) * np.maximum(np.abs(tilts), _LEAST_PROBE)
        likings = np.maximum(likings, _LEAST_PROBE)
        by_choice = crowd(tilts, np.zeros(n_directions))[0]
        found, spread = crowd(tilts, likings)
        unsure = spread * (1 / answer.n_people + 1 / n) + answer.variance
        slope = np.maximum(found[0] / tilts, _LEAST_SLOPE)
        gain = np.maximum((found[1] - by_choice[1]) / likings**2, _LEAST_SLOPE)
        tilts = believed(answer.means[0] / slope, unsure[0] / slope**2, *_USUAL_TILT)
        squares = (answer.means[1] - by_choice[1]) / gain
        squares = believed(squares, unsure[1] / gain**2, *_USUAL_LIKING)
        tilts = np.clip(tilts, -MOST_TILT, MOST_TILT)
        likings = np.sqrt(np.clip(squares, 0, MOST_TILT**2))
    tilts, likings = np.clip(BOLDER * np.array([tilts, likings]), -MOST_TILT, MOST_TILT)
    return model._replace(tilts=tilts, likings=likings).within_bounds()


def _vectors_of(
    model: UserModel, items: EmbeddingMap, n_people: int, rng: np.random.Generator
) -> Numbers:
    blocks = model.draw(n_people, rng, whole=True)
    return np.concatenate(
        [
            embedding_vectors(block.indptr, block.indices, moved(block.values, model.scale), items)
            for block in blocks
        ]
    )


def believed(
    estimates: Numbers, variances: Numbers, usual: float, between_tables: float
) -> Numbers:
    """Pull unsure estimates towards what they have in common, and that towards what is usual.

    Parameters
    ----------
    estimates, variances : ndarray of float64, shape (n,)
        How unsure each is, as a variance.
    usual, between_tables : float
        What is usual, and how far tables are from it, as a variance.

    Returns
    -------
    ndarray of float64, shape (n,)

    Examples
    --------
    Sure ones stay; of what noise hides, the usual is left:

    >>> believed(np.array([0.5, 0.9]), np.full(2, 1e-9), 0.2, 0.04).round(3).tolist()
    [0.5, 0.9]
    >>> believed(np.array([90.0, -70.0]), np.full(2, 1e6), 0.2, 0.04).round(3).tolist()
    [0.2, 0.2]
    """
    between = _LEAST_BETWEEN
    for _ in range(20):
        weights = 1 / (variances + between)
        common = (weights @ estimates + usual / between_tables) / (
            weights.sum() + 1 / between_tables
        )
        squares = weights**2 @ ((estimates - common) ** 2 - variances) / (weights @ weights)
        between = max(float(squares), _LEAST_BETWEEN)
    return np.asarray(common + (estimates - common) * between / (between + variances))
