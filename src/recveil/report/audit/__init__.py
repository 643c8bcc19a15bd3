"""Documents, sentences, tables, charts and pages of audits."""

from typing import Any

from recveil.report.audit.document import check_to_dict, facts, tables, to_dict

__all__ = ["chart", "check_to_dict", "facts", "tables", "to_dict", "to_html"]


def chart(result: object, name: str | None = None) -> Any:
    """Return an Altair chart of an audit: by default, of its adversaries."""
    from recveil.report.audit.charts import draw_part  # altair takes a second to load

    return draw_part(to_dict(result), name or "adversaries").with_key()


def to_html(result: object) -> str:
    """Return the page of an audit."""
    from recveil.report.audit.page import audit_page

    return audit_page(to_dict(result))
