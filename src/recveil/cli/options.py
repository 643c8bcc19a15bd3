"""Options that several verbs share."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from recveil.release.method import Method, Option
from recveil.release.registry import DEFAULT, all_methods
from recveil.report.terminal import echo
from recveil.runtime.errors import RecveilError

if TYPE_CHECKING:
    from recveil.attacks import Adversary
    from recveil.ratings import RatingScale


Names = Callable[[], Iterable[str]]
Complete = Callable[[str], list[str]]


def one_of(names: Names) -> Complete:
    """Return a completer for one name.

    >>> one_of(lambda: ["padded", "simple"])("pa")
    ['padded']
    """

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def some_of(names: Names) -> Complete:
    """Return a completer for the last of several names separated by commas.

    >>> some_of(lambda: ["padded", "simple", "sparse"])("padded,s")
    ['padded,simple', 'padded,sparse']
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        typed = before.split(",")
        return [
            f"{before}{comma}{name}"
            for name in names()
            if name.startswith(last) and name not in typed
        ]

    return complete


def formats() -> Iterable[str]:
    """Return the names of the formats that can be read."""
    from recveil.io.detect.known_formats import FORMATS

    return [*FORMATS]


def target_formats() -> Iterable[str]:
    """Return the names of the formats that can be written."""
    return "parquet", "csv", "inter", "surprise", "recbole", "lenskit", "movielens", "elliot"


def presets() -> Iterable[str]:
    """Return the names of adversaries."""
    from recveil.attacks import PRESETS

    return [*PRESETS]


def compared_methods() -> Iterable[str]:
    """Return the names of methods that can be compared."""
    from recveil.release.registry import all_variants

    return ["all", "padding", "today", *all_variants()]


def recommenders() -> Iterable[str]:
    """Return the names of recommenders whose lists can be audited."""
    return "item-knn", "ease", "svd", "popular"


def claims() -> Iterable[str]:
    """Return the names of verifiable claims."""
    from recveil.release.claim import published_claims

    return published_claims()


# Options of version 1 that have another name now, by verb.
RENAMED = {
    "anonymize": {
        "against": "earlier-release",
        "catalogue": "item-catalog",
        "crowd": "cluster-size",
        "labels": "values",
        "people": "n-users",
    },
    "audit": {"against": "second-release", "aux": "auxiliary", "catalogue": "item-catalog"},
    "compare": {"for": "utility"},
    "sample": {"people": "n-users"},
}

# Options that a reader may expect at another verb
_OF_OTHERS = {
    **{("audit", name): "audit-lists" for name in ("model", "lists", "nonmembers", "recommender")},
    **{("audit-lists", name): "audit" for name in ("release", "attribute", "sensitive")},
}
_RENAMED_VALUES = {
    ("anonymize", "method"): {"words": "nominal"},
    ("anonymize", "protect"): {"labels": "mean"},
    ("anonymize", "values"): {"model": "predicted"},
    ("compare", "methods"): {
        "padded-model": "padded-predicted",
        "words": "nominal",
        "words-shares": "nominal-shares",
    },
    ("compare", "risk"): {"person": "reidentification", "group": "class"},
}


def rename_options(arguments: list[str]) -> list[str]:
    """Replace old names of options, and report each on standard error.

    >>> rename_options(["sample", "model", "--n-users", "9"])
    ['sample', 'model', '--n-users', '9']
    """
    verb = next(iter(arguments), "")
    end = arguments.index("--") if "--" in arguments else len(arguments)
    renamed = list(arguments)
    for place, argument in enumerate(arguments[:end]):
        name, equals, value = argument.partition("=")
        if not name.startswith("--"):
            continue
        if (other := _OF_OTHERS.get((verb, name[2:]))) is not None:
            raise RecveilError(
                f"{name}: not an option of recveil {verb}, but of recveil {other}; type that verb",
                code="option.unsupported",
            )
        option = RENAMED.get(verb, {}).get(name[2:], name[2:])
        if option != name[2:]:
            echo(f"{name} is now --{option}", err=True)
        renamed[place] = f"--{option}{equals}{rename_values(verb, option, value)}"
        if not equals and place + 1 < end:
            renamed[place + 1] = rename_values(verb, option, arguments[place + 1])
    return renamed


