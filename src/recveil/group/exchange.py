"""Exchange: within a leaf, rows change groups as long as that brings the groups together.

The kernels of `KGather`. They are plain loops, because numba compiles whole-array operations
several times slower.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.compiled import compiled
from recveil.group.distances import lowest

# A sum may be added up in any order: this lets the compiler use vector instructions.
_ANY_ORDER = {"reassoc", "contract", "nsz"}


@brief
class Leaf(NamedTuple):
    """Neighbouring groups and their rows; the kernels change all but the rows in place.

    Attributes
    ----------
    rows : ndarray of float32, shape (m, d)
    group : ndarray of int64, shape (m,)
        The group of each row.
    members : ndarray of int64, shape (g, 2k - 1)
        The rows of each group; those from its size on mean nothing.
    sizes : ndarray of int64, shape (g,)
        How many members each group has: k to 2k - 1, or 0 once it is dissolved.
    centroids : ndarray of float32, shape (g, d)
    regret : ndarray of float32, shape (m,)
        By how much the squared distance of a row from its own centroid exceeded that from the
        nearest other centroid, halved, when the row was last looked at.
    """

    rows: NDArray[np.float32]
    group: NDArray[np.int64]
    members: NDArray[np.int64]
    sizes: NDArray[np.int64]
    centroids: NDArray[np.float32]
    regret: NDArray[np.float32]


@brief
class Noise(NamedTuple):
    """What is added to the gains, so that a group may get worse for a while.

    Attributes
    ----------
    gumbel : ndarray of float32, shape (s,)
        Standard Gumbel noise; s is at least 4k more than any of `start`.
    start : ndarray of int64, shape (m,)
        From where on each row reads it.
    temperature : float32
        Its scale; 0 takes improvements only.
    """

    gumbel: NDArray[np.float32]
    start: NDArray[np.int64]
    temperature: np.float32


@compiled()
def mdav_of_leaf(gram: NDArray[Any], k: int) -> NDArray[Any]:
    """MDAV-generic on rows that are known by their scalar products only.

    Domingo-Ferrer & Torra 2005, section 3. The distances of the rows from their centroid
    differ by a constant from what a sum over the rows left tells, and that sum is kept up to date:
    m rows cost O(m²) steps, whatever their dimension.

    Parameters
    ----------
    gram : ndarray of float32, shape (m, m)
        Scalar products; best of rows whose mean is 0, since squares of large numbers cancel badly.
    k : int
        Precondition: 1 <= k <= m.

    Returns
    -------
    ndarray of int64, shape (m,)
        The group of each row, 0 to floor(m / k) - 1. All have k rows, the last one what is left.

    Examples
    --------
    >>> column = np.array([[-5], [5], [-4], [4], [0]], dtype=np.float32)
    >>> mdav_of_leaf(column @ column.T, 2)
    array([0, 1, 0, 1, 1])
    """
    n_groups = len(gram) // k
    label = np.full(len(gram), n_groups - 1)
    is_left = np.ones(len(gram), dtype=np.bool_)
    with_left = _sum_of_rows(gram)  # each row's scalar product with the sum of those left
    centre = 0
    for group in range(n_groups - 1):
        # Groups come in pairs: one around the row most distant from the centroid of those left,
        # one around the row most distant from that row.
        n_left = np.float32(len(gram) - group * k)
        products = gram[centre].copy() if group % 2 else with_left / n_left
        centre = _most_distant(gram, products, is_left)
        for i in _nearest_left(gram, centre, is_left, k):
            label[i] = group
            is_left[i] = False
            for j in range(len(gram)):
                with_left[j] -= gram[i, j]
    return label


@compiled()
def _sum_of_rows(gram: NDArray[Any]) -> NDArray[Any]:
    total = np.zeros(len(gram), dtype=np.float32)
    for i in range(len(gram)):
        for j in range(len(gram)):
            total[j] += gram[i, j]
    return total


@compiled()
def _most_distant(gram: NDArray[Any], products: NDArray[Any], is_left: NDArray[Any]) -> int:
    """Return the row of those left that is most distant from a point, by its scalar products."""
    farthest, most_distant = np.float32(-np.inf), 0
    for j in range(len(gram)):
        if is_left[j] and gram[j, j] - 2 * products[j] > farthest:
            farthest, most_distant = gram[j, j] - 2 * products[j], j
    return most_distant


@compiled()
def _nearest_left(gram: NDArray[Any], centre: int, is_left: NDArray[Any], k: int) -> NDArray[Any]:
    """Return the k rows of those left that are nearest to one of them, itself among them."""
    distance = np.empty(len(gram), dtype=np.float32)
    for j in range(len(gram)):
        distance[j] = gram[j, j] - 2 * gram[centre, j] if is_left[j] else np.inf
    distance[centre] = -np.inf  # ahead of its duplicates
    return lowest(distance, k)


@compiled()
def rows_by_group(labels: NDArray[Any], starts: NDArray[Any]) -> NDArray[np.int64]:
    """List the rows group after group, in ascending order within each.

    Examples
    --------
    >>> rows_by_group(np.array([0, 1, 0]), np.array([0, 2, 3]))
    array([0, 2, 1])
    """
    following = starts.copy()
    rows = np.empty(len(labels), dtype=np.int64)
    for i in range(len(labels)):
        rows[following[labels[i]]] = i
        following[labels[i]] += 1
    return rows


@compiled()
def sums_of_groups(
    X: NDArray[Any], order: NDArray[Any], starts: NDArray[Any]
) -> NDArray[np.float64]:
    """Add up the rows of each group, in float64; shape (n_groups, d).

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> sums_of_groups(X, np.array([0, 2, 1]), np.array([0, 2, 3]))
    array([[5.],
           [2.]])
    """
    sums = np.zeros((len(starts) - 1, X.shape[1]))
    for group in range(len(sums)):
        for i in order[starts[group] : starts[group + 1]]:
            for c in range(X.shape[1]):
                sums[group, c] += X[i, c]
    return sums


@compiled()
def exchange(leaf: Leaf, nearness: NDArray[Any], first: int, k: int, noise: Noise) -> int:
    """Let rows, one after the other, swap places with a member of a nearby group, or move there.

    Each row looks at the two nearest other groups and carries out the best exchange: with the
    highest gain, that is by how much the sum of squared distances to the centroids falls, plus
    noise.

    Parameters
    ----------
    leaf : Leaf
    nearness : ndarray of float32, shape (b, g)
        x · c - |c|² / 2 for the rows from `first` on and all centroids. It picks the groups to look
        at, so it need not be up to date; gains are.
    first : int
    k : int
    noise : Noise

    Returns
    -------
    int
        How many exchanges there were.
    """
    n_exchanges = 0
    for i in range(first, first + len(nearness)):
        nearest, second = _two_nearest(leaf, i, nearness[i - first])
        to, place = _best_exchange(leaf, i, nearest, second, k, noise)
        if to >= 0:
            _carry_out(leaf, i, to, place)
            n_exchanges += 1
    return n_exchanges


@compiled()
def _two_nearest(leaf: Leaf, i: int, nearness: NDArray[Any]) -> tuple[int, int]:
    """Return the two groups to look at besides the row's own (or -1); note what it regrets."""
    own = leaf.group[i]
    nearest, second = -1, -1
    highest, next_highest = np.float32(-np.inf), np.float32(-np.inf)
    for b in range(len(nearness)):
        if nearness[b] > next_highest and b != own:
            if nearness[b] > highest:
                second, next_highest = nearest, highest
                nearest, highest = b, nearness[b]
            else:
                second, next_highest = b, nearness[b]
    leaf.regret[i] = highest - nearness[own]
    return nearest, second


