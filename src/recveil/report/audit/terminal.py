"""Audits as tables and sentences on the terminal."""

from collections.abc import Callable, Iterator
from textwrap import fill
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from recveil.release.claim import claim_kind
from recveil.report.terminal import table_of
from recveil.runtime.errors import describe_count

# The rate among all targets would be 0, which would look like safety.
NO_USER = "none attacked"
# Longer heads of figures are broken: a column is as wide as its figures.
_HEAD_WIDTH = 17
_ANY_WIDTH = 10_000
_COLUMNS = ("re-identified", "eccentricity ≥ 1.5", "wrong match", "bits", "control")
_OF_BOTH = ("both classes", "user by one", "user by both")
# Figures next to re-identification, whose rows may end with a number of users.
_FIGURES = (
    *("class by all", "cluster by all"),
    *("unknown ratings in the row", "ratings published exactly"),
    *("values that are exact ratings", "mode", "ratings inferred by others"),
    *("correct by the values", "different ratings of a value", "values of one rating"),
    *("possible", "inferred rated cells", "inferred lone ratings", "popularity", "membership"),
    *("TPR at 5 % FPR", "attributes", "points by membership", "nonmembers"),
    "control",
)


def _fitting(console: Console, make: Callable[[str], Table]) -> Table:
    """Return a table that fits the terminal if possible."""
    tables = (make(" "), _with_short_heads(make(" ")))
    anywhere = console.options.update(width=_ANY_WIDTH)
    for table in tables:
        if Measurement.get(console, anywhere, table).maximum <= console.width:
            return table
    return _with_short_heads(make("\n"))


def _with_short_heads(table: Table) -> Table:
    """Break long heads of figures."""
    for column in table.columns[1:]:
        lines = str(column.header).split("\n")
        column.header = "\n".join(fill(line, _HEAD_WIDTH) for line in lines)
    return table


def _share(interval: dict[str, Any], between: str) -> str:
    """Format a rate with its interval; empty if no user was attacked.

    Examples
    --------
    >>> _share({"rate": 0.09, "low": 0.074, "high": 0.109}, " ")
    '9.0% [dim]7.4–10.9[/]'
    """
    if interval["rate"] is None:
        return ""
    low, high = 100 * interval["low"], 100 * interval["high"]
    return f"{interval['rate']:.1%}{between}[dim]{low:.1f}–{high:.1f}[/]"


def show_rates(console: Console, release: dict[str, Any], head: str = "adversary") -> None:
    """Print the rates of each adversary on a release; nothing for synthetic users."""
    if not release["attacks"]:
        return
    console.print(_fitting(console, lambda between: _adversary_rows(release, head, between)))
    attacks = release["attacks"]
    baselines = f"a random guess gives {attacks[0]['baseline']:.2%}"
    if largest := max(attack["class_baseline"] for attack in attacks):
        baselines += f", and always naming the largest class {largest:.2%}"
    console.print(f"Shares of the targets, with 95 % intervals; {baselines}.")


def _adversary_rows(release: dict[str, Any], head: str, between: str) -> Table:
    names = release["columns"]
    requested = release["attacks"][0]["targets_requested"]
    rates = (names["class_reidentified"], names["reidentified"], names["bound"])
    table = table_of(head, f"attacked\nof {requested:,}", *rates)
    # Nothing is proven about users whose records share their items alone.
    is_proven = claim_kind(release["claim"]).is_bound
    for attack in release["attacks"]:
        if not attack["targets_attacked"]:
            table.add_row(escape(attack["name"]), NO_USER)
            continue
        bound = attack["bound"] if is_proven else 1.0
        table.add_row(
            escape(attack["name"]),
            f"{attack['targets_attacked']:,}",
            _share(attack["class_reidentified"], between),
            _share(_capped(attack["reidentified"], bound), between),
            f"{attack['bound']:.1%}",
        )
    return table


def show_disclosure(console: Console, release: dict[str, Any]) -> None:
    """Print the other figures of a release in a table, and below it what they leave out."""
    if release["rows"]:
        table = table_of("other disclosure", "measured", "to compare")
        for row in release["rows"]:
            table.add_row(*(escape(row[cell]) for cell in ("figure", "value", "baseline")))
        console.print(table)
    for remark in release["remarks"]:
        mark = "[red]warning[/]  " if remark in release["warnings"] else ""
        console.print(f"{mark}{escape(remark)}")


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


def show_audit(plain: dict[str, Any]) -> None:
    """Print the verdicts, the tables and the warnings of an audit.

    For an audit of a release, the page and the JSON object have the figures of the raw table.
    """
    console = Console()
    release = plain["release"]
    if release is not None:
        _show_release(console, release)
        console.print("\n[bold]Before: the table with names removed[/]")
    console.print(f"[bold]{escape(plain['verdict'][0])}[/]")
    if release is None:
        _show_attacks(console, plain["attacks"])
    elif not release["attacks"]:
        console.print(f"A random guess gives {plain['attacks'][0]['baseline']:.2%}.")
    _show_measures(console, plain)
    _show_notes(console, plain["attacks"])
    for suspects in plain["suspects"]:
        _show_suspects(console, suspects)
    _show_checks(console, plain["checks"])
    for warning in plain["warnings"]:
        if warning not in plain["data"]["notes"]:  # those were printed with the input
            console.print(f"[red]warning[/]  {escape(warning)}")


def _show_attacks(console: Console, attacks: list[dict[str, Any]]) -> None:
    """Print the rates of each adversary on the table without names."""
    console.print(_fitting(console, lambda between: _of_adversaries(attacks, between)))
    trials = attacks[0]
    console.print(
        f"Shares of {describe_count(trials['targets_requested'], 'requested target')}, with 95 % "
        f"intervals; a random guess gives {trials['baseline']:.2%}. Attacks: "
        f"{', '.join(trials['by_attack'])}."
    )