def rename_values(verb: str, option: str, text: str) -> str:
    """Replace old names of values, with commas between, and report each on standard error."""
    new = _RENAMED_VALUES.get((verb, option), {})
    values = text.split(",")
    for value in values:
        if value in new:
            echo(f"--{option} {value} is now {new[value]}", err=True)
    return ",".join(new.get(value, value) for value in values)


# By name: the annotation that typer reads, and the default.
Declared = Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class OptionGroup:
    """Options that several verbs share."""

    # A function, since methods may be registered at any time
    declared: Callable[[], Declared]
    # Turns the values of the options into keywords of the library function
    to_keywords: Callable[[dict[str, Any]], dict[str, Any]] = dict
    # The option of the verb that these follow; the last one by default
    after: str | None = None


_INPUT = "Input"
SOURCE = (
    "A file of ratings, a folder of such files, or an address such as sqlite:///shop.db or "
    "s3://bucket/ratings.csv; - reads standard input. Compressed files are read, too."
)
SOURCES = f"{SOURCE} Or releases of disjoint cohorts, which are joined."
TARGET = (
    "The file to write: .parquet, .csv or .inter, or a new folder for recbole, lenskit, movielens "
    "and elliot; - writes to standard output."
)
TARGET_FORMAT = (
    "parquet, csv, inter, surprise, recbole, lenskit, movielens or elliot. Default: by the suffix "
    "of the name (csv for -)."
)
ITEM_TABLE = (
    "Public columns of the items, with a header such as item_id,title,genres: a folder gets them, "
    "too, for the items in the table."
)


def table_argument(help: str) -> Any:
    """Return an argument for a path or an address, which a Path type would normalize."""
    return typer.Argument(help=help)


Source = Annotated[str, table_argument(SOURCE)]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        autocompletion=one_of(formats),
        rich_help_panel=_INPUT,
        help="Format of the input: movielens-tab, movielens-colons, csv, tsv, csv-plain, space, "
        "inter, netflix, json, parquet or arrow. Default: detected from the content.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="LOW:HIGH:STEP",
        rich_help_panel=_INPUT,
        help="Rating scale: the lowest and highest possible rating and the step, such as 1:5:1. "
        "Default: inferred from the table.",
    ),
]
Duplicates = Annotated[
    Literal["error", "last", "mean"],
    typer.Option(
        rich_help_panel=_INPUT,
        metavar="HOW",
        help="If a user rated an item more than once: error rejects the table, last keeps the "
        "latest rating (without times, the last line), mean averages the ratings.",
    ),
]
DropOffScale = Annotated[
    bool,
    typer.Option(
        "--drop-off-scale",
        rich_help_panel=_INPUT,
        help="Drop rows without a rating or with one that is not on the --scale, and report how "
        "many.",
    ),
]
ScaleToday = Annotated[
    str | None,
    typer.Option(
        metavar="LOW:HIGH:STEP",
        rich_help_panel=_INPUT,
        help="Rating scale of the table, such as 1:5:1. Default: that of the release.",
    ),
]
DropMissingIds = Annotated[
    bool,
    typer.Option(
        "--drop-missing-ids",
        rich_help_panel=_INPUT,
        help="Drop rows without a user or item id, and report how many.",
    ),
]


def _column(what: str) -> Any:
    return typer.Option(
        metavar="NAME|POSITION",
        rich_help_panel=_INPUT,
        help=f"Column of the {what}s: its name, or its position, counted from 1.",
    )


