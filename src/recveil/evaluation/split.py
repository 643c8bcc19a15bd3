"""Training tables: raw ratings and releases in one form for recommenders.

Rows are in an order that depends on their content alone, and identical rows are merged: neither the
order of a release nor its layout affects what is learned.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recveil.attacks import AttackTarget
from recveil.ratings import Ratings, RatingScale
from recveil.release.coverage import Coverage
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief


@brief
class HeldOut(NamedTuple):
    """Cells of the table whose ratings are kept aside, sorted by user, then item.

    Attributes
    ----------
    users, items : ndarray of int64, shape (n_cells,)
        Positions in the training ratings.
    values : ndarray of float64, shape (n_cells,)
        The original ratings.
    """

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    values: NDArray[np.float64]

    def of_users(self, chosen: NDArray[np.bool_]) -> "HeldOut":
        """Return the cells of the marked users, shape (n_users,), such as those in a release.

        Examples
        --------
        >>> test = HeldOut(np.array([0, 1, 1]), np.array([5, 5, 6]), np.array([1.0, 2.0, 3.0]))
        >>> test.of_users(np.array([False, True])).values
        array([2., 3.])
        """
        return self.where(chosen[self.users])

    def where(self, kept: NDArray[np.bool_]) -> "HeldOut":
        """Return the marked cells."""
        return HeldOut(self.users[kept], self.items[kept], self.values[kept])


@brief
class Split(NamedTuple):
    """Ratings to learn from, and cells to judge by.

    Attributes
    ----------
    train : Ratings
        All users and items of the original, some with fewer ratings or (items) with none.
    test : HeldOut
    """

    train: Ratings
    test: HeldOut


def split_ratings(ratings: Ratings, share: float = 0.2, seed: int = 0) -> Split:
    """Hold out a share of each user's ratings, chosen at random.

    Parameters
    ----------
    ratings : Ratings
    share : float
        Between 0 and 1, both excluded. Of a user's n ratings ``floor(share n + 1/2)`` are held
        out, but never their last one.
    seed : int
        Draws the ratings.

    Returns
    -------
    Split
        Positions of users and items are those of `ratings`.

    Raises
    ------
    RecveilError
        If the share is not between 0 and 1, or so small that nothing is held out.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 1, 1, 2], [1, 2, 3, 4, 1], [5, 4, 3, 2, 1])
    >>> train, test = split_ratings(ratings, 0.5)
    >>> train.activity, test.users
    (array([2, 1]), array([0, 0]))
    """
    _check_share(share)
    wanted = np.floor(share * ratings.activity + 0.5).astype(np.int64)
    wanted = np.minimum(wanted, np.maximum(ratings.activity - 1, 0))
    if not wanted.any():
        raise RecveilError(
            f"a share of {share} holds out nothing: no user has enough ratings; raise the share",
            code="table.too-few-ratings",
        )
    keys = np.random.default_rng(seed).random(ratings.n_ratings)
    held = lowest_in_rows(ratings.indptr, keys, wanted)
    users = ratings.user_positions()[held].astype(np.int64)
    items = ratings.indices[held].astype(np.int64)
    values = ratings.scale.round(ratings.values[held])
    return Split(_without(ratings, held), HeldOut(users, items, values))


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise RecveilError(
            f"share is {share}; expected a number between 0 and 1, such as 0.2", code="option.value"
        )


@brief
class TimeSplit(NamedTuple):
    """A split by time.

    Attributes
    ----------
    split : Split
        The ratings before the cut, and later ones of the same users and items.
    next_cells : HeldOut
        The test ratings of each user's first day with any.
    cut : int
        The first day after the training ratings, in days since 1970-01-01, UTC.
    unknown_users, unknown_items, left_out : int
        Users and items without ratings before the cut, and their later ratings.
    """

    split: Split
    next_cells: HeldOut
    cut: int
    unknown_users: int
    unknown_items: int
    left_out: int


def split_by_time(ratings: Ratings, share: float = 0.2) -> TimeSplit:
    """Hold out the last ratings of the whole table, by one cut for all users.

    The cut is the end of the day on which the first ``1 - share`` of the ratings end, or the day
    before if that is the last day of the table.

    Raises
    ------
    RecveilError
        If the share is not between 0 and 1, the ratings have no days or only one, or no user and
        item have ratings on both sides of the cut.

    Examples
    --------
    >>> users, items = [1, 1, 2, 2, 1, 2, 3], [7, 8, 7, 9, 9, 5, 7]
    >>> ratings = Ratings.from_columns(users, items, days=[1, 1, 1, 2, 3, 4, 5])
    >>> found = split_by_time(ratings, 0.5)
    >>> found.split.train.n_ratings, found.cut, found.next_cells.items, found.left_out
    (4, 3, array([2]), 2)
    """
    _check_share(share)
    days = DatedRows.from_ratings(ratings).days
    cut = _end_of(days, 1 - share)
    before, users, items = days < cut, ratings.user_positions(), ratings.indices
    is_user = np.bincount(users[before], minlength=ratings.n_users) > 0
    is_item = np.bincount(items[before], minlength=ratings.n_items) > 0
    tested = ~before & is_user[users] & is_item[items]
    if not tested.any():
        raise RecveilError(
            f"none of the {np.count_nonzero(~before)} ratings after the cut can judge anything: "
            f"expected users and items with ratings on both sides of it; change the share, or "
            f"split by user",
            code="evaluation.no-test-ratings",
        )
    place_of_user, place_of_item = np.cumsum(is_user) - 1, np.cumsum(is_item) - 1
    lengths = np.bincount(users[before], minlength=ratings.n_users)[is_user]
    train = Ratings(
        users=ratings.users[is_user],
        items=ratings.items[is_item],
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        indices=place_of_item[items[before]],
        values=ratings.values[before],
        days=days[before],
        scale=ratings.scale,
    )
    values = ratings.scale.round(ratings.values[tested])
    test = HeldOut(place_of_user[users[tested]], place_of_item[items[tested]], values)
    return TimeSplit(
        split=Split(train, test),
        next_cells=test.where(is_first_day(test.users, days[tested])),
        cut=cut,
        unknown_users=int(np.count_nonzero(~is_user)),
        unknown_items=int(np.count_nonzero(~is_item)),
        left_out=int(np.count_nonzero(~before & ~tested)),
    )


def is_first_day(rows: NDArray[Any], days: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Mark the cells of each row's first day.

    >>> is_first_day(np.array([0, 0, 0, 2]), np.array([5, 4, 4, 9], np.int32))
    array([False,  True,  True,  True])
    """
    first = np.full(rows.max(initial=-1) + 1, np.iinfo(np.int32).max)
    np.minimum.at(first, rows, days)
    return np.asarray(days == first[rows])


