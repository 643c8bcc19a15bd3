"""ItemSide: what a table tells of its items without their names, to recognize them elsewhere."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.attack.released import ReleasedTable
from recveil.blas import one_thread
from recveil.brief import brief
from recveil.ratings import Ratings, RatingScale

# Of more rows so many are looked at, drawn at random; of more items, those with the most labels.
_MOST_ROWS, _MOST_ITEMS = 20_000, 3_000
# In full rows, labels count as ratings that lie further from a fit of so many factors than three
# times the median distance: predictions are smooth, and ratings are not.
_FACTORS, _OUTLYING = 10, 3.0
# A table is called full if so many of its cells have labels.
_FULL = 0.95


@brief
@dataclass(frozen=True, eq=False)
class ItemSide:
    """Items, each by numbers that do not need its name.

    Parameters
    ----------
    items : ndarray of int64, shape (n_kept,)
        Positions in the table of those that are described: at most 3,000, those with most labels.
    counts : ndarray of float64, shape (n_kept,)
        Users whose rows hold it. In full rows, which all hold every item, the rows whose label lies
        far from a smooth fit: a rating causes that.
    n_rows : int
    n_counted : float
        What `counts` are out of: users, or full rows.
    means, spreads : ndarray of float64, shape (n_kept,)
        Of the labels, in quarters of the scale: mean, and standard deviation about the mean of
        their row.
    together : ndarray of float32, shape (n_kept, n_kept), or None
        Whether the same rows hold both, beyond chance: a correlation. None for full rows.
    alike : ndarray of float32, shape (n_kept, n_kept)
        Whether rows that label one high label the other high, too: a correlation.
    n_left_out : int
        Items that are not described.
    of_rows : int
        Rows that the table has; of more than 20,000, so many are drawn at random.
    """

    items: NDArray[np.int64]
    counts: NDArray[np.float64]
    n_rows: int
    n_counted: float
    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    together: NDArray[np.float32] | None
    alike: NDArray[np.float32]
    n_left_out: int = 0
    of_rows: int = 0

    @classmethod
    def of_ratings(cls, ratings: Ratings, seed: int = 0) -> "ItemSide":
        """Describe the items of raw ratings.

        Examples
        --------
        >>> side = ItemSide.of_ratings(Ratings.from_columns([1, 1, 2], [7, 9, 7], [4, 2, 5]))
        >>> side.counts, side.n_rows
        (array([2., 1.]), 2)
        """
        people = np.ones(ratings.n_users)
        rows = ratings.indptr, ratings.indices, ratings.values
        return _describe(*rows, people, ratings.n_items, ratings.scale, seed)

    @classmethod
    def of_release(cls, table: ReleasedTable, scale: RatingScale, seed: int = 0) -> "ItemSide":
        """Describe the items of a release; a row counts as often as people stand behind it."""
        people = table.candidates.sizes.astype(np.float64)
        n_items = table.candidates.indptr.size - 1
        rows = table.indptr, table.indices, table.values
        return _describe(*rows, people, n_items, scale, seed)

    @property
    def is_full(self) -> bool:
        """Whether the rows hold nearly all items, so that holding one tells nothing."""
        return self.together is None

    def top(self, n_items: int) -> "ItemSide":
        """Return the description of the items with the highest counts.

        Examples
        --------
        >>> side = ItemSide.of_ratings(Ratings.from_columns([1, 1, 2], [7, 9, 7], [4, 2, 5]))
        >>> side.top(1).items
        array([0])
        """
        if n_items >= self.items.size:
            return self
        kept = np.sort(np.argsort(-self.counts, kind="stable")[:n_items])
        pairs = np.ix_(kept, kept)
        return replace(
            self,
            items=self.items[kept],
            counts=self.counts[kept],
            means=self.means[kept],
            spreads=self.spreads[kept],
            together=None if self.together is None else self.together[pairs],
            alike=self.alike[pairs],
            n_left_out=self.n_left_out + self.items.size - n_items,
        )

    def _facts(self) -> dict[str, object]:
        return {"items": self.items.size, "rows": self.n_rows}


def _describe(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    people: NDArray[np.float64],
    n_items: int,
    scale: RatingScale,
    seed: int,
) -> ItemSide:
    support = np.bincount(indices, minlength=n_items)
    n_told = int((support > 0).sum())
    kept = np.sort(np.argsort(-support, kind="stable")[: min(n_told, _MOST_ITEMS)])
    rows = _some_rows(people.size, seed)
    labels, held = _dense(
        indptr, indices, (values - scale.low) / (scale.range / 4 or 1.0), rows, kept
    )
    shares = np.sqrt(people[rows] / people[rows].sum()).astype(np.float32)[:, None]
    weights = people[rows, None].astype(np.float32)
    counts, n_counted = (weights * held).sum(0), float(people[rows].sum())
    means = (weights * labels).sum(0) / np.maximum((weights * held).sum(0), 1e-9)
    off = (labels - means) * held
    centred = off - held * _mean_of_rows(off, held)
    spreads = np.sqrt((weights * centred**2).sum(0) / np.maximum((weights * held).sum(0), 1e-9))
    is_full = bool(held.mean() > _FULL)
    with one_thread():  # the last bit of a sum can change which item is whose
        if is_full:
            counts, n_counted = _outlying(off), float(rows.size)
        alike = _correlation(centred * shares)
        together = None if is_full else _correlation(_beyond_chance(held) * shares)
    return ItemSide(
        items=kept,
        counts=counts.astype(np.float64),
        n_rows=rows.size,
        n_counted=n_counted,
        means=means.astype(np.float64),
        spreads=spreads.astype(np.float64),
        together=together,
        alike=alike,
        n_left_out=n_told - kept.size,
        of_rows=people.size,
    )


def _some_rows(n_rows: int, seed: int) -> NDArray[np.int64]:
    if n_rows <= _MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, _MOST_ROWS, replace=False))


def _dense(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    rows: NDArray[np.int64],
    kept: NDArray[np.int64],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the labels of some rows and items, and where there are any; shape (rows, items)."""
    column_of = np.full(int(max(indices.max(initial=0), kept.max(initial=0))) + 1, -1)
    column_of[kept] = np.arange(kept.size)
    labels = np.zeros((rows.size, kept.size), np.float32)
    held = np.zeros_like(labels)
    for at, row in enumerate(rows.tolist()):
        own = slice(indptr[row], indptr[row + 1])
        columns = column_of[indices[own]]
        is_kept = columns >= 0
        labels[at, columns[is_kept]] = values[own][is_kept]
        held[at, columns[is_kept]] = 1
    return labels, held


