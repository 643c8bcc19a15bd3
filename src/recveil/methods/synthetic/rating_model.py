"""Labels: how people who are drawn rate, from noisy sums alone.

Behind each rating stands a number on a scale that nobody sees: what the item is worth on average,
how strict the person is, how well both go together, and chance. It becomes the label between whose
cuts it falls. Cuts, items' worth and the three spreads come from noisy sums.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from recveil.methods.synthetic.bounded_sums import moved
from recveil.ratings import RatingScale
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]

# Shares and parts of the spread are no smaller than this.
_LEAST_SHARE, _LEAST_PART = 1e-3, 0.02
# The hidden scale is looked up at so many places, so far to either side.
_PLACES, _FAR = 2_001, 8.0


@brief
class Labels(NamedTuple):
    """How ratings come about on the hidden scale, whose spread over all ratings is 1.

    Attributes
    ----------
    cuts : ndarray of float64, shape (n_levels - 1,)
        Where one label ends and the next begins.
    worth : ndarray of float64, shape (n_items,)
    strictness : float
        How much people differ, as a standard deviation.
    chance : float
        How much the same person's ratings of equal items differ.
    """

    cuts: Numbers
    worth: Numbers
    strictness: float
    chance: float

    def liked_share(self, levels: Numbers, scale: RatingScale) -> Numbers:
        """Return the share of an item's ratings that say that it was liked, shape (n_items,)."""
        cut = self.cuts[np.searchsorted(levels, scale.liked_from) - 1]
        return np.asarray(ndtr((self.worth - cut) / np.hypot(self.strictness, self.chance)))


def learn_labels(
    level_shares: Numbers,
    levels: Numbers,
    scale: RatingScale,
    item_means: Numbers,
    popularity: Numbers,
    spread_of_people: float,
) -> Labels:
    """Find cuts, worth and spreads.

    Parameters
    ----------
    level_shares : ndarray of float64, shape (n_levels,)
        Noisy shares of ratings at each level; need not add up to 1.
    levels : ndarray of float64, shape (n_levels,)
    scale : RatingScale
    item_means : ndarray of float64, shape (n_items,)
        Mean ratings of items, moved to -1 to 1.
    popularity : ndarray of float64, shape (n_items,)
        How much each item's mean counts.
    spread_of_people : float
        Variance of people's true mean ratings, moved to -1 to 1.
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
    of_people = min(max(spread_of_people / variance, _LEAST_PART), 0.3)
    chance = 1 - of_items - of_people
    worth = _worth(item_means, at, cuts, np.sqrt(of_people + chance))
    return Labels(cuts, worth, float(np.sqrt(of_people)), float(np.sqrt(chance)))


def expected_labels(at: Numbers, cuts: Numbers, spread: float, worth: Numbers) -> Numbers:
    """Return the mean label of ratings whose hidden numbers lie about `worth`, same shape.

    Parameters
    ----------
    at : ndarray of float64, shape (n_levels,)
        What each level counts.
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
    told = expected_labels(at, cuts, spread, places)
    return np.asarray(np.interp(means, told, places))


@brief
class LabelSides(NamedTuple):
    """What labels are to be expected of somebody who liked an item, and who did not.

    Each is told at places of the hidden scale, for lookup between them.

    Attributes
    ----------
    places, liked, if_liked, if_not : ndarray of float64, shape (n_places,)
        The place; the probability of "liked"; the mean label of those who did, and of the others.
    """

    places: Numbers
    liked: Numbers
    if_liked: Numbers
    if_not: Numbers

    @classmethod
    def of(cls, cuts: Numbers, chance: float, levels: Numbers, scale: RatingScale) -> "LabelSides":
        """Work them out for a scale."""
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
