"""Predictive grouping: bounded t-means on a sample, then in bins, to reach large tables."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError, describe_count
from recveil.group.bounded import bounded_t_means, nearest_centre
from recveil.group.clusterer import Grouping, RandomState, at_least


class PredictiveGrouping(Grouping):
    """The groups of predictive anonymization: sample, bins around its centres, groups in bins.

    Chang et al., "Predictive Anonymization", Algorithm 1, lines 2 to 5. Bounded t-means clusters a
    random sample of s rows around t centres; every row joins the bin of its nearest centre; in
    each bin, bounded t-means forms floor(size / k) groups, k being `min_size`.

    The paper leaves three things open. The sample is half of the rows. A cluster of the sample
    has at least floor(s / 2t) rows, and at least k; t is lowered if the sample is too small for
    that. A bin of fewer than k rows is dissolved, the smallest first: its rows join the nearest
    centre that remains.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows. Bins are
    dissolved until all have `min_size` rows; the last cannot lack them, as it holds all n rows.
    In the bins, the guarantee of `BoundedTMeans` holds.

    Time is O(n^1.5) if no bin is much larger than the others; memory is linear.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    sample_size : int, optional
        The number s of rows that choose the bins' centres; half of all if not given.
    n_bins : int, optional
        The number t of bins; the square root of n if not given. There may be fewer: see above.
    max_iter : int, default 10
        Most iterations of each bounded t-means.
    random_state : int, RandomState, Generator or None
        Draws the sample and the first centres. The same seed gives the same groups.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        The group of each row.
    n_groups_ : int
        How many groups there are.
    n_iter_ : int
        How often the rows of the sample were placed.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [2.0]]
    >>> PredictiveGrouping(min_size=2, random_state=0).fit(X).labels_
    array([0, 1, 0, 1, 0])
    """

    n_iter_: int

    def __init__(
        self,
        min_size: int = 5,
        sample_size: int | None = None,
        n_bins: int | None = None,
        max_iter: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.min_size = min_size
        self.sample_size = sample_size
        self.n_bins = n_bins
        self.max_iter = max_iter
        self.random_state = random_state

    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        at_least("max_iter", self.max_iter, 1)
        bins = _bins(X, self._centres(X, rng), self.min_size)
        labels = np.empty(len(X), dtype=np.int64)
        n_groups = 0
        by_bin = np.argsort(bins, kind="stable")
        for rows in np.split(by_bin, np.flatnonzero(np.diff(bins[by_bin])) + 1):
            t = len(rows) // self.min_size
            inner = bounded_t_means(X[rows], t, self.min_size, self.max_iter, rng)
            labels[rows] = n_groups + inner.labels
            n_groups += t
        return labels

    def _centres(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the centres of the bins, found on a sample, shape (t, d)."""
        n, k = len(X), self.min_size
        s = max(k, n // 2) if self.sample_size is None else self.sample_size
        at_least("sample_size", s, k)
        if s > n:
            raise RecveilError(
                f"sample_size: expected at most the "
                f"{describe_count(n, 'row')} there are, got {s}; lower sample_size",
                code="argument.value",
            )
        t = round(n**0.5) if self.n_bins is None else self.n_bins
        at_least("n_bins", t, 1)
        lower_bound = max(k, s // (2 * t))
        t = min(t, s // lower_bound)
        sample = X[np.sort(rng.choice(n, s, replace=False))]
        clusters = bounded_t_means(sample, t, lower_bound, self.max_iter, rng)
        self.n_iter_ = clusters.n_iter
        return clusters.centres


def _bins(X: NDArray[np.float32], centres: NDArray[np.float32], min_size: int) -> NDArray[np.int64]:
    """Give each row the number of its nearest centre among those that get `min_size` rows."""
    bins, _ = nearest_centre(X, centres)
    sizes = np.bincount(bins, minlength=len(centres))
    remaining = np.arange(len(centres))
    while True:
        smallest = remaining[sizes[remaining].argmin()]
        if sizes[smallest] >= min_size:
            return bins
        remaining = remaining[remaining != smallest]
        rows = np.flatnonzero(bins == smallest)
        at, _ = nearest_centre(X[rows], centres[remaining])
        bins[rows] = remaining[at]
        sizes += np.bincount(bins[rows], minlength=sizes.size)
