"""Attacks on rotated rows: known rows, and independent component analysis."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from recveil.runtime.errors import RecveilError

# Singular values below this share of the largest are rounding.
_ROUNDING = 1e-10
# Sorted values of a component are compared with those of a column at so many places.
_QUANTILES = 101


def match_by_length(published: ArrayLike, known: ArrayLike) -> NDArray[np.int64]:
    """Return the published row of each known one: a rotation about 0 preserves lengths.

    Examples
    --------
    >>> match_by_length([[0.0, 5.0], [1.0, 1.0]], [[-1.0, 1.0], [3.0, 4.0]])
    array([1, 0])
    """
    rows, originals = _tables(published, known)
    lengths = np.linalg.norm(rows, axis=1)
    return np.abs(lengths - np.linalg.norm(originals, axis=1)[:, np.newaxis]).argmin(axis=1)


def recover_by_known_rows(published: ArrayLike, known: ArrayLike, at: ArrayLike) -> NDArray[Any]:
    """Undo a rotation, as far as some known rows determine it.

    Parameters
    ----------
    published : array-like of float, shape (n, d)
        Rows that were multiplied by an orthogonal matrix; a shift of all rows, and noise, may come
        on top.
    known : array-like of float, shape (m, d)
        Rows before that. Of noise-free rows, d + 1 determine all, if they have no hyperplane in
        common.
    at : array-like of int, shape (m,)
        Which published rows they became; see `match_by_length`.

    Returns
    -------
    ndarray of float64, shape (n, d)
        The rows before the rotation. In directions in which the known rows do not differ, all have
        the known rows' mean.

    Raises
    ------
    RecveilError
        If the columns differ in number, no row is known, or `at` does not say where each is.

    Notes
    -----
    Source: the known-sample attack on the rotation of Chen 2012, section 2.2.2. The orthogonal
    Procrustes problem (Schönemann 1966) for the differences of the known rows from their mean.

    Examples
    --------
    A quarter turn; three rows in the plane are known, and the fourth was (2, 1).

    >>> known = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> published = [[0.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [-1.0, 2.0]]
    >>> recover_by_known_rows(published, known, [0, 1, 2])[3].round(9)
    array([2., 1.])
    """
    rows, originals = _tables(published, known)
    places = np.asarray(at)
    if not len(originals) or places.shape != (len(originals),):
        raise RecveilError(
            f"{len(originals)} known rows at {places.size} places; expected at least one row, and "
            f"the published row of each",
            code="argument.shape",
        )
    mean, published_mean = originals.mean(axis=0), rows[places].mean(axis=0)
    basis, differences = np.linalg.qr((originals - mean).T)
    published_basis, published_differences = np.linalg.qr((rows[places] - published_mean).T)
    left, sizes, right = np.linalg.svd(published_differences @ differences.T)
    is_determined = sizes > _ROUNDING * max(sizes[0], 1e-300)
    back = published_basis @ left[:, is_determined] @ right[is_determined] @ basis.T
    return np.asarray((rows - published_mean) @ back + mean)


def recover_by_components(
    published: ArrayLike, columns: ArrayLike, *, seed: int | None = None
) -> NDArray[Any]:
    """Undo a rotation by independent component analysis, without any known row.

    Parameters
    ----------
    published : array-like of float, shape (n, d)
        Rows that were multiplied by an orthogonal matrix.
    columns : array-like of float, shape (any, d)
        How the values of each column are distributed, as the adversary knows it: a sample of each.
        Components have no order, sign or scale; this determines them.
    seed : int, optional
        Fixes where the search begins.

    Returns
    -------
    ndarray of float64, shape (n, d)
        Estimates, which are good only if the columns are independent and at most one is Gaussian.

    Raises
    ------
    RecveilError
        If the columns differ in number, or there are not more rows than columns.

    Notes
    -----
    Source: Chen 2012, section 2.2.2, after Chen & Liu 2005. FastICA (Hyvärinen 1999) of
    scikit-learn; each component is assigned to a column so that the sorted values differ least.
    """
    rows, samples = _tables(published, columns)
    n_rows, n_columns = rows.shape
    if n_rows <= n_columns or not len(samples):
        raise RecveilError(
            f"{n_rows} rows of {n_columns} columns, and {len(samples)} values of each; expected "
            f"more rows than columns, and at least one value",
            code="argument.shape",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # dependent columns have no solution
        components = FastICA(random_state=seed, max_iter=1000).fit_transform(rows)
    if components.shape[1] < n_columns:  # what does not vary is no component
        components = np.pad(components, ((0, 0), (0, n_columns - components.shape[1])))
    probabilities = np.linspace(0, 1, _QUANTILES)
    spread = samples.std(axis=0)
    standard = (samples - samples.mean(axis=0)) / np.where(spread > 0, spread, 1)
    wanted = np.quantile(standard, probabilities, axis=0).T
    as_found = np.quantile(components, probabilities, axis=0).T
    signs = np.array([1.0, -1.0])
    costs = np.stack(
        [
            np.abs(either[:, np.newaxis] - wanted).mean(axis=2)
            for either in (as_found, -as_found[:, ::-1])
        ]
    )
    of_component, of_column = linear_sum_assignment(costs.min(axis=0))
    sign = signs[costs[:, of_component, of_column].argmin(axis=0)]
    recovered = np.empty_like(rows)
    recovered[:, of_column] = sign * components[:, of_component]
    return np.asarray(recovered * spread + samples.mean(axis=0))


def _tables(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return two tables of equally many columns."""
    tables = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if any(table.ndim != 2 for table in tables) or tables[0].shape[1] != tables[1].shape[1]:
        raise RecveilError(
            f"tables of the shapes {tables[0].shape} and {tables[1].shape}; expected two with "
            f"equally many columns",
            code="argument.shape",
        )
    return tables
