"""Format of synthetic releases: their numbers, and the queries of their ledger.

Anything that recveil could not have written is rejected, as the guarantee follows from the ledger.
"""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.release.claim import Claim, claim_of_json
from recveil.release.dates import DATED_FORMAT, dates_within, period_of
from recveil.release.earlier_formats import RENAMED_SINCE as NEWEST
from recveil.release.ledger import Ledger, Query, delta_left, epsilon_of
from recveil.release.method import (
    MAX_RATINGS,
    MOST_DIRECTIONS,
    MOST_ITEMS,
    PLANNED_RELEASES,
    RELEASE_NUMBER,
    publishes_likes,
)
from recveil.release.user_table import ATTRIBUTE_FORMAT
from recveil.runtime.errors import RecveilError

if TYPE_CHECKING:
    from recveil.ratings import RatingScale


class LedgerQuery(NamedTuple):
    """A query of every ledger of synthetic releases."""

    name: str
    what: str
    # Its share of the privacy budget; all shares add up to 1
    share: float
    # The oldest and the newest format with this query
    first_format: int = 3
    last_format: int = NEWEST
    # Its share up to a format: pairs of format and share, the oldest first
    shares_before: tuple[tuple[int, float], ...] = ()
    # Its share of few users in early releases of the ninth format, where it differs
    share_of_few: float | None = None
    # What it sums up of few users, where it differs
    uncentred: str | None = None

    @property
    def what_of_few(self) -> str:
        """What it sums up of few users, if no other release is planned."""
        return self.uncentred or self.what

    def share_of(self, number: int = NEWEST, *, few: bool = False) -> float:
        """Return its share in releases of a format, or in new ones."""
        before = [share for last, share in self.shares_before if number <= last]
        if before:
            return before[0]
        return self.share if self.share_of_few is None or not few else self.share_of_few


_UNCENTRED = "for each pair of items, the product of users' vectors"
_CENTRED = f"{_UNCENTRED}, centred by popularity"
# In order of execution. The sensitivity of each is 1.
QUERIES = (
    LedgerQuery("users by user count", "the number of users by number of ratings", 0.01),
    LedgerQuery("rating levels", "users' shares of ratings at each level", 0.004),
    LedgerQuery("user means", "users' mean ratings and their squares", 0.004),
    LedgerQuery(
        "item sums",
        "for each item, its ratings and their deviations from the mean",
        0.3,
        shares_before=((8, 0.232),),
        share_of_few=0.6,
    ),
    LedgerQuery(
        "item kinds",
        "users' shares of ratings on items with factors, on other published items, and on the rest",
        0.004,
        first_format=4,
    ),
    LedgerQuery(
        "moments",
        "for each pair of items, the weighted number of users with both",
        0.736,
        last_format=8,
        shares_before=((3, 0.75), (4, 0.746)),
    ),
    LedgerQuery(
        *("moments", _CENTRED, 0.668), first_format=9, share_of_few=0.368, uncentred=_UNCENTRED
    ),
    LedgerQuery(
        "ratings by factor",
        "for each factor, the slope of ratings along it, and the agreement of both halves of a "
        "user's ratings",
        0.01,
        first_format=5,
    ),
)

# The same for likes, which have no rating queries: the others share the whole budget.
QUERIES_OF_LIKES = (
    LedgerQuery("users by user count", "the number of users by number of interactions", 0.01, 6),
    LedgerQuery("item sums", "for each item, its interactions", 0.06, 6),
    LedgerQuery(
        "item kinds",
        "users' shares of interactions on items with factors, on other published items, and on the "
        "rest",
        0.004,
        6,
    ),
    LedgerQuery(
        *("moments", "for each pair of items, the weighted number of users with both", 0.926, 6),
        last_format=8,
    ),
    LedgerQuery("moments", _CENTRED, 0.926, 9),
)

# The last query of releases with dates; its share is in addition to those of the others.
QUERY_OF_DATES = LedgerQuery(
    "dates",
    "for each popular item, users' ratings by period; users by first period and by span; shares of "
    "their ratings in the first, other and last periods",
    0.15,
    first_format=DATED_FORMAT,
)


# The last query of releases with attributes of users, in addition as well.
QUERY_OF_ATTRIBUTES = LedgerQuery(
    "attributes",
    "for each value of each attribute, its users, their number of ratings and mean rating, and the "
    "directions of their choices and of their ratings",
    0.1,
    first_format=ATTRIBUTE_FORMAT,
)


