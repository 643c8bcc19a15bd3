"""Ranking metrics: nDCG, recall and coverage of lists of n items.

`top` are the n best items, `relevant` each user's gains above 0. Means omit users without any.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.evaluation.split import HeldOut, UserRows
from recveil.ratings import RatingScale
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count

# Orders items with equal scores.
_TIES_SEED = 0


def top_items(scores: NDArray[np.float64], seen: UserRows, n: int = 10) -> NDArray[np.int64]:
    """Return the n items with the highest scores for each user, best first, shape (n_users, n).

    Parameters
    ----------
    scores : ndarray of float64, shape (n_users, n_items)
        All finite. Of equal scores the lower item position comes first.
    seen : UserRows
        Items that are not recommended again.
    n : int
        At least 1. Where fewer items than that are left, -1 fills up.

    Raises
    ------
    RecveilError
        If n is below 1, the rows do not fit the scores, or a score is not finite.

    Examples
    --------
    >>> seen = UserRows(np.array([0, 1]), np.array([1], np.int32), np.array([5.0]))
    >>> top_items(np.array([[1.0, 9.0, 3.0, 3.0]]), seen, 2)
    array([[2, 3]])
    """
    return _in_order(scores, seen, np.arange(scores.shape[1]), n)


def _in_order(
    scores: NDArray[np.float64], rows: UserRows, order: NDArray[np.int64], n: int
) -> NDArray[np.int64]:
    """Return `top_items`; of equal scores the item that comes first in this order is first."""
    if n < 1:
        raise RecveilError(f"n is {n}; expected lists of at least 1 item", code="argument.value")
    if len(scores) != rows.n_users:
        raise RecveilError(
            f"scores of {describe_count(len(scores), 'user')}, but rows of {rows.n_users}",
            code="argument.shape",
        )
    if not (np.isfinite(scores.sum()) or np.isfinite(scores).all()):
        raise RecveilError(
            "a score is not finite; expected numbers that can be ordered", code="argument.value"
        )
    return _top_items(np.ascontiguousarray(scores), rows.indptr, rows.indices, order, n)


def list_items(scores: NDArray[np.float64], seen: UserRows, n: int = 10) -> NDArray[np.int64]:
    """Return what `top_items` does, with ties in a fixed random order.

    Ids often follow time or popularity. In their order, a table that does not distinguish items
    would seem to rank well.

    Examples
    --------
    >>> seen = UserRows(np.array([0, 1]), np.array([1], np.int32), np.array([5.0]))
    >>> list_items(np.array([[1.0, 9.0, 3.0, 2.0]]), seen, 2)
    array([[2, 3]])
    """
    shuffled = np.random.default_rng(_TIES_SEED).permutation(scores.shape[1])
    return _in_order(scores, seen, shuffled, n)


def relevance_threshold(scale: RatingScale) -> float:
    """Return the rating from which an item is relevant: three quarters up the scale.

    >>> relevance_threshold(RatingScale(1, 5, 1))
    4.0
    """
    return scale.liked_from


def relevant_items(test: HeldOut, users: NDArray[Any], at_least: float) -> UserRows:
    """Return for each of some users the held-out items that they rated at least so high.

    Each of them has a gain of 1.

    Parameters
    ----------
    test : HeldOut
    users : ndarray of int, shape (n,)
        Positions, ascending; they are the rows of the result.
    at_least : float
        The relevance threshold, in rating points.

    Examples
    --------
    >>> test = HeldOut(np.array([3, 3, 7]), np.array([0, 2, 1]), np.array([5.0, 1.0, 4.0]))
    >>> rows = relevant_items(test, np.array([3, 7]), at_least=4)
    >>> rows.indptr, rows.indices
    (array([0, 1, 2]), array([0, 1], dtype=int32))
    """
    chosen = np.flatnonzero((test.values >= at_least) & np.isin(test.users, users))
    rows = np.searchsorted(users, test.users[chosen])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=users.size))])
    return UserRows(indptr, test.items[chosen].astype(np.int32), np.ones(chosen.size))


def ndcg(top: NDArray[np.int64], relevant: UserRows) -> NDArray[np.float64]:
    """Return each user's normalized discounted cumulative gain at n, shape (n_users,).

    The gain at place p (1, 2, ..., n) counts ``1 / log2(p + 1)``. The sum is divided by that of
    the best list of n items there could be.

    Parameters
    ----------
    top : ndarray of int64, shape (n_users, n)
        From `top_items`.
    relevant : UserRows
        Gains.

    Examples
    --------
    >>> relevant = UserRows(np.array([0, 2]), np.array([4, 8], np.int32), np.ones(2))
    >>> ndcg(np.array([[4, 5, 6]]), relevant)  # 1 / (1 + 1 / log2(3))
    array([0.61314719])
    """
    return _measure(top, relevant.indptr, relevant.indices, relevant.values)[0]


def gains_of_cells(
    top: NDArray[np.int64], rows: NDArray[np.int64], items: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the discount of each cell's place in its user's list, 0 if it is not listed.

    >>> gains_of_cells(np.array([[4, 5, 6]]), np.array([0, 0]), np.array([4, 8]))
    array([1., 0.])
    """
    gains = np.zeros(items.size)
    for place, listed in enumerate(top.T):
        gains[listed[rows] == items] = 1 / np.log2(place + 2)
    return gains


