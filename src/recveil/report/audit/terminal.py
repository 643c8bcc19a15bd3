"""Audits as tables and sentences on the terminal."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recveil.attacks import Adversary, Interval, Mean
from recveil.attacks.statistics import FEWEST
from recveil.auditing import Audit, Check, Outcome, Suspects
from recveil.auditing.release_attacks import AttackedRelease, Linkage
from recveil.ratings import Ratings
from recveil.ratings.ratings import as_nominal, in_likes
from recveil.report.audit.attributes import attribute_table, describe_attributes
from recveil.report.audit.disclosure import MADE_ALIKE, headline_of_linkage
from recveil.report.audit.risks import lines_of
from recveil.report.audit.text import (
    AdversaryRates,
    among_attacked,
    columns_of,
    describe_alteration,
    describe_check,
    describe_decisions,
    describe_explanation,
    describe_knowledge,
    describe_matches,
    describe_sensitive,
    headline_of,
    match_of,
    name_check,
    rates_of,
    remarks_in_short,
    statements_of,
    uncovered_in,
    verdict_of,
    warnings_of,
    warnings_of_release,
)
from recveil.report.glossary import MEANINGS, SHORT_MEANINGS, meaning_of
from recveil.report.terminal import escape, first_fitting, show_left_out, table_of, without
from recveil.runtime.errors import describe_count
from recveil.runtime.number_format import estimate, percent

# The rate among all targets would be 0, which would look like safety.
NO_USER = "none attacked"
# The page that has the columns which a narrow terminal leaves out.
PAGE = "the page (--html)"
# Longer heads of figures are broken: a column is as wide as its figures.
_HEAD_WIDTH = 17
_OF_OTHERS = "re-identified of the others"
_COLUMNS = ("re-identified", "{match}", "wrong match", "bits", "entropy", "control")
# Columns that a narrow terminal does without, the first one first; the page has them.
_DISPENSABLE = ("bits", "entropy", "{match}", "wrong match")
_OF_ATTACKED = "of the\nattacked"
_OF_BOTH = ("both classes", "user by one", "user by both")
# Figures next to re-identification, whose rows may end with a number of users.
_FIGURES = (
    *("class by all", "cluster by all"),
    *("unknown ratings in the row", "ratings published exactly"),
    *(
        "exact values on the scale",
        "values that are exact ratings",
        "mode",
        "ratings inferred by others",
    ),
    *("correct by the values", "different ratings of a value", "values of one rating"),
    *("possible", "inferred rated cells", "inferred lone ratings", "popularity", "membership"),
    *("TPR at 5% FPR", "attributes", "points by membership", "nonmembers"),
    "control",
)


def _fitting(
    console: Console, make: Callable[[str], Table], dispensable: Sequence[str] = ()
) -> Table:
    """Return a table that fits the terminal, without some columns if it must be."""
    tables = [make(" "), _with_short_heads(make(" "))]
    tables += [_without(make("\n"), dispensable[:number]) for number in range(len(dispensable) + 1)]
    return first_fitting(console, tables)


def _without(table: Table, heads: Sequence[str]) -> Table:
    """Drop columns by their heads, and break the heads of the others."""
    table = without(table, heads)
    first = table.columns[0]
    first.header = str(first.header).replace(" ", "\n")
    return _with_short_heads(table)


def _add_rows(table: Table, rows: Iterable[tuple[str, tuple[str, ...]]], between: str) -> Table:
    """Add rows with their names; adversaries with the same figures share a row."""
    names_of: dict[tuple[str, ...], list[str]] = {}
    for name, cells in rows:
        names_of.setdefault(cells, []).append(escape(name))
    for cells, names in names_of.items():
        table.add_row(f",{between}".join(names), *cells)
    return table


def _with_short_heads(table: Table) -> Table:
    for column in table.columns[1:]:
        lines = str(column.header).split("\n")
        column.header = "\n".join(fill(line, _HEAD_WIDTH) for line in lines)
        column.min_width = max(map(len, column.header.split("\n")))
    return table


def _share(interval: Interval, between: str) -> str:
    """Format a rate with its interval; empty if no user was attacked.

    >>> _share(Interval(0.09, 0.074, 0.109, 900), " ")
    '9% [dim](7.4–10.9)[/]'
    """
    return "" if math.isnan(interval.rate) else _dimmed(estimate(interval), between)


def _mean(found: Mean, between: str) -> str:
    """Format a mean that is not negative with its interval; empty if it is none."""
    if math.isnan(found.mean):
        return ""
    return _dimmed(estimate((found.mean, max(found.low, 0), found.high), 1), between)


def _dimmed(estimate: str, between: str) -> str:
    value, opened, interval = estimate.partition(" (")
    return f"{value}{between}[dim]({interval}[/]" if opened else value


def show_rates(console: Console, release: AttackedRelease, page: str = "") -> None:
    """Print the rates of each adversary on a release; nothing for synthetic users."""
    if not release.attacks:
        return
    rates, names = rates_of(release), columns_of(release)
    bounds = {each.bound for each in rates}
    heads = ["adversary", "attacked", *names.values()]
    if any(0 < each.attacked < each.requested for each in rates):
        heads.insert(-1, _OF_ATTACKED)
    if len(bounds) == 1:
        heads.pop()
    table = _fitting(console, lambda between: _adversary_rows(rates, heads, between), heads[1:3])
    console.print(table)
    shown = show_left_out(console, table, _adversary_rows(rates, heads, " "), page)
    legend = []
    if (class_name := names["class_reidentified"]) in shown:
        guesses = sorted(each.class_baseline for each in rates)
        ends = dict.fromkeys(map(percent, (guesses[0], guesses[-1])))  # of some, fewer users count
        meaning = SHORT_MEANINGS.get(class_name, MEANINGS[class_name])
        legend.append(f"{class_name}: {meaning} (a constant guess: {' to '.join(ends)})")
    for name in (names["reidentified"], names["bound"]):
        if name in shown:
            legend.append(f"{name}: {SHORT_MEANINGS.get(name, MEANINGS[name])}")
    console.print(f"Shares of all targets, with 95% intervals; {'; '.join(legend)}.")


def _adversary_rows(rates: list[AdversaryRates], heads: Sequence[str], between: str) -> Table:
    table = table_of(*heads)

    def cells(each: AdversaryRates) -> tuple[str, ...]:
        if not each.attacked:
            return (f"0 of {each.requested:,}", "", NO_USER)  # in the column that is never left out
        rest = percent(among_attacked(each)) if each.attacked < each.requested else ""
        figures = {_OF_ATTACKED: rest, "bound": percent(each.bound)}
        requested = f" of {each.requested:,}" * (each.attacked < each.requested)
        return (
            f"{each.attacked:,}{requested}",
            _share(each.class_reidentified, between),
            _share(each.reidentified, between),
            *(figures.get(head, figures["bound"]) for head in heads[4:]),
        )

    return _add_rows(table, ((each.name, cells(each)) for each in rates), between)


def show_disclosure(console: Console, release: AttackedRelease) -> None:
    """Print the other figures of a release in a table, and below it what they leave out."""
    statements, warnings = statements_of(release), warnings_of_release(release)
    in_table = set(uncovered_in(release))
    if rows := [row for each in statements for row in each.rows]:
        table = table_of("other disclosure", "measured", "to compare")
        for row in rows:
            table.add_row(*map(escape, row))
        console.print(table)
        if release.membership is not None:
            console.print(f"Membership and its control were measured {MADE_ALIKE}.")
    for remark in remarks_in_short(release, statements):
        if remark in in_table:
            continue
        style = "[red]warning:[/] " if remark in warnings else ""
        console.print(f"{style}{escape(remark)}")


class _NominalConsole(Console):
    """Prints texts about likes as texts about labels."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(as_nominal(text), **options)


