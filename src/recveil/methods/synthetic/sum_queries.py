"""The queries of a synthetic release: sums of ratings, which come back noisy.

`recveil.methods.synthetic.learning` makes one more query. All else reads the noisy sums only.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recveil.methods.synthetic.bounded_sums import (
    SPREAD_SHARE,
    ItemSums,
    PopularDirection,
    centre_of_vectors,
    embedding_grid,
    item_sums,
    kind_sums,
    level_sums,
    like_sums,
    moments,
    moved,
    spread_sums,
    sum_grid,
    users_by_activity,
)
from recveil.methods.synthetic.earlier_sums import Means, average_items, average_moments
from recveil.methods.synthetic.gaussian_mechanism import threshold
from recveil.ratings import Ratings, RatingScale
from recveil.release.synthetic_form import (
    ACTIVITIES,
    COUNT_SHARE,
    COUNT_SHARE_OF_FEW,
    FEWEST_CHOSEN,
    MOST_CHOSEN,
    activity_edges,
    queries_of,
    rating_levels,
)
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief

Whole = NDArray[np.int64]


class SpreadOut(Protocol):
    """A distributed table of ratings that answers only sums."""

    @property
    def scale(self) -> RatingScale:
        """The rating scale."""

    @property
    def n_items(self) -> int:
        """Number of queried items."""

    def add_up(self, sums: Callable[..., Whole], *known: Any) -> Whole:
        """Return the sum of ``sums(part, *known)`` over all parts of the table."""


UserRatings = Ratings | SpreadOut


def added_up(ratings: UserRatings, sums: Callable[..., Whole], *known: Any) -> Whole:
    """Return a sum over users, local or distributed; of integers, so the order does not matter."""
    if isinstance(ratings, Ratings):
        return sums(ratings, *known)
    return ratings.add_up(sums, *known)


Numbers = NDArray[np.float64]
Words = Mapping[str, str]

# Users are few if their number times the budget's mu is below this. Then their vectors are not
# centred, as most of what is known about popularity is in them.
FEW = 375.0
# Budget share and ledger text of each query on implicit feedback.
SHARES_OF_LIKES = {query.name: query.share for query in queries_of(likes=True)}
WHAT_OF_LIKES = {query.name: query.what for query in queries_of(likes=True)}
# Items enter the moments if their popularity exceeds this many noise deviations; if these are fewer
# than the number, so do others that exceed one deviation.
_MIN_SIGNAL, _FEWEST = 6.0, 200
# Threshold of an activity bin whose neighbours are below theirs.
_ALONE = 4.0
# Without a public catalogue, items are released from this many noise deviations of popularity.
_MIN_COUNT = 2.0
# Bins of users count from this many noise deviations.
_MIN_USERS = 2.0
# Sampling error of a simulated sample: sums count as at least this noisy, even if they are exact.
LEAST_NOISE = 0.2


class QueriedItems(Protocol):
    """Answers queries, with or without noise."""

    def measure(
        self, name: str, what: str, exact: NDArray[np.int64], grid: float
    ) -> NDArray[np.float64]:
        """Answer a query that sums one vector per user."""

    def measure_symmetric(
        self, name: str, what: str, exact: NDArray[np.int64], grid: float
    ) -> NDArray[np.float64]:
        """Answer a query that sums one symmetric matrix per user."""

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
        """Answer a query on each item, and release only items above the threshold."""


@brief
class Public(NamedTuple):
    """Public facts about the queried table."""

    # Whether the list of items is public
    is_catalogue: bool
    # Upper bound on the items of a user
    most_items: int
    # The part of delta spent on partition selection; 0 for a public catalogue
    threshold_delta: float = 0.0
    # Public features of the items, shape (n_items, n_features); None if there are none
    features: NDArray[np.bool_] | None = None
    # The noisy means of earlier releases of a plan, and whether this one's are kept
    earlier: Means | None = None
    is_planned: bool = False
    # The first day of each period of dates; None if ratings are not dated
    firsts: NDArray[np.int32] | None = None

    def features_of(self, items: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Return the features of items by position."""
        return None if self.features is None else self.features[items]


