"""Public description of k-coRating (Zhang et al.)."""

from collections.abc import Iterator, Mapping
from typing import Any

from recveil.release.claim import card_text
from recveil.release.earlier_formats import RENAMED_SINCE
from recveil.release.method import (
    LIMIT_OPTIONS,
    NEIGHBOURS_OPTION,
    OF_LIKES,
    SET_OPTIONS,
    VALUE_LIMITS,
    Method,
    Option,
    PublicSetting,
    Settings,
    Variant,
    problems_of_limits,
    problems_of_suffix,
    problems_of_usual_step,
    publishes_likes,
    publishes_ratings,
    stated_neighbours,
)
from recveil.release.specs.predictive import GROUPING_NAMES

FILLS = ("item-mean", "random", "funk-svd", "similarity", "trust")
# The supported groupings and their names.
GROUPINGS_OF_LIKES = ("gecom", "pagecom", "supports")
CO_RATED_GROUPINGS = (*GROUPINGS_OF_LIKES, *GROUPING_NAMES)
# The most workloads of PaGeCom.
MAX_WORKLOADS = 256
_PANEL = "k-coRating"
_FILLED = "Real ratings stay; cells are added until k users have the same items, filled with"
_CO_RATED, _AVERAGED = "#CC79A7", "#009E73"


def _of_trust(name: str, value: object) -> PublicSetting:
    """Return a setting of the fill trust that is published only if it is not the default."""
    return PublicSetting(
        name,
        (value,),
        when=lambda settings: settings.get("fill") == "trust" and name in settings,
        first_format=9,
    )


def _averages(settings: Settings) -> bool:
    return settings.get("protect") == "mean"


# Measured by an audit of such a release (experiments/likes.py).
LIKES_UNDONE = (
    "Rows with added items do not hide membership: one row has all items of a user. In a "
    "release of MovieLens 100K with k = 5, an adversary infers membership with an AUC of "
    "1.00 from all items of a user, 0.93 from sixteen, and 0.77 from eight (0.5 is a random "
    "guess). Better attacks may infer more."
)


def _problems(manifest: Mapping[str, Any], number: int) -> Iterator[str]:
    """Report settings that k-coRating never publishes together."""
    settings, scale = manifest["settings"], manifest["scale"]
    has_sets = manifest["diversity"] != {"b": 1, "l": 1}
    if has_sets and number < RENAMED_SINCE:
        yield f"k-coRating has no diversity before format {RENAMED_SINCE}"
    if publishes_likes(settings):
        if settings.get("grouping") not in GROUPINGS_OF_LIKES:
            yield (
                f"settings: grouping is {settings.get('grouping')!r:.60}; implicit feedback has "
                f"{' or '.join(GROUPINGS_OF_LIKES)}"
            )
        return
    unlevel = "" if settings.get("round_fills") is True else "fills are not rounded to levels"
    why_not = "all values of a class are equal" if _averages(settings) else unlevel
    if has_sets:
        why_not = "sets of items are in several classes"
    yield from problems_of_limits(settings, scale, why_not)
    if number >= RENAMED_SINCE:
        yield from problems_of_suffix(settings, "fill", ())
    is_continuous = scale["step"] is None and scale["high"] > scale["low"]
    if is_continuous and settings.get("round_fills") is True:
        yield "settings: round_fills is true, but a continuous scale has nothing to round to"
    if _averages(settings):
        yield from problems_of_usual_step(settings, scale)


def _value_grid(settings: Settings, step: float | None) -> float | None:
    if publishes_likes(settings):
        return step
    if settings.get("protect") in ("none", "shuffle"):
        return step if settings.get("round_fills") is True else None
    return settings.get("value_step")


def _unpromised(settings: Settings, k: int) -> str:
    words = (
        f"there is no guarantee against adversaries who know ratings: {k} users share only the "
        f"items of a record, which hides no user from an adversary who can distinguish imputed "
        f"values from real ratings, and "
    )
    if settings.get("protect") == "shuffle":
        return words + (
            "the records of a group contain its real ratings, permuted. These attacks use single "
            "records: an adversary who combines those with the same items is right more often."
        )
    return (
        words + "the record contains the real ratings. Better attacks may re-identify more users."
    )


def _variant(fill: str, words: str, *, in_all: bool = False) -> Variant:
    return Variant(
        name=f"k-corating-{fill}",
        description=f"{_FILLED} {words}.",
        options={"fill": fill},
        claim="co-rated",
        kind="k-corating",
        colour=_CO_RATED,
        in_all=in_all,
    )


