"""Fitted user models: samples of synthetic users, in one stream or in batches, and their file."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numba import prange
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import ndtr, ndtri

from recveil.methods.synthetic.bounded_sums import moved
from recveil.methods.synthetic.periods import DatedUsers
from recveil.ratings import RatingScale
from recveil.release.manifest import Manifest
from recveil.release.records import Records
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.release.synthetic_form import (
    DIGITS,
    LEAST_LEVEL_SHARE,
    MOST_SAMPLED,
    batch_size,
    rating_levels,
    tenths_of,
)
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

Numbers = NDArray[np.float64]
Small = NDArray[np.float32]

# Smallest part of the variance.
_LEAST_PART = 0.02
# Number of points of lookup tables on the latent scale, and their range.
_PLACES, _FAR = 2_001, 8.0


@brief
class Labels(NamedTuple):
    """Parameters of an ordered probit model of ratings, fitted to noisy sums.

    A rating is the level between whose cuts a latent number falls: the sum of the item's mean, the
    user's mean, their match, and random error. Its variance over all ratings is 1.
    """

    # Borders between levels
    cuts: Numbers
    # Item means
    rating_means: Numbers
    # Standard deviation of user means
    strictness: float
    # Standard deviation of one user's ratings of equal items
    chance: float

    def liked_share(self, levels: Numbers, scale: RatingScale) -> Numbers:
        """Return the share of each item's ratings that count as liked, shape (n_items,)."""
        cut = self.cuts[np.searchsorted(levels, scale.liked_from) - 1]
        return np.asarray(ndtr((self.rating_means - cut) / np.hypot(self.strictness, self.chance)))


def learn_labels(
    level_shares: Numbers,
    levels: Numbers,
    scale: RatingScale,
    item_means: Numbers,
    popularity: Numbers,
    spread_of_users: float,
) -> Labels:
    """Fit cuts, item means and variances."""
    shares = np.maximum(level_shares, LEAST_LEVEL_SHARE * max(level_shares.max(), 1e-12))
    shares = shares / shares.sum()
    cuts = np.asarray(ndtri(np.cumsum(shares)[:-1]))
    at = moved(levels, scale)
    mean = float(shares @ at)
    variance = max(float(shares @ (at - mean) ** 2), 1e-6)
    counts = popularity / max(popularity.sum(), 1e-12)
    centre = float(counts @ item_means)
    of_items = float(counts @ (item_means - centre) ** 2) / variance
    of_items = min(max(of_items, _LEAST_PART), 0.6)
    of_users = min(max(spread_of_users / variance, _LEAST_PART), 0.3)
    chance = 1 - of_items - of_users
    rating_means = _latent_means(item_means, at, cuts, np.sqrt(of_users + chance))
    return Labels(cuts, rating_means, float(np.sqrt(of_users)), float(np.sqrt(chance)))


def expected_labels(at: Numbers, cuts: Numbers, spread: float, rating_means: Numbers) -> Numbers:
    """Return the expected value of ratings with latent mean `rating_means` and deviation `spread`.

    `at` are the values of the levels, between `cuts`.
    """
    above = ndtr((rating_means[..., None] - cuts) / spread)
    return np.asarray(at[0] + above @ np.diff(at))


def _latent_means(means: Numbers, at: Numbers, cuts: Numbers, spread: float) -> Numbers:
    places = np.linspace(-_FAR, _FAR, _PLACES)
    expected = expected_labels(at, cuts, spread, places)
    return np.asarray(np.interp(means, expected, places))


