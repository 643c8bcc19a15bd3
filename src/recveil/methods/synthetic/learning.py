"""Learn user models from noisy sums, including how far ratings follow users' embeddings.

Users' noisy answers (`embedding_vectors`) are compared with those of a simulated sample that
follows its embeddings by a known strength, and the strength is adjusted until both agree. Whatever
attenuates the answers of real users, such as few ratings, attenuates the sample's as well.

Each user answers with one vector of length at most 1. Along each direction it has two numbers:
whether the user rates higher what their choices lean to, and whether half of their ratings agrees
with the other half. Everything but the user's own ratings is known from noisy sums.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy import linalg

from recveil.methods.synthetic.bounded_sums import RATED, SURELY_BOUNDED, moved, sum_grid
from recveil.methods.synthetic.fitting import (
    FeatureRegression,
    FitTargets,
    FittedItems,
    fit_items,
    regression_weights,
    scale_activity,
)
from recveil.methods.synthetic.sum_queries import (
    WHAT,
    ChoiceSums,
    NoisySums,
    QueriedItems,
    UserRatings,
    added_up,
)
from recveil.methods.synthetic.user_model import Labels, LikesModel, UserModel, learn_labels
from recveil.ratings import Ratings, RatingScale
from recveil.release.method import MOST_DIRECTIONS
from recveil.release.synthetic_form import MOST_SLOPE
from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

# A user with this many ratings has weight 1/2, since few ratings carry little information.
_HALF_COUNTS = 20
# Shorter vectors count as 0.
_NOTHING = 1e-12
# Number of partial sums, one thread each.
_PARTS = 8

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]


@brief
class EmbeddingMap(NamedTuple):
    """Public item features for the query on embeddings."""

    # Item embeddings, centered over interactions
    directions: Numbers
    # Variance of these embeddings over interactions
    damping: Numbers
    # Mean ratings, scaled to -1 to 1
    means: Numbers
    # The half, 0 or 1, in which the item's ratings count; -1 for items without an embedding
    half: Whole

    @classmethod
    def of(cls, item_embeddings: NDArray[np.floating], popularity: Numbers, means: Numbers) -> Self:
        """Prepare items with uncorrelated directions (`turned`), and means scaled to -1 to 1."""
        met = _shares(popularity)
        has_embedding = np.any(item_embeddings, axis=1)
        # One thread, so that the last bit of a sum does not depend on the machine.
        with one_thread():
            off = np.where(has_embedding[:, None], item_embeddings - met @ item_embeddings, 0.0)
            damping = met @ off**2
        half = np.empty(met.size, np.int64)
        half[np.argsort(-popularity, kind="stable")] = np.arange(met.size) % 2
        return cls(off, damping, means, np.where(has_embedding, half, -1))


def turned(item_embeddings: NDArray[np.floating], popularity: Numbers) -> NDArray[np.float32]:
    """Rotate embeddings so that directions are uncorrelated over interactions.

    Users' embeddings are isotropic, so the rotated model samples the same users.
    """
    met = _shares(popularity)
    with one_thread():
        off = item_embeddings - met @ item_embeddings
        _, vectors = np.linalg.eigh((off * met[:, None]).T @ off)
        # Fix the sign: the positive numbers of each vector outweigh.
        vectors = vectors * np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)
        return np.asarray(item_embeddings @ vectors, np.float32)


def _shares(popularity: Numbers) -> Numbers:
    known = np.maximum(popularity, 0)
    return known / known.sum() if known.any() else np.full(known.size, 1 / max(known.size, 1))


def embedding_moments(ratings: Ratings, released: Whole, items: EmbeddingMap, grid: float) -> Whole:
    """Sum every user's vector, in steps of a grid, shape (2, `MOST_DIRECTIONS`)."""
    # docs/explanation/differential-privacy.md proves that each has a length of at most 1 (seventh
    # query). If rounding makes a vector longer, it is scaled down; a value that is not a number
    # counts as 0.
    place_of = np.full(ratings.n_items, -1, np.int64)
    place_of[released] = np.arange(released.size)
    at = moved(ratings.values, ratings.scale).astype(np.float32)
    sums = np.zeros((_PARTS, 2, MOST_DIRECTIONS), np.int64)
    _add_up(ratings.indptr, ratings.indices, at, place_of, *items, grid, sums)
    return np.asarray(sums.sum(axis=0))


def embedding_vectors(
    indptr: Whole, places: NDArray[np.integer], at: Numbers, items: EmbeddingMap
) -> Numbers:
    """Return the vectors of users with compressed rows, shape (n_users, 2, n_directions).

    `places` are positions in the map, `at` the ratings, scaled to -1 to 1.
    """
    vectors = np.zeros((indptr.size - 1, 2, items.damping.size))
    all_items = np.arange(len(items.means))
    _each(indptr, places, at.astype(np.float32), all_items, *items, vectors)
    return vectors


