"""Rates, means and AUC of attacks, with confidence intervals."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

# Fewest members and nonmembers for membership inference: of fewer, 5% is not one user.
FEWEST = 20


class Interval(NamedTuple):
    """A share with its 95% (or other) confidence interval.

    Attributes
    ----------
    rate, low, high : float
        Between 0 and 1.
    trials : int
        Number of targets requested; 0 where the rate is nan.
    """

    rate: float
    low: float
    high: float
    trials: int

    @property
    def ranked(self) -> float:
        """The rate for comparisons; -1 if it is nan, so that a measured rate ranks higher."""
        return -1.0 if math.isnan(self.rate) else self.rate


def wilson_interval(successes: float, trials: int, confidence: float = 0.95) -> Interval:
    """Return a share with its Wilson score interval.

    Parameters
    ----------
    successes : float
        Expected number of successes; a target narrowed down to a group of s users counts 1/s.
    trials : int
        Number of targets requested, including skipped ones.
    confidence : float
        Between 0 and 1.

    Raises
    ------
    RecveilError
        If successes are negative or more than trials.

    Notes
    -----
    Source: Wilson 1927. Unlike the normal interval, it is valid at 0 and 1, where attacks often
    end. For fractional successes, which have less variance, it is conservative.

    Examples
    --------
    >>> interval = wilson_interval(8, 10)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.4902, 0.9433)
    """
    if not 0 <= successes <= trials * (1 + 1e-12):
        raise RecveilError(
            f"{successes:g} successes of {trials} trials: expected from 0 to {trials}",
            code="argument.value",
        )
    if trials == 0:
        return Interval(math.nan, 0.0, 1.0, 0)
    z = float(stats.norm.ppf((1 + confidence) / 2))
    rate = min(1.0, successes / trials)
    centre = (rate + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    # At 0 and 1 the bounds are exact, but rounding can move them beyond the rate.
    low, high = max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half))
    return Interval(rate, low, high, trials)


def ratio_interval(rights: ArrayLike, trials: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return a share over clustered trials, such as all of one user; `trials` counts clusters.

    A ratio of totals with the linearized variance (Cochran 1977, section 6.4), but never narrower
    than Wilson's interval for as many trials, since clusters may agree by chance.
    """
    right, total = (np.asarray(numbers, np.float64) for numbers in (rights, trials))
    if not total.sum() > 0:
        return Interval(math.nan, 0.0, 1.0, 0)
    rate = float(right.sum() / total.sum())
    plain = wilson_interval(float(right.sum()), round(total.sum()), confidence)
    n = total.size
    squares = float(((right - rate * total) ** 2).sum()) * n / max(n - 1, 1)
    half = float(stats.norm.ppf((1 + confidence) / 2)) * math.sqrt(squares) / float(total.sum())
    low, high = max(0.0, min(plain.low, rate - half)), min(1.0, max(plain.high, rate + half))
    return Interval(rate, low, high, n)


def true_positive_rate(
    scores: NDArray[np.float64],
    inside: NDArray[np.bool_],
    mistaken: float,
    confidence: float = 0.95,
) -> Interval:
    """Return members above all but the share `mistaken` of nonmembers, clustered by row.

    The threshold is estimated, too: its interval is added in quadrature (Zou & Donner 2008).

    >>> scores = np.array([[1.0], [30.0], *[[float(n)] for n in range(20)]])
    >>> true_positive_rate(scores, np.arange(22)[:, None] < 2, 0.05).rate  # one of 20 is above 18
    0.5
    """
    others = np.sort(scores[~inside])

    def above(share: float, of: NDArray[np.bool_]) -> Interval:
        n_above = min(max(int(share * others.size), 0), others.size - 1)
        able = of.sum(axis=1) > 0
        is_above = (scores > others[-1 - n_above]) & of
        return ratio_interval(is_above.sum(axis=1)[able], of.sum(axis=1)[able], confidence)

    if not (others.size and inside.any()):
        return ratio_interval([], [])
    found, false = above(mistaken, inside), above(mistaken, ~inside)
    low, high = (above(mistaken + end - false.rate, inside).rate for end in false[1:3])
    rate = found.rate
    return Interval(
        *(rate, max(0.0, rate - math.hypot(rate - found.low, rate - low))),
        *(min(1.0, rate + math.hypot(found.high - rate, high - rate)), found.trials),
    )


