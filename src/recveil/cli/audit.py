"""recveil audit."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from recveil.cli import options
from recveil.cli.options import Duplicates, Format, Json, Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recveil.attack import Adversary
    from recveil.audit import Risk

_ADVERSARY = "Adversary (all presets, if nothing here is given)"


def audit(
    source: Annotated[Path, typer.Argument(help=options.SOURCE)],
    release: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Attack this release of the same people, too."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a page with verdict and curves; - prints it."),
    ] = None,
    aux: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Real outside knowledge: target, item, rating[, date]."),
    ] = None,
    risk: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write everybody's risk to FILE (private, never inside a release; - prints it); "
            "with --release and no FILE, it goes to DIR.private/risk.csv.",
        ),
    ] = None,
    targets: Annotated[
        str, typer.Option(metavar="N|all", help="How many people each adversary looks for.")
    ] = "1000",
    draws: Annotated[
        int, typer.Option(min=1, help="How often knowledge is drawn for each of them.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same audit.")] = 0,
    curves: Annotated[
        bool, typer.Option(help="Compute the curves and everybody's risk, too.")
    ] = True,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=_ADVERSARY,
            help="colleague, public-profile, paper, film-buff, bystander, insider; repeatable.",
        ),
    ] = None,
    known: Annotated[
        int | None,
        typer.Option(rich_help_panel=_ADVERSARY, help="Ratings that they think they know."),
    ] = None,
    right: Annotated[
        int | None, typer.Option(rich_help_panel=_ADVERSARY, help="How many of them are right.")
    ] = None,
    wrong_kind: Annotated[
        Literal["value", "item"] | None,
        typer.Option(
            metavar="KIND",
            rich_help_panel=_ADVERSARY,
            help="Wrong entries: value (of a rated item) or item (that was not rated).",
        ),
    ] = None,
    rating_error: Annotated[
        str | None,
        typer.Option(
            metavar="POINTS|any",
            rich_help_panel=_ADVERSARY,
            help="Ratings are off by up to so much; any: they know none.",
        ),
    ] = None,
    date_error: Annotated[
        str | None,
        typer.Option(
            metavar="DAYS|none",
            rich_help_panel=_ADVERSARY,
            help="Dates are off by up to so much; none: they know none.",
        ),
    ] = None,
    outside_top: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=_ADVERSARY, help="They know only items outside the so many most rated."
        ),
    ] = None,
    activity_error: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=_ADVERSARY,
            help="They know the target's number of ratings up to this share (0.5: 50 %).",
        ),
    ] = None,
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
    """Find people again, as if this table had been published with the names removed.

    Example: `recveil audit ratings.csv --html audit.html`
    """
    from recveil.audit import audit
    from recveil.cli.show import show_read, write_json

    options.refuse_two_standard_outputs(html=html, risk=risk, json=json)
    for option, path in (("--html", html), ("--risk", risk), ("--json", json)):
        _check_output(option, path, [source, aux], release)
    if risk is not None and not curves:
        raise typer.BadParameter("--risk FILE needs the curves; leave out --no-curves or --risk")
    changes = {
        "known": known,
        "right": right,
        "wrong_kind": wrong_kind,
        "rating_error": _number(rating_error, "--rating-error", "any"),
        "date_error": _number(date_error, "--date-error", "none"),
        "outside_top": outside_top,
        "activity_error": activity_error,
    }
    result = audit(
        source,
        release=release,
        adversaries=_choose(preset or [], changes),
        targets=None if targets == "all" else int(_number(targets, "--targets", "all") or 0),
        draws=draws,
        seed=seed,
        curves=curves,
        aux=aux,
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
    plain = result.to_dict()
    if html is not None:
        from recveil.report import audit_page, write_audit_page

        if options.is_stdout(html):
            print(audit_page(plain))
        else:
            write_audit_page(plain, html)
    if risk is None and release is not None and result.risk is not None:
        risk = _private_twin(release) / "risk.csv"
    if risk is not None and result.risk is not None:
        _write_risk(result.ratings.users, result.risk, risk)
    if write_json(plain, json) and not (options.is_stdout(html) or options.is_stdout(risk)):
        show_read(result.reading)
        _show(plain)
        for name, path in (("the page", html), ("everybody's risk, which is private,", risk)):
            if path is not None:
                typer.echo(f"Wrote {name} to {path}.")


def _check_output(
    option: str, path: Path | None, inputs: list[Path | None], release: Path | None
) -> None:
    """Refuse to write over an input, or anything private into the folder to be published."""
    if path is None or options.is_stdout(path):
        return
    if not path.parent.is_dir() or (path.exists() and not path.is_file()):
        raise typer.BadParameter(f"{option} {path} cannot be written; expected a file in a folder")
    if any(given and given.exists() and path.exists() and path.samefile(given) for given in inputs):
        raise typer.BadParameter(f"{option} {path} is an input itself; name another file")
    if (path.parent / "release.json").exists() or (
        release and release.resolve() in path.resolve().parents
    ):
        raise typer.BadParameter(f"{option} {path} would stand in a release; name another place")


def _private_twin(release: Path) -> Path:
    """Return the folder beside a release, which may have been named by ".", ".." or a link."""
    published = release.resolve()
    return published.with_name(f"{published.name}.private")


class _Unknown:
    """Stands for "they know none", which None cannot: that means the option was not given."""


def _number(text: str | None, option: str, none: str) -> Any:
    if text is None:
        return None
    if text == none:
        return _Unknown
    try:
        number = int(text) if text.lstrip("-").isdigit() else float(text)
        if number - number != 0 or (option == "--targets" and not isinstance(number, int)):
            raise ValueError(text)  # nan, infinity, or a part of a person
        return number
    except ValueError:
        raise typer.BadParameter(f"{option} {text!r}: expected a number or {none}") from None


def _choose(presets: list[str], changes: dict[str, Any]) -> "list[Adversary] | None":
    """Take presets, and change in them what was given; one adversary of one's own without any."""
    from recveil.attack import PRESETS, Adversary

    for name in presets:
        if name not in PRESETS:
            raise typer.BadParameter(f"--preset {name!r}: expected one of {', '.join(PRESETS)}")
    given: dict[str, Any] = {
        name: None if value is _Unknown else value
        for name, value in changes.items()
        if value is not None
    }
    if not presets and not given:
        return None
    if not presets:
        return [Adversary(name="given", description="As given on the command line.", **given)]
    from dataclasses import replace

    # A preset's number of right entries belongs to its number of known ones.
    if "known" in given and "right" not in given:
        given["right"] = given["known"]
    return [replace(PRESETS[name], **given) for name in presets]


