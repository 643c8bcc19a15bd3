"""Reconstruction: how the original values are distributed, from noisy ones and the noise's law."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.anonymize.noise import LabelNoise
from recveil.brief import brief
from recveil.errors import RecveilError

# Beyond so many values, those that fall into one of so many narrow intervals count as equal.
_MOST_VALUES = 1 << 16
# The intervals between the lowest and the highest value.
_INTERVALS = 1 << 14


def reconstruct_distribution(
    noisy: ArrayLike,
    noise: LabelNoise,
    grid: ArrayLike,
    *,
    tolerance: float = 1e-7,
    max_iterations: int = 10_000,
) -> NDArray[np.float64]:
    """Estimate how the original values are distributed over a grid.

    Parameters
    ----------
    noisy : array-like of float, shape (n,)
        Original values plus independent noise, not clipped.
    noise : LabelNoise
        Anything with a `density`.
    grid : array-like of float, shape (m,)
        The values that an original can have, such as a scale's levels; for continuous originals
        the middles of small intervals.
    tolerance : float
        It ends when all shares together change by no more than this.
    max_iterations : int

    Returns
    -------
    ndarray of float64, shape (m,)
        The share of each grid value; they sum to 1.

    Raises
    ------
    RecveilError
        If there are no values, no grid, or a value that the noise cannot have made of any grid
        value.

    Notes
    -----
    Source: Agrawal & Srikant 2000, as told by Chen 2012, section 2.2.1. It begins with equal
    shares. Each round asks, by Bayes' rule, from which grid value each noisy value is likely to
    stem, and takes the mean of the answers as the next shares. Over a grid this is the EM
    algorithm: no round makes the noisy values less likely, and the shares tend to their maximum
    likelihood estimate. The paper ends after a test of goodness of fit; we go on to the end, which
    is stable for the few levels of a rating scale, and with a fine grid follows the noise.

    Of more than 65,536 values, those in one of 16,384 equal intervals count as their middle one.

    Examples
    --------
    Noise from -1 to 1: three values stem from 0, one from 1, and 0.5 can stem from either.

    >>> noise = LabelNoise("uniform", scale=1 / 3**0.5)
    >>> reconstruct_distribution([-0.5, -0.25, -0.1, 0.5, 1.5], noise, [0, 1]).round(6)
    array([0.75, 0.25])
    """
    values, grid_values = np.asarray(noisy, np.float64).ravel(), np.asarray(grid, np.float64)
    if not values.size or not grid_values.size or grid_values.ndim != 1:
        raise RecveilError(
            f"{values.size} noisy values and a grid of shape {grid_values.shape}; expected at "
            f"least one of each",
            code="argument.shape",
        )
    values, counts = _gather(values)
    likely = noise.density(values[:, None] - grid_values)
    unexplained = np.flatnonzero(~(likely.sum(axis=1) > 0))
    if unexplained.size:
        raise RecveilError(
            f"the noisy value {values[unexplained[0]]:g} cannot stem from any value of the grid "
            f"({grid_values.min():g} to {grid_values.max():g}) with noise of standard deviation "
            f"{noise.scale:g}; give the noise that was added, and values that were not clipped",
            code="argument.value",
        )
    shares = np.full(grid_values.size, 1 / grid_values.size)
    weights = counts / counts.sum()
    for _ in range(max_iterations):
        following = shares * (likely.T @ (weights / (likely @ shares)))
        following /= following.sum()
        change = np.abs(following - shares).sum()
        shares = following
        if change <= tolerance:
            break
    return shares


@brief
class HistogramRecovery(NamedTuple):
    """How much nearer a reconstruction comes to the original histogram than the noisy one.

    Attributes
    ----------
    original, noisy, reconstructed : ndarray of float64, shape (m,)
        Share of each grid value; originals and noisy values count at the nearest one.
    noisy_distance, reconstructed_distance : float
        Total variation distance to the original: the share that would have to be moved, 0 to 1.
    """

    original: NDArray[np.float64]
    noisy: NDArray[np.float64]
    reconstructed: NDArray[np.float64]
    noisy_distance: float
    reconstructed_distance: float


def histogram_recovery(
    original: ArrayLike, noisy: ArrayLike, noise: LabelNoise, grid: ArrayLike
) -> HistogramRecovery:
    """Say how far `reconstruct_distribution` recovers the histogram of the original values.

    Parameters
    ----------
    original : array-like of float, shape (n,)
        Only the owner has them.
    noisy : array-like of float, shape (n,)
        In any order.
    noise : LabelNoise
    grid : array-like of float, shape (m,)
        Ascending.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> original, noise = np.repeat([1, 2, 3], [6000, 1000, 3000]), LabelNoise("gaussian", 0.5)
    >>> found = histogram_recovery(original, original + noise.draw(10_000, rng), noise, [1, 2, 3])
    >>> found.noisy_distance > 5 * found.reconstructed_distance
    True
    """
    levels = np.asarray(grid, np.float64)
    shares = reconstruct_distribution(noisy, noise, levels)
    true, seen = _histogram(original, levels), _histogram(noisy, levels)
    return HistogramRecovery(true, seen, shares, _distance(seen, true), _distance(shares, true))


def _gather(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distinct values with their counts, near ones as one if there are many."""
    if values.size <= _MOST_VALUES:
        return values, np.ones(values.size)
    values = np.sort(values)
    width = (values[-1] - values[0]) / _INTERVALS or 1.0
    _, first, counts = np.unique(
        np.floor((values - values[0]) / width), return_index=True, return_counts=True
    )
    # One of the values stands for all: a middle of the interval might be beyond the noise's reach.
    return values[first + counts // 2], counts.astype(np.float64)


def _histogram(values: ArrayLike, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    bounds = (levels[1:] + levels[:-1]) / 2
    bars = np.searchsorted(bounds, np.asarray(values, np.float64).ravel(), side="right")
    return np.bincount(bars, minlength=levels.size) / bars.size


def _distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(np.abs(first - second).sum() / 2)
