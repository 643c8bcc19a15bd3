"""Public description of predictive anonymization."""

from collections.abc import Iterator, Mapping
from typing import Any

from recveil.release.claim import card_text
from recveil.release.earlier_formats import RENAMED_SINCE
from recveil.release.method import (
    LIMIT_OPTIONS,
    NEIGHBOURS_OPTION,
    SET_OPTIONS,
    VALUE_LIMITS,
    Method,
    Option,
    PublicSetting,
    Settings,
    Variant,
    problems_of_full_rows,
    problems_of_limits,
    problems_of_suffix,
    stated_neighbours,
)

# The built-in names; any other predictor or grouping is a custom class.
PREDICTORS = ("FunkSVD", "PlainFunkSVD", "ItemMean", "UserKNN", "TrustKNN")
GROUPINGS = (
    *("KGather", "BisectingKGather", "PredictiveGrouping", "BoundedTMeans", "MDAV", "KMember"),
    *("UnionSplit", "MHM", "RGather", "LevelGather", "BisectingOneKGather"),
)
# Those without a smallest size for each user; the last two have one.
_UNIFORM_GROUPINGS, _LEVEL_GROUPINGS = GROUPINGS[:-2], GROUPINGS[-2:]
# Groupings with steps that can be chosen, and each step's choice that is not the usual one.
GROUPINGS_WITH_STEPS = ("PredictiveGrouping", "BoundedTMeans")
STEPS = {"distance": "weighted-squared", "centers": "users", "assignment": "pairwise"}
# A release by Spark: factors by MLlib, and k-gather in bins of users.
SPARK_PREDICTOR, SPARK_GROUPING = "ALS", "KGatherInBins"
# Names of the choices; the first is the default.
PREDICTOR_NAMES = ("funk-svd", "funk-svd-plain", "item-mean", "user-knn", "trust-knn")
GROUPING_NAMES = (
    *("k-gather", "bisecting", "predictive", "bounded-t-means", "mdav", "k-member", "union-split"),
    *("mhm", "r-gather"),
)
LEVEL_GROUPING_NAMES = ("level-gather", "one-k-gather")

# A padded row is the mean of predictions, which are smooth, and of ratings, which are not. An
# adversary who fits all published rows sees the ratings in the residuals. The figures are those of
# `experiments/residual.py`, for MovieLens 100K and the default settings. An audit measures them for
# the release at hand.
PADDED_UNDONE = (
    "Padded rows do not hide who rated what. On MovieLens 100K with k = 5, an attack on the "
    "residuals of a fit of all rows marked 63% of the cells that a member of the group had "
    "rated, with a precision of 95%; it computed exactly 52% of the ratings that one "
    "member alone gave; and it found the right group of 24% of the users from eight items "
    "without ratings. An audit of a release runs this attack and states its results."
)
# The same for values of predictions alone: by `recveil audit` (seed 1), and with forty releases of
# 471 of the 943 users, where for each user releases with them were compared with those without.
MODEL_UNDONE = (
    "Padded rows of predictions alone leave no residuals that show who rated what, but still "
    "reveal their users: on MovieLens 100K, k = 5, the right group of 12% of the users was "
    "found from eight exact ratings and of 30% from sixteen (one of 188 groups). On half of "
    "the users, an adversary with forty shadow releases inferred membership with an AUC of "
    "0.98 from all ratings of a user, where exact item counts give 1.00, and 0.70 from eight "
    "(0.5 is a random guess)."
)
# What other methods with the same promise retain: five folds of MovieLens 100K, and three for
# recipients who weight values by the probability of a rating (`experiments/sparse_rows.py`, and
# docs/explanation/threats.md).
SPARSE_KEEPS_MORE = (
    "Sparse rows (method sparse, --method sparse) make the same claim and publish no rating. "
    "On MovieLens 100K, k = 5, their lists keep 79% of what raw ratings give; those of "
    "padded rows 51%, or 72 to 79% if values are weighted by the probability of a rating. "
    "Predicted ratings are slightly worse than with padded rows (RMSE 0.006 above raw's, and "
    "0.005 below). recveil compare measures both on yours."
)
# For releases made before rarely rated items were predicted together.
MODEL_LONE_UNDONE = (
    "This release was made before recveil pooled the predictions of items with fewer than k "
    "raters: their values reveal these ratings. On MovieLens latest-small, whether the only "
    "rater of an item liked it was inferred with an AUC of 0.95. Make it anew."
)
_PROMISE = "Promise"