def _end_of(days: NDArray[np.int32], share: float) -> int:
    """Return the day after the one on which the first share of ratings ends."""
    ordered = np.sort(days)
    # A share such as 1 - 0.2 is not exact.
    n_first = max(1, int(np.ceil(share * days.size - 1e-9)))
    last = ordered[n_first - 1]
    if last == ordered[-1]:
        last = ordered[max(0, np.searchsorted(ordered, last) - 1)]
    if last == ordered[-1]:
        raise RecveilError(
            "all ratings are of one day, so that time does not split them; split by user",
            code="table.too-few-ratings",
        )
    return int(last) + 1


@brief
class Matched(NamedTuple):
    """Ratings of a separate file, found in the training ratings.

    Attributes
    ----------
    test : HeldOut
        The cells whose user and item are known.
    unknown_users, unknown_items : int
        How many users and items of the file the training ratings do not have.
    left_out : int
        Ratings of the file that were left out: their user or item is unknown.
    also_in_training : int
        Ratings of the file that were left out: the training ratings have the same cell, so that
        it could be judged by nothing but memory.
    """

    test: HeldOut
    unknown_users: int
    unknown_items: int
    left_out: int
    also_in_training: int


def match_held_out(train: Ratings, test: Ratings) -> Matched:
    """Find the cells of a separate test file in the training ratings, by their ids.

    Parameters
    ----------
    train, test : Ratings
        Ids must be of one kind (whole numbers or text) in both.

    Raises
    ------
    RecveilError
        If the ids are of different kinds, or no cell is left.

    Examples
    --------
    >>> train = Ratings.from_columns(["ann", "ben"], [1, 2], [4, 2])
    >>> test = Ratings.from_columns(["ann", "ben", "eve"], [2, 2, 1], [5, 2, 1])
    >>> found = match_held_out(train, test)
    >>> found.test.users, found.test.items, found.unknown_users, found.also_in_training
    (array([0]), array([1]), 1, 1)
    """
    user_of = _positions(test.users, train.users, "user")
    item_of = _positions(test.items, train.items, "item")
    users, items = user_of[test.user_positions()], item_of[test.indices]
    known = (users >= 0) & (items >= 0)
    cells = train.user_positions().astype(np.int64) * train.n_items + train.indices
    repeated = known & np.isin(users * train.n_items + items, cells)
    kept = np.flatnonzero(known & ~repeated)
    if not kept.size:
        raise RecveilError(
            f"none of the {test.n_ratings} test ratings can judge anything: expected cells of "
            f"known users and items that the training ratings do not have; give another file",
            code="evaluation.no-test-ratings",
        )
    kept = kept[np.lexsort([items[kept], users[kept]])]
    values = test.scale.round(test.values[kept])
    return Matched(
        test=HeldOut(users[kept], items[kept], values),
        unknown_users=int((user_of < 0).sum()),
        unknown_items=int((item_of < 0).sum()),
        left_out=int((~known).sum()),
        also_in_training=int(repeated.sum()),
    )