@brief
class LabelSides(NamedTuple):
    """Expected values given that a user liked an item or did not, as lookup tables."""

    # The latent mean; the probability of "liked"; the expected value if liked, and if not
    places: Numbers
    liked: Numbers
    if_liked: Numbers
    if_not: Numbers

    @classmethod
    def of(cls, cuts: Numbers, chance: float, levels: Numbers, scale: RatingScale) -> "LabelSides":
        """Compute the tables for a scale."""
        places = np.linspace(-_FAR, _FAR, _PLACES)
        above = ndtr((places[:, None] - cuts) / chance)
        edge = np.ones((len(places), 1))
        shares = np.hstack([edge, above]) - np.hstack([above, 0 * edge])
        high = levels >= scale.liked_from
        liked = shares[:, high].sum(axis=1)
        return cls(
            places,
            liked,
            _mean_of(shares[:, high], levels[high], levels[high][0]),
            _mean_of(shares[:, ~high], levels[~high], levels[~high][-1]),
        )


def _mean_of(shares: Numbers, levels: Numbers, if_none: float) -> Numbers:
    total = shares.sum(axis=1)
    sums = shares @ levels
    return np.divide(sums, total, out=np.full(len(total), if_none), where=total > 1e-12)


# Cells per block of sampled users.
_CELLS = 1 << 22
# Number of item orders for systematic sampling, so that no two neighbours always exclude each
# other.
_ORDERS = 64
# Users of a sample to fit dates, at most one block.
_DATED_USERS = 2_000
# Log-odds are clipped here.
_SURE = 60.0
# Embeddings of more users per direction than this are whitened, to reduce sampling error.
_MANY = 5


