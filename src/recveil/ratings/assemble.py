"""From triples in any order to compressed rows: two counting sorts and a look for duplicates."""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from recveil.compiled import compiled
from recveil.errors import RecveilError
from recveil.ratings.columns import Locate

Duplicates = Literal["error", "last", "mean"]


class Triples(NamedTuple):
    """Ratings in the order of their file: positions of user and item, rating, day."""

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    values: NDArray[np.float32]
    days: NDArray[np.int32] | None


class Rows(NamedTuple):
    """Ratings in compressed rows by user, items ascending in each row."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    days: NDArray[np.int32] | None


def compress(triples: Triples, n_users: int, n_items: int) -> Rows:
    """Sort triples by user, then item; equal pairs keep the order of the file.

    Examples
    --------
    >>> rows = compress(
    ...     Triples(
    ...         np.array([1, 0, 1], np.int32),
    ...         np.array([2, 0, 1], np.int32),
    ...         np.array([5, 3, 4], np.float32),
    ...         None,
    ...     ),
    ...     n_users=2,
    ...     n_items=3,
    ... )
    >>> rows.indptr, rows.indices, rows.values
    (array([0, 1, 3]), array([0, 1, 2], dtype=int32), array([3., 4., 5.], dtype=float32))
    """
    days = np.empty(0, np.int32) if triples.days is None else triples.days
    # A stable sort by item and then a stable sort by user order each row by item.
    _, users, items, values, days = _sort_stably(
        triples.items, n_items, triples.users, triples.items, triples.values, days
    )
    indptr, _, items, values, days = _sort_stably(users, n_users, users, items, values, days)
    return Rows(indptr, items, values, None if triples.days is None else days)


def settle_duplicates(
    rows: Rows, how: Duplicates, triples: Triples, labels: tuple[Any, Any], locate: Locate
) -> Rows:
    """Leave one rating for each (user, item) pair, or raise if `how` is "error".

    "last" keeps the rating that stands last in the file, "mean" the mean rating with the last
    day.

    Raises
    ------
    RecveilError
        For "error", if any pair stands more than once: their number and three of them.
    """
    if how not in get_args(Duplicates):
        raise RecveilError(f"duplicates {how!r}: expected one of {', '.join(get_args(Duplicates))}")
    users = np.repeat(np.arange(rows.indptr.size - 1, dtype=np.int32), np.diff(rows.indptr))
    repeats = np.flatnonzero((users[1:] == users[:-1]) & (rows.indices[1:] == rows.indices[:-1]))
    if not repeats.size:
        return rows
    if how == "error":
        pairs = np.unique(np.stack([users[repeats], rows.indices[repeats]], axis=1), axis=0)
        raise RecveilError(_describe(pairs, triples, labels, locate))
    values = rows.values
    starts = np.setdiff1d(np.arange(users.size), repeats + 1, assume_unique=True)
    if how == "mean":
        lengths = np.diff(np.append(starts, users.size))
        sums = np.add.reduceat(values.astype(np.float64), starts)
        kept_values = (sums / lengths).astype(np.float32)
    kept = np.append(starts[1:], users.size) - 1
    if how == "last":
        kept_values = values[kept]
    indptr = np.searchsorted(kept, rows.indptr).astype(np.int64)
    days = None if rows.days is None else rows.days[kept]
    return Rows(indptr, rows.indices[kept], kept_values, days)


def _describe(pairs: Any, triples: Triples, labels: tuple[Any, Any], locate: Locate) -> str:
    examples = []
    for user, item in pairs[:3]:
        rows = np.flatnonzero((triples.users == user) & (triples.items == item))
        found = ", ".join(f"{triples.values[row]:g} ({locate(int(row))})" for row in rows[:3])
        examples.append(f"user {labels[0][user]} and item {labels[1][item]}: {found}")
    return (
        f"{len(pairs)} (user, item) pair{'s stand' if len(pairs) > 1 else ' stands'} more than "
        f"once, but a user rates an item once; e.g. {'; '.join(examples)}. "
        f"Keep one rating each: duplicates last or mean (--duplicates last)"
    )


@compiled()
def _sort_stably(
    keys: NDArray[Any],
    n_keys: int,
    users: NDArray[Any],
    items: NDArray[Any],
    values: NDArray[Any],
    days: NDArray[Any],
) -> tuple[NDArray[Any], ...]:
    """Sort four parallel arrays by counting keys; also return where each key starts."""
    starts = np.zeros(n_keys + 1, np.int64)
    for key in keys:
        starts[key + 1] += 1
    for key in range(n_keys):
        starts[key + 1] += starts[key]
    following = starts[:-1].copy()
    sorted_users, sorted_items = np.empty_like(users), np.empty_like(items)
    sorted_values, sorted_days = np.empty_like(values), np.empty_like(days)
    for row in range(keys.size):
        place = following[keys[row]]
        following[keys[row]] += 1
        sorted_users[place] = users[row]
        sorted_items[place] = items[row]
        sorted_values[place] = values[row]
        if days.size:
            sorted_days[place] = days[row]
    return starts, sorted_users, sorted_items, sorted_values, sorted_days
