"""recveil audit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli import options
from recveil.cli.options import Json, echo, number_error, read_number
from recveil.cli.outputs import is_stdout

if TYPE_CHECKING:
    from recveil.auditing import Audit

_RISK = "everybody's risk in the raw table, which is private,"


def audit(
    source: options.Source,
    release: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Look for the people in this release of the table, too."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --release: another release of the same people; says what both tell "
            "together.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page with the verdict, all figures and charts; - prints it.",
        ),
    ] = None,
    aux: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A file of what you know from elsewhere about people "
            "(target, item[, rating][, date]): says which record fits "
            "each of them best.",
        ),
    ] = None,
    catalogue: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="If --release hides its items: other people's ratings, with the items' own "
            "ids, by which to name them again.",
        ),
    ] = None,
    shadows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --release: measure how well somebody tells who is in it, by N more "
            "such releases of halves of the people (32, say). Takes as long as making N "
            "releases.",
        ),
    ] = None,
    risk: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write how easily each person is found in the raw table to FILE (private, "
            "never inside a release; - prints it). With --release and no FILE, it goes to "
            "DIR.private/risk.csv.",
        ),
    ] = None,
    targets: Annotated[
        str,
        typer.Option(
            metavar="N|all",
            help="How many people each adversary looks for, "
            "drawn at random; all looks for everybody.",
        ),
    ] = "1000",
    draws: Annotated[
        int,
        typer.Option(min=1, help="How many times to draw at random what is known of each person."),
    ] = 1,
    seed: Annotated[int, options.seed_of("audit")] = 0,
    curves: Annotated[
        bool, typer.Option(help="Also compute the charts of the page and everybody's risk.")
    ] = True,
    engine: options.Engine = "local",
    master: options.Master = None,
    explain: options.Explain = False,
    json: Json = None,
    **given: Any,
) -> None:
    """Find people again, as if this table had been published with the names removed.

    Example: `recveil audit ratings.csv --html audit.html`
    """
    from recveil.auditing import audit
    from recveil.cli.outputs import place_of_risk

    if risk is not None and not curves:
        raise typer.BadParameter("--risk FILE needs the curves; leave out --no-curves or --risk")
    options.reject_idle_master(engine, master)
    given |= {
        "release": release,
        "against": against,
        "targets": _read_targets(targets),
        "draws": draws,
        "seed": seed,
        "curves": curves,
        "aux": aux,
        "catalogue": catalogue,
        "shadows": shadows,
    }
    risk = place_of_risk(risk, release) if curves else None
    result = _by_spark(source, master, given) if engine == "spark" else audit(source, **given)
    _hand_out(result, html=html, risk=risk, json=json, explain=explain)
    if risk is None and result.risk is not None and release is not None:
        echo(
            f"Everybody's risk was not written: {release} has no private twin; name a file for it "
            f"(--risk FILE).",
            err=True,
        )


def _by_spark(source: str, master: str | None, given: dict[str, Any]) -> "Audit":
    """Let executors look for people; what they do not offer is refused by the library."""
    from recveil.spark import audit

    return audit(source, master=master, **given)


def _hand_out(
    result: "Audit", *, html: Path | None, risk: Path | None, json: Path | None, explain: bool
) -> None:
    """Write the page, everybody's risk and the JSON object, and print all for people."""
    from recveil.cli.outputs import write_risk_file
    from recveil.cli.show import show_read, write_json
    from recveil.cli.show_audit import show_audit

    plain = result.to_dict()
    if html is not None:
        _write_page(plain, html)
    if risk is not None and result.risk is not None:
        write_risk_file(result.ratings.users, result.risk, risk)
    if write_json(plain, json) and not (is_stdout(html) or is_stdout(risk)):
        show_read(result.reading)
        show_audit(plain, is_explained=explain)
        for name, path in (("the page", html), (_RISK, risk)):
            if path is not None:
                echo(f"Wrote {name} to {path}.")


def _write_page(plain: dict[str, Any], html: Path) -> None:
    """Write the page to a file, or print it."""
    from recveil.report import audit_page, write_audit_page

    if is_stdout(html):
        print(audit_page(plain))
    else:
        write_audit_page(plain, html)


def _read_targets(text: str) -> int | None:
    """Read how many people to look for; None for all of them."""
    number = read_number(text, "--targets", "all")
    if isinstance(number, float):
        raise number_error(text, "--targets", "all")  # a part of a person
    return number