# Cells sorted at a time
_CELLS_AT_A_TIME = 1 << 22


def lowest_in_rows(
    indptr: NDArray[Any], keys: NDArray[Any], wanted: NDArray[Any]
) -> NDArray[np.bool_]:
    """Mark the cells with the lowest keys of each row, as many as are wanted of it.

    >>> lowest_in_rows(np.array([0, 3, 4]), np.array([0.3, 0.1, 0.2, 0.5]), np.array([2, 0]))
    array([False,  True,  True, False])
    """
    marked = np.zeros(keys.size, np.bool_)
    # Rows are independent: blocks of them take little memory.
    starts = np.searchsorted(indptr, np.arange(0, keys.size, _CELLS_AT_A_TIME), "right") - 1
    for first, last in pairwise([*np.unique(starts).tolist(), indptr.size - 1]):
        lengths = np.diff(indptr[first : last + 1])
        cells = slice(indptr[first], indptr[last])
        row_of = np.repeat(np.arange(first, last), lengths)
        order = np.lexsort([keys[cells], row_of])
        rank = np.arange(indptr[first], indptr[last]) - indptr[row_of]  # rows stay where they are
        marked[indptr[first] + order] = rank < wanted[row_of]
    return marked


def _without(ratings: Ratings, held: NDArray[np.bool_]) -> Ratings:
    kept = ~held
    lengths = np.bincount(ratings.user_positions()[kept], minlength=ratings.n_users)
    return Ratings(
        users=ratings.users,
        items=ratings.items,
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        indices=ratings.indices[kept],
        values=ratings.values[kept],
        days=None if ratings.days is None else ratings.days[kept],
        scale=ratings.scale,
    )


def _positions(ids: NDArray[Any], known: NDArray[Any], what: str) -> NDArray[np.int64]:
    """Return the position of each id among the known ones, -1 if it is missing."""
    if ids.dtype != known.dtype:
        kinds = ["text" if kind.hasobject else "whole numbers" for kind in (ids.dtype, known.dtype)]
        raise RecveilError(
            f"{what} ids are {kinds[0]} in the test ratings, but {kinds[1]} in the training "
            f"ratings; expected one kind; write both files alike",
            code="id.type",
        )
    result = pc.index_in(pa.array(ids), value_set=pa.array(known))
    return np.asarray(pc.fill_null(result, -1).to_numpy(), dtype=np.int64)


# Cells of sparse rows whose order by item is known at once: about 0.3 GB.
_BLOCK_CELLS = 1 << 23


