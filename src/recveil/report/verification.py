"""Verdicts as documents, sentences and tables."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.console import Console

from recveil.release.claim import claim_kind, of_large_delta, of_large_epsilon
from recveil.release.user_table import SUPPRESSED
from recveil.report.document import parts_of
from recveil.report.terminal import echo, escape, table_of
from recveil.runtime.errors import describe_count
from recveil.runtime.number_format import percent
from recveil.verification.not_covered import formulas_of
from recveil.verification.results import Limit, Verification

_REPORTED_LINKS = ("mean", "highest", "uncovered_share")
_MOST_KEYS = 5
_IRREGULARITIES = {
    "mixed-cr-lf": "some lines end in CR LF, others do not",
    "mixed-cr": "some lines end in CR, others do not",
    "empty-lines": "some lines are empty",
    "needless-quotes": "some fields of a column are quoted without need, others are not",
    "stray-quotes": "quotes occur within fields",
}


@parts_of.register
def _(result: Verification) -> dict[str, object]:
    is_counted = result.contains_users
    more = {
        "k_claimed": result.k_claimed,
        "value_limits": result.value_limits,
        "continued_classes": result.n_continued,
        "attributes": result.attributes,
    }
    return {
        "holds": result.holds,
        "claim": result.claim,
        "k_required": result.k_required if is_counted else None,
        "k_achieved": result.k_achieved if is_counted else None,
        "users": result.users,
        "records": result.records,
        "classes": result.classes if is_counted else None,
        "layout": result.layout,
        "singletons": result.singletons if is_counted else None,
        "epsilon": result.epsilon,
        "delta": result.delta,
        "ledger_epsilon": result.ledger_epsilon,
        "levels": result.has_levels,
        "diversity": result.diversity and result.diversity._asdict(),
        **{name: value for name, value in more.items() if value is not None},
        "links": result.links and {name: getattr(result.links, name) for name in _REPORTED_LINKS},
        "no_links": result.no_links and describe_limit(result.no_links),
        "compared": list(result.compared),
        "not_covered": [describe_limit(limit) for limit in result.not_covered],
        "checksums": result.checksums,
        "private_found": None if result.private_found is None else list(result.private_found),
        "violations": [violation._asdict() for violation in result.violations],
    }


def facts(result: Verification) -> dict[str, object]:
    """Return the facts that represent a verdict in a line."""
    verdict = f"{result.claim} {_describe_verdict(result)}"
    n_violations = len(result.violations) or None
    if not result.contains_users:
        return {
            "": verdict.replace(" consistent", ", consistent"),
            "epsilon": result.epsilon,
            "by its ledger": result.ledger_epsilon,
            "synthetic users": result.users,
            "violations": n_violations,
        }
    return {
        "": verdict,
        "k": f"{result.k_achieved:,} ({result.k_required:,} required)",
        "users": result.users,
        "rows": result.records,
        "classes": result.classes,
        "violations": n_violations,
    }


def describe_limit(limit: Limit) -> str:
    """Describe something that a verdict does not cover.

    >>> describe_limit(Limit("group-sizes"))
    'Only the publisher states the number of users of a row (group_size).'
    """
    text = _LIMITS[limit.code]
    return text.format(*limit.values) if isinstance(text, str) else text(*limit.values)


def describe_formulas(items: Iterable[Any]) -> list[str]:
    """Describe how many item ids a spreadsheet may run as formulas; empty if none.

    >>> describe_formulas(["=1+1", "Heat"])[0].partition(":")[0]
    '1 item id begins like a formula (with =, +, - or @)'
    """
    formulas = formulas_of(items)
    return [] if formulas is None else [_formulas(formulas.items)]


def _formulas(n: int) -> str:
    return (
        f"{describe_count(n, 'item id begins', 'item ids begin')} like a formula (with =, +, - or "
        f"@): a spreadsheet may run them, so import the ratings there as text."
    )


def _user_ids(kind: str, n: int) -> str:
    ids = describe_count(n, "item id looks", "item ids look")
    return f"{ids} like {kind}: perhaps users were published as items."


def _item_table(n_formulas: int) -> str:
    stated = (
        "Only the publisher states that items.csv is public: whether its cells are true, or were "
        "computed from ratings, is not checked."
    )
    return stated + _formula_cells(n_formulas)


def _user_table(n_formulas: int) -> str:
    stated = (
        "Only the publisher states that the attributes in users.csv are those of the users; all "
        "users of a class have the same, so a user's class reveals them. A sensitive value may be "
        "of one user alone."
    )
    return stated + _formula_cells(n_formulas)


def _synthetic_attributes(n_formulas: int) -> str:
    stated = (
        "Only the publisher states that the attributes in users.csv were sampled from noisy sums, "
        "and that the values that release.json lists are public."
    )
    return stated + _formula_cells(n_formulas)


def _formula_cells(n: int) -> str:
    if not n:
        return ""
    cells = describe_count(n, "cell begins", "cells begin")
    return f" {cells} like a formula: import it as text in a spreadsheet."


def _dropped_rows(n: object) -> str:
    rows = "1 row was" if n == 1 else f"{n!r:.40} rows were"
    return (
        f"The publisher states that {rows} left out because of repeated ratings; rows left out for "
        f"other reasons are not in this count."
    )


def _irregular_text(*codes: str) -> str:
    return (
        f"The notation may distinguish users: {'; '.join(_IRREGULARITIES[code] for code in codes)}."
    )


def _file_metadata(*keys: object) -> str:
    shown = ", ".join(f"{key!r:.40}" for key in keys[:_MOST_KEYS])
    more = ", …" if len(keys) > _MOST_KEYS else ""
    here = f" (here: {shown}{more})" if keys else ""
    return (
        f"What the file contains in addition to its values is not checked: metadata{here}, "
        f"statistics, unused entries of dictionaries, bytes between parts, and where parts begin."
    )


def _undecided_ids(n_users: int, n_undecided: int, n_matched: int) -> str:
    matches = (
        f"{describe_count(n_matched, 'does', 'do')}, whole or as words. If that is no chance, hide "
        f"the items or give them other ids."
    )
    return (
        f"Of {describe_count(n_users, 'user id')}, {n_undecided:,} are short, words or numbers, "
        f"and may occur in item ids by chance: {matches if n_matched else 'none does.'}"
    )


def _croissant(file: str, *texts: str) -> str:
    names = f" ({', '.join(texts)})" if texts else ""
    return (
        f"In {file}, the publisher's own texts{names} and measurements: no file of the release can "
        f"contradict them."
    )


# By code: a sentence with places for the values, or a function of them.
_LIMITS: dict[str, str | Callable[..., str]] = {
    "method": "{}",
    # What only the publisher states.
    "real-users": "Only the publisher states that each {} belongs to a different real user.",
    "group-sizes": "Only the publisher states the number of users of a row (group_size).",
    "synthetic-records": "Only the publisher states that no record contains {} of a real user, and "
    "that all were sampled.",
    "making": "Only the publisher states how the release was made (recveil's version, method, "
    "settings, scale), and that its records are in a random order.",
    "changed-files": "That these files are as they were published is not proven: their checksums "
    "can be recomputed after a change. Compare the SHA-256 of release.json with the one that the "
    "publisher states.",
    "foreign-class": "The {} {!r:.60} is not one of recveil's: its name is stated by the "
    "publisher.",
    "dropped-rows": _dropped_rows,
    "kept-classes": "Only the publisher states that users keep their class from one release to the "
    "next.",
    "kept-rows": "Only the publisher states how many rows are kept for users who left.",
    "previous-release": "This release follows another one, with which it was not compared: "
    "against (--against).",
    "hidden-items": "Only the publisher states which item has which pseudonym, and that their "
    "order is random.",
    # What the claim leaves open.
    "large-delta": of_large_delta,
    "large-epsilon": of_large_epsilon,
    "old-card": "The card has the text of its version: later attacks succeed more often than it "
    "states, and it does not name everything that is not promised.",
    "old-synthetic-card": "The card has the text of its version: what it states of odds, of two "
    "users and of omitted ratings is too low.",
    "old-bound": "The card has the text of its version: it states the bound for one given user as "
    "if it were about two. An adversary names which of two users is in the data with a "
    "probability of at most {:.3f}.",
    # What is not compared.
    "item-ids": "What the ids of items reveal is not checked.",
    "parquet-encoding": "How values are encoded and compressed within the pages of the Parquet "
    "file is not compared, as there are many valid forms; nor is the named version of its writer.",
    "longest-rows": "Whether rows fit the size of clusters was checked of the {:,} longest of "
    "{:,} different rows.",
    "parts": "After which record a part of the ratings ends is not compared.",
    "formulas": _formulas,
    "user-ids": _user_ids,
    "item-table": _item_table,
    "user-table": _user_table,
    "synthetic-attributes": _synthetic_attributes,
    "croissant": _croissant,
    # The same of a plain file or a table.
    "ids-and-names": "What the ids of users and items and the names of columns reveal is not "
    "checked: they may be real names.",
    "repeated-sizes": "Equal rows that each have a group_size may be one group that is listed user "
    "by user. Their number or the largest size was counted, whichever is larger, not the sum.",
    "user-order": "The order of the users is not compared.",
    "line-order": "The order of the lines is not compared: a user's lines may be in a unique "
    "order, or not contiguous.",
    "frame-attributes": "What a data frame contains in addition to its columns is not checked.",
    "gzip-header": "How the file was compressed, and its gzip header, is not checked.",
    "packing": "How the {} file was packed, and what else it contains, is not checked.",
    "irregular-text": _irregular_text,
    "space-runs": "How many spaces separate columns is not compared.",
    "json-text": "How the JSON is written (spaces, line ends, escapes) is not compared.",
    "netflix-text": "How the text is written (line ends, empty lines, spaces, leading zeros) is "
    "not compared.",
    "file-metadata": _file_metadata,
    # What the search for private values leaves open.
    "private-values": "The search for private values has limits. Ids of fewer than {} characters, "
    "numbers of few digits, and words cannot be distinguished from ratings, counts and titles; "
    "they were searched for among pseudonyms, in free text, and as words of item ids, where many "
    "of them must occur. Encoded values are not found, nor is what values reveal about users.",
    "undecided-ids": _undecided_ids,
    "private-order": "The order of records was compared with that of the ids by two tests, which "
    "take one random order in {:,} for a leak. For fewer than {} records they decide nothing. "
    "Other orders were not searched for.",
    "machine": "Names and paths of this machine and its user were searched for, not those of "
    "another machine on which the release may have been made.",
    "pieces": "Ids of users were searched in {:,} separate pieces: patterns across pieces were not "
    "searched.",
    # Why there are no link probabilities.
    "unread": "Links were not measured, since the ratings cannot be read.",
}


def describe_singletons(n_users: int) -> str:
    """Describe how many users share their row with no other user.

    >>> describe_singletons(1), describe_singletons(2)
    ('1 user has a row of their own', '2 users have rows of their own')
    """
    return describe_count(n_users, "user has a row", "users have rows") + " of their own"


_MOST_VIOLATIONS = 10
# A table may have thousands of columns.
_MOST_COLUMNS = 30


def show_verification(result: Verification, name: str) -> None:
    """Print the verdict, its figures and the first violations."""
    console = Console(highlight=False)
    if result.holds:
        console.print(
            f"[bold green]{_describe_verdict(result)}[/]  {escape(name)}: "
            f"{_describe_promise(result)}"
        )
    elif result.contains_users and (
        result.k_achieved < result.k_required and (result.records or not result.violations)
    ):
        console.print(
            f"[bold red]does not hold[/]  {escape(name)}: {result.k_required} users must share "
            f"each {claim_kind(result.claim).shared}, but the smallest class has "
            f"{result.k_achieved}.{_describe_kept(result)}"
        )
    else:
        first = result.violations[0]
        console.print(
            f"[bold red]does not hold[/]  {escape(name)}: {escape(first.where)}: "
            f"{escape(first.problem)}.{_describe_kept(result)}"
        )
    _show_figures(console, result)
    _show_violations(console, result)


def _describe_kept(result: Verification) -> str:
    if result.k_claimed is None:
        return ""
    return f" The release keeps its own claim, k = {result.k_claimed}."


def _describe_verdict(result: Verification) -> str:
    """Return whether a claim holds; that of synthetic users cannot be proven from files."""
    if not result.holds:
        return "does not hold"
    return "holds" if result.contains_users else "consistent with its claim"


def _describe_promise(result: Verification) -> str:
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
        return "synthetic users; nothing is promised about who is in the data."
    return (
        f"synthetic users with epsilon {result.epsilon:g} and delta {result.delta:g}, as computed "
        f"from its ledger ({result.ledger_epsilon:.6g})."
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
    if result.n_continued is not None and result.holds:
        console.print(
            f"It continues the previous release: each of its "
            f"{describe_count(result.n_continued, 'class', 'classes')} is part of one class, with "
            f"as many rows."
        )
    if result.attributes is not None and result.holds:
        console.print(escape(_describe_attributes(result)))
    if result.value_limits is not None and result.holds:
        console.print(
            f"The values of each item in a class (imputed ones included; of means, the ratings "
            f"behind them) have {result.value_limits}, as stated."
        )


def _describe_attributes(result: Verification) -> str:
    found = result.attributes or {}
    n_published = ", ".join(f"{name} of {n:,}" for name, n in found.items())
    limit = f"; no {[*found][-1]} has more than 1/{result.attribute_l} of a class"
    return (
        f"Attributes of {describe_count(result.users, 'user')}: {n_published} (otherwise "
        f"“{SUPPRESSED}”){limit * (result.attribute_l > 1)}."
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
        console.print(f"These are the first {_MOST_VIOLATIONS}; json (--json) lists more.")


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


def describe_verdict(verification: Mapping[str, Any]) -> str:
    """Return in a sentence whether a release keeps its claim."""
    about = claim_kind(verification["claim"])
    if not verification["holds"]:
        if (k := verification.get("k_claimed")) is not None:
            return (
                f"It keeps its claim, k = {k}. It does not fulfill the stricter requirement: "
                f"{_describe_violation(verification)}."
            )
        return f"The claim does not hold: {_describe_violation(verification)}."
    if about.is_differential:
        return (
            f"Epsilon {verification['epsilon']:g} with delta {verification['delta']:g} follows "
            f"from its ledger ({verification['ledger_epsilon']:.6g}). It states that no row is a "
            f"user’s."
        )
    if not about.contains_users:
        return "It states that no row is a user’s, and claims nothing about membership."
    if verification["levels"]:
        return (
            f"Each {about.shared} is shared by at least as many users as it states "
            f"({verification['k_achieved']} or more). "
            f"{describe_singletons(verification['singletons'])}, with no claim about them."
        )
    return (
        f"Each {about.shared} is shared by at least {verification['k_achieved']} users; "
        f"{verification['k_required']} are required."
    )


def _describe_violation(verification: Mapping[str, Any]) -> str:
    if not verification["violations"]:
        achieved, required = verification["k_achieved"], verification["k_required"]
        return f"{achieved} users share a row, and {required} are required"
    first = verification["violations"][0]
    return f"{first['where']}: {first['problem']}".rstrip(".")
