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
        "for 31/12/2025, say.",
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
