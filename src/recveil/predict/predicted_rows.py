"""PredictedRows: a prediction for every cell, by a predictor that has to look at each of them."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.blas import one_thread
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.predict.padding import Padding
from recveil.predict.predictor import Predictor
from recveil.ratings import Ratings, RatingScale

# Cells that are predicted at a time.
_TILE_CELLS = 1 << 20
# Up to so many items, rows are compared as they are; beyond, by so many random sums of them.
_DIRECTIONS = 256


@brief
@dataclass(frozen=True, eq=False, repr=False)
class PredictedRows:
    """What `Padding` is to predictors with factors: the rows of all users, never written out.

    It takes one question a cell wherever `Padding` takes a product of thin matrices.

    Parameters
    ----------
    predictor : Predictor
        Fitted. It is asked by several threads at once.
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
    >>> rows.rows([1])  # nobody rates like user 2, so that both are the mean of that user
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
        which distances are kept to about 4 % (one standard deviation, 1 / √512; Johnson and
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
        with one_thread():  # the last bit can change who is in which group
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