def _is_predicted(settings: Settings) -> bool:
    """Return whether all values are predicted; `settings` may be the options of a variant."""
    return settings.get("values") == "predicted"


def _is_padded(settings: Settings) -> bool:
    return settings.get("homogenize") == "padded"


def _is_full(settings: Settings) -> bool:
    return _is_padded(settings) and "padding" not in settings


def _made_before(settings: Settings) -> tuple[str, ...]:
    is_old = "method" in settings and "values_below_k" not in settings
    return (MODEL_LONE_UNDONE,) if is_old and _is_predicted(settings) else ()


def _problems(manifest: Mapping[str, Any], number: int) -> Iterator[str]:
    """Report settings that predictive anonymization never publishes together."""
    settings, has_levels = manifest["settings"], manifest["levels"] is True
    if _is_predicted(settings) and not _is_padded(settings):
        yield "settings: values are predicted, but rows are not padded, so that they are ratings"
    if _is_predicted(settings) and has_levels:
        yield "settings: values are predicted, which no release with privacy levels has"
    if "padding" in settings:
        yield from _problems_of_degree(manifest)
    if has_levels and settings.get("grouping") in _UNIFORM_GROUPINGS:
        yield f"settings: the grouping {settings['grouping']} has no privacy levels"
    why_not = "rows are padded, and hold all items" if _is_padded(settings) else ""
    if has_levels or manifest["diversity"] != {"b": 1, "l": 1}:
        why_not = "there are privacy levels, or sets of items in several rows"
    yield from problems_of_limits(settings, manifest["scale"], why_not)
    if number < RENAMED_SINCE:
        return
    for name, classes in (
        ("predictor", (*PREDICTORS, SPARK_PREDICTOR)),
        ("grouping", (*GROUPINGS, SPARK_GROUPING)),
    ):
        yield from problems_of_suffix(settings, name, classes)
    if settings.get("grouping") in _LEVEL_GROUPINGS and not has_levels:
        yield f"settings: the grouping {settings['grouping']} needs privacy levels; rows have none"
    yield from _problems_of_spark(manifest)