K_CORATING = Method(
    name="k-corating",
    title="k-coRating",
    description="rows are completed until k users have the same items, and real ratings stay",
    family="co-rated",
    settings=(
        PublicSetting("method", ("k-coRating",)),
        PublicSetting("fill", FILLS, any_class=True, when=publishes_ratings),
        PublicSetting("grouping", CO_RATED_GROUPINGS),
        PublicSetting(
            "workloads",
            tuple(range(1, MAX_WORKLOADS + 1)),
            counts_users=True,
            when=lambda settings: settings.get("grouping") == "pagecom",
            first_format=9,
        ),
        PublicSetting("round_fills", (True, False), when=publishes_ratings),
        PublicSetting("protect", ("none", "shuffle", "mean"), when=publishes_ratings),
        PublicSetting(
            "trust", ("inferred", "stated"), when=lambda settings: settings.get("fill") == "trust"
        ),
        _of_trust("direct_weights", "similarity"),
        _of_trust("trust_steps", 2),
        stated_neighbours("fill", "similarity", "trust"),
        PublicSetting(
            "value_step", any_step=True, when=lambda settings: settings.get("protect") == "mean"
        ),
        *VALUE_LIMITS,
        OF_LIKES,
    ),
    takes_likes=True,
    # Likes have no values that could differ: users with the same items have the same row.
    claim_of=lambda settings: (
        "identical-rows" if _averages(settings) or publishes_likes(settings) else "co-rated"
    ),
    card=card_text("k_corating"),
    options=(
        Option(
            name="grouping",
            choices=CO_RATED_GROUPINGS,
            help="gecom (default: k-CoRating, Algorithms 1 and 2), supports, or one of the "
            "others. pagecom: GeCom within each of --workloads parts of the users (Algorithm 3; "
            "not by Spark).",
        ),
        Option(
            name="workloads",
            kind=int,
            metavar="N",
            panel=_PANEL,
            default=2,
            help=f"For --grouping pagecom: parts of equal size (2; at most {MAX_WORKLOADS}), each "
            "grouped by itself, as by the processors of k-CoRating, Algorithm 3.",
        ),
        Option(
            name="fill",
            choices=FILLS,
            panel=_PANEL,
            help="Values of the added cells: item-mean (default), random, funk-svd, similarity, "
            "trust (k-CoRating, Table 4).",
        ),
        Option(
            name="trust",
            metavar="FILE",
            panel=_PANEL,
            help="For --fill trust: a file of trust statements between users, with lines of "
            "truster, trustee and value, or columns of these names. Default: trust is inferred "
            "from the ratings (k-CoRating, eqs. 3 to 5).",
        ),
        Option(
            name="direct_weights",
            choices=("trust", "similarity"),
            metavar="WHICH",
            panel=_PANEL,
            default="trust",
            help="For --fill trust: weights of users with co-rated items, trust (default) or "
            "similarity; other users have propagated trust (k-CoRating, eq. 6).",
        ),
        Option(
            name="trust_steps",
            kind=int,
            metavar="N",
            panel=_PANEL,
            default=1,
            help="For --fill trust: how many times trust is propagated, 1 (default) or 2 "
            "(k-CoRating, eq. 5 and Experimental Design).",
        ),
        NEIGHBOURS_OPTION,
        Option(
            name="round_fills",
            kind=bool,
            flag="--round-fills/--no-round",
            metavar=None,
            panel=_PANEL,
            help="Round the added values to the scale (default); unrounded ones are "
            "distinguishable from ratings.",
        ),
        Option(
            name="protect",
            choices=("none", "mean", "shuffle"),
            metavar="HOW",
            panel=_PANEL,
            help="Protection of real ratings: none (default), publish them; mean, publish the "
            "group's mean; shuffle, permute them within the group.",
        ),
        *SET_OPTIONS,
        *LIMIT_OPTIONS,
    ),
    variants=(
        _variant("item-mean", "the item's mean", in_all=True),
        _variant("similarity", "similar users' means", in_all=True),
        _variant("funk-svd", "predictions"),
        _variant("random", "random values"),
        Variant(
            name="k-corating-mean",
            description="Groups of at least k users get all the items that any of them rated, "
            "each with the mean of their ratings and of fills by the item's mean.",
            options={"fill": "item-mean", "protect": "mean"},
            claim="identical-rows",
            kind="k-corating, averaged",
            colour=_AVERAGED,
            in_all=True,
        ),
        Variant(
            name="k-corating-likes",
            description="Groups of at least k users get all the items that any of them has.",
            claim="identical-rows",
            kind="k-corating, likes",
            colour=_AVERAGED,
            in_all=True,
            of="likes",
        ),
    ),
    first_format=1,
    one_person_each=True,
    takes_diversity=True,
    keeps_items=lambda settings: (
        not (_averages(settings) or {"diversity", "closeness"} & settings.keys())
    ),
    problems=_problems,
    value_grid=_value_grid,
    publishers_word=lambda settings: (
        ("That values were permuted (protect = shuffle) is stated by the publisher.",)
        if settings.get("protect") == "shuffle"
        else ()
    ),
    unpromised=_unpromised,
    undone_by=lambda settings: (LIKES_UNDONE,) if publishes_likes(settings) else (),
    about_exact=" Many other values are added; an adversary who recomputes the fill sees which.",
    no_links="For k-coRating, the probability that a member rated an item is not computed: rows "
    "were completed, so the file does not show how many users rated an item, and an estimate from "
    "it is too low.",
    why_not_again="the release's fill or trust statements are not available",
)
