"""Noisy sums: what a synthetic release asks of people's ratings, with noise.

One question more is asked once tastes have been learnt from these answers: how far ratings follow
them (`recveil.anonymize.synthetic.following_tastes`). Everything else sees the answers alone.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.synthetic.bounded_vectors import (
    SPREAD_SHARE,
    WHICH,
    ItemSums,
    item_sums,
    level_sums,
    moved,
    spread_sums,
    sum_grid,
)
from recveil.anonymize.synthetic.choice_sums import (
    Asked,
    ChoiceSums,
    Public,
    ask_activity,
    ask_kinds,
    ask_moments,
    pick_told,
)
from recveil.anonymize.synthetic.summing import People, added_up
from recveil.brief import brief
from recveil.ratings import RatingScale
from recveil.release.synthetic_form import label_levels
from recveil.release.synthetic_queries import QUERIES

Numbers = NDArray[np.float64]

# What each query has of the budget, and what it asks, in the words of the ledger.
SHARES = {asked.name: asked.share for asked in QUERIES}
WHAT = {asked.name: asked.what for asked in QUERIES}


@brief
class NoisySums(NamedTuple):
    """Noisy sums over people, each of which was paid for.

    Attributes
    ----------
    n_people : float
        The noisy number of people.
    activity : ndarray of float64, shape (n_activities,)
        Numbers of ratings that people have, equally likely, ascending.
    levels, level_shares : ndarray of float64, shape (n_levels,)
    spread_of_people : float
        Variance of people's mean ratings, moved to -1 to 1.
    items : ItemSums
        Of all items of the catalogue.
    centre, spread : float
        Of ratings moved to -1 to 1.
    told : ndarray of int64, shape (n_told,)
        Positions of the items whose popularity stands out of its noise, ascending.
    chosen : ndarray of int64, shape (n_chosen,)
        Those of them that stand in the moments, the most popular first.
    moments : ndarray of float64, shape (n_chosen, n_chosen)
    moments_noise : float
        Standard deviation of the noise beside the diagonal.
    kinds : ndarray of float64, shape (3,)
        Shares of ratings, of a person on average, on chosen items, other told ones, and the rest.
    """

    n_people: float
    activity: Numbers
    levels: Numbers
    level_shares: Numbers
    spread_of_people: float
    items: ItemSums
    centre: float
    spread: float
    told: NDArray[np.int64]
    chosen: NDArray[np.int64]
    moments: Numbers
    moments_noise: float
    kinds: Numbers

    @property
    def choices(self) -> ChoiceSums:
        """What they say of which items people chose: all that is asked of likes."""
        return ChoiceSums(
            n_people=self.n_people,
            activity=self.activity,
            popularity=self.items.popularity,
            popularity_noise=self.items.popularity_noise,
            told=self.told,
            chosen=self.chosen,
            moments=self.moments,
            moments_noise=self.moments_noise,
            kinds=self.kinds,
        )

    @property
    def share_told(self) -> float:
        """The share of ratings, of a person on average, on all items that are told."""
        return self.choices.share_told


def measure(
    ratings: People, mechanism: Asked, public: Public, sigmas: Mapping[str, float]
) -> NoisySums:
    """Ask all questions of the people but the one about learnt tastes, once each.

    Parameters
    ----------
    ratings : Ratings, or whoever is spread
        On the items of the catalogue, if it is public.
    mechanism : Mechanism or WithoutNoise
    public : Public
    sigmas : mapping of str to float
        The noise of each query for a vector of length 1, as the mechanism has it; 0 without noise.

    Raises
    ------
    RecveilError
        If hardly anything stands out of the noise.
    """
    n_people, activity = ask_activity(ratings, mechanism, public, sigmas, WHAT)
    levels = label_levels(ratings.scale)
    what, grid = WHAT["labels"], sum_grid(sigmas["labels"])
    exact = added_up(ratings, level_sums, levels, grid)
    shares = mechanism.measure("labels", what, exact, grid)
    spread_of_people = _spread_of_people(ratings, mechanism, n_people, sigmas["means of people"])
    centre, spread = _centre(shares, levels, ratings.scale)
    items = _items(ratings, mechanism, public, sigmas["item sums"], (centre, spread))
    picked = pick_told(
        items.popularity, items.popularity_noise, activity, n_people, sigmas["moments"]
    )
    kinds = ask_kinds(ratings, mechanism, picked, sigmas, WHAT)
    noisy = ask_moments(ratings, mechanism, picked, sigmas, WHAT)
    return NoisySums(
        n_people=n_people,
        activity=activity,
        levels=levels,
        level_shares=shares,
        spread_of_people=spread_of_people,
        items=items,
        centre=centre,
        spread=spread,
        told=picked.told,
        chosen=picked.chosen,
        moments=noisy,
        moments_noise=sigmas["moments"] / np.sqrt(2),
        kinds=kinds,
    )


def _spread_of_people(ratings: People, mechanism: Asked, n_people: float, sigma: float) -> float:
    what, grid = WHAT["means of people"], sum_grid(sigma)
    exact = added_up(ratings, spread_sums, grid)
    noisy = mechanism.measure("means of people", what, exact, grid)
    mean, square = noisy / SPREAD_SHARE / n_people
    return float(max(square - mean**2, 0.0))


def _centre(shares: Numbers, levels: Numbers, scale: RatingScale) -> tuple[float, float]:
    """Return mean and spread of ratings moved to -1 to 1, from noisy shares."""
    counts = np.maximum(shares, 0)
    counts = counts / counts.sum() if counts.any() else np.full(len(counts), 1 / len(counts))
    at = moved(levels, scale)
    centre = float(counts @ at)
    return centre, float(max(np.sqrt(counts @ (at - centre) ** 2), 0.05))


def _items(
    ratings: People,
    mechanism: Asked,
    public: Public,
    sigma: float,
    usual: tuple[float, float],
) -> ItemSums:
    """Return noisy sums of all items; 0 for those of which nothing may be told."""
    centre, spread = usual
    what, grid = WHAT["item sums"], sum_grid(sigma)
    exact = added_up(ratings, item_sums, centre, spread, grid)
    if public.is_catalogue:
        return ItemSums.of(mechanism.measure("item sums", what, exact, grid), spread, sigma)
    named, sums = mechanism.measure_items(
        *("item sums", what, exact, grid),
        delta=public.threshold_delta,
        most_items=public.most_items,
        weight=WHICH,
    )
    noisy = np.zeros(exact.shape)
    noisy[named] = sums
    return ItemSums.of(noisy, spread, sigma)
