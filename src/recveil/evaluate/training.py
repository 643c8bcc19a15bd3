"""TrainingTable: what a recipient learns from, raw ratings and a release in one and the same form.

Rows are put into an order that their content alone decides, and identical rows are one with their
sizes added. So neither the order of a release nor its layout can change what is learnt, and raw
ratings that are published as they are teach exactly what the raw ratings teach.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from recveil.attack import ReleasedTable
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.evaluate.split import HeldOut, lowest_in_rows
from recveil.ratings import Ratings, RatingScale

_INNER_SHARE = 0.2
# Rows that carry more of all items than this say little of what people choose.
_FULL = 0.5
# Rows are held out a fifth at a time until so many were, but of fewer rows, each so many times.
PARTS, LEAST_ROWS, _MOST_TIMES = 5, 100, 10
# Lists have more noise than errors: each row is held out once, up to so many.
_LEAST_LISTS = 1_000


@brief
class UserRows(NamedTuple):
    """People to serve, each with the ratings that they are known by, in compressed rows.

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
        # float32 as stored, 0.1 is not the 0.1 of a published label.
        return cls(ratings.indptr, ratings.indices, ratings.scale.round(ratings.values))

    @property
    def n_users(self) -> int:
        """Number of rows."""
        return self.indptr.size - 1

    def row_of(self) -> NDArray[np.int64]:
        """Return the row of each rating, shape (n_ratings,)."""
        return np.repeat(np.arange(self.n_users), np.diff(self.indptr))

    def take(self, rows: NDArray[Any]) -> "UserRows":
        """Return the rows at some positions, in the order of the positions."""
        lengths = np.diff(self.indptr)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self.indptr[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return UserRows(starts, self.indices[at], self.values[at])

    def where(self, kept: NDArray[np.bool_]) -> "UserRows":
        """Return all rows with only the marked ratings."""
        lengths = np.bincount(self.row_of()[kept], minlength=self.n_users)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return UserRows(indptr, self.indices[kept], self.values[kept])

    def matrix(self, n_items: int, values: ArrayLike | None = None) -> sparse.csr_array:
        """Return the rows as a scipy matrix, with other values in place of the ratings if given."""
        data = self.values if values is None else np.asarray(values, np.float64)
        shape = (self.n_users, n_items)
        return sparse.csr_array((data, self.indices, self.indptr), shape=shape, copy=False)


@brief
@dataclass(frozen=True, eq=False)
class TrainingTable:
    """Rows of labels with the number of people behind each.

    Build one with `from_ratings`, `from_released` or `from_rows`.

    Parameters
    ----------
    rows : UserRows
        Distinct rows, none empty, in the order of their digests.
    sizes : ndarray of int64, shape (n_rows,)
        How many people stand behind each row.
    n_items : int
        Items in the catalogue, with those that no row carries.
    n_people : int
        People behind all rows, with those who have no label at all.
    scale : RatingScale

    Examples
    --------
    >>> raw = Ratings.from_columns([1, 1, 2, 3, 3], [7, 9, 7, 7, 9], [4, 2, 5, 4, 2])
    >>> table = TrainingTable.from_ratings(raw)  # users 1 and 3 tell the same
    >>> sorted(table.sizes.tolist()), table.n_people, table.support
    ([1, 2], 3, array([3., 2.]))
    """

    rows: UserRows
    sizes: NDArray[np.int64]
    n_items: int
    n_people: int
    scale: RatingScale

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> Self:
        """Take raw ratings, one person a row."""
        sizes = np.ones(ratings.n_users, np.int64)
        return cls.from_rows(UserRows.from_ratings(ratings), sizes, ratings.n_items, ratings.scale)

    @classmethod
    def from_released(cls, released: ReleasedTable, scale: RatingScale) -> Self:
        """Take a release, on the scale of its labels; who is where is not looked at."""
        rows = UserRows(released.indptr, released.indices, released.values)
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
            If no row has a label.
        """
        if not rows.indices.size:
            raise RecveilError(
                "a table without labels teaches nothing; expected at least one",
                code="table.no-ratings",
            )
        digests = np.frombuffer(b"".join(_digests(rows)), dtype="S16")
        filled = np.flatnonzero(np.diff(rows.indptr))
        _, first, row_of = np.unique(digests[filled], return_index=True, return_inverse=True)
        people = np.bincount(row_of, weights=sizes[filled]).astype(np.int64)
        return cls(rows.take(filled[first]), people, n_items, int(sizes.sum()), scale)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """People behind each label, shape (n_labels,)."""
        return np.repeat(self.sizes, np.diff(self.rows.indptr)).astype(np.float64)

    @cached_property
    def support(self) -> NDArray[np.float64]:
        """People who carry each item, shape (n_items,)."""
        people = np.bincount(self.rows.indices, weights=self.weights, minlength=self.n_items)
        return people.astype(np.float64)

    @cached_property
    def overall_mean(self) -> float:
        """Mean label over people and items."""
        return float(np.average(self.rows.values, weights=self.weights))

    def item_means(self, damping: float = 0.0) -> NDArray[np.float64]:
        """Return each item's mean label over people, shape (n_items,).

        Parameters
        ----------
        damping : float
            The mean is taken as if so many people more had given the overall mean, which is also
            the mean of an item that nobody carries.
        """
        weighted = self.weights * self.rows.values
        sums = np.bincount(self.rows.indices, weights=weighted, minlength=self.n_items)
        people = self.support + damping
        means = np.full(self.n_items, self.overall_mean)
        return np.divide(sums + damping * means, people, out=means, where=people > 0)

    @property
    def is_full(self) -> bool:
        """Whether most rows carry most of the items that anybody carries.

        Then it hardly says what people choose, and no hold-out of it tells good lists from bad.
        """
        carried = np.count_nonzero(self.support)
        return bool(self.rows.indices.size > _FULL * self.rows.n_users * carried)

    def where(self, kept: NDArray[np.bool_]) -> "TrainingTable":
        """Return the same rows with only the marked labels."""
        rows = self.rows.where(kept)
        return TrainingTable(rows, self.sizes, self.n_items, self.n_people, self.scale)


@brief
class InnerSplit(NamedTuple):
    """Some rows of a table that the others must predict, to choose by.

    Attributes
    ----------
    table : TrainingTable
        The rows to learn from.
    known : UserRows
        The other rows, without what is held out of them: the people to be served.
    held_out : HeldOut
        Cells of these other rows.
    """

    table: TrainingTable
    known: UserRows
    held_out: HeldOut


def inner_splits(table: TrainingTable, seed: int = 0) -> tuple[InnerSplit, ...]:
    """Hold out whole rows, a fifth of them at a time, and a fifth of the labels of each.

    A recipient chooses by the table alone. The ratings of the people whom they serve would not do:
    a release has seen those ratings, averaged among few, so that they would speak for what trusts
    it most. Nor would labels that are held out of rows which are learnt from: the other labels of
    the same row, which many people share, give them away, and what memorizes rows would win.

    Rows that hold the same items are held out together, as far as a table has at least five sets
    of items: where k people share a set, those who are learnt from would tell the others' items.

    A distinct row is held out whole and counts once, whoever stands behind it. A label between two
    ratings of the scale is replaced by one of them, at random and right on average: people who
    are to be served give ratings, and what trusts each digit of an average fails on them.

    Parameters
    ----------
    table : TrainingTable
    seed : int
        Draws the rows, the labels and the roundings.

    Returns
    -------
    tuple of InnerSplit
        As many as are needed to hold out every row, or 1,000 of them; of a full table, whose lists
        tell nothing, 100; of fewer than 100 rows, each several times, but no more than ten times.
        None if there are fewer than two rows.

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
    """Return about how many inner hold-outs `inner_splits` makes.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> table = TrainingTable.from_ratings(make_ratings(300, 40, 4000, seed=1))
    >>> n_inner_splits(table), len(inner_splits(table))
    (5, 5)
    """
    n = table.rows.n_users
    wanted = 0 if table.is_full else min(n, _LEAST_LISTS)
    wanted = max(min(LEAST_ROWS, _MOST_TIMES * n), wanted)
    return -(-wanted * min(PARTS, n) // n) if n > 1 else 0


def enough_for_errors(inner: Sequence[InnerSplit]) -> Sequence[InnerSplit]:
    """Return the first of some splits, which hold out 100 rows together; all if they do not.

    Errors are measured in each cell, lists once a row: for lists, all splits are needed.
    """
    rows = np.cumsum([part.known.n_users for part in inner])
    return inner[: int(np.searchsorted(rows, LEAST_ROWS)) + 1]


def _alike(rows: UserRows) -> tuple[NDArray[np.int64], int]:
    """Return the number of each row's set of items, in the order of the rows, and their count.

    Of fewer sets than parts, every row is one of its own.

    Examples
    --------
    >>> items = np.array([3, 3, 4, 5, 6, 7], np.int32)
    >>> _alike(UserRows(np.arange(7), items, np.arange(6.0)))
    (array([0, 0, 1, 2, 3, 4]), 5)
    """
    sets = np.frombuffer(b"".join(_digests(rows._replace(values=np.empty(0)))), dtype="S16")
    _, first, number = np.unique(sets, return_index=True, return_inverse=True)
    if first.size < PARTS:
        return np.arange(rows.n_users), rows.n_users
    return np.argsort(np.argsort(first))[number], first.size


def _hold_out_rows(
    table: TrainingTable, chosen: NDArray[np.bool_], rng: np.random.Generator
) -> InnerSplit:
    rows, left = table.rows.take(np.flatnonzero(chosen)), np.flatnonzero(~chosen)
    rows = rows._replace(values=_draw_ratings(rows.values, table.scale, rng))
    wanted = np.floor(_INNER_SHARE * np.diff(rows.indptr) + 0.5)
    held = lowest_in_rows(rows.indptr, rng.random(rows.indices.size), wanted)
    cells = HeldOut(rows.row_of()[held], rows.indices[held].astype(np.int64), rows.values[held])
    sizes = table.sizes[left]
    others = TrainingTable(
        table.rows.take(left), sizes, table.n_items, int(sizes.sum()), table.scale
    )
    return InnerSplit(others, rows.where(~held), cells)


def _draw_ratings(
    labels: NDArray[np.float64], scale: RatingScale, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Replace each label by the rating below or above it, the nearer one more often.

    Examples
    --------
    >>> _draw_ratings(np.array([3.0, 5.0]), RatingScale(1, 5, 1), np.random.default_rng(0))
    array([3., 5.])
    >>> drawn = _draw_ratings(np.full(1000, 2.25), RatingScale(1, 5, 1), np.random.default_rng(0))
    >>> np.unique(drawn), bool(abs(drawn.mean() - 2.25) < 0.05)
    (array([2., 3.]), True)
    """
    if scale.step is None:
        return labels
    steps = (labels - scale.low) / scale.step
    # A rating is one, whatever the last digit of its division says.
    steps = np.where(np.abs(steps - np.rint(steps)) < 1e-6, np.rint(steps), steps)
    below = np.floor(steps)
    drawn = below + (rng.random(labels.size) < steps - below)
    return np.asarray(scale.round(scale.low + scale.step * drawn), np.float64)


def _digests(rows: UserRows) -> list[bytes]:
    """Return 16 bytes for each row that depend on its items and values."""
    items, values = np.ascontiguousarray(rows.indices), np.ascontiguousarray(rows.values)
    found = []
    for row in range(rows.n_users):
        own = slice(rows.indptr[row], rows.indptr[row + 1])
        digest = hashlib.blake2b(items[own].data, digest_size=16)
        digest.update(values[own].data)
        found.append(digest.digest())
    return found