def recall(top: NDArray[np.int64], relevant: UserRows) -> NDArray[np.float64]:
    """Return the share of each user's relevant items that are in their list, shape (n_users,).

    The parameters are those of `ndcg`. It is below 1 for users with more than n relevant items.

    Examples
    --------
    >>> relevant = UserRows(np.array([0, 2]), np.array([4, 8], np.int32), np.ones(2))
    >>> recall(np.array([[4, 5, 6]]), relevant)
    array([0.5])
    """
    return _measure(top, relevant.indptr, relevant.indices, relevant.values)[1]


def coverage(top: NDArray[np.int64], n_items: int) -> float:
    """Return the share of the catalogue that is in any list.

    Examples
    --------
    >>> coverage(np.array([[0, 1], [1, -1]]), n_items=8)
    0.25
    """
    return np.unique(top[top >= 0]).size / n_items


class Ranking(NamedTuple):
    """Quality of lists of n items, over users.

    Attributes
    ----------
    ndcg, recall : float
        Means over the users with relevant items; nan if there are none.
    coverage : float
        Share of the catalogue in any list.
    n : int
        Length of the lists.
    n_users : int
        Users with relevant items.
    n_without : int
        Users without relevant held-out items, who are left out.
    """

    ndcg: float
    recall: float
    coverage: float
    n: int
    n_users: int
    n_without: int


def ranking(top: NDArray[np.int64], relevant: UserRows, n_items: int) -> Ranking:
    """Measure lists against what was relevant.

    Examples
    --------
    >>> relevant = UserRows(np.array([0, 1, 1]), np.array([2], np.int32), np.ones(1))
    >>> ranking(np.array([[2, 0], [1, 0]]), relevant, n_items=4)
    Ranking(ndcg=1.0, recall=1.0, coverage=0.75, n=2, n_users=1, n_without=1)
    """
    gained, found = _measure(top, relevant.indptr, relevant.indices, relevant.values)
    judged = ~np.isnan(gained)
    return Ranking(
        ndcg=float(gained[judged].mean()) if judged.any() else np.nan,
        recall=float(found[judged].mean()) if judged.any() else np.nan,
        coverage=coverage(top, n_items),
        n=top.shape[1],
        n_users=int(judged.sum()),
        n_without=int((~judged).sum()),
    )


@compiled()
def _top_items(
    scores: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    order: NDArray[Any],
    n: int,
) -> NDArray[Any]:
    """Insert each item into a sorted list of the n best so far; most never enter it."""
    n_users, n_items = scores.shape
    top = np.full((n_users, n), -1, np.int64)
    best = np.empty(n)
    seen = np.zeros(n_items, np.bool_)
    for user in range(n_users):
        own = indices[indptr[user] : indptr[user + 1]]
        seen[own] = True
        length = 0
        for item in order:
            score = scores[user, item]
            if seen[item] or (length == n and score <= best[n - 1]):
                continue
            place = length if length < n else n - 1
            while place > 0 and best[place - 1] < score:
                best[place], top[user, place] = best[place - 1], top[user, place - 1]
                place -= 1
            best[place], top[user, place] = score, item
            length = min(length + 1, n)
        seen[own] = False
    return top


@compiled()
def _measure(
    top: NDArray[Any], indptr: NDArray[Any], indices: NDArray[Any], gains: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return nDCG and recall of each user."""
    n_users, n = top.shape
    gained, found = np.full(n_users, np.nan), np.full(n_users, np.nan)
    for user in range(n_users):
        start, end = indptr[user], indptr[user + 1]
        if start == end:
            continue
        total, hits = 0.0, 0
        for place in range(n):
            at = start + np.searchsorted(indices[start:end], top[user, place])
            if at < end and indices[at] == top[user, place]:
                total += gains[at] / np.log2(place + 2)
                hits += 1
        ideal, highest = 0.0, -np.sort(-gains[start:end])
        for place in range(min(n, end - start)):
            ideal += highest[place] / np.log2(place + 2)
        gained[user], found[user] = total / ideal, hits / (end - start)
    return gained, found
