"""Public description of synthetic releases."""

from collections.abc import Iterator, Mapping
from typing import Any

from recveil.release.claim import card_text
from recveil.release.dates import COHORT, DATE_RANGE, DATED_FORMAT, DATES, PERIODS, period_of
from recveil.release.method import (
    MAX_RATINGS,
    MOST_DIRECTIONS,
    MOST_ITEMS,
    MOST_RELEASES,
    OF_LIKES,
    PLANNED_RELEASES,
    RELEASE_NUMBER,
    SAMPLED_FROM,
    Method,
    Option,
    PublicSetting,
    Settings,
    Variant,
    has_answers,
    publishes_likes,
    publishes_ratings,
)

_COLOUR = "#009E73"
# Measured with shadow releases of halves of the users (experiments/shadow_releases.py).
EXACT_LIKES_UNDONE = (
    "Exact sums reveal who is in the data: shadow releases with and without a user are "
    "distinguished with an AUC of 0.90 on 471 users of MovieLens 100K, as implicit feedback, "
    "if all items of the user are known, and of 0.64 if eight are."
)
# Measured with noisy answers next to the users (experiments/published_answers.py).
ANSWERS_UNDONE = (
    "The published answers (answers.npz) reveal more of who is in the data than the synthetic "
    "users do: at epsilon 20, shadow releases of 471 users of MovieLens 100K are distinguished "
    "with an AUC of 0.97 instead of 0.74, and at epsilon 3 of 0.66 instead of 0.55, if all ratings "
    "of a user are known, close to the bound of the guarantee."
)
# From a weak promise to a strong one: the default budgets of a comparison.
_COMPARED = (10.0, 3.0, 1.0)


def _problems(manifest: Mapping[str, Any], number: int) -> Iterator[str]:
    from recveil.release.synthetic_form import problems_of_synthetic  # numpy is slow to load

    return problems_of_synthetic(manifest, number)


def _claim(settings: Settings) -> str:
    return "aggregates" if settings.get("noise") == "none" else "differentially-private"


def _model_columns(columns: int, settings: Settings) -> tuple[str, ...]:
    """Name the columns of the model, one per factor; before the fifth format, all that remain."""
    first = (
        ("item_id", "offset") if publishes_likes(settings) else ("item_id", "offset", "rating_mean")
    )
    # The first factor is the user count: there is no model without it.
    n_factors = min(max(1, columns - len(first)), 1 + MOST_DIRECTIONS)
    slopes, directions = settings.get("slopes"), settings.get("factors")
    if isinstance(slopes, list):  # any other type is reported with the settings
        n_factors = 1 + len(slopes)
    elif type(directions) is int:
        n_factors = 1 + directions
    return (*first, *(f"factor_{place}" for place in range(n_factors)))


def _publishers_word(settings: Settings) -> tuple[str, ...]:
    sentences = [
        "Only the publisher states that the sums were computed over real users, with one bounded "
        "vector of each."
    ]
    if settings.get("noise") != "none":
        sentences.append(
            "Only the publisher states that the noise of the ledger was added, and that there were "
            "no other queries."
        )
        sentences.append(_word_on_reuse(settings))
    if settings.get("item_catalog") != "selected":
        sentences.append("Only the publisher states that the list of items is public.")
    if "item_features" in settings:
        sentences.append("Only the publisher states that the item features are public.")
    if DATE_RANGE in settings:
        sentences.append("Only the publisher states that the range of dates is public.")
    if SAMPLED_FROM in settings:
        sentences.append(
            "Only the publisher states which model the users were sampled from "
            f"({str(settings[SAMPLED_FROM])[:8]})."
        )
    if COHORT in settings:
        sentences.append(
            f"Only the publisher states that the first rating of each user is in "
            f"{settings[COHORT]}, and of no other user, and that no user is in the release of a "
            f"disjoint cohort."
        )
    return tuple(sentences)


def _word_on_reuse(settings: Settings) -> str:
    if RELEASE_NUMBER not in settings:
        return (
            "Only the publisher states that no noisy sums of earlier releases are reused: a claim "
            "from which they were removed looks the same."
        )
    return (
        f"Only the publisher states that this is release {settings[RELEASE_NUMBER]!r:.40} of "
        f"{settings.get(PLANNED_RELEASES)!r:.40} of a plan, and that its ledger names all earlier "
        f"releases whose noisy sums it reuses."
    )


