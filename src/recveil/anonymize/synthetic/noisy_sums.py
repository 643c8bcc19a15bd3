"""Noisy sums: what a synthetic release asks of people's ratings, with noise.

One question more is asked once tastes have been learnt from these answers: how far ratings follow
them (`recveil.anonymize.synthetic.following_tastes`). Everything else sees the answers alone.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.synthetic.bounded_vectors import (
    SPREAD_SHARE,
    WHICH,
    ItemSums,
    item_sums,
    kind_sums,
    level_sums,
    moments,
    moved,
    people_by_activity,
    spread_sums,
    sum_grid,
    taste_grid,
)
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.ratings import Ratings
from recveil.release.synthetic_form import (
    ACTIVITIES,
    FEWEST_CHOSEN,
    MOST_CHOSEN,
    QUERIES,
    activity_edges,
    label_levels,
)

Numbers = NDArray[np.float64]

# What each query has of the budget.
SHARES = {query.name: query.share for query in QUERIES}
# Items stand in the moments if what they add to the diagonal is so many times the noise beside it.
_STANDS_OUT = 2.0
# Of each item so much is told, in noises of its popularity.
_TOLD_FROM = 2.0
# At least so many items stand in the moments, if so many are told.
_FEWEST = 50
# Sums of a crowd say no more than a crowd of its size repeats, even if they are exact.
LEAST_NOISE = 0.2
# What each query asks, in the words of the ledger.
WHAT = {asked.name: asked.what for asked in QUERIES}


class Asked(Protocol):
    """Whatever answers queries: with noise, or without."""

    def measure(
        self, name: str, what: str, exact: NDArray[np.int64], grid: float
    ) -> NDArray[np.float64]:
        """Answer a query that sums up one vector a person."""

    def measure_symmetric(
        self, name: str, what: str, exact: NDArray[np.int64], grid: float
    ) -> NDArray[np.float64]:
        """Answer a query that sums up one symmetric matrix a person."""

    def measure_items(
        self,
        name: str,
        what: str,
        exact: NDArray[np.int64],
        grid: float,
        *,
        delta: float,
        most_items: int,
        weight: float,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Answer a query about each item, and tell only of those that are popular enough."""


class Public(NamedTuple):
    """What is known without looking at anybody.

    Attributes
    ----------
    is_catalogue : bool
        Whether everybody may know which items there are.
    most_items : int
        Nobody has rated more.
    threshold_delta : float
        Of delta, what choosing items by their noisy sums takes; 0 for a public catalogue.
    """

    is_catalogue: bool
    most_items: int
    threshold_delta: float = 0.0


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
    def share_chosen(self) -> float:
        """The share of ratings, of a person on average, on items that stand in the moments."""
        return float(np.clip(self.kinds[0], 0.01, 1.0))

    @property
    def share_told(self) -> float:
        """The same on all items that are told."""
        return float(np.clip(self.kinds[:2].sum(), 0.01, 1.0))


