"""Public description of a method, its options, claims and limits, without its anonymizer."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from recveil.release.claim import Claim, ClaimKind, claim_kind
from recveil.runtime.errors import describe_count
from recveil.runtime.safe_repr import brief

Settings = Mapping[str, Any]
# Suffix to the name of a built-in class with non-default parameters.
CUSTOM_SUFFIX = ", with parameters of its own"


@brief
@dataclass(frozen=True)
class PublicSetting:
    """A setting that a release publishes."""

    name: str
    allowed: tuple[Any, ...] = ()
    within: range = range(0)
    any_class: bool = False
    any_step: bool = False
    any_share: bool = False
    any_numbers: bool = False
    any_cohort: bool = False
    any_sha256: bool = False
    counts_users: bool = False
    when: Callable[[Settings], bool] = lambda _: True
    first_format: int = 1

    def _facts(self) -> dict[str, object]:
        return {"": self.name}


def publishes_likes(settings: Settings) -> bool:
    """Return whether a release was made of implicit feedback.

    >>> publishes_likes({"method": "sparse rows", "feedback": "implicit"})
    True
    """
    return settings.get("feedback") == "implicit"


def publishes_ratings(settings: Settings) -> bool:
    """Return whether a release was made of ratings."""
    return not publishes_likes(settings)


# The settings of releases that reuse noisy sums, and the largest number of releases of a plan.
PLANNED_RELEASES, RELEASE_NUMBER = "planned_releases", "release_number"
MOST_RELEASES = 10_000
# The setting that bounds a user's ratings; without a public catalogue, they are clipped to so many.
MAX_RATINGS, MOST_ITEMS = "max_ratings", 100_000
# The SHA-256 of the release.json of the model that users were sampled from.
SAMPLED_FROM = "sampled_from"
# Maximum number of factors of a user, in addition to the user count.
MOST_DIRECTIONS = 64


def has_answers(settings: Settings) -> bool:
    """Return whether a release publishes the noisy answers that it was made from."""
    return settings.get("answers") == "published"


# Settings of releases made of likes, in place of all settings about ratings.
OF_LIKES = PublicSetting(
    "feedback", ("implicit",), when=lambda settings: "feedback" in settings, first_format=6
)
# Additional settings of any method whose values are levels of counts.
OF_COUNTS = PublicSetting(
    "counts", ("log",), when=lambda settings: "counts" in settings, first_format=5
)
# Additional settings of any method whose items have pseudonyms.
HIDDEN_ITEMS = PublicSetting("items", ("pseudonyms",), when=lambda settings: "items" in settings)
# How the users of the highest risk were protected; a truncated one keeps at most this many ratings.
MOST_KEPT = 1_000
OF_RISKIEST = (
    PublicSetting(
        "protect_riskiest",
        any_share=True,
        when=lambda settings: "protect_riskiest" in settings,
        first_format=9,
    ),
    PublicSetting(
        "truncate_to",
        tuple(range(1, MOST_KEPT + 1)),
        when=lambda settings: settings.keys() >= {"protect_riskiest", "truncate_to"},
        first_format=9,
    ),
)


@brief
@dataclass(frozen=True)
class Option:
    """An option for making releases, in the library and on the command line."""

    name: str
    help: str
    kind: type = str
    choices: tuple[str, ...] = ()
    flag: str = ""
    metavar: str | None = "NAME"
    panel: str = "Method"
    default: Any = None
    needs: Mapping[str, str] = field(default_factory=dict)

    def _facts(self) -> dict[str, object]:
        return {"": self.spelled}

    @property
    def spelled(self) -> str:
        """Spelling on the command line.

        Examples
        --------
        >>> Option("round_fills", "Round.", bool).spelled
        '--round-fills'
        """
        return self.flag or f"--{self.name.replace('_', '-')}"


# More levels than these are not counted for limits of values.
MOST_LEVELS = 100
# Limits of the values that a class has of each item; see `recveil.verification.value_limits`.
VALUE_LIMITS = (
    PublicSetting(
        "diversity",
        tuple(range(2, MOST_LEVELS + 1)),
        when=lambda settings: "diversity" in settings and publishes_ratings(settings),
        first_format=9,
    ),
    PublicSetting(
        "closeness",
        any_share=True,
        when=lambda settings: "closeness" in settings and publishes_ratings(settings),
        first_format=9,
    ),
)


def has_few_levels(scale: Mapping[str, Any]) -> bool:
    """Return whether the levels of a scale can be counted.

    >>> has_few_levels({"low": 1.0, "high": 5.0, "step": 1.0})
    True
    """
    step: float | None = scale["step"]
    return bool(step) and (scale["high"] - scale["low"]) / (step or 1.0) < MOST_LEVELS


def problems_of_limits(settings: Settings, scale: Mapping[str, Any], why_not: str) -> Iterator[str]:
    """Report limits of values where there cannot be any; `why_not` is empty if there can."""
    if not {"diversity", "closeness"} & settings.keys():
        return
    if not has_few_levels(scale):
        why_not = f"the scale has no steps, or more than {MOST_LEVELS}"
    if why_not:
        yield f"settings: there are limits of values, but {why_not}"


# Options of (b, l)-diversity.
SET_OPTIONS = (
    Option(
        name="b",
        kind=int,
        metavar=None,
        panel="Promise",
        default=1,
        help="With --l: the number of items in a set (Chang et al., section 5.1). Beyond 3, "
        "rows must be short: their sets are counted.",
    ),
    Option(
        name="l",
        kind=int,
        metavar=None,
        panel="Promise",
        default=1,
        help="Diversity: every set of --b items of a row occurs in at least this many "
        "different rows (Chang et al., Definition 5.3).",
    ),
)


# More neighbours than these take too much memory.
MOST_NEIGHBOURS = 10_000


def stated_neighbours(part: str, *names: str) -> PublicSetting:
    """Return the setting of how many neighbours a predictor or a fill has, if it is stated."""
    return PublicSetting(
        "neighbours",
        tuple(range(1, MOST_NEIGHBOURS + 1)),
        when=lambda settings: settings.get(part) in names and "neighbours" in settings,
        first_format=9,
    )


NEIGHBOURS_OPTION = Option(
    name="neighbours",
    kind=int,
    metavar="N",
    help="For --fill similarity or trust, and --predictor user-knn or trust-knn: predict from the "
    "N nearest of all users, each weighted as k-CoRating's eqs. 1 to 6 print it. Default: up to 60 "
    "who rated the item, and few common items weigh less.",
)


# Options that limit the values of an item; k-CoRating leaves both to future work.
LIMIT_OPTIONS = (
    Option(
        name="diversity",
        kind=int,
        metavar="L",
        panel="Promise",
        help="l-diversity (Machanavajjhala et al. 2007; k-CoRating, Conclusion): users with the "
        "same items have at least L distinct values of each, imputed ones included (k-corating), "
        "or each mean has L distinct ratings behind it (simple rows). Other values are suppressed.",
    ),
    Option(
        name="closeness",
        kind=float,
        metavar="T",
        panel="Promise",
        help="t-closeness (Li et al. 2007; k-CoRating, Conclusion): the earth mover's distance of "
        "these values or ratings to all of the item is at most T, from 0 to 1. Other values are "
        "suppressed.",
    ),
)


@brief
@dataclass(frozen=True)
class Variant:
    """A named choice of a method's options, for comparisons."""

    name: str
    description: str
    claim: str
    kind: str
    colour: str
    options: Mapping[str, Any] = field(default_factory=dict)
    in_all: bool = False
    is_attacked: bool = True
    is_control: bool = False
    of: Literal["ratings", "likes", "both", "nominal", "any"] = "ratings"

    def _facts(self) -> dict[str, object]:
        return {"": self.name, "claim": self.claim}

    @property
    def about_claim(self) -> ClaimKind:
        """The kind of its claim."""
        return claim_kind(self.claim)


