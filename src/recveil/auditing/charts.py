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
            f"chart {quoted(name)}: this audit has nothing of it; take another one",
            code="argument.value",
        )
    return chart


def draw_adversaries(attacks: list[dict[str, Any]]) -> Chart | None:
    """Draw each adversary's re-identification rate; return None without attacks."""
    measures = {
        "found: the best guess is right": "found",
        "stands out: the paper's guess is right and leads": "success",
        "control: a record stands out though the person is not in the data": "control",
    }
    return _draw_rates_of(attacks, measures, "share of the people looked for")


def draw_release(release: dict[str, Any] | None) -> Chart | None:
    """Draw the rates on a release, with intervals cut at the proven bound; None without one."""
    measures = {
        "the group is found": "group_found",
        "the person is found in it": "person_found",
    }
    release = release or {}
    attacks = release.get("attacks") or []
    if meaning_of(release).is_bound:
        attacks = [attack | {"person_found": _promised(attack)} for attack in attacks]
    return _draw_rates_of(attacks, measures, "share of people looked for")


def draw_risk(risk: dict[str, Any] | None) -> Chart | None:
    """Draw a histogram of the users' risk; return None if it was not measured."""
    if not risk or not risk["bins"]:
        return None
    x = f"probability of being found ({risk['draws']} draws of knowledge)"
    return draw_histogram(risk["bins"], x, "people")


def meaning_of(release: dict[str, Any] | None) -> ClaimKind:
    """Return what a release's claim means; unknown if there is none."""
    claimed = (release or {}).get("claim")
    return claim_kind(claimed if claimed in {kind.name for kind in all_claims()} else "unknown")


def _promised(attack: dict[str, Any]) -> dict[str, Any]:
    """Return the interval of users found, cut at the guaranteed bound."""
    found = attack["person_found"]
    if found["high"] is None or attack.get("bound") is None:
        return dict(found)
    return found | {"high": max(found["rate"] or 0, min(found["high"], attack["bound"]))}


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