def wide_at_ends(rate: float, half: float, trials: int, n_clusters: int) -> Interval:
    """Return a rate with a half-width; without variance at 0 or 1, with Wilson's ends for clusters.

    >>> wide_at_ends(0.0, 0.0, 13, 4).high == wilson_interval(0, 4).high
    True
    """
    if half == 0 and rate in (0, 1):
        return wilson_interval(rate * n_clusters, n_clusters)._replace(trials=trials)
    return Interval(rate, max(0.0, rate - half), min(1.0, rate + half), trials)


@brief
class Quarters(NamedTuple):
    """Users (or items) divided at quartiles; equal values are in the same quarter.

    Attributes
    ----------
    names : tuple of str
    highest : tuple of float or None
        The highest value of each quarter; None for the last one.
    codes : ndarray of int64
    """

    names: tuple[str, ...]
    highest: tuple[float | None, ...]
    codes: NDArray[np.int64]


def quarters(
    values: NDArray[np.float64], first: str = "newcomers", last: str = "heavy users"
) -> Quarters:
    """Divide at the quartiles, by default users by their number of ratings.

    >>> found = quarters(np.array([1.0, 2.0, 2.0, 9.0, 5.0]))
    >>> found.names, found.highest, found.codes
    (('newcomers', 'middle', 'heavy users'), (2.0, 5.0, None), array([0, 0, 0, 2, 1]))
    """
    cuts = np.unique(np.quantile(values, (0.25, 0.5, 0.75), method="lower"))
    cuts = cuts[cuts < values.max()]
    middle = (
        ("second quarter", "third quarter") if cuts.size == 3 else ("middle",) * (cuts.size - 1)
    )
    names = (first, *middle, last) if cuts.size else ("all users",)
    codes = np.searchsorted(cuts, values).astype(np.int64)
    return Quarters(names, (*cuts.tolist(), None), codes)


class GroupRate(NamedTuple):
    """A figure of one group of users.

    Attributes
    ----------
    name : str
    highest : float or None
        The highest number of ratings of a user in the group; None for the last one.
    figure : Interval
    control : Interval or None
    """

    name: str
    highest: float | None
    figure: Interval
    control: Interval | None = None


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


def share_interval(values: ArrayLike) -> Mean:
    """Return a mean of shares within 0 and 1; if all are 0, or all 1, with Wilson's ends."""
    mean = mean_interval(values)
    if mean.low == mean.high and mean.mean in (0, 1):
        return Mean(*wilson_interval(mean.mean * mean.trials, mean.trials))
    if not mean.trials:
        return mean
    return mean._replace(low=max(0.0, mean.low), high=min(1.0, mean.high))


def difference_of_means(first: Mean, second: Mean) -> Mean:
    """Return the difference of the means of two sets of users; `trials` counts both."""
    halves = (max(each.high - each.mean, each.mean - each.low) for each in (first, second))
    half = math.hypot(*halves)
    apart = first.mean - second.mean
    return Mean(apart, apart - half, apart + half, first.trials + second.trials)


def area_under_curve(members: ArrayLike, others: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return how often a member's score beats a nonmember's (AUC), with DeLong's interval.

    Parameters
    ----------
    members, others : array-like of float
        Scores of users in the data and of users outside. Ties count one half.

    Returns
    -------
    Interval
        0.5 means that the score reveals nothing; `trials` counts members and nonmembers.

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
    fewest = min(inside.size, outside.size)
    return wide_at_ends(area, half, inside.size + outside.size, fewest)


def _placements(scores: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the others that each score beats, ties counting one half."""
    order = np.sort(others)
    below = np.searchsorted(order, scores, "left")
    not_above = np.searchsorted(order, scores, "right")
    return (below + not_above) / (2 * others.size)


def _variance(values: NDArray[np.float64]) -> float:
    return float(values.var(ddof=1)) if values.size > 1 else 0.25
