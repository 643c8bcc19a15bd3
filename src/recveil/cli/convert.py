"""recveil convert."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json, one_of, target_formats
from recveil.cli.outputs import is_stdout
from recveil.report.terminal import echo

if TYPE_CHECKING:
    from recveil.io.options import ReadingOptions


def convert(
    source: Annotated[list[str], options.table_argument(options.SOURCES)],
    target: Annotated[Path, typer.Argument(help=options.TARGET)],
    target_format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=one_of(target_formats),
            help=options.TARGET_FORMAT,
        ),
    ] = None,
    item_table: Annotated[
        str | None,
        typer.Option(metavar="FILE", help=options.ITEM_TABLE),
    ] = None,
    split: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="For folders: write this share as test ratings, the rest as training ratings "
            "(for recbole, the same share of the rest as validation ratings).",
        ),
    ] = None,
    split_by: Annotated[
        Literal["user", "time"],
        typer.Option(
            metavar="WHAT",
            help="With --split: a random share of each user's ratings (user), or the last ratings "
            "of the table (time).",
        ),
    ] = "user",
    seed: Annotated[int, typer.Option(min=0, help="Random seed of --split-by user.")] = 0,
    times: Annotated[bool, typer.Option(help="Keep times, to the day.")] = True,
    force: Force = False,
    json: Json = None,
    **reading: "Unpack[ReadingOptions]",
) -> None:
    """Convert a file of ratings to another format; nothing is anonymized.

    Rows are sorted by user and item; times are kept to the day. Of a release folder, the published
    rows are read, one per user. Releases of disjoint cohorts with an epsilon are joined.

    Example: `recveil convert ratings.dat ratings.parquet`,

    or `recveil convert cohorts/2003 cohorts/2005 joined.csv`
    """
    from recveil.cli.outputs import write_json
    from recveil.publish import convert
    from recveil.report import data_to_dict
    from recveil.report.terminal import show_reading

    result = convert(
        source[0] if len(source) == 1 else source,
        target,
        target_format=target_format,
        item_table=item_table,
        split=split,
        split_by=split_by,
        seed=seed,
        times=times,
        force=force,
        **reading,
    )
    if write_json({"output": str(target), "data": data_to_dict(result.ratings, result)}, json):
        to_stdout = is_stdout(target)
        show_reading(result, err=to_stdout)
        echo(f"Wrote {'to standard output' if to_stdout else target}.", err=to_stdout)
