"""Documents, sentences, tables, charts and pages of comparisons."""

from typing import Any

from recveil.comparison.results import Comparison
from recveil.report.comparison.document import facts, tables
from recveil.report.comparison.text import describe_rest, headline_choice, headline_of, warnings_of

__all__ = ["chart", "facts", "summary", "tables", "to_html"]


def summary(comparison: Comparison) -> str:
    """Return the answer and its limits, a sentence per line."""
    choice = headline_choice(comparison)
    answer = [] if choice is None else [headline_of(choice), describe_rest(choice, comparison.rows)]
    return "\n".join(filter(None, [*answer, *warnings_of(comparison)]))


def chart(comparison: Comparison, name: str | None = None) -> Any:
    """Return an Altair chart; see `recveil.report.comparison.charts.chart`."""
    from recveil.report.comparison import charts  # altair takes time to import

    return charts.chart(comparison, name)


def to_html(comparison: Comparison) -> str:
    """Return the page of a comparison; see `recveil.report.comparison.page.to_html`."""
    from recveil.report.comparison import page

    return page.to_html(comparison)