def blocks_of(n_users: int, n_items: int) -> Iterator[slice]:
    """Cut users into blocks that are sampled at once."""
    step = max(1, _CELLS // max(1, n_items))
    for start in range(0, n_users, step):
        yield slice(start, min(start + step, n_users))


def draw_orders(n_items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return random item orders for systematic sampling, shape (n_orders, n_items)."""
    return np.stack([rng.permutation(n_items) for _ in range(_ORDERS)])


def draw_users(
    activity: Numbers, item_embeddings: Small, n_users: int, rng: np.random.Generator
) -> tuple[Numbers, Small]:
    """Return item counts and embeddings of sampled users, as exact quantiles and whitened.

    `activity` are item counts as equally likely quantiles, ascending. The first column of all
    embeddings, of shape (n, 1 + n_directions), is multiplied by the user's activity.
    """
    counts = np.quantile(activity, (np.arange(n_users) + 0.5) / n_users)
    counts = rng.permutation(counts)
    spread = float(np.log(activity).std()) or 1.0
    logs = (np.log(counts) - np.log(activity).mean()) / spread
    others = rng.normal(size=(n_users, item_embeddings.shape[1] - 1))
    if n_users > _MANY * item_embeddings.shape[1]:
        # One thread, so that the last bit of a sum does not depend on the machine.
        with one_thread():
            others -= others.mean(axis=0)
            covariance = others.T @ others / n_users
            others = linalg.solve_triangular(
                linalg.cholesky(covariance, lower=True), others.T, lower=True
            ).T
    return counts, np.column_stack([logs, others]).astype(np.float32)


def pick_items(
    user_embeddings: Small,
    activity: Numbers,
    offsets: Small,
    item_embeddings: Small,
    orders: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[Small, NDArray[np.bool_]]:
    """Return the probability that each user chooses each item, and a sample, of one item or more.

    `offsets` are those of the log-odds, `orders` are from `draw_orders`.
    """
    of_directions = np.ascontiguousarray(item_embeddings[:, 1:])
    with one_thread():
        odds = user_embeddings[:, 1:] @ of_directions.T
    odds += np.outer(user_embeddings[:, 0], item_embeddings[:, 0])
    odds += offsets
    # Exponentiate once: a user's offset is then a factor.
    np.exp(np.clip(odds, -_SURE, _SURE, out=odds), out=odds)
    order_of = rng.integers(len(orders), size=len(user_embeddings))
    starts = rng.random(len(user_embeddings))
    picked = np.zeros(odds.shape, np.bool_)
    _pick(odds, activity, orders, order_of, starts, picked)
    return odds, picked


def fit_dates(
    model: "UserModel | LikesModel", dates: DatedUsers, rng: np.random.Generator
) -> "UserModel | LikesModel":
    """Date a model's users, whose items have their popularity in each period."""
    n = min(max(1, _CELLS // max(1, len(model.offsets))), _DATED_USERS)
    (block,) = model.draw(n, rng)
    return model._replace(dates=dates.fitted(block))


@compiled(parallel=True, fastmath={"reassoc"})
def _pick(odds, activity, orders, order_of, starts, picked):  # type: ignore[no-untyped-def]
    """Mark each user's items by systematic sampling; log-odds become probabilities in place."""
    n_users, n_items = odds.shape
    for user in prange(n_users):
        wanted = min(activity[user], MOST_SAMPLED * n_items)
        offset = 0.0
        for _ in range(60):
            total, slope = 0.0, 1e-9
            factor = np.exp(offset)
            for item in range(n_items):
                raised = odds[user, item] * factor
                chance = raised / (1 + raised)
                total += chance
                slope += chance * (1 - chance)
            step = min(2.0, max(-2.0, (total - wanted) / slope))
            offset -= step
            if abs(step) < 1e-3:
                break
        factor = np.exp(offset)
        for item in range(n_items):
            raised = odds[user, item] * factor
            odds[user, item] = raised / (1 + raised)
        passed, next_one = 0.0, starts[user]
        likeliest, most = 0, -1.0
        n_picked = 0
        for item in orders[order_of[user]]:
            chance = odds[user, item]
            if chance > most:
                likeliest, most = item, chance
            passed += chance
            if passed > next_one:
                picked[user, item] = True
                n_picked += 1
                next_one += 1
        if n_picked == 0:  # every user has a rating
            picked[user, likeliest] = True


# Largest share of the residual variance that embeddings may explain.
_MOST_EXPLAINED = 0.8
# Sample size for estimating that share.
_SAMPLE_SIZE = 500


@brief
class UserModel(NamedTuple):
    """A fitted model of users who rate items; all of it is public."""

    # Item offsets of the log-odds of rating
    offsets: Small
    # Item embeddings; the first column is multiplied by the user's activity
    item_embeddings: Small
    # Ratings per user as equally likely quantiles, ascending
    activity: Numbers
    # Item means on the latent scale of `recveil.methods.synthetic.user_model`
    rating_means: Numbers
    cuts: Numbers
    # Standard deviations on that scale: of user means, and of one user's ratings of equal items
    strictness: float
    chance: float
    # Per direction, the gain on the latent scale for each unit of a user's log-odds of rating
    slopes: Numbers
    # Per direction, the standard deviation of rating embeddings that choices do not explain
    slope_spreads: Numbers
    scale: RatingScale
    # When users rate, of a release with dates
    dates: DatedUsers | None = None

    def of_items(self, order: NDArray[np.int64]) -> "UserModel":
        """Return the model with its items in another order."""
        return self._replace(
            offsets=self.offsets[order],
            item_embeddings=self.item_embeddings[order],
            rating_means=self.rating_means[order],
            dates=None if self.dates is None else self.dates.of_items(order),
        )

    def draw(
        self, n_users: int, rng: np.random.Generator, *, whole: bool = False
    ) -> Iterator[Records]:
        """Sample users with their ratings, block by block."""
        activity, embeddings = draw_users(self.activity, self.item_embeddings, n_users, rng)
        orders = draw_orders(len(self.offsets), rng)
        chance = self._probability_without_embedding(orders)
        for some in blocks_of(n_users, len(self.offsets)):
            block = self._draw_block(embeddings[some], activity[some], orders, rng)
            hidden = self.rating_means[block.indices] + block.values
            strict = rng.normal(size=some.stop - some.start)
            hidden += np.repeat(strict, np.diff(block.indptr)) * self.strictness
            block = replace(block, values=self._labels(hidden, chance, rng, whole))
            yield block if self.dates is None else self.dates.date(block, rng)

    def _probability_without_embedding(self, orders: NDArray[np.int64]) -> float:
        """Return the standard deviation that embeddings leave unexplained."""
        explained = min(self._explained(orders), _MOST_EXPLAINED * self.chance**2)
        return float(np.sqrt(self.chance**2 - explained))

    def within_bounds(self) -> "UserModel":
        """Return the model with its embeddings' explained variance capped."""
        explained = self._explained(np.arange(len(self.offsets))[None])
        most = _MOST_EXPLAINED * self.chance**2
        if explained <= most:
            return self
        shorter = np.sqrt(most / explained)
        return self._replace(
            slopes=shorter * self.slopes, slope_spreads=shorter * self.slope_spreads
        )

    def _explained(self, orders: NDArray[np.int64]) -> float:
        """Return the variance of ratings that embeddings explain."""
        rng = np.random.default_rng(0)
        activity, embeddings = draw_users(self.activity, self.item_embeddings, _SAMPLE_SIZE, rng)
        blocks = [
            self._draw_block(embeddings[some], activity[some], orders, rng)
            for some in blocks_of(_SAMPLE_SIZE, len(self.offsets))
        ]
        return float(np.concatenate([block.values for block in blocks]).var())

    def _draw_block(
        self,
        user_embeddings: Small,
        activity: Numbers,
        orders: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Records:
        """Return sampled items, with the effect of embeddings on each rating as values."""
        embeddings = np.ascontiguousarray(self.item_embeddings[:, 1:])
        chosen_by = (user_embeddings[:, 1:] * self.slopes).astype(np.float32)
        sampled = (self.slope_spreads * rng.normal(size=chosen_by.shape)).astype(np.float32)
        chances, picked = pick_items(
            user_embeddings, activity, self.offsets, self.item_embeddings, orders, rng
        )
        users, items = np.nonzero(picked)
        # Center on the expected effect among the item's raters.
        with one_thread():
            usual = np.einsum("ij,ij->i", chances.T @ chosen_by, embeddings)
        usual /= np.maximum(chances.sum(axis=0), 1e-9)
        by_factor = _products_at(users, items, chosen_by + sampled, embeddings) - usual[items]
        counts = np.bincount(users, minlength=len(user_embeddings))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return Records(
            np.ones(len(user_embeddings), np.int64), indptr, items.astype(np.int32), by_factor
        )

    def _labels(
        self, hidden: Numbers, chance: float, rng: np.random.Generator, whole: bool
    ) -> Numbers:
        levels = rating_levels(self.scale)
        if whole or self.scale.labels:  # no value is between two labels
            hidden = hidden + rng.normal(size=hidden.size) * chance
            return self.scale.round(levels[np.searchsorted(self.cuts, hidden)])
        sides = LabelSides.of(self.cuts, chance, levels, self.scale)
        likes = rng.random(hidden.size) < np.interp(hidden, sides.places, sides.liked)
        liked = np.interp(hidden, sides.places, sides.if_liked)
        labels = np.where(likes, liked, np.interp(hidden, sides.places, sides.if_not))
        return self.scale.round(labels, tenths_of(self.scale))


@compiled(parallel=True)
def _products_at(rows, columns, left, right):  # type: ignore[no-untyped-def]
    """Return the products of selected pairs of rows, shape (n_pairs,)."""
    products = np.empty(len(rows), np.float64)
    for place in prange(len(rows)):
        total = 0.0
        for part in range(left.shape[1]):
            total += left[rows[place], part] * right[columns[place], part]
        products[place] = total
    return products


@brief
class LikesModel(NamedTuple):
    """A fitted model of users with implicit feedback; all of it is public."""

    # Item offsets of the log-odds of an interaction
    offsets: Small
    # Item embeddings; the first column is multiplied by the user's activity
    item_embeddings: Small
    # Interactions per user as equally likely quantiles, ascending
    activity: Numbers
    # When users rate, of a release with dates
    dates: DatedUsers | None = None

    def of_items(self, order: NDArray[np.int64]) -> "LikesModel":
        """Return the model with its items in another order."""
        return self._replace(
            offsets=self.offsets[order],
            item_embeddings=self.item_embeddings[order],
            dates=None if self.dates is None else self.dates.of_items(order),
        )

    def draw(self, n_users: int, rng: np.random.Generator) -> Iterator[Records]:
        """Sample users with their interactions, block by block."""
        activity, embeddings = draw_users(self.activity, self.item_embeddings, n_users, rng)
        orders = draw_orders(len(self.offsets), rng)
        for some in blocks_of(n_users, len(self.offsets)):
            _, picked = pick_items(
                embeddings[some], activity[some], self.offsets, self.item_embeddings, orders, rng
            )
            _, items = np.nonzero(picked)
            indptr = np.concatenate([[0], np.cumsum(picked.sum(axis=1))])
            sizes = np.ones(len(picked), np.int64)
            block = Records(sizes, indptr, items.astype(np.int32), np.ones(items.size))
            yield block if self.dates is None else self.dates.date(block, rng)


@brief
class SampledUsers(NamedTuple):
    """Synthetic users sampled from one random stream."""

    model: UserModel | LikesModel
    n_users: int
    # Seed of the stream
    drawing: int
    # Whether values are levels of the scale, not tenths of a step
    whole: bool

    def blocks(self) -> Iterator[Records]:
        """Sample all users, block by block."""
        return self.drawn(self.n_users, np.random.default_rng(self.drawing))

    def drawn(self, n_users: int, by: np.random.Generator) -> Iterator[Records]:
        """Sample some users from any stream."""
        if isinstance(self.model, LikesModel):
            return self.model.draw(n_users, by)
        return self.model.draw(n_users, by, whole=self.whole)

    def _facts(self) -> dict[str, object]:
        return {"users": self.n_users}


@brief
class SampledBatches(NamedTuple):
    """Synthetic users in batches with a random stream each: workers can share the sampling."""

    # The model, the number of users and the seed
    users: SampledUsers
    # Users per batch; the last batch has the rest
    size: int

    @classmethod
    def of(cls, users: SampledUsers) -> Self:
        """Divide users into batches."""
        return cls(users, batch_size(users.n_users))

    @property
    def n_blocks(self) -> int:
        """Number of batches."""
        return math.ceil(self.users.n_users / self.size)

    @property
    def n_users(self) -> int:
        """Number of users in all batches."""
        return self.users.n_users

    @property
    def whole(self) -> bool:
        """Whether values are levels of the scale."""
        return self.users.whole

    def first_of(self, block: int) -> int:
        """Return the number of users in earlier batches."""
        return min(block * self.size, self.n_users)

    def block(self, number: int) -> Iterator[Records]:
        """Sample the users of one batch, block by block."""
        n_users = self.first_of(number + 1) - self.first_of(number)
        return self.users.drawn(n_users, np.random.default_rng([self.users.drawing, number]))

    def blocks(self) -> Iterator[Records]:
        """Sample all users, batch after batch."""
        for number in range(self.n_blocks):
            yield from self.block(number)

    def _facts(self) -> dict[str, object]:
        return {"users": self.n_users, "blocks": self.n_blocks}


# Slopes, by kind of noise, and their spread in models of formats 3 and 4, which did not measure
# them.
_SLOPES_BEFORE, _SPREAD_BEFORE = {"none": 0.4, "gaussian": 0.2}, 0.2


def model_table(items: NDArray[Any], model: UserModel | LikesModel) -> pa.Table:
    """Return one row per item, with its id and its numbers as float32."""
    rating_means = [model.rating_means] if isinstance(model, UserModel) else []
    numbers = [model.offsets, *rating_means, *model.item_embeddings.T]
    settings = model_settings(model)
    names = SYNTHETIC.model_columns(1 + len(numbers), settings) if SYNTHETIC.model_columns else ()
    columns = [np.ascontiguousarray(column, np.float32) for column in numbers]
    return pa.table(dict(zip(names, [pa.array(items), *columns], strict=True)))


def model_settings(model: UserModel | LikesModel) -> dict[str, object]:
    """Return the model's other parameters, as in release.json."""
    if isinstance(model, LikesModel):
        directions = model.item_embeddings.shape[1] - 1
        return {
            "user_counts": _rounded(model.activity),
            "factors": directions,
            "feedback": "implicit",
        }
    return {
        "user_counts": _rounded(model.activity),
        "cutpoints": _rounded(model.cuts),
        "spreads": _rounded(np.array([model.strictness, model.chance])),
        "slopes": _rounded(model.slopes),
        "slope_spreads": _rounded(model.slope_spreads),
    }


def _rounded(numbers: NDArray[np.float64]) -> list[float]:
    # Plus 0, as -0.0 becomes 0.0 by that: zero has one notation.
    return [round(float(number), DIGITS) + 0.0 for number in numbers]


def read_model(table: pa.Table, settings: Mapping[str, Any], scale: RatingScale) -> UserModel:
    """Return the user model of a table and settings; see `model_table` and `model_settings`."""
    columns = [np.asarray(column.to_numpy()) for column in table.columns[1:]]
    strictness, chance = settings["spreads"]
    embeddings = np.column_stack(columns[2:]).astype(np.float32)
    slopes, slope_spreads = _by_direction(settings, embeddings.shape[1] - 1)
    return UserModel(
        offsets=columns[0].astype(np.float32),
        item_embeddings=embeddings,
        activity=np.asarray(settings["user_counts"], np.float64),
        rating_means=columns[1].astype(np.float64),
        cuts=np.asarray(settings["cutpoints"], np.float64),
        strictness=float(strictness),
        chance=float(chance),
        slopes=slopes,
        slope_spreads=slope_spreads,
        scale=scale,
    )


def _by_direction(settings: Mapping[str, Any], n_directions: int) -> NDArray[np.float64]:
    """Return slopes and their spreads per direction."""
    if "slopes" not in settings:  # a model of an older format
        before = (_SLOPES_BEFORE[settings["noise"]], _SPREAD_BEFORE)
        return np.repeat(np.array(before)[:, None], n_directions, axis=1)
    strengths = np.array([settings["slopes"], settings["slope_spreads"]], np.float64)
    if strengths.shape[1] != n_directions:
        raise _other_directions(n_directions, strengths.shape[1])
    return strengths


def read_likes(table: pa.Table, settings: Mapping[str, Any]) -> LikesModel:
    """Return the implicit-feedback model of a table and settings."""
    columns = [np.asarray(column.to_numpy()) for column in table.columns[1:]]
    embeddings = np.column_stack(columns[1:]).astype(np.float32)
    if embeddings.shape[1] != 1 + settings["factors"]:
        raise _other_directions(embeddings.shape[1] - 1, settings["factors"])
    activity = np.asarray(settings["user_counts"], np.float64)
    return LikesModel(columns[0].astype(np.float32), embeddings, activity)


def _other_directions(n_found: int, n_stated: int) -> RecveilError:
    return RecveilError(
        f"model: it has {n_found} factors, but release.json states {n_stated}; ask the publisher "
        f"for the release again",
        code="release.damaged",
    )


def sample_users(
    manifest: Manifest, table: pa.Table, n_users: int, rng: np.random.Generator
) -> Iterator[Records]:
    """Sample users from a published model, over the table's items."""
    if manifest.scale.unary:
        return read_likes(table, manifest.settings).draw(n_users, rng)
    model = read_model(table, manifest.settings, manifest.scale)
    grid, step = manifest.settings["value_step"], manifest.scale.step
    return model.draw(n_users, rng, whole=step is not None and grid == step)