def _mean_of_rows(off: NDArray[np.float32], held: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return by how much each row lies above the items' means, shape (n_rows, 1)."""
    mean = off.sum(1) / np.maximum(held.sum(1), 1)
    return np.asarray(mean[:, None], np.float32)


def _beyond_chance(held: NDArray[np.float32]) -> NDArray[np.float32]:
    """Take from what rows hold what long rows and popular items lead to by chance."""
    share, length = held.mean(0), held.sum(1)
    chance = np.minimum(length[:, None] / max(float(length.mean()), 1e-9) * share, 1)
    return np.asarray(held - chance, np.float32)


def _correlation(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of each pair of columns; 0 for a column with itself and for empty ones."""
    lengths = np.linalg.norm(columns, axis=0)
    unit = np.divide(columns, lengths, out=np.zeros_like(columns), where=lengths > 1e-6)
    found = unit.T @ unit
    np.fill_diagonal(found, 0)
    return np.asarray(found, np.float32)


def _outlying(off: NDArray[np.float32]) -> NDArray[np.float64]:
    """Count for each item of full rows the labels that lie far from a smooth fit."""
    left, strengths, right = np.linalg.svd(off, full_matrices=False)
    # With few rows, so many factors would leave nothing over.
    factors = min(_FACTORS, strengths.size // 4)
    residuals = np.abs(off - (left[:, :factors] * strengths[:factors]) @ right[:factors])
    return np.asarray((residuals > _OUTLYING * np.median(residuals)).sum(0), np.float64)