def blocks_of(indptr: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield the ends of blocks of whole rows with at most `_BLOCK_CELLS` cells, or of one row."""
    start, n_rows = 0, indptr.size - 1
    while start < n_rows:
        most = int(np.searchsorted(indptr, int(indptr[start]) + _BLOCK_CELLS, "right")) - 1
        end = max(most, start + 1)
        yield start, end
        start = end


_INNER_SHARE = 0.2
# Rows with a larger share of all items hardly reveal preferences.
_FULL = 0.5
# Rows are held out a fifth at a time until so many were, but of fewer rows, each so many times.
PARTS, LEAST_ROWS, _MOST_TIMES = 5, 100, 10
# Of a larger part, so many rows are drawn; scores of all its items take memory.
MOST_ROWS = 4_096
# Settings are chosen on so many values at most: whole rows of the others are drawn.
MOST_VALUES = 1 << 22
# Lists have more noise than errors: each row is held out once, up to so many.
_LEAST_LISTS = 1_000


@brief
class UserRows(NamedTuple):
    """Users to serve, each with their known ratings, in compressed rows.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_users + 1,)
    indices : ndarray of int32, shape (n_ratings,)
        Positions of items, ascending in each row.
    values : ndarray of float64, shape (n_ratings,)
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> Self:
        """Take every user of a table; positions stay.

        Examples
        --------
        >>> UserRows.from_ratings(Ratings.from_columns([1, 1, 2], [7, 9, 7], [4, 2, 5])).values
        array([4., 2., 5.])
        """
        # float32 as stored, 0.1 is not the 0.1 of a published value.
        return cls(ratings.indptr, ratings.indices, ratings.scale.round(ratings.values))

    @property
    def n_users(self) -> int:
        """Number of rows."""
        return self.indptr.size - 1

    def row_of(self) -> NDArray[np.int64]:
        """Return the row of each rating, shape (n_ratings,)."""
        return np.repeat(np.arange(self.n_users), np.diff(self.indptr))

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the rows at some positions, in the order of the positions."""
        lengths = np.diff(self.indptr)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self.indptr[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return self._of(starts, at)

    def between(self, start: int, end: int) -> Self:
        """Return the rows from one position up to another, without copying ratings."""
        indptr = self.indptr[start : end + 1]
        return self._of(indptr - indptr[0], slice(int(indptr[0]), int(indptr[-1])))

    def where(self, kept: NDArray[np.bool_]) -> Self:
        """Return all rows with only the marked ratings."""
        lengths = np.bincount(self.row_of()[kept], minlength=self.n_users)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return self._of(indptr, np.flatnonzero(kept))

    def _of(self, indptr: NDArray[Any], at: NDArray[Any] | slice) -> Self:
        return type(self)(indptr, self.indices[at], self.values[at])

    def matrix(self, n_items: int, values: ArrayLike | None = None) -> sparse.csr_array:
        """Return the rows as a scipy matrix, with other values in place of the ratings if given."""
        data = self.values if values is None else np.asarray(values, np.float64)
        shape = (self.n_users, n_items)
        return sparse.csr_array((data, self.indices, self.indptr), shape=shape, copy=False)


class DatedRows(UserRows):
    """Rows whose ratings have days, for recommenders that use their order."""

    days: NDArray[np.int32]  # shape (n_ratings,)

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> Self:
        """Take every user of a table with days; positions stay."""
        if ratings.days is None:
            raise RecveilError(
                "a split by time (split_by, --split-by) needs the time of each rating, and this "
                "table has none; name their column with time (--time), or split by user",
                code="time.missing",
            )
        return super().from_ratings(ratings)._with(ratings.days)

    def _with(self, days: NDArray[np.int32]) -> Self:
        self.days = days
        return self

    def _of(self, indptr: NDArray[Any], at: NDArray[Any] | slice) -> Self:
        return super()._of(indptr, at)._with(self.days[at])


@brief
@dataclass(frozen=True, eq=False)
class TrainingTable:
    """Rows of values with the number of users of each.

    Build one with `from_ratings`, `from_released` or `from_rows`.

    Parameters
    ----------
    rows : UserRows
        Distinct rows, none empty, in the order of their digests.
    sizes : ndarray of int64, shape (n_rows,)
        Number of users of each row.
    n_items : int
        Items in the catalogue, including those in no row.
    n_users : int
        Users of all rows, including those without any value.
    scale : RatingScale

    Examples
    --------
    >>> raw = Ratings.from_columns([1, 1, 2, 3, 3], [7, 9, 7, 7, 9], [4, 2, 5, 4, 2])
    >>> table = TrainingTable.from_ratings(raw)  # users 1 and 3 are alike
    >>> sorted(table.sizes.tolist()), table.n_users, table.support
    ([1, 2], 3, array([3., 2.]))
    """

    rows: UserRows
    sizes: NDArray[np.int64]
    n_items: int
    n_users: int
    scale: RatingScale

    @classmethod
    def from_ratings(cls, ratings: Ratings, *, with_days: bool = False) -> Self:
        """Build a table of raw ratings, one user per row."""
        rows = (DatedRows if with_days else UserRows).from_ratings(ratings)
        sizes = np.ones(ratings.n_users, np.int64)
        return cls.from_rows(rows, sizes, ratings.n_items, ratings.scale)

    @classmethod
    def from_released(
        cls, released: AttackTarget, scale: RatingScale, *, with_days: bool = False
    ) -> Self:
        """Take a release, on the scale of its values, without the map of users to rows."""
        rows = UserRows(released.indptr, released.indices, released.values)
        if with_days and released.days is not None:
            rows = DatedRows(*rows)._with(released.days)
        n_items = released.candidates.indptr.size - 1
        return cls.from_rows(rows, released.candidates.sizes, n_items, scale)

    @classmethod
    def from_rows(
        cls, rows: UserRows, sizes: NDArray[np.int64], n_items: int, scale: RatingScale
    ) -> Self:
        """Order any rows by their content, and add up the sizes of identical ones.

        Raises
        ------
        RecveilError
            If no row has a value.
        """
        if not rows.indices.size:
            raise RecveilError(
                "the table has no values; expected at least one",
                code="table.no-ratings",
            )
        digests = np.frombuffer(b"".join(_digests(rows)), dtype="S16")
        filled = np.flatnonzero(np.diff(rows.indptr))
        _, first, row_of = np.unique(digests[filled], return_index=True, return_inverse=True)
        user_counts = np.bincount(row_of, weights=sizes[filled]).astype(np.int64)
        return cls(rows.take(filled[first]), user_counts, n_items, int(sizes.sum()), scale)

    def has_rows_of(self, other: "TrainingTable") -> bool:
        """Return whether all rows, and so all that is learned of them, are equal."""
        return (self.n_users, self.scale) == (other.n_users, other.scale) and all(
            np.array_equal(one, two)
            for one, two in (
                (self.rows.indptr, other.rows.indptr),
                (self.rows.indices, other.rows.indices),
                (self.rows.values, other.rows.values),
                (self.sizes, other.sizes),
            )
        )

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Number of users of each value, shape (n_values,)."""
        if (self.sizes == 1).all():  # as in raw tables, where an array of ones would be large
            return np.broadcast_to(1.0, self.rows.indices.size)
        return np.repeat(self.sizes.astype(np.float64), np.diff(self.rows.indptr))

    @cached_property
    def support(self) -> NDArray[np.float64]:
        """Number of users with each item, shape (n_items,)."""
        return self._sums_by_item(of_values=False)

    @cached_property
    def overall_mean(self) -> float:
        """Mean value over users and items."""
        return float(np.average(self.rows.values, weights=self.weights))

    def item_means(self, damping: float = 0.0) -> NDArray[np.float64]:
        """Return each item's mean value over users, shape (n_items,).

        Parameters
        ----------
        damping : float
            Number of additional users with the overall mean, which is also the mean of an item
            without users.
        """
        sums = self._sums_by_item(of_values=True)
        user_counts = self.support + damping
        means = np.full(self.n_items, self.overall_mean)
        return np.divide(sums + damping * means, user_counts, out=means, where=user_counts > 0)

    def _sums_by_item(self, *, of_values: bool) -> NDArray[np.float64]:
        sums = np.zeros(self.n_items)
        for start, end in blocks_of(self.rows.indptr):
            rows = self.rows.between(start, end)
            weights = np.repeat(self.sizes[start:end].astype(np.float64), np.diff(rows.indptr))
            np.add.at(sums, rows.indices, weights * rows.values if of_values else weights)
        return sums

    @property
    def is_full(self) -> bool:
        """Whether most rows have most of the items of the table.

        Such a table hardly reveals preferences, and its hold-outs do not distinguish good lists.
        """
        carried = np.count_nonzero(self.support)
        return bool(self.rows.indices.size > _FULL * self.rows.n_users * carried)

    def coverage_of(self, release: "TrainingTable", *, contains_users: bool = True) -> Coverage:
        """Return the items and ratings of this table that a release keeps."""
        rows = np.diff(release.rows.indptr), release.sizes, release.n_users
        kept = self.where((release.support > 0)[self.rows.indices])._lengths()
        raw = self._lengths()
        return Coverage.of(
            self.support, release.support, *rows, raw, kept if contains_users else ()
        )

    def _lengths(self) -> NDArray[np.int64]:
        """Return the number of ratings of each user; none of users who have no row."""
        lengths = np.repeat(np.diff(self.rows.indptr), self.sizes)
        return np.pad(lengths, (0, self.n_users - lengths.size))

    def where(self, kept: NDArray[np.bool_]) -> "TrainingTable":
        """Return the same rows with only the marked values."""
        rows = self.rows.where(kept)
        return TrainingTable(rows, self.sizes, self.n_items, self.n_users, self.scale)