@compiled(fastmath=_ANY_ORDER)
def _best_exchange(
    leaf: Leaf, i: int, nearest: int, second: int, k: int, noise: Noise
) -> tuple[int, int]:
    """Return the group to go to, or -1, and the place of the member that comes back, or -1.

    With centroids p and q of groups of a and b rows, to swap x for y lowers the sum of squares by
    ``d · ((1/a + 1/b) d - 2 (p - q))`` where d = x - y. To move x takes away a / (a - 1) |x - p|²
    and adds b / (b + 1) |x - q|².
    """
    rows, sizes, centroids = leaf.rows, leaf.sizes, leaf.centroids
    dimension = rows.shape[1]
    a, at = leaf.group[i], noise.start[i]
    to, place = -1, -1
    best = noise.temperature * noise.gumbel[at]  # to stay gains nothing, but has its noise too
    apart = np.empty(dimension, dtype=np.float32)
    for b in (nearest, second):
        if b < 0:
            continue
        if sizes[a] > k and sizes[b] < 2 * k - 1:
            out, into = _squared_distance(leaf, i, a), _squared_distance(leaf, i, b)
            gain = out * sizes[a] / (sizes[a] - 1) - into * sizes[b] / (sizes[b] + 1)
            at += 1
            value = np.float32(gain) + noise.temperature * noise.gumbel[at]
            if value > best:
                best, to, place = value, b, -1
        for c in range(dimension):
            apart[c] = 2 * (centroids[a, c] - centroids[b, c])
        weight = np.float32(1 / sizes[a] + 1 / sizes[b])
        for s in range(sizes[b]):
            j = leaf.members[b, s]
            gained = np.float32(0)
            for c in range(dimension):
                step = rows[i, c] - rows[j, c]
                gained += step * (weight * step - apart[c])
            at += 1
            value = gained + noise.temperature * noise.gumbel[at]
            if value > best:
                best, to, place = value, b, s
    return to, place


