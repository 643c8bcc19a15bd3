"""l-diversity and t-closeness of the values that a class has of each item."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import Ratings, RatingScale
from recveil.ratings.sorted_rows import Rows
from recveil.release.manifest import Manifest
from recveil.release.method import has_few_levels
from recveil.runtime.safe_repr import brief
from recveil.verification.equivalence_classes import Classes
from recveil.verification.results import Violation

_NONE = np.zeros(0, np.int64)
# Sums of shares differ by this much, and values of a grid.
_SLACK = 1e-9


def count_levels(
    cells: NDArray[np.int64], values: NDArray[Any], scale: RatingScale, n_cells: int
) -> NDArray[np.int64]:
    """Count the values of each cell at each level of the scale, shape (n_cells, n_levels)."""
    step = scale.step or 1.0
    n_levels = round(scale.range / step) + 1
    levels = np.rint((np.asarray(values, np.float64) - scale.low) / step).astype(np.int64)
    places = cells * n_levels + np.clip(levels, 0, n_levels - 1)
    return np.bincount(places, minlength=n_cells * n_levels).reshape(n_cells, n_levels)


def distances(counts: NDArray[Any], of_table: NDArray[Any]) -> NDArray[np.float64]:
    """Return the earth mover's distance of each row of counts to that of another table.

    Levels are ordered: a whole move from the lowest to the highest is 1. Source: Li, Li and
    Venkatasubramanian 2007, section 5 (ordered distance).
    """
    one, other = (
        np.cumsum(part, axis=1) / np.maximum(part.sum(axis=1, keepdims=True), 1)
        for part in (counts, of_table)
    )
    return np.asarray(np.abs(one - other).sum(axis=1) / max(1, counts.shape[1] - 1))


@brief
class ValueLimits(NamedTuple):
    """Limits on the values that a class has of each item."""

    # At least so many distinct values
    diversity: int | None
    # At most so far from the item's values in the table
    closeness: float | None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self | None:
        """Return the limits that a release states; None without any."""
        diversity, closeness = settings.get("diversity"), settings.get("closeness")
        limits = cls(
            diversity if type(diversity) is int else None,
            closeness if type(closeness) is float else None,
        )
        return None if limits == (None, None) else limits

    def broken(
        self, counts: NDArray[Any], items: NDArray[Any], of_items: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Return which cells, of shape (n_cells, n_levels), are outside the limits.

        `of_items` counts all values of each item, shape (n_items, n_levels).
        """
        is_broken = np.zeros(len(counts), np.bool_)
        if self.diversity is not None:
            is_broken |= (counts > 0).sum(axis=1) < self.diversity
        if self.closeness is not None:
            is_broken |= distances(counts, of_items[items]) > self.closeness + _SLACK
        return is_broken

    def keep(
        self, counts: NDArray[Any], items: NDArray[Any], of_items: NDArray[Any] | None = None
    ) -> NDArray[np.bool_]:
        """Return the cells to publish; all others are suppressed.

        Without `of_items`, an item's values are those that are kept, so cells are suppressed until
        the others are within the limits.
        """
        kept = np.ones(len(counts), np.bool_)
        while True:
            table = _sums(counts[kept], items[kept], items) if of_items is None else of_items
            is_broken = kept & self.broken(counts, items, table)
            if not is_broken.any():
                return kept
            kept &= ~is_broken

    def describe(self) -> str:
        """Return the limits as text."""
        parts = {"diversity": self.diversity, "closeness": self.closeness}
        return ", ".join(f"{name} {part:g}" for name, part in parts.items() if part is not None)

    def _facts(self) -> dict[str, object]:
        return {"": self.describe()}


def _sums(counts: NDArray[Any], items: NDArray[Any], all_items: NDArray[Any]) -> NDArray[np.int64]:
    sums = np.zeros((int(all_items.max(initial=-1)) + 1, counts.shape[1]), np.int64)
    np.add.at(sums, items, counts)
    return sums


