"""What an audit found, printed for people."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from recveil.cli.meanings import explain, words_of_release
from recveil.release.claim import claim_kind

# Their share of all who were asked for is 0, which would look like safety.
_NOBODY = "nobody could be looked for"


def show_audit(plain: dict[str, Any], *, is_explained: bool = False) -> None:
    """Print the verdicts, the tables, the warnings, and, if asked, what the words mean."""
    console = Console()
    if plain["release"] is not None:
        # What is to be signed comes first; the raw table is what it is compared with.
        _show_release(console, plain["release"])
        console.print("\n[bold]Before: the table with names removed[/]")
    console.print(f"[bold]{escape(plain['verdict'][0])}[/]")
    _show_attacks(console, plain["attacks"])
    _show_notes(console, plain["attacks"])
    _show_measures(console, plain["graph_attacks"], plain["deanonymized"])
    for suspects in plain["suspects"]:
        _show_suspects(console, suspects)
    for check in plain["checks"]:
        mark = "[green]holds[/]" if check["holds"] else "[red]FAILS[/]"
        console.print(f"{mark}  {escape(check['name'])}: {escape(check['found'])}")
    for warning in plain["warnings"]:
        if warning not in plain["data"]["notes"]:  # those were told with what was read
            console.print(f"[red]warning[/]  {escape(warning)}")
    if is_explained:
        _show_adversaries(console, plain["attacks"])
        explain(_words_of(plain))
    else:
        console.print("--explain says what the words mean, and what each adversary knows.")


def _show_attacks(console: Console, attacks: list[dict[str, Any]]) -> None:
    """Print who found how many people in the table with the names removed."""
    table = Table("adversary", "found", "stands out", "wrong match", "bits", "control")
    for attack in attacks:
        if not attack["targets_attacked"]:
            table.add_row(escape(attack["name"]), _NOBODY)
            continue
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
    trials = attacks[0]
    console.print(
        f"Shares of {trials['targets_requested']:,} people asked for, with 95 % intervals; a blind "
        f"guess finds {trials['baseline']:.2%}. Attacks: {', '.join(trials['by_attack'])}."
    )


def _show_notes(console: Console, attacks: list[dict[str, Any]]) -> None:
    """Print what this table changed of adversaries: who knows less than usual finds fewer."""
    noted: dict[str, list[str]] = {}
    for attack in attacks:
        for note in attack["notes"]:
            noted.setdefault(note, []).append(attack["name"])
    for note, names in noted.items():
        console.print(f"[bold]{escape(', '.join(names))}[/]: {escape(note)}")


def _show_adversaries(console: Console, attacks: list[dict[str, Any]]) -> None:
    """Print what each adversary knows."""
    console.print("\n[bold]What the adversaries know[/]")
    for attack in attacks:
        console.print(f"[bold]{escape(attack['name'])}[/]: {escape(attack['description'])}")


def _words_of(plain: dict[str, Any]) -> Iterator[str]:
    """Yield the words that stand in what was printed."""
    release = plain["release"]
    if release is not None:
        yield from words_of_release(release)
        if release["against"] is not None:
            yield from ("both rows found", "person by one", "person by both")
    yield from ("found", "stands out", "wrong match", "bits", "control", "blind guess")
    if plain["suspects"]:
        yield "eccentricity"


def _show_measures(
    console: Console, graphs: list[dict[str, Any]], deanonymized: list[dict[str, Any]]
) -> None:
    """Print the papers' own measures: exact agreement, and similar records."""
    told = "; ".join(
        f"{attack['attack']} with {attack['known']} items {attack['alone']['rate']:.1%}"
        for attack in graphs
        if attack["alone"]["rate"] is not None
    )
    if told:
        blind = graphs[0]["baseline"]
        console.print(
            f"The only match, by exact agreement (Chang et al.): {told}; a blind guess finds "
            f"{blind:.2%}."
        )
    shares = [entry for entry in deanonymized if entry["theta"] == 0.5]
    told = "; ".join(
        f"{escape(entry['adversary'])} {entry['omega']['rate']:.1%}"
        for entry in shares
        if entry["omega"]["rate"] is not None
    )
    if told:
        console.print(
            f"Named a record at least half like the person's (Narayanan & Shmatikov): {told}."
        )


def _show_suspects(console: Console, suspects: dict[str, Any]) -> None:
    """Print who somebody with real outside knowledge would think it is."""
    ranking = ", ".join(
        f"{user} ({score:.2f})"
        for user, score in zip(suspects["users"], suspects["scores"], strict=True)
    )
    console.print(
        f"{escape(suspects['target'])}: {escape(ranking)}; eccentricity "
        f"{suspects['eccentricity']:.1f}, {suspects['bits']:.1f} bits; "
        f"{suspects['matched']} of {suspects['known']} items are in the table."
    )


def _show_release(console: Console, release: dict[str, Any]) -> None:
    """Print what was found in the release, the verdict first."""
    console.print(f"[bold]{escape(release['headline'])}[/]")
    names = release["columns"]
    rates = (names["group_found"], names["person_found"], names["bound"])
    table = Table("against the release", "looked for", *rates)
    # Nothing is proven of people whose records share their items alone.
    is_proven = claim_kind(release["claim"]).is_bound
    for attack in release["attacks"]:
        if not attack["targets_attacked"]:
            table.add_row(escape(attack["name"]), _NOBODY)
            continue
        bound = attack["bound"] if is_proven else 1.0
        table.add_row(
            escape(attack["name"]),
            f"{attack['targets_attacked']:,} of {attack['targets_requested']:,}",
            _share(attack["group_found"]),
            _share(_capped(attack["person_found"], bound)),
            f"{attack['bound']:.1%}",
        )
    if release["attacks"]:  # else no record is anybody's, and the sentences say so
        console.print(table)
    if release["against"] is not None:
        _show_against(console, release["against"])
    for sentence in release["verdict"]:
        console.print(escape(sentence))


def _show_against(console: Console, against: dict[str, Any]) -> None:
    """Print who finds somebody in both releases."""
    names = ("both rows found", "person by one", "person by both", "control")
    table = Table(f"together with {escape(against['name'])}", *names)
    rates = ("both", "person_in_one", "person_in_both", "stranger")
    for found in against["finding"]:
        table.add_row(escape(found["name"]), *(_share(found[rate]) for rate in rates))
    console.print(table)


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