def queries_of(
    number: int = NEWEST, *, likes: bool, dates: bool = False, attributes: bool = False
) -> list[LedgerQuery]:
    """Return the queries of releases of a format, or of new ones, in order."""
    queries = QUERIES_OF_LIKES if likes else QUERIES
    number = min(number, NEWEST)
    found = [query for query in queries if query.first_format <= number <= query.last_format]
    found += [QUERY_OF_DATES] if dates else []
    return [*found, QUERY_OF_ATTRIBUTES] if attributes else found


# The largest number of periods of dates.
MOST_PERIODS = 120


def n_span_bins(n_periods: int) -> int:
    """Return the number of bins of users by span: 0 periods, 1, 2 to 3, 4 to 7, and so on."""
    return 1 + (n_periods - 1).bit_length()


# Numbers of a user in the query of attributes: the constant, their number of ratings and mean
# rating, and the directions of choices and of ratings.
N_FEATURES = 3 + 2 * MOST_DIRECTIONS


def values_of_dates(n_items: int, n_periods: int) -> int:
    """Return the number of values of the query of dates."""
    return (n_items + 1) * n_periods + n_span_bins(n_periods) + _AGES


def sums_of_item(*, likes: bool) -> int:
    """Return the number of sums per item: its count, and its ratings."""
    return 1 if likes else 2


# Of a user's squared length in item sums, the share of item counts; the rest is of ratings.
COUNT_SHARE, COUNT_SHARE_OF_FEW = 0.3, 0.6
# A normal number is within this many standard deviations in 95% of cases.
_WITHIN_95 = 1.96
# A scale with more levels is counted in this many bins.
MOST_LEVELS = 21
# Minimum and maximum number of items in the moments.
FEWEST_CHOSEN, MOST_CHOSEN = 2, 10_000
# Number of equally likely user counts.
ACTIVITIES = 128
# Digits of numbers in release.json.
DIGITS = 6
# A larger delta offers no meaningful guarantee: no release is made.
MOST_DELTA = 1e-2
# Minimum number of users behind sums without noise: no user is more than a twentieth of them, and
# the fifth that an audit holds out as nonmembers is large enough.
FEWEST_SUMMED = 20
# Maximum slope of ratings along a factor, on a scale on which all ratings have the spread 1. Slopes
# are measured and published since the fifth format.
MOST_SLOPE = 2.0
_DIRECTIONS_SINCE = 5
# The default, unless users are too many for it
DEFAULT_DELTA = 1e-6
# Partition selection by noisy sums takes this share of delta.
THRESHOLD_SHARE = 0.1
# Relative tolerance for the split of the noise and for epsilon.
_SPLIT_WITHIN, _REACHED_WITHIN = 1e-9, 1e-6
# Maximum number of bins of users by user count.
_BINS = 24
# Of users' ratings, at least a hundredth is on published items.
MOST_OMITTED = 0.99
# Smallest share of ratings at a level, as a part of the largest, and what rounding cuts can take.
LEAST_LEVEL_SHARE, _ROUNDED_CUTS = 1e-3, 1e-6
# Largest part of the items that a synthetic user has.
MOST_SAMPLED = 0.95
# The number of a synthetic user's items differs from their user count by less than this: sampling
# rounds, and the fit of its probabilities ends close to the count.
MOST_MISSED = 1.01
# Minimum size of a batch of synthetic users, and the maximum number of batches.
_BATCH, _MOST_BATCHES = 1 << 14, 1 << 12
# Users' mean ratings and their squares; kinds of items: with factors, published, and the rest.
_MEANS, _KINDS = 2, 3
# Users' shares of ratings in the first period, between, and in the last one.
_AGES = 3


def rating_levels(scale: "RatingScale") -> NDArray[np.float64]:
    """Return the levels at which ratings are counted: all, or `MOST_LEVELS` evenly spaced ones."""
    if scale.step is not None and scale.range / scale.step < MOST_LEVELS:
        return np.asarray(scale.levels, np.float64)
    return np.linspace(scale.low, scale.high, MOST_LEVELS)


def tenths_of(scale: "RatingScale") -> float:
    """Return a tenth of the scale's step, or of a twentieth of its range."""
    if scale.labels:
        return 1.0
    step = scale.range / 20 if scale.step is None else scale.step
    return float(f"{step / 10:.12g}") or 1.0


def step_of_drawn(scale: "RatingScale", *, whole: bool) -> float:
    """Return the step of synthetic ratings: that of the scale for whole ratings, else tenths."""
    step = scale.step if whole or scale.unary else None
    return step or tenths_of(scale)