@brief
class ChoiceSums(NamedTuple):
    """Noisy sums of users' choices, each charged to the privacy budget."""

    # The noisy number of users
    n_users: float
    # Items per user as equally likely quantiles, ascending
    activity: Numbers
    # For each item of the catalogue, the sum of ``1 / sqrt(n)`` over the users who chose it, of n
    # items each
    popularity: Numbers
    # Standard deviation of its noise
    popularity_noise: float
    # Positions of the released items, whose popularity exceeds its noise, ascending
    released: NDArray[np.int64]
    # The released items with moments, the most popular first
    chosen: NDArray[np.int64]
    moments: Numbers
    # Standard deviation of the noise off the diagonal
    moments_noise: float
    # A user's mean share of choices on chosen items, other released items, and the rest
    kinds: Numbers
    # Public features of the released items, if there are any
    features: NDArray[np.bool_] | None = None
    # For the next release of a plan
    means: Means | None = None
    # Whether popularity was taken out of users' vectors
    is_centred: bool = True

    @property
    def choices(self) -> "ChoiceSums":
        """Itself, as of `NoisySums`."""
        return self

    @property
    def share_chosen(self) -> float:
        """A user's mean share of choices on items with moments."""
        return float(np.clip(self.kinds[0], 0.01, 1.0))

    @property
    def share_as_json(self) -> float:
        """A user's mean share of choices on all released items."""
        return float(np.clip(self.kinds[:2].sum(), 0.01, 1.0))


def measure_likes(
    likes: UserRatings,
    mechanism: QueriedItems,
    public: Public,
    sigmas: Mapping[str, float],
    users: tuple[float, Numbers] | None = None,
) -> ChoiceSums:
    """Make all queries on implicit feedback, once each; the first one may have been made."""
    what = WHAT_OF_LIKES
    n_users, activity = users or ask_activity(likes, mechanism, public, sigmas)
    reject_hopeless(n_users, public, sigmas["item sums"], 1.0)
    popularity, noise, of_items = _popularity(
        likes, mechanism, public, sigmas["item sums"], n_users
    )
    picked = pick_released(popularity, noise, n_users, is_catalogue=public.is_catalogue)
    kinds = ask_kinds(likes, mechanism, picked, sigmas, what, is_catalogue=public.is_catalogue)
    noisy = ask_moments(likes, mechanism, picked, popularity, sigmas, what)
    averages = _average_moments(noisy, sigmas["moments"], picked, n_users, public)
    return ChoiceSums(
        n_users=n_users,
        activity=activity,
        popularity=popularity,
        popularity_noise=noise,
        released=picked.released,
        chosen=picked.chosen,
        moments=averages.moments,
        moments_noise=averages.noise,
        kinds=kinds,
        features=public.features_of(picked.released),
        means=_kept_means(of_items, averages, picked, public),
    )


def _popularity(
    likes: UserRatings, mechanism: QueriedItems, public: Public, sigma: float, n_users: float
) -> tuple[Numbers, float, tuple[Numbers, Numbers]]:
    """Return the noisy popularity of each item, 0 if it may not be released, noise, and means."""
    what, grid = WHAT_OF_LIKES["item sums"], sum_grid(sigma)
    exact = added_up(likes, like_sums, grid)
    if public.is_catalogue:
        noisy = mechanism.measure("item sums", what, exact, grid)
        means = average_items(noisy / n_users, np.array([(sigma / n_users) ** 2]), public.earlier)
        popularity = noisy[:, 0]
        if public.earlier is not None:
            popularity, sigma = means[0][:, 0] * n_users, float(np.sqrt(means[1][0])) * n_users
        return expected_popularity(popularity, sigma), sigma, means
    named, sums = mechanism.measure_items(
        *("item sums", what, exact, grid),
        delta=public.threshold_delta,
        most_items=public.most_items,
        weight=1.0,
    )
    noisy = np.zeros(len(exact))
    noisy[named] = sums[:, 0]
    return noisy, sigma, (noisy[:, None], np.zeros(1))


