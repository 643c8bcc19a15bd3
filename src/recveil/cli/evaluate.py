"""recveil evaluate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

import typer
from rich.console import Console

from recveil.cli import options
from recveil.cli.options import Json
from recveil.report.terminal import echo, escape

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
        typer.Option(metavar="DIR", help="The release to evaluate."),
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
            help="Other ratings of the same users, to evaluate on.",
        ),
    ] = None,
    split: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=_GROUND,
            help="Hold out this share of SOURCE, and evaluate a release that is made of the rest"
            " with the settings of DIR.",
        ),
    ] = None,
    split_by: Annotated[
        Literal["user", "time"],
        typer.Option(
            metavar="WHAT",
            rich_help_panel=_GROUND,
            help="With --split, hold out a random share of each user's ratings (user), or the last "
            "ratings of the table, and measure lists of next items, too (time).",
        ),
    ] = "user",
    null_rule: Annotated[
        Literal["zero", "lowest", "skip", "item_mean"],
        typer.Option(
            metavar="RULE",
            help="The value of an item that a row lacks, for target deviation (Chang et al., "
            "section 7.2): zero, the lowest of the scale, the item's mean (item_mean), or skip the "
            "item.",
        ),
    ] = "zero",
    targets: Annotated[
        int,
        typer.Option(min=1, help="The number of targets of each adversary, sampled at random."),
    ] = 1_000,
    with_membership: Annotated[
        bool,
        typer.Option(
            "--membership/--no-membership",
            help="Measure membership inference.",
        ),
    ] = True,
    users: options.Users = None,
    attribute: options.Attribute = None,
    liked: options.Liked = None,
    seed: Annotated[int, options.seed_of("numbers")] = 0,
    whole: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Show every recommender, every group, the distance of rows from the ratings, and "
            "the fidelity of the whole table.",
        ),
    ] = False,
    explain: options.Explain = False,
    json: Json = None,
    **reading: "Unpack[ReadingOptions]",
) -> None:
    """Evaluate the utility that a release retains, and what it discloses.

    Example: `recveil evaluate --train train.csv --test test.csv --release out`
    """
    from recveil.cli.outputs import write_json
    from recveil.evaluation import evaluate
    from recveil.report import data_to_dict
    from recveil.report.audit.terminal import (
        console_of,
        show_disclosure,
        show_rates,
        show_statements,
        terms_of_release,
    )
    from recveil.report.audit.text import headline_of
    from recveil.report.evaluation import terminal
    from recveil.report.glossary import explain as explain_words
    from recveil.report.terminal import show_reading

    if release is None:
        raise typer.BadParameter("expected --release DIR, the folder of a release")
    _check_ground(source, train, test, split)
    result = evaluate(
        source,
        release,
        train=train,
        test=test,
        split=split,
        null_rule=null_rule,
        targets=targets,
        seed=seed,
        with_membership=with_membership,
        users=users,
        attribute=attribute or None,
        liked=liked,
        split_by=split_by,
        **reading,
    )
    plain = {"data": data_to_dict(result.train), **result.to_dict()}
    if not write_json(plain, json):
        return
    for read in result.readings:
        show_reading(read)
    console, disclosure = Console(), result.evaluation.disclosure
    terminal.show_utility(console, result, is_whole=whole)
    if disclosure is not None:
        of_attacks = console_of(result.train)
        of_attacks.print(escape(headline_of(disclosure)))
        show_rates(of_attacks, disclosure)
        show_disclosure(of_attacks, disclosure)
    terminal.show_remarks(console, result, is_whole=whole)
    if explain:
        of_release = () if disclosure is None else terms_of_release(disclosure)
        if disclosure is not None:
            show_statements(disclosure, result.train)
        words = [*terminal.words_of(result, is_whole=whole), *of_release]
        explain_words(words, is_unary=result.train.is_unary)
    else:
        echo("--explain explains the terms.")


def _check_ground(
    source: str | None, train: str | None, test: str | None, split: float | None
) -> None:
    """Reject files that do not define what is held out."""
    named = {"SOURCE": source, "--split": split, "--train": train, "--test": test}
    names = {name for name, value in named.items() if value is not None}
    if names not in ({"SOURCE", "--split"}, {"--train", "--test"}):
        raise typer.BadParameter(
            f"expected --train FILE and --test FILE, or SOURCE and --split SHARE; got "
            f"{', '.join(sorted(names)) or 'none of them'}"
        )
