"""recveil anonymize."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from recveil.cli import options
from recveil.cli.options import Force, Json, reading_options, refuse_source_as_json

if TYPE_CHECKING:
    from recveil.anonymize import Anonymized
    from recveil.publish.expected import Expected


@reading_options
def anonymize(
    source: Annotated[Path, typer.Argument(help=options.SOURCE)],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder to be published; OUTPUT.private stays with you."
        ),
    ],
    k: Annotated[
        int,
        typer.Option(help="Smallest group of people who share one row; see --privacy-levels."),
    ],
    method: Annotated[
        Literal["predictive", "k-corating"],
        typer.Option(
            metavar="NAME",
            rich_help_panel="Method",
            help="predictive: groups share one row; k-corating: rows are filled up until k people "
            "rated the same items, and real ratings stay.",
        ),
    ] = "predictive",
    homogenize: Annotated[
        Literal["padded", "simple"] | None,
        typer.Option(
            metavar="HOW",
            rich_help_panel="Method",
            help="padded (default): average predictions and ratings, full rows; "
            "simple: average the ratings of those who rated, sparse rows.",
        ),
    ] = None,
    grouping: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Method",
            help="How similar people are gathered: k-gather (default), bisecting, predictive, "
            "bounded-t-means, mdav, k-member, union-split; "
            "with privacy levels, level-gather (default) or one-k-gather; "
            "for k-corating, gecom (default), supports, or one of the first.",
        ),
    ] = None,
    predictor: Annotated[
        Literal["funk-svd", "item-mean"] | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Method",
            help="What fills the empty cells: funk-svd (default), item-mean.",
        ),
    ] = None,
    round_labels: Annotated[
        str | None,
        typer.Option(
            "--round",
            metavar="GRID",
            rich_help_panel="Method",
            help="Grid of the labels: tenth (of the scale's step; default), scale, none, or a "
            "step.",
        ),
    ] = None,
    fill: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="k-coRating",
            help="What is filled in: item-mean (default), random, funk-svd, similarity, trust.",
        ),
    ] = None,
    trust: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel="k-coRating",
            help="Whom people say they trust, for --fill trust: lines of truster, trustee and "
            "value; worked out from the ratings if not given.",
        ),
    ] = None,
    round_fills: Annotated[
        bool | None,
        typer.Option(
            "--round-fills/--no-round",
            rich_help_panel="k-coRating",
            help="Round what is filled in to the scale (default); otherwise it gives itself away.",
        ),
    ] = None,
    protect: Annotated[
        Literal["none", "labels", "mean", "shuffle"] | None,
        typer.Option(
            metavar="HOW",
            rich_help_panel="k-coRating",
            help="Labels: none (real ratings stay; default), mean of the group (or: labels), "
            "shuffle (dealt anew within the group).",
        ),
    ] = None,
    privacy_levels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|RULE",
            rich_help_panel="Promise",
            help="A k for each user: a file with the columns user_id,k (others get --k), or a "
            "rule such as 'activity<50:10,else:5'. A user of level 1 may stand alone.",
        ),
    ] = None,
    b: Annotated[
        int,
        typer.Option("--b", rich_help_panel="Promise", help="Items in a set, for --l: 1, 2 or 3."),
    ] = 1,
    l: Annotated[  # noqa: E741
        int,
        typer.Option(
            "--l",
            rich_help_panel="Promise",
            help="Diversity: every set of b items in a row stands in at least l different rows.",
        ),
    ] = 1,
    layout: Annotated[
        Literal["auto", "users", "groups"],
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="users: one row a user; groups: one row a group with its size; "
            "auto: groups for padded.",
        ),
    ] = "auto",
    file_format: Annotated[
        Literal["parquet", "csv"],
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="Format of the published ratings: parquet, csv.",
        ),
    ] = "parquet",
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Makes the run repeatable; drawn afresh if not given."),
    ] = None,
    force: Force = False,
    allow_large: options.AllowLarge = False,
    json: Json = None,
    **reading: Any,
) -> None:
    """Hide everybody in a group of at least k people, and verify what was written.

    Writes OUTPUT, to be published, and OUTPUT.private, to be kept secret.

    Example: `recveil anonymize ratings.csv -o out --k 5`
    """
    from recveil.anonymize import anonymize
    from recveil.cli.show import write_json
    from recveil.cli.show_release import show_release

    refuse_source_as_json(json, source)
    told: list[Expected] = []

    def tell(expected: "Expected") -> None:
        told.append(expected)
        print(f"Expected: {expected.sentence()}.", file=sys.stderr)

    made = anonymize(
        source,
        output,
        k=k,
        method=method,
        homogenize=homogenize,
        predictor=predictor,
        grouping=grouping,
        round_labels=round_labels,
        fill=fill,
        trust=trust,
        round_fills=round_fills,
        protect=protect,
        privacy_levels=privacy_levels,
        b=b,
        l=l,
        layout=layout,
        file_format=file_format,
        seed=seed,
        force=force,
        allow_large=allow_large,
        tell=tell,
        **reading,
    )
    if write_json(_as_json(made, output, told[0]), json):
        show_release(made, output)


def _as_json(made: "Anonymized", output: Path, expected: "Expected") -> dict[str, Any]:
    """Return the JSON object; it tells of the private side what the owner is to know."""
    from recveil.cli.show import describe

    public, private = made.release.published, made.release.private
    lone, cost = private.lone_ratings, private.diversity_cost
    return {
        "output": str(output),
        "private": f"{output}.private",
        "data": describe(made.ratings, made.reading),
        "expected": expected.to_dict(),
        "settings": public.settings,
        "filled_cells": private.settings.get("filled_cells"),
        "lone_ratings": lone and lone._asdict(),
        "diversity_cost": cost and cost._asdict(),
        "verification": made.verification.to_dict(),
    }
