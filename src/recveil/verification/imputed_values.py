"""Values of k-coRating that its stated fill does not lead to."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from recveil.release.manifest import MANIFEST, Manifest
from recveil.verification.results import Violation

# Fills are computed in single precision, in which ends of the scale have this relative error.
_ROUNDING = 4 * float(np.finfo(np.float32).eps)


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
        self._slack = _ROUNDING * max(abs(scale.low), abs(scale.high))
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
        more = max(0, int(items.max(initial=-1)) + 1 - self._counts.size)
        self._counts, self._sums = np.pad(self._counts, (0, more)), np.pad(self._sums, (0, more))
        self._lowest = np.pad(self._lowest, (0, more), constant_values=np.inf)
        self._highest = np.pad(self._highest, (0, more), constant_values=-np.inf)
        n_items = self._counts.size
        self._counts += np.bincount(items, minlength=n_items)
        self._sums += np.bincount(items, values, n_items)
        np.minimum.at(self._lowest, items[is_fill], values[is_fill])
        np.maximum.at(self._highest, items[is_fill], values[is_fill])

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
