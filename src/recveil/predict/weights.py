"""Weights: how much the word of each other user counts to one user (k-coRating, eqs. 1, 3 to 5).

A row of weights is computed when it is needed and then forgotten: memory is a few numbers a user,
never users × users. Weights are kept in steps of 1/65520, two bytes each. So a row fits into a
core's own cache, and rounding noise does not choose between users who are equally near: the one
with the lower position comes first.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.compiled import compiled
from recveil.predict.crowd import Crowd

# The code of the weight 1. Code 0 is no neighbour: only positive weights count. All whole numbers
# up to ten divide it, so that simple fractions are codes and not halfway between two.
FULL = 65_520

# Where a weight comes from.
SIMILARITY, TRUST, LINKS = 0, 1, 2

# Columns of the working space of one row.
_SHARED, _SUM, _OWN, _THEIR = 0, 1, 2, 3


@brief
class Links(NamedTuple):
    """Users who point at users with a weight, in compressed rows.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_users + 1,)
    users : ndarray of int32, shape (n_links,)
        At whom each user points, ascending in each row and never themselves.
    codes : ndarray of uint16, shape (n_links,)
        The weights, in steps of 1/65520; positive.
    shared : ndarray of int32, shape (n_links,)
        How many items both have rated.
    """

    indptr: NDArray[np.int64]
    users: NDArray[np.int32]
    codes: NDArray[np.uint16]
    shared: NDArray[np.int32]


NO_LINKS = Links(
    np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint16), np.zeros(0, np.int32)
)


@brief
class Weighing(NamedTuple):
    """All that a row of weights is made of.

    Attributes
    ----------
    indptr, items, deviations, starts, raters, opinions : ndarray
        As in `Crowd`. A tuple in a tuple would cost the threads their counting of arrays.
    source : int
        `SIMILARITY`, `TRUST` or `LINKS`.
    min_overlap : int
        The least number of items that two users must share to be compared at all.
    significance : float
        A weight from n shared items is multiplied by ``min(n / significance, 1)``.
    link_indptr, link_users, link_codes, link_shared : ndarray
        As in `Links`. With `LINKS`: the weights. With `TRUST`: the ways over which trust is
        propagated; without rows, it is not.
    propagate : bool
        Whether trust goes one step beyond those who are trusted directly (eq. 5).
    """

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    deviations: NDArray[np.float32]
    starts: NDArray[np.int64]
    raters: NDArray[np.int32]
    opinions: NDArray[np.float32]
    source: int
    min_overlap: int
    significance: float
    link_indptr: NDArray[np.int64]
    link_users: NDArray[np.int32]
    link_codes: NDArray[np.uint16]
    link_shared: NDArray[np.int32]
    propagate: bool

    @classmethod
    def of(
        cls,
        crowd: Crowd,
        source: int,
        min_overlap: int,
        significance: float,
        links: Links = NO_LINKS,
        *,
        propagate: bool = False,
    ) -> "Weighing":
        """Put the parts together."""
        return cls(
            *crowd,
            source=source,
            min_overlap=int(min_overlap),
            significance=float(significance),
            link_indptr=links.indptr,
            link_users=links.users,
            link_codes=links.codes,
            link_shared=links.shared,
            propagate=bool(propagate),
        )


@brief
class Desk(NamedTuple):
    """Working space of one thread.

    Attributes
    ----------
    codes : ndarray of uint16, shape (n_users,)
        The row of weights.
    sums : ndarray of float32, shape (n_users, 4)
        What a user and each other one share: the number of items, then three sums over them.
    reach : ndarray of float64, shape (n_users, 2)
        Trust by way of others: the weighted sum and its weight; zero between rows.
    """

    codes: NDArray[np.uint16]
    sums: NDArray[np.float32]
    reach: NDArray[np.float64]


@compiled()
def new_desk(n_users: int) -> Desk:
    """Make working space; it is zero."""
    return Desk(
        np.zeros(n_users, np.uint16),
        np.zeros((n_users, 4), np.float32),
        np.zeros((n_users, 2), np.float64),
    )


@compiled()
def weigh(weighing: Weighing, user: int, desk: Desk) -> None:
    """Write the weights that everybody has to one user to `desk.codes`, their own as 0."""
    if weighing.source == LINKS:
        _follow_links(weighing, user, desk)
    else:
        desk.sums[:] = 0
        if weighing.source == SIMILARITY:
            _compare(weighing, user, desk.sums)
        else:
            _trust(weighing, user, desk.sums)
        _encode(weighing, desk)
        desk.codes[user] = 0
    if weighing.propagate:
        _propagate(weighing, user, desk)


@compiled()
def _compare(weighing: Weighing, user: int, sums: NDArray[Any]) -> None:
    """Add up eq. 1 for everybody at once: shared items, products, and both sums of squares."""
    one = np.float32(1)
    for at in range(weighing.indptr[user], weighing.indptr[user + 1]):
        own = weighing.deviations[at]
        own_square = own * own
        item = weighing.items[at]
        # Unsigned places spare numba the check for negative ones.
        first, end = np.uint64(weighing.starts[item]), np.uint64(weighing.starts[item + 1])
        for place in range(first, end):
            other = np.uint64(weighing.raters[place])
            their = weighing.opinions[place]
            sums[other, _SHARED] += one
            sums[other, _SUM] += own * their
            sums[other, _OWN] += own_square
            sums[other, _THEIR] += their * their


@compiled()
def _trust(weighing: Weighing, user: int, sums: NDArray[Any]) -> None:
    """Add up eq. 3 for everybody at once: shared items, and how far eq. 4 is from the truth.

    Eq. 4 predicts the user's mean plus the other's deviation, so what it is off by is the
    difference of the two deviations.
    """
    one = np.float32(1)
    for at in range(weighing.indptr[user], weighing.indptr[user + 1]):
        own = weighing.deviations[at]
        item = weighing.items[at]
        first, end = np.uint64(weighing.starts[item]), np.uint64(weighing.starts[item + 1])
        for place in range(first, end):
            other = np.uint64(weighing.raters[place])
            sums[other, _SHARED] += one
            sums[other, _SUM] += one - abs(own - weighing.opinions[place])


@compiled()
def _encode(weighing: Weighing, desk: Desk) -> None:
    """Turn sums into weights."""
    codes, sums = desk.codes, desk.sums
    least = np.float32(weighing.min_overlap)
    full, half = np.float32(FULL), np.float32(0.5)
    damping = np.float32(1 / weighing.significance)
    for other in range(codes.size):
        shared, total = sums[other, _SHARED], sums[other, _SUM]
        codes[other] = 0
        if shared < least or total <= 0:
            continue
        if weighing.source == SIMILARITY:
            length = math.sqrt(sums[other, _OWN]) * math.sqrt(sums[other, _THEIR])
            if length == 0:  # one of the two has no opinion on what they share
                continue
        else:
            length = shared
        weight = min(total / length, np.float32(1)) * min(shared * damping, np.float32(1))
        codes[other] = np.uint16(weight * full + half)


@compiled()
def _follow_links(weighing: Weighing, user: int, desk: Desk) -> None:
    desk.codes[:] = 0
    for at in range(weighing.link_indptr[user], weighing.link_indptr[user + 1]):
        desk.codes[weighing.link_users[at]] = weighing.link_codes[at]


@compiled()
def _propagate(weighing: Weighing, user: int, desk: Desk) -> None:
    """Give whoever has nothing to do with the user directly the trust that others have in them.

    Eq. 5 for one way; over several ways, the mean with the same weights.
    """
    indptr, users = weighing.link_indptr, weighing.link_users
    for first in range(indptr[user], indptr[user + 1]):
        friend = users[first]
        near = max(1, weighing.link_shared[first])
        for second in range(indptr[friend], indptr[friend + 1]):
            other = users[second]
            if other == user or _knows(weighing, desk, other):
                continue
            far = max(1, weighing.link_shared[second])
            trust = near * float(weighing.link_codes[first])
            desk.reach[other, 0] += trust + far * float(weighing.link_codes[second])
            desk.reach[other, 1] += near + far
    for first in range(indptr[user], indptr[user + 1]):
        friend = users[first]
        for second in range(indptr[friend], indptr[friend + 1]):
            other = users[second]
            if desk.reach[other, 1] > 0:
                trust = desk.reach[other, 0] / desk.reach[other, 1]
                desk.codes[other] = np.uint16(trust + 0.5)
                desk.reach[other] = 0


@compiled()
def _knows(weighing: Weighing, desk: Desk, other: int) -> bool:
    """Tell whether the user and another one are directly related, well or badly."""
    if weighing.source == LINKS:
        return desk.codes[other] > 0
    return desk.sums[other, _SHARED] >= weighing.min_overlap


@compiled()
def count_shared(
    indptr: NDArray[Any], items: NDArray[Any], first: NDArray[Any], second: NDArray[Any]
) -> NDArray[Any]:
    """Count the items that two users have both rated, for pairs of them.

    Parameters
    ----------
    indptr, items : ndarray
        As in `Crowd`.
    first, second : ndarray of int, shape (n,)
        Positions of users.

    Returns
    -------
    ndarray of int32, shape (n,)

    Examples
    --------
    >>> indptr, items = np.array([0, 2, 5]), np.array([1, 4, 0, 1, 4])
    >>> count_shared(indptr, items, np.array([0, 1]), np.array([1, 1]))
    array([2, 3], dtype=int32)
    """
    counts = np.zeros(first.size, np.int32)
    for pair in range(first.size):
        one, other = indptr[first[pair]], indptr[second[pair]]
        while one < indptr[first[pair] + 1] and other < indptr[second[pair] + 1]:
            counts[pair] += items[one] == items[other]
            step_one, step_other = items[one] <= items[other], items[other] <= items[one]
            one += step_one
            other += step_other
    return counts
