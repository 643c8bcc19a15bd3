"""Charts of an audit, for its page and for notebooks."""

from collections.abc import Callable
from functools import partial
from typing import Any

from recveil.charts import Chart, RateRow, draw_curves, draw_histogram, draw_rates
from recveil.release.claim import ClaimKind, all_claims, claim_kind
from recveil.runtime.errors import RecveilError, quoted


def draw_part(result: dict[str, Any], name: str) -> Chart:
    """Draw one part of an audit."""
    drawn: dict[str, Callable[[], Chart | None]] = {
        "adversaries": lambda: draw_adversaries(result["attacks"]),
        "release": lambda: draw_release(result["release"]),
        "risk": lambda: draw_risk(result["risk"]),
    }
    for figure in result["figures"]:
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


def draw_adversaries(attacks: list[dict[str, Any]]) -> Chart | None:
    """Draw each adversary's re-identification rate; return None without attacks."""
    measures = {
        "re-identified: the best guess is right": "reidentified",
        "eccentricity ≥ 1.5, and the paper's guess is right": "success",
        "control: eccentricity ≥ 1.5 although the target is not in the data": "control",
    }
    return _draw_rates_of(attacks, measures, "share of the targets")


def draw_release(release: dict[str, Any] | None) -> Chart | None:
    """Draw the rates on a release, with intervals cut at the proven bound; None without one."""
    measures = {
        "equivalence class re-identified": "class_reidentified",
        "user re-identified": "reidentified",
    }
    release = release or {}
    attacks = release.get("attacks") or []
    if meaning_of(release).is_bound:
        attacks = [attack | {"reidentified": _cut(attack)} for attack in attacks]
    return _draw_rates_of(attacks, measures, "share of the targets")


def draw_risk(risk: dict[str, Any] | None) -> Chart | None:
    """Draw a histogram of the users' risk; return None if it was not measured."""
    if not risk or not risk["bins"]:
        return None
    x = f"re-identification rate ({risk['draws']} draws of knowledge)"
    return draw_histogram(risk["bins"], x, "users")


def meaning_of(release: dict[str, Any] | None) -> ClaimKind:
    """Return what a release's claim means; unknown if there is none."""
    claimed = (release or {}).get("claim")
    return claim_kind(claimed if claimed in {kind.name for kind in all_claims()} else "unknown")


def _cut(attack: dict[str, Any]) -> dict[str, Any]:
    """Return the interval of the re-identification rate, cut at the guaranteed bound."""
    rate = attack["reidentified"]
    if rate["high"] is None or attack.get("bound") is None:
        return dict(rate)
    return rate | {"high": max(rate["rate"] or 0, min(rate["high"], attack["bound"]))}


def _draw_rates_of(
    attacks: list[dict[str, Any]], measures: dict[str, str], title: str
) -> Chart | None:
    rows = [
        RateRow(
            name=attack["name"] or "this adversary",
            series=series,
            rate=attack[key]["rate"],
            low=attack[key]["low"],
            high=attack[key]["high"],
        )
        for attack in attacks
        for series, key in measures.items()
        if attack[key]["rate"] is not None  # no target was attacked
    ]
    return draw_rates(rows, title) if rows else None