def _write_risk(users: "NDArray[Any]", risk: "Risk", path: Path) -> None:
    """Write who is found how often, readable by the owner alone."""
    if options.is_stdout(path):
        _write_rows(sys.stdout, users, risk)
        return
    path.unlink(missing_ok=True)  # an older file may be readable by others
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        _write_rows(file, users, risk)


def _write_rows(file: TextIO, users: "NDArray[Any]", risk: "Risk") -> None:
    import csv

    writer = csv.writer(file)
    writer.writerow(["user_id", "found", "adversary"])
    found = ["" if share != share else share for share in risk.found.tolist()]
    writer.writerows(zip(users, found, risk.adversary, strict=True))


def _show(plain: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    if plain["release"] is not None:
        # What is to be signed comes first; the raw table is what it is compared with.
        _show_release(console, plain["release"])
        console.print("\n[bold]Before: the table with names removed[/]")
    console.print(f"[bold]{escape(plain['verdict'][0])}[/]")
    table = Table("adversary", "found", "stands out", "wrong match", "bits", "control")
    for attack in plain["attacks"]:
        bits = attack["likelihood_bits"]
        table.add_row(
            escape(attack["name"]),
            _share(attack["found"]),
            _share(attack["success"]),
            _share(attack["wrong_match"]),
            "" if bits is None else f"{bits:.1f}",
            _share(attack["control"]),
        )
    console.print(table)
    trials = plain["attacks"][0]
    console.print(
        f"Shares of {trials['targets_requested']:,} people asked for, with 95 % intervals; a blind "
        f"guess finds {trials['baseline']:.2%}. Found: by the better of two attacks, Scoreboard-RH "
        f"and the likeliest record; stands out: by Scoreboard-RH, so far ahead that the adversary "
        f"may believe it. Control: of those with enough ratings, how often somebody else stands "
        f"out where the record was taken out; so often, standing out is no proof."
    )
    for attack in plain["attacks"]:
        console.print(f"[bold]{escape(attack['name'])}[/]: {escape(attack['description'])}")
    for suspects in plain["suspects"]:
        ranking = ", ".join(
            f"{user} ({score:.2f})"
            for user, score in zip(suspects["users"], suspects["scores"], strict=True)
        )
        console.print(
            f"{escape(suspects['target'])}: {escape(ranking)}; eccentricity "
            f"{suspects['eccentricity']:.1f}, {suspects['bits']:.1f} bits; "
            f"{suspects['matched']} of {suspects['known']} items are in the table."
        )
    for check in plain["checks"]:
        mark = "[green]holds[/]" if check["holds"] else "[red]FAILS[/]"
        console.print(f"{mark}  {escape(check['name'])}: {escape(check['found'])}")
    for warning in plain["warnings"]:
        if warning in plain["data"]["notes"]:
            continue  # told above, with what was read
        console.print(f"[red]warning[/]  {escape(warning)}")


def _show_release(console: Any, release: dict[str, Any]) -> None:
    """Print what was found in the release, the verdict first."""
    from rich.markup import escape
    from rich.table import Table

    console.print(f"[bold]{escape(release['headline'])}[/]")
    names = release["columns"]
    rates = (names["group_found"], names["person_found"], names["bound"])
    table = Table("against the release", "looked for", *rates)
    # Nothing is proven of people whose records share their items alone.
    is_proven = release["claim"] == "identical-rows"
    for attack in release["attacks"]:
        bound = attack["bound"] if is_proven else 1.0
        table.add_row(
            escape(attack["name"]),
            f"{attack['targets_attacked']:,} of {attack['targets_requested']:,}",
            _share(attack["group_found"]),
            _share(_capped(attack["person_found"], bound)),
            f"{attack['bound']:.1%}",
        )
    console.print(table)
    for sentence in release["verdict"]:
        console.print(escape(sentence))


def _capped(interval: dict[str, Any], bound: float) -> dict[str, Any]:
    """End an interval at the bound, which is proven.

    Examples
    --------
    >>> _capped({"rate": 0.09, "low": 0.07, "high": 0.11}, bound=0.1)
    {'rate': 0.09, 'low': 0.07, 'high': 0.1}
    """
    if interval["rate"] is None:
        return interval
    return {**interval, "high": max(interval["rate"], min(interval["high"], bound))}


def _share(interval: dict[str, Any]) -> str:
    """Put the interval under the rate, so that the table fits a narrow terminal."""
    if interval["rate"] is None:
        return ""  # of nobody
    low, high = 100 * interval["low"], 100 * interval["high"]
    return f"{interval['rate']:.1%}\n[dim]{low:.1f}–{high:.1f}[/]"
