"""Statistics of an attack: rates with their trials and intervals, as pure functions."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from recveil.errors import RecveilError


class Interval(NamedTuple):
    """A share with its 95 % (or other) confidence interval.

    Attributes
    ----------
    rate, low, high : float
        Between 0 and 1.
    trials : int
        How many targets were asked for; nan rates come with 0 trials.
    """

    rate: float
    low: float
    high: float
    trials: int


def wilson_interval(successes: float, trials: int, confidence: float = 0.95) -> Interval:
    """Return a share with its Wilson score interval.

    Parameters
    ----------
    successes : float
        Expected number of successes; ending on a group of s people counts 1/s.
    trials : int
        Number of targets that were asked for, skipped ones included.
    confidence : float
        Between 0 and 1.

    Raises
    ------
    RecveilError
        If successes are negative or more than trials.

    Notes
    -----
    Source: Wilson 1927. Unlike the textbook's interval it is right at 0 and at 1, where attacks
    tend to end. Fractional successes have less variance than whole ones, so for them it is wider
    than need be.

    Examples
    --------
    >>> interval = wilson_interval(8, 10)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.4902, 0.9433)
    """
    if not 0 <= successes <= trials * (1 + 1e-12):
        raise RecveilError(
            f"{successes:g} successes of {trials} trials: expected from 0 to {trials}"
        )
    if trials == 0:
        return Interval(math.nan, 0.0, 1.0, 0)
    z = float(stats.norm.ppf((1 + confidence) / 2))
    rate = successes / trials
    centre = (rate + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    # At the ends the bounds are exact, but rounding can move them by a bit.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes >= trials else min(1.0, centre + half)
    return Interval(rate, low, high, trials)


class Mean(NamedTuple):
    """A mean with its confidence interval.

    Attributes
    ----------
    mean, low, high : float
    trials : int
    """

    mean: float
    low: float
    high: float
    trials: int


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Mean:
    """Return a mean with its normal interval; nan for no values.

    Examples
    --------
    >>> mean = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> mean.mean, round(mean.high - mean.mean, 3)
    (3.0, 1.386)
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 0:
        return Mean(math.nan, math.nan, math.nan, 0)
    mean = float(numbers.mean())
    if numbers.size == 1:
        return Mean(mean, -math.inf, math.inf, 1)
    z = float(stats.norm.ppf((1 + confidence) / 2))
    half = z * float(numbers.std(ddof=1)) / math.sqrt(numbers.size)
    return Mean(mean, mean - half, mean + half, numbers.size)


def area_under_curve(members: ArrayLike, others: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return how often a member's score beats an outsider's (AUC), with DeLong's interval.

    Parameters
    ----------
    members, others : array-like of float
        Scores of people in the data and of people who are not. Equal scores count one half.

    Returns
    -------
    Interval
        0.5 means that the score tells nothing; `trials` counts both sorts of people.

    Notes
    -----
    Source: DeLong, DeLong, Clarke-Pearson 1988.

    Examples
    --------
    >>> area_under_curve([3, 4, 5], [1, 2, 3.5]).rate
    0.8888888888888888
    """
    inside = np.asarray(members, dtype=np.float64)
    outside = np.asarray(others, dtype=np.float64)
    if not (inside.size and outside.size):
        return Interval(math.nan, 0.0, 1.0, inside.size + outside.size)
    beats_outside, beaten_by_inside = _placements(inside, outside), 1 - _placements(outside, inside)
    area = float(beats_outside.mean())
    variance = _variance(beats_outside) / inside.size + _variance(beaten_by_inside) / outside.size
    half = float(stats.norm.ppf((1 + confidence) / 2)) * math.sqrt(variance)
    return Interval(area, max(0.0, area - half), min(1.0, area + half), inside.size + outside.size)


def _placements(scores: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the others that each score beats, equal ones counting one half."""
    order = np.sort(others)
    below = np.searchsorted(order, scores, "left")
    not_above = np.searchsorted(order, scores, "right")
    return (below + not_above) / (2 * others.size)


def _variance(values: NDArray[np.float64]) -> float:
    return float(values.var(ddof=1)) if values.size > 1 else 0.25
