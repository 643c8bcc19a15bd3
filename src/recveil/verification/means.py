"""How many ratings a published mean needs at least."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import RatingScale
from recveil.ratings.rating_scale import distinct
from recveil.release.manifest import MANIFEST, Manifest
from recveil.verification.equivalence_classes import Classes
from recveil.verification.results import Violation

# Means of so many ratings are not distinguished from those of more.
_MOST_RATERS = 20
# Ratings are this close to levels, in steps of the scale, and single precision moves them.
_TOLERANCE, _ROUNDING = 1e-3, float(np.finfo(np.float32).eps)


def fewest_raters(
    values: NDArray[np.float64], scale: RatingScale, grid: float | None
) -> NDArray[np.int64]:
    """Return the least number of ratings on the scale whose rounded mean each value can be.

    Examples
    --------
    >>> fewest_raters(np.array([3.0, 2.5, 3.3, 4.1]), RatingScale(1, 5, 1), 0.1)
    array([1, 2, 3, 7])
    """
    step = scale.step
    if step is None:
        return np.ones(values.size, np.int64)
    levels = distinct(values)
    steps = (levels - scale.low) / step
    ends = max(abs(scale.low), abs(scale.high)) / step
    slack = (grid or 0.0) / step / 2 + _TOLERANCE + _ROUNDING * ends
    needed = np.full(levels.size, _MOST_RATERS, np.int64)
    for n_raters in range(_MOST_RATERS - 1, 0, -1):
        needed[np.abs(steps * n_raters - np.rint(steps * n_raters)) <= slack * n_raters] = n_raters
    return needed[np.searchsorted(levels, values)]


class FewestUsers:
    """The least number of users of each class, from its values."""

    def __init__(self, manifest: Manifest) -> None:
        settings, claim = manifest.settings, manifest.claim
        # Diversity adds predictions to simple rows.
        self.applies = settings.get("homogenize") == "simple" and claim.l == 1
        self._scale, self._grid = manifest.scale, manifest.value_grid
        self._needed: dict[bytes, int] = {}

    def of_records(self, indptr: NDArray[np.int64], values: NDArray[np.float64]) -> list[int]:
        """Return how many users each record needs, in compressed rows of one value or more."""
        if not (self.applies and values.size):
            return [0] * (indptr.size - 1)
        needed = fewest_raters(values, self._scale, self._grid)
        most: list[int] = np.maximum.reduceat(needed, indptr[:-1]).tolist()
        return most

    def add(
        self, digests: Sequence[bytes], indptr: NDArray[np.int64], values: NDArray[np.float64]
    ) -> None:
        """Add records of these classes, block by block."""
        if self.applies:
            needed = self.of_records(indptr, values)
            self._needed.update(zip(digests, needed, strict=True))

    def violations(self, classes: Classes) -> Iterator[Violation]:
        """Report the first class with fewer users than its values need."""
        for digest, needed in self._needed.items():
            if (n_users := classes.user_counts[digest]) < needed:
                yield too_few_users(n_users, needed)
                return


def too_few_users(n_users: int, needed: int) -> Violation:
    """Return the violation of a row with fewer users than its values need.

    Examples
    --------
    >>> too_few_users(3, 7).where
    'release.json'
    """
    problem = (
        f"settings: homogenize is simple, so that values are means of users' ratings, but a row of "
        f"{n_users:,} users has a value that {needed:,} or more lead to"
    )
    return Violation.of_file(MANIFEST, problem)
