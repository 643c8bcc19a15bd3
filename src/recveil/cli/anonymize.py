"""recveil anonymize."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from recveil.cli import options
from recveil.cli.options import Duplicates, Force, Format, Json, Scale, refuse_source_as_json

if TYPE_CHECKING:
    from recveil.anonymize import Release
    from recveil.publish.expected import Expected


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
    round: Annotated[
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
    format: Format = None,
    scale: Scale = None,
    duplicates: Duplicates = "error",
    drop_off_scale: options.DropOffScale = False,
    user: options.UserColumn = None,
    item: options.ItemColumn = None,
    rating: options.RatingColumn = None,
    time: options.TimeColumn = None,
    time_format: options.TimeFormat = None,
    json: Json = None,
) -> None:
    """Hide everybody in a group of at least k people, and verify what was written.

    Writes OUTPUT, to be published, and OUTPUT.private, to be kept secret.

    Example: `recveil anonymize ratings.csv -o out --k 5`
    """
    from recveil.anonymize import anonymize
    from recveil.cli.show import describe, show_read, show_verification, tell_alone, write_json

    refuse_source_as_json(json, source)
    told: list[Expected] = []

    def tell(expected: "Expected") -> None:
        told.append(expected)
        print(f"Expected: {expected.sentence()}.", file=sys.stderr)

    ratings, release, verification, reading = anonymize(
        source,
        output,
        k=k,
        method=method,
        homogenize=homogenize,
        predictor=predictor,
        grouping=grouping,
        round_labels=round,
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
        format=format,
        scale=options.parse_scale(scale),
        duplicates=duplicates,
        drop_off_scale=drop_off_scale,
        user=user,
        item=item,
        rating=rating,
        time=time,
        time_format=time_format,
    )
    private = f"{output}.private"
    lone, cost = release.private.lone_ratings, release.private.diversity_cost
    result = {
        "output": str(output),
        "private": private,
        "data": describe(ratings, reading),
        "expected": told[0].to_dict(),
        "settings": release.published.settings,
        "filled_cells": release.private.settings.get("filled_cells"),
        "lone_ratings": lone and lone._asdict(),
        "diversity_cost": cost and cost._asdict(),
        "verification": verification.to_dict(),
    }
    if write_json(result, json):
        show_read(reading)
        show_verification(verification, str(output))
        _tell_as_given(release)
        if method == "k-corating":
            _warn_of_k_corating(release, ratings.n_ratings)
        if cost:
            typer.echo(
                f"Diversity added {cost.added:,} labels to {cost.labels:,}, on average "
                f"{cost.harm:.2f} points off their item's mean; RMSE of the items' means before "
                f"and after: {cost.rmse_before:.4f}, {cost.rmse_after:.4f}."
                + ("" if cost.pruned else " The table is too large to take back needless ones.")
            )
        if verification.has_levels:
            typer.echo(
                f"{tell_alone(verification.alone)}, with privacy level 1: the ratings of whoever "
                f"stands alone are published as they are."
            )
        typer.echo(f"Publish {output}; keep {private} secret, it tells who is who.")


def _tell_as_given(release: "Release") -> None:
    """Say how many ratings the rows show, and what can be worked out where they show few."""
    from recveil.attack.stronger import PADDED

    given = release.private.lone_ratings
    if given is not None:
        typer.echo(
            f"Published as they are: {given.exact_share:.1%} of the ratings. "
            f"{given.rating_share:.1%}, from {given.user_share:.1%} of the people, because nobody "
            f"else in the group rated the item; the others because all who rated it agree, or "
            f"their rounded mean is the rating. With a larger k they are fewer."
        )
        if given.label_share is not None:
            typer.echo(
                f"Whoever takes a label that is a value of the scale for the rating of everybody "
                f"in the group who rated the item is right in {given.label_share:.1%} of cases."
            )
    if release.published.settings.get("homogenize") == "padded":
        typer.echo(PADDED)


def _warn_of_k_corating(release: "Release", n_ratings: int) -> None:
    """Say what k-coRating did, and what it does not do."""
    private, public = release.private.settings, release.published.settings
    # Of what somebody who knows ratings can do, the verdict above has warned already.
    stay = (
        ", which stand as they are: to find a person by them is nearly as easy as before"
        if public["protect"] == "none"
        else ""
    )
    typer.echo(
        f"Filled {private['filled_cells']:,} cells ({private['filled_cells'] / n_ratings:.1f} for "
        f"each rating) beside {n_ratings:,} real ratings{stay}."
    )
    if trust := private.get("trust"):
        typer.echo(
            f"Trust: {trust['statements']:,} times somebody says that they trust another one; "
            f"{trust['ignored_lines']:,} lines about {trust['unknown_users']:,} people without "
            f"ratings were passed over."
        )
    if public["protect"] == "shuffle":
        typer.echo(
            "The labels of each item were dealt anew within the groups. That is your word: no "
            "file can prove it. Where all of a group gave the same rating, it is known, and where "
            "fills can be worked out, as item means can, a real one stands out in its group."
        )
    if not public["round_fills"]:
        why = (
            "" if release.published.scale.step else f", as {release.published.scale} is continuous"
        )
        typer.echo(
            f"Warning: fills are not rounded to the scale{why}. They show which ratings are real."
        )
