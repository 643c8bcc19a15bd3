"""Public description of sparse rows."""

from collections.abc import Iterator, Mapping
from typing import Any

from recveil.release.claim import card_text
from recveil.release.dates import DATES, ORDER, period_of
from recveil.release.method import (
    OF_LIKES,
    Method,
    Option,
    PublicSetting,
    Settings,
    Variant,
    problems_of_usual_step,
    publishes_ratings,
)

# Minimum number of users behind the factors; the larger number bounds the option.
MIN_CLUSTER, MAX_CLUSTER = 20, 256
# Number of items whose probabilities in each class are computed, more than the Netflix Prize has.
# Rarer items are dealt by their counts.
MOST_COMMON = 20_000

# Rows are sampled from sums over users without noise. Membership inference was measured with 32
# releases of 471 of the 943 users of MovieLens 100K, k = 5: for each user, releases with them were
# compared with those without (`recveil audit --release --shadows 32`).
SPARSE_UNDONE = (
    "Sparse rows carry no noise and do not hide who is in the data. On half of the users of "
    "MovieLens 100K, k = 5, an adversary with 32 shadow releases infers membership with "
    "an AUC of 0.96 from all ratings of a user, where exact item counts give 1.00, and of "
    "0.70 from eight ratings, where exact item counts give 0.96 (0.5 is a random guess). "
    "Better attacks may infer more; “recveil audit --release --shadows 32” measures this for "
    "your release."
)
# The same of implicit feedback.
SPARSE_LIKES_UNDONE = (
    "Sparse rows carry no noise and do not hide who is in the data. On half of the users of "
    "MovieLens 100K, as implicit feedback with k = 5, an adversary with 32 shadow "
    "releases infers membership with an AUC of 0.94 from all items of a user, where exact "
    "item counts give 1.00, and of 0.66 from eight, where exact item counts give 0.96 (0.5 "
    "is a random guess). Better attacks may infer more; “recveil audit --release --shadows 32” "
    "measures this for your release."
)
# Of releases with dates, by the same measurement.
SPARSE_DATES_UNDONE = (
    "Dates make that easier: on half of the users of MovieLens 100K, k = 5, with dates by week, an "
    "adversary with 32 shadow releases who knows the days of ratings, too, infers membership with "
    "an AUC of 0.98 from all ratings of a user, and of 0.79 from eight (without dates: 0.96 and "
    "0.70). In an audit, adversaries who know exact ratings know their days, too."
)
# Of releases with an order, by the same measurement.
SPARSE_ORDER_UNDONE = (
    "On half of the users of MovieLens 100K, k = 5, an adversary with 32 shadow releases who reads "
    "positions as quantiles of the days of all ratings infers membership with an AUC of 0.96 from "
    "all ratings of a user, and of 0.70 from eight, with the order of dates and without. Better "
    "readings may infer more."
)
# For releases made before items with fewer than k raters were omitted.
SPARSE_RARE_UNDONE = (
    "This release was made before recveil omitted items with fewer than k raters: such an "
    "item proves that a user rated it. Make it anew."
)
SPARSE_LONE_UNDONE = (
    "Values of such items reveal ratings: on MovieLens latest-small, for items with one "
    "rater, whether the rater liked them more than most was inferred correctly in 88% of "
    "cases (53% by a guess)."
)


def _made_before(settings: Settings) -> tuple[str, ...]:
    if "items_below_k" in settings or "method" not in settings:  # a variant, which is made now
        return ()
    return (SPARSE_RARE_UNDONE, *([SPARSE_LONE_UNDONE] if publishes_ratings(settings) else []))


def _undone(settings: Settings) -> tuple[str, ...]:
    attack = SPARSE_UNDONE if publishes_ratings(settings) else SPARSE_LIKES_UNDONE
    dated = SPARSE_ORDER_UNDONE if period_of(settings) == ORDER else SPARSE_DATES_UNDONE
    if not publishes_ratings(settings):
        of_ratings = "MovieLens 100K, with ratings (likes were not measured),"
        dated = dated.replace("MovieLens 100K,", of_ratings, 1)
    return (attack, *((dated,) if period_of(settings) else ()), *_made_before(settings))


def _problems_of_rows(settings: Settings, k: int, counts: Mapping[str, int]) -> Iterator[str]:
    """Report more clusters than fit: the users of a cluster share the value of each item."""
    cluster_size = settings.get("cluster_size")
    if type(cluster_size) is not int:
        return
    most = counts["users"] // max(k, cluster_size)
    if counts["clusters"] > most:
        yield (
            f"settings: cluster_size is {cluster_size:,}, so that {counts['users']:,} users form "
            f"at most {most:,} clusters, each with one value per item, but the values belong to at "
            f"least {counts['clusters']:,} clusters"
        )


def _problems(manifest: Mapping[str, Any], _format: int) -> Iterator[str]:
    """Report values on another grid than that of sparse rows."""
    if publishes_ratings(manifest["settings"]):
        yield from problems_of_usual_step(manifest["settings"], manifest["scale"])


SPARSE = Method(
    name="sparse",
    title="sparse rows",
    description="at least k users share one row, sampled from the items of at least 20 similar "
    "users",
    family="identical rows",
    settings=(
        PublicSetting("method", ("sparse rows",)),
        PublicSetting(
            "cluster_size", tuple(range(MIN_CLUSTER, MAX_CLUSTER + 1)), counts_users=True
        ),
        PublicSetting(
            "items_below_k",
            ("omitted",),
            when=lambda settings: "items_below_k" in settings,
            first_format=5,
        ),
        PublicSetting("value_step", any_step=True, when=publishes_ratings),
        OF_LIKES,
        DATES,
    ),
    takes_likes=True,
    takes_previous=True,
    claim_of=lambda _: "identical-rows",
    card=card_text("sparse"),
    options=(
        Option(
            name="cluster_size",
            kind=int,
            metavar=None,
            panel="Sparse rows",
            help="Smallest cluster of similar users from which rows are sampled: 20 (default) to "
            "256, and never fewer than k.",
        ),
        Option(
            name="dates",
            choices=DATES.allowed,
            metavar="PERIOD",
            panel="Sparse rows",
            help="Publish with each value the first day of a year, quarter, month or week: of the "
            "median day of at least k raters of the item. Or publish only the order of these days "
            "in a row. All rows of a group have the same dates.",
        ),
    ),
    variants=(
        Variant(
            name="sparse",
            description="Groups of at least k users share one row of items and predicted values, "
            "sampled from the items of at least 20 similar users.",
            claim="identical-rows",
            kind="sparse",
            colour="#332288",
            in_all=True,
            of="both",
        ),
    ),
    first_format=3,
    problems=_problems,
    problems_of_rows=_problems_of_rows,
    value_grid=lambda settings, step: (
        settings.get("value_step") if publishes_ratings(settings) else step
    ),
    publishers_word=lambda settings: (
        *(
            [
                "That each date is of a median day of at least k raters of the item is stated by "
                "the publisher."
            ]
            if period_of(settings)
            else []
        ),
        "That rows were sampled from the items of at least 20 similar users"
        + (", and that values are predictions," if publishes_ratings(settings) else "")
        + " is stated by the publisher; items beyond the 20,000 most popular ones are sampled by "
        "their counts.",
    ),
    undone_by=_undone,
    made_before=_made_before,
    no_links="For sparse rows, the probability that a member rated an item is not computed: items "
    "were sampled, and no user of a row need have rated any of them.",
)
