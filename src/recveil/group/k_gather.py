"""KGather: MDAV in small leaves, then exchanges between neighbours: better than MDAV, and fast."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.group.base import Grouping, RandomState, at_least
from recveil.group.exchange import Leaf, Noise, dissolve, exchange, mdav_of_leaf
from recveil.group.voronoi import voronoi_leaves

_ROWS_A_LEAF = 3000  # of the first groups: their Gram matrix takes 36 MB
_ROWS_A_BLOCK = 1024  # of a leaf, whose products with all centroids are taken at a time
_MORE_SWEEPS = 3  # a round, if one leaf holds all groups: no new leaves would help it
_URGE = 0.25  # more draws rows to groups that are merely wide
_NOISE = 2**14


class KGather(Grouping):
    """k-gather: MDAV-generic in small neighbourhoods, then swaps and moves that lower the SSE.

    This library's own. SSE is the sum of squared distances to the groups' centroids; k is
    `min_size`.

    - *Start*: the rows are cut into neighbourhoods of at most 3000 (`voronoi_leaves`), and each is
      grouped by MDAV-generic; fewer than k rows left over go on to the next. There are
      floor(n / k) groups.
    - *Rounds*: the groups are cut into neighbourhoods anew, by their centroids. Within one, every
      row looks at two groups, the nearest ones or those whose members want to leave. It swaps
      places with one of their members, or moves there where the sizes allow it, if that lowers the
      SSE (`exchange`).
    - *Annealing*: from the second round on, noise lets groups get worse for a while, less with
      every round and not at all in the last. It finds ways out of local optima.
    - *Dissolving*: in the second half of the rounds, a group that straddles distant crowds is given
      up if each of its members is better off elsewhere. Then there are fewer than floor(n / k)
      groups, and the SSE is lower.

    The groups with the lowest SSE of all rounds are kept.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows. The start
    makes such groups, a swap changes no size, and no row leaves a group of k, or enters one of
    2k - 1, except when a whole group is dissolved.

    Time is O(n log n) for data without extremes, as no neighbourhood grows with n; memory is
    linear. Neighbourhoods are worked on by as many threads as numba may use, which share nothing
    and change nothing in the result.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    n_rounds : int, default 20
        How often rows are exchanged. More rounds cost as much time each and gain ever less.
    anneal : float, default 1
        The scale of the noise in the second round, in units of the typical (geometric mean) gain
        of the first round's exchanges. 0 takes improvements only.
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
        n_rounds: int = 20,
        anneal: float = 1.0,
        random_state: RandomState = None,
    ) -> None:
        self.min_size = min_size
        self.n_rounds = n_rounds
        self.anneal = anneal
        self.random_state = random_state

    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        at_least("n_rounds", self.n_rounds, 0)
        if not 0 <= self.anneal < np.inf:
            raise RecveilError(f"anneal: expected a number, 0 or more, got {self.anneal!r}")
        k = self.min_size
        if len(X) < 2 * k:
            return np.zeros(len(X), dtype=np.int64)
        if k == 1:
            return np.arange(len(X))
        with ThreadPoolExecutor(numba.get_num_threads()) as pool:
            rounds = Rounds(X, k, rng, pool.map)
            best, gained, most = rounds.labels.copy(), 0.0, 0.0
            unit = 0.0
            for number in range(self.n_rounds):
                left = 1 - number / max(self.n_rounds - 1, 1)
                temperature = self.anneal * unit * left
                gains = rounds.exchange(temperature, left * _URGE, 2 * number >= self.n_rounds)
                if number == 0:
                    unit = gains.typical
                gained += gains.total
                if gained > most:
                    best, most = rounds.labels.copy(), gained
        return best


class Gains(NamedTuple):
    """By how much the SSE fell, in all and typically (the geometric mean of an exchange)."""

    total: float
    typical: float