@brief
class _Averages(NamedTuple):
    # Sums of moments, averaged with those of earlier releases
    moments: Numbers
    # Standard deviation of the noise off the diagonal
    noise: float
    # The same per user, and variances
    means: tuple[Numbers, Numbers]


def _average_moments(
    noisy: Numbers, sigma: float, picked: "Picked", n_users: float, public: Public
) -> _Averages:
    noise = sigma / np.sqrt(2)
    if not public.is_planned:
        return _Averages(noisy, noise, (noisy, np.zeros(1)))
    variance = (noise / n_users) ** 2
    means = average_moments(noisy / n_users, variance, picked.chosen, public.earlier)
    if public.earlier is None:
        return _Averages(noisy, noise, means)
    return _Averages(means[0] * n_users, float(np.sqrt(means[1].mean())) * n_users, means)


def _kept_means(
    of_items: tuple[Numbers, Numbers], averages: _Averages, picked: "Picked", public: Public
) -> Means | None:
    return Means(*of_items, picked.chosen, *averages.means) if public.is_planned else None


@brief
class Picked(NamedTuple):
    """Released items, and those of them with moments; derived from noisy sums."""

    released: NDArray[np.int64]
    chosen: NDArray[np.int64]


def pick_released(
    popularity: Numbers,
    noise: float,
    n_users: float,
    *,
    is_catalogue: bool,
) -> Picked:
    """Select items by popularity with noise of deviation `noise`; all of a public catalogue."""
    if is_catalogue:
        released = np.arange(popularity.size)
    else:
        released = np.flatnonzero(popularity > _MIN_COUNT * noise)
    chosen = _choose(popularity, released, max(noise, LEAST_NOISE))
    reject_few_items(chosen.size, n_users, is_catalogue=is_catalogue)
    return Picked(released, chosen)


def reject_few_items(n_items: int, n_users: float, *, is_catalogue: bool) -> None:
    """Raise if too few items are above the noise."""
    if n_items < FEWEST_CHOSEN:
        catalog = "" if is_catalogue else " an item_catalog (--item-catalog),"
        raise RecveilError(
            f"the noise leaves only {describe_count(n_items, 'item')} for "
            f"{describe_count(round(n_users), 'user')}; expected at least {FEWEST_CHOSEN}: give a "
            f"larger epsilon (--epsilon),{catalog} more items or more users",
            code="budget.too-small",
        )


def ask_activity(
    ratings: UserRatings,
    mechanism: QueriedItems,
    public: Public,
    sigmas: Mapping[str, float],
) -> tuple[float, Numbers]:
    """Return the noisy number of users, and equally likely quantiles of activity."""
    edges = activity_edges(public.most_items)
    name, words = "users by user count", WHAT_OF_LIKES if ratings.scale.unary else WHAT
    noisy = mechanism.measure(name, words[name], added_up(ratings, users_by_activity, edges), 1.0)
    counts = np.where(_are_sums_of_users(noisy, sigmas[name]), noisy, 0.0)
    if not counts.any():
        raise RecveilError(
            "the noise of this epsilon hides the number of users; give a larger epsilon "
            "(--epsilon), or more users",
            code="budget.too-small",
        )
    reached = np.concatenate([[0.0], np.cumsum(counts)]) / counts.sum()
    places = (np.arange(ACTIVITIES) + 0.5) / ACTIVITIES
    bins = np.searchsorted(reached, places) - 1
    within = (places - reached[bins]) / (reached[bins + 1] - reached[bins])
    low, high = np.log(edges[bins] - 0.5), np.log(edges[bins + 1] - 0.5)
    # The sum of all bins: bins above the noise alone would underestimate.
    n_users = max(float(noisy.sum()), 1.0)
    return n_users, np.maximum(1.0, np.round(np.exp(low + within * (high - low))))