@compiled(parallel=True)
def _add_up(indptr, indices, at, place_of, directions, damping, means, half, grid, sums):  # type: ignore[no-untyped-def]
    """Sum vectors in whole steps; each vector is rounded toward zero first."""
    n_users = len(indptr) - 1
    for part in prange(len(sums)):
        vector = np.zeros((2, len(damping)))
        for user in range(part, n_users, len(sums)):
            first, last = indptr[user], indptr[user + 1]
            _one(
                indices[first:last],
                at[first:last],
                place_of,
                directions,
                damping,
                means,
                half,
                vector,
            )
            for kind in range(2):
                for along in range(len(damping)):
                    sums[part, kind, along] += int(vector[kind, along] * SURELY_BOUNDED / grid)


@compiled(parallel=True)
def _each(indptr, indices, at, place_of, directions, damping, means, half, vectors):  # type: ignore[no-untyped-def]
    for user in prange(len(vectors)):
        first, last = indptr[user], indptr[user + 1]
        _one(
            indices[first:last],
            at[first:last],
            place_of,
            directions,
            damping,
            means,
            half,
            vectors[user],
        )


@compiled()
def _one(indices, at, place_of, directions, damping, means, half, vector):  # type: ignore[no-untyped-def]
    """Write one user's vector; `embedding_moments` defines it and shows its bound."""
    n_directions = len(damping)
    vector[:] = 0.0
    # For the ratings in either half: their number, and sums of e, e², b, e b and b².
    n, of_e, of_ee = np.zeros(2), np.zeros(2), np.zeros(2)
    of_b, of_eb = np.zeros((2, n_directions)), np.zeros((2, n_directions))
    of_bb = np.zeros(n_directions)
    for rating in range(len(indices)):
        place = place_of[indices[rating]]
        if place < 0 or half[place] < 0:
            continue
        side = half[place]
        off = at[rating] - means[place]
        n[side] += 1
        of_e[side] += off
        of_ee[side] += off * off
        for along in range(n_directions):
            much = directions[place, along]
            of_b[side, along] += much
            of_eb[side, along] += off * much
            of_bb[along] += much * much
    known = n[0] + n[1]
    if known < 2:
        return
    spread = max(of_ee.sum() - of_e.sum() ** 2 / known, 0.0)
    square, square_0, square_1 = 0.0, 0.0, 0.0
    for along in range(n_directions):
        met = of_b[0, along] + of_b[1, along]
        leans = met / (1 + known * damping[along])
        together = of_eb[0, along] + of_eb[1, along] - of_e.sum() * met / known
        square += leans * leans * max(of_bb[along] - met * met / known, 0.0)
        vector[0, along] = leans * together
        if n[0] > 1 and n[1] > 1:
            in_0 = of_eb[0, along] - of_e[0] * of_b[0, along] / n[0]
            in_1 = of_eb[1, along] - of_e[1] * of_b[1, along] / n[1]
            square_0 += in_0 * in_0
            square_1 += in_1 * in_1
            vector[1, along] = in_0 * in_1
    fewer = 2 * min(n[0], n[1])
    _shorten(vector[0], math.sqrt(spread * square), known / (known + _HALF_COUNTS))
    _shorten(vector[1], math.sqrt(square_0 * square_1), fewer / (fewer + _HALF_COUNTS))


@compiled()
def _shorten(numbers, length, weight):  # type: ignore[no-untyped-def]
    """Divide by a length and multiply by the root of half a weight, which bounds the result."""
    if not length > _NOTHING:  # also true for NaN
        numbers[:] = 0.0
        return
    square = 0.0
    for along in range(len(numbers)):
        numbers[along] /= length
        square += numbers[along] * numbers[along]
    if not square < np.inf:
        numbers[:] = 0.0
        return
    if square > 1:
        numbers /= math.sqrt(square)
    numbers *= weight * math.sqrt(0.5)


