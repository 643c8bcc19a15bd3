"""Bisecting k-gather: cut the rows in two, again and again, until no group could be cut further."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.group.bisection import bisecting_k_gather
from recveil.group.clusterer import Grouping, RandomState, at_least


class BisectingKGather(Grouping):
    """Bisecting k-gather (BKG): halve the rows through their centroid, then halve the halves.

    Chen 2012 (thesis), section 3.2, k being `min_size`. What is done with n rows:

    - n < 2k: they are a group.
    - 2k <= n < 3k (step 7B): the row most distant from the centroid and the k - 1 rows closest to
      it are cut off; the rest stays together.
    - n >= 3k (steps 1 to 6): `n_bisections` times, a random row c_L and its mirror image c_R
      through the centroid draw the rows to two sides. The bisection with the lowest sum of
      squared distances to each side's centroid is kept; a side of fewer than k rows takes what it
      lacks from the other, the closest to its centroid.

    A row is on the left if its projection on c_L - centroid is not negative. This is the thesis's
    comparison of distances, ``|x - c_L| <= |x - c_R|``, because c_L and c_R lie opposite each
    other, equally far from the centroid. Two cases the thesis does not mention: a row exactly at
    the centroid is its own mirror image and parts nothing, so if all `n_bisections` draws hit such
    rows, the row most distant from the centroid is taken as well; and rows that cannot be told
    apart (all equal) are halved in the order of their index.

    *Guarantee*: every group has at least `min_size` and fewer than 2 * `min_size` rows. Every cut
    leaves at least k rows on each side (step 7B cuts k from at least 2k; a filled side has k, its
    sibling at least 2k), and whatever has 2k or more rows is cut.

    Time is O(n log n) for data without extremes (each cut of n rows takes n * `n_bisections`
    projections); if every cut parts off k rows only, it is O(n² / k). Memory is linear.

    Parameters
    ----------
    min_size : int, default 5
        The k of k-anonymity: the least number of rows in a group.
    n_bisections : int, default 10
        How many random bisections are tried for each cut.
    random_state : int, RandomState, Generator or None
        Draws the bisections. The same seed gives the same groups.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        The group of each row.
    n_groups_ : int
        How many groups there are.

    Examples
    --------
    >>> X = [[0.0], [9.0], [1.0], [10.0], [2.0]]
    >>> BisectingKGather(min_size=2, random_state=0).fit(X).labels_
    array([0, 1, 0, 1, 0])
    """

    def __init__(
        self, min_size: int = 5, n_bisections: int = 10, random_state: RandomState = None
    ) -> None:
        self.min_size = min_size
        self.n_bisections = n_bisections
        self.random_state = random_state

    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        at_least("n_bisections", self.n_bisections, 1)
        return bisecting_k_gather(X, self.min_size, self.n_bisections, rng)
