"""Options that several verbs share."""

import functools
import inspect
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from recveil.ratings import RatingScale


def tell(text: str, *, err: bool = False) -> None:
    r"""Print sentences to standard output, or to standard error.

    On a terminal, lines are broken between words; a name is never broken, so that it can be
    copied. Whoever sends them on to a file or a program gets them as they are.

    Parameters
    ----------
    text : str
        Lines that begin with a space, such as commands to type, stay as they are.
    err : bool

    Examples
    --------
    >>> tell("Publish out; keep out.private secret.")
    Publish out; keep out.private secret.
    """
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # nobody listens
        return
    lines = text.split("\n")
    if stream.isatty():
        width = shutil.get_terminal_size().columns
        lines = [part for line in lines for part in _broken(line, width)]
    print("\n".join(lines), file=stream)


def _broken(line: str, width: int) -> list[str]:
    if len(line) <= width or line.startswith(" "):
        return [line]
    return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)


Names = Callable[[], Iterable[str]]
Complete = Callable[[str], list[str]]


def one_of(names: Names) -> Complete:
    """Return what offers the names that begin like what was typed.

    Parameters
    ----------
    names : callable
        Returns all names; it is called when somebody presses the key, not before.

    Examples
    --------
    >>> one_of(lambda: ["padded", "simple"])("pa")
    ['padded']
    """

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def some_of(names: Names) -> Complete:
    """Return what offers names for the last of several between commas.

    The parameter is that of `one_of`.

    Examples
    --------
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
    return "parquet", "csv", "inter", "surprise", "recbole", "lenskit"


def presets() -> Iterable[str]:
    """Return the names of adversaries."""
    from recveil.attacks import PRESETS

    return [*PRESETS]


def compared_methods() -> Iterable[str]:
    """Return the names of what can be compared."""
    from recveil.release.registry import all_variants

    return ["all", *all_variants()]


def claims() -> Iterable[str]:
    """Return the names of claims that can be checked."""
    from recveil.release.claim import published_claims

    return published_claims()


Verb = Callable[..., None]
# The names of options, with the annotation that typer reads and the default.
Declared = Mapping[str, tuple[Any, Any]]
Prepare = Callable[[dict[str, Any]], dict[str, Any]]


def add_options(
    declared: Declared, prepare: Prepare, after: str | None = None
) -> Callable[[Verb], Verb]:
    """Make a decorator that adds options to a verb and hands it what they mean.

    typer reads options from a signature. The verb's own ends with ``**keywords``; in its place
    all options in the one that typer sees, after the verb's own.

    Parameters
    ----------
    declared : mapping of str to (annotation, default)
        As they would stand in a signature.
    prepare : callable
        Takes what was typed for them, by name, and returns the keywords for the verb.
    after : str, optional
        The verb's own option that they follow in the help; all, if not given.

    Returns
    -------
    callable
        The decorator. Several can stand above one another; the lowest comes first in the help.

    Raises
    ------
    ValueError
        When it decorates, if the verb has an option of one of these names already.

    Examples
    --------
    >>> @add_options({"loud": (bool, False)}, lambda given: {"ending": "!" * given["loud"]})
    ... def greet(name: str, **more: str) -> None:
    ...     print(f"Hello {name}{more['ending']}")
    >>> print(inspect.signature(greet))
    (name: str, *, loud: bool = False) -> None
    >>> greet("Ann", loud=True)
    Hello Ann!
    """

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def run(*own: Any, **given: Any) -> None:
            added = {name: given.pop(name, default) for name, (_, default) in declared.items()}
            verb(*own, **given, **prepare(added))

        run.__signature__ = _with(inspect.signature(verb), declared, after)  # type: ignore[attr-defined]
        return run

    return decorate


def _with(signature: inspect.Signature, declared: Declared, after: str | None) -> inspect.Signature:
    """Put options in the place of a signature's ``**keywords``."""
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    if twice := [each.name for each in own if each.name in declared]:
        raise ValueError(f"options declared twice: {', '.join(twice)}; drop the verb's own")
    added = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
        )
        for name, (annotation, default) in declared.items()
    ]
    if after is None:
        return signature.replace(parameters=[*own, *added])
    place = [each.name for each in own].index(after) + 1
    # Only typer reads this, and it names all: so all that follow can be keywords.
    last = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own[place:]]
    return signature.replace(parameters=[*own[:place], *added, *last])


_INPUT = "Input"
SOURCE = (
    "A file of ratings (compressed or not), a folder of such files, or an address such as "
    "sqlite:///shop.db or s3://bucket/ratings.csv; - reads standard input."
)
TARGET = (
    "The file to write: .parquet, .csv or .inter, or a new folder for recbole and lenskit; - "
    "writes to standard output."
)
TARGET_FORMAT = (
    "parquet, csv, inter, surprise, recbole or lenskit; if not given, the ending of the name "
    "decides (csv for -)."
)