def _undone_by(settings: Settings) -> tuple[str, ...]:
    is_exact = settings.get("noise") == "none" or settings.get("epsilon", 0) is None
    if not is_exact:
        return (ANSWERS_UNDONE,) if has_answers(settings) else ()
    if publishes_likes(settings):
        return (EXACT_LIKES_UNDONE,)
    return (
        "Exact sums reveal who is in the data: shadow releases with and without a user are "
        "distinguished with an AUC of 0.95 on 471 users of MovieLens 100K whose ratings are all "
        "known; more if more users are sampled.",
    )


def _has_features(settings: Settings) -> bool:
    return "item_features" in settings and settings.get("noise") == "gaussian"


def _has_cohort(settings: Settings) -> bool:
    return COHORT in settings and settings.get("noise") == "gaussian"


def _has_dates(settings: Settings) -> bool:
    return period_of(settings) is not None and settings.get("noise") == "gaussian"


def _has_plan(settings: Settings) -> bool:
    is_planned = PLANNED_RELEASES in settings or RELEASE_NUMBER in settings
    return is_planned and settings.get("noise") == "gaussian"


def _has_answers(settings: Settings) -> bool:
    return "answers" in settings and settings.get("noise") == "gaussian"


def _variant(epsilon: float | None) -> Variant:
    name = "synthetic-exact" if epsilon is None else f"synthetic-{epsilon:g}"
    noise = "exact sums" if epsilon is None else f"sums with noise for epsilon {epsilon:g}"
    return Variant(
        name=name,
        description=f"Synthetic users, sampled from {noise}; no row belongs to a user.",
        claim="aggregates" if epsilon is None else "differentially-private",
        kind="synthetic",
        colour=_COLOUR,
        options={"epsilon": epsilon, "item_catalog": "as-rated"},
        in_all=epsilon in _COMPARED,
        of="both",
    )


