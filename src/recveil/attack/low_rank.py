"""Low rank: a robust fit of smooth rows to published ones; what is not smooth stands out."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.progress import track

Matrix = NDArray[np.float64]
# Reweighting comes to rest after so many rounds; the scale narrows from three times to once.
_ROUNDS, _NARROWING = 10, 0.7
# Beyond so many times the usual residual, a cell begins to count less.
_USUAL = 1.5
# Numbers of factors that are tried, on so many cells at most, of which this share is hidden.
_RANKS, _MOST_TRIED, _HIDDEN = (0, 1, 2, 3, 5, 10), 1 << 20, 0.1


@brief
class LowRank(NamedTuple):
    """Rows as products of few factors.

    Attributes
    ----------
    of_rows : ndarray of float64, shape (n_rows, rank + 1)
    of_items : ndarray of float64, shape (n_items, rank + 1)
    """

    of_rows: Matrix
    of_items: Matrix

    def product(self, low: float, high: float) -> Matrix:
        """Return the fitted labels, moved to the ends of the scale, shape (n_rows, n_items)."""
        return np.clip(self.of_rows @ self.of_items.T, low, high)


def fit_robustly(
    labels: Matrix,
    rank: int,
    ridge: float,
    least: float,
    seen: NDArray[np.bool_] | None = None,
    rounds: int = _ROUNDS,
    share: float = 0.0,
) -> LowRank:
    """Fit rows of low rank so that cells which are far off hardly count.

    Parameters
    ----------
    labels : ndarray of float64, shape (n_rows, n_items)
    rank : int
        Number of factors, beside one that is the same for all rows at the start.
    ridge : float
        Pull of the factors towards zero, against weights of at most 1.
    least : float
        In the unit of the labels: residuals below it all count fully.
    seen : ndarray of bool, shape (n_rows, n_items), optional
        Cells that the fit may look at; all, if not given.
    rounds : int
        How often the weights are worked out anew.
    share : float
        How much of what is left on the bar the rounds take.

    Notes
    -----
    Iteratively reweighted least squares with Cauchy's weights (Holland & Welsch 1977), whose scale
    narrows from round to round: a cell that stands out counts less and less.

    Examples
    --------
    >>> smooth = np.outer(np.linspace(1, 2, 12), np.linspace(1, 2, 9))
    >>> labels = smooth.copy()
    >>> labels[3, 4] += 1.0
    >>> off = labels - fit_robustly(labels, 1, 1e-3, 0.01).product(0, 5)
    >>> np.argwhere(np.abs(off) > 0.5)
    array([[3, 4]])
    """
    start = np.random.default_rng(0).normal(scale=0.1, size=(len(labels), rank))
    fit = LowRank(np.column_stack([np.ones(len(labels)), start]), np.empty((0, 0)))
    weights = np.ones_like(labels) if seen is None else seen.astype(np.float64)
    for step in track(range(rounds), "Fitting all rows", share=share):
        fit = refit(fit, weights, labels, ridge)
        off = labels - fit.of_rows @ fit.of_items.T
        looked_at = off if seen is None else off[seen]
        usual = max(_USUAL * float(np.median(np.abs(looked_at))), least)
        weights = 1 / (1 + (off / (usual * (1 + 2 * _NARROWING**step))) ** 2)
        if seen is not None:
            weights *= seen
    return fit


def choose_rank(labels: Matrix, most: int, ridge: float, least: float) -> int:
    """Choose how many factors foretell best what the fit has not seen.

    Too few factors leave over what is smooth, and too many take up ratings: in both cases what is
    left over tells less of who rated. A tenth of the cells is hidden from the fit, and the number
    counts that misses them by least, where cells that are far off, as ratings are, hardly count.
    Of several that do as well, within the standard error, it is the smallest. It takes nothing but
    the labels.

    Parameters
    ----------
    labels, ridge, least
        As in `fit_robustly`.
    most : int
        No more factors than this.

    Examples
    --------
    >>> of_rows, of_items = np.random.default_rng(1).normal(size=(2, 40, 2))
    >>> noise = np.random.default_rng(2).normal(scale=0.05, size=(40, 40))
    >>> choose_rank(of_rows @ of_items.T + noise, 5, 0.01, 0.02)
    2
    """
    rng = np.random.default_rng(0)
    n_tried = max(1, _MOST_TRIED // len(labels))
    if n_tried < labels.shape[1]:
        labels = labels[:, np.sort(rng.choice(labels.shape[1], n_tried, replace=False))]
    seen = rng.random(labels.shape) >= _HIDDEN
    ranks = [rank for rank in _RANKS if rank < most] + [most]
    missed = np.array([_missed_by(labels, rank, ridge, least, seen) for rank in ranks])
    more = missed - missed[missed.mean(axis=1).argmin()]
    sure = more.mean(axis=1) > more.std(axis=1) / np.sqrt(max(more.shape[1], 1))
    return ranks[int(np.flatnonzero(~sure)[0])]


def _missed_by(
    labels: Matrix, rank: int, ridge: float, least: float, seen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return by how much each hidden cell is missed, on a scale where far is hardly more."""
    fit = fit_robustly(labels, rank, ridge, least, seen, _ROUNDS // 2)
    off = (labels - fit.of_rows @ fit.of_items.T)[~seen]
    return np.asarray(np.log1p((off / least) ** 2))


def refit(fit: LowRank, weights: Matrix, targets: Matrix, ridge: float) -> LowRank:
    """Fit the items' factors to those of the rows, and then the rows' to those of the items."""
    of_items = _regress(weights.T, targets.T, fit.of_rows, ridge)
    return LowRank(_regress(weights, targets, of_items, ridge), of_items)


def _regress(weights: Matrix, targets: Matrix, factors: Matrix, ridge: float) -> Matrix:
    """Solve a weighted ridge regression for each row of the targets.

    Examples
    --------
    >>> _regress(np.ones((1, 2)), np.array([[2.0, 4.0]]), np.array([[1.0], [2.0]]), 0.0)
    array([[2.]])
    """
    n, rank = factors.shape
    squares = (factors[:, :, None] * factors[:, None, :]).reshape(n, rank * rank)
    systems = (weights @ squares).reshape(-1, rank, rank) + ridge * np.eye(rank)
    right = (weights * targets) @ factors
    return np.linalg.solve(systems, right[:, :, None])[:, :, 0].astype(np.float64)
