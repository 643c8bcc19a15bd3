"""Padding: a prediction for every cell, kept as a product of thin matrices and never written out.

A padded row is ``clip(item_offset + item_factors @ user_factors[u])``, overwritten where the user
really rated. With 50 factors this takes a few hundred megabytes for the Netflix Prize data, where
Chang et al. wrote 36 GB of padded rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.brief import brief
from recveil.ratings import RatingScale


@brief
@dataclass(frozen=True, eq=False)
class Padding:
    """Predictions for all users and items, in latent form.

    Parameters
    ----------
    user_factors : ndarray of float32, shape (n_users, rank)
    item_factors : ndarray of float32, shape (n_items, rank)
    item_offset : ndarray of float32, shape (n_items,)
        What every user is predicted to give before their factors count.
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
            All zero if the predictor does not tell users apart.

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