class LimitedValues:
    """Published values, collected block by block to check the limits that a release states.

    Records of k-coRating have the values themselves. Values of simple rows are means of ratings
    that are not published. A mean of ratings with l distinct levels is not near an end of the
    scale, and needs l users; all else needs the ratings (`recount`).
    """

    def __init__(self, manifest: Manifest) -> None:
        limits = ValueLimits.of(manifest.settings)
        self.limits = limits if has_few_levels(manifest.scale.to_json()) else None
        self.has_means = manifest.claim.kind != "co-rated"
        self._scale, self._grid = manifest.scale, manifest.value_grid or 0.0
        self._class_of: dict[bytes, int] = {}
        # Cells, each the number of a class and of an item, and their counts of levels
        self._cells: list[NDArray[np.int64]] = []
        self._counts: list[NDArray[np.int64]] = []
        # Of means: the lowest and the highest of each class
        self._ends: dict[bytes, tuple[float, float]] = {}

    @property
    def checked(self) -> str | None:
        """The limits that published values prove, as text: none of means."""
        return None if self.limits is None or self.has_means else self.limits.describe()

    def add(
        self,
        digests: Sequence[bytes],
        indptr: NDArray[np.int64],
        items: NDArray[np.int32],
        values: NDArray[np.float64],
    ) -> None:
        """Add records of these classes, with the numbers of their items."""
        if self.limits is None or not values.size:
            return
        if self.has_means:
            lowest = np.minimum.reduceat(values, indptr[:-1]).tolist()
            highest = np.maximum.reduceat(values, indptr[:-1]).tolist()
            self._ends.update(zip(digests, zip(lowest, highest, strict=True), strict=True))
            return
        classes = [self._class_of.setdefault(one, len(self._class_of)) for one in digests]
        cells = np.repeat(np.array(classes, np.int64), np.diff(indptr)) << 32 | items
        distinct, place = np.unique(cells, return_inverse=True)
        self._cells.append(distinct)
        self._counts.append(count_levels(place, values, self._scale, distinct.size))

    def ends(self) -> Iterator[tuple[bytes, float, float]]:
        """Yield each class with its lowest and its highest mean."""
        for digest, (lowest, highest) in self._ends.items():
            yield digest, lowest, highest

    def cells(self) -> tuple[list[bytes], NDArray[np.int64], NDArray[np.int64]]:
        """Return the class and the item of each cell, and its counts of levels."""
        cells, place = np.unique(np.concatenate(self._cells or [_NONE]), return_inverse=True)
        parts = np.concatenate(self._counts or [_NONE[:, None]])
        counts = np.zeros((cells.size, parts.shape[1]), np.int64)
        np.add.at(counts, place, parts)
        classes = list(self._class_of)
        return [classes[at] for at in (cells >> 32).tolist()], cells & 0xFFFFFFFF, counts

    def violations(self, classes: Classes, name: str) -> Iterator[Violation]:
        """Report the classes and items that are outside the limits."""
        if self.limits is None:
            return
        if self.has_means:
            n_cells = len(self._ends)
            n_broken = sum(
                not self.is_possible(lowest, highest, classes.user_counts[digest])
                for digest, lowest, highest in self.ends()
            )
        else:
            _, items, counts = self.cells()
            n_cells = items.size
            n_broken = int(self.limits.broken(counts, items, _sums(counts, items, items)).sum())
        yield from self.report(n_broken, n_cells, name)

    def report(self, n_broken: int, n_cells: int, name: str) -> Iterator[Violation]:
        """Report so many rows of groups, or items of classes, that are outside the limits."""
        if n_broken and self.limits is not None:
            what = "rows of groups" if self.has_means else "items of classes"
            problem = (
                f"{n_broken:,} of {n_cells:,} {what} have values outside {self.limits.describe()}"
            )
            yield Violation.of_file(name, problem)

    def recount(
        self,
        ratings: Ratings,
        class_of: NDArray[np.int64],
        rows: Rows,
        item_of: NDArray[np.int64],
        name: str,
    ) -> Iterator[Violation]:
        """Report published means that the ratings behind them do not have, or beyond the limits.

        `class_of` is -1 for a user without a class; `item_of` are positions in `ratings`.
        """
        if self.limits is None:
            return
        n_items = ratings.n_items
        classes = np.repeat(np.arange(rows.indptr.size - 1), np.diff(rows.indptr))
        published, order = np.unique(classes * n_items + item_of[rows.indices], return_index=True)
        of_ratings = class_of[ratings.user_positions()]
        cells = of_ratings * n_items + ratings.indices
        at = np.minimum(np.searchsorted(published, cells), max(0, published.size - 1))
        is_behind = (of_ratings >= 0) & (published.size > 0)
        is_behind[is_behind] = published[at[is_behind]] == cells[is_behind]
        values, at = ratings.values[is_behind], at[is_behind]
        counts = count_levels(at, values, self._scale, published.size)
        n_raters = counts.sum(axis=1)
        sums = np.bincount(at, values.astype(np.float64), published.size)
        means = sums / np.maximum(n_raters, 1)
        is_other = np.abs(means - rows.values[order]) > self._grid / 2 + 1e-4
        n_other = int((is_other | (n_raters == 0)).sum())
        if n_other:
            problem = f"{n_other:,} of {published.size:,} means are not those of these ratings"
            yield Violation.of_file(name, problem)
        of_items = count_levels(
            ratings.indices.astype(np.int64), ratings.values, self._scale, n_items
        )
        n_broken = int(self.limits.broken(counts, published % n_items, of_items).sum())
        if n_broken:
            problem = (
                f"{n_broken:,} of {published.size:,} means have ratings outside "
                f"{self.limits.describe()}"
            )
            yield Violation.of_file(name, problem)

    def is_possible(self, lowest: float, highest: float, n_users: int) -> bool:
        """Return whether means can be of so many distinct levels of at most so many users."""
        least = (self.limits and self.limits.diversity) or 1
        away = (self._scale.step or 0.0) * least * (least - 1) / 2 / max(1, n_users)
        away -= self._grid / 2 + _SLACK
        is_inside = lowest >= self._scale.low + away and highest <= self._scale.high - away
        return n_users >= least and is_inside
