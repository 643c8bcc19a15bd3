"""What an audit found, printed for people."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from recveil.cli.explanations import explain, words_of_release
from recveil.cli.show import fitting, narrow, share
from recveil.release.claim import claim_kind
from recveil.runtime.errors import describe_count

# Their share of all who were asked for is 0, which would look like safety.
NOBODY = "nobody"


def show_found(console: Console, release: dict[str, Any], head: str = "adversary") -> None:
    """Print whom each adversary finds; nothing if no record is anybody's."""
    if not release["attacks"]:
        return
    console.print(fitting(console, lambda between: _adversary_rows(release, head, between)))
    attacks = release["attacks"]
    blind = f"a blind guess finds {attacks[0]['baseline']:.2%} of the people"
    if any(attack["group_baseline"] for attack in attacks):
        largest = max(attack["group_baseline"] for attack in attacks)
        blind += f", and to name the largest group is right for {largest:.2%}"
    console.print(f"Shares of those asked for, with 95 % intervals; {blind}.")


def _adversary_rows(release: dict[str, Any], head: str, between: str) -> Table:
    names = release["columns"]
    asked = release["attacks"][0]["targets_requested"]
    rates = (names["group_found"], names["person_found"], names["bound"])
    table = narrow(head, f"looked for\nof {asked:,}", *rates)
    # Nothing is proven of people whose records share their items alone.
    is_proven = claim_kind(release["claim"]).is_bound
    for attack in release["attacks"]:
        if not attack["targets_attacked"]:
            table.add_row(escape(attack["name"]), NOBODY)
            continue
        bound = attack["bound"] if is_proven else 1.0
        table.add_row(
            escape(attack["name"]),
            f"{attack['targets_attacked']:,}",
            share(attack["group_found"], between),
            share(_capped(attack["person_found"], bound), between),
            f"{attack['bound']:.1%}",
        )
    return table


def show_statement(console: Console, release: dict[str, Any]) -> None:
    """Print what else a release tells: figures in a table, and below it what they leave unsaid."""
    if release["rows"]:
        table = narrow("what else the release tells", "found", "beside it")
        for row in release["rows"]:
            table.add_row(*(escape(row[cell]) for cell in ("what", "found", "beside")))
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


def show_audit(plain: dict[str, Any], *, is_explained: bool = False) -> None:
    """Print the verdicts, the tables, the warnings, and, if asked, what the words mean.

    Of an audit of a release, the page and the JSON object have the figures of the raw table; its
    verdict is what the release is compared with.
    """
    console = Console()
    release = plain["release"]
    if release is not None:
        # What is to be signed comes first; the raw table is what it is compared with.
        _show_release(console, release)
        console.print("\n[bold]Before: the table with names removed[/]")
    console.print(f"[bold]{escape(plain['verdict'][0])}[/]")
    if release is None:
        _show_attacks(console, plain["attacks"])
    elif not release["attacks"]:  # else it stands beside these
        console.print(f"A blind guess finds {plain['attacks'][0]['baseline']:.2%}.")
    _show_measures(console, plain)
    _show_notes(console, plain["attacks"])
    for suspects in plain["suspects"]:
        _show_suspects(console, suspects)
    _show_checks(console, plain["checks"])
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
    console.print(fitting(console, lambda between: _of_adversaries(attacks, between)))
    trials = attacks[0]
    console.print(
        f"Shares of {describe_count(trials['targets_requested'], 'requested target')}, with 95 % "
        f"intervals; a blind guess finds {trials['baseline']:.2%}. Attacks: "
        f"{', '.join(trials['by_attack'])}."
    )


def _of_adversaries(attacks: list[dict[str, Any]], between: str) -> Table:
    table = narrow("adversary", "found", "stands out", "wrong match", "bits", "control")
    for attack in attacks:
        if not attack["targets_attacked"]:
            table.add_row(escape(attack["name"]), NOBODY)
            continue
        bits = attack["likelihood_bits"]
        table.add_row(
            escape(attack["name"]),
            share(attack["found"], between),
            share(attack["success"], between),
            share(attack["wrong_match"], between),
            "" if bits is None else f"{bits:.1f}",
            share(attack["control"], between),
        )
    return table


def _show_checks(console: Console, checks: list[dict[str, Any]]) -> None:
    """Print whether the attack itself works, and each check that fails."""
    held = sum(check["holds"] for check in checks)
    if held:
        console.print(
            f"[green]holds[/]  {held} of {len(checks)} checks of the attack itself; "
            f"recveil selftest shows them."
        )
    for check in checks:
        if not check["holds"]:
            console.print(f"[red]FAILS[/]  {escape(check['name'])}: {escape(check['found'])}")


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
            yield from ("both rows found", "person by one", "person by both", "control")
        yield from ("found", "blind guess")
    else:
        yield from ("found", "stands out", "wrong match", "bits", "control", "blind guess")
    if plain["suspects"]:
        yield "eccentricity"


def _show_measures(console: Console, plain: dict[str, Any]) -> None:
    """Print the papers' own measures where they find more than the attacks; the page has all."""
    found = {each["name"]: each["found"]["rate"] or 0.0 for each in plain["attacks"]}
    most = max(found.values())
    measured = [
        (f"{each['attack']} with {describe_count(each['known'], 'item')}", each["alone"], most)
        for each in plain["graph_attacks"]
    ]
    measured += [
        (
            f"“{each['adversary']}”, a record half like theirs",
            each["omega"],
            found[each["adversary"]],
        )
        for each in plain["deanonymized"]
        if each["theta"] == 0.5
    ]
    more = [
        f"{escape(what)} {share(told, ' ')}"
        for what, told, by_attacks in measured
        if told["rate"] is not None and told["rate"] > by_attacks
    ]
    if more:
        console.print(f"More are found by the papers' own measures: {'; '.join(more)}.")


def _show_suspects(console: Console, suspects: dict[str, Any]) -> None:
    """Print who somebody with real outside knowledge would think it is."""
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
    """Print what was found in the release, the verdict first."""
    console.print(f"[bold]{escape(release['headline'])}[/]")
    show_found(console, release, "against the release")
    if release["against"] is not None:
        _show_against(console, release["against"])
    show_statement(console, release)


def _show_against(console: Console, against: dict[str, Any]) -> None:
    """Print who finds somebody in both releases."""
    console.print(fitting(console, lambda between: _of_both(against, between)))


def _of_both(against: dict[str, Any], between: str) -> Table:
    names = ("both rows found", "person by one", "person by both", "control")
    table = narrow(f"together with {escape(against['name'])}", *names)
    rates = ("both", "person_in_one", "person_in_both", "stranger")
    for found in against["finding"]:
        table.add_row(escape(found["name"]), *(share(found[rate], between) for rate in rates))
    return table
