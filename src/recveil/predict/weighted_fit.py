"""Weighted low-rank fit of a table with missing cells."""

import numpy as np
from numpy.typing import NDArray

from recveil.runtime.progress import track

_RIDGE, _ROUNDS = 4.0, 6


def fit_weighted(
    table: NDArray[np.float64], weights: NDArray[np.float64], rank: int = 8
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit a table by weighted alternating least squares.

    Parameters
    ----------
    table : ndarray of float64, shape (n_rows, n_columns)
    weights : ndarray of float64, shape (n_rows, n_columns)
        Weight of each cell; 0 for a cell without a value.
    rank : int
        Number of factors in addition to the biases.

    Returns
    -------
    base, fitted : ndarray of float64, shape (n_rows, n_columns)
        Mean plus biases of row and column; the same plus the factors.

    Notes
    -----
    Every row of factors solves a ridge regression (Hu, Koren, Volinsky 2008, without their trick
    for sparse tables). The start is the same for any table.

    Examples
    --------
    The unknown cell of a table of rank one is recovered.

    >>> table = np.outer([1.0, 2.0, -1.0, -2.0] * 9, [1.0, -1.0, 2.0, -2.0] * 9)
    >>> weights = np.ones_like(table)
    >>> weights[0, 0] = 0
    >>> _, fitted = fit_weighted(table, weights, rank=1)
    >>> bool(abs(fitted[0, 0] - 1) < 0.2)
    True
    """
    mean = float((table * weights).sum() / max(weights.sum(), 1e-12))
    of_columns = ((table - mean) * weights).sum(axis=0) / (weights.sum(axis=0) + 3)
    off = (table - mean - of_columns) * weights
    of_rows = off.sum(axis=1) / (weights.sum(axis=1) + 5)
    base = mean + of_columns + of_rows[:, None]
    left_over = (table - base) * weights
    rows = np.random.default_rng(0).normal(scale=0.1, size=(len(table), rank))
    for _ in track(range(_ROUNDS), "Fitting values", share=1):
        columns = _regress(weights.T, left_over.T, rows)
        rows = _regress(weights, left_over, columns)
    return base, base + rows @ columns.T


def _regress(
    weights: NDArray[np.float64], weighted: NDArray[np.float64], factors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Solve a ridge regression for each row; the targets come multiplied by their weights."""
    rank = factors.shape[1]
    squares = (factors[:, :, None] * factors[:, None, :]).reshape(len(factors), -1)
    normal = (weights @ squares).reshape(-1, rank, rank) + _RIDGE * np.eye(rank)
    return np.asarray(np.linalg.solve(normal, (weighted @ factors)[:, :, None])[:, :, 0])
