"""Verdicts as sentences and tables on the terminal."""

from rich.console import Console
from rich.markup import escape

from recveil.release.claim import claim_kind
from recveil.report.terminal import echo, table_of
from recveil.report.verification.text import describe_limit, describe_singletons
from recveil.runtime.errors import describe_count
from recveil.runtime.number_format import percent
from recveil.verification.results import Verification

_MOST_VIOLATIONS = 10
# A table may have thousands of columns.
_MOST_COLUMNS = 30


def show_verification(result: Verification, name: str) -> None:
    """Print the verdict, its figures and the first violations."""
    console = Console(highlight=False)
    if result.holds:
        console.print(f"[bold green]holds[/]  {escape(name)}: {_describe_promise(result)}")
    elif result.contains_users and (
        result.k_achieved < result.k_required and (result.records or not result.violations)
    ):
        console.print(
            f"[bold red]does not hold[/]  {escape(name)}: {result.k_required} users must share "
            f"each {claim_kind(result.claim).shared}, but the smallest class has "
            f"{result.k_achieved}."
        )
    else:
        first = result.violations[0]
        console.print(
            f"[bold red]does not hold[/]  {escape(name)}: {escape(first.where)}: "
            f"{escape(first.problem)}."
        )
    _show_figures(console, result)
    _show_violations(console, result)


def _describe_promise(result: Verification) -> str:
    """Describe what holds."""
    if result.contains_users:
        shared = f"every {claim_kind(result.claim).shared} is shared by at least"
        if result.has_levels:
            return (
                f"{shared} as many users as it states ({result.k_achieved} or more); "
                f"{describe_singletons(result.singletons)}."
            )
        return (
            f"{shared} {describe_count(result.k_achieved, 'user')} ({result.k_required} required)."
        )
    if result.epsilon is None or result.delta is None:
        return "no row belongs to a user; nothing is promised about who is in the data."
    return (
        f"epsilon {result.epsilon:g} with delta {result.delta:g} follows from its ledger "
        f"({result.ledger_epsilon:.6g}); no row belongs to a user."
    )


def _show_figures(console: Console, result: Verification) -> None:
    left = len(result.compared) - _MOST_COLUMNS
    compared = ", ".join(result.compared[:_MOST_COLUMNS]) + (f" and {left:,} more" * (left > 0))
    if result.contains_users:
        table = table_of(
            "users", "published rows", "equivalence classes", "smallest class", "compared"
        )
        counts = (result.users, result.records, result.classes, result.k_achieved)
        table.add_row(*(f"{n:,}" for n in counts), escape(compared))
    else:
        table = table_of("layout", "synthetic users", "compared")
        table.add_row(result.layout, f"{result.users:,}", escape(compared))
    console.print(table)
    if caution := claim_kind(result.claim).caution:
        console.print(caution)
    if result.diversity is not None and result.diversity.holds:
        console.print(
            f"Diversity: {describe_count(result.diversity.sets, 'set')} of b = "
            f"{result.diversity.b} items occur, each in at least {result.diversity.smallest} "
            f"different rows (l = {result.diversity.l} required)."
        )
    if result.value_limits is not None and result.holds:
        console.print(
            f"The values of each item in a class, imputed ones included, have "
            f"{result.value_limits}, as stated."
        )


def _show_violations(console: Console, result: Verification) -> None:
    if not result.violations:
        return
    table = table_of("where", "user_id", "problem")
    table.title = describe_count(len(result.violations), "violation")
    for violation in result.violations[:_MOST_VIOLATIONS]:
        table.add_row(
            escape(violation.where), escape(violation.user_id or ""), escape(violation.problem)
        )
    console.print(table)
    if len(result.violations) > _MOST_VIOLATIONS:
        console.print(f"These are the first {_MOST_VIOLATIONS}; --json lists more.")


def show_links(result: Verification) -> None:
    """Print how likely it is, by the rows alone, that a member rated an item."""
    if result.no_links is not None:
        echo(describe_limit(result.no_links))
        return
    if result.links is None:
        echo(
            "All rows have the same items, so an item in a row gives no probability that a member "
            "rated it. That hides nothing: values that a smooth fit of all rows does not explain "
            "reveal who rated what (docs/explanation/threats.md, “What padded rows reveal”)."
        )
        return
    links = result.links
    echo(
        f"A member of a class rated an item of its row with probability {links.mean:.2f} on "
        f"average and {links.highest:.2f} at most, if users rate independently of each other. "
        f"{percent(links.uncovered_share)} of the links are about items that more than one in k "
        f"users rated; no bound is proven for those."
    )


def show_not_covered(result: Verification) -> None:
    """Print what the verdict does not cover."""
    sentences = (f"- {escape(describe_limit(limit))}" for limit in result.not_covered)
    Console(highlight=False).print("Not covered by this verdict:", *sentences, sep="\n")


def terms_of(result: Verification) -> list[str]:
    """Return the terms that `show_verification` prints and that the glossary explains."""
    if result.contains_users:
        terms = ["published rows", "equivalence classes", "smallest class", "compared"]
    else:
        terms = ["layout", "synthetic users", "compared"]
        if result.holds and result.epsilon is not None:
            terms += ["epsilon", "delta", "ledger"]
    if result.diversity is not None and result.diversity.holds:
        terms.append("diversity")
    return terms
