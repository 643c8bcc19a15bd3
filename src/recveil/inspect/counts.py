"""Counts: how many ratings people gave, or items got, as quantiles and as steps of a drawing."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief

_FIRST_DIGITS = (1, 2, 5)
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


class Step(NamedTuple):
    """Those who have between two numbers of ratings.

    Attributes
    ----------
    low, high : int
        Both ends belong to it.
    n : int
        How many people, or items.
    """

    low: int
    high: int
    n: int


@brief
class Spread(NamedTuple):
    """How ratings are spread over people, or over items.

    Attributes
    ----------
    least, quarter, median, three_quarters, most : float
        Of the numbers of ratings: so many have this or fewer.
    top_tenth : float
        The share of all ratings that a tenth has, those who have most.
    gini : float
        0 if all have the same number, near 1 if one has nearly all (Gini's coefficient).
    steps : tuple of Step
        From few ratings to many, each step two or two and a half times as wide as the one before.
    """

    least: float
    quarter: float
    median: float
    three_quarters: float
    most: float
    top_tenth: float
    gini: float
    steps: tuple[Step, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {**self._asdict(), "steps": [step._asdict() for step in self.steps]}


def spread_of(counts: NDArray[np.int64]) -> Spread:
    """Say how ratings are spread.

    Parameters
    ----------
    counts : ndarray of int64, shape (n,)
        How many ratings each person gave, or each item got; at least one.

    Examples
    --------
    >>> spread = spread_of(np.array([1, 1, 3, 15]))
    >>> spread.median, spread.top_tenth, spread.gini
    (2.0, 0.75, 0.55)
    >>> [(step.low, step.high, step.n) for step in spread.steps]
    [(1, 1, 2), (2, 4, 1), (5, 9, 0), (10, 15, 1)]
    """
    in_order = np.sort(counts)
    n, total = in_order.size, max(1, int(in_order.sum()))
    places = 2 * np.arange(1, n + 1) - n - 1
    least, quarter, median, three_quarters, most = np.quantile(in_order, _QUANTILES).tolist()
    return Spread(
        least=least,
        quarter=quarter,
        median=median,
        three_quarters=three_quarters,
        most=most,
        top_tenth=float(in_order[-max(1, n // 10) :].sum() / total),
        gini=float(places @ in_order / (n * total)),
        steps=tuple(_steps(in_order)),
    )


def _steps(in_order: NDArray[np.int64]) -> list[Step]:
    """Cut at 1, 2, 5, 10, 20, 50 and so on; the first and last step end where the numbers do."""
    low, high = int(in_order[0]), int(in_order[-1])
    starts = [digit * 10**zeros for zeros in range(len(str(high))) for digit in _FIRST_DIGITS]
    starts = [low, *(start for start in starts if low < start <= high)]
    ends = [start - 1 for start in starts[1:]] + [high]
    below = np.searchsorted(in_order, [*starts, high + 1])
    return [
        Step(*each) for each in zip(starts, ends, np.diff(below).astype(int).tolist(), strict=True)
    ]
