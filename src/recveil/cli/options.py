"""Options that several verbs share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from recveil.ratings import RatingScale

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the input; found by looking if not given. One of: movielens-tab, "
        "movielens-colons, csv, tsv, csv-plain, space, inter, netflix, parquet, arrow.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="LOW:HIGH:STEP", help="The rating scale, such as 1:5:1; inferred if not given."
    ),
]
Duplicates = Annotated[
    Literal["error", "last", "mean"],
    typer.Option(help="What to do if a user rates an item more than once."),
]
UserColumn = Annotated[str | None, typer.Option(help="Name of the user column.")]
ItemColumn = Annotated[str | None, typer.Option(help="Name of the item column.")]
RatingColumn = Annotated[str | None, typer.Option(help="Name of the rating column.")]
TimeColumn = Annotated[str | None, typer.Option(help="Name of the time column.")]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the result as JSON; - prints it and nothing else."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an older release at that place.")]


def parse_scale(text: str | None) -> "RatingScale | None":
    """Read a --scale option."""
    if text is None:
        return None
    from recveil.ratings import RatingScale

    return RatingScale.parse(text)
