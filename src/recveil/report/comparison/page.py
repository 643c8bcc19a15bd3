"""HTML page of a comparison, in one self-contained file."""

from typing import Any

from recveil.auditing.release_attacks import COVERAGE
from recveil.charts import Chart
from recveil.comparison.choice import REIDENTIFICATION
from recveil.comparison.measures import MEASURES, Line, Measure, measure_named
from recveil.comparison.results import Comparison, Reference
from recveil.comparison.rows import Row, shares_of
from recveil.evaluation.groups import read_divisions
from recveil.ratings.ratings import in_likes
from recveil.release.claim import all_claims
from recveil.release.coverage import LOW
from recveil.release.exact_ratings import HIGH
from recveil.release.registry import variant_of
from recveil.report.audit.disclosure import MEMBERSHIP_OF_ALL
from recveil.report.audit.page import page_environment
from recveil.report.comparison.charts import (
    colours_of,
    draw_frontier,
    draw_panel,
    padding_of,
    styles_of,
    utilities_of,
)
from recveil.report.comparison.marks import (
    AXIS_NOTES,
    KNOWLEDGE,
    describe_revealing,
    format_share,
    format_share_ends,
    legend_of_lists,
    reaches_popularity_alone,
    reveals_members,
)
from recveil.report.comparison.retained import describe_popularity
from recveil.report.comparison.text import (
    FEW_RATINGS,
    PUBLIC_ITEMS,
    caveats_of,
    commands_of,
    describe_advice,
    describe_answer,
    describe_missing,
    headline_choice,
    headline_of,
    join_rest,
    keeps_little,
    publishes_most,
    takes_public_items,
    warnings_of,
)
from recveil.report.evaluation.groups import gaps_by_setting, group_grids
from recveil.runtime.number_format import percent


def to_html(comparison: Comparison, *, on_page: bool = False) -> str:
    """Return a comparison as one self-contained HTML page, which may be one of the workbench."""
    environment = page_environment()
    environment.filters |= {
        "share": format_share,
        "ends": format_share_ends,
        "figure": _format_figure,
        "retained": shares_of,
        "in_likes": in_likes,
    }
    rows, axis, reference = comparison.rows, comparison.axis, comparison.reference
    environment.tests |= {
        "publishing_most": publishes_most,
        "keeping_little": keeps_little,
        "taking_public_items": takes_public_items,
        "reaching_popularity": reaches_popularity_alone,
        "revealing_members": lambda row: reveals_members(row, rows),
    }
    choice = headline_choice(comparison)
    is_unary = comparison.ratings.is_unary
    chosen = None if choice is None or choice.row is None else choice.row.title
    utilities = utilities_of(rows)
    drawn = [(utility, draw_frontier(rows, utility, chosen, axis)) for utility in utilities]
    kinds = {kind.promise: kind for kind in all_claims()}
    divisions = {title: read_divisions(each) for title, each in comparison.divisions.items()}
    detailed = chosen if chosen in divisions else next(iter(divisions), None)
    return environment.get_template("comparison/page.html.jinja").render(
        comparison=comparison,
        on_page=on_page,
        data=comparison.ratings,
        methods={row.method: variant_of(row.method) for row in rows},
        titles={promise: kind.label for promise, kind in kinds.items()},
        grades={
            promise: "proven" if kind.is_bound else "partly" if kind.is_published else "none"
            for promise, kind in kinds.items()
        },
        colours=colours_of(rows),
        ladder=comparison.ladder(),
        warnings=warnings_of(comparison),
        headline="No setting was compared." if choice is None else headline_of(choice),
        rest="" if choice is None else join_rest(comparison, choice),
        advice=None if choice is None or choice.row is None else describe_advice(choice),
        answer=None if choice is None else describe_answer(choice),
        commands=[] if choice is None else commands_of(comparison, choice),
        coverage=COVERAGE,
        limit=None if choice is None else choice.max_risk,
        popular=describe_popularity(reference),
        caveats=[] if choice is None else caveats_of(choice),
        chosen=chosen,
        axis=axis,
        has_padding=any(0 < (padding_of(row.method) or 0) < 1 for row in rows),
        axis_note=AXIS_NOTES.get(axis.name, ""),
        missing_of=lambda row: describe_missing(row, axis).removeprefix("was "),
        is_unary=is_unary,
        knowledge=KNOWLEDGE,
        few_ratings=" ".join(filter(None, [FEW_RATINGS, legend_of_lists(rows)])),
        public_items=PUBLIC_ITEMS,
        revealing=describe_revealing(rows),
        is_reidentification=axis is REIDENTIFICATION,
        gaps=gaps_by_setting(divisions),
        detailed=detailed,
        groups=group_grids(divisions[detailed], is_unary=is_unary)[1:] if detailed else [],
        rows=rows,
        by_title={row.title: row for row in rows},
        best=[row.title for row in comparison.frontier()],
        drawings=[(utility, *drawing) for utility, drawing in drawn if drawing],
        not_drawn=[utility.title.lower() for utility, drawing in drawn if not drawing],
        styles=styles_of(row.method for row in rows),
        weak_test=MEMBERSHIP_OF_ALL,
        raw_gain=reference and reference["raw_gain"],
        raw_ranker=reference and reference["raw"].get("ranker"),
        panels=_panels(rows, reference),
        is_nominal=any(utility.title == "Labels" for utility in utilities),
        evaluated=[utility.name for utility in utilities],
        unmeasured=[row.title for row in rows if not row.problem and axis.of(row) is None],
    )


# Where a mark begins.
_MARKED = {"items_kept": LOW, "ratings_kept": LOW, "published_share": HIGH}


def _format_figure(row: Row, name: str) -> str:
    """Format a setting's value as its measure defines; a dash if there is none.

    >>> row = Row("raw", None, "nothing", None, rmse=0.95, risk=0.1)
    >>> _format_figure(row, "rmse"), _format_figure(row, "risk"), _format_figure(row, "recall")
    ('0.9500', '10%', '–')
    """
    value, form = getattr(row, name), measure_named(name).format
    if value is None:
        return "–"
    return percent(value, _MARKED.get(name)) if form == "%" else format(value, form)


def _panels(rows: list[Row], reference: Reference | None) -> list[tuple[Measure, Chart]]:
    """Return the charts of the measures that have a panel and values."""
    drawn = []
    for measure in MEASURES.values():
        if measure.panel is not None:
            heights = [(line.name, _height(line, reference)) for line in measure.panel.lines]
            lines = [(name, height) for name, height in heights if height is not None]
            chart = draw_panel(rows, measure.name, measure.panel.format, lines)
            drawn += [] if chart is None else [(measure, chart)]
    return drawn


def _height(line: Line, reference: Any) -> float | None:
    """Return the value of a reference line; None if unknown.

    >>> raw = Line("raw data", ("raw", "rmse"))
    >>> _height(Line("", 0.5), None), _height(raw, {"raw": {"rmse": 0.9}}), _height(raw, None)
    (0.5, 0.9, None)
    """
    if not isinstance(line.height, tuple):
        return line.height
    value = reference
    for key in line.height:
        value = None if value is None else value.get(key)
    return None if value is None else float(value)