SYNTHETIC = Method(
    name="synthetic",
    title="synthetic users",
    description="synthetic users, sampled from noisy sums; no user's row is published",
    family="other",
    settings=(
        PublicSetting("method", ("synthetic users",)),
        PublicSetting("noise", ("gaussian", "none")),
        PublicSetting("item_catalog", ("given", "rated items", "selected")),
        PublicSetting(
            MAX_RATINGS,
            within=range(2, MOST_ITEMS + 1),
            when=lambda settings: MAX_RATINGS in settings,
            first_format=9,
        ),
        PublicSetting("item_features", ("given",), when=_has_features, first_format=9),
        PublicSetting(COHORT, any_cohort=True, when=_has_cohort, first_format=9),
        PublicSetting(DATES.name, tuple(PERIODS), when=_has_dates, first_format=DATED_FORMAT),
        PublicSetting(DATE_RANGE, any_cohort=True, when=_has_dates, first_format=DATED_FORMAT),
        PublicSetting(
            PLANNED_RELEASES, within=range(2, MOST_RELEASES + 1), when=_has_plan, first_format=9
        ),
        PublicSetting(
            RELEASE_NUMBER, within=range(2, MOST_RELEASES + 1), when=_has_plan, first_format=9
        ),
        PublicSetting("answers", ("published",), when=_has_answers, first_format=9),
        PublicSetting(
            SAMPLED_FROM,
            any_sha256=True,
            when=lambda settings: SAMPLED_FROM in settings,
            first_format=9,
        ),
        PublicSetting("n_users", ("requested", "counted")),
        PublicSetting("value_step", (None,), any_step=True, when=publishes_ratings),
        PublicSetting("omitted_share", any_share=True),
        PublicSetting("user_counts", any_numbers=True),
        PublicSetting("cutpoints", any_numbers=True, when=publishes_ratings),
        PublicSetting("spreads", any_numbers=True, when=publishes_ratings),
        PublicSetting("slopes", any_numbers=True, when=publishes_ratings, first_format=5),
        PublicSetting("slope_spreads", any_numbers=True, when=publishes_ratings, first_format=5),
        PublicSetting(
            "factors", tuple(range(MOST_DIRECTIONS + 1)), when=publishes_likes, first_format=6
        ),
        OF_LIKES,
    ),
    takes_likes=True,
    claim_of=_claim,
    card=card_text("synthetic"),
    options=(
        Option(
            name="epsilon",
            metavar="E|none",
            help="Privacy budget of user-level differential privacy (neighbouring tables: add or "
            "remove one user), instead of k: publishes synthetic users, sampled from noisy sums. "
            "Less is safer (1 is strong, 10 is weak). none: no noise and no guarantee.",
            panel="Synthetic users",
        ),
        Option(
            name="delta",
            kind=float,
            metavar=None,
            help="The small probability that the guarantee of --epsilon leaves out. Default: 1e-6, "
            "or less above 100,000 users: at most one over ten times their noisy number.",
            panel="Synthetic users",
        ),
        Option(
            name="n_users",
            kind=int,
            metavar="N",
            help="Number of synthetic users. Default: the noisy number of users.",
            panel="Synthetic users",
        ),
        Option(
            name="item_catalog",
            metavar="FILE|as-rated",
            help="A public list of items: one id per line, or a table with item_id; as-rated if "
            "the list of rated items is public. Default: items with high noisy counts.",
            panel="Synthetic users",
        ),
        Option(
            name="max_ratings",
            kind=int,
            metavar="N",
            help="Ratings of a user that count at most, evenly spread over their items: a public "
            "number, not read off the table. Default: all (100,000 without --item-catalog).",
            panel="Synthetic users",
        ),
        Option(
            name="item_features",
            metavar="FILE",
            help="A file of public item features, such as genres, which do not depend on the "
            "ratings (item_id, genres[, year or title]). They retain utility at a small epsilon.",
            panel="Synthetic users",
        ),
        Option(
            name="rating_grid",
            choices=("tenths", "whole"),
            flag="--ratings",
            help="Rounding of synthetic ratings: tenths of the scale's step (default), or whole, "
            "the scale itself.",
            panel="Synthetic users",
        ),
        Option(
            name="dates",
            choices=tuple(PERIODS),
            metavar="PERIOD",
            help="Date each rating by one more noisy query (needs --date-range).",
            panel="Synthetic users",
        ),
        Option(
            name="date_range",
            metavar="FIRST:LAST",
            help="With --dates: the public range of dates, such as 2025-01:2026-06.",
            panel="Synthetic users",
        ),
        Option(
            name="cohort",
            metavar="PERIOD",
            help="Use only users whose first rating is in a period, such as 2026-01, "
            "2026-01:2026-03, or :2025 for all until then. Each user is in one of several such "
            "releases, so that their epsilons do not add up.",
            panel="Synthetic users",
        ),
        Option(
            name="releases",
            kind=int,
            metavar="N",
            help="Plan N releases of these users: --epsilon and --delta are the total of all, each "
            "spends an equal part, and a run with --releases beyond it is refused. Others are "
            "only recorded (see recveil budget).",
            panel="Synthetic users",
        ),
        Option(
            name="reuse",
            metavar="DIR",
            help="With --releases: the private folder of the release before, whose noisy sums are "
            "averaged with those of this one. Its claim then covers all releases until now.",
            panel="Synthetic users",
        ),
        Option(
            name="publish_answers",
            kind=bool,
            metavar=None,
            help="Publish the noisy sums and the model, too, as answers.npz, for analysts and for "
            "verify. The guarantee stays the same, but attacks come nearer to its bound.",
            panel="Synthetic users",
        ),
        Option(
            name="ledger",
            metavar="FILE|none",
            help="The file that records what all runs spent, outside of every release; see recveil "
            "budget. none: no record. Default: RECVEIL_LEDGER, or ledger.sqlite3 in the user's "
            "folder for state.",
            panel="Synthetic users",
        ),
    ),
    variants=tuple(_variant(epsilon) for epsilon in (None, 50.0, 20.0, 10.0, 3.0, 1.0)),
    first_format=3,
    takes_k=False,
    selector="epsilon",
    promise_in_short="no user's row is published, and the effect of each user is bounded",
    model_columns=_model_columns,
    problems=_problems,
    value_grid=lambda settings, step: (
        settings.get("value_step") if publishes_ratings(settings) else step
    ),
    publishers_word=_publishers_word,
    undone_by=_undone_by,
    no_links="No row belongs to a user, so no link follows from one.",
    why_not_again="the features of its items, or the noisy sums that it reuses, are not part of it",
)
