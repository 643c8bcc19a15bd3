"""Compressed rows from unsorted ratings, by a counting sort, and duplicate handling."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from recveil.ratings.rating_scale import Locate
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

Duplicates = Literal["error", "last", "mean"]
# Longer examples of repeated pairs would be cut by the limit of errors.
_MOST_OF_EXAMPLES = 100


@brief
class Order(NamedTuple):
    """Row boundaries, and the order of the ratings within the rows."""

    indptr: NDArray[np.int64]
    # Position in the file of each rating of the rows; None if the file is in order
    places: NDArray[Any] | None

    def apply(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column of the file in the order of the rows."""
        return column if self.places is None else _gather(column, self.places)


@brief
class Rows(NamedTuple):
    """Ratings in compressed rows by user, items ascending in each row."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    days: NDArray[np.int32] | None


def sorted_unique(values: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values, ascending, by sorting, much faster than `np.unique`."""
    return np.unique(values, return_counts=True)[0]


def find_order(users: NDArray[np.int32], items: NDArray[np.int32], n_users: int) -> Order:
    """Order ratings by user, then item; equal pairs keep the order of the file."""
    indptr, in_order = _count(users, items, n_users)
    if in_order:
        return Order(indptr, None)
    # Half the memory for fewer than four billion ratings.
    places = np.empty(users.size, np.uint32 if users.size < 2**32 else np.int64)
    _place(users, items, indptr, places)
    return Order(indptr, places)


def settle_duplicates(
    rows: Rows,
    how: Duplicates,
    places: NDArray[Any] | None,
    ids: tuple[Any, Any],
    locate: Locate,
    instants: Callable[[NDArray[np.int64]], NDArray[Any]] | None = None,
    labels: Sequence[str] = (),
) -> Rows:
    """Keep one rating for each (user, item) pair, or raise if `how` is "error".

    "last" keeps the rating with the latest time; among equal times, or without times, the last one
    in the file. "mean" keeps the mean rating with the last day. `places` are those of `find_order`;
    `instants` returns numbers that order rows of the file in time; `labels` are those of
    the ratings 1, 2, ..., if they are labels.
    """
    if how not in get_args(Duplicates):
        raise RecveilError(
            f"duplicates {how!r}: expected one of {', '.join(get_args(Duplicates))}",
            code="option.value",
        )
    if not _has_repeats(rows.indptr, rows.indices):
        return rows
    users = np.repeat(np.arange(rows.indptr.size - 1, dtype=np.int32), np.diff(rows.indptr))
    repeats = np.flatnonzero((users[1:] == users[:-1]) & (rows.indices[1:] == rows.indices[:-1]))
    starts = np.setdiff1d(np.arange(users.size), repeats + 1, assume_unique=True)
    if how == "error":
        raise RecveilError(
            _describe(rows, users, starts, places, ids, locate, labels), code="rating.duplicate"
        )
    ends = np.append(starts[1:], users.size)
    indptr = np.searchsorted(starts, rows.indptr).astype(np.int64)
    if how == "mean":
        sums = np.add.reduceat(rows.values.astype(np.float64), starts)
        days = None if rows.days is None else np.maximum.reduceat(rows.days, starts)
        means = (sums / (ends - starts)).astype(np.float32)
        return Rows(indptr, rows.indices[starts], means, days)
    kept = ends - 1
    if instants is not None:
        kept = _latest(starts, ends, places, instants)
    days = None if rows.days is None else rows.days[kept]
    return Rows(indptr, rows.indices[kept], rows.values[kept], days)