def activity_edges(most_items: int) -> NDArray[np.int64]:
    """Return the lower edges of the bins of user counts, and one more, independent of the data."""
    edges = np.geomspace(1, most_items + 1, _BINS + 1)
    return np.unique(np.round(edges)).astype(np.int64)


def batch_size(n_users: int) -> int:
    """Return how many users a batch has that is sampled as one file."""
    return max(_BATCH, math.ceil(n_users / _MOST_BATCHES))


def errors_of_noise(content: Mapping[str, Any]) -> dict[str, float | None]:
    """Return how far noise moves item counts and means in 95% of releases, from release.json.

    For users with n ratings each, `count_error` is to be multiplied by ``sqrt(n)``, `mean_error` by
    ``sqrt(n)`` over the item's users (None for likes); `far_mean_error` is of a mean that is
    `spread` from the overall one, `usual_count` the mean n of the release.
    """
    claim, settings = claim_of_json(content), content["settings"]
    if claim.ledger is None or "user_counts" not in settings:
        return {}
    try:
        with np.errstate(all="ignore"):
            return _errors_of_noise(claim.ledger, content["scale"], settings)
    except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError):
        # Reported as problems of the release
        names = "count_error", "mean_error", "far_mean_error", "spread", "usual_count"
        return dict.fromkeys(names, math.nan)


def _errors_of_noise(
    ledger: Ledger, scale: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, float | None]:
    from recveil.ratings import RatingScale  # imported here because pyarrow is slow to load

    sigma = next(query.sigma for query in ledger.queries if query.name == "item sums")
    counts = settings["user_counts"]
    usual, error = math.fsum(counts) / len(counts), _WITHIN_95 * sigma
    if publishes_likes(settings):
        return {"count_error": error, "mean_error": None, "usual_count": usual}
    levels = rating_levels(RatingScale.from_json(scale))
    below = [math.erfc(-cut / math.sqrt(2)) / 2 for cut in settings["cutpoints"]]
    shares = np.diff(below, prepend=0, append=1)
    spread = math.sqrt(shares @ (levels - shares @ levels) ** 2)
    is_uncentred = any(query.what == _UNCENTRED for query in ledger.queries)
    count_share = COUNT_SHARE_OF_FEW if is_uncentred else COUNT_SHARE
    return {
        "count_error": error / math.sqrt(count_share),
        "mean_error": error * spread / math.sqrt(1 - count_share),
        # The noise of the count moves a mean that differs from the overall one.
        "far_mean_error": error * spread / math.sqrt(count_share * (1 - count_share)),
        "spread": spread,
        "usual_count": usual,
    }


def problems_of_synthetic(manifest: Mapping[str, Any], number: int) -> Iterator[str]:
    """Report content of release.json that no synthetic release of recveil can have."""
    from recveil.ratings import RatingScale  # imported here because pyarrow is slow to load

    scale = RatingScale.from_json(manifest["scale"])
    claim = claim_of_json(manifest)
    ledger, likes = claim.ledger, publishes_likes(manifest["settings"])
    yield from _problems_of_claim(claim)
    yield from _problems_of_users(manifest, claim)
    yield from _problems_of_activity(manifest, ledger)
    yield from _problems_of_share(manifest["settings"])
    if not likes:
        yield from _problems_of_levels(manifest["settings"], scale)
    if number >= _DIRECTIONS_SINCE and not likes:
        yield from _problems_of_directions(manifest["settings"])
    if ledger is not None:
        has_dates = period_of(manifest["settings"]) is not None
        has_attributes = "user_attributes" in manifest
        queries = queries_of(number, likes=likes, dates=has_dates, attributes=has_attributes)
        yield from _problems_of_ledger(ledger, queries, manifest, scale)
        is_uncentred = any(query.what == _UNCENTRED for query in ledger.queries)
        cases = (False,) if is_uncentred else (False, True)
        splits = [[query.share_of(number, few=few) for query in queries] for few in cases]
        yield from _problems_of_noise(claim, ledger, splits)
        yield from _problems_of_earlier(ledger, manifest["settings"], number)
        if has_dates and not _n_periods(manifest["settings"]):
            yield f"settings: date_range has no first and last day of 1 to {MOST_PERIODS} periods"


