"""Item factors by alternating ridge regressions; people are folded in by one more of them."""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.compiled import compiled
from recveil.evaluate.means import Averages, OnAverages
from recveil.evaluate.recommender import Setting
from recveil.evaluate.training import TrainingTable, UserRows

_SEED = 0


@brief
class _Learnt(NamedTuple):
    averages: Averages
    item_factors: NDArray[np.float64]
    unit: float


class RidgeFactors(OnAverages):
    """Averages plus ``user factors · item factors``.

    The item factors come from the table alone: rows and items take turns in a ridge regression on
    each other's factors, a row counting for as many people as stand behind it. A person to serve
    is folded in by the row's regression on their own ratings.

    Parameters
    ----------
    rank : int
    n_rounds : int
        How often rows and items take turns.

    Notes
    -----
    The penalty of a row is the same for every row, and the items' likewise, so that a table with
    sizes teaches what the same table with one row a person does.
    """

    # Penalties of learning and of folding in, for ratings in points of a 1-to-5 scale.
    learning_settings: ClassVar[tuple[Setting, ...]] = tuple((2.0**p,) for p in range(3, 7))
    serving_settings: ClassVar[tuple[Setting, ...]] = tuple((2.0**p,) for p in range(8))

    def __init__(self, rank: int = 10, n_rounds: int = 5) -> None:
        self.rank = rank
        self.n_rounds = n_rounds
        self.name = f"ridge factors, rank {rank}"

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes: one regression for each row and item."""
        rows, columns = table.rows.n_users, table.n_items
        # Of full rows and columns, what is missing is taken off.
        entries = min(table.rows.indices.size, 2.0 * rows * columns - table.rows.indices.size)
        learning = 2.0 * entries * self.rank**2 + 0.2 * (rows + columns) * self.rank**3
        times = self.n_rounds * (len(self.learning_settings) + 2.0)
        return super().effort(table, n_inner) + times * learning

    def _learn(self, table: TrainingTable, setting: Setting) -> _Learnt:
        (penalty,) = setting
        averages = self._averages(table)
        unit = table.scale.range / 4 or 1.0
        left = averages.rest(table.rows)[1] / unit
        by_row = table.rows.matrix(table.n_items, left)
        by_item = by_row.T.tocsr()
        ones, people = np.ones(table.n_items), table.sizes.astype(np.float64)
        rng = np.random.default_rng(_SEED)
        of_items = rng.standard_normal((table.n_items, self.rank)) / np.sqrt(self.rank)
        of_items[table.support == 0] = 0
        for _ in range(self.n_rounds):
            of_rows = regress(by_row.indptr, by_row.indices, by_row.data, ones, of_items, penalty)
            of_items = regress(
                by_item.indptr, by_item.indices, by_item.data, people, of_rows, penalty
            )
        return _Learnt(averages, of_items, unit)

    def _serve(self, learnt: _Learnt, people: UserRows, setting: Setting) -> NDArray[np.float64]:
        averages, of_items, unit = learnt
        bias, left = averages.rest(people)
        ones = np.ones(len(of_items))
        folded = regress(people.indptr, people.indices, left / unit, ones, of_items, setting[0])
        scores = (unit * folded) @ of_items.T
        scores += averages.item_means
        scores += bias[:, None]
        return scores

    def _try(
        self,
        learnt: _Learnt,
        people: UserRows,
        rows: NDArray[np.int64],
        items: NDArray[np.int64],
    ) -> Iterator[NDArray[np.float64]]:
        """Fold people in by all penalties at once, and score the wanted cells alone."""
        averages, of_items, unit = learnt
        bias, left = averages.rest(people)
        ones = np.ones(len(of_items))
        penalties = np.array([penalty for (penalty,) in self.serving_settings])
        all_folded = regress_each(
            people.indptr, people.indices, left / unit, ones, of_items, penalties
        )
        for folded in all_folded:
            scores = unit * dot_cells(folded, of_items, rows, items)
            yield scores + averages.item_means[items] + bias[rows]


def regress(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    targets: NDArray[Any],
    weights: NDArray[Any],
    factors: NDArray[Any],
    penalty: float,
) -> NDArray[np.float64]:
    """Solve the regressions of `regress_each` for one penalty, shape (n_rows, rank)."""
    penalties = np.array([penalty], np.float64)
    return np.asarray(regress_each(indptr, indices, targets, weights, factors, penalties)[0])


@compiled()
def dot_cells(
    left: NDArray[Any], right: NDArray[Any], rows: NDArray[Any], items: NDArray[Any]
) -> NDArray[Any]:
    """Return ``left[row] · right[item]`` for pairs of row and item, shape (n_cells,)."""
    found = np.zeros(rows.size)
    for cell in range(rows.size):
        row, item = rows[cell], items[cell]
        for factor in range(left.shape[1]):
            found[cell] += left[row, factor] * right[item, factor]
    return found


@compiled()
def regress_each(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    targets: NDArray[Any],
    weights: NDArray[Any],
    factors: NDArray[Any],
    penalties: NDArray[Any],
) -> NDArray[Any]:
    """Solve ``(FᵀWF + penalty) x = FᵀWy`` for each penalty and row, F being its entries' factors.

    The result has the shape (n_penalties, n_rows, rank).

    `weights` has one number above 0 for each of the factors' rows. With fewer entries than factors
    the same x is ``Fᵀ (FFᵀ + penalty W⁻¹)⁻¹ y``, a smaller system. Else FᵀWF is summed over the
    row's entries, or taken from all entries less the missing ones, whichever are fewer.
    """
    n_rows, (n, rank) = indptr.size - 1, factors.shape
    solved = np.zeros((penalties.size, n_rows, rank))
    weighted = factors * weights.reshape(n, 1)
    everything = factors.T @ weighted
    present = np.zeros(n, np.bool_)
    for row in range(n_rows):
        own = indices[indptr[row] : indptr[row + 1]]
        wanted = targets[indptr[row] : indptr[row + 1]]
        if own.size == 0:
            continue
        if own.size < rank:
            few = factors[own]
            products = few @ few.T
            for place in range(penalties.size):
                system = products.copy()
                for entry in range(own.size):
                    system[entry, entry] += penalties[place] / weights[own[entry]]
                solved[place, row] = few.T @ np.linalg.solve(system, wanted)
            continue
        if 2 * own.size <= n:
            products = factors[own].T @ weighted[own]
        else:
            present[own] = True
            missing = np.flatnonzero(~present)
            present[own] = False
            products = everything.copy()
            if missing.size:
                products -= factors[missing].T @ weighted[missing]
        right = weighted[own].T @ wanted
        for place in range(penalties.size):
            system = products.copy()
            for factor in range(rank):
                system[factor, factor] += penalties[place]
            solved[place, row] = np.linalg.solve(system, right)
    return solved
