"""Documents, sentences, tables and pages of evaluations."""

from typing import Any

from recveil.evaluation import AuditedRecommender
from recveil.report.evaluation.recommender import draw_users, to_html
from recveil.report.evaluation.text import facts, headline, tables
from recveil.runtime.errors import RecveilError

__all__ = ["chart", "facts", "headline", "tables", "to_html"]


def chart(audited: AuditedRecommender, name: str | None = None) -> Any:
    """Return an Altair chart of the users' AUC."""
    drawn = draw_users(audited) if name in (None, "users") else None
    if drawn is None:
        raise RecveilError(
            "chart: expected users, of an audit with membership inference", code="argument.value"
        )
    return drawn.with_key()