def console_of(ratings: Ratings) -> Console:
    """Return a console for an audit, which prints nominal labels as such."""
    return (Console if ratings.scale.ordered else _NominalConsole)(highlight=False)


def show_audit(audit: Audit) -> None:
    """Print the verdicts, the tables and the warnings of an audit."""
    console, release = console_of(audit.ratings), audit.published
    if release is None:  # what a reader needs first
        console.print(escape(verdict_of(audit)[0]))
    for line in lines_of(audit.risks):
        risk, finding = line.split(": ", 1)
        console.print(f"[bold]{escape(risk)}[/]: {escape(finding)}")
    if release is None:
        _show_attacks(console, audit.attacks, is_unary=audit.ratings.is_unary)
    else:
        _show_release(console, release)
        guess = f" A random guess gives {percent(audit.attacks[0].baseline)}."
        is_stated = release.attacks or not any(each.attacked for each in audit.attacks)
        before = escape(verdict_of(audit)[0]) + guess * (not is_stated)
        console.print(f"Before, with names removed: {before}")
    _show_measures(console, audit)
    release_attacks = [] if release is None else release.attacks
    adversaries = [adversary for adversary, _ in release_attacks]
    _show_notes(console, adversaries or [each.adversary for each in audit.attacks])
    for sentence in (*describe_decisions(audit), *describe_sensitive(audit)):
        console.print(escape(sentence))
    _show_attributes(console, audit)
    if matches := describe_matches(audit):
        console.print(matches)
    for suspects in audit.suspects:
        _show_suspects(console, suspects)
    for suspects in audit.suspects_in_release:
        _show_suspects(console, suspects, " in the release")
    _show_checks(console, audit.checks)
    has_table = release is None or bool(release.attacks)
    for warning in warnings_of(audit, has_table=has_table):
        if warning not in audit.reading.notes:  # those were printed with the input
            console.print(f"[red]warning:[/] {escape(warning)}")


