"""Sparse matrices, and data sets of other libraries, as columns; none of these is imported."""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.ratings.columns import Locate

# What a matrix is made of, in the words by which `user` and `item` may name it.
ROW, COLUMN = "row", "column"


@brief
class DataSet(NamedTuple):
    """Ratings as another library holds them, in columns.

    Attributes
    ----------
    name : str
        What to call it in messages.
    columns : mapping of str to array-like
        One value a rating in each.
    roles : mapping of str to str
        Which column is taken for what, where the caller names none.
    locate : callable
        Says where the rating with a given position stands.
    note : str
        What somebody must know who relies on it: which way it was taken, if nothing told.
    """

    name: str
    columns: Mapping[str, ArrayLike]
    roles: Mapping[str, str]
    locate: Locate = "row {}".format
    note: str = ""


def data_set_of(source: Any) -> DataSet | None:
    """Return a sparse matrix, or another library's data set, as columns; None if it is neither.

    Parameters
    ----------
    source : object
        Known are scipy's sparse matrices and arrays, the data set and the training set of surprise,
        and the data set of cornac. All but the first are told by what they have, so that nothing
        needs to be installed.

    Raises
    ------
    RecveilError
        For a matrix that stores zeros, of which nobody can tell whether they are ratings, that has
        no two dimensions, or holds no numbers; and for a data set of baskets or sessions.

    Examples
    --------
    >>> from scipy import sparse
    >>> taken = data_set_of(sparse.csr_array([[0, 4.5], [3, 0]]))
    >>> [list(map(float, taken.columns[name])) for name in ("row", "column", "rating")]
    [[0.0, 1.0], [1.0, 0.0], [4.5, 3.0]]
    """
    take = _taker_of(source)
    return None if take is None else take(source)


def is_data_set(source: Any) -> bool:
    """Say whether something is what `data_set_of` takes.

    Examples
    --------
    >>> from scipy import sparse
    >>> is_data_set(sparse.eye_array(2)), is_data_set([1, 2])
    (True, False)
    """
    return _taker_of(source) is not None


def _taker_of(source: Any) -> Callable[[Any], DataSet] | None:
    # Who has a matrix of scipy has loaded it; nobody else needs to.
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(source):
        return _of_matrix
    for names, take in _BY_WHAT_THEY_HAVE:
        if all(hasattr(source, name) for name in names):
            return take
    return None


def _of_matrix(matrix: Any) -> DataSet:
    """Take each stored number for the rating of a person, the row, for an item, the column."""
    if matrix.ndim != 2:
        raise RecveilError(
            f"a sparse array of {matrix.ndim} dimension(s); expected two: a row for each person, "
            f"and a column for each item",
            code="argument.shape",
        )
    if matrix.dtype.kind not in "biuf":
        raise RecveilError(
            f"a sparse matrix of {matrix.dtype}; expected numbers; convert it", code="argument.type"
        )
    entries = matrix.tocoo()
    rows, columns = entries.coords if hasattr(entries, "coords") else (entries.row, entries.col)
    zeros = int(entries.nnz - np.count_nonzero(entries.data))
    if zeros:
        raise RecveilError(
            f"a sparse matrix that stores {zeros:,} zeros: are they ratings, or nothing? If "
            f"nothing, call eliminate_zeros() on it; if ratings, give its rows, columns and values "
            f"to Ratings.from_columns",
            code="rating.zero",
        )
    is_plain = matrix.dtype.kind != "f"
    values = entries.data if is_plain else entries.data.astype(np.float64, copy=False)
    return DataSet(
        "the matrix",
        {ROW: rows, COLUMN: columns, "rating": values},
        {"user": ROW, "item": COLUMN, "rating": "rating"},
        lambda at: f"row {rows[at]}, column {columns[at]} of the matrix",
        "The rows of the matrix were taken for people, and its columns for items: user='row' and "
        "item='column' say so, user='column' and item='row' the other way round.",
    )


_ROLES = {"user": "user", "item": "item", "rating": "rating"}


def _of_cornac(data: Any) -> DataSet:
    if hasattr(data, "num_baskets") or hasattr(data, "num_sessions"):
        raise RecveilError(
            f"{type(data).__name__}: a data set of baskets or sessions, which are no ratings; "
            f"expected cornac.data.Dataset",
            code="argument.type",
        )
    users, items, ratings = data.uir_tuple
    columns: dict[str, ArrayLike] = {
        "user": _labels(data.uid_map)[users],
        "item": _labels(data.iid_map)[items],
        "rating": np.asarray(ratings, dtype=np.float64),
    }
    return _with_times("the cornac data set", columns, data.timestamps)


def _of_trainset(data: Any) -> DataSet:
    triples = list(data.all_ratings())
    columns: dict[str, ArrayLike] = {
        "user": [data.to_raw_uid(user) for user, _, _ in triples],
        "item": [data.to_raw_iid(item) for _, item, _ in triples],
        "rating": [float(rating) for _, _, rating in triples],
    }
    return DataSet("the surprise training set", columns, _ROLES)


def _of_surprise(data: Any) -> DataSet:
    rows = data.raw_ratings
    columns: dict[str, ArrayLike] = {
        name: [row[at] for row in rows] for at, name in enumerate(("user", "item"))
    }
    columns["rating"] = [float(row[2]) for row in rows]
    return _with_times("the surprise data set", columns, [row[3] for row in rows])


def _with_times(name: str, columns: dict[str, ArrayLike], times: Iterable[Any] | None) -> DataSet:
    """Add the times, where there are any."""
    known = [] if times is None else list(times)
    if all(time is None for time in known):
        return DataSet(name, columns, _ROLES)
    return DataSet(name, columns | {"time": known}, _ROLES | {"time": "time"})


def _labels(places: Mapping[Any, int]) -> NDArray[Any]:
    """Return the label at each place."""
    labels = np.empty(max(places.values(), default=-1) + 1, dtype=object)
    for label, place in places.items():
        labels[place] = label
    return labels


_BY_WHAT_THEY_HAVE: tuple[tuple[tuple[str, ...], Callable[[Any], DataSet]], ...] = (
    (("uir_tuple", "uid_map", "iid_map"), _of_cornac),
    (("all_ratings", "to_raw_uid", "to_raw_iid"), _of_trainset),
    (("raw_ratings", "reader"), _of_surprise),
)
