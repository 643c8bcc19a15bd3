"""KGather: MDAV in small leaves, then exchanges between neighbours: better than MDAV, and fast."""

from collections.abc import Callable, Iterable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.group.clusterer import Grouping, RandomState, at_least
from recveil.group.exchange import (
    Leaf,
    Noise,
    dissolve,
    exchange,
    mdav_of_leaf,
    rows_by_group,
    sums_of_groups,
)
from recveil.group.voronoi import voronoi_leaves
from recveil.threads import pool

_ROWS_A_LEAF = 3000  # of the first groups: their Gram matrix takes 36 MB
_ROWS_A_BLOCK = 512  # of a leaf: their products with all centroids stay in the fast cache
_MORE_SWEEPS = 3  # a round, if one leaf holds all groups: no new leaves would help it
_NOISE = 2**14
_GROUPS_A_PART = 4096  # whose sums one thread adds up


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
    - *Dissolving*: in the second half of the rounds, a group that straddles distant crowds is given
      up if its members are better off in other groups (`dissolve`). Then there are fewer than
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

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        The group of each row.
    n_groups_ : int
        How many groups there are.

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
            groups = Gathered(X, k, rng, workers.map)
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


class Gathered:
    """The groups as they stand, and what a round does to them.

    Parameters
    ----------
    X : ndarray of float32, shape (n, d)
    k : int
        Precondition: 2 <= k and 2k <= n.
    rng : Generator
    map : callable
        Calls a function with each of some arguments, perhaps at the same time, and returns an
        iterator over the results.

    Attributes
    ----------
    labels : ndarray of int64, shape (n,)
        The group of each row, 0, 1, ...; every round makes a new array.
    closeness : float
        The sum of the squared norms of the rows' centroids. What it rises by, the SSE falls by,
        since the two add up to the sum of the squared norms of the rows.
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
        self._take_stock(self._start())

    def _start(self) -> NDArray[np.int64]:
        """Group the rows of each leaf by MDAV; what a leaf has beyond a multiple of k, the next."""
        labels = np.empty(len(self.X), dtype=np.int64)
        n_groups = len(self.X) // self.k
        leaves = voronoi_leaves(self.X, _ROWS_A_LEAF, self.rng)
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

    def _take_stock(self, labels: NDArray[np.int64]) -> None:
        """Note which rows form each group, and their centroid."""
        sizes = np.bincount(labels)
        is_there = sizes > 0  # not so a group that was dissolved
        self.labels = (np.cumsum(is_there) - 1)[labels]
        self._sizes = sizes[is_there]
        self._starts = np.append(0, np.cumsum(self._sizes))
        self._order = rows_by_group(self.labels, self._starts)
        self._centroids = np.empty((len(self._sizes), self.X.shape[1]), dtype=np.float32)

        def centre(first: int) -> NDArray[np.float64]:
            part = slice(first, first + _GROUPS_A_PART)
            starts = self._starts[first : first + _GROUPS_A_PART + 1]
            sums = sums_of_groups(self.X, self._order, starts)
            self._centroids[part] = sums / self._sizes[part, np.newaxis]
            return (sums**2).sum(axis=1) / self._sizes[part]

        parts = range(0, len(self._sizes), _GROUPS_A_PART)
        self.closeness = float(np.concatenate(list(self.map(centre, parts))).sum())

    def exchange(self, temperature: float, dissolving: bool) -> int:
        """Exchange rows within neighbourhoods drawn anew.

        Parameters
        ----------
        temperature : float
            The scale of the noise, a squared distance; 0 takes improvements only.
        dissolving : bool
            Whether groups are given up that straddle crowds.

        Returns
        -------
        int
            How many exchanges there were.
        """
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
        self._take_stock(labels)
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
    for first in range(0, len(leaf.rows), _ROWS_A_BLOCK):
        block = leaf.rows[first : first + _ROWS_A_BLOCK]
        nearness = block @ leaf.centroids.T
        nearness -= (leaf.centroids**2).sum(axis=1) / 2
        n_exchanges += exchange(leaf, nearness, first, k, noise)
    return n_exchanges