def _problems_of_earlier(ledger: Ledger, settings: Mapping[str, Any], number: int) -> Iterator[str]:
    is_alone = settings.get("item_catalog") == "selected" or "cohort" in settings
    if ledger.earlier and (is_alone or number < NEWEST):
        yield "claim: only releases of all users with a public list of items reuse noisy sums"
        return
    stated, planned = (settings.get(name) for name in (RELEASE_NUMBER, PLANNED_RELEASES))
    named = 1 + len(ledger.earlier)
    if (ledger.earlier or stated is not None) and stated != named:
        yield (
            f"claim: its ledger names {named - 1:,} earlier releases, but settings state that this "
            f"is release {stated!r:.40} of the plan"
        )
    if type(planned) is int and named > planned:
        yield f"settings: {planned:,} releases are planned, but this is release {named:,}"


def _problems_of_claim(claim: Claim) -> Iterator[str]:
    if claim.delta is not None and claim.delta > MOST_DELTA:
        yield (
            f"claim: delta is {claim.delta:g}; it is the probability without any guarantee, and no "
            f"release has more than {MOST_DELTA:g}"
        )
    if claim.ledger is None and claim.k < FEWEST_SUMMED:
        yield f"k is {claim.k}; sums without noise have at least {FEWEST_SUMMED} users"


def _problems_of_users(manifest: Mapping[str, Any], claim: Claim) -> Iterator[str]:
    found = manifest["counts"].get("users", claim.k)
    is_counted = manifest["settings"].get("n_users") == "counted"
    if claim.ledger is None and is_counted and found != claim.k:
        yield (
            f"settings: n_users is counted, and sums without noise are of {claim.k:,} users, but "
            f"the ratings contain {found!r:.40}"
        )


def default_delta(n_users: float) -> float:
    """Return the default, or the largest power of ten of at most one over ten times the users."""
    delta, power = DEFAULT_DELTA, 6
    while delta * 10 * n_users > 1:
        power += 1
        delta = float(f"1e-{power}")
    return delta


def _problems_of_noise(claim: Claim, ledger: Ledger, splits: list[list[float]]) -> Iterator[str]:
    """Report a split of the noise that differs from the required ones."""
    if len(ledger.queries) != len(splits[0]) or claim.epsilon is None or claim.delta is None:
        return  # reported before
    if not any(_is_split_by(ledger, shares, claim) for shares in splits):
        yield "claim: recveil splits the noise of a ledger between the queries in another way"
    part = THRESHOLD_SHARE * claim.delta
    if ledger.threshold_delta and not math.isclose(ledger.threshold_delta, part, rel_tol=1e-9):
        yield (
            f"claim: of its delta, item selection takes {ledger.threshold_delta:g}, expected "
            f"{part:g}"
        )
    try:
        reached = ledger.epsilon(claim.delta)
    except RecveilError:
        return  # reported where epsilon is compared
    if claim.epsilon > reached * (1 + _REACHED_WITHIN) + _REACHED_WITHIN:
        yield (
            f"claim: epsilon is {claim.epsilon:g}, but its ledger adds up to {reached:g}; recveil "
            f"spends all that it promises"
        )


def _is_split_by(ledger: Ledger, shares: list[float], claim: Claim) -> bool:
    spent = [query.mu**2 / share for query, share in zip(ledger.queries, shares, strict=True)]
    if _is_smaller_default(claim) and _is_reached(claim, math.sqrt(spent[0] * math.fsum(shares))):
        del spent[0]
    return max(spent) <= min(spent) * (1 + _SPLIT_WITHIN)


def _is_smaller_default(claim: Claim) -> bool:
    delta = claim.delta or DEFAULT_DELTA
    return delta < DEFAULT_DELTA and delta == float(f"1e{round(math.log10(delta))}")


def _is_reached(claim: Claim, mu: float) -> bool:
    ledger, epsilon = claim.ledger, claim.epsilon or 0.0
    has_threshold = ledger is not None and ledger.threshold_delta > 0
    part = THRESHOLD_SHARE * DEFAULT_DELTA if has_threshold else 0.0
    found = epsilon_of(mu, delta_left(DEFAULT_DELTA, part))
    return math.isclose(found, epsilon, rel_tol=_REACHED_WITHIN, abs_tol=_REACHED_WITHIN)