UserColumn = Annotated[str | None, _column("user")]
ItemColumn = Annotated[str | None, _column("item")]
RatingColumn = Annotated[str | None, _column("rating")]
TimeColumn = Annotated[str | None, _column("time")]
TimeFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        rich_help_panel=_INPUT,
        help="How times are written if they are neither ISO dates nor Unix times: %d/%m/%Y "
        "for 31/12/2025, say; %s for Unix seconds before 1996.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        rich_help_panel=_INPUT,
        help="Column delimiter, such as ';', '::' or tab. Default: detected; required if "
        "ambiguous.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        rich_help_panel=_INPUT,
        help="Decimal mark of ratings: , or . Default: detected; required if ambiguous.",
    ),
]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide",
        rich_help_panel=_INPUT,
        help="The table is a matrix: one row per user, one column per item.",
    ),
]
Null = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        rich_help_panel=_INPUT,
        help="In a matrix, the value that means no rating, such as 99. Empty cells always do.",
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        metavar="SELECT",
        rich_help_panel=_INPUT,
        help="Read the rows of this database query as the ratings.",
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=_INPUT,
        help="Read all rows of this database table or view as the ratings.",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=_INPUT,
        help="The sheet of a workbook that holds the ratings, if several could.",
    ),
]
Likes = Annotated[
    bool,
    typer.Option(
        "--likes",
        rich_help_panel=_INPUT,
        help="Implicit feedback: read each row as an interaction and ignore its rating. Default "
        "for tables without ratings.",
    ),
]
Counts = Annotated[
    Literal["log", "likes"] | None,
    typer.Option(
        metavar="HOW",
        rich_help_panel=_INPUT,
        help="The ratings are counts, of plays or minutes: log converts them to levels from 1 to "
        "7, likes to implicit feedback.",
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        rich_help_panel=_INPUT,
        help="Ordinal labels as ratings: all of them, from the lowest to the highest, such as "
        "hate,dislike,like,love.",
    ),
]
Words = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        rich_help_panel=_INPUT,
        help="Nominal labels as ratings: all of them, such as up,down, or the word all for those "
        "in the table.",
    ),
]
Users = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A file of users and their attributes (user_id,gender,age, say), which must not be "
        "published.",
    ),
]
Attribute = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="With --users: an attribute to infer from ratings and from what a release adds to "
        "eight of them (audit, compare), to add to adversaries' knowledge (audit), or to divide "
        "utility by (evaluate, compare); repeat it for others. Numbers are cut at their "
        "quartiles, values of fewer than 5 users are put together.",
    ),
]
Liked = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="With --words: the labels that mean that a user liked the item, such as up,love. "
        "Recommended lists are evaluated with them, too.",
    ),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the result as JSON to this file; - prints it and nothing else.",
    ),
]
Engine = Annotated[
    Literal["local", "spark"],
    typer.Option(
        metavar="NAME",
        rich_help_panel="Spark",
        help="Where to compute: local, in this process; spark, on a Spark cluster.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        rich_help_panel="Spark",
        help="With --engine spark: the master, such as local[4] or spark://host:7077. Default: "
        "Spark's configuration.",
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Explain the terms of the result.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output of an earlier run.")]
AllowLarge = Annotated[
    bool,
    typer.Option(
        "--allow-large",
        help="Allow a release with more than 100 published values per rating.",
    ),
]


def seed_of(what: str) -> Any:
    """Return the option for a random seed."""
    return typer.Option(min=0, help=f"Random seed: the same seed gives the same {what}.")


def reject_idle_master(engine: str, master: str | None) -> None:
    """Reject --master without Spark."""
    if engine != "spark" and master is not None:
        raise typer.BadParameter(
            "--master: only with --engine spark; drop it, or add --engine spark"
        )


def parse_scale(text: str | None) -> "RatingScale | None":
    """Parse a --scale option."""
    if text is None:
        return None
    from recveil.ratings import RatingScale

    return RatingScale.parse(text)


# All options of reading a table.
READING = OptionGroup(
    lambda: {
        "format": (Format, None),
        "scale": (Scale, None),
        "duplicates": (Duplicates, "error"),
        "drop_off_scale": (DropOffScale, False),
        "drop_missing_ids": (DropMissingIds, False),
        "user": (UserColumn, None),
        "item": (ItemColumn, None),
        "rating": (RatingColumn, None),
        "time": (TimeColumn, None),
        "time_format": (TimeFormat, None),
        "delimiter": (Delimiter, None),
        "decimal": (Decimal, None),
        "wide": (Wide, False),
        "null": (Null, None),
        "query": (Query, None),
        "table": (Table, None),
        "sheet": (Sheet, None),
        "likes": (Likes, False),
        "counts": (Counts, None),
        "order": (Order, None),
        "words": (Words, None),
    },
    lambda options: {**options, "scale": parse_scale(options["scale"])},
)
# Those of `forget`, where --user is the user whose data is erased.
READING_TODAY = OptionGroup(
    lambda: (
        {
            "user_column" if name == "user" else name: each
            for name, each in READING.declared().items()
        }
        | {"scale": (ScaleToday, None)}
    ),
    READING.to_keywords,
)


def declare_method_options() -> Declared:
    """Return --method and the options of all methods that write releases, each name once.

    >>> list(declare_method_options())[:3]
    ['method', 'homogenize', 'grouping']
    """
    methods = [method for method in all_methods() if method.card]
    described = []
    for method in sorted(methods, key=lambda each: each is not DEFAULT):
        when = f" (with --{method.selector})" if method.selector else ""
        when = " (default with --k)" if method is DEFAULT else when
        described.append(f"{method.name}{when}: {method.description}")
    option = typer.Option(
        metavar="NAME",
        autocompletion=one_of(lambda: [method.name for method in methods]),
        rich_help_panel="Method",
        help=f"Anonymization method. {'; '.join(described)}.",
    )
    by_name: dict[str, list[tuple[Method, Option]]] = {}
    for method in methods:
        for each in method.options:
            by_name.setdefault(each.name, []).append((method, each))
    return {
        "method": (Annotated[str | None, option], None),
        **{name: _declare(of_methods) for name, of_methods in by_name.items()},
    }


def _declare(of_methods: list[tuple[Method, Option]]) -> tuple[Any, Any]:
    _, option = of_methods[0]
    choices = [*dict.fromkeys(choice for _, other in of_methods for choice in other.choices)]
    help = [option.help] + [
        f"for {method.name}, {other.help}"
        for method, other in of_methods[1:]
        if other.help != option.help
    ]
    *before, last = help
    described = typer.Option(
        option.spelled,
        metavar=option.metavar,
        autocompletion=one_of(lambda: choices) if choices else None,
        rich_help_panel=option.panel,
        help="; ".join([*(each.removesuffix(".") for each in before), last]),
    )
    kind: Any = option.kind if option.kind in (bool, int, float, Path) else str
    defaults = {other.default for _, other in of_methods}
    default = option.default if len(defaults) == 1 else None  # each method has its own
    if default is None:
        kind = kind | None
    return Annotated[kind, described], default


# All methods and their options, after the option k.
METHOD = OptionGroup(declare_method_options, after="k")

_ADVERSARY = "Adversary (Narayanan & Shmatikov, section 5; default: all presets)"
# The word for no knowledge at all, by option.
_NONE = {"rating_error": "any", "date_error": "none", "first_date_error": "none"}
# How an adversary decides, which changes no knowledge: these apply to all presets.
_DECISION = ("algorithm", "eccentricity", "rating_width", "day_width", "threshold")

Preset = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        autocompletion=one_of(presets),
        rich_help_panel=_ADVERSARY,
        help="A predefined adversary: colleague, public-profile, paper, film-buff, bystander, "
        "likes, likes-16 or insider; --explain describes what each knows. May be repeated.",
    ),
]
Known = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=_ADVERSARY,
        help="Number of a user's ratings in the auxiliary information (the paper's m, Figure 4).",
    ),
]
Right = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=_ADVERSARY,
        help="How many of these ratings are correct (the paper's n of m, Figure 4).",
    ),
]
WrongKind = Annotated[
    Literal["value", "item"] | None,
    typer.Option(
        metavar="KIND",
        rich_help_panel=_ADVERSARY,
        help="Error of the others: value, a wrong rating of a rated item; item, an item that was "
        "not rated (Figure 10).",
    ),
]
RatingError = Annotated[
    str | None,
    typer.Option(
        metavar="POINTS|any",
        rich_help_panel=_ADVERSARY,
        help="Maximum error of a known rating, in points (Figure 9); any: the items alone are "
        "known.",
    ),
]
DateError = Annotated[
    str | None,
    typer.Option(
        metavar="DAYS|none",
        rich_help_panel=_ADVERSARY,
        help="Maximum error of a known date, in days (Figure 4); none: no dates are known.",
    ),
]
OutsideTop = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=_ADVERSARY,
        help="Known items are not among this many most rated ones (Figures 8 and 11).",
    ),
]
ActivityError = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=_ADVERSARY,
        help="The number of the target's ratings is known up to this relative error (0.5: 50%; "
        "Figure 12).",
    ),
]