def _show_attacks(console: Console, attacks: list[Outcome], *, is_unary: bool) -> None:
    """Print the rates of each adversary on the table without names."""
    few = in_likes("too few\nratings", is_unary)
    # The rate of the targets with enough ratings says more than that of all.
    dispensable = _heads(_DISPENSABLE, attacks)
    if any(each.skipped for each in attacks):
        dispensable += ["re-identified", few]
    table = _fitting(console, lambda between: _of_adversaries(attacks, between, few), dispensable)
    console.print(table)
    shown = show_left_out(console, table, _of_adversaries(attacks, " ", few), PAGE)
    trials, known = attacks[0], attacks[-1].by_attributes
    among = "" if known is None else f", and {percent(known)} among users with equal attributes"
    has_rest = _OF_OTHERS in shown
    enough = f"; of those with enough ratings: {f'{_OF_OTHERS}, ' * has_rest}control"
    basis = in_likes(enough, is_unary) if any(each.skipped for each in attacks) else ""
    console.print(
        f"Shares of {describe_count(trials.requested, 'requested target')}{basis}, with 95% "
        f"intervals; a random guess gives {percent(trials.baseline)}{among}."
    )
    for term in (*_heads(("{match}", "wrong match", "bits", "entropy"), attacks), "control"):
        if term in shown and (meaning := meaning_of(term)):
            console.print(f"{term.capitalize()}: {meaning}.")
    attacked = [outcome for outcome in attacks if outcome.attacked]
    if attacked:
        worst = max(attacked, key=lambda outcome: outcome.reidentified.ranked).adversary
        knows = describe_knowledge(worst, is_unary=is_unary)
        console.print(f"“{escape(worst.name)}” knows of each target: {escape(knows)}.")


def _heads(columns: Sequence[str], attacks: list[Outcome]) -> list[str]:
    return [column.format(match=match_of(attacks)) for column in columns]


def _of_adversaries(attacks: list[Outcome], between: str, few: str) -> Table:
    has_skipped = any(outcome.skipped for outcome in attacks)
    skipped = (few, _OF_OTHERS.replace(" ", "\n", 1)) if has_skipped else ()
    table = table_of("adversary", *skipped, *_heads(_COLUMNS, attacks))

    def cells(outcome: Outcome) -> tuple[str, ...]:
        if not outcome.attacked:  # in the column that is never left out
            return ("", NO_USER) if has_skipped else (NO_USER,)
        bits = outcome.likelihood_bits.mean
        share = percent(outcome.skipped / outcome.requested)
        return (
            *((share, _share(outcome.among_attacked, between)) if has_skipped else ()),
            _share(outcome.reidentified, between),
            _share(outcome.success, between),
            _share(outcome.wrong_match, between),
            "" if math.isnan(bits) else f"{bits:.1f}",
            _mean(outcome.entropy_bits, between),
            _share(outcome.control, between),
        )

    return _add_rows(table, ((each.adversary.name, cells(each)) for each in attacks), between)


def _show_checks(console: Console, checks: list[Check]) -> None:
    n_holding = sum(check.holds for check in checks)
    if n_holding:
        console.print(
            f"[green]holds[/]  {n_holding} of {len(checks)} checks of the attack: recveil selftest."
        )
    for check in checks:
        if not check.holds:
            measured = escape(describe_check(check))
            console.print(f"[red]FAILS[/]  {escape(name_check(check))}: {measured}")


def _show_notes(console: Console, adversaries: list[Adversary]) -> None:
    """Print how this table or release changed adversaries, who then re-identify fewer users."""
    noted: dict[str, list[str]] = {}
    for adversary in adversaries:
        for note in adversary.notes:
            noted.setdefault(note, []).append(adversary.name)
    for note, names in noted.items():
        console.print(f"[bold]{escape(', '.join(names))}[/]: {escape(note)}")


def show_adversaries(audit: Audit) -> None:
    """Print what each adversary knows."""
    console = console_of(audit.ratings)
    console.print("\n[bold]What the adversaries know[/]")
    for adversary in (outcome.adversary for outcome in audit.attacks):
        console.print(f"[bold]{escape(adversary.name)}[/]: {escape(adversary.description)}")


def show_statements(release: AttackedRelease, ratings: Ratings) -> None:
    """Print the sentences behind the rows of figures."""
    console = console_of(ratings)
    console.print("\n[bold]What was measured on the release[/]")
    for each in statements_of(release):
        if each.remark is not None:
            console.print(escape(each.sentence))


