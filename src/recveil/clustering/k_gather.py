"""MDAV in small leaves, followed by exchanges between neighbouring groups."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from recveil.clustering.base import Grouping, RandomState, at_least, lowest
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import pool

# More centres make rounder cells. The mean of some tens of rows is near enough to a cell's.
_MOST_CELLS = 256
_SAMPLED_ROWS_PER_CELL = 32
_TILE = 4096  # rows whose products with all centres stay in the processor's cache


def voronoi_leaves(
    X: NDArray[np.float32], most: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Part rows into neighbourhoods of at most `most` rows: the leaves of a Voronoi tree.

    A node with more rows draws centres, moves these by one step of Lloyd's algorithm on a sample,
    and gives each row to the nearest; small cells that are neighbours on a chain become one node. A
    node that does not split (equal rows) is halved. Time is O(n log n) for data without extremes.
    """
    leaves = []
    nodes = [np.arange(len(X))]
    while nodes:
        node = nodes.pop()
        if len(node) <= most:
            leaves.append(node)
        else:
            nodes.extend(reversed(_split(X, node, most, rng)))
    return leaves


def _split(
    X: NDArray[np.float32], node: NDArray[np.int64], most: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    n_cells = min(_MOST_CELLS, len(node), -(-2 * len(node) // most))
    centres = _centres(X, node, n_cells, rng)
    chain = _chain(centres)
    cell = _nearest(X, node, centres[chain])
    sizes = np.bincount(cell, minlength=n_cells)
    if sizes.max() == len(node):
        return np.array_split(node, 2)
    # Numbers this small are sorted by radix, in linear time.
    in_order = node[np.argsort(cell.astype(np.uint16), kind="stable")]
    return np.split(in_order, _cuts(sizes, most))


def _centres(
    X: NDArray[np.float32], node: NDArray[np.int64], n_cells: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Draw rows as centres; move each to the mean of the sampled rows to which it is nearest."""
    n_sampled = min(len(node), n_cells * _SAMPLED_ROWS_PER_CELL)
    sample = node[rng.choice(len(node), n_sampled, replace=False)]
    centres = X[sample[:n_cells]]
    is_in = np.zeros((n_cells, n_sampled), dtype=np.float32)
    is_in[_nearest(X, sample, centres), np.arange(n_sampled)] = 1
    sizes = is_in.sum(axis=1, keepdims=True)
    return np.where(sizes > 0, is_in @ X[sample] / np.maximum(sizes, 1), centres)


def _nearest(
    X: NDArray[np.float32], node: NDArray[np.int64], centres: NDArray[np.float32]
) -> NDArray[np.intp]:
    """Return the nearest centre to each row; of equally near ones, the first."""
    # |x - c|² is least where x · c - |c|² / 2 is greatest.
    half_squares = (centres**2).sum(axis=1) / 2
    nearest = np.empty(len(node), dtype=np.intp)
    for start in range(0, len(node), _TILE):
        tile = slice(start, start + _TILE)
        nearest[tile] = (X[node[tile]] @ centres.T - half_squares).argmax(axis=1)
    return nearest


def _chain(centres: NDArray[Any]) -> NDArray[np.intp]:
    """Order the centres so that each is followed by the nearest one left."""
    squares = (centres**2).sum(axis=1)
    gaps = squares[:, np.newaxis] + squares - 2 * centres @ centres.T
    chain = np.zeros(len(centres), dtype=np.intp)
    gaps[:, 0] = np.inf
    for at in range(1, len(centres)):
        chain[at] = gaps[chain[at - 1]].argmin()
        gaps[:, chain[at]] = np.inf
    return chain


def _cuts(sizes: NDArray[np.intp], most: int) -> list[int]:
    """Return where to cut the chain: after as many cells as fit into a leaf, or one that does not.

    >>> _cuts(np.array([2, 1, 1, 9, 2, 3]), 4)
    [4, 13, 15]
    """
    cuts, start, end = [], 0, 0
    for size in sizes[sizes > 0].tolist():  # an empty cell is no leaf
        if end > start and end + size - start > most:
            cuts.append(end)
            start = end
        end += size
    return cuts


# A sum may be added up in any order: this lets the compiler use vector instructions.
_ANY_ORDER = {"reassoc", "contract", "nsz"}


@brief
class Leaf(NamedTuple):
    """Neighbouring groups and their rows; the kernels change all but the rows in place."""

    rows: NDArray[np.float32]
    # The group of each row
    group: NDArray[np.int64]
    # The rows of each group; those from its size on mean nothing
    members: NDArray[np.int64]
    # How many members each group has: k to 2k - 1, or 0 once it is dissolved
    sizes: NDArray[np.int64]
    centroids: NDArray[np.float32]
    # By how much the squared distance of a row from its own centroid exceeded that from the nearest
    # other centroid, halved, when the row was last looked at
    regret: NDArray[np.float32]


@brief
class Noise(NamedTuple):
    """What is added to the gains, so that a group may get worse for a while."""

    # Standard Gumbel noise; s is at least 4k more than any of `start`
    gumbel: NDArray[np.float32]
    # From where on each row reads it
    start: NDArray[np.int64]
    # Its scale; 0 takes improvements only
    temperature: np.float32


@compiled()
def mdav_of_leaf(gram: NDArray[Any], k: int) -> NDArray[Any]:
    """MDAV-generic on rows that are known by their scalar products only; returns groups from 0.

    Domingo-Ferrer & Torra 2005, section 3. Distances from the centroid differ by a constant from a
    sum over the remaining rows, which is updated: O(m²) steps. Best of rows with mean 0. 1 <= k <=
    m.
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
    """Add up the rows of each group, in float64; shape (n_groups, d)."""
    sums = np.zeros((len(starts) - 1, X.shape[1]))
    for group in range(len(sums)):
        for i in order[starts[group] : starts[group + 1]]:
            for c in range(X.shape[1]):
                sums[group, c] += X[i, c]
    return sums


@compiled()
def exchange(leaf: Leaf, nearness: NDArray[Any], first: int, k: int, noise: Noise) -> int:
    """Let rows swap places with a member of a nearby group, or move there; return how many did.

    Each row carries out its best exchange with the two nearest other groups by `nearness`, shape
    (b, g): x · c - |c|² / 2 for the rows from `first` on and all centroids.
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
    """Return the two nearest groups other than the row's own (or -1), and record its regret."""
    source = leaf.group[i]
    nearest, second = -1, -1
    highest, next_highest = np.float32(-np.inf), np.float32(-np.inf)
    for b in range(len(nearness)):
        if nearness[b] > next_highest and b != source:
            if nearness[b] > highest:
                second, next_highest = nearest, highest
                nearest, highest = b, nearness[b]
            else:
                second, next_highest = b, nearness[b]
    leaf.regret[i] = highest - nearness[source]
    return nearest, second


@compiled(fastmath=_ANY_ORDER)
def _best_exchange(
    leaf: Leaf, i: int, nearest: int, second: int, k: int, noise: Noise
) -> tuple[int, int]:
    """Return the group to go to, or -1, and the place of the member that comes back, or -1."""
    # With centroids p and q of groups of a and b rows, to swap x for y lowers the sum of squares by
    # ``d · ((1/a + 1/b) d - 2 (p - q))`` where d = x - y. To move x takes away a / (a - 1) |x - p|²
    # and adds b / (b + 1) |x - q|².
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
    """Move row i into a group, in exchange for the member at a place, or for no member (-1)."""
    rows, group, members, sizes, centroids = leaf[:5]
    source = group[i]
    source_place = 0
    while members[source, source_place] != i:
        source_place += 1
    if place < 0:
        sizes[source] -= 1
        sizes[to] += 1
        members[source, source_place] = members[source, sizes[source]]
        members[to, sizes[to] - 1] = i
        for c in range(rows.shape[1]):
            if sizes[source] > 0:
                centroids[source, c] += (centroids[source, c] - rows[i, c]) / sizes[source]
            centroids[to, c] += (rows[i, c] - centroids[to, c]) / sizes[to]
    else:
        j = members[to, place]
        group[j] = source
        members[source, source_place] = j
        members[to, place] = i
        for c in range(rows.shape[1]):
            step = rows[j, c] - rows[i, c]
            centroids[source, c] += step / sizes[source]
            centroids[to, c] -= step / sizes[to]
    group[i] = to


@compiled()
def dissolve(leaf: Leaf, k: int) -> None:
    """Dissolve groups whose members lower the SSE by joining their nearest other groups.

    Swaps cannot do this: if two clusters are far apart and neither has a multiple of k rows, some
    of floor(n / k) groups must straddle both.
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
            after += _cost_of_joining(leaf, i, _nearest_with_room(leaf, i, k))
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
def _cost_of_joining(leaf: Leaf, i: int, to: int) -> float:
    """Return by how much the sum of squares of a group rises when row i joins it."""
    return _squared_distance(leaf, i, to) * leaf.sizes[to] / (leaf.sizes[to] + 1)


_ROWS_PER_LEAF = 3000  # of the first groups: their Gram matrix takes 36 MB
_ROWS_PER_BLOCK = 512  # of a leaf: their products with all centroids stay in the fast cache
_MORE_SWEEPS = 3  # a round, if one leaf holds all groups: no new leaves would help it
_NOISE = 2**14
_GROUPS_PER_PART = 4096  # whose sums one thread adds up


class KGather(Grouping):
    """k-gather: MDAV-generic in small neighbourhoods, then swaps and moves that lower the SSE.

    This library's own. SSE is the sum of squared distances to the groups' centroids; k is
    `min_size`.

    - *Start*: the rows are cut into neighbourhoods of at most 3000 (`voronoi_leaves`), and each is
      grouped by MDAV-generic; fewer than k rows left over go on to the next. There are
      floor(n / k) groups.
    - *Rounds*: the groups are cut into neighbourhoods anew, by their centroids. Within one, every
      row looks at the two nearest other groups. It swaps places with one of their members, or
      moves there where the sizes allow it, if that lowers the SSE (`exchange`).
    - *Annealing*: from the second round on, noise lets groups get worse for a while, less with
      every round and not at all in the last. It finds ways out of local optima.
    - *Dissolving*: in the second half of the rounds, a group that straddles distant clusters is
      given up if its members are better off in other groups (`dissolve`). Then there are fewer than
      floor(n / k) groups, and the SSE is lower.

    The groups with the lowest SSE of all rounds are kept, so it is never above that of the start.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows. The start
    makes such groups, a swap changes no size, and no row leaves a group of k, or enters one of
    2k - 1, except when a whole group is dissolved.

    Time is O(n k log n) for data without extremes, as no neighbourhood grows with n; memory is
    linear. Neighbourhoods are worked on by as many threads as numba may use, which share nothing
    and change nothing in the result.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    n_rounds : int, default 24
        How often rows are exchanged. More rounds cost as much time each and gain ever less.
    anneal : float, default 0.6
        The scale of the noise in the second round, in units of the mean gain of the first round's
        exchanges. 0 takes improvements only.
    random_state : int, RandomState, Generator or None
        Draws neighbourhoods and noise. The same seed gives the same groups.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [2.0]]
    >>> KGather(min_size=2, random_state=0).fit(X).labels_
    array([0, 1, 0, 1, 0])
    """

    def __init__(
        self,
        min_size: int = 5,
        n_rounds: int = 24,
        anneal: float = 0.6,
        random_state: RandomState = None,
    ) -> None:
        self.min_size = min_size
        self.n_rounds = n_rounds
        self.anneal = anneal
        self.random_state = random_state

    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        at_least("n_rounds", self.n_rounds, 0)
        if not 0 <= self.anneal < np.inf:
            raise RecveilError(
                f"anneal: expected a number, 0 or more, got {self.anneal!r}", code="argument.value"
            )
        k = self.min_size
        if len(X) < 2 * k:
            return np.zeros(len(X), dtype=np.int64)
        if k == 1:
            return np.arange(len(X))
        with pool(numba.get_num_threads()) as workers:
            groups = GroupState(X, k, rng, workers.map)
            best, closest, unit = groups.labels, groups.closeness, 0.0
            for number in range(self.n_rounds):
                before, left = groups.closeness, 1 - number / max(self.n_rounds - 1, 1)
                n_exchanges = groups.exchange(
                    self.anneal * unit * left, number >= self.n_rounds / 2
                )
                if number == 0:
                    unit = max(groups.closeness - before, 0) / max(n_exchanges, 1)
                if groups.closeness > closest:
                    best, closest = groups.labels, groups.closeness
        return best


class GroupState:
    """The current groups, and the steps of a round.

    `map` calls a function with each of some arguments, perhaps at the same time. `labels` is the
    group of each row; every round makes a new array. `closeness` is the sum of the squared norms of
    the rows' centroids: what it rises by, the SSE falls by, since the two add up to the sum of the
    squared norms of the rows. Precondition: 2 <= k and 2k <= n.
    """

    def __init__(
        self,
        X: NDArray[np.float32],
        k: int,
        rng: np.random.Generator,
        map: Callable[..., Iterable[Any]] = map,
    ) -> None:
        self.X = X
        self.k = k
        self.rng = rng
        self.map = map
        self._update_groups(self._start())

    def _start(self) -> NDArray[np.int64]:
        """Group the rows of each leaf by MDAV; what a leaf has beyond a multiple of k, the next."""
        labels = np.empty(len(self.X), dtype=np.int64)
        n_groups = len(self.X) // self.k
        leaves = voronoi_leaves(self.X, _ROWS_PER_LEAF, self.rng)
        order = np.concatenate(leaves)
        ends = np.cumsum([len(leaf) for leaf in leaves]) // self.k
        cuts = np.unique(np.append(0, ends))  # in groups, where leaves begin and end

        def group(first: int, end: int) -> None:
            rows = order[first * self.k : end * self.k if end < n_groups else None]
            points = self.X[rows] - self.X[rows].mean(axis=0)
            labels[rows] = first
            if end - first > 1:
                labels[rows] += mdav_of_leaf(points @ points.T, self.k)

        list(self.map(group, cuts[:-1].tolist(), cuts[1:].tolist()))
        return labels

    def _update_groups(self, labels: NDArray[np.int64]) -> None:
        """Note which rows form each group, and their centroid."""
        sizes = np.bincount(labels)
        is_there = sizes > 0  # not so a group that was dissolved
        self.labels = (np.cumsum(is_there) - 1)[labels]
        self._sizes = sizes[is_there]
        self._starts = np.append(0, np.cumsum(self._sizes))
        self._order = rows_by_group(self.labels, self._starts)
        self._centroids = np.empty((len(self._sizes), self.X.shape[1]), dtype=np.float32)

        def centre(first: int) -> NDArray[np.float64]:
            part = slice(first, first + _GROUPS_PER_PART)
            starts = self._starts[first : first + _GROUPS_PER_PART + 1]
            sums = sums_of_groups(self.X, self._order, starts)
            self._centroids[part] = sums / self._sizes[part, np.newaxis]
            return (sums**2).sum(axis=1) / self._sizes[part]

        parts = range(0, len(self._sizes), _GROUPS_PER_PART)
        self.closeness = float(np.concatenate(list(self.map(centre, parts))).sum())

    def exchange(self, temperature: float, dissolving: bool) -> int:
        """Exchange rows within neighbourhoods drawn anew."""
        leaves = voronoi_leaves(self._centroids, max(512, 3200 // self.k), self.rng)
        gumbel = self.rng.gumbel(size=_NOISE + 4 * self.k).astype(np.float32)
        noise_from = self.rng.integers(_NOISE, size=len(self.X))
        labels = np.empty_like(self.labels)

        def work(groups: NDArray[np.int64]) -> int:
            leaf, rows = self._leaf(groups)
            noise = Noise(gumbel, noise_from[rows], np.float32(temperature))
            n_sweeps = 1 if len(leaves) > 1 else _MORE_SWEEPS
            n_exchanges = sum(_sweep(leaf, self.k, noise) for _ in range(n_sweeps))
            if dissolving:
                dissolve(leaf, self.k)
            labels[rows] = groups[leaf.group]
            return n_exchanges

        n_exchanges = sum(self.map(work, leaves))
        self._update_groups(labels)
        return n_exchanges

    def _leaf(self, groups: NDArray[np.int64]) -> tuple[Leaf, NDArray[np.int64]]:
        """Copy what concerns some groups; return it, and which rows of X these are."""
        sizes, starts = self._sizes[groups], self._starts[groups]
        group = np.repeat(np.arange(len(groups)), sizes)
        place = np.arange(len(group))
        rows = self._order[place + (starts - np.cumsum(sizes) + sizes)[group]]
        members = np.zeros((len(groups), 2 * self.k - 1), dtype=np.int64)
        members[np.arange(2 * self.k - 1) < sizes[:, np.newaxis]] = place
        regret = np.zeros(len(rows), dtype=np.float32)
        return Leaf(self.X[rows], group, members, sizes, self._centroids[groups], regret), rows


def _sweep(leaf: Leaf, k: int, noise: Noise) -> int:
    """Let every row of a leaf look for an exchange, block by block; return how many found one."""
    n_exchanges = 0
    for first in range(0, len(leaf.rows), _ROWS_PER_BLOCK):
        block = leaf.rows[first : first + _ROWS_PER_BLOCK]
        nearness = block @ leaf.centroids.T
        nearness -= (leaf.centroids**2).sum(axis=1) / 2
        n_exchanges += exchange(leaf, nearness, first, k, noise)
    return n_exchanges