def _are_sums_of_users(noisy: Numbers, sigma: float) -> NDArray[np.bool_]:
    """Return which bins exceed their noise."""
    # The highest one must have a neighbour that exceeds its noise, or exceed twice the threshold: a
    # single bin far above all others may be noise, and would make some users choose everything. If
    # no bin qualifies, the fullest one is the highest.
    out = noisy > _MIN_USERS * sigma
    neighbours = np.zeros(out.size, np.bool_)
    neighbours[1:] |= out[:-1]
    neighbours[:-1] |= out[1:]
    sure = np.flatnonzero(out & (neighbours | (noisy > _ALONE * sigma)))
    highest = sure[-1] if sure.size else np.argmax(noisy)
    return np.asarray(out & (np.arange(out.size) <= highest))


def reject_hopeless(n_users: float, public: Public, sigma: float, weight: float) -> None:
    """Raise if no item can reach the threshold, before the query on items is charged."""
    # Each user adds at most `weight` to an item; the noise would have to add as much as all.
    if public.is_catalogue or not sigma:
        return
    height = threshold(
        *(sigma, public.threshold_delta, public.most_items), weight=weight, grid=sum_grid(sigma)
    )
    if 2 * weight * n_users < height:
        raise RecveilError(
            f"about {describe_count(round(n_users), 'user')} for this epsilon: expected more than "
            f"{height / (2 * weight):,.0f}, since fewer cannot lift an item above the noise; give "
            f"a larger epsilon (--epsilon), an item_catalog (--item-catalog), or more users",
            code="budget.too-small",
        )


def ask_kinds(
    ratings: UserRatings,
    mechanism: QueriedItems,
    picked: Picked,
    sigmas: Mapping[str, float],
    words: Words,
    *,
    is_catalogue: bool,
) -> Numbers:
    """Return noisy shares of choices on chosen items, other released items, and the rest.

    Popularity would be biased: high noise helps an item to be released, and active users choose
    more rare items.
    """
    kind_of = np.full(ratings.n_items, 2)
    kind_of[picked.released] = 1
    kind_of[picked.chosen] = 0
    name = "item kinds"
    grid = sum_grid(sigmas[name])
    exact = added_up(ratings, kind_sums, kind_of, 3, grid)
    noisy = mechanism.measure(name, words[name], exact, grid)
    # Without items, a kind has noise alone. Whether the last one has any is public only of a
    # catalogue, which is released as a whole.
    has_items = np.array([True, len(picked.released) > len(picked.chosen), not is_catalogue])
    shares = np.maximum(noisy, 0) * has_items
    return np.asarray(shares / shares.sum() if shares.any() else has_items / has_items.sum())


def ask_moments(
    ratings: UserRatings,
    mechanism: QueriedItems,
    picked: Picked,
    popularity: Numbers,
    sigmas: Mapping[str, float],
    words: Words,
    *,
    is_centred: bool = True,
) -> Numbers:
    """Return noisy moments of users' vectors on chosen items."""
    grid = embedding_grid(sigmas["moments"])
    centre = centre_of_vectors(popularity[picked.chosen], is_centred=is_centred)
    popular = PopularDirection.of(centre, grid)
    sums = added_up(ratings, moments, picked.chosen, popular, ratings.scale.liked_from, grid)
    return mechanism.measure_symmetric("moments", words["moments"], sums, grid**2)


def _choose(popularity: Numbers, released: NDArray[np.int64], noise: float) -> NDArray[np.int64]:
    """Return the items of the moments, the most popular first."""
    ranked = released[np.argsort(-popularity[released], kind="stable")]
    n_sure, n_likely = ((popularity[ranked] > times * noise).sum() for times in (_MIN_SIGNAL, 1.0))
    return ranked[: min(max(int(n_sure), min(_FEWEST, int(n_likely))), MOST_CHOSEN)]


# From this many noise deviations, popularity is left as measured.
_SURE = 8.0
# The points of the prior, in noise deviations, and the rounds of its fit.
_PLACES = np.concatenate([[0, 1 / 64, 1 / 32, 1 / 16], np.arange(1, 97) / 8])
_ROUNDS = 300


