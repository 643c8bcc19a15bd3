"""recveil audit."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli import options
from recveil.cli.options import Json, number_error, read_number
from recveil.cli.outputs import is_stdout
from recveil.report.terminal import echo

if TYPE_CHECKING:
    from recveil.auditing import Audit

_RISK = "the risk of each user in the raw table, which is private,"


def audit(
    source: options.Source,
    release: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also attack this release of the table."),
    ] = None,
    second_release: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --release: another release of the same users; measures what both "
            "reveal together (linkage).",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page with the verdict, all figures and charts; - prints it.",
        ),
    ] = None,
    auxiliary: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A file of auxiliary information about targets "
            "(target, item[, rating][, date]): prints the records that fit "
            "each of them best, also in the --release, and how they differ from the file; with "
            "all of one's own ratings, what the publisher altered (Narayanan & Shmatikov, "
            "section 5).",
        ),
    ] = None,
    item_catalog: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="If --release hides its items: other users' ratings, with the original item "
            "ids, from which an adversary may re-identify the items.",
        ),
    ] = None,
    shadows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --release: measure membership inference with N shadow releases of "
            "halves of the users (32, say). Takes as long as making N releases.",
        ),
    ] = None,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Choose --rating-width and --day-width on half of the targets, and use them if "
            "they raise the rate on the other half (of matches, with an --eccentricity other than "
            "1.5; Narayanan & Shmatikov, footnote 6).",
        ),
    ] = False,
    sensitive: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A file of sensitive items (item[, category], such as politics or health): "
            "measures for how many users the record that is found reveals one (Narayanan & "
            "Shmatikov, section 5).",
        ),
    ] = None,
    users: options.Users = None,
    attribute: options.Attribute = None,
    item_titles: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --auxiliary, if its items have other ids: titles of the table's items "
            "(item, title[, year]). Items are matched by title and year, as Narayanan & Shmatikov "
            "(section 5) matched IMDb with Netflix. Without the file, ids are titles.",
        ),
    ] = None,
    auxiliary_titles: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Titles of the items of --auxiliary, such as IMDb's (Narayanan & Shmatikov, "
            "section 5); without it, ids are titles.",
        ),
    ] = None,
    match_certainty: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Minimum certainty of a match of titles, above 0, at most 1 (default: 0.9; "
            "Narayanan & Shmatikov, section 5, state none). A match with a rival nearly as "
            "certain is left out.",
        ),
    ] = None,
    matches_output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the matches of titles (Narayanan & Shmatikov, section 5) with their "
            "certainty to FILE, to be edited and given as --item-matches.",
        ),
    ] = None,
    item_matches: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --auxiliary, in place of titles (Narayanan & Shmatikov, section 5): matches "
            "(auxiliary_item, item[, use: yes or no]).",
        ),
    ] = None,
    risk: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the re-identification rate of each user in the raw table to FILE "
            "(private, never inside a release; - prints it).",
        ),
    ] = None,
    targets: Annotated[
        str,
        typer.Option(
            metavar="N|all",
            help="The number of targets of each adversary, "
            "drawn at random; all attacks every user.",
        ),
    ] = "1000",
    draws: Annotated[
        int,
        typer.Option(
            min=1, help="How many times to draw the auxiliary information about each target."
        ),
    ] = 1,
    seed: Annotated[int, options.seed_of("audit")] = 0,
    curves: Annotated[
        bool, typer.Option(help="Also compute the charts of the page and the risk of each user.")
    ] = True,
    engine: options.Engine = "local",
    master: options.Master = None,
    explain: options.Explain = False,
    json: Json = None,
    **given: Any,
) -> None:
    """Attack a table as if it had been published without names.

    For the lists or the model of a recommender: recveil audit-lists.

    Example: `recveil audit ratings.csv --html audit.html`
    """
    from recveil.auditing import audit

    if risk is not None and not curves:
        raise typer.BadParameter("--risk FILE needs the curves; leave out --no-curves or --risk")
    options.reject_idle_master(engine, master)
    given |= {
        "release": release,
        "second_release": second_release,
        "targets": _read_targets(targets),
        "draws": draws,
        "seed": seed,
        "curves": curves,
        "auxiliary": auxiliary,
        "item_catalog": item_catalog,
        "shadows": shadows,
        "tune": tune,
        "sensitive": sensitive,
        "users": users,
        "attribute": attribute or None,
        "item_titles": item_titles,
        "auxiliary_titles": auxiliary_titles,
        "item_matches": item_matches,
        "match_certainty": match_certainty,
    }
    if matches_output is not None and not (item_titles or auxiliary_titles):
        raise typer.BadParameter("--matches-output FILE needs --item-titles or --auxiliary-titles")
    result = _by_spark(source, master, given) if engine == "spark" else audit(source, **given)
    if matches_output is not None and result.item_matches is not None:
        result.item_matches.write(matches_output)
    _hand_out(result, html=html, risk=risk, json=json, explain=explain)


def _by_spark(source: str, master: str | None, given: Mapping[str, Any]) -> "Audit":
    """Audit by Spark; the library rejects what Spark does not offer."""
    from recveil.spark import audit

    return audit(source, master=master, **given)


def _hand_out(
    result: "Audit", *, html: Path | None, risk: Path | None, json: Path | None, explain: bool
) -> None:
    """Write the page, the risk of each user and the JSON object, and print all as text."""
    from recveil.cli.outputs import write_json, write_risk_file
    from recveil.report.audit.terminal import (
        show_adversaries,
        show_audit,
        show_statements,
        terms_of,
    )
    from recveil.report.glossary import explain as explain_terms
    from recveil.report.terminal import show_reading

    if html is not None and is_stdout(html):
        print(result.to_html())
    elif html is not None:
        result.to_html(html)
    if risk is not None and result.risk is not None:
        write_risk_file(result.ratings.users, result.risk, risk)
    if write_json(result.to_dict(), json) and not (is_stdout(html) or is_stdout(risk)):
        show_reading(result.reading, examples=result.published is None)
        show_audit(result)
        if result.published is None:
            echo("For lists or a model made from the table: recveil audit-lists.")
        if explain:
            if result.published is not None:
                show_statements(result.published, result.ratings)
            show_adversaries(result)
            explain_terms(terms_of(result), is_unary=result.ratings.is_unary)
        else:
            echo("--explain explains terms, adversaries and figures.")
        for name, path in (("the page", html), (_RISK, risk)):
            if path is not None:
                echo(f"Wrote {name} to {path}.")


def _read_targets(text: str) -> int | None:
    """Read the number of targets; None for all users."""
    number = read_number(text, "--targets", "all")
    if isinstance(number, float):
        raise number_error(text, "--targets", "all")  # a part of a user
    return number