FirstDateError = Annotated[
    str | None,
    typer.Option(
        metavar="DAYS|none",
        rich_help_panel=_ADVERSARY,
        help="The date of the target's first rating is known up to this error, in days (Narayanan "
        "& Shmatikov, section 5); none: unknown.",
    ),
]
_DECISION_PANEL = "Decision of the adversary (Narayanan & Shmatikov, sections 4 and 5)"
AlgorithmName = Annotated[
    Literal["scoreboard-rh", "scoreboard"] | None,
    typer.Option(
        "--algorithm",
        metavar="NAME",
        rich_help_panel=_DECISION_PANEL,
        help="The paper's attack whose matches are reported: scoreboard-rh (default), or "
        "scoreboard, whose score is the least similarity of a known rating (section 4).",
    ),
]
Eccentricity = Annotated[
    str | None,
    typer.Option(
        metavar="PHI|auto",
        rich_help_panel=_DECISION_PANEL,
        help="Scoreboard-RH: the lead of the best score over the second, in standard deviations, "
        "that a match needs (section 4; default 1.5). auto: the value of equal error rates on half "
        "of the targets (at least 20), with both error rates on the other half.",
    ),
]
RatingWidth = Annotated[
    float | None,
    typer.Option(
        metavar="POINTS",
        rich_help_panel=_DECISION_PANEL,
        help="The paper's rho0: the difference of ratings at which similarity falls to 1/e "
        "(section 5; default 1.5).",
    ),
]
DayWidth = Annotated[
    float | None,
    typer.Option(
        metavar="DAYS",
        rich_help_panel=_DECISION_PANEL,
        help="The paper's d0: the difference of dates at which similarity falls to 1/e (section 5; "
        "default 30).",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="ALPHA",
        rich_help_panel=_DECISION_PANEL,
        help="With --algorithm scoreboard: the similarity that every known rating must reach "
        "(section 4; default 1, agreement within the errors).",
    ),
]


