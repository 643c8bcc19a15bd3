"""recveil evaluate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer

from recveil.cli import options
from recveil.cli.options import Json

if TYPE_CHECKING:
    from recveil.io.options import ReadingOptions

_GROUND = "Held-out ratings"


def evaluate(
    source: Annotated[
        str | None,
        options.table_argument(
            "A file of ratings, or an address, for --split; - reads standard input."
        ),
    ] = None,
    release: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The release to be judged."),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_GROUND,
            help="The ratings that the release was made from.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_GROUND,
            help="Other ratings of the same people, to judge by.",
        ),
    ] = None,
    split: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=_GROUND,
            help="Hold out this share of SOURCE to judge by, and judge a release that is made"
            " of the rest with the settings of DIR.",
        ),
    ] = None,
    null_rule: Annotated[
        Literal["zero", "lowest", "skip", "item_mean"],
        typer.Option(
            metavar="RULE",
            help="What to take for the rating of an item that a row lacks: zero, the lowest "
            "of the scale, the item's mean (item_mean), or skip the item.",
        ),
    ] = "zero",
    targets: Annotated[
        int,
        typer.Option(
            min=1, help="How many people each adversary looks for; they are drawn at random."
        ),
    ] = 1_000,
    with_membership: Annotated[
        bool,
        typer.Option(
            "--membership/--no-membership",
            help="Measure how well an adversary can tell who was in the data.",
        ),
    ] = True,
    liked: options.Liked = None,
    seed: Annotated[int, options.seed_of("numbers")] = 0,
    whole: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Show every recommender, how far rows lie from the ratings, and what became of "
            "the whole table; else what decides.",
        ),
    ] = False,
    explain: options.Explain = False,
    json: Json = None,
    **reading: "Unpack[ReadingOptions]",
) -> None:
    """Say what a release is still worth to a recommender, and what it gives away.

    Example: `recveil evaluate --train train.csv --test test.csv --release out`
    """
    from recveil.cli.show import describe, show_read, write_json
    from recveil.cli.show_evaluation import show_evaluation, show_words
    from recveil.evaluation import evaluate

    if release is None:
        raise typer.BadParameter("expected --release DIR, the folder of a release")
    _check_ground(source, train, test, split)
    result = evaluate(
        release,
        source,
        train=train,
        test=test,
        split=split,
        null_rule=null_rule,
        targets=targets,
        seed=seed,
        with_membership=with_membership,
        liked=liked,
        **reading,
    )
    plain = {"data": describe(result.train), **result.to_json()}
    if write_json(plain, json):
        for read in result.readings:
            show_read(read)
        if "words_told" in plain:
            show_words(plain, is_explained=explain)
        else:
            show_evaluation(plain, is_explained=explain, is_whole=whole)


def _check_ground(
    source: str | None, train: str | None, test: str | None, split: float | None
) -> None:
    """Refuse files that leave open what is held out."""
    given = {"SOURCE": source, "--split": split, "--train": train, "--test": test}
    names = {name for name, value in given.items() if value is not None}
    if names not in ({"SOURCE", "--split"}, {"--train", "--test"}):
        raise typer.BadParameter(
            f"expected --train FILE and --test FILE, or SOURCE and --split SHARE; got "
            f"{', '.join(sorted(names)) or 'none of them'}"
        )
