"""Documents, sentences, tables, charts and pages of audits."""

from typing import Any

from recveil.auditing import Audit
from recveil.ratings.ratings import in_likes
from recveil.report.audit.document import facts, tables
from recveil.report.audit.risks import lines_of
from recveil.report.audit.text import describe_rate, verdict_of, warnings_of

__all__ = ["chart", "facts", "summary", "tables", "to_html"]


def chart(audit: Audit, name: str | None = None) -> Any:
    """Return an Altair chart of an audit: by default, of its adversaries."""
    from recveil.report.audit.page import draw_part  # altair takes a second to load

    return draw_part(audit, name or "adversaries").with_key()


def to_html(audit: Audit) -> str:
    """Return the page of an audit."""
    from recveil.report.audit import page

    return page.to_html(audit)


def summary(audit: Audit) -> str:
    """Return the verdict of an audit, all rates and its warnings, a sentence per line."""
    headline, *others = verdict_of(audit)
    attacked = [outcome for outcome in audit.attacks if outcome.attacked]
    rates = [in_likes(describe_rate(each), audit.ratings.is_unary) for each in attacked]
    if audit.published is not None:
        headline = f"Before, with names removed: {headline}"
    lines = [*lines_of(audit.risks), headline, *rates, *others, *warnings_of(audit)]
    return "\n".join(dict.fromkeys(lines))
