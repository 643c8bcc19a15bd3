"""Standing out: which directions of noisy moments are more than noise and popularity."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import eigsh

from recveil.brief import brief
from recveil.release.synthetic_form import MOST_DIRECTIONS

Numbers = NDArray[np.float64]

# One direction of taste for so many people: more would be chance.
_PEOPLE_A_DIRECTION = 45
# The longest directions of more items than that are found one after the other.
_AT_ONCE = 3_000


@brief
class Told(NamedTuple):
    """What was measured with noise of some items and of the people, in the terms of the fit.

    Attributes
    ----------
    moments : ndarray of float64, shape (n_items, n_items)
        Symmetric; the diagonal is not used.
    moments_noise : float
        Standard deviation of the noise of each entry off the diagonal.
    popularity : ndarray of float64, shape (n_items,)
        Sum over people of 1 over the root of their number of ratings, of those who rated the item.
    popularity_noise : float
    weights : ndarray of float64, shape (n_items, 2)
        What the item counts for in somebody's taste when they rated it, on average, and the mean
        of its square.
    activity : ndarray of float64, shape (n_activities,)
        Numbers of ratings that people have, on all items, equally likely.
    share : float
        The share of all ratings that are on these items.
    n_people : float
    """

    moments: Numbers
    moments_noise: float
    popularity: Numbers
    popularity_noise: float
    weights: Numbers
    activity: Numbers
    share: float
    n_people: float

    @property
    def usual(self) -> Numbers:
        """What each item is of a usual person's taste; its products are what popularity tells."""
        share = self.popularity / max(self.n_people, 1.0)
        return np.asarray(share * self.weights[:, 0] / np.sqrt(self.weights[:, 1].mean()))


@brief
class Directions(NamedTuple):
    """Directions that stand out, the longest last.

    Attributes
    ----------
    squares : ndarray of float64, shape (n_directions,)
        Their eigenvalues, as they were before the noise came (Gavish and Donoho 2017).
    vectors : ndarray of float64, shape (n_items, n_directions)
    """

    squares: Numbers
    vectors: Numbers


def directions(told: Told) -> Directions:
    """Return what of the moments is longer than noise is, popularity taken away.

    Noise alone has eigenvalues up to ``2 noise sqrt(n_items)`` (Wigner). One that stands out of it
    has become longer by the noise, and is made shorter again.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> taste = np.where(np.arange(60) < 30, 0.1, -0.1)
    >>> noise = np.triu(rng.normal(size=(60, 60)) * 0.05, 1)
    >>> moments = 50 * np.outer(taste, taste) + noise + noise.T
    >>> told = Told(moments, 0.05, np.zeros(60), 1.0, np.ones((60, 2)), np.ones(1), 1.0, 900.0)
    >>> found = directions(told)
    >>> found.squares.round(), bool(abs(found.vectors[:, -1] @ taste) > 0.75)
    (array([30.]), True)
    """
    left = told.moments - told.n_people * np.outer(told.usual, told.usual)
    np.fill_diagonal(left, 0)
    n = len(left)
    most = min(MOST_DIRECTIONS, n - 1, int(told.n_people / _PEOPLE_A_DIRECTION))
    if most < 1:
        return Directions(np.empty(0), np.empty((n, 0)))
    if n <= _AT_ONCE:
        values, vectors = linalg.eigh(left, subset_by_index=(n - most, n - 1), overwrite_a=True)
    else:
        start = np.random.default_rng(0).normal(size=n)
        values, vectors = eigsh(left, most, which="LA", v0=start, tol=1e-3)
    edge = 2 * told.moments_noise * np.sqrt(n)
    out = values > edge
    return Directions(np.sqrt(values[out] ** 2 - edge**2), vectors[:, out])