def expected_popularity(noisy: Numbers, noise: float) -> Numbers:
    """Return the posterior mean of each item's popularity, given its noisy sum."""
    # The prior is the distribution of popularity with the largest likelihood (Kiefer & Wolfowitz
    # 1956), found by expectation maximization on a grid.
    if noise <= 0:
        return np.maximum(noisy, 0)
    at = np.minimum(noisy / noise, _PLACES[-1])
    squares = (at[:, None] - _PLACES) ** 2
    fits = np.exp((squares.min(axis=1, keepdims=True) - squares) / 2)
    prior = np.full(_PLACES.size, 1 / _PLACES.size)
    for _ in range(_ROUNDS):
        prior = prior * ((1 / (fits @ prior)) @ fits) / len(noisy)
    expected = noise * np.minimum(fits @ (prior * _PLACES) / (fits @ prior), _SURE)
    return np.where(at > _SURE, noisy, expected)


# Budget share and ledger text of each query on ratings.
SHARES = {query.name: query.share for query in queries_of(likes=False)}
WHAT = {query.name: query.what for query in queries_of(likes=False)}
# The same if users are few
WHAT_OF_FEW = {query.name: query.what_of_few for query in queries_of(likes=False)}


@brief
class NoisySums(NamedTuple):
    """Noisy sums of users' ratings, each charged to the privacy budget."""

    # The noisy number of users
    n_users: float
    # Ratings per user as equally likely quantiles, ascending
    activity: Numbers
    levels: Numbers
    level_shares: Numbers
    # Variance of users' mean ratings, scaled to -1 to 1
    spread_of_users: float
    # Of all items of the catalogue
    items: ItemSums
    # Mean and standard deviation of ratings, scaled to -1 to 1
    centre: float
    spread: float
    # Positions of the released items, whose popularity exceeds its noise, ascending
    released: NDArray[np.int64]
    # The released items with moments, the most popular first
    chosen: NDArray[np.int64]
    moments: Numbers
    # Standard deviation of the noise off the diagonal
    moments_noise: float
    # A user's mean share of ratings on chosen items, other released items, and the rest
    kinds: Numbers
    # Public features of the released items, if there are any
    features: NDArray[np.bool_] | None = None
    # For the next release of a plan
    means: Means | None = None
    # Whether popularity was taken out of users' vectors
    is_centred: bool = True

    @property
    def choices(self) -> ChoiceSums:
        """The sums about which items users chose, as for implicit feedback."""
        return ChoiceSums(
            n_users=self.n_users,
            activity=self.activity,
            popularity=self.items.popularity,
            popularity_noise=self.items.popularity_noise,
            released=self.released,
            chosen=self.chosen,
            moments=self.moments,
            moments_noise=self.moments_noise,
            kinds=self.kinds,
            features=self.features,
            is_centred=self.is_centred,
        )

    @property
    def share_as_json(self) -> float:
        """A user's mean share of ratings on all released items."""
        return self.choices.share_as_json


def are_few(n_users: float, sigmas: Mapping[str, float]) -> bool:
    """Return whether users are few for the noise; never if there is none."""
    if not all(sigmas.values()):
        return False
    return n_users * math.sqrt(math.fsum(sigma**-2 for sigma in sigmas.values())) < FEW


def _is_centred(public: Public, n_users: float, sigmas: Mapping[str, float]) -> bool:
    # A plan averages moments of several releases, so all are centred.
    return public.is_planned or not are_few(n_users, sigmas)


def weight_of_counts(
    scale: RatingScale, public: Public, n_users: float, sigmas: Mapping[str, float]
) -> float:
    """Return the weight of an item's popularity in its noisy sums."""
    if scale.unary:
        return 1.0
    is_centred = _is_centred(public, n_users, sigmas)
    return math.sqrt(COUNT_SHARE if is_centred else COUNT_SHARE_OF_FEW)