def _problems_of_activity(manifest: Mapping[str, Any], ledger: Ledger | None) -> Iterator[str]:
    """Report invalid numbers in the distribution of user counts."""
    activity = _numbers_of(manifest["settings"], "user_counts")
    if activity is None:
        yield _no_numbers("user_counts")
        return
    most, stated = _most_items(manifest, ledger), manifest["settings"].get(MAX_RATINGS)
    most = min(most, stated) if type(stated) is int else most
    is_rising = (
        bool(activity.size) and (np.diff(activity, prepend=1, append=max(1, most)) >= 0).all()
    )
    if activity.size != ACTIVITIES or not is_rising:
        yield (
            f"settings: user_counts are not {ACTIVITIES} ascending numbers, from 1 to the "
            f"number of items"
        )


def _problems_of_share(settings: Mapping[str, Any]) -> Iterator[str]:
    """Report a share of omitted items that is not rounded, or that leaves nothing to publish."""
    share = settings.get("omitted_share")
    if type(share) is float and not (share <= MOST_OMITTED and round(share, 4) == share):
        yield (
            f"settings: omitted_share is {share:g}; expected at most {MOST_OMITTED:g}, with at "
            f"most 4 decimal places"
        )


def _problems_of_levels(settings: Mapping[str, Any], scale: "RatingScale") -> Iterator[str]:
    cuts, spreads = (_numbers_of(settings, name) for name in ("cutpoints", "spreads"))
    if cuts is None or spreads is None:
        yield _no_numbers("cutpoints" if cuts is None else "spreads")
        return
    n_cuts = rating_levels(scale).size - 1
    if cuts.size != n_cuts or not (np.diff(cuts) > 0).all():
        yield f"settings: cutpoints are not {n_cuts} ascending numbers, between levels of {scale}"
    elif not _has_all_levels(cuts):
        yield (
            f"settings: cutpoints leave a level with less than a {1 / LEAST_LEVEL_SHARE:,.0f}th of "
            f"the ratings of the most frequent one, which no fit does"
        )
    if spreads.size != 2 or not ((spreads > 0) & (spreads <= 1)).all():
        yield "settings: spreads are not two numbers above 0, and at most 1"
    if settings.get("value_step") not in (tenths_of(scale), scale.step):
        yield f"settings: value_step is neither the step of the scale {scale} nor a tenth of it"


def _has_all_levels(cuts: NDArray[np.float64]) -> bool:
    """Return whether each level has a share of ratings that a fit can give it."""
    below = [math.erfc(-cut / math.sqrt(2)) / 2 for cut in cuts.tolist()]
    shares = np.diff(below, prepend=0, append=1)
    return bool(shares.min() >= LEAST_LEVEL_SHARE * shares.max() - _ROUNDED_CUTS)


def _numbers_of(settings: Mapping[str, Any], name: str) -> NDArray[np.float64] | None:
    numbers = settings.get(name)
    if not isinstance(numbers, list) or not all(_is_number(number) for number in numbers):
        return None
    return np.array(numbers, np.float64)


def _no_numbers(name: str) -> str:
    return f"settings: {name} is no list of numbers with at most {DIGITS} decimal places"


def _problems_of_directions(settings: Mapping[str, Any]) -> Iterator[str]:
    """Report missing or invalid slopes of ratings along the factors."""
    values = {name: settings.get(name) for name in ("slopes", "slope_spreads")}
    for name, numbers in values.items():
        least = 0.0 if name == "slope_spreads" else -MOST_SLOPE
        if not isinstance(numbers, list) or not all(
            _is_number(number)
            and least <= number <= MOST_SLOPE
            and (number or math.copysign(1, number) > 0)
            for number in numbers
        ):
            yield (
                f"settings: {name} is no list of numbers from {least:g} to {MOST_SLOPE:g} with at "
                f"most {DIGITS} decimal places, 0 without a sign"
            )
            return
    sizes = {len(numbers) for numbers in values.values() if numbers is not None}
    if len(sizes) > 1 or max(sizes) > MOST_DIRECTIONS:
        yield (
            f"settings: slopes and slope_spreads differ in length, or have more than "
            f"{MOST_DIRECTIONS} numbers, one per factor"
        )


def _is_number(number: Any) -> bool:
    return type(number) is float and math.isfinite(number) and round(number, DIGITS) == number


def _most_items(manifest: Mapping[str, Any], ledger: Ledger | None) -> float:
    """Return the maximum number of items of a synthetic user; infinite if unknown."""
    if manifest["layout"] == "model":
        counted = manifest["counts"].get("items")
        return counted if type(counted) is int else math.inf
    if ledger is None:
        return math.inf
    return _queried_items(ledger, likes=publishes_likes(manifest["settings"]))


def _queried_items(ledger: Ledger, *, likes: bool) -> int:
    """Return the number of items whose sums were published."""
    n_sums = sum(query.values for query in ledger.queries if query.name == "item sums")
    return n_sums // sums_of_item(likes=likes)


