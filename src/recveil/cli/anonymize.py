"""recveil anonymize."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from recveil.cli import options
from recveil.cli.options import Duplicates, Force, Format, Json, Scale


def anonymize(
    source: Annotated[Path, typer.Argument(help="A file of ratings, gzipped or not.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder to be published; OUTPUT.private stays with you."
        ),
    ],
    k: Annotated[int, typer.Option(help="Smallest group of people who share one row.")],
    homogenize: Annotated[
        Literal["padded", "simple"],
        typer.Option(
            help="padded: average predictions and ratings, full rows; "
            "simple: average the ratings of those who rated, sparse rows."
        ),
    ] = "padded",
    grouping: Annotated[
        Literal["bisecting", "predictive", "bounded-t-means"],
        typer.Option(help="How similar people are gathered."),
    ] = "bisecting",
    predictor: Annotated[
        Literal["funk-svd", "item-mean"], typer.Option(help="What fills the empty cells.")
    ] = "funk-svd",
    round: Annotated[
        str,
        typer.Option(
            "--round", help="Grid of the labels: tenth (of the scale's step), scale, none, a step."
        ),
    ] = "tenth",
    layout: Annotated[
        Literal["auto", "users", "groups"],
        typer.Option(help="One row of labels a user, or one a group with its size."),
    ] = "auto",
    file_format: Annotated[
        Literal["parquet", "csv"], typer.Option(help="Format of the published ratings.")
    ] = "parquet",
    seed: Annotated[
        int | None, typer.Option(help="Makes the run repeatable; drawn afresh if not given.")
    ] = None,
    force: Force = False,
    format: Format = None,
    scale: Scale = None,
    duplicates: Duplicates = "error",
    user: options.UserColumn = None,
    item: options.ItemColumn = None,
    rating: options.RatingColumn = None,
    json: Json = None,
) -> None:
    """Hide everybody in a group of at least k people, and verify what was written.

    Writes OUTPUT, to be published, and OUTPUT.private, to be kept secret.

    Example: `recveil anonymize ratings.csv -o out --k 5`
    """
    from recveil.anonymize import anonymize
    from recveil.cli.show import describe, show_read, show_verification, write_json

    ratings, release, verification = anonymize(
        source,
        output,
        k=k,
        homogenize=homogenize,
        predictor=predictor,
        grouping=grouping,
        round_labels=round,
        layout=layout,
        file_format=file_format,
        seed=seed,
        force=force,
        format=format,
        scale=options.parse_scale(scale),
        duplicates=duplicates,
        user=user,
        item=item,
        rating=rating,
    )
    private = f"{output}.private"
    result = {
        "output": str(output),
        "private": private,
        "data": describe(ratings),
        "settings": release.published.settings,
        "verification": verification.to_dict(),
    }
    if write_json(result, json):
        show_read(ratings, scale is not None)
        show_verification(verification, str(output))
        typer.echo(f"Publish {output}; keep {private} secret, it tells who is who.")
