"""Drawing choices: how much each drawn person chooses, what their tastes are, and which items.

All of it looks at a rule alone, which was learnt from noisy sums.
"""

from collections.abc import Iterator

import numpy as np
from numba import prange
from numpy.typing import NDArray
from scipy import linalg

from recveil.blas import one_thread
from recveil.compiled import compiled

Numbers = NDArray[np.float64]
Small = NDArray[np.float32]

# People are drawn in blocks of so many cells.
_CELLS = 1 << 22
# Items are gone through in one of so many orders, so that no two neighbours shut each other out.
_ORDERS = 64
# Log-odds beyond this are as good as sure.
_SURE = 60.0
# The tastes of so many people a direction are made uncorrelated: chance plays a smaller part then.
_MANY = 5


def blocks_of(n_people: int, n_items: int) -> Iterator[slice]:
    """Cut people into blocks that are drawn at once.

    Examples
    --------
    >>> list(blocks_of(3, 1 << 21))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    step = max(1, _CELLS // max(1, n_items))
    for start in range(0, n_people, step):
        yield slice(start, min(start + step, n_people))


def draw_orders(n_items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the orders in which items are gone through, shape (n_orders, n_items)."""
    return np.stack([rng.permutation(n_items) for _ in range(_ORDERS)])


def draw_crowd(
    activity: Numbers, tastes: Small, n_people: int, rng: np.random.Generator
) -> tuple[Numbers, Small]:
    """Return people's numbers of items, and their tastes, spread exactly.

    Parameters
    ----------
    activity : ndarray of float64, shape (n_activities,)
        Numbers of items, equally likely, ascending.
    tastes : ndarray of float32, shape (n_items, 1 + n_directions)
        Those of items; the first column goes with how much somebody chooses.
    n_people : int
    rng : Generator

    Returns
    -------
    numbers : ndarray of float64, shape (n_people,)
    own : ndarray of float32, shape (n_people, 1 + n_directions)
    """
    own = np.quantile(activity, (np.arange(n_people) + 0.5) / n_people)
    own = rng.permutation(own)
    spread = float(np.log(activity).std()) or 1.0
    logs = (np.log(own) - np.log(activity).mean()) / spread
    others = rng.normal(size=(n_people, tastes.shape[1] - 1))
    if n_people > _MANY * tastes.shape[1]:
        # One thread, so that the last bit of a sum does not depend on the machine.
        with one_thread():
            others -= others.mean(axis=0)
            covariance = others.T @ others / n_people
            others = linalg.solve_triangular(
                linalg.cholesky(covariance, lower=True), others.T, lower=True
            ).T
    return own, np.column_stack([logs, others]).astype(np.float32)


def pick_items(
    own: Small,
    activity: Numbers,
    offsets: Small,
    tastes: Small,
    orders: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[Small, NDArray[np.bool_]]:
    """Return how likely some people choose each item, and which they do.

    Parameters
    ----------
    own, activity : see `draw_crowd`
    offsets : ndarray of float32, shape (n_items,)
        Log-odds with which an item is chosen, up to an offset of the person.
    tastes : ndarray of float32, shape (n_items, 1 + n_directions)
    orders : ndarray of int64
        From `draw_orders`.
    rng : Generator

    Returns
    -------
    chances : ndarray of float32, shape (n_people, n_items)
    picked : ndarray of bool, shape (n_people, n_items)
        Nobody is without an item.
    """
    of_directions = np.ascontiguousarray(tastes[:, 1:])
    with one_thread():
        odds = own[:, 1:] @ of_directions.T
    odds += np.outer(own[:, 0], tastes[:, 0])
    odds += offsets
    # Raised to powers once for all: a person's own offset is then a factor.
    np.exp(np.clip(odds, -_SURE, _SURE, out=odds), out=odds)
    order_of = rng.integers(len(orders), size=len(own))
    starts = rng.random(len(own))
    picked = np.zeros(odds.shape, np.bool_)
    _pick(odds, activity, orders, order_of, starts, picked)
    return odds, picked


@compiled(parallel=True, fastmath={"reassoc"})
def _pick(odds, activity, orders, order_of, starts, picked):  # type: ignore[no-untyped-def]
    """Mark the items that each person rates, by systematic sampling; odds become chances."""
    n_people, n_items = odds.shape
    for person in prange(n_people):
        wanted = min(activity[person], 0.95 * n_items)
        offset = 0.0
        for _ in range(60):
            total, slope = 0.0, 1e-9
            factor = np.exp(offset)
            for item in range(n_items):
                raised = odds[person, item] * factor
                chance = raised / (1 + raised)
                total += chance
                slope += chance * (1 - chance)
            step = min(2.0, max(-2.0, (total - wanted) / slope))
            offset -= step
            if abs(step) < 1e-3:
                break
        factor = np.exp(offset)
        for item in range(n_items):
            raised = odds[person, item] * factor
            odds[person, item] = raised / (1 + raised)
        passed, next_one = 0.0, starts[person]
        likeliest, most = 0, -1.0
        n_picked = 0
        for item in orders[order_of[person]]:
            chance = odds[person, item]
            if chance > most:
                likeliest, most = item, chance
            passed += chance
            if passed > next_one:
                picked[person, item] = True
                n_picked += 1
                next_one += 1
        if n_picked == 0:  # nobody is without a rating
            picked[person, likeliest] = True