@brief
class InnerSplit(NamedTuple):
    """Held-out rows of a table, and the rows to predict them from, for model selection.

    Attributes
    ----------
    table : TrainingTable
        The rows to learn from.
    known : UserRows
        The held-out rows without their held-out cells: the users to serve.
    held_out : HeldOut
        Held-out cells of these rows.
    """

    table: TrainingTable
    known: UserRows
    held_out: HeldOut


def inner_splits(table: TrainingTable, seed: int = 0) -> tuple[InnerSplit, ...]:
    """Hold out whole rows, a fifth of them at a time, and a fifth of the values of each.

    A recipient selects models by the table alone. The ratings of the served users would bias the
    choice: a release contains them, averaged over few users, so that they favour the model that
    trusts it most. Held-out values of training rows would, too: the other values of the same row,
    which many users share, reveal them, so that memorizing rows would win.

    Rows with the same items are held out together, if a table has at least five sets of items:
    where k users share a set, training rows would reveal the others' items.

    A distinct row is held out whole and counts once, whatever its number of users. A value between
    two ratings of the scale is rounded to one of them at random, without bias: served users give
    ratings, on which a model that trusts each digit of an average fails.

    Parameters
    ----------
    table : TrainingTable
    seed : int
        Draws the rows, the values and the roundings.

    Returns
    -------
    tuple of InnerSplit
        As many as are needed to hold out every row, or 1,000 of them; 100 for a full table, whose
        lists are uninformative; with fewer than 100 rows, each several times, up to ten times. None
        if there are fewer than two rows. A split has up to 4,096 held-out rows, and rows with about
        4 million values to learn from, drawn at random if there are more.

    Examples
    --------
    >>> raw = Ratings.from_columns([1] * 5 + [2] * 5, [1, 2, 3, 4, 5] * 2, [1, 2, 3, 4, 5] * 2)
    >>> inner_splits(TrainingTable.from_ratings(raw))  # both rate alike: one distinct row
    ()
    >>> values = [1, 2, 3, 4, 5] + [3] * 5
    >>> raw = Ratings.from_columns([1] * 5 + [2] * 5, [1, 2, 3, 4, 5] * 2, values)
    >>> [(inner.table.rows.n_users, inner.known.indices.size, inner.held_out.items.size)
    ...  for inner in inner_splits(TrainingTable.from_ratings(raw))][:2]
    [(1, 4, 1), (1, 4, 1)]
    """
    n = table.rows.n_users
    parts = min(PARTS, n)
    if parts < 2:
        return ()
    alike, n_alike = _alike(table.rows)
    rng = np.random.default_rng(seed)
    splits: list[InnerSplit] = []
    lists = 0 if table.is_full else min(n, _LEAST_LISTS)
    left = max(min(LEAST_ROWS, _MOST_TIMES * n), lists)
    while left > 0:
        part_of = rng.permutation(n_alike)[alike] % parts
        for part in range(parts):
            if left > 0:
                splits.append(_hold_out_rows(table, part_of == part, rng))
                left -= splits[-1].known.n_users
    return tuple(splits)