def _problems_of_degree(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Report a degree of padding that leads to no rows, or to those of another setting."""
    settings = manifest["settings"]
    if not _is_padded(settings) or "values" in settings or manifest["diversity"]["l"] != 1:
        yield "settings: padding is only that of padded rows of ratings without diversity"
    if settings["padding"] in (0, 1):
        yield "settings: padding is 0 or 1, which is that of simple or of padded rows"


def _problems_of_spark(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Report a predictor or a grouping of Spark next to what Spark does not make."""
    settings = manifest["settings"]
    parts = (settings.get("predictor"), settings.get("grouping"))
    if SPARK_PREDICTOR not in parts and SPARK_GROUPING not in parts:
        return
    by_others = {
        "another predictor or grouping": parts != (SPARK_PREDICTOR, SPARK_GROUPING),
        "predicted values": "values" in settings,
        "a degree of padding": "padding" in settings,
        "hidden items": "items" in settings,
        "levels of counts": "counts" in settings,
        "labels": "labels" in manifest["scale"],
        "privacy levels": manifest["levels"] is True,
        "diversity": manifest["diversity"] != {"b": 1, "l": 1},
    }
    for what, is_so in by_others.items():
        if is_so:
            yield (
                f"settings: the predictor {SPARK_PREDICTOR} and the grouping {SPARK_GROUPING} are "
                f"Spark's, which makes no release with {what}"
            )


def _problems_of_padding(degree: float, k: int, counts: Mapping[str, int]) -> Iterator[str]:
    """Report an item in fewer rows than a degree of padding leads to."""
    is_expanded = counts["records"] == counts["users"]
    n_others = counts["classes" if is_expanded else "records"] - 1
    least = (1 + int(degree * n_others)) * (k if is_expanded else 1)
    # The rarest item has no more rows than the average one, if it was not counted.
    rarest = counts.get("rarest", counts["values"] // counts["items"])
    if rarest < least:
        yield (
            f"settings: padding is {degree:g}, so that each item is in at least {least:,} of "
            f"{counts['records']:,} rows, but one is in {rarest:,}"
        )


def _problems_of_rows(settings: Settings, k: int, counts: Mapping[str, int]) -> Iterator[str]:
    """Report rows that padding, or predictions by item means, do not lead to."""
    if not _is_padded(settings):
        return
    if "padding" in settings:
        yield from _problems_of_padding(settings["padding"], k, counts)
        return
    yield from problems_of_full_rows("padded", counts)
    by_means = _is_predicted(settings) and settings.get("predictor") == "ItemMean"
    if by_means and counts["classes"] > 1:
        yield (
            f"settings: values are predictions by ItemMean, which are equal for all users, but "
            f"there are {counts['classes']:,} different rows"
        )


def _undone_by(settings: Settings) -> tuple[str, ...]:
    if not _is_padded(settings):
        return ()
    if not _is_predicted(settings):
        return (PADDED_UNDONE,)
    return (MODEL_UNDONE, *_made_before(settings))


def _of_grouping(name: str, choice: str) -> PublicSetting:
    """Return a step of a grouping, which is published only if it is not the usual one."""
    return PublicSetting(
        name,
        (choice,),
        when=lambda settings: settings.get("grouping") in GROUPINGS_WITH_STEPS and name in settings,
        first_format=RENAMED_SINCE,
    )


def _variant(homogenize: str, grouping: str | None) -> Variant:
    padded = homogenize == "padded"
    what = (
        "Groups of at least k users get the mean of their rows, with predictions in empty cells"
        if padded
        else "Groups of at least k users get, for each item, the mean of the members who rated it"
    )
    more = "" if padded else "; the rating of a single rater, or of raters who agree, is unchanged"
    if grouping is not None:
        more = f"; users grouped by {grouping}"
    return Variant(
        name=homogenize if grouping is None else f"{homogenize}-{grouping}",
        description=f"{what}{more}.",
        options={"homogenize": homogenize} | ({} if grouping is None else {"grouping": grouping}),
        claim="identical-rows",
        kind=homogenize,
        colour="#0072B2" if padded else "#D55E00",
        # Our own grouping and that of the thesis: the others differ little.
        in_all=grouping in (None, "bisecting"),
    )


PREDICTIVE = Method(
    name="predictive",
    title="predictive anonymization",
    description="groups share one row",
    family="identical rows",
    settings=(
        PublicSetting("method", ("predictive anonymization",)),
        PublicSetting("homogenize", ("padded", "simple")),
        PublicSetting("predictor", (*PREDICTORS, SPARK_PREDICTOR), any_class=True),
        PublicSetting("grouping", (*GROUPINGS, SPARK_GROUPING), any_class=True),
        PublicSetting("value_step", (None,), any_step=True),
        PublicSetting("values", ("predicted",), when=lambda settings: "values" in settings),
        PublicSetting(
            "values_below_k",
            ("pooled",),
            when=lambda settings: "values_below_k" in settings and "values" in settings,
            first_format=5,
        ),
        *VALUE_LIMITS,
        PublicSetting(
            "padding",
            any_share=True,
            when=lambda settings: "padding" in settings,
            first_format=RENAMED_SINCE,
        ),
        stated_neighbours("predictor", "UserKNN", "TrustKNN"),
        *(_of_grouping(name, choice) for name, choice in STEPS.items()),
    ),
    claim_of=lambda _: "identical-rows",
    card=card_text("predictive"),
    options=(
        Option(
            name="homogenize",
            help="The row of a group: padded (default), all items, with means of ratings and "
            "predictions (Chang et al., section 5.2); simple, the items that a user of the group "
            "rated, with means of their ratings (section 4.3).",
            choices=("padded", "simple"),
            metavar="HOW",
        ),
        Option(
            name="grouping",
            choices=GROUPING_NAMES + LEVEL_GROUPING_NAMES,
            needs=dict.fromkeys(LEVEL_GROUPING_NAMES, "privacy_levels"),
            help=f"The clusterer that groups similar users: k-gather (default), "
            f"{', '.join(GROUPING_NAMES[1:])}; with privacy levels, level-gather (default) or "
            f"one-k-gather. bisecting and one-k-gather: Chen 2012, sections 3.2 and 5.3; "
            f"predictive and bounded-t-means: Chang et al., section 4.2; union-split: Thompson and "
            f"Yao 2009; k-member: Byun et al. 2007; mdav, mhm: Domingo-Ferrer et al. 2005, 2006; "
            f"r-gather: Aggarwal et al. 2006 (Chen 2012, section 8.2), at most 20,000 users",
        ),
        Option(
            name="distance",
            choices=("euclidean", "weighted-squared"),
            help="What the groupings predictive and bounded-t-means compare: euclidean (default), "
            "embeddings; weighted-squared, padded rows by the similarity of Chang et al., section "
            "4.2.",
        ),
        Option(
            name="centers",
            choices=("virtual", "users"),
            help="Centres of the same groupings: virtual (default), means; users, the users "
            "nearest to these (Chang et al., section 4.2, Figure 3).",
        ),
        Option(
            name="assignment",
            choices=("rounds", "pairwise"),
            help="How the same groupings fill a center: rounds (default), all users ask at once; "
            "pairwise, by ascending distance (bounded t-means of Chang et al., section 4.2).",
        ),
        Option(
            name="predictor",
            help="The predictor of missing ratings: funk-svd (default; funk-svd-plain: without "
            "biases, as in Chang et al., section 4.1), item-mean, or, slower, user-knn "
            "(k-CoRating, eqs. 1 and 2) or trust-knn (eqs. 3 to 6).",
            choices=PREDICTOR_NAMES,
        ),
        NEIGHBOURS_OPTION,
        Option(
            name="round_values",
            flag="--round",
            metavar="GRID",
            help="Rounding of published values: tenth (of the scale's step; default), scale, "
            "none, or a step.",
        ),
        Option(
            name="values",
            choices=("rated", "predicted"),
            metavar="HOW",
            help="What padded rows average: rated (default), ratings, and predictions where there "
            "are none; predicted, predictions alone, so that no rating is recognizable.",
        ),
        Option(
            name="padding",
            kind=float,
            metavar="SHARE",
            help="Degree of padding, from 0 (rows as with --homogenize simple) to 1 (padded): the "
            "share of the rows without a rater of an item that get it nevertheless, those with "
            "the most likely raters first (Chang et al., section 7, future work). So an item with "
            "raters in s of G groups is in exactly s + SHARE * (G - s) rows, rounded down; the "
            "rarest items get the most.",
        ),
        Option(
            name="privacy_levels",
            metavar="FILE|RULE",
            panel=_PROMISE,
            help="A k for each user: a file with the columns user_id,k (others get --k), or a"
            " rule such as 'activity<50:10,else:5' (Chen 2012, section 5.2). A user with k = 1 may "
            "have an own row, unprotected.",
        ),
        *SET_OPTIONS,
        *LIMIT_OPTIONS,
    ),
    variants=(
        *(_variant("padded", name) for name in (None, *GROUPING_NAMES)),
        *(_variant("simple", name) for name in (None, *GROUPING_NAMES)),
        *(
            Variant(
                name=f"padded-{degree:g}",
                description=f"Padded rows with the items that a user of the group rated, and "
                f"{degree:.0%} of the others: those that a user of the group most likely rated.",
                options={"homogenize": "padded", "padding": degree},
                claim="identical-rows",
                kind="padded",
                colour="#0072B2",
            )
            for degree in (0.25, 0.5, 0.75)
        ),
        Variant(
            name="padded-predicted",
            description="Groups of at least k users get the mean of their predictions for all "
            "items, and no rating.",
            options={"homogenize": "padded", "values": "predicted"},
            claim="identical-rows",
            kind="padded",
            colour="#0072B2",
        ),
    ),
    first_format=1,
    takes_levels=True,
    takes_diversity=True,
    keeps_items=lambda settings: (
        not (_is_padded(settings) or {"diversity", "closeness"} & settings.keys())
    ),
    averages_raters=lambda settings: not _is_padded(settings),
    problems=_problems,
    problems_of_rows=_problems_of_rows,
    value_grid=lambda settings, _: settings.get("value_step"),
    other_items_clause=lambda settings: (
        ", with predictions for all other items" if _is_full(settings) else ""
    ),
    publishers_word=lambda settings: (
        (
            "That the ratings behind each mean are as diverse, and as close to the item's ratings "
            "in the table, as the settings state (diversity, closeness), is stated by the "
            "publisher, beyond what the means allow. The publisher can count it: recveil verify "
            "with the private folder (--private) and the ratings (--ratings).",
        )
        if {"diversity", "closeness"} & settings.keys()
        else ()
    ),
    undone_by=_undone_by,
    made_before=_made_before,
    why_not_again="the release's predictor or grouping is Spark's, or has options of its own, "
    "and is not available",
)
