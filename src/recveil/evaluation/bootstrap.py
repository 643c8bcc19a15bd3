"""Bootstrap intervals over users, and the rules for reporting a figure."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Minimum number of users for a bootstrap: over a single user, it has no width.
FEWEST_JUDGED = 20
# The usual reason for not reporting a share.
TOO_SMALL = "it is too small to tell"
# A share with an interval wider than from averages to raw is not reported.
_WIDEST = 1.0
# Differences below this share of a figure come from the order of summing.
_NOISE = 1e-9


class Measured(NamedTuple):
    """A figure with its 95 % interval over users.

    Attributes
    ----------
    value, low, high : float
        nan where nothing can be measured.
    n_people : int
        Number of evaluated users; for lists, of users with a relevant held-out item.
    """

    value: float
    low: float
    high: float
    n_people: int = 0

    @property
    def is_told(self) -> bool:
        """Whether a share of it means anything; see `why_not_told`.

        Examples
        --------
        >>> Measured(0.03, 0.02, 0.04, 99).is_told, Measured(0.03, 0.01, 0.05, 99).is_told
        (True, False)
        >>> Measured(0.03, 0.02, 0.04, 19).is_told, Measured(np.nan, np.nan, np.nan).is_told
        (False, False)
        """
        return not self.why_not_told

    @property
    def why_not_told(self) -> str:
        """Why a share of the figure is meaningless; empty if it is meaningful.

        At least `FEWEST_JUDGED` users are required, and the interval must have a width, be above 0,
        and be at most as wide as the figure: otherwise the choice of users alone could double or
        halve a share.

        Examples
        --------
        >>> Measured(1.0, 1.0, 1.0, 50).why_not_told
        'nothing could be told apart: it is 1.0000 whoever is judged'
        >>> Measured(0.3, 0.3, 0.3, 1).why_not_told
        'only 1 of the 20 people that it takes could be judged'
        """
        if self.n_people < FEWEST_JUDGED:
            return (
                f"only {self.n_people} of the {FEWEST_JUDGED} people that it takes could be judged"
            )
        if self.low == self.high:
            return f"nothing could be told apart: it is {self.value:.4f} whoever is judged"
        if self.low > 0 and self.high - self.low <= self.value:
            return ""
        return TOO_SMALL


def is_share_reported(value: float | None, low: float | None, high: float | None) -> bool:
    """Return whether a share of a reported figure is precise enough to report.

    Its interval, as measured, must not be wider than 100 points, the distance from averages to raw.
    A zero-width interval counts as none, unless all is exactly as with raw.

    Parameters
    ----------
    value, low, high : float or None
        Not cut off at 1. Without an interval, only the value is checked.

    Examples
    --------
    >>> [is_share_reported(*of) for of in ((0.9, 0.7, 1.2), (1.33, 0.02, 2.66), (0.5, 0.5, 0.5))]
    [True, False, False]
    >>> is_share_reported(1.0, 1.0, 1.0), is_share_reported(None, None, None)
    (True, False)
    """
    if value is None or np.isnan(value):
        return False
    if low is None or high is None:
        return True
    return bool(high - low <= _WIDEST and (low < high or value == 1))


def resample(columns: NDArray[np.float64], seed: int, draws: int) -> NDArray[np.float64]:
    """Return the columns' sums over resampled users, shape (draws, n_columns).

    Examples
    --------
    >>> resample(np.ones((3, 1)), seed=0, draws=2).tolist()
    [[3.0], [3.0]]
    """
    rng, n = np.random.default_rng(seed), len(columns)
    return np.array(
        [np.bincount(rng.integers(n, size=n), minlength=n) @ columns for _ in range(draws)]
    )


def measured_by(value: float, drawn: NDArray[np.float64], n_people: int) -> Measured:
    """Return a figure with the interval of what it would be, had others been judged.

    Examples
    --------
    >>> measured_by(0.5, np.array([0.4, 0.6]), 99)
    Measured(value=0.5, low=0.4, high=0.6, n_people=99)
    """
    low = float(np.quantile(drawn, 0.025, method="lower"))
    high = float(np.quantile(drawn, 0.975, method="higher"))
    low, high = _around(value, low, high)
    return Measured(value, low, high, n_people)


def share_interval(
    value: float, part: NDArray[np.float64], whole: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the interval of a share, by a part and a whole that were drawn together.

    nan where a draw has no whole, so that a share of it means nothing.

    Examples
    --------
    >>> share_interval(0.5, np.array([1.0, 3.0]), np.array([2.0, 4.0]))
    (0.5, 0.75)
    """
    # A draw without a gain says nothing, which counts against both ends.
    shares = np.divide(part, whole, out=np.full(part.size, np.nan), where=whole > 0)
    low = np.quantile(np.where(whole > 0, shares, -np.inf), 0.025, method="lower")
    high = np.quantile(np.where(whole > 0, shares, np.inf), 0.975, method="higher")
    if not np.isfinite([low, high]).all():
        return np.nan, np.nan
    return _around(value, float(low), float(high))


def _around(value: float, low: float, high: float) -> tuple[float, float]:
    """Return an interval that holds the value; without width if only the order of sums made one."""
    low, high = min(low, value), max(high, value)
    return (value, value) if high - low <= _NOISE * abs(value) else (low, high)
