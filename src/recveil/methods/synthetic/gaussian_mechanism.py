"""The Gaussian mechanism: the only access of a synthetic release to users' data.

Each query passes here once, gets noise and is recorded in the ledger. Code of a synthetic release
must not read any data that has not passed here.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from recveil.methods.synthetic.gaussian_sampler import MOST_STEPS, NoiseSource, NoiseStream
from recveil.release.ledger import Ledger, Query
from recveil.runtime.errors import RecveilError, listed, quoted

_MOST_ITEMS = 10**7
# Factor that keeps rounding from lowering the threshold.
_ROUNDED_UP = 1 + 1e-12


def threshold(
    sigma: float, delta: float, most_items: int, *, weight: float = 1.0, grid: float = 0.0
) -> float:
    """Return the minimum noisy sum at which an item's id may be released."""
    _check_above_zero(sigma=sigma, weight=weight)
    if type(grid) is not float or not 0 <= grid < math.inf:
        raise RecveilError(
            f"grid is {quoted(grid)}, expected the step of the sums; 0.0 for none",
            code="argument.value",
        )
    if type(delta) is not float or not 0 < delta < 0.5:
        raise RecveilError(
            f"delta of the threshold is {quoted(delta)}; expected a small probability, a part of "
            f"delta, such as 1e-7",
            code="argument.value",
        )
    if type(most_items) is not int or not 1 <= most_items <= _MOST_ITEMS:
        raise RecveilError(
            f"most_items is {quoted(most_items)}; expected the largest number of items per user, a "
            f"whole number from 1 to {_MOST_ITEMS:,}",
            code="argument.value",
        )
    items = np.arange(1, most_items + 1)
    # The probability for each of n items, if that for all of them together is delta.
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


# Tile sizes that fit the processor's caches. Other sizes draw other noise.
_VALUES_OF_A_TILE, _CELLS_OF_A_TILE = 2**16, 2**17
# Keeps the sum of an answer and its noise far below 64 bits.
_LARGEST = 2**62


