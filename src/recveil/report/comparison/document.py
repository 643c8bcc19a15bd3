"""JSON documents and tables of comparisons."""

from collections.abc import Mapping

from recveil.comparison.choice import Choice
from recveil.comparison.results import Comparison
from recveil.comparison.rows import Share, shares_of
from recveil.release.registry import variant_of
from recveil.report import data_to_dict
from recveil.report.comparison.marks import format_share
from recveil.report.comparison.text import (
    caveats_of,
    describe_advice,
    describe_answer,
    describe_rest,
    format_kept,
    headline_choice,
    headline_of,
    warnings_of,
)
from recveil.report.document import parts_of
from recveil.runtime.number_format import estimate
from recveil.runtime.safe_repr import Grid


@parts_of.register
def _(comparison: Comparison) -> Mapping[str, object]:
    ratings, reading = comparison.ratings, comparison.reading
    variants = {row.method: variant_of(row.method) for row in comparison.rows}
    return {
        "data": {
            "source": reading.name,
            **data_to_dict(ratings, reading),
        },
        "settings": {
            "split": comparison.split,
            "seed": comparison.seed,
            "targets": comparison.targets,
            "utility": comparison.utility,
            "risk": comparison.risk,
        },
        "methods": {
            name: {
                "description": variant.description,
                "promise": variant.about_claim.promise,
                "meaning": variant.about_claim.meaning,
            }
            for name, variant in variants.items()
        },
        "reference": comparison.reference,
        "unfinished": comparison.unfinished,
        "divisions": comparison.divisions,
        "warnings": warnings_of(comparison),
        "answer": headline_choice(comparison),
        "ladder": comparison.ladder(),
        "frontier": [row.title for row in comparison.frontier()],
        "rows": [
            {**row._asdict(), "title": row.title, "utility_retained": shares_of(row)}
            for row in comparison.rows
        ],
    }


@parts_of.register
def _(choice: Choice) -> Mapping[str, object]:
    return {
        "max_risk": choice.max_risk,
        "min_k": choice.min_k,
        "utility": choice.utility,
        "risk": choice.risk,
        "row": choice.row and choice.row.title,
        "reason": choice.reason,
        "headline": headline_of(choice),
        "rest": describe_rest(choice),
        "sentence": describe_answer(choice),
        "advice": describe_advice(choice),
        "caveats": caveats_of(choice),
        "indistinguishable": [row.title for row in choice.tied],
        "less_disclosing": [row.title for row in choice.less_disclosing],
        "more_disclosing": [row.title for row in choice.more_disclosing],
        "unclear": [row.title for row in choice.unclear],
        "least_disclosing": [row.title for row in choice.least_disclosing],
    }


def facts(comparison: Comparison) -> dict[str, object]:
    """Return the facts that represent a comparison in a line."""
    return {
        "users": comparison.ratings.n_users,
        "ratings": comparison.ratings.n_ratings,
        "settings": len(comparison.rows),
        "without result": sum(row.problem is not None for row in comparison.rows) or None,
    }


def tables(comparison: Comparison) -> list[Grid]:
    """Return a notebook's table of risk and utility, with the frontier first."""
    axis, best = comparison.axis, {row.title for row in comparison.frontier()}
    rows: list[tuple[str, ...]] = []
    for row in sorted(comparison.rows, key=lambda row: row.title not in best):
        retained, rate = shares_of(row), axis.of(row)
        risk = estimate((rate, getattr(row, axis.low), getattr(row, axis.high)))
        kept = format_kept(row)
        rows.append((row.title, risk, _cell(retained.lists), _cell(retained.ratings), kept))
    title = f"risk: share of {axis.label}; retained: share of the raw data's utility"
    return [Grid(title, _HEADER, rows)]


_HEADER = ("setting", "risk", "lists retained", "ratings retained", "kept")


def _cell(share: Share | None) -> str:
    return estimate(share) if share is not None and share.is_reliable else format_share(share)
