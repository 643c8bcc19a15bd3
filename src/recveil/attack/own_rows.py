"""Own rows: the rows of some people, and where each of their ratings stands in the table."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.ratings import Ratings


@brief
class OwnRows(NamedTuple):
    """The rows of some people, one after another.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_people + 1,)
        The row of the i-th of them stands at ``indptr[i]:indptr[i + 1]``.
    places : ndarray of int64
        Where each rating stands in the table.
    items : ndarray of int32
    """

    indptr: NDArray[np.int64]
    places: NDArray[np.int64]
    items: NDArray[np.int32]


def own_rows(ratings: Ratings, users: NDArray[np.int64]) -> OwnRows:
    """Return the rows of some people.

    A table that lies elsewhere is asked for them once.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 3], ["a", "b", "b", "c"], [5, 1, 2, 3])
    >>> rows = own_rows(ratings, np.array([0, 2]))
    >>> rows.indptr, rows.places, rows.items
    (array([0, 2, 3]), array([0, 1, 3]), array([0, 1, 2], dtype=int32))
    """
    lengths = ratings.activity[users]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.repeat(ratings.indptr[users] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return OwnRows(indptr, places, ratings.indices[places])