class Mechanism:
    """Answers each query once, with Gaussian noise, and keeps the ledger."""

    def __init__(
        self, source: NoiseSource, sigmas: Mapping[str, float], *, keeps_answers: bool = False
    ) -> None:
        # The noisy answers as they were returned; for publication, if they are kept.
        self.answers: dict[str, NDArray[np.float64]] = {}
        # The positions of the items above the threshold, to which the rows of an answer belong
        self.named: NDArray[np.intp] | None = None
        self._keeps_answers = keeps_answers
        self._source = source
        self._sigmas = dict(sigmas)
        self._queries: dict[str, Query] = {}
        self._threshold_delta = 0.0

    @property
    def is_secret(self) -> bool:
        """Whether the noise cannot be reproduced, as publication requires."""
        return self._source.is_secret

    def raise_noise(self, sigmas: Mapping[str, float]) -> None:
        """Give more noise to queries that were not answered yet."""
        for name, sigma in sigmas.items():
            if name in self._queries or not self._sigmas.get(name, math.inf) <= sigma:
                raise RecveilError(
                    f"query {quoted(name)}: it has no budget, was answered before, or would get "
                    f"less noise; expected more for one of {listed(self._sigmas)}",
                    code="budget.spent",
                )
        self._sigmas |= sigmas

    @property
    def has_queried(self) -> bool:
        """Whether any budget was spent."""
        return bool(self._queries)

    def measure(
        self,
        name: str,
        what: str,
        exact: NDArray[np.int64],
        grid: float,
        sensitivity: float = 1.0,
    ) -> NDArray[np.float64]:
        """Answer a query that sums one vector per user."""
        query, stream = self._enter(name, what, exact, grid, sensitivity)
        self._queries[name] = replace(query, values=exact.size)
        return self._kept(name, _with_noise(exact, stream, query.sigma, grid))

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
        """Answer a query on each item, and return those above a threshold with their noisy sums."""
        # The number of items is not released either, since one user may have added one (see
        # `threshold`). The first column of `exact` sums ``weight / sqrt(n)`` for each of the n
        # items of a user.
        if exact.ndim != 2 or not exact.shape[1]:
            raise RecveilError(
                f"query {quoted(name)}: its answer has the shape {exact.shape}; expected one row "
                f"per item, the popularity first",
                code="argument.shape",
            )
        query, stream = self._enter(name, what, exact, grid, sensitivity)
        height = threshold(query.sigma, delta, most_items, weight=weight, grid=grid)
        noisy = _with_noise(exact, stream, query.sigma, grid)
        items = np.flatnonzero(noisy[:, 0] >= height)
        self._queries[name] = replace(query, values=max(1, items.size * exact.shape[1]))
        self._threshold_delta += delta
        if not items.size:
            raise RecveilError(
                f"query {name!r}: no noisy item count reaches the threshold of {height:.3g}; give "
                f"a larger epsilon or delta, or an item_catalog (--item-catalog)",
                code="budget.too-small",
            )
        self.named = items
        return items, self._kept(name, noisy[items])

    def measure_symmetric(
        self,
        name: str,
        what: str,
        exact: NDArray[np.int64],
        grid: float,
        sensitivity: float = 1.0,
    ) -> NDArray[np.float64]:
        """Answer a query that sums one symmetric matrix per user."""
        # The measured vector has the diagonal, and each cell above it times the root of two (its
        # length is the Frobenius norm), so cells off the diagonal get the noise over the root of
        # two, and the same noise below. The memory of `exact` is reused, so that no exact answer
        # remains.
        n = len(exact)
        if exact.shape != (n, n) or not exact.flags.writeable:
            raise RecveilError(
                f"query {quoted(name)}: its answer is of shape {exact.shape}, or cannot be "
                f"written; give a square array, whose memory is taken for the noisy one",
                code="argument.shape",
            )
        query, stream = self._enter(name, what, exact, grid, sensitivity)
        self._queries[name] = replace(query, values=max(1, n * (n + 1) // 2))
        steps = query.sigma / grid
        # Round up, so that the noise is never below the recorded one.
        off_diagonal = math.nextafter(steps / math.sqrt(2), math.inf)
        diagonal = (np.diagonal(exact) + stream.rounded_normals(0, n, steps)) * grid
        noisy = exact.view(np.float64)
        rows = max(1, _CELLS_OF_A_TILE // max(n, 1))
        for tile, first in enumerate(range(0, n, rows), start=1):
            last = min(first + rows, n)
            cells = exact[first:last, first:]
            noise = stream.rounded_normals(tile, cells.size, off_diagonal).reshape(cells.shape)
            noise += cells
            block = noise * grid
            corner = np.triu(block[:, : last - first], 1)
            block[:, : last - first] = corner + corner.T
            # Later rows are read from their own diagonal on, so this overwrites nothing that is
            # still needed.
            noisy[first:last, first:] = block
            noisy[last:, first:last] = block[:, last - first :].T
        np.fill_diagonal(noisy, diagonal)
        if self._keeps_answers:
            self.answers[name] = noisy[np.triu_indices(n)]
        return noisy

    def _kept(self, name: str, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._keeps_answers:
            self.answers[name] = noisy.copy()
        return noisy

    def ledger(self) -> Ledger:
        """Return the queries so far and their privacy loss."""
        return Ledger(tuple(self._queries.values()), self._threshold_delta)

    def _enter(
        self,
        name: str,
        what: str,
        exact: NDArray[np.int64],
        grid: float,
        sensitivity: float,
    ) -> tuple[Query, NoiseStream]:
        """Record a query before it is answered."""
        if name not in self._sigmas or name in self._queries:
            raise RecveilError(
                f"query {quoted(name)}: it has no budget, or was answered before; expected one of "
                f"{listed(self._sigmas)}, each once",
                code="budget.spent",
            )
        if exact.dtype != np.int64:
            raise RecveilError(
                f"query {name!r}: its answer is of {exact.dtype}; expected int64; sum whole "
                f"numbers of steps: sums of floating-point numbers reveal more than the query",
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
        self._queries[name] = query
        return query, self._source.stream()


def _with_noise(
    exact: NDArray[np.int64], stream: NoiseStream, sigma: float, grid: float
) -> NDArray[np.float64]:
    """Return the noisy answer, in the unit of sigma."""
    noisy = np.empty(exact.size)
    values = exact.reshape(-1)
    for tile, first in enumerate(range(0, exact.size, _VALUES_OF_A_TILE)):
        part = values[first : first + _VALUES_OF_A_TILE]
        noise = stream.rounded_normals(tile, part.size, sigma / grid)
        noisy[first : first + _VALUES_OF_A_TILE] = (part + noise) * grid
    return noisy.reshape(exact.shape)


class WithoutNoise:
    """Answers the same queries exactly, without a guarantee or a ledger."""

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
