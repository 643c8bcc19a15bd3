"""Learn user models from noisy sums, including how far ratings follow users' embeddings.

On some tables ratings hardly follow the embeddings that explain choices; on others they follow them
closely. Users' noisy answers (`embedding_vectors`) are compared with those of a simulated sample
that follows its embeddings by a known strength, and the strength is adjusted until both agree.
Whatever attenuates the answers of real users, such as few ratings, attenuates the sample's as well.
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
from recveil.methods.synthetic.fitting import FitTargets, FittedItems, fit_items, scale_activity
from recveil.methods.synthetic.noisy_sums import (
    WHAT,
    ChoiceSums,
    NoisySums,
    QueriedItems,
    UserRatings,
    added_up,
)
from recveil.methods.synthetic.user_model import Labels, LikesModel, UserModel, learn_labels
from recveil.ratings import RatingScale
from recveil.release.synthetic_form import MOST_TILT
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]

# Minimum variance of item means about the prior mean.
_LEAST_VARIANCE = 0.01
# The prior mean and the variance about it depend on each other: number of iterations.
_LEARNING_TURNS = 20


def learn_users(measured: NoisySums, scale: RatingScale, rng: np.random.Generator) -> UserModel:
    """Fit a model of users with ratings to noisy sums."""
    popularity = np.maximum(measured.items.popularity, 0)
    released, chosen = measured.released, measured.chosen
    labels = learn_labels(
        measured.level_shares,
        measured.levels,
        scale,
        item_means(measured),
        popularity[released],
        measured.spread_of_users,
    )
    place = np.searchsorted(released, chosen)
    liked = np.clip(labels.liked_share(measured.levels, scale)[place], 0.02, 0.98)
    weights = np.column_stack([liked + (1 - liked) * RATED, liked + (1 - liked) * RATED**2])
    offsets, embeddings = _fit(measured.choices, weights, rng)
    return _model(measured, labels, offsets, embeddings, scale)


def learn_likes(measured: ChoiceSums, rng: np.random.Generator) -> LikesModel:
    """Fit a model of users with implicit feedback to noisy sums."""
    offsets, embeddings = _fit(measured, np.ones((measured.chosen.size, 2)), rng)
    activity = scale_activity(measured.activity, measured.share_as_json, measured.released.size)
    return LikesModel(offsets.astype(np.float32), embeddings, activity)


def item_means(measured: NoisySums) -> Numbers:
    """Return item means, scaled to -1 to 1 and shrunk by their noise towards a prior mean.

    The prior mean is linear in the logarithm of popularity, since popular items have mostly higher
    ratings.

    Returns
    -------
    ndarray of float64, shape (n_released,)
    """
    sums = measured.items
    popularity = np.maximum(sums.popularity[measured.released], sums.popularity_noise)
    off = np.clip(sums.off_centre[measured.released] / popularity, -2, 2)
    unsure = (sums.off_noise / popularity) ** 2
    usual, between = _usual(off, unsure, popularity)
    pulled = usual + (off - usual) * between / (between + unsure)
    return np.clip(measured.centre + pulled, -1, 1)


def _usual(off: Numbers, unsure: Numbers, popularity: Numbers) -> tuple[Numbers, float]:
    """Return the prior mean by popularity and the variance about it, by the method of moments.

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
        # Equally popular items determine no slope: the minimum-norm solution has none.
        roots = np.sqrt(weights)[:, None]
        usual = line @ linalg.lstsq(line * roots, off * roots[:, 0])[0]
        squares = weights**2 @ ((off - usual) ** 2 - unsure) / (weights @ weights)
        between = max(float(squares), _LEAST_VARIANCE)
    return usual, between


def _fit(
    measured: ChoiceSums, weights: Numbers, rng: np.random.Generator
) -> tuple[Numbers, NDArray[np.float32]]:
    """Return offsets and embeddings of all released items; those with moments are fitted."""
    measurements = FitTargets(
        moments=measured.moments,
        moments_noise=measured.moments_noise,
        popularity=measured.popularity[measured.chosen],
        popularity_noise=measured.popularity_noise,
        weights=weights,
        activity=measured.activity,
        share=measured.share_chosen,
        n_users=measured.n_users,
    )
    fitted = fit_items(measurements, rng)
    place = np.searchsorted(measured.released, measured.chosen)
    offsets = _tail_offsets(np.maximum(measured.popularity[measured.released], 0), place, fitted)
    embeddings = np.zeros((measured.released.size, fitted.item_embeddings.shape[1]), np.float32)
    offsets[place], embeddings[place] = fitted.offsets, fitted.item_embeddings
    return offsets, embeddings


