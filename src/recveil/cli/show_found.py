"""What adversaries found in a release, printed for people: of an audit, and of an evaluation."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from recveil.cli.tables import fitting, narrow, share
from recveil.release.claim import claim_kind

# Their share of all who were asked for is 0, which would look like safety.
NOBODY = "nobody"


def show_found(console: Console, release: dict[str, Any], head: str = "adversary") -> None:
    """Print whom each adversary finds; nothing if no record is anybody's.

    Parameters
    ----------
    console : rich.console.Console
    release : dict
        What `recveil.audit.AttackedRelease.to_dict` returns.
    head : str
        Of the column of adversaries.
    """
    if not release["attacks"]:
        return
    console.print(fitting(console, lambda between: _of_adversaries(release, head, between)))
    attacks = release["attacks"]
    blind = f"a blind guess finds {attacks[0]['baseline']:.2%} of the people"
    if any(attack["group_baseline"] for attack in attacks):
        largest = max(attack["group_baseline"] for attack in attacks)
        blind += f", and to name the largest group is right for {largest:.2%}"
    console.print(f"Shares of those asked for, with 95 % intervals; {blind}.")


def _of_adversaries(release: dict[str, Any], head: str, between: str) -> Table:
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


def show_told(console: Console, release: dict[str, Any]) -> None:
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