def measure(
    ratings: Ratings, mechanism: Asked, public: Public, sigmas: Mapping[str, float]
) -> NoisySums:
    """Ask all questions of the people but the one about learnt tastes, once each.

    Parameters
    ----------
    ratings : Ratings
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
    n_people, activity = _activity(ratings, mechanism, public, sigmas["people by activity"])
    levels = label_levels(ratings.scale)
    what, grid = WHAT["labels"], sum_grid(sigmas["labels"])
    shares = mechanism.measure("labels", what, level_sums(ratings, levels, grid), grid)
    spread_of_people = _spread_of_people(ratings, mechanism, n_people, sigmas["means of people"])
    centre, spread = _centre(shares, levels, ratings)
    items = _items(ratings, mechanism, public, sigmas["item sums"], (centre, spread))
    told = np.flatnonzero(items.popularity > _TOLD_FROM * items.popularity_noise)
    noise = max(sigmas["moments"] / np.sqrt(2), LEAST_NOISE)
    chosen = _choose(items.popularity, told, activity, noise)
    if chosen.size < FEWEST_CHOSEN:
        raise RecveilError(
            f"only {chosen.size} items of {n_people:,.0f} people can be told; expected at least "
            f"{FEWEST_CHOSEN}: give a larger epsilon (--epsilon), a public catalogue "
            f"(--catalogue), more items or more people"
        )
    kinds = _kinds(ratings, mechanism, told, chosen, sigmas["kinds of items"])
    grid = taste_grid(sigmas["moments"])
    sums = moments(ratings, chosen, ratings.scale.liked_from, grid)
    what = WHAT["moments"]
    noisy = mechanism.measure_symmetric("moments", what, sums, grid**2)
    return NoisySums(
        n_people=n_people,
        activity=activity,
        levels=levels,
        level_shares=shares,
        spread_of_people=spread_of_people,
        items=items,
        centre=centre,
        spread=spread,
        told=told,
        chosen=chosen,
        moments=noisy,
        moments_noise=sigmas["moments"] / np.sqrt(2),
        kinds=kinds,
    )


def _activity(
    ratings: Ratings, mechanism: Asked, public: Public, sigma: float
) -> tuple[float, Numbers]:
    """Return the noisy number of people, and activities that are equally likely."""
    edges = activity_edges(public.most_items)
    what = WHAT["people by activity"]
    noisy = mechanism.measure("people by activity", what, people_by_activity(ratings, edges), 1.0)
    counts = np.where(noisy > 2 * sigma, noisy, 0.0)
    if not counts.any():
        raise RecveilError(
            "the noise of so small an epsilon hides how many people there are; give a larger "
            "epsilon (--epsilon), or more people"
        )
    reached = np.concatenate([[0.0], np.cumsum(counts)]) / counts.sum()
    places = (np.arange(ACTIVITIES) + 0.5) / ACTIVITIES
    bins = np.searchsorted(reached, places) - 1
    within = (places - reached[bins]) / (reached[bins + 1] - reached[bins])
    low, high = np.log(edges[bins] - 0.5), np.log(edges[bins + 1] - 0.5)
    # All bins together: what stands out of the noise alone would be too few people.
    n_people = max(float(noisy.sum()), 1.0)
    return n_people, np.maximum(1.0, np.round(np.exp(low + within * (high - low))))


def _spread_of_people(ratings: Ratings, mechanism: Asked, n_people: float, sigma: float) -> float:
    what, grid = WHAT["means of people"], sum_grid(sigma)
    noisy = mechanism.measure("means of people", what, spread_sums(ratings, grid), grid)
    mean, square = noisy / SPREAD_SHARE / n_people
    return float(max(square - mean**2, 0.0))


def _centre(shares: Numbers, levels: Numbers, ratings: Ratings) -> tuple[float, float]:
    """Return mean and spread of ratings moved to -1 to 1, from noisy shares."""
    counts = np.maximum(shares, 0)
    counts = counts / counts.sum() if counts.any() else np.full(len(counts), 1 / len(counts))
    at = moved(levels, ratings.scale)
    centre = float(counts @ at)
    return centre, float(max(np.sqrt(counts @ (at - centre) ** 2), 0.05))


def _items(
    ratings: Ratings,
    mechanism: Asked,
    public: Public,
    sigma: float,
    usual: tuple[float, float],
) -> ItemSums:
    """Return noisy sums of all items; 0 for those of which nothing may be told."""
    centre, spread = usual
    what, grid = WHAT["item sums"], sum_grid(sigma)
    exact = item_sums(ratings, centre, spread, grid)
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


def _kinds(
    ratings: Ratings,
    mechanism: Asked,
    told: NDArray[np.int64],
    chosen: NDArray[np.int64],
    sigma: float,
) -> Numbers:
    """Return noisy shares of ratings on chosen items, on others that are told, and on the rest.

    Popularity cannot tell: items are told because their noise was high, too, and whoever rates
    much rates more that few know.
    """
    kind_of = np.full(ratings.n_items, 2)
    kind_of[told] = 1
    kind_of[chosen] = 0
    what, grid = WHAT["kinds of items"], sum_grid(sigma)
    noisy = mechanism.measure("kinds of items", what, kind_sums(ratings, kind_of, 3, grid), grid)
    shares = np.maximum(noisy, 0)
    return shares / shares.sum() if shares.any() else np.full(3, 1 / 3)


def _choose(
    popularity: Numbers, told: NDArray[np.int64], activity: Numbers, noise: float
) -> NDArray[np.int64]:
    """Return the items that stand in the moments, the most popular first."""
    ranked = told[np.argsort(-popularity[told], kind="stable")]
    # Somebody with n ratings adds about 1 / n to the diagonal, where they add 1 / sqrt(n) here.
    diagonal = popularity[ranked] / np.sqrt(activity).mean()
    n = int((diagonal >= _STANDS_OUT * noise).sum())
    return ranked[: min(max(n, _FEWEST), MOST_CHOSEN)]