def problems_of_full_rows(name: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Report rows that should hold all items but do not.

    >>> list(problems_of_full_rows("padded", {"records": 2, "values": 5, "items": 3}))
    ['settings: rows are padded, so that each holds all 3 items, but 2 rows hold 5 values in all']
    """
    if counts["values"] != counts["records"] * counts["items"]:
        yield (
            f"settings: rows are {name}, so that each holds all "
            f"{describe_count(counts['items'], 'item')}, but "
            f"{counts['records']:,} rows hold {counts['values']:,} values in all"
        )


def usual_step(scale: Mapping[str, Any]) -> float:
    """Return the usual step of published values: a tenth of the scale's step; of labels, the step.

    >>> usual_step({"low": 1.0, "high": 5.0, "step": 1.0})
    0.1
    """
    step: float | None = scale["step"]
    if step is not None and scale.get("labels"):
        return step
    return float(f"{(step or (scale['high'] - scale['low']) / 10 or 1.0) / 10:.6g}")


def problems_of_usual_step(settings: Settings, scale: Mapping[str, Any]) -> Iterator[str]:
    """Report values on another grid than the usual one, where the method has no other."""
    if settings.get("value_step") != usual_step(scale):
        yield (
            f"settings: value_step is {settings.get('value_step')!r:.60}; this method has "
            f"{usual_step(scale):g} on this scale"
        )


def problems_of_suffix(settings: Settings, name: str, classes: tuple[str, ...]) -> Iterator[str]:
    """Report a class with parameters of its own that is none of those that can have them.

    >>> named = {"fill": "trust, with parameters of its own"}
    >>> list(problems_of_suffix(named, "fill", ()))
    ["settings: fill is 'trust', which has no parameters of its own"]
    """
    stated = str(settings.get(name))
    part = stated.removesuffix(CUSTOM_SUFFIX)
    if part != stated and part not in classes:
        yield f"settings: {name} is {part!r:.60}, which has no parameters of its own"


@dataclass(frozen=True)
class Method:
    """Public description of a way to make releases."""

    name: str
    title: str
    description: str
    family: Literal["identical rows", "co-rated", "baseline", "other"]
    settings: tuple[PublicSetting, ...]
    claim_of: Callable[[Settings], str]
    card: str
    options: tuple[Option, ...] = ()
    variants: tuple[Variant, ...] = ()
    first_format: int = 2
    takes_likes: bool = False
    takes_unordered: bool = False
    takes_k: bool = True
    model_columns: Callable[[int, Settings], tuple[str, ...]] | None = None
    selector: str = ""
    promise_in_short: str = ""
    takes_levels: bool = False
    takes_diversity: bool = False
    takes_previous: bool = False
    one_person_each: bool = False
    keeps_items: Callable[[Settings], bool] = lambda _: False
    averages_raters: Callable[[Settings], bool] = lambda _: False
    problems: Callable[[Settings, int], Iterator[str]] = lambda _manifest, _format: iter(())
    problems_of_rows: Callable[[Settings, int, Mapping[str, int]], Iterator[str]] = (
        lambda _settings, _k, _counts: iter(())
    )
    value_grid: Callable[[Settings, float | None], float | None] = lambda _settings, _step: None
    other_items_clause: Callable[[Settings], str] = lambda _: ""
    publishers_word: Callable[[Settings], tuple[str, ...]] = lambda _: ()
    undone_by: Callable[[Settings], tuple[str, ...]] = lambda _: ()
    made_before: Callable[[Settings], tuple[str, ...]] = lambda _: ()
    unpromised: Callable[[Settings, int], str] | None = None
    about_exact: str = ""
    no_links: str = ""
    why_not_again: str = "its settings do not say how"

    def expected(self, settings: Settings) -> list[PublicSetting]:
        """Return the settings that a release with these values publishes, in order."""
        return [
            setting
            for setting in (*self.settings, HIDDEN_ITEMS, OF_COUNTS, *OF_RISKIEST)
            if setting.when(settings)
        ]

    def option(self, name: str) -> Option | None:
        """Return an option by its name; None if it is unknown."""
        return next((option for option in self.options if option.name == name), None)

    def after_rates(self, settings: Settings, claim: Claim) -> str:
        """Return what an audit states where the claim bounds no rate."""
        if self.unpromised is None:
            return f"{claim.about.unpromised}. Better attacks may find more."
        return self.unpromised(settings, claim.k)