class Rounds:
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
        The group of each row; after a round that dissolved groups, some numbers are missing.
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
        self.labels = np.empty(len(X), dtype=np.int64)
        self._regret = np.zeros(len(X), dtype=np.float32)
        self._start()

    def _start(self) -> None:
        """Group the rows of each leaf by MDAV; what a leaf has beyond a multiple of k, the next."""
        n_groups = len(self.X) // self.k
        leaves = voronoi_leaves(self.X, _ROWS_A_LEAF, self.rng)
        order = np.concatenate(leaves)
        ends = np.cumsum([len(leaf) for leaf in leaves]) // self.k
        cuts = np.unique(np.append(0, ends))  # in groups, where leaves begin and end

        def group(cut: tuple[int, int]) -> None:
            first, end = cut
            rows = order[first * self.k : end * self.k if end < n_groups else None]
            if end - first == 1:
                self.labels[rows] = first
            else:
                points = self.X[rows] - self.X[rows].mean(axis=0)
                self.labels[rows] = first + mdav_of_leaf(points @ points.T, self.k)

        list(self.map(group, zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)))

    def exchange(self, temperature: float, urge: float, dissolving: bool) -> Gains:
        """Exchange rows within neighbourhoods drawn anew.

        Parameters
        ----------
        temperature : float
            The scale of the noise, a squared distance; 0 takes improvements only.
        urge : float
            How much more often rows look at groups whose members want to leave; 0 or more.
        dissolving : bool
            Whether groups are given up that straddle crowds.

        Returns
        -------
        Gains
        """
        _, self.labels = np.unique(self.labels, return_inverse=True)
        sizes = np.bincount(self.labels)
        order = np.argsort(self.labels, kind="stable")
        starts = np.cumsum(sizes) - sizes
        sums = np.add.reduceat(self.X[order], starts)
        centroids = (sums / sizes[:, np.newaxis]).astype(np.float32)
        leaves = voronoi_leaves(centroids, max(640, 4096 // self.k), self.rng)
        gumbel = self.rng.gumbel(size=_NOISE + 4 * self.k).astype(np.float32)
        noise_from = self.rng.integers(_NOISE, size=len(self.X))

        def work(groups: NDArray[np.int64]) -> tuple[float, int, float]:
            rows = np.concatenate([order[starts[g] : starts[g] + sizes[g]] for g in groups])
            leaf = self._leaf(rows, sizes[groups], centroids[groups])
            noise = Noise(gumbel, noise_from[rows], np.float32(temperature))
            sweeps = 1 if len(leaves) > 1 else _MORE_SWEEPS
            outcome = np.sum([self._sweep(leaf, urge, noise) for _ in range(sweeps)], axis=0)
            if dissolving:
                outcome[0] += dissolve(leaf, self.k)
            self.labels[rows] = groups[leaf.group]
            self._regret[rows] = leaf.regret
            return outcome

        total, n_exchanges, logarithms = np.sum(list(self.map(work, leaves)), axis=0)
        typical = np.exp(logarithms / n_exchanges) if n_exchanges else 0.0
        return Gains(float(total), float(typical))

    def _leaf(
        self, rows: NDArray[np.int64], sizes: NDArray[np.int64], centroids: NDArray[np.float32]
    ) -> Leaf:
        group = np.repeat(np.arange(len(sizes)), sizes)
        members = np.zeros((len(sizes), 2 * self.k - 1), dtype=np.int64)
        members[np.arange(2 * self.k - 1) < sizes[:, np.newaxis]] = np.arange(len(rows))
        return Leaf(self.X[rows], group, members, sizes, centroids, self._regret[rows])

    def _sweep(self, leaf: Leaf, urge: float, noise: Noise) -> NDArray[np.float64]:
        """Let every row of a leaf look for an exchange, block by block."""
        if len(leaf.sizes) < 2:
            return np.zeros(3)
        outcome = np.zeros(3)
        urges = np.full(len(leaf.sizes), -np.inf, dtype=np.float32)
        np.maximum.at(urges, leaf.group, leaf.regret)
        urges *= np.float32(urge)
        for first in range(0, len(leaf.rows), _ROWS_A_BLOCK):
            block = leaf.rows[first : first + _ROWS_A_BLOCK]
            nearness = block @ leaf.centroids.T - (leaf.centroids**2).sum(axis=1) / 2
            outcome += exchange(leaf, nearness, first, urges, self.k, noise)
        return outcome