@compiled(fastmath=_ANY_ORDER)
def _squared_distance(leaf: Leaf, i: int, group: int) -> float:
    distance = np.float32(0)
    for c in range(leaf.rows.shape[1]):
        step = leaf.rows[i, c] - leaf.centroids[group, c]
        distance += step * step
    return float(distance)


@compiled()
def _carry_out(leaf: Leaf, i: int, to: int, place: int) -> None:
    """Bring row i into a group, in exchange for the member at a place, or for nobody (-1)."""
    rows, group, members, sizes, centroids = leaf[:5]
    own = group[i]
    own_place = 0
    while members[own, own_place] != i:
        own_place += 1
    if place < 0:
        sizes[own] -= 1
        sizes[to] += 1
        members[own, own_place] = members[own, sizes[own]]
        members[to, sizes[to] - 1] = i
        for c in range(rows.shape[1]):
            if sizes[own] > 0:
                centroids[own, c] += (centroids[own, c] - rows[i, c]) / sizes[own]
            centroids[to, c] += (rows[i, c] - centroids[to, c]) / sizes[to]
    else:
        j = members[to, place]
        group[j] = own
        members[own, own_place] = j
        members[to, place] = i
        for c in range(rows.shape[1]):
            step = rows[j, c] - rows[i, c]
            centroids[own, c] += step / sizes[own]
            centroids[to, c] -= step / sizes[to]
    group[i] = to


@compiled()
def dissolve(leaf: Leaf, k: int) -> None:
    """Dissolve groups whose members, taken together, are better off each in the nearest other one.

    Swaps cannot do this: where two crowds lie far apart and neither counts a multiple of k, some of
    floor(n / k) groups must straddle both.

    Parameters
    ----------
    leaf : Leaf
        Dissolved groups get the size 0.
    k : int
    """
    for a in range(len(leaf.sizes)):
        members = leaf.members[a, : leaf.sizes[a]].copy()
        before, regret, after = 0.0, 0.0, 0.0
        for i in members:
            before += _squared_distance(leaf, i, a)
            regret += leaf.regret[i]
        # A row that joins b >= k others at the squared distance D adds D b / (b + 1), and D is not
        # less than its distance from its own centroid minus twice its regret. If even that bound is
        # not below what there is, looking for groups with room is in vain.
        if before + 2 * k * regret <= 0 or _room(leaf, a, k) < len(members):
            continue
        for i in members:
            after += _price(leaf, i, _nearest_with_room(leaf, i, k))
        if after < before:
            for i in members:
                _carry_out(leaf, i, _nearest_with_room(leaf, i, k), -1)


@compiled()
def _room(leaf: Leaf, without: int, k: int) -> int:
    """Count the rows that the other groups could take before one of them has 2k."""
    room = 0
    for b in range(len(leaf.sizes)):
        if b != without and leaf.sizes[b] > 0:
            room += 2 * k - 1 - leaf.sizes[b]
    return room


@compiled()
def _nearest_with_room(leaf: Leaf, i: int, k: int) -> int:
    nearest, least = -1, np.float32(np.inf)
    for b in range(len(leaf.sizes)):
        if b != leaf.group[i] and 0 < leaf.sizes[b] < 2 * k - 1:
            distance = _squared_distance(leaf, i, b)
            if distance < least:
                nearest, least = b, distance
    return nearest


@compiled()
def _price(leaf: Leaf, i: int, to: int) -> float:
    """Return by how much the sum of squares of a group rises when row i joins it."""
    return _squared_distance(leaf, i, to) * leaf.sizes[to] / (leaf.sizes[to] + 1)