LEAST_POPULARITY = 1e-3
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
    ratings, and in public features.
    """
    sums = measured.items
    popularity = np.maximum(sums.popularity[measured.released], LEAST_POPULARITY)
    off = np.clip(sums.off_centre[measured.released] / popularity, -2, 2)
    unsure = (sums.off_noise / popularity) ** 2
    with one_thread():
        usual, between = _usual(off, unsure, popularity, measured.features)
    pulled = usual + (off - usual) * between / (between + unsure)
    return np.clip(measured.centre + pulled, -1, 1)


def _usual(
    off: Numbers, unsure: Numbers, popularity: Numbers, features: NDArray[np.bool_] | None = None
) -> tuple[Numbers, float]:
    """Return the prior mean by popularity and the variance about it, by the method of moments."""
    # Coefficients of features have a normal prior, with a quarter of that variance.
    columns = np.empty((popularity.size, 0)) if features is None else features
    line = np.column_stack([np.ones(popularity.size), np.log(popularity), columns])
    prior = 2 * np.eye(line.shape[1])[2:]
    between = _LEAST_VARIANCE
    for _ in range(_LEARNING_TURNS):
        weights = 1 / (unsure + between)
        # Equally popular items determine no slope: the minimum-norm solution has none.
        roots = np.sqrt(weights)[:, None]
        rows = np.vstack([line * roots, prior / math.sqrt(between)])
        usual = line @ linalg.lstsq(rows, np.append(off * roots[:, 0], np.zeros(len(prior))))[0]
        squares = weights**2 @ ((off - usual) ** 2 - unsure) / (weights @ weights)
        between = max(float(squares), _LEAST_VARIANCE)
    return usual, between


def _fit(
    measured: ChoiceSums, weights: Numbers, rng: np.random.Generator
) -> tuple[Numbers, NDArray[np.float32]]:
    """Return offsets and embeddings of all released items; those with moments are fitted."""
    place = np.searchsorted(measured.released, measured.chosen)
    measurements = FitTargets(
        moments=measured.moments,
        moments_noise=measured.moments_noise,
        popularity=measured.popularity[measured.chosen],
        popularity_noise=measured.popularity_noise,
        weights=weights,
        activity=measured.activity,
        share=measured.share_chosen,
        n_users=measured.n_users,
        features=None if measured.features is None else measured.features[place],
        is_centred=measured.is_centred,
    )
    fitted = fit_items(measurements, rng)
    offsets = _tail_offsets(np.maximum(measured.popularity[measured.released], 0), place, fitted)
    shape = measured.released.size, fitted.item_embeddings.shape[1]
    embeddings = np.zeros(shape, np.float32)
    if measured.features is not None:
        weights_of_items = regression_weights(measurements.popularity)
        with one_thread():
            regression = FeatureRegression.of(measured.features[place], weights_of_items)
            embeddings[:] = regression.predicted(measured.features, fitted.item_embeddings)
        offsets -= (embeddings**2).sum(axis=1) / 2
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
        rating_means=labels.rating_means,
        cuts=labels.cuts,
        strictness=labels.strictness,
        chance=labels.chance,
        slopes=np.zeros(embeddings.shape[1] - 1),
        slope_spreads=np.zeros(embeddings.shape[1] - 1),
        scale=scale,
    )


QUERY = "ratings by factor"
# Size of the simulated sample, its minimum, and its maximum number of cells.
_SAMPLE_SIZE, _FEWEST, _CELLS = 2_000, 300, 40_000_000
# Number of adjustments.
_TURNS = 4
# Prior mean and variance among tables: of slopes, and of the squares of their spreads.
_USUAL_SLOPE, _USUAL_SPREAD = (0.15, 0.2**2), (0.15**2, 0.05**2)
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
    noisy = mechanism.measure(QUERY, WHAT[QUERY], exact, grid)[:, : model.slopes.size]
    if not model.slopes.size:
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
    n_directions = model.slopes.size

    def simulate(slopes: Numbers, slope_spreads: Numbers) -> tuple[Numbers, Numbers]:
        # Each call draws the same users and choices; only their ratings differ.
        of = model._replace(slopes=slopes, slope_spreads=slope_spreads)
        vectors = _vectors_of(of, items, n, np.random.default_rng(drawing))
        return vectors.mean(axis=0), vectors.var(axis=0)

    slopes = np.full(n_directions, _USUAL_SLOPE[0])
    slope_spreads = np.full(n_directions, np.sqrt(_USUAL_SPREAD[0]))
    for _ in range(_TURNS):
        slopes = np.where(slopes < 0, -1.0, 1.0) * np.maximum(np.abs(slopes), _LEAST_PROBE)
        slope_spreads = np.maximum(slope_spreads, _LEAST_PROBE)
        by_choice = simulate(slopes, np.zeros(n_directions))[0]
        found, spread = simulate(slopes, slope_spreads)
        unsure = spread * (1 / answer.n_users + 1 / n) + answer.variance
        slope = np.maximum(found[0] / slopes, _LEAST_SLOPE)
        gain = np.maximum((found[1] - by_choice[1]) / slope_spreads**2, _LEAST_SLOPE)
        slopes = believed(answer.means[0] / slope, unsure[0] / slope**2, *_USUAL_SLOPE)
        squares = (answer.means[1] - by_choice[1]) / gain
        squares = believed(squares, unsure[1] / gain**2, *_USUAL_SPREAD)
        slopes = np.clip(slopes, -MOST_SLOPE, MOST_SLOPE)
        slope_spreads = np.sqrt(np.clip(squares, 0, MOST_SLOPE**2))
    slopes, slope_spreads = np.clip(
        BOLDER * np.array([slopes, slope_spreads]), -MOST_SLOPE, MOST_SLOPE
    )
    return model._replace(slopes=slopes, slope_spreads=slope_spreads).within_bounds()


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
    """Shrink noisy estimates towards their common mean, and that towards the prior mean `usual`.

    `between_tables` is the variance of the prior mean among tables.
    """
    between = _LEAST_BETWEEN
    for _ in range(20):
        weights = 1 / (variances + between)
        common = (weights @ estimates + usual / between_tables) / (
            weights.sum() + 1 / between_tables
        )
        squares = weights**2 @ ((estimates - common) ** 2 - variances) / (weights @ weights)
        # Of few estimates that are noise, this may be large by chance.
        between = float(np.clip(squares, _LEAST_BETWEEN, between_tables))
    return np.asarray(common + (estimates - common) * between / (between + variances))