def _tail_offsets(popularity: Numbers, place: NDArray[np.int64], fitted: FittedItems) -> Numbers:
    """Return offsets by popularity, extrapolated from the least popular fitted items."""
    least = np.argsort(popularity[place])[: max(50, place.size // 4)]
    mean = fitted.offsets[least] + (fitted.item_embeddings[least] ** 2).sum(axis=1) / 2
    usual = np.median(mean - np.log(np.maximum(popularity[place[least]], 1e-3)))
    return np.asarray(usual + np.log(np.maximum(popularity, 1e-3)))


def _model(
    measured: NoisySums,
    labels: Labels,
    offsets: Numbers,
    embeddings: NDArray[np.float32],
    scale: RatingScale,
) -> UserModel:
    return UserModel(
        offsets=offsets.astype(np.float32),
        item_embeddings=embeddings,
        activity=scale_activity(measured.activity, measured.share_as_json, measured.released.size),
        worth=labels.worth,
        cuts=labels.cuts,
        strictness=labels.strictness,
        chance=labels.chance,
        tilts=np.zeros(embeddings.shape[1] - 1),
        likings=np.zeros(embeddings.shape[1] - 1),
        scale=scale,
    )


QUERY = "ratings by factor"
# Size of the simulated sample, its minimum, and its maximum number of cells.
_SAMPLE_SIZE, _FEWEST, _CELLS = 2_000, 300, 40_000_000
# Number of adjustments.
_TURNS = 4
# Prior mean and variance among tables: of tilts, and of the squares of likings.
_USUAL_TILT, _USUAL_LIKING = (0.15, 0.2**2), (0.15**2, 0.05**2)
# Synthetic users follow embeddings this many times as far as measured. Recommenders trained on them
# predict better so, on MovieLens and on simulated users, since fitted embeddings are inexact.
BOLDER = 1.5
# Minimum variance among directions, and minimum strength of the simulated sample.
_LEAST_BETWEEN, _LEAST_PROBE = 1e-4, 0.05
_LEAST_SLOPE = 1e-6


def follow_embeddings(
    ratings: UserRatings,
    mechanism: QueriedItems,
    measured: NoisySums,
    model: UserModel,
    sigma: float,
    rng: np.random.Generator,
) -> UserModel:
    """Query how far ratings follow embeddings, and return the model with these strengths."""
    popularity = np.maximum(measured.items.popularity[measured.released], 0)
    embeddings = model.item_embeddings.copy()
    embeddings[:, 1:] = turned(embeddings[:, 1:], popularity)
    model = model._replace(item_embeddings=embeddings)
    items = EmbeddingMap.of(embeddings[:, 1:], popularity, item_means(measured))
    grid = sum_grid(sigma)
    exact = added_up(ratings, embedding_moments, measured.released, items, grid)
    noisy = mechanism.measure(QUERY, WHAT[QUERY], exact, grid)[:, : model.tilts.size]
    if not model.tilts.size:
        return model
    n_users = max(measured.n_users, 1.0)
    answer = _Answer(noisy / n_users, (sigma / n_users) ** 2, n_users)
    return _moved_until_alike(model, items, answer, int(rng.integers(1 << 62)))


@brief
class _Answer(NamedTuple):
    """Noisy means of users' vectors, shape (2, n_directions), and their noise."""

    means: Numbers
    variance: float
    n_users: float


def _moved_until_alike(
    model: UserModel, items: EmbeddingMap, answer: _Answer, drawing: int
) -> UserModel:
    n = int(np.clip(_CELLS // max(1, len(model.offsets)), _FEWEST, _SAMPLE_SIZE))
    n_directions = model.tilts.size

    def simulate(tilts: Numbers, likings: Numbers) -> tuple[Numbers, Numbers]:
        # Each call draws the same users and choices; only their ratings differ.
        of = model._replace(tilts=tilts, likings=likings)
        vectors = _vectors_of(of, items, n, np.random.default_rng(drawing))
        return vectors.mean(axis=0), vectors.var(axis=0)

    tilts = np.full(n_directions, _USUAL_TILT[0])
    likings = np.full(n_directions, np.sqrt(_USUAL_LIKING[0]))
    for _ in range(_TURNS):
        tilts = np.where(tilts < 0, -1.0, 1.0) * np.maximum(np.abs(tilts), _LEAST_PROBE)
        likings = np.maximum(likings, _LEAST_PROBE)
        by_choice = simulate(tilts, np.zeros(n_directions))[0]
        found, spread = simulate(tilts, likings)
        unsure = spread * (1 / answer.n_users + 1 / n) + answer.variance
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
    model: UserModel, items: EmbeddingMap, n_users: int, rng: np.random.Generator
) -> Numbers:
    blocks = model.draw(n_users, rng, whole=True)
    return np.concatenate(
        [
            embedding_vectors(block.indptr, block.indices, moved(block.values, model.scale), items)
            for block in blocks
        ]
    )


def believed(
    estimates: Numbers, variances: Numbers, usual: float, between_tables: float
) -> Numbers:
    """Shrink noisy estimates towards their common mean, and that towards a prior mean.

    Parameters
    ----------
    estimates, variances : ndarray of float64, shape (n,)
        Estimates, and the variance of each.
    usual, between_tables : float
        Prior mean, and its variance among tables.

    Returns
    -------
    ndarray of float64, shape (n,)
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
