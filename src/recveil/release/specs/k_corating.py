"""Public description of k-coRating (Zhang et al.)."""

from recveil.release.earlier_formats import template_of
from recveil.release.method import (
    OF_LIKES,
    Method,
    Option,
    PublicSetting,
    Settings,
    Variant,
    publishes_likes,
    publishes_ratings,
)
from recveil.release.specs.predictive import GROUPING_NAMES

FILLS = ("item-mean", "random", "funk-svd", "similarity", "trust")
# The supported groupings and their names.
CO_RATED_GROUPINGS = ("gecom", "supports", *GROUPING_NAMES)
_PANEL = "k-coRating"
_FILLED = "Real ratings stay; cells are added until k people have the same items, filled with"
_CO_RATED, _AVERAGED = "#CC79A7", "#009E73"


def _averages(settings: Settings) -> bool:
    return settings.get("protect") == "mean"


# Measured by an audit of such a release (experiments/likes.py).
LIKES_UNDONE = (
    "Rows to which likes were added do not hide who is in the data: all that somebody liked "
    "stands in one of them. In a release of MovieLens 100K with k = 5, members were told from "
    "others with an area under the curve of 1.00 by all that they liked, 0.92 by sixteen, and "
    "0.77 by eight (0.5 is a coin). Better attacks may tell more."
)


def _value_grid(settings: Settings, step: float | None) -> float | None:
    if publishes_likes(settings):
        return step
    if settings.get("protect") in ("none", "shuffle"):
        return step if settings.get("round_fills") is True else None
    return settings.get("value_step")


def _unpromised(settings: Settings, k: int) -> str:
    words = (
        f"nothing is promised against those who know ratings: only the items of a record are "
        f"shared by {k} people, which hides nobody from those who can tell invented labels from "
        f"real ones, and "
    )
    if settings.get("protect") == "shuffle":
        return words + (
            "the real ratings of a group stand in its records, dealt among them. These attacks "
            "look at single records: whoever takes those with the same items together finds the "
            "right ones more often than that."
        )
    return words + "the real ratings stand in it as they were given. Better attacks may find more."


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
    description="rows are filled up until k people rated the same items, and real ratings stay",
    family="co-rated",
    settings=(
        PublicSetting("method", ("k-coRating",)),
        PublicSetting("fill", FILLS, any_class=True, when=publishes_ratings),
        PublicSetting("grouping", CO_RATED_GROUPINGS),
        PublicSetting("round_fills", (True, False), when=publishes_ratings),
        PublicSetting("protect", ("none", "shuffle", "mean"), when=publishes_ratings),
        PublicSetting(
            "trust", ("inferred", "stated"), when=lambda settings: settings.get("fill") == "trust"
        ),
        PublicSetting(
            "value_step", any_step=True, when=lambda settings: settings.get("protect") == "mean"
        ),
        OF_LIKES,
    ),
    takes_likes=True,
    # Likes have no values that could differ: users with the same items have the same row.
    claim_of=lambda settings: (
        "identical-rows" if _averages(settings) or publishes_likes(settings) else "co-rated"
    ),
    card=template_of("k_corating"),
    options=(
        Option(
            name="grouping",
            choices=CO_RATED_GROUPINGS,
            help="gecom (default), supports, or one of those named first.",
        ),
        Option(
            name="fill",
            choices=FILLS,
            panel=_PANEL,
            help="How invented ratings are made: item-mean (default), random, funk-svd, "
            "similarity, trust.",
        ),
        Option(
            name="trust",
            metavar="FILE",
            panel=_PANEL,
            help="For --fill trust: a file of whom people say they trust, in lines of "
            "truster, trustee and value; worked out from the ratings if not given.",
        ),
        Option(
            name="round_fills",
            kind=bool,
            flag="--round-fills/--no-round",
            metavar=None,
            panel=_PANEL,
            help="Round invented ratings to the scale (default); those that are not rounded "
            "give themselves away.",
        ),
        Option(
            name="protect",
            choices=("none", "labels", "mean", "shuffle"),
            metavar="HOW",
            panel=_PANEL,
            help="What becomes of real ratings: none (default), they stay; mean (or labels), "
            "they become the group's mean; shuffle, they are dealt anew within the "
            "group.",
        ),
    ),
    variants=(
        _variant("item-mean", "the item's mean", in_all=True),
        _variant("similarity", "similar users' means", in_all=True),
        _variant("funk-svd", "predictions"),
        _variant("random", "random values"),
        Variant(
            name="k-corating-mean",
            description="Groups of at least k people get all the items that any of them rated, "
            "each with the mean of their ratings and of fills by the item's mean.",
            options={"fill": "item-mean", "protect": "mean"},
            claim="identical-rows",
            kind="k-corating, averaged",
            colour=_AVERAGED,
            in_all=True,
        ),
        Variant(
            name="k-corating-likes",
            description="Groups of at least k people get all the items that any of them liked.",
            claim="identical-rows",
            kind="k-corating, likes",
            colour=_AVERAGED,
            in_all=True,
            of="likes",
        ),
    ),
    first_format=1,
    one_person_each=True,
    keeps_items=lambda settings: not _averages(settings),
    value_grid=_value_grid,
    publishers_word=lambda settings: (
        ("That labels were dealt anew (protect = shuffle) is the publisher's word.",)
        if settings.get("protect") == "shuffle"
        else ()
    ),
    unpromised=_unpromised,
    undone_by=lambda settings: (LIKES_UNDONE,) if publishes_likes(settings) else (),
    about_exact=" Of the others many are invented; who works the fill out again sees which.",
    no_links="How sure a row makes it that a member rated an item is not told of k-coRating: the "
    "rows were filled up, so that the file does not say how many people rated an item, and what it "
    "lets one estimate is too low.",
    why_not_again="the release's fill, or who trusts whom, is not at hand",
)
