"""An ordered probit model of synthetic users' ratings, fitted to noisy sums.

A rating is the level between whose cuts a latent number falls: the sum of the item's mean, the
user's mean, their match, and random error. Cuts, item means and the three variances are fitted to
noisy sums.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from recveil.methods.synthetic.bounded_sums import moved
from recveil.ratings import RatingScale
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]

# Smallest share, and smallest part of the variance.
_LEAST_SHARE, _LEAST_PART = 1e-3, 0.02
# Number of points of lookup tables on the latent scale, and their range.
_PLACES, _FAR = 2_001, 8.0


@brief
class Labels(NamedTuple):
    """Parameters of ratings on the latent scale, whose variance over all ratings is 1."""

    # Borders between levels
    cuts: Numbers
    # Item means
    worth: Numbers
    # Standard deviation of user means
    strictness: float
    # Standard deviation of one user's ratings of equal items
    chance: float

    def liked_share(self, levels: Numbers, scale: RatingScale) -> Numbers:
        """Return the share of each item's ratings that count as liked, shape (n_items,)."""
        cut = self.cuts[np.searchsorted(levels, scale.liked_from) - 1]
        return np.asarray(ndtr((self.worth - cut) / np.hypot(self.strictness, self.chance)))


def learn_labels(
    level_shares: Numbers,
    levels: Numbers,
    scale: RatingScale,
    item_means: Numbers,
    popularity: Numbers,
    spread_of_users: float,
) -> Labels:
    """Fit cuts, item means and variances.

    Parameters
    ----------
    level_shares : ndarray of float64, shape (n_levels,)
        Noisy shares of ratings at each level; need not sum to 1.
    levels : ndarray of float64, shape (n_levels,)
    scale : RatingScale
    item_means : ndarray of float64, shape (n_items,)
        Mean ratings of items, scaled to -1 to 1.
    popularity : ndarray of float64, shape (n_items,)
        Weight of each item's mean.
    spread_of_users : float
        Variance of users' true mean ratings, scaled to -1 to 1.
    """
    shares = np.maximum(level_shares, _LEAST_SHARE * max(level_shares.max(), 1e-12))
    shares = shares / shares.sum()
    cuts = np.asarray(ndtri(np.cumsum(shares)[:-1]))
    at = moved(levels, scale)
    mean = float(shares @ at)
    variance = max(float(shares @ (at - mean) ** 2), 1e-6)
    counts = popularity / max(popularity.sum(), 1e-12)
    centre = float(counts @ item_means)
    of_items = float(counts @ (item_means - centre) ** 2) / variance
    of_items = min(max(of_items, _LEAST_PART), 0.6)
    of_users = min(max(spread_of_users / variance, _LEAST_PART), 0.3)
    chance = 1 - of_items - of_users
    worth = _worth(item_means, at, cuts, np.sqrt(of_users + chance))
    return Labels(cuts, worth, float(np.sqrt(of_users)), float(np.sqrt(chance)))


def expected_labels(at: Numbers, cuts: Numbers, spread: float, worth: Numbers) -> Numbers:
    """Return the expected value of ratings with latent mean `worth`, same shape.

    Parameters
    ----------
    at : ndarray of float64, shape (n_levels,)
        The value of each level.
    cuts : ndarray of float64, shape (n_levels - 1,)
    spread : float
        Standard deviation about `worth`.
    worth : ndarray of float64

    Examples
    --------
    >>> expected_labels(np.array([1.0, 2.0]), np.array([0.0]), 1.0, np.array([-9.0, 0.0, 9.0]))
    array([1. , 1.5, 2. ])
    """
    above = ndtr((worth[..., None] - cuts) / spread)
    return np.asarray(at[0] + above @ np.diff(at))


def _worth(means: Numbers, at: Numbers, cuts: Numbers, spread: float) -> Numbers:
    places = np.linspace(-_FAR, _FAR, _PLACES)
    expected = expected_labels(at, cuts, spread, places)
    return np.asarray(np.interp(means, expected, places))


@brief
class LabelSides(NamedTuple):
    """Expected values given that a user liked an item or did not, as lookup tables."""

    # The latent mean; the probability of "liked"; the expected value if liked, and if not
    places: Numbers
    liked: Numbers
    if_liked: Numbers
    if_not: Numbers

    @classmethod
    def of(cls, cuts: Numbers, chance: float, levels: Numbers, scale: RatingScale) -> "LabelSides":
        """Compute the tables for a scale."""
        places = np.linspace(-_FAR, _FAR, _PLACES)
        above = ndtr((places[:, None] - cuts) / chance)
        edge = np.ones((len(places), 1))
        shares = np.hstack([edge, above]) - np.hstack([above, 0 * edge])
        high = levels >= scale.liked_from
        liked = shares[:, high].sum(axis=1)
        return cls(
            places,
            liked,
            _mean_of(shares[:, high], levels[high], levels[high][0]),
            _mean_of(shares[:, ~high], levels[~high], levels[~high][-1]),
        )


def _mean_of(shares: Numbers, levels: Numbers, if_none: float) -> Numbers:
    total = shares.sum(axis=1)
    sums = shares @ levels
    return np.divide(sums, total, out=np.full(len(total), if_none), where=total > 1e-12)
