"""Predictions for all cells: in latent form, computed cell by cell, or the mean of each item."""

from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import BriefParameters, brief
from recveil.runtime.threads import one_thread


@brief
@dataclass(frozen=True, eq=False)
class Padding:
    """Predictions for all users and items, in latent form.

    Parameters
    ----------
    user_factors : ndarray of float32, shape (n_users, rank)
    item_factors : ndarray of float32, shape (n_items, rank)
    item_offset : ndarray of float32, shape (n_items,)
        The prediction for every user before their factors count.
    scale : RatingScale
        Predictions are clipped to its ends.

    Notes
    -----
    Source: Chang et al., section 4.1.

    Examples
    --------
    >>> padding = Padding(
    ...     user_factors=np.array([[1], [-1]], np.float32),
    ...     item_factors=np.array([[1], [0], [4]], np.float32),
    ...     item_offset=np.array([3, 2, 3], np.float32),
    ...     scale=RatingScale(1, 5, 1),
    ... )
    >>> padding.rows([0, 1])
    array([[4., 2., 5.],
           [2., 2., 1.]], dtype=float32)
    """

    user_factors: NDArray[np.float32]
    item_factors: NDArray[np.float32]
    item_offset: NDArray[np.float32]
    scale: RatingScale

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.user_factors.shape[0]

    @property
    def rank(self) -> int:
        """Number of factors."""
        return self.item_factors.shape[1]

    def rows(self, users: Any) -> NDArray[np.float32]:
        """Return the predicted rows of some users, shape (n, n_items), true ratings not yet in.

        `users` is anything that indexes an array: positions, a slice, a mask.
        """
        rows: NDArray[np.float32] = self.user_factors[users] @ self.item_factors.T
        rows += self.item_offset
        return np.clip(rows, self.scale.low, self.scale.high, out=rows)

    def cells(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Return the predictions for pairs of user and item positions, shape (n,)."""
        users, items = np.asarray(users), np.asarray(items)
        products = np.einsum("ij,ij->i", self.user_factors[users], self.item_factors[items])
        return np.clip(products + self.item_offset[items], self.scale.low, self.scale.high)

    def take(self, users: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return what `tile` needs of some users: their factors, shape (n, rank)."""
        return self.user_factors[users]

    def tile(self, taken: NDArray[Any], items: NDArray[Any]) -> NDArray[np.float32]:
        """Return the products of factors, shape (n, items.size); `offset` is still missing."""
        return taken @ self.item_factors[items].T

    def offset(self, items: NDArray[Any]) -> NDArray[np.float32]:
        """Return what is to be added to each row of a tile, shape (items.size,)."""
        return self.item_offset[items]

    def coordinates(self) -> NDArray[np.float32]:
        """Place each user so that distances equal those between unclipped padded rows.

        With B the item factors and a_u a user's, ``|B a_u - B a_v| = |R (a_u - a_v)|`` for the
        triangular R of ``B = QR``, since Q keeps lengths. So groups are formed in `rank`
        dimensions instead of one for each item. QR gives the R of the Cholesky decomposition of
        BᵀB without squaring B's condition number. The centre is moved to zero, where float32 is
        finest.

        Returns
        -------
        ndarray of float32, shape (n_users, max(1, rank))
            All zero if the predictor does not distinguish users.

        Examples
        --------
        >>> padding = Padding(
        ...     user_factors=np.array([[1], [-1]], np.float32),
        ...     item_factors=np.array([[3], [4]], np.float32),
        ...     item_offset=np.array([3, 2], np.float32),
        ...     scale=RatingScale(1, 5, 1),
        ... )
        >>> first, second = padding.coordinates()
        >>> abs(first - second)  # the rows are 3 * 2 and 4 * 2 apart
        array([10.], dtype=float32)
        """
        if self.item_factors.shape[1] == 0:
            return np.zeros((self.n_users, 1), np.float32)
        triangular = np.linalg.qr(self.item_factors.astype(np.float64), mode="r")
        centred = self.user_factors - self.user_factors.mean(axis=0, dtype=np.float64)
        return (centred @ np.asarray(triangular).T).astype(np.float32)


class Predictor(Protocol):
    """A model that predicts the ratings that users did not give."""

    def fit(self, ratings: Ratings) -> Self:
        """Learn from all of `ratings`; learned attributes end in an underscore."""

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Predict the ratings of pairs of user and item positions, shape (n,), on the scale."""


class Padder(Predictor, Protocol):
    """A predictor that knows the predictions of all cells without looking at each of them."""

    def padding(self) -> Padding:
        """Return the predictions of all cells, in latent form."""


# Cells that are predicted at a time.
_TILE_CELLS = 1 << 20
# Up to so many items, rows are compared as they are; beyond, by so many random sums of them.
_DIRECTIONS = 256


@brief
@dataclass(frozen=True, eq=False, repr=False)
class PredictedRows:
    """The padded rows of all users for predictors without factors, never materialized.

    It needs one prediction per cell where `Padding` multiplies thin matrices.

    Parameters
    ----------
    predictor : Predictor
        Fitted, and safe to call from several threads.
    n_users, n_items : int
    scale : RatingScale
        Predictions are clipped to its ends.
    seed : int
        For `coordinates`.

    Examples
    --------
    >>> from recveil.predict import UserKNN
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 4])
    >>> rows = PredictedRows.of(UserKNN().fit(ratings), ratings)
    >>> rows.rows([1])  # user 2 has no neighbours, so both are that user's mean
    array([[4., 4.]], dtype=float32)
    """

    predictor: Predictor
    n_users: int
    n_items: int
    scale: RatingScale
    seed: int = 0

    # A cell is predicted from a cell.
    rank = 1

    @classmethod
    def of(cls, predictor: Predictor, ratings: Ratings, seed: int = 0) -> "PredictedRows":
        """Take the sizes from the ratings that a predictor was fitted to."""
        return cls(predictor, ratings.n_users, ratings.n_items, ratings.scale, seed)

    def rows(self, users: Any) -> NDArray[np.float32]:
        """Return the predicted rows of some users, shape (n, n_items), true ratings not yet in."""
        members = np.arange(self.n_users)[users]
        rows = self.tile(members, np.arange(self.n_items))
        return np.clip(rows, self.scale.low, self.scale.high, out=rows)

    def cells(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Return the predictions for pairs of user and item positions, shape (n,)."""
        users, items = np.asarray(users), np.asarray(items)
        found = np.asarray(self.predictor.predict(users, items), dtype=np.float32)
        if found.shape != users.shape or not np.isfinite(found).all():
            raise RecveilError(
                f"predictor {type(self.predictor).__name__}: expected a finite number for each of "
                f"{users.size:,} cells, got others, or {found.shape} of them; take another one",
                code="argument.result",
            )
        return np.clip(found, self.scale.low, self.scale.high)

    def take(self, users: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what `tile` needs of some users: their positions."""
        return users

    def tile(self, taken: NDArray[Any], items: NDArray[Any]) -> NDArray[np.float32]:
        """Return the predictions of the users that were taken, shape (n, items.size)."""
        cells = self.cells(np.repeat(taken, items.size), np.tile(items, taken.size))
        return cells.reshape(taken.size, items.size)

    def offset(self, items: NDArray[Any]) -> NDArray[np.float32]:
        """Return what is to be added to a tile: nothing, shape (items.size,)."""
        return np.zeros(items.size, np.float32)

    def coordinates(self) -> NDArray[np.float32]:
        """Place each user so that distances equal those between predicted rows, or nearly.

        Up to 256 items, these are the rows. Beyond, they are 256 random sums of each row, between
        which distances are kept to about 4% (one standard deviation, 1 / √512; Johnson and
        Lindenstrauss 1984).

        Returns
        -------
        ndarray of float32, shape (n_users, min(n_items, 256))
        """
        items = np.arange(self.n_items)
        step = max(1, _TILE_CELLS // self.n_items)
        blocks = (
            np.arange(at, min(at + step, self.n_users)) for at in range(0, self.n_users, step)
        )
        if self.n_items <= _DIRECTIONS:
            return np.concatenate([self.tile(block, items) for block in blocks])
        rng = np.random.default_rng(self.seed)
        directions = rng.standard_normal((self.n_items, _DIRECTIONS), dtype=np.float32)
        directions /= np.float32(np.sqrt(_DIRECTIONS))
        middle = np.float32((self.scale.low + self.scale.high) / 2)
        with one_thread():  # the last bit can move a user to another group
            return np.concatenate([(self.tile(b, items) - middle) @ directions for b in blocks])


# The rows of all users, however they come about.
Padded: TypeAlias = Padding | PredictedRows


def padded_by(predictor: Predictor, ratings: Ratings, seed: int = 0) -> Padded:
    """Return the predictions of all cells by a fitted predictor: by its factors, if it has such.

    Parameters
    ----------
    predictor : Predictor
    ratings : Ratings
        What it was fitted to.
    seed : int
        For `PredictedRows.coordinates`.

    Examples
    --------
    >>> from recveil.predict import ItemMean, UserKNN
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 4])
    >>> [type(padded_by(each.fit(ratings), ratings)).__name__ for each in (ItemMean(), UserKNN())]
    ['Padding', 'PredictedRows']
    """
    padding = getattr(predictor, "padding", None)
    return PredictedRows.of(predictor, ratings, seed) if padding is None else padding()


class LatentPredictor(BriefParameters, BaseEstimator):
    """The base class of predictors that learn a `Padding`."""

    padding_: Padding

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Predict the ratings of pairs of user and item positions, shape (n,), on the scale."""
        return self.padding_.cells(users, items)

    def padding(self) -> Padding:
        """Return the predictions of all cells."""
        return self.padding_


class ItemMean(LatentPredictor):
    """Predict each item's mean rating; items without ratings get the mean of all ratings.

    As a padding it does not distinguish users, so all groups are equally good. It is the baseline
    for other predictors.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 2])
    >>> ItemMean().fit(ratings).predict([0, 1], [0, 1])
    array([3.5, 1. ], dtype=float32)
    """

    def fit(self, ratings: Ratings) -> Self:
        """Learn the items' means."""
        overall = ratings.values.mean(dtype=np.float64) if ratings.n_ratings else 0.0
        sums = np.bincount(ratings.indices, weights=ratings.values, minlength=ratings.n_items)
        means = np.where(ratings.support > 0, sums / np.maximum(ratings.support, 1), overall)
        self.padding_ = Padding(
            user_factors=np.zeros((ratings.n_users, 0), np.float32),
            item_factors=np.zeros((ratings.n_items, 0), np.float32),
            item_offset=means.astype(np.float32),
            scale=ratings.scale,
        )
        return self
