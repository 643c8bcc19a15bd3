"""recveil compare."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from recveil.cli import options
from recveil.cli.options import Duplicates, Format, Json, Scale, refuse_source_as_json

if TYPE_CHECKING:
    from recveil.compare import Comparison, Share

_LIMITS = "Question"


def compare(
    source: Annotated[Path, typer.Argument(help=options.SOURCE)],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="A folder for the page, the table and the cells, readable by you alone.",
        ),
    ],
    methods: Annotated[
        str,
        typer.Option(metavar="all|NAME,NAME...", help="Methods; docs/cli.md lists their names."),
    ] = "all",
    k: Annotated[
        str, typer.Option("--k", metavar="K,K...", help="Smallest groups to try.")
    ] = "2,3,5,10,20,50",
    split: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of everybody's ratings held out.")
    ] = 0.2,
    targets: Annotated[
        int, typer.Option(metavar="N", help="How many people each adversary looks for.")
    ] = 1_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same comparison.")] = 0,
    max_risk: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            rich_help_panel=_LIMITS,
            help="Name the setting that keeps most with at most this share of the people found.",
        ),
    ] = None,
    min_k: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            rich_help_panel=_LIMITS,
            help="Name the setting that keeps most with at least so many people on each row.",
        ),
    ] = None,
    worth: Annotated[
        Literal["both", "ratings", "lists"],
        typer.Option(
            "--for",
            metavar="ratings|lists|both",
            rich_help_panel=_LIMITS,
            help="What the setting is chosen for; with both, the smaller of two shares counts.",
        ),
    ] = "both",
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
    """Draw risk against utility for many methods and k, on your own data.

    Finished settings are kept in OUTPUT: a run that was stopped goes on where it was.

    Example: `recveil compare ratings.csv --k 2,5,10,50 --max-risk 0.1 -o comparison`
    """
    from recveil.cli.show import show_read, write_json
    from recveil.compare import compare
    from recveil.compare.cells import PAGE
    from recveil.report.page_of_comparison import write_compare_page

    refuse_source_as_json(json, source)
    comparison = compare(
        source,
        output,
        methods=[name.strip() for name in methods.split(",") if name.strip()],
        ks=_numbers(k),
        split=split,
        seed=seed,
        targets=targets,
        allow_large=allow_large,
        max_risk=max_risk,
        min_k=min_k,
        worth=worth,
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
    plain = comparison.to_dict()
    write_compare_page(plain, output / PAGE)
    if write_json({"output": str(output), **plain}, json):
        show_read(comparison.reading)
        _show(comparison, plain)
        typer.echo(f"Wrote {output / PAGE}. It is for you alone, as is all of {output}.")
    answer = plain["answer"]
    if all(row.problem for row in comparison.rows) or (answer and answer["row"] is None):
        raise typer.Exit(1)


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--k {text!r}: expected whole numbers, as in 2,5,10") from None


def _show(comparison: "Comparison", plain: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from recveil.compare import percent, shares_of

    console = Console()
    table = Table()
    widths = {"setting": 14, "promises": 11}  # with the others, that fits into 80 columns
    kept = "lists kept\nnDCG@10", "ratings kept\nRMSE"
    for name in ("setting", "promises", "found\nproven", *kept):
        table.add_column(name, overflow="fold", min_width=widths.get(name))
    for row in comparison.rows:
        if row.problem:
            table.add_row(row.title, row.promise, f"[red]no result:[/] {escape(row.problem)}")
            continue
        star = " [bold]★[/]" if row.title in plain["frontier"] else ""
        interval = f"\n[dim]{percent(row.risk_low)}–{percent(row.risk_high)}[/]"
        table.add_row(
            row.title + star,
            row.promise,
            ("[dim]not\nattacked[/]" if row.risk is None else percent(row.risk) + interval)
            + ("" if row.bound is None else f"\n≤ {percent(row.bound)}"),
            _kept(shares_of(row).lists) + ("" if row.ndcg is None else f"\n{row.ndcg:.3f}"),
            _kept(shares_of(row).ratings) + ("" if row.rmse is None else f"\n{row.rmse:.4f}"),
        )
    console.print(table)
    console.print(
        "Found: share of the people looked for whom the strongest adversary finds, with its 95 % "
        "interval, and the most that is proven (≤), where it ends. Kept: 100 % (as raw) serves as "
        "well as the raw data; 0 % of ratings is no better than averages. Its interval is about "
        "the people judged, on this one split; nDCG and RMSE are those of the recommenders that a "
        "recipient would choose. "
        "★: no setting that promises anything is both safer and better."
    )
    if any(row.risk is None and not row.problem for row in comparison.rows):
        console.print(
            "Not attacked: the attacks do not undo the method, so that what they find says nothing."
        )
    for warning in plain["warnings"]:
        if warning in plain["data"]["notes"]:
            continue  # told above, with what was read
        console.print(f"[red]warning[/]  {escape(warning)}")
    answer = plain["answer"]
    for choice in [answer] if answer else plain["ladder"]:
        console.print(f"[bold]{escape(choice['sentence'])}[/]")
        for caveat in choice["caveats"] if answer else []:
            console.print(f"  {escape(caveat)}")
        if not answer and choice["not_told_apart"]:
            console.print(
                f"  not told apart from it: {escape(', '.join(choice['not_told_apart']))}"
            )


def _kept(share: "Share | None") -> str:
    """Return a share with its interval, which what is compared with itself does not have."""
    from recveil.compare import percent

    if share is None:
        return "cannot be told"
    if share.value <= -1 and share.is_told:
        return "below -100%"

    def say(value: float) -> str:
        return "as raw" if value >= 1 else percent(value)

    if share.low is None or share.high is None or share.low == share.high:
        return say(share.value)
    value = say(share.value) if share.is_told else "not told"
    return f"{value}\n[dim]{percent(share.low)} to {say(share.high)}[/]"
