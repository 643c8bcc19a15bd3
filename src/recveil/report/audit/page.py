"""HTML report of an audit, in one self-contained file, and its charts."""

import math
from collections.abc import Callable
from functools import partial

from jinja2 import Environment, PackageLoader, StrictUndefined

from recveil.attacks import Adversary, AttackEntry, Interval, find_attack
from recveil.auditing import Audit, Outcome, Risk, Suspects
from recveil.auditing.release_attacks import AttackedRelease
from recveil.charts import Chart, RateRow, draw_curves, draw_histogram, draw_rates
from recveil.ratings.ratings import as_nominal, in_likes
from recveil.report.audit.attributes import attribute_table, describe_attributes
from recveil.report.audit.disclosure import MEMBERSHIP
from recveil.report.audit.document import figures_of, map_texts
from recveil.report.audit.groups import group_table
from recveil.report.audit.text import (
    describe_alteration,
    describe_decision,
    describe_explanation,
    describe_matches,
    describe_sensitive,
    match_of,
    rates_of,
)
from recveil.report.document import plain, same_figures
from recveil.runtime.errors import RecveilError, first_sentence_of, printable_lines, quoted
from recveil.runtime.number_format import format_bounds, format_number, percent


def draw_part(audit: Audit, name: str) -> Chart:
    """Draw one part of an audit."""
    drawn: dict[str, Callable[[], Chart | None]] = {
        "adversaries": lambda: draw_adversaries(audit.attacks),
        "release": lambda: draw_release(
            audit.published, is_nominal=not audit.ratings.scale.ordered
        ),
        "risk": lambda: draw_risk(audit.risk),
    }
    for figure in figures_of(audit):
        if figure["points"]:
            drawn[figure["number"]] = partial(draw_curves, figure)
    if name not in drawn:
        raise RecveilError(
            f"chart {quoted(name)}: expected one of {', '.join(drawn)}", code="argument.value"
        )
    chart = drawn[name]()
    if chart is None:
        raise RecveilError(
            f"chart {quoted(name)}: this audit has no data for it; choose another one",
            code="argument.value",
        )
    return chart


def draw_adversaries(attacks: list[Outcome]) -> Chart | None:
    """Draw each adversary's rates among the attacked targets; return None without attacks."""
    match = match_of(attacks)
    rates = [
        (outcome.adversary.name, series, rate)
        for outcome in attacks
        for series, rate in (
            ("re-identified: the best guess is right", outcome.among_attacked),
            (f"{match}, and the paper's guess is right", outcome.of_attacked(outcome.success)),
            (f"control: {match} although the target is not in the data", outcome.control),
        )
    ]
    has_skipped = any(outcome.skipped for outcome in attacks)
    return _draw_rates(rates, f"share of the {'attacked ' * has_skipped}targets")


def draw_release(release: AttackedRelease | None, *, is_nominal: bool = False) -> Chart | None:
    """Draw the rates on a release, with intervals cut at the proven bound; None without one."""
    if release is None:
        return None
    rates = [
        (as_nominal(each.name) if is_nominal else each.name, series, rate)
        for each in rates_of(release)
        if each.attacked
        for series, rate in (
            ("equivalence class re-identified", each.class_reidentified),
            ("user re-identified", each.reidentified),
        )
    ]
    return _draw_rates(rates)


def draw_risk(risk: Risk | None) -> Chart | None:
    """Draw a histogram of the users' risk; return None if it was not measured."""
    if risk is None:
        return None
    x = f"re-identification rate ({risk.draws} draws of knowledge)"
    return draw_histogram(plain(risk)["bins"], x, "users")


def _draw_rates(
    rates: list[tuple[str, str, Interval]], x: str = "share of the targets"
) -> Chart | None:
    """Draw rates by adversary and series; None if no target was attacked."""
    rows = [
        RateRow(
            name=name or "this adversary",
            series=series,
            rate=interval.rate,
            low=interval.low,
            high=interval.high,
        )
        for name, series, interval in rates
        if not math.isnan(interval.rate)
    ]
    return draw_rates(rows, x) if rows else None


