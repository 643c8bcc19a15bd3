"""HTML report of an audit, in one self-contained file."""

import math

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from recveil.attacks import Adversary, AttackEntry, find_attack
from recveil.auditing import Audit
from recveil.charts import draw_curves
from recveil.ratings.ratings import in_likes
from recveil.report.audit.charts import draw_adversaries, draw_release, draw_risk
from recveil.report.audit.disclosure import MEMBERSHIP
from recveil.report.audit.document import figures_of
from recveil.report.audit.text import describe_decision, describe_sensitive, match_of
from recveil.report.document import plain


def to_html(audit: Audit) -> str:
    """Return an audit as one self-contained HTML page: no script, font or network."""
    # Names and labels come from users' data, so escape everything.
    environment = Environment(
        loader=PackageLoader("recveil.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": as_percent, "count": as_count}
    what = "likes" if audit.ratings.is_unary else "ratings"
    charts = {
        "adversaries": draw_adversaries(audit.attacks),
        "curves": [
            (figure, draw_curves(figure)) for figure in figures_of(audit) if figure["points"]
        ],
        "risk": draw_risk(audit.risk),
        "release": draw_release(audit.published),
    }
    sections = plain(audit) | {
        "sufficient": _by_adversary(audit),
        "shares": sorted({each.share for each in audit.sufficient}),
        "tried": _attacks_tried(audit),
        "about": audit.published and audit.published.manifest.claim.about,
        "knowledge": [_describe_knowledge(each.adversary, what) for each in audit.attacks],
        "match": match_of(audit.attacks),
        "revealed": describe_sensitive(audit),
    }
    return environment.get_template("audit/page.html.jinja").render(
        **sections, charts=charts, what=what, weak_test=MEMBERSHIP
    )


def _attacks_tried(audit: Audit) -> list[AttackEntry]:
    """Return the attacks behind the rates, each once."""
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


def _describe_knowledge(adversary: Adversary, what: str = "ratings") -> str:
    """Describe an adversary's knowledge in a few words.

    Examples
    --------
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
        parts.append(f"number of ratings ±{activity:.0%}" if activity else "number of ratings")
    parts += [decision] if (decision := describe_decision(adversary)) else []
    if adversary.first_date_error is not None:
        parts.append(f"date of the first rating ±{adversary.first_date_error} days")
    if what == "likes":  # likes never have ratings
        parts.remove("items without ratings")
    return in_likes("; ".join(parts), what == "likes")
