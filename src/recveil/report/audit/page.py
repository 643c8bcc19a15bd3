"""HTML report of an audit, in one self-contained file."""

import math
from os import PathLike
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from recveil.attacks import AttackEntry, find_attack
from recveil.charts import draw_curves
from recveil.ratings.ratings import in_likes
from recveil.report.audit.charts import draw_adversaries, draw_release, draw_risk, meaning_of
from recveil.report.audit.disclosure import MEMBERSHIP
from recveil.runtime.atomic_writes import write_atomically

_SECTIONS = (
    "data",
    "verdict",
    "warnings",
    "attacks",
    "graph_attacks",
    "deanonymized",
    "figures",
    "sufficient",
    "theory",
    "risk",
    "release",
    "checks",
)


def audit_page(result: dict[str, Any]) -> str:
    """Return an audit as one self-contained HTML page: no script, font or network.

    Parameters
    ----------
    result : dict
        The result of `recveil.auditing.Audit.to_dict`. Sections that are None, empty or missing are
        left out.

    Raises
    ------
    RecveilError
        If an attack is not registered.

    Examples
    --------
    >>> page = audit_page({"verdict": ["Most users are re-identified: 97 % by colleague."]})
    >>> page[:15], "97 % by colleague" in page
    ('<!DOCTYPE html>', True)
    """
    # Names and labels come from users' data, so escape everything.
    environment = Environment(
        loader=PackageLoader("recveil.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": as_percent,
        "count": as_count,
        "known": _describe_knowledge,
    }
    sections = {name: result.get(name) for name in _SECTIONS}
    entries = sections["sufficient"] or []
    tables = {
        "sufficient": _by_adversary(entries),
        "shares": sorted({entry["share"] for entry in entries}),
        "tried": _attacks_tried(sections["attacks"] or [], sections["release"] or {}),
    }
    charts = {
        "adversaries": draw_adversaries(sections["attacks"] or []),
        "curves": [
            (figure, draw_curves(figure))
            for figure in sections["figures"] or []
            if figure["points"]
        ],
        "risk": draw_risk(sections["risk"]),
        "release": draw_release(sections["release"]),
    }
    about = meaning_of(sections["release"])
    what = "likes" if (sections["data"] or {}).get("scale") == "likes" else "ratings"
    return environment.get_template("audit/page.html.jinja").render(
        **sections | tables, charts=charts, about=about, what=what, weak_test=MEMBERSHIP
    )


def write_audit_page(result: dict[str, Any], path: str | PathLike[str]) -> None:
    """Write the page of an audit, readable by its creator alone, atomically.

    Parameters
    ----------
    result : dict
        See `audit_page`.
    path : path
        An existing file is replaced.

    Raises
    ------
    RecveilError
        If the file cannot be written.


    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_audit_page({"verdict": ["Few are re-identified."]}, Path(folder, "audit.html"))
    ...     [file.name for file in Path(folder).iterdir()]
    ['audit.html']
    """
    page = audit_page(result)
    # The page shows how users are re-identified, and names the matches of auxiliary information.
    write_atomically(path, lambda temporary: temporary.write_text(page, "utf-8", "replace"))


def _attacks_tried(attacks: list[dict[str, Any]], release: dict[str, Any]) -> list[AttackEntry]:
    """Return the attacks behind the rates, each once."""
    outcomes = [*attacks, *(release.get("attacks") or [])]
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.get("by_attack") or {})
    return [find_attack(name) for name in names]


def _by_adversary(sufficient: list[dict[str, Any]]) -> dict[str, dict[float, int | None]]:
    """Group entries by adversary, with a number for each share."""
    rows: dict[str, dict[float, int | None]] = {}
    for entry in sufficient:
        rows.setdefault(entry["adversary"], {})[entry["share"]] = entry["known"]
    return rows


def as_percent(share: float | None) -> str:
    """Format a share without rounding it to 0 % or 100 %.

    Examples
    --------
    >>> [as_percent(share) for share in (0, 0.0000021, 0.4349, 0.9999, 1, None)]
    ['0.0%', '0.00021%', '43.5%', '>99.9%', '100.0%', '–']
    """
    if share is None or not math.isfinite(share):
        return "–"
    if 0 < share < 0.001:
        return np.format_float_positional(100 * share, 2, fractional=False, trim="-") + "%"
    return ">99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def as_count(number: float | None, digits: int = 0) -> str:
    """Format a number with thousands separators; a dash if there is none.

    Examples
    --------
    >>> as_count(4096.4), as_count(2, 1), as_count(None)
    ('4,096', '2.0', '–')
    """
    return "–" if number is None or not math.isfinite(number) else f"{number:,.{digits}f}"


def _describe_knowledge(attack: dict[str, Any], what: str = "ratings") -> str:
    """Describe an adversary's knowledge in a few words.

    Examples
    --------
    >>> from recveil.attacks import PRESETS
    >>> _describe_knowledge(PRESETS["paper"].settings())
    '8 ratings, 6 of them right; exact; dates ±14 days'
    """
    known, right = attack["known"], attack["right"]
    entries = "1 rating" if known == 1 else f"{known} ratings"
    if right < known:
        entries += f", {right} of them right"
        entries += " (the others of items never rated)" if attack["wrong_kind"] == "item" else ""
    rating, date, activity = (attack[f"{name}_error"] for name in ("rating", "date", "activity"))
    parts = [
        entries,
        "items without ratings"
        if rating is None
        else "liked or not"
        if attack.get("likes_only")
        else f"off by up to {rating:g}"
        if rating
        else "exact",
        "no dates" if date is None else f"dates ±{date} days" if date else "exact dates",
    ]
    parts += [] if attack["pool"] == "all" else [attack["pool"]]
    if activity is not None:
        parts.append(f"number of ratings ±{activity:.0%}" if activity else "number of ratings")
    if what == "likes":  # likes never have ratings
        parts.remove("items without ratings")
    return in_likes("; ".join(parts), what == "likes")
