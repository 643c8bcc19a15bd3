"""Published values that the stated settings cannot lead to: means of levels, and imputed values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import RatingScale
from recveil.ratings.rating_scale import distinct
from recveil.release.manifest import MANIFEST, Manifest
from recveil.verification.equivalence_classes import Classes
from recveil.verification.results import Violation

# Means of more ratings can be nearly any number.
MOST_USERS = 19
# Ratings are this close to levels, in steps of the scale, and single precision moves them.
_TOLERANCE, _ROUNDING = 1e-3, float(np.finfo(np.float32).eps)


def possible_counts(
    values: NDArray[np.float64], scale: RatingScale, grid: float | None
) -> NDArray[np.bool_]:
    """Return whether each value can be the rounded mean of 1 to 19 levels of the scale.

    >>> possible = possible_counts(np.array([3.0, 2.5, 3.3, 4.1]), RatingScale(1, 5, 1), 0.1)
    >>> possible[:, :4]
    array([[ True,  True,  True,  True],
           [False,  True, False,  True],
           [False, False,  True,  True],
           [False, False, False, False]])
    """
    numbers = np.arange(1, MOST_USERS + 1)
    step = scale.step
    if step is None:
        return np.ones((values.size, numbers.size), np.bool_)
    levels = distinct(values)
    steps = (levels - scale.low) / step
    ends = max(abs(scale.low), abs(scale.high)) / step
    slack = (grid or 0.0) / step / 2 + _TOLERANCE + _ROUNDING * ends
    sums = np.multiply.outer(steps, numbers)
    possible = np.abs(sums - np.rint(sums)) <= slack * numbers
    return np.asarray(possible[np.searchsorted(levels, values)])


class MeansOfLevels:
    """The numbers of levels that the values of each class can average, collected block by block.

    Values of simple rows are means of their raters' ratings: one or more, up to all users of a
    class. Values of groups that k-coRating averages are means of one level of each user, if fills
    are levels, too.
    """

    def __init__(self, manifest: Manifest) -> None:
        settings, claim = manifest.settings, manifest.claim
        # Diversity adds predictions to simple rows.
        self._is_simple = settings.get("homogenize") == "simple" and claim.l == 1
        has_levels = settings.get("round_fills") is True or settings.get("fill") == "random"
        self._applies = self._is_simple or (settings.get("protect") == "mean" and has_levels)
        self._scale, self._grid = manifest.scale, manifest.value_grid
        self._possible: dict[bytes, int] = {}

    def of_records(self, indptr: NDArray[np.int64], values: NDArray[np.float64]) -> list[int]:
        """Return the possible numbers of users of each record, as bits; the lowest is one user.

        Records are compressed rows of one value or more.
        """
        if not (self._applies and values.size):
            return [(1 << MOST_USERS) - 1] * (indptr.size - 1)
        possible = possible_counts(values, self._scale, self._grid)
        if self._is_simple:  # fewer of the users may have rated the item
            possible = np.logical_or.accumulate(possible, axis=1)
        of_rows = np.logical_and.reduceat(possible, indptr[:-1])
        bits: list[int] = (of_rows @ (1 << np.arange(MOST_USERS))).tolist()
        return bits

    def add(
        self, digests: Sequence[bytes], indptr: NDArray[np.int64], values: NDArray[np.float64]
    ) -> None:
        """Add records of these classes, block by block."""
        if self._applies:
            self._possible.update(zip(digests, self.of_records(indptr, values), strict=True))

    def violations(self, classes: Classes) -> Iterator[Violation]:
        """Report the first class whose values are no means of as many levels as it has users."""
        for digest, possible in self._possible.items():
            n_users = classes.user_counts[digest]
            if 0 < n_users <= MOST_USERS and not possible >> (n_users - 1) & 1:
                yield self.violation(n_users)
                return

    def violation(self, n_users: int) -> Violation:
        """Return the violation of a row of so many users."""
        what = (
            "homogenize is simple, so that values are means of users' ratings"
            if self._is_simple
            else "protect is mean, so that values are means of one level for each user"
        )
        return Violation.of_file(
            MANIFEST,
            f"settings: {what}, but a row of {n_users:,} users has a value that is none of so many",
        )


# Fills are computed in single precision, in which ends of the scale have this relative error.
_FILL_ROUNDING = 4 * float(np.finfo(np.float32).eps)


class ImputedValues:
    """Unrounded fills that are no levels of the scale, collected block by block.

    Ratings are levels, so whatever is none is a fill. A random one is a level but for single
    precision. By item means, all fills of an item are equal: the mean of its ratings, and thus of
    its ratings and fills together.
    """

    def __init__(self, manifest: Manifest) -> None:
        settings, scale = manifest.settings, manifest.scale
        self._fill = settings.get("fill")
        self._applies = (
            settings.get("round_fills") is False
            and settings.get("protect") in ("none", "shuffle")
            and self._fill in ("random", "item-mean")
            and scale.step is not None
        )
        self._scale = scale
        self._slack = _FILL_ROUNDING * max(abs(scale.low), abs(scale.high))
        self._is_off = False  # a random one
        # By number of the item
        self._counts, self._sums = np.zeros(0), np.zeros(0)
        self._lowest, self._highest = np.zeros(0), np.zeros(0)

    def add(self, items: NDArray[np.int32], values: NDArray[np.float64]) -> None:
        """Add values and the numbers of their items, the same in all blocks."""
        if not self._applies:
            return
        is_fill = np.abs(self._scale.round(values) - values) > self._slack
        if self._fill == "random":
            self._is_off |= bool(is_fill.any())
            return
        fills = items[is_fill], values[is_fill]
        self._add_up(items, np.ones(items.size), values, fills, fills)

    def _add_up(
        self,
        items: NDArray[Any],
        counts: NDArray[Any],
        sums: NDArray[Any],
        lowest: tuple[NDArray[Any], NDArray[Any]],
        highest: tuple[NDArray[Any], NDArray[Any]],
    ) -> None:
        more = max(0, int(items.max(initial=-1)) + 1 - self._counts.size)
        self._counts, self._sums = np.pad(self._counts, (0, more)), np.pad(self._sums, (0, more))
        self._lowest = np.pad(self._lowest, (0, more), constant_values=np.inf)
        self._highest = np.pad(self._highest, (0, more), constant_values=-np.inf)
        n_items = self._counts.size
        self._counts += np.bincount(items, counts, n_items)
        self._sums += np.bincount(items, sums, n_items)
        np.minimum.at(self._lowest, *lowest)
        np.maximum.at(self._highest, *highest)

    def to_dict(self) -> dict[str, Any]:
        """Return what was collected from a part of the values."""
        arrays = (self._counts, self._sums, self._lowest, self._highest)
        return {"is_off": self._is_off, "by_item": [array.tolist() for array in arrays]}

    def merge(self, part: Mapping[str, Any], numbers: NDArray[np.int64]) -> None:
        """Add a part's `to_dict`, of which `numbers` has the number of each item here."""
        self._is_off |= part["is_off"]
        counts, sums, lowest, highest = map(np.array, part["by_item"])
        items = numbers[: counts.size]
        self._add_up(items, counts, sums, (items, lowest), (items, highest))

    def violations(self) -> Iterator[Violation]:
        """Report that the values are not those of the stated fill."""
        problem = ""
        if self._is_off:
            problem = "fill is random, so that all values are levels of the scale, but some are not"
        has_fills = self._lowest <= self._highest
        low, high = self._lowest[has_fills], self._highest[has_fills]
        means = self._sums[has_fills] / self._counts[has_fills]
        if (low != high).any() or (np.abs(low - means) > self._slack).any():
            problem = (
                "fill is item-mean, so that a value that is no level of the scale is the mean of "
                "its item, but there are others"
            )
        if problem:
            yield Violation.of_file(MANIFEST, f"settings: {problem}")