def table_argument(help: str) -> Any:
    """Return an argument that takes a path or an address, which as a path would lose a slash."""
    return typer.Argument(help=help)


# A table of ratings, where it is the first that a verb takes.
Source = Annotated[str, table_argument(SOURCE)]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        autocompletion=one_of(formats),
        rich_help_panel=_INPUT,
        help="Format of the input; recognized by its content if not given. One of: "
        "movielens-tab, movielens-colons, csv, tsv, csv-plain, space, inter, netflix, "
        "json, parquet, arrow.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="LOW:HIGH:STEP",
        rich_help_panel=_INPUT,
        help="The lowest and the highest possible rating, and the step between ratings, such "
        "as 1:5:1; read off the table if not given.",
    ),
]
Duplicates = Annotated[
    Literal["error", "last", "mean"],
    typer.Option(
        rich_help_panel=_INPUT,
        metavar="HOW",
        help="If a user rated an item more than once: error refuses the table, last keeps the"
        " latest rating (without times, that of the last line), mean averages them.",
    ),
]
DropOffScale = Annotated[
    bool,
    typer.Option(
        "--drop-off-scale",
        rich_help_panel=_INPUT,
        help="Leave out rows without a rating, and ratings that are not on the scale that "
        "--scale names, or no number, and say how many.",
    ),
]


def _column(what: str) -> Any:
    """Return the option that says which column holds what."""
    return typer.Option(
        metavar="NAME|PLACE",
        rich_help_panel=_INPUT,
        help=f"Which column holds the {what}s: its name, or its place, counted from 1.",
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
        help="What separates the columns, such as ';', '::' or tab; recognized if not given, "
        "and asked for if in doubt.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        rich_help_panel=_INPUT,
        help="The decimal mark of ratings: , or .; recognized if not given, and asked for if "
        "in doubt.",
    ),
]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide",
        rich_help_panel=_INPUT,
        help="The table is a matrix: one row for each user, one column for each item.",
    ),
]
Null = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        rich_help_panel=_INPUT,
        help="In a matrix, a value that means no rating, such as 99; an empty cell always does.",
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        metavar="SELECT",
        rich_help_panel=_INPUT,
        help="In a database: read the rows of this query as the ratings.",
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=_INPUT,
        help="In a database: read all rows of this table or view as the ratings.",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=_INPUT,
        help="In a workbook: the sheet that holds the ratings, if several could.",
    ),
]
Likes = Annotated[
    bool,
    typer.Option(
        "--likes",
        rich_help_panel=_INPUT,
        help="Take each row for a like, whatever its rating; rows of a table without ratings "
        "are taken so anyway.",
    ),
]
Counts = Annotated[
    Literal["log", "likes"] | None,
    typer.Option(
        metavar="HOW",
        rich_help_panel=_INPUT,
        help="The ratings are counts of plays, minutes and the like: log turns them into "
        "levels from 1 to 7, likes into likes.",
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        rich_help_panel=_INPUT,
        help="The ratings are words with an order: name all, from the lowest to the highest, "
        "such as hate,dislike,like,love.",
    ),
]
Words = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        rich_help_panel=_INPUT,
        help="The ratings are words without an order: name all, such as up,down, or type all "
        "to take those in the table.",
    ),
]
Liked = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="With --words: the words that mean that somebody liked the item, such as "
        "up,love. Then lists of recommended items are judged, too.",
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
        help="Where the work is done: local, in this process; spark, on a Spark cluster, "
        "where the data is.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        rich_help_panel="Spark",
        help="With --engine spark: where Spark runs, such as local[4] or spark://host:7077; "
        "as it is configured if not given.",
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Explain below the result what its words mean.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace what an earlier run wrote to the same place.")
]
AllowLarge = Annotated[
    bool,
    typer.Option(
        "--allow-large",
        help="Allow a release of more than 100 published ratings for each real one.",
    ),
]


def seed_of(what: str) -> Any:
    """Return the option for the seed of something that is the same each time if not told so."""
    return typer.Option(min=0, help=f"Random seed: the same one gives the same {what}.")


def reject_idle_master(engine: str, master: str | None) -> None:
    """Refuse to be told where Spark runs if it does not."""
    if engine != "spark" and master is not None:
        raise typer.BadParameter("--master: only with --engine spark; leave it out, or add that")


def parse_scale(text: str | None) -> "RatingScale | None":
    """Read a --scale option."""
    if text is None:
        return None
    from recveil.ratings import RatingScale

    return RatingScale.parse(text)


def _as_understood(given: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed as `recveil.io.understand` takes it."""
    return {**given, "scale": parse_scale(given["scale"])}


# Gives a verb all options about its input; it gets them as keywords for the library function.
reading_options = add_options(
    {
        "format": (Format, None),
        "scale": (Scale, None),
        "duplicates": (Duplicates, "error"),
        "drop_off_scale": (DropOffScale, False),
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
    _as_understood,
)