def terms_of(audit: Audit) -> Iterator[str]:
    """Yield the terms of the glossary that `show_audit` prints."""
    release = audit.published
    yield from (line.risk for line in audit.risks.lines)
    if release is not None:
        yield from terms_of_release(release)
        if release.linkage is not None:
            yield from (*_OF_BOTH, "control")
        yield "re-identified"
        yield from ("random guess",) if "random guess" in " ".join(lines_of(audit.risks)) else ()
    else:
        heads = _heads(_COLUMNS, audit.attacks)
        yield from (*(head for head in heads if meaning_of(head)), "random guess")
    if audit.suspects:
        yield "eccentricity"


def _show_measures(console: Console, audit: Audit) -> None:
    """Print the metrics of the papers that exceed the attacks; the page has all."""
    rates = {}
    for each in audit.attacks:
        found = (each.reidentified, *[each.among_attacked] * (each.attacked >= FEWEST))
        rates[each.adversary.name] = max(np.nan_to_num(of.rate) for of in found)
    stated = audit.risks_before.singling_out.strongest
    if stated is not None:  # the first line
        rates = {name: max(rate, stated.rate.rate) for name, rate in rates.items()}
    most = max(rates.values())
    measured = [
        (
            f"{each.attack} with "
            f"{'all ratings' if each.known is None else describe_count(each.known, 'item')}",
            *(each.unique, most),
        )
        for each in audit.graphs
    ]
    measured += [
        (f"“{each.adversary}”, a record of similarity 0.5", each.omega, rates[each.adversary])
        for each in audit.deanonymized
        if each.theta == 0.5
    ]
    more = [
        f"{escape(name)} {_share(interval, ' ')}"
        for name, interval, by_attacks in measured
        if interval.rate > by_attacks and percent(interval.rate) != percent(by_attacks)
    ]
    if more:
        before = "" if audit.published is None else "before, "
        console.print(f"Higher rates {before}by the metrics of the papers: {'; '.join(more)}.")


def _show_attributes(console: Console, audit: Audit) -> None:
    """Print how well declared attributes of users are inferred."""
    if (grid := attribute_table(audit)) is not None:

        def make(between: str) -> Table:
            table = table_of(*grid.header)
            for row in grid.rows:
                figures = (_dimmed(cell, between) if cell else "" for cell in row[2:])
                table.add_row(*map(escape, row[:2]), *figures)
            return table

        console.print(_fitting(console, make, ["constant guess", "accuracy"]))
    for sentence in describe_attributes(audit):
        console.print(escape(sentence))


def _show_suspects(console: Console, suspects: Suspects, where: str = "") -> None:
    """Print the best candidates for a target of an auxiliary file."""
    ranking = ", ".join(
        f"{user} ({score:.2f})" for user, score in zip(suspects.users, suspects.scores, strict=True)
    )
    console.print(
        f"{escape(suspects.target)}{where}: {escape(ranking)}; eccentricity "
        f"{suspects.eccentricity:.1f}, {suspects.bits:.1f} bits; "
        f"{suspects.matched} of {describe_count(suspects.known, 'item')} are in the table."
    )
    if suspects.alteration is not None and suspects.alteration.is_match:
        console.print(escape(describe_alteration(suspects.alteration)))
        if suspects.explanation is not None:
            console.print(escape(describe_explanation(suspects.explanation)))


def _show_release(console: Console, release: AttackedRelease) -> None:
    if release.linkage is not None and (headline := headline_of_linkage(release.linkage)):
        console.print(escape(headline))
    show_rates(console, release, PAGE)
    linkage = release.linkage
    if linkage is not None:
        console.print(_fitting(console, lambda between: _linkage_table(linkage, between)))
    show_disclosure(console, release)


def _linkage_table(linkage: Linkage, between: str) -> Table:
    table = table_of(f"together with {escape(linkage.name)}", *_OF_BOTH, "control")
    for name, both in linkage.attacks:
        rates = (both.both, both.reidentified_by_one, both.reidentified_by_both, both.control)
        shares = [_share(rate, between) for rate in rates]
        table.add_row(escape(name), *(shares if both.skipped < both.requested else [NO_USER]))
    return table


def terms_of_release(release: AttackedRelease) -> Iterator[str]:
    """Yield the terms of a release's figures, as an audit and an evaluation print them."""
    if release.attacks:
        heads = ["attacked", *columns_of(release).values()]
        # The headline has a bound that is the same for all.
        if len({each.bound for each in rates_of(release)}) == 1:
            heads.pop()
        yield from heads
    statements = statements_of(release)
    cells = [cell for each in statements for row in each.rows for cell in row]
    remarks = remarks_in_short(release, statements)
    if any("AUC" in text for text in (headline_of(release), *remarks, *cells)):
        yield "AUC"
    yield from (term for term in _FIGURES if any(term in cell for cell in cells))