def read_number(text: str, option: str, none: str) -> int | float | None:
    """Parse a number, or the word for none.

    >>> [read_number(text, "--date-error", "none") for text in ("14", "0.5", "none")]
    [14, 0.5, None]
    """
    if text == none:
        return None
    try:
        number = int(text) if text.lstrip("-").isdigit() else float(text)
        if number - number != 0:
            raise ValueError(text)  # nan, or infinity
        return number
    except ValueError:
        raise number_error(text, option, none) from None


def number_error(text: str, option: str, none: str) -> typer.BadParameter:
    """Return the error for an option that is neither a number nor the word."""
    return typer.BadParameter(f"{option} {text!r}: expected a number or {none}")


def _adversaries(options: dict[str, Any]) -> dict[str, Any]:
    """Return the adversaries that options describe, as `recveil.audit` takes them."""
    presets = options.pop("preset") or []
    if options["eccentricity"] not in (None, "auto"):
        options["eccentricity"] = read_number(options["eccentricity"], "--eccentricity", "auto")
    typed = {name: value for name, value in options.items() if value is not None}
    summary = ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in typed.items())
    for name, none in _NONE.items():
        if name in typed:
            typed[name] = read_number(typed[name], f"--{name.replace('_', '-')}", none)
    return {"adversaries": _choose(presets, typed, summary) if presets or typed else None}


def _choose(presets: list[str], typed: dict[str, Any], summary: str) -> "list[Adversary]":
    """Return the presets with the typed changes, or one custom adversary without presets."""
    from dataclasses import replace

    from recveil.attacks import PRESETS, Adversary

    for name in presets:
        if name not in PRESETS:
            raise typer.BadParameter(f"--preset {name!r}: expected one of {', '.join(PRESETS)}")
    if not typed.keys() - set(_DECISION):
        return [replace(PRESETS[name], **typed) for name in presets or PRESETS]
    if not presets:
        return [
            Adversary(
                name="given", description=f"As given on the command line: {summary}.", **typed
            )
        ]
    # A preset's number of correct entries belongs to its number of known ones.
    if "known" in typed and "right" not in typed:
        typed = {**typed, "right": typed["known"]}
    # A rating error implies known ratings.
    if "rating_error" in typed:
        typed = {**typed, "likes_only": False}
    # The description of a preset does not hold for a changed one.
    return [
        replace(PRESETS[name], **typed, description=f"Like “{name}”, but for {summary}.")
        for name in presets
    ]


# The adversaries of an audit, as the keyword `adversaries`.
ADVERSARY = OptionGroup(
    lambda: {
        "preset": (Preset, None),
        "known": (Known, None),
        "right": (Right, None),
        "wrong_kind": (WrongKind, None),
        "rating_error": (RatingError, None),
        "date_error": (DateError, None),
        "outside_top": (OutsideTop, None),
        "activity_error": (ActivityError, None),
        "first_date_error": (FirstDateError, None),
        "algorithm": (AlgorithmName, None),
        "eccentricity": (Eccentricity, None),
        "rating_width": (RatingWidth, None),
        "day_width": (DayWidth, None),
        "threshold": (Threshold, None),
    },
    _adversaries,
)
