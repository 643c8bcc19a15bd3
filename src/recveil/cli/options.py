"""Options that several verbs share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from recveil.cli.completing import formats, one_of
from recveil.cli.declare import add_options

if TYPE_CHECKING:
    from recveil.ratings import RatingScale

_INPUT = "Input"
SOURCE = (
    "A file of ratings, packed or not, a folder of parts, or an address, such as sqlite:///shop.db "
    "or s3://bucket/ratings.csv; - reads standard input."
)
TARGET = (
    "What to write: .parquet, .csv or .inter, or a new folder for recbole and lenskit; - writes to "
    "standard output."
)
TARGET_FORMAT = (
    "parquet, csv, inter, surprise, recbole or lenskit; by the ending if not given, csv for -."
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
        help="Format of the input; found by looking if not given. One of: movielens-tab, "
        "movielens-colons, csv, tsv, csv-plain, space, inter, netflix, json, parquet, arrow.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="LOW:HIGH:STEP",
        rich_help_panel=_INPUT,
        help="The rating scale, such as 1:5:1; inferred if not given.",
    ),
]
Duplicates = Annotated[
    Literal["error", "last", "mean"],
    typer.Option(
        rich_help_panel=_INPUT,
        metavar="HOW",
        help="What to do if a user rates an item more than once: error, last (the latest, where "
        "there are times), mean.",
    ),
]
DropOffScale = Annotated[
    bool,
    typer.Option(
        "--drop-off-scale",
        rich_help_panel=_INPUT,
        help="Leave out rows without a rating, and ratings that are not on the scale that --scale "
        "names; say how many.",
    ),
]


def _column(what: str) -> Any:
    """Return the option that says which column holds what."""
    return typer.Option(
        metavar="NAME|PLACE",
        rich_help_panel=_INPUT,
        help=f"The {what} column: its name, or its place, from 1 on.",
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
        help="How times are written that are neither ISO dates nor Unix times, such as %d/%m/%Y.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        rich_help_panel=_INPUT,
        help="What stands between columns, such as ';', '::' or tab; found by looking if certain.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        rich_help_panel=_INPUT,
        help="What stands before the decimals of ratings: , or .; found by looking if certain.",
    ),
]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide",
        rich_help_panel=_INPUT,
        help="The table is a matrix: a row for each user, a column for each item.",
    ),
]
Null = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        rich_help_panel=_INPUT,
        help="What stands in a matrix for no rating, such as 99; an empty cell always does.",
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        metavar="SELECT",
        rich_help_panel=_INPUT,
        help="The ratings in a database: the rows of this query.",
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=_INPUT,
        help="The ratings in a database: all rows of this table or view.",
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
        help="Each row is a like, whatever its rating; so is a table that has none.",
    ),
]
Counts = Annotated[
    Literal["log", "likes"] | None,
    typer.Option(
        metavar="HOW",
        rich_help_panel=_INPUT,
        help="The ratings count how often, or how long: log makes levels of 1 to 7, likes whether "
        "at all.",
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        rich_help_panel=_INPUT,
        help="The ratings are words: all of them, from the lowest to the highest, such as "
        "hate,dislike,like,love.",
    ),
]
Words = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        rich_help_panel=_INPUT,
        help="The ratings are words without an order: all of them, such as up,down, or all for "
        "those in the table.",
    ),
]
Liked = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="Of words without an order: those that mean that somebody liked the item, such as "
        "up,love. Then lists are judged, too.",
    ),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the result as JSON; - prints it and nothing else.",
    ),
]
Engine = Annotated[
    Literal["local", "spark"],
    typer.Option(
        metavar="NAME",
        rich_help_panel="Spark",
        help="What works: local, this process; spark, executors where the data is.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        rich_help_panel="Spark",
        help="With --engine spark, where it runs: local[4], spark://host:7077; as Spark is "
        "configured if not given.",
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Say below the result what its words mean.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace an older one at that place.")]
AllowLarge = Annotated[
    bool,
    typer.Option("--allow-large", help="Write more than 100 labels for each rating, too."),
]


def seed_of(what: str) -> Any:
    """Return the option for the seed of something that is the same each time if not told so."""
    return typer.Option(min=0, help=f"The same seed gives the same {what}.")


def refuse_idle_master(engine: str, master: str | None) -> None:
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