def n_inner_splits(table: TrainingTable) -> int:
    """Return about how many inner hold-outs `inner_splits` makes."""
    n = table.rows.n_users
    wanted = 0 if table.is_full else min(n, _LEAST_LISTS)
    wanted = max(min(LEAST_ROWS, _MOST_TIMES * n), wanted)
    return -(-wanted * min(PARTS, n) // n) if n > 1 else 0


def times_learned(table: TrainingTable, n_inner: float) -> float:
    """Return how many times the values of a table are learned: all of them, and in hold-outs."""
    n_values = table.rows.indices.size
    return 1.0 + n_inner * min(1.0, MOST_VALUES / n_values) if n_values else 1.0


def enough_for_errors(inner: Sequence[InnerSplit]) -> Sequence[InnerSplit]:
    """Return the first of some splits, which hold out 100 rows together; all if they do not."""
    rows = np.cumsum([part.known.n_users for part in inner])
    return inner[: int(np.searchsorted(rows, LEAST_ROWS)) + 1]


def _alike(rows: UserRows) -> tuple[NDArray[np.int64], int]:
    """Return the number of each row's set of items, in the order of the rows, and their count.

    Of fewer sets than parts, every row is one of its own.

    >>> items = np.array([3, 3, 4, 5, 6, 7], np.int32)
    >>> _alike(UserRows(np.arange(7), items, np.arange(6.0)))
    (array([0, 0, 1, 2, 3, 4]), 5)
    """
    sets = np.frombuffer(
        b"".join(_digests(UserRows(rows.indptr, rows.indices, np.empty(0)))), dtype="S16"
    )
    _, first, number = np.unique(sets, return_index=True, return_inverse=True)
    if first.size < PARTS:
        return np.arange(rows.n_users), rows.n_users
    return np.argsort(np.argsort(first))[number], first.size


def _hold_out_rows(
    table: TrainingTable, chosen: NDArray[np.bool_], rng: np.random.Generator
) -> InnerSplit:
    drawn, left = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    if drawn.size > MOST_ROWS:
        drawn = np.sort(rng.choice(drawn, MOST_ROWS, replace=False))
    rows = table.rows.take(drawn)
    rows = rows._replace(values=_draw_ratings(rows.values, table.scale, rng))
    wanted = np.floor(_INNER_SHARE * np.diff(rows.indptr) + 0.5)
    held = lowest_in_rows(rows.indptr, rng.random(rows.indices.size), wanted)
    cells = HeldOut(rows.row_of()[held], rows.indices[held].astype(np.int64), rows.values[held])
    n_left = int(np.diff(table.rows.indptr)[left].sum())
    if n_left > MOST_VALUES:
        left = np.sort(rng.choice(left, left.size * MOST_VALUES // n_left, replace=False))
    sizes = table.sizes[left]
    others = TrainingTable(
        table.rows.take(left), sizes, table.n_items, int(sizes.sum()), table.scale
    )
    return InnerSplit(others, rows.where(~held), cells)


def _draw_ratings(
    values: NDArray[np.float64], scale: RatingScale, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Replace each value by the rating below or above it, the nearer one more often."""
    if scale.step is None:
        return values
    steps = (values - scale.low) / scale.step
    # A rating is one, regardless of rounding in the division.
    steps = np.where(np.abs(steps - np.rint(steps)) < 1e-6, np.rint(steps), steps)
    below = np.floor(steps)
    drawn = below + (rng.random(values.size) < steps - below)
    return np.asarray(scale.round(scale.low + scale.step * drawn), np.float64)


def _digests(rows: UserRows) -> list[bytes]:
    items, values = np.ascontiguousarray(rows.indices), np.ascontiguousarray(rows.values)
    result = []
    for row in range(rows.n_users):
        own = slice(rows.indptr[row], rows.indptr[row + 1])
        digest = hashlib.blake2b(items[own].data, digest_size=16)
        digest.update(values[own].data)
        if isinstance(rows, DatedRows):
            digest.update(np.ascontiguousarray(rows.days[own]).data)
        result.append(digest.digest())
    return result