def _latest(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    places: NDArray[Any] | None,
    instants: Callable[[NDArray[np.int64]], NDArray[Any]],
) -> NDArray[np.int64]:
    """Return the position of the latest rating of each pair; of equal ones the last in the file."""
    kept = ends - 1
    several = np.flatnonzero(ends - starts > 1)
    lengths = (ends - starts)[several]
    run_of = np.repeat(np.arange(several.size), lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    positions = starts[several][run_of] + within
    in_file = positions if places is None else places[positions].astype(np.int64)
    order = np.lexsort([positions, instants(in_file), run_of])
    kept[several] = positions[order][np.cumsum(lengths) - 1]
    return kept


def _describe(
    rows: Rows,
    users: NDArray[Any],
    starts: NDArray[Any],
    places: NDArray[Any] | None,
    ids: tuple[Any, Any],
    locate: Locate,
    labels: Sequence[str],
) -> str:
    lengths = np.diff(np.append(starts, users.size))
    pairs = starts[lengths > 1]
    examples = []
    for first, length in zip(pairs[:3].tolist(), lengths[lengths > 1][:3].tolist(), strict=True):
        same = range(first, first + min(length, 3))
        in_file = same if places is None else places[list(same)].tolist()
        values = rows.values[first : first + len(same)]
        given = [labels[int(value) - 1] if labels else f"{value:g}" for value in values]
        found = ", ".join(
            f"{value} ({locate(row)})" for value, row in zip(given, in_file, strict=True)
        )
        user, item = ids[0][users[first]], ids[1][rows.indices[first]]
        examples.append(f"user {user} and item {item}: {found}")
    while len(examples) > 1 and len("; ".join(examples)) > _MOST_OF_EXAMPLES:
        examples.pop()
    # If most rows repeat, another mistake is likelier.
    repeat = 2 * (users.size - starts.size) > users.size
    wrong = "Name user (--user) and item (--item), or keep"
    return (
        f"{len(pairs)} (user, item) pair{'s occur' if len(pairs) > 1 else ' occurs'} more than "
        f"once, but a user rates an item once: {'; '.join(examples)}. "
        f"{wrong if repeat else 'Keep'} one rating each: duplicates last or mean "
        f"(--duplicates last)"
    )


@compiled(plain_if_small=True)
def _count(users: NDArray[Any], items: NDArray[Any], n_users: int) -> tuple[NDArray[Any], bool]:
    """Return where each user's ratings begin, and whether all are already in order."""
    starts = np.zeros(n_users + 1, np.int64)
    in_order = True
    last_user, last_item = -1, -1
    for row in range(users.size):
        user, item = users[row], items[row]
        starts[user + 1] += 1
        in_order &= user > last_user or (user == last_user and item >= last_item)
        last_user, last_item = user, item
    for user in range(n_users):
        starts[user + 1] += starts[user]
    return starts, in_order


@compiled(plain_if_small=True)
def _place(
    users: NDArray[Any], items: NDArray[Any], indptr: NDArray[Any], places: NDArray[Any]
) -> None:
    """Collect the file positions of each user's ratings, then sort them by item."""
    following = indptr[:-1].copy()
    for row in range(users.size):
        places[following[users[row]]] = row
        following[users[row]] += 1
    for user in range(indptr.size - 1):
        own = places[indptr[user] : indptr[user + 1]]
        of_own = items[own]
        for at in range(1, own.size):
            if of_own[at] < of_own[at - 1]:
                own[:] = own[np.argsort(of_own, kind="mergesort")]
                break


@compiled(plain_if_small=True)
def _gather(column: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """Return ``column[places]`` without the 64-bit copy of the positions that numpy makes."""
    gathered = np.empty_like(column)
    for at in range(places.size):
        gathered[at] = column[places[at]]
    return gathered


@compiled(plain_if_small=True)
def _has_repeats(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    for user in range(indptr.size - 1):
        for at in range(indptr[user] + 1, indptr[user + 1]):
            if indices[at] == indices[at - 1]:
                return True
    return False


@compiled(plain_if_small=True)
def first_fall(indptr: NDArray[Any], indices: NDArray[Any]) -> int:
    """Return the position before the first item that is not above the one before it, or -1."""
    for row in range(indptr.size - 1):
        for at in range(indptr[row] + 1, indptr[row + 1]):
            if indices[at] <= indices[at - 1]:
                return at - 1
    return -1