def measure(
    ratings: UserRatings,
    mechanism: QueriedItems,
    public: Public,
    sigmas: Mapping[str, float],
    users: tuple[float, Numbers] | None = None,
) -> NoisySums:
    """Make all queries on ratings but that on fitted embeddings; the first may have been made."""
    n_users, activity = users or ask_activity(ratings, mechanism, public, sigmas)
    is_centred = _is_centred(public, n_users, sigmas)
    count_share = COUNT_SHARE if is_centred else COUNT_SHARE_OF_FEW
    reject_hopeless(n_users, public, sigmas["item sums"], math.sqrt(count_share))
    levels = rating_levels(ratings.scale)
    what, grid = WHAT["rating levels"], sum_grid(sigmas["rating levels"])
    exact = added_up(ratings, level_sums, levels, grid)
    shares = mechanism.measure("rating levels", what, exact, grid)
    spread_of_users = _spread_of_users(ratings, mechanism, n_users, sigmas["user means"])
    centre, spread = _centre(shares, levels, ratings.scale)
    items, of_items = _items(
        ratings, mechanism, public, sigmas["item sums"], (centre, spread, count_share), n_users
    )
    picked = pick_released(
        items.popularity, items.popularity_noise, n_users, is_catalogue=public.is_catalogue
    )
    kinds = ask_kinds(ratings, mechanism, picked, sigmas, WHAT, is_catalogue=public.is_catalogue)
    words = WHAT if is_centred else WHAT_OF_FEW
    noisy = ask_moments(
        ratings, mechanism, picked, items.popularity, sigmas, words, is_centred=is_centred
    )
    averages = _average_moments(noisy, sigmas["moments"], picked, n_users, public)
    return NoisySums(
        n_users=n_users,
        activity=activity,
        levels=levels,
        level_shares=shares,
        spread_of_users=spread_of_users,
        items=items,
        centre=centre,
        spread=spread,
        released=picked.released,
        chosen=picked.chosen,
        moments=averages.moments,
        moments_noise=averages.noise,
        kinds=kinds,
        features=public.features_of(picked.released),
        means=_kept_means(of_items, averages, picked, public),
        is_centred=is_centred,
    )


def _spread_of_users(
    ratings: UserRatings, mechanism: QueriedItems, n_users: float, sigma: float
) -> float:
    what, grid = WHAT["user means"], sum_grid(sigma)
    exact = added_up(ratings, spread_sums, grid)
    noisy = mechanism.measure("user means", what, exact, grid)
    mean, square = noisy / SPREAD_SHARE / n_users
    return float(max(square - mean**2, 0.0))


def _centre(shares: Numbers, levels: Numbers, scale: RatingScale) -> tuple[float, float]:
    """Return the mean and standard deviation of ratings scaled to -1 to 1, from noisy shares."""
    counts = np.maximum(shares, 0)
    counts = counts / counts.sum() if counts.any() else np.full(len(counts), 1 / len(counts))
    at = moved(levels, scale)
    centre = float(counts @ at)
    return centre, float(max(np.sqrt(counts @ (at - centre) ** 2), 0.05))


def _items(
    ratings: UserRatings,
    mechanism: QueriedItems,
    public: Public,
    sigma: float,
    usual: tuple[float, float, float],
    n_users: float,
) -> tuple[ItemSums, tuple[Numbers, Numbers]]:
    """Return noisy sums of all items, 0 if they may not be released, and their means."""
    centre, spread, count_share = usual
    what, grid = WHAT["item sums"], sum_grid(sigma)
    exact = added_up(ratings, item_sums, centre, spread, grid, count_share)
    if public.is_catalogue:
        noisy = mechanism.measure("item sums", what, exact, grid)
        known = ItemSums.of(noisy, spread, sigma, count_share)
        new = np.column_stack([known.popularity, known.off_centre]) / n_users
        noise = np.array([known.popularity_noise, known.off_noise]) / n_users
        means = average_items(new, noise**2, public.earlier)
        if public.earlier is not None:
            noises = (np.sqrt(means[1]) * n_users).tolist()
            known = ItemSums(*(means[0] * n_users).T, *noises)
        expected = expected_popularity(known.popularity, known.popularity_noise)
        return known._replace(popularity=expected), means
    named, sums = mechanism.measure_items(
        *("item sums", what, exact, grid),
        delta=public.threshold_delta,
        most_items=public.most_items,
        weight=math.sqrt(count_share),
    )
    noisy = np.zeros(exact.shape)
    noisy[named] = sums
    return ItemSums.of(noisy, spread, sigma, count_share), (noisy, np.zeros(2))
