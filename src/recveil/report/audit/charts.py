"""Charts of an audit, for its page and for notebooks."""

import math
from collections.abc import Callable
from functools import partial

from recveil.attacks import Interval
from recveil.auditing import Audit, Outcome, Risk
from recveil.auditing.release_attacks import AttackedRelease
from recveil.charts import Chart, RateRow, draw_curves, draw_histogram, draw_rates
from recveil.report.audit.document import figures_of
from recveil.report.audit.text import capped, match_of
from recveil.report.document import plain
from recveil.runtime.errors import RecveilError, quoted


def draw_part(audit: Audit, name: str) -> Chart:
    """Draw one part of an audit."""
    drawn: dict[str, Callable[[], Chart | None]] = {
        "adversaries": lambda: draw_adversaries(audit.attacks),
        "release": lambda: draw_release(audit.published),
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
    """Draw each adversary's re-identification rate; return None without attacks."""
    match = match_of(attacks)
    rates = [
        (outcome.adversary.name, series, rate)
        for outcome in attacks
        for series, rate in (
            ("re-identified: the best guess is right", outcome.reidentified),
            (f"{match}, and the paper's guess is right", outcome.success),
            (f"control: {match} although the target is not in the data", outcome.control),
        )
    ]
    return _draw_rates(rates)


def draw_release(release: AttackedRelease | None) -> Chart | None:
    """Draw the rates on a release, with intervals cut at the proven bound; None without one."""
    if release is None:
        return None
    rates = [
        (adversary.name, series, rate)
        for adversary, attack in release.attacks
        for series, rate in (
            ("equivalence class re-identified", attack.class_reidentified),
            ("user re-identified", capped(release, attack.reidentified, attack.bound)),
        )
    ]
    return _draw_rates(rates)


def draw_risk(risk: Risk | None) -> Chart | None:
    """Draw a histogram of the users' risk; return None if it was not measured."""
    if risk is None:
        return None
    x = f"re-identification rate ({risk.draws} draws of knowledge)"
    return draw_histogram(plain(risk)["bins"], x, "users")


def _draw_rates(rates: list[tuple[str, str, Interval]]) -> Chart | None:
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
    return draw_rates(rows, "share of the targets") if rows else None