def page_environment() -> Environment:
    """Return the environment of pages, which escapes everything: names come from users' data."""
    environment = Environment(
        loader=PackageLoader("recveil.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=printable_lines,
    )
    environment.filters |= {"percent": percent, "count": format_number, "bounds": format_bounds}
    environment.filters |= {"first_sentence": first_sentence_of, "same_figures": same_figures}
    return environment


def to_html(audit: Audit) -> str:
    """Return an audit as one self-contained HTML page: no script, font or network."""
    environment = page_environment()
    what = "likes" if audit.ratings.is_unary else "ratings"
    charts = {
        "adversaries": draw_adversaries(audit.attacks),
        "curves": [
            (figure, draw_curves(figure)) for figure in figures_of(audit) if figure["points"]
        ],
        "risk": draw_risk(audit.risk),
        "release": draw_release(audit.published, is_nominal=not audit.ratings.scale.ordered),
    }
    in_release = [] if audit.published is None else audit.published.attacks
    sections = plain(audit) | {
        "sufficient": _by_adversary(audit),
        "shares": sorted({each.share for each in audit.sufficient}),
        "tried": _attacks_tried(audit),
        "about": audit.published and audit.published.manifest.claim.about,
        "knowledge": {
            each.adversary.name: _describe_knowledge(each.adversary, what) for each in audit.attacks
        },
        "knowledge_in_release": {
            adversary.name: _describe_knowledge(adversary, what) for adversary, _ in in_release
        },
        "match": match_of(audit.attacks),
        "revealed": describe_sensitive(audit),
        "declared": attribute_table(audit),
        "inferred": describe_attributes(audit),
        "grouped": group_table(audit.published),
        "matched": describe_matches(audit),
        "found": [
            *((each, "in the table", _explanations(each)) for each in audit.suspects),
            *((each, "in the release", _explanations(each)) for each in audit.suspects_in_release),
        ],
    }
    if not audit.ratings.scale.ordered:
        what = "labels"
        texts = ("knowledge", "knowledge_in_release", "revealed", "declared", "inferred", "grouped")
        sections |= {name: map_texts(sections[name], as_nominal) for name in texts}
    return environment.get_template("audit/page.html.jinja").render(
        **sections, charts=charts, what=what, weak_test=MEMBERSHIP
    )


def _explanations(suspects: Suspects) -> list[str]:
    altered, explained = suspects.alteration, suspects.explanation
    if altered is None or explained is None or not altered.is_match:
        return []
    return [describe_explanation(explained), describe_alteration(altered)]


def _attacks_tried(audit: Audit) -> list[AttackEntry]:
    in_release = [] if audit.published is None else audit.published.attacks
    rates = [outcome.by_attack for outcome in audit.attacks]
    rates += [attack.by_attack for _, attack in in_release]
    names = dict.fromkeys(name for each in rates for name in each)
    return [find_attack(name) for name in names]


def _by_adversary(audit: Audit) -> dict[str, dict[float, int | None]]:
    """Return how many known ratings suffice, by adversary and share."""
    rows: dict[str, dict[float, int | None]] = {}
    for entry in audit.sufficient:
        rows.setdefault(entry.adversary, {})[entry.share] = entry.known
    return rows


def _describe_knowledge(adversary: Adversary, what: str = "ratings") -> str:
    """Describe an adversary's knowledge in a few words.

    >>> from recveil.attacks import PRESETS
    >>> _describe_knowledge(PRESETS["paper"])
    '8 ratings, 6 of them right; exact; dates ±14 days'
    """
    known, right = adversary.known, adversary.n_right
    entries = "1 rating" if known == 1 else f"{known} ratings"
    if right < known:
        entries += f", {right} of them right"
        entries += " (the others of items never rated)" if adversary.wrong_kind == "item" else ""
    rating, date, activity = adversary.rating_error, adversary.date_error, adversary.activity_error
    parts = [
        entries,
        "items without ratings"
        if rating is None
        else "liked or not"
        if adversary.likes_only
        else f"off by up to {rating:g}"
        if rating
        else "exact",
        "no dates" if date is None else f"dates ±{date} days" if date else "exact dates",
    ]
    parts += [f"outside the top {adversary.outside_top}"] if adversary.outside_top else []
    if activity is not None:
        parts.append(f"number of ratings ±{percent(activity)}" if activity else "number of ratings")
    parts += [decision] if (decision := describe_decision(adversary)) else []
    if adversary.first_date_error is not None:
        parts.append(f"date of the first rating ±{adversary.first_date_error} days")
    if what == "likes":  # likes never have ratings
        parts.remove("items without ratings")
    return in_likes("; ".join(parts), what == "likes")
