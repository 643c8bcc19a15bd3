"""Fitted user models, and samples of synthetic users from one stream or in independent batches."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy import linalg

from recveil.methods.synthetic.rating_model import LabelSides
from recveil.ratings import RatingScale
from recveil.release.records import Records
from recveil.release.synthetic_form import rating_levels, tenths_of
from recveil.runtime.compiled import compiled
from recveil.runtime.linear_algebra import one_thread
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]
Small = NDArray[np.float32]

# Cells per block of sampled users.
_CELLS = 1 << 22
# Number of item orders for systematic sampling, so that no two neighbours always exclude each
# other.
_ORDERS = 64
# Log-odds are clipped here.
_SURE = 60.0
# Embeddings of more users per direction than this are whitened, to reduce sampling error.
_MANY = 5


def blocks_of(n_users: int, n_items: int) -> Iterator[slice]:
    """Cut users into blocks that are sampled at once.

    Examples
    --------
    >>> list(blocks_of(3, 1 << 21))
    [slice(0, 2, None), slice(2, 3, None)]
    """
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

    Parameters
    ----------
    activity : ndarray of float64, shape (n_activities,)
        Item counts as equally likely quantiles, ascending.
    item_embeddings : ndarray of float32, shape (n_items, 1 + n_directions)
        Item embeddings; the first column is multiplied by the user's activity.
    n_users : int
    rng : Generator

    Returns
    -------
    counts : ndarray of float64, shape (n_users,)
    embeddings : ndarray of float32, shape (n_users, 1 + n_directions)
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
    """Return the probability that each user chooses each item, and a sample of choices.

    Parameters
    ----------
    user_embeddings, activity : see `draw_users`
    offsets : ndarray of float32, shape (n_items,)
        Item offsets of the log-odds.
    item_embeddings : ndarray of float32, shape (n_items, 1 + n_directions)
    orders : ndarray of int64
        From `draw_orders`.
    rng : Generator

    Returns
    -------
    chances : ndarray of float32, shape (n_users, n_items)
    picked : ndarray of bool, shape (n_users, n_items)
        At least one item per user.
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


@compiled(parallel=True, fastmath={"reassoc"})
def _pick(odds, activity, orders, order_of, starts, picked):  # type: ignore[no-untyped-def]
    """Mark each user's items by systematic sampling; log-odds become probabilities in place."""
    n_users, n_items = odds.shape
    for user in prange(n_users):
        wanted = min(activity[user], 0.95 * n_items)
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
    # Item means on the latent scale of `recveil.methods.synthetic.rating_model`
    worth: Numbers
    cuts: Numbers
    # Standard deviations on that scale: of user means, and of one user's ratings of equal items
    strictness: float
    chance: float
    # Per direction, the gain on the latent scale for each unit of a user's log-odds of rating
    tilts: Numbers
    # Per direction, the standard deviation of rating embeddings that choices do not explain
    likings: Numbers
    scale: RatingScale

    def of_items(self, order: NDArray[np.int64]) -> "UserModel":
        """Return the model with its items in another order."""
        return self._replace(
            offsets=self.offsets[order],
            item_embeddings=self.item_embeddings[order],
            worth=self.worth[order],
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
            hidden = self.worth[block.indices] + block.values
            strict = rng.normal(size=some.stop - some.start)
            hidden += np.repeat(strict, np.diff(block.indptr)) * self.strictness
            yield replace(block, values=self._labels(hidden, chance, rng, whole))

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
        return self._replace(tilts=shorter * self.tilts, likings=shorter * self.likings)

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
        chosen_by = (user_embeddings[:, 1:] * self.tilts).astype(np.float32)
        slopes = (self.likings * rng.normal(size=chosen_by.shape)).astype(np.float32)
        chances, picked = pick_items(
            user_embeddings, activity, self.offsets, self.item_embeddings, orders, rng
        )
        users, items = np.nonzero(picked)
        # Center on the expected effect among the item's raters.
        with one_thread():
            usual = np.einsum("ij,ij->i", chances.T @ chosen_by, embeddings)
        usual /= np.maximum(chances.sum(axis=0), 1e-9)
        by_factor = _products_at(users, items, chosen_by + slopes, embeddings) - usual[items]
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

    def of_items(self, order: NDArray[np.int64]) -> "LikesModel":
        """Return the model with its items in another order."""
        return self._replace(
            offsets=self.offsets[order], item_embeddings=self.item_embeddings[order]
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
            yield Records(sizes, indptr, items.astype(np.int32), np.ones(items.size))


# Minimum batch size, and the maximum number of batches; each batch becomes a file.
_BLOCK_OF_USERS, _MOST_BLOCKS = 1 << 14, 1 << 12


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
        return cls(users, max(_BLOCK_OF_USERS, math.ceil(users.n_users / _MOST_BLOCKS)))

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