def _of_adversaries(attacks: list[dict[str, Any]], between: str) -> Table:
    table = table_of("adversary", *_COLUMNS)
    for attack in attacks:
        if not attack["targets_attacked"]:
            table.add_row(escape(attack["name"]), NO_USER)
            continue
        bits = attack["likelihood_bits"]
        table.add_row(
            escape(attack["name"]),
            _share(attack["reidentified"], between),
            _share(attack["success"], between),
            _share(attack["wrong_match"], between),
            "" if bits is None else f"{bits:.1f}",
            _share(attack["control"], between),
        )
    return table


def _show_checks(console: Console, checks: list[dict[str, Any]]) -> None:
    """Print whether the attack itself works, and each check that fails."""
    n_holding = sum(check["holds"] for check in checks)
    if n_holding:
        console.print(
            f"[green]holds[/]  {n_holding} of {len(checks)} checks of the attack itself; "
            f"recveil selftest shows them."
        )
    for check in checks:
        if not check["holds"]:
            console.print(f"[red]FAILS[/]  {escape(check['name'])}: {escape(check['measured'])}")


def _show_notes(console: Console, attacks: list[dict[str, Any]]) -> None:
    """Print how this table changed adversaries, who then re-identify fewer users."""
    noted: dict[str, list[str]] = {}
    for attack in attacks:
        for note in attack["notes"]:
            noted.setdefault(note, []).append(attack["name"])
    for note, names in noted.items():
        console.print(f"[bold]{escape(', '.join(names))}[/]: {escape(note)}")


def show_adversaries(attacks: list[dict[str, Any]]) -> None:
    """Print what each adversary knows."""
    console = Console()
    console.print("\n[bold]What the adversaries know[/]")
    for attack in attacks:
        console.print(f"[bold]{escape(attack['name'])}[/]: {escape(attack['description'])}")


def terms_of(plain: dict[str, Any]) -> Iterator[str]:
    """Yield the terms of the glossary that `show_audit` prints."""
    release = plain["release"]
    if release is not None:
        yield from terms_of_release(release)
        if release["linkage"] is not None:
            yield from (*_OF_BOTH, "control")
        yield from ("re-identified", "random guess")
    else:
        yield from (*_COLUMNS, "random guess")
    if plain["suspects"]:
        yield "eccentricity"


def _show_measures(console: Console, plain: dict[str, Any]) -> None:
    """Print the metrics of the papers that exceed the attacks; the page has all."""
    rates = {each["name"]: each["reidentified"]["rate"] or 0.0 for each in plain["attacks"]}
    most = max(rates.values())
    measured = [
        (f"{each['attack']} with {describe_count(each['known'], 'item')}", each["unique"], most)
        for each in plain["graph_attacks"]
    ]
    measured += [
        (
            f"“{each['adversary']}”, a record of similarity 0.5",
            each["omega"],
            rates[each["adversary"]],
        )
        for each in plain["deanonymized"]
        if each["theta"] == 0.5
    ]
    more = [
        f"{escape(name)} {_share(interval, ' ')}"
        for name, interval, by_attacks in measured
        if interval["rate"] is not None and interval["rate"] > by_attacks
    ]
    if more:
        console.print(f"Higher rates by the metrics of the papers: {'; '.join(more)}.")


def _show_suspects(console: Console, suspects: dict[str, Any]) -> None:
    """Print the best candidates for a target of an auxiliary file."""
    ranking = ", ".join(
        f"{user} ({score:.2f})"
        for user, score in zip(suspects["users"], suspects["scores"], strict=True)
    )
    console.print(
        f"{escape(suspects['target'])}: {escape(ranking)}; eccentricity "
        f"{suspects['eccentricity']:.1f}, {suspects['bits']:.1f} bits; "
        f"{suspects['matched']} of {describe_count(suspects['known'], 'item')} are in the table."
    )


def _show_release(console: Console, release: dict[str, Any]) -> None:
    """Print the results on the release, the headline first."""
    console.print(f"[bold]{escape(release['headline'])}[/]")
    show_rates(console, release, "against the release")
    linkage = release["linkage"]
    if linkage is not None:
        console.print(_fitting(console, lambda between: _linkage_table(linkage, between)))
    show_disclosure(console, release)


def _linkage_table(linkage: dict[str, Any], between: str) -> Table:
    table = table_of(f"together with {escape(linkage['name'])}", *_OF_BOTH, "control")
    rates = ("both", "reidentified_by_one", "reidentified_by_both", "control")
    for attack in linkage["attacks"]:
        table.add_row(escape(attack["name"]), *(_share(attack[rate], between) for rate in rates))
    return table


def terms_of_release(release: dict[str, Any]) -> Iterator[str]:
    """Yield the terms of a release's figures, as an audit and an evaluation print them.

    Examples
    --------
    >>> release = {"attacks": [], "headline": "AUC 0.97 (0.96 to 0.99)", "remarks": []}
    >>> list(terms_of_release({**release, "rows": [{"figure": "attributes, 90 + 90"}]}))
    ['AUC', 'attributes']
    """
    if release["attacks"]:
        yield from ("attacked", *release["columns"].values())
    cells = [cell for row in release["rows"] for cell in row.values()]
    if any("AUC" in text for text in (release["headline"], *release["remarks"], *cells)):
        yield "AUC"
    yield from (term for term in _FIGURES if any(term in cell for cell in cells))
