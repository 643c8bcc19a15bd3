"""recveil audit-lists."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from recveil.cli import options
from recveil.cli.options import Json
from recveil.cli.outputs import is_stdout
from recveil.report.terminal import echo

if TYPE_CHECKING:
    from recveil.io.options import ReadingOptions

_PUBLISHED = "What is published"
_SIMILAR = "Lists of similar items"


def audit_lists(
    source: Annotated[
        str,
        options.table_argument(
            "The ratings that the recommender learned from, whose users are the members: a file, "
            "a folder of files, or an address; - reads standard input."
        ),
    ],
    lists: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_PUBLISHED,
            help="Published lists of members and of nonmembers: user, item, and rank (1 is the "
            "first) or score. Needs --nonmembers.",
        ),
    ] = None,
    nonmembers: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_PUBLISHED,
            help="With --lists or --model: ratings of users whom the recommender did not learn "
            "from, left out at random before training. Without them, inference cannot be measured.",
        ),
    ] = None,
    recommender: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|MODULE:FUNCTION",
            autocompletion=options.one_of(options.recommenders),
            rich_help_panel=_PUBLISHED,
            help="A recommender to make lists with: item-knn, ease, svd, popular, or a function "
            "of the ratings to learn from, the ratings of users to serve, and the length of a "
            "list, that returns the item ids of each list. It is called for random halves of the "
            "users, and for a user without ratings.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_PUBLISHED,
            help="A published model, a .npz file: items (ids), and factors (a row per item) or "
            "similarities (an item-item matrix). Needs --nonmembers.",
        ),
    ] = None,
    similar_before: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_SIMILAR,
            help="Published similar items of one day: item, similar item, rank, in this order.",
        ),
    ] = None,
    similar_after: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", rich_help_panel=_SIMILAR, help="The similar items of a later day."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            rich_help_panel=_SIMILAR,
            help="The first day after --similar-before, such as 1998-03-01: what was rated from "
            "then on is inferred.",
        ),
    ] = None,
    known: Annotated[
        int,
        typer.Option(
            min=1,
            rich_help_panel=_SIMILAR,
            help="Number of a target's earlier items in the auxiliary information.",
        ),
    ] = 8,
    length: Annotated[
        int, typer.Option(min=1, help="With --recommender: the number of items of a list.")
    ] = 10,
    shadows: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of shadow recommenders, each trained on half of the users; an even number "
            "from 8.",
        ),
    ] = 16,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a page with the three risks and all figures; - prints it."
        ),
    ] = None,
    risk: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --recommender: write the membership risk of each user of the table to FILE "
            "(private; - prints it).",
        ),
    ] = None,
    seed: Annotated[int, options.seed_of("numbers")] = 0,
    json: Json = None,
    **reading: "Unpack[ReadingOptions]",
) -> None:
    """Audit what a recommender publishes: lists of items, its model, or similar items.

    An adversary who knows a user's ratings infers whether the recommender learned from them. For
    the table itself, or a release of it: recveil audit.

    Example: `recveil audit-lists ratings.csv --recommender svd`
    """
    from recveil.cli.outputs import write_json, write_risk_file
    from recveil.evaluation import audit_lists
    from recveil.report.evaluation.recommender import show_recommender

    if risk is not None and recommender is None:
        raise typer.BadParameter(
            "--risk FILE: only with --recommender: one publication is too few to measure "
            "one user; leave it out, or name the recommender that made it"
        )
    audited = audit_lists(
        source,
        lists=lists,
        nonmembers=nonmembers,
        recommender=recommender,
        model=model,
        similar_before=similar_before,
        similar_after=similar_after,
        since=since,
        known=known,
        length=length,
        shadows=shadows,
        seed=seed,
        **reading,
    )
    if is_stdout(html):
        print(audited.to_html())
    elif html is not None:
        audited.to_html(html)
    if risk is not None and audited.risk is not None:
        write_risk_file(audited.users, audited.risk, risk)
    if write_json(audited.to_dict(), json) and not (is_stdout(html) or is_stdout(risk)):
        show_recommender(audited)
        for name, path in (("the page", html), ("the risk of each user, which is private,", risk)):
            if path is not None:
                echo(f"Wrote {name} to {path}.")
