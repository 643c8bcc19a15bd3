"""Mechanism: the one gate through which anything about people passes, and what it costs.

Whatever a synthetic release is made of has passed here, once, with noise added; it writes down
itself what it was asked. What has not passed here must not be looked at.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from recveil.methods.synthetic.gaussian_noise import MOST_STEPS, NoiseSource, NoiseStream
from recveil.release.ledger import Ledger, Query
from recveil.runtime.errors import RecveilError, listed, quoted

_MOST_ITEMS = 10**7
# So much higher, that rounding the formula never makes it lower.
_ROUNDED_UP = 1 + 1e-12


def threshold(
    sigma: float, delta: float, most_items: int, *, weight: float = 1.0, grid: float = 0.0
) -> float:
    """Return how high an item's noisy sum must be, at least, that its name may be told.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise of an item's sum.
    delta : float
        With what probability somebody may be given away by an item that they alone rated: the
        ledger's `threshold_delta`.
    most_items : int
        To how many items one person gives at most; public.
    weight : float
        The length of what one person gives to these sums.
    grid : float
        The step on which sums and noise lie, if on any: rounding moves noise by half of it.

    Raises
    ------
    RecveilError
        If any is no such number.

    Examples
    --------
    With one item a person, an item of one person is named in one of a million cases where it passes
    4.75 standard deviations:

    >>> round(threshold(10.0, 1e-6, 1), 2)
    48.53
    >>> round(threshold(10.0, 1e-6, 500), 2)
    58.89
    """
    _check_above_zero(sigma=sigma, weight=weight)
    if type(grid) is not float or not 0 <= grid < math.inf:
        raise RecveilError(
            f"grid is {quoted(grid)}, expected the step of the sums; 0.0 for none",
            code="argument.value",
        )
    if type(delta) is not float or not 0 < delta < 0.5:
        raise RecveilError(
            f"delta of the threshold is {quoted(delta)}, but it is the probability of an accident; "
            f"give a part of delta, such as 1e-7",
            code="argument.value",
        )
    if type(most_items) is not int or not 1 <= most_items <= _MOST_ITEMS:
        raise RecveilError(
            f"most_items is {quoted(most_items)}, expected to how many items one person gives at "
            f"most; give a whole number from 1 to {_MOST_ITEMS:,}",
            code="argument.value",
        )
    items = np.arange(1, most_items + 1)
    # The probability that one of them passes, where n together may with probability delta.
    each = -np.expm1(np.log1p(-delta) / items)
    highest = (weight / np.sqrt(items) - sigma * ndtri(each)).max()
    return float(highest) * _ROUNDED_UP + grid / 2


def _check_above_zero(**numbers: float) -> None:
    for name, number in numbers.items():
        if type(number) is not float or not 0 < number < math.inf:
            raise RecveilError(
                f"{name} is {quoted(number)}, expected a float above 0 and finite",
                code="argument.value",
            )


# Draws at a time: little enough for the processor's caches. Other sizes are other noise.
_VALUES_OF_A_TILE, _CELLS_OF_A_TILE = 2**16, 2**17
# An answer and its noise together stay far below what 64 bits hold.
_LARGEST = 2**62


class Mechanism:
    """Answers each query once, with normal noise, and keeps the ledger.

    Parameters
    ----------
    source : NoiseSource
        Where the noise comes from.
    sigmas : mapping of str to float
        Each query that may be asked, and the standard deviation of its noise if one person changes
        the answer by a length of 1 at most: what `Budget.sigmas` returns. Where a person changes it
        by another length, there is so much more or less noise, and the price is the same.

    Examples
    --------
    >>> mechanism = Mechanism(NoiseSource.repeatable(7), {"people by activity": 4.0})
    >>> counts = np.array([310, 402, 231])
    >>> told = mechanism.measure("people by activity", "people with few ratings, more, many",
    ...                          counts, grid=1.0)
    >>> bool((abs(told - counts) < 30).all()), mechanism.ledger().queries
    (True, (Query(people by activity, mu: 0.25),))
    """

    def __init__(self, source: NoiseSource, sigmas: Mapping[str, float]) -> None:
        self._source = source
        self._sigmas = dict(sigmas)
        self._asked: dict[str, Query] = {}
        self._threshold_delta = 0.0

    @property
    def is_secret(self) -> bool:
        """Whether nobody can take the noise off again: what is published needs that."""
        return self._source.is_secret

    @property
    def has_queried(self) -> bool:
        """Whether anything was spent."""
        return bool(self._asked)

    def measure(
        self,
        name: str,
        what: str,
        exact: NDArray[np.int64],
        grid: float,
        sensitivity: float = 1.0,
    ) -> NDArray[np.float64]:
        """Answer a query that sums up one vector a person.

        Parameters
        ----------
        name : str
            One of those that may be asked, and was not yet.
        what : str
            What is asked, in plain words; it is published.
        exact : ndarray of int64, of any shape
            The exact answer, in steps of the grid. Its shape must not depend on the data: it is
            told without noise.
        grid : float
            The step, a power of two; what it is must not depend on the data.
        sensitivity : float
            The most by which one person changes the answer, as a length, not in steps.

        Returns
        -------
        ndarray of float64, shape of `exact`
            The noisy answer, in the unit of `sensitivity`.

        Raises
        ------
        RecveilError
            If it may not be asked, or anything is of another kind.
        """
        query, stream = self._enter(name, what, exact, grid, sensitivity)
        self._asked[name] = replace(query, values=exact.size)
        return _with_noise(exact, stream, query.sigma, grid)

    def measure_items(
        self,
        name: str,
        what: str,
        exact: NDArray[np.int64],
        grid: float,
        sensitivity: float = 1.0,
        *,
        delta: float,
        most_items: int,
        weight: float = 1.0,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Answer a query about each item, but tell only of items that are popular enough.

        How many items there are in the data is itself nobody's business: somebody may have brought
        one along. `threshold` has the proof.

        Parameters
        ----------
        name, what, grid, sensitivity : see `measure`
        exact : ndarray of int64, shape (n_items, n_columns)
            The exact sums, in steps; the first column sums up ``weight / sqrt(n)`` for each of the
            n items of a person.
        delta, most_items, weight : see `threshold`

        Returns
        -------
        items : ndarray of int, shape (n_told,)
            The rows of `exact` of which is told, in their order.
        told : ndarray of float64, shape (n_told, n_columns)
            Their noisy sums.

        Raises
        ------
        RecveilError
            If it may not be asked, anything is of another kind, or no item is popular enough.
        """
        if exact.ndim != 2 or not exact.shape[1]:
            raise RecveilError(
                f"query {quoted(name)}: its answer is of shape {exact.shape}, expected a row for "
                f"each item, the popularity first",
                code="argument.shape",
            )
        query, stream = self._enter(name, what, exact, grid, sensitivity)
        height = threshold(query.sigma, delta, most_items, weight=weight, grid=grid)
        told = _with_noise(exact, stream, query.sigma, grid)
        items = np.flatnonzero(told[:, 0] >= height)
        self._asked[name] = replace(query, values=max(1, items.size * exact.shape[1]))
        self._threshold_delta += delta
        if not items.size:
            raise RecveilError(
                f"query {name!r}: no item is popular enough to be named (noisy sums of {height:.3g}"
                f"); give a larger epsilon or delta, or name the catalogue",
                code="budget.too-small",
            )
        return items, told[items]

    def measure_symmetric(
        self,
        name: str,
        what: str,
        exact: NDArray[np.int64],
        grid: float,
        sensitivity: float = 1.0,
    ) -> NDArray[np.float64]:
        """Answer a query that sums up one symmetric matrix a person.

        A symmetric matrix of some Frobenius norm is a vector of the same length: its diagonal, and
        each cell above it times the root of two. That vector is what is measured; so cells beside
        the diagonal get the noise over the root of two, and the same below as above.

        Parameters
        ----------
        name, what, grid : see `measure`
        exact : ndarray of int64, shape (n, n)
            The exact answer, of which only the diagonal and what is above it is read. Its memory is
            taken for the result, so that there is neither a second copy nor the exact one left: do
            not use it afterwards.
        sensitivity : float
            The largest Frobenius norm of what one person adds.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Symmetric.

        Raises
        ------
        RecveilError
            If it may not be asked, or anything is of another kind.
        """
        n = len(exact)
        if exact.shape != (n, n) or not exact.flags.writeable:
            raise RecveilError(
                f"query {quoted(name)}: its answer is of shape {exact.shape}, or cannot be "
                f"written; give a square array, whose memory is taken for the noisy one",
                code="argument.shape",
            )
        query, stream = self._enter(name, what, exact, grid, sensitivity)
        self._asked[name] = replace(query, values=max(1, n * (n + 1) // 2))
        steps = query.sigma / grid
        # Up to the next number above the quotient, lest the noise be less than is written down.
        beside = math.nextafter(steps / math.sqrt(2), math.inf)
        diagonal = (np.diagonal(exact) + stream.rounded_normals(0, n, steps)) * grid
        told = exact.view(np.float64)
        rows = max(1, _CELLS_OF_A_TILE // max(n, 1))
        for tile, first in enumerate(range(0, n, rows), start=1):
            last = min(first + rows, n)
            cells = exact[first:last, first:]
            noise = stream.rounded_normals(tile, cells.size, beside).reshape(cells.shape)
            noise += cells
            block = noise * grid
            corner = np.triu(block[:, : last - first], 1)
            block[:, : last - first] = corner + corner.T
            # The rows further down are read from their own diagonal on: nothing of that is lost.
            told[first:last, first:] = block
            told[last:, first:last] = block[:, last - first :].T
        np.fill_diagonal(told, diagonal)
        return told

    def ledger(self) -> Ledger:
        """Return what was asked so far, and at what price."""
        return Ledger(tuple(self._asked.values()), self._threshold_delta)

    def _enter(
        self,
        name: str,
        what: str,
        exact: NDArray[np.int64],
        grid: float,
        sensitivity: float,
    ) -> tuple[Query, NoiseStream]:
        """Write a query down, before anything is told of it."""
        if name not in self._sigmas or name in self._asked:
            raise RecveilError(
                f"query {quoted(name)}: it has no budget, or was asked before; expected one of "
                f"{listed(self._sigmas)}, each once, as every answer costs",
                code="budget.spent",
            )
        if exact.dtype != np.int64:
            raise RecveilError(
                f"query {name!r}: its answer is of {exact.dtype}, expected int64; sum up whole "
                f"numbers of steps, as sums of floating-point numbers tell more than they should",
                code="argument.type",
            )
        if type(grid) is not float or not 0 < grid < math.inf or math.frexp(grid)[0] != 0.5:
            raise RecveilError(
                f"query {name!r}: grid is {quoted(grid)}, expected a float that is a power of two; "
                f"give one such as 2.0 ** -20",
                code="argument.value",
            )
        query = Query(name, what, sensitivity, self._sigmas[name] * sensitivity, 1)
        if not query.sigma / grid <= MOST_STEPS:
            raise RecveilError(
                f"query {name!r}: noise of {query.sigma:g} is more than 2**30 steps of {grid:g}; "
                f"give a coarser grid: steps of a millionth of the noise are fine enough",
                code="argument.value",
            )
        if exact.size and max(-int(exact.min()), int(exact.max())) >= _LARGEST:
            raise RecveilError(
                f"query {name!r}: its answer has 2**62 steps or more; give a coarser grid",
                code="argument.value",
            )
        self._asked[name] = query
        return query, self._source.stream()


def _with_noise(
    exact: NDArray[np.int64], stream: NoiseStream, sigma: float, grid: float
) -> NDArray[np.float64]:
    """Return the noisy answer, in the unit of sigma."""
    told = np.empty(exact.size)
    values = exact.reshape(-1)
    for tile, first in enumerate(range(0, exact.size, _VALUES_OF_A_TILE)):
        part = values[first : first + _VALUES_OF_A_TILE]
        noise = stream.rounded_normals(tile, part.size, sigma / grid)
        told[first : first + _VALUES_OF_A_TILE] = (part + noise) * grid
    return told.reshape(exact.shape)


class WithoutNoise:
    """Answers the same queries exactly: it promises nothing, and keeps no ledger.

    Examples
    --------
    >>> WithoutNoise().measure("people by activity", "", np.array([310, 402]), grid=1.0)
    array([310., 402.])
    """

    def measure(
        self, name: str, what: str, exact: NDArray[np.int64], grid: float
    ) -> NDArray[np.float64]:
        """Return the exact answer; see `Mechanism.measure`."""
        del name, what
        return np.asarray(exact * grid, np.float64)

    def measure_items(
        self,
        name: str,
        what: str,
        exact: NDArray[np.int64],
        grid: float,
        *,
        delta: float,
        most_items: int,
        weight: float,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the exact answer of all items; see `Mechanism.measure_items`."""
        del name, what, delta, most_items, weight
        return np.arange(len(exact)), np.asarray(exact * grid, np.float64)

    def measure_symmetric(
        self, name: str, what: str, exact: NDArray[np.int64], grid: float
    ) -> NDArray[np.float64]:
        """Return the exact answer, symmetric; see `Mechanism.measure_symmetric`."""
        del name, what
        upper = np.triu(exact) * grid
        return np.asarray(upper + np.triu(upper, 1).T, np.float64)