def _problems_of_ledger(
    ledger: Ledger, queries: list[LedgerQuery], manifest: Mapping[str, Any], scale: "RatingScale"
) -> Iterator[str]:
    """Report queries of a ledger that differ from the required ones."""
    expected, catalogue = (
        [query.name for query in queries],
        manifest["settings"].get("item_catalog"),
    )
    if [query.name for query in ledger.queries] != expected:
        yield f"claim: its ledger must hold the queries {', '.join(expected)}, once each, no others"
        return
    likes = publishes_likes(manifest["settings"])
    n_items, is_chosen = _queried_items(ledger, likes=likes), catalogue == "selected"
    most, stated = MOST_ITEMS if is_chosen else n_items, manifest["settings"].get(MAX_RATINGS)
    most = min(most, stated) if type(stated) is int else most
    side = _side_of_moments(ledger, min(n_items, _most_items(manifest, ledger)))
    values = {
        "users by user count": activity_edges(most).size - 1,
        "rating levels": rating_levels(scale).size,
        "user means": _MEANS,
        "item sums": sums_of_item(likes=likes) * n_items,
        "item kinds": _KINDS,
        # The cells of the matching triangle of moments; of the largest one if none matches.
        "moments": side * (side + 1) // 2,
        "ratings by factor": 2 * MOST_DIRECTIONS,
        "dates": _values_of_dates(ledger, manifest["settings"], side),
        "attributes": _values_of_attributes(manifest),
    }
    for query, form in zip(ledger.queries, queries, strict=True):
        yield from _problems_of_query(query, form, values[query.name])
    n_directions = _n_directions(manifest["settings"])
    if n_directions >= _side_of_moments(ledger, n_items):
        yield (
            f"settings: {'factors are' if likes else 'slopes have'} {n_directions} factors, "
            f"but its moments are of no more items"
        )
    if (ledger.threshold_delta > 0) != is_chosen:
        yield (
            f"claim: threshold_delta of its ledger is {ledger.threshold_delta:g}, but the "
            f"item_catalog is {catalogue!r:.40}; expected a number above 0 where items are "
            f"selected, and 0 elsewhere"
        )
    counted = manifest["counts"].get("items")
    if type(counted) is int and counted > n_items:
        yield f"claim: its ledger has {n_items:,} items, but {counted:,} are published"


def _values_of_attributes(manifest: Mapping[str, Any]) -> int:
    # A value more of each column: "*"
    about = manifest.get("user_attributes", {})
    return N_FEATURES * sum(len(values) + 1 for values in about.get("values", ()))


def _values_of_dates(ledger: Ledger, settings: Mapping[str, Any], side: int) -> int:
    """Return the matching number of values of the query of dates, or the largest one."""
    n_periods = _n_periods(settings)
    if not n_periods:
        return 0
    stated = next(query.values for query in ledger.queries if query.name == "dates")
    n_items = round((stated - values_of_dates(0, n_periods)) / n_periods)
    return values_of_dates(min(max(n_items, 1), side), n_periods)


def _n_periods(settings: Mapping[str, Any]) -> int:
    """Return the number of periods of dates; 0 if there are none, or too many."""
    found = dates_within(settings)
    return 0 if found is None or found.size > MOST_PERIODS else found.size


def _n_directions(settings: Mapping[str, Any]) -> int:
    """Return the number of factors in the settings; 0 if there are none."""
    directions, slopes = settings.get("factors"), settings.get("slopes")
    if type(directions) is int:
        return directions
    return len(slopes) if isinstance(slopes, list) else 0


def _side_of_moments(ledger: Ledger, most_items: float) -> int:
    n_values = next(query.values for query in ledger.queries if query.name == "moments")
    most = int(min(most_items, MOST_CHOSEN))
    return min(max((math.isqrt(8 * n_values + 1) - 1) // 2, FEWEST_CHOSEN), most)


def _problems_of_query(query: Query, queries: LedgerQuery, values: int) -> Iterator[str]:
    where = f"claim: the query {query.name!r} of its ledger"
    if query.what not in (queries.what, queries.what_of_few):
        yield f"{where} sums up {query.what!r:.60}, expected {queries.what!r}"
    if query.sensitivity != 1.0:
        yield f"{where} has the sensitivity {query.sensitivity:g}, expected 1"
    if query.values != values:
        yield f"{where} has {query.values:,} values, expected {values:,}"
