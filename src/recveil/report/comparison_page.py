"""HTML report of a comparison, in one self-contained file."""

import math
from os import PathLike
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from recveil.attacks.membership.inference import MEMBERSHIP
from recveil.charts import Chart
from recveil.comparison.frontier_chart import (
    draw_frontier,
    draw_panel,
    kinds_of,
    looks_of,
    utilities_of,
)
from recveil.comparison.measure import Line, Measure
from recveil.comparison.measures import MEASURES, measure_named
from recveil.comparison.risk_axes import PERSON, Axis, axis_named
from recveil.release.claim import ClaimKind, all_claims
from recveil.report.audit.page import as_count, as_percent
from recveil.runtime.atomic_writes import write_atomically


def compare_page(result: dict[str, Any]) -> str:
    """Return a comparison as one self-contained HTML page: no script, font or network.

    Parameters
    ----------
    result : dict
        The result of `recveil.comparison.Comparison.to_dict`.

    Examples
    --------
    >>> page = compare_page({"rows": [], "methods": {}, "ladder": []})
    >>> page[:15], "Nothing was compared." in page
    ('<!DOCTYPE html>', True)
    """
    environment = Environment(  # names come from the data, so escape everything
        loader=PackageLoader("recveil.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": as_percent, "count": as_count, "kept": _kept}
    environment.filters["written"] = _written
    rows = result["rows"]
    axis = axis_named((result.get("settings") or {}).get("risk", PERSON.name))
    answer = _headline(result, axis)
    chosen = answer["row"] if answer else None
    utilities = utilities_of(rows)
    drawn = [(utility, draw_frontier(rows, utility, chosen, axis)) for utility in utilities]
    return environment.get_template("compare_page.html.jinja").render(
        data=result.get("data"),
        settings=result.get("settings"),
        methods=result["methods"],
        labels={kind.promise: kind.label for kind in all_claims()},
        grades={kind.promise: _grade(kind) for kind in all_claims()},
        kinds=kinds_of(rows),
        ladder=result["ladder"],
        warnings=result.get("warnings", []),
        answer=answer,
        axis=axis,
        is_person=axis is PERSON,
        asked=result.get("answer") is not None,
        rows=rows,
        by_title={row["title"]: row for row in rows},
        best=result.get("frontier", []),
        drawings=[(utility, *drawing) for utility, drawing in drawn if drawing],
        not_drawn=[utility.title.lower() for utility, drawing in drawn if not drawing],
        looks={look.series: look for look in looks_of(rows)},
        weak_test=MEMBERSHIP,
        whole=(result.get("reference") or {}).get("raw_gain"),
        raw_ranker=(result.get("reference") or {}).get("raw", {}).get("ranker"),
        panels=_panels(rows, result.get("reference")),
        of_words=any(utility.title == "Words" for utility in utilities),
        judged=[utility.name for utility in utilities],
        beyond_attack=[
            row["title"] for row in rows if not row["problem"] and row[axis.value] is None
        ],
    )


def write_compare_page(result: dict[str, Any], path: str | PathLike[str]) -> None:
    """Write the page of a comparison atomically.

    Parameters
    ----------
    result : dict
        See `compare_page`.
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
    ...     page = Path(folder, "index.html")
    ...     write_compare_page({"rows": [], "methods": {}, "ladder": []}, page)
    ...     [file.name for file in Path(folder).iterdir()]
    ['index.html']
    """
    page = compare_page(result)
    # The page names no user, but describes how to re-identify them, so it is private.
    write_atomically(path, lambda beside: beside.write_text(page, "utf-8", "replace"))


def _grade(kind: ClaimKind) -> str:
    """Return the grade of a guarantee: a bound on re-identification, or less."""
    if kind.is_bound:
        return "proven"
    return "partly" if kind.is_published else "none"


def _kept(share: dict[str, Any] | None) -> str:
    """Format a retained share, at most "as raw".

    Examples
    --------
    >>> _kept({"value": 1, "low": 0.9, "high": 1}), _kept({"value": -56.2}), _kept(None)
    ('as raw', 'below -100%', 'cannot be told')
    """
    if share is None:
        return "cannot be told"
    if not share.get("is_told", True):
        return "not told"
    if share["value"] <= -1:
        return "below -100%"
    return "as raw" if share["value"] >= 1 else as_percent(share["value"])


def _headline(result: dict[str, Any], axis: Axis) -> dict[str, Any] | None:
    """Return the answer to the question, or that to a default question."""
    if result.get("answer") is not None:
        return dict(result["answer"])
    usual = [choice for choice in result["ladder"] if math.isclose(choice["max_risk"], axis.usual)]
    return dict(usual[0]) if usual else None


def _written(row: dict[str, Any], name: str) -> str:
    """Format a setting's value as its measure defines; a dash if there is none.

    Examples
    --------
    >>> row = {"rmse": 0.95, "risk": 0.1, "recall": None}
    >>> _written(row, "rmse"), _written(row, "risk"), _written(row, "recall")
    ('0.9500', '10.0%', '–')
    """
    value, form = row[name], measure_named(name).format
    if value is None:
        return "–"
    return as_percent(value) if form == "%" else format(value, form)


def _panels(
    rows: list[dict[str, Any]], reference: dict[str, Any] | None
) -> list[tuple[Measure, Chart]]:
    """Return the charts of the measures that have a panel and values.

    Reference lines without a value are left out.
    """
    drawn = []
    for measure in MEASURES.values():
        if measure.panel is not None:
            heights = [(line.name, _height(line, reference)) for line in measure.panel.lines]
            lines = [(name, height) for name, height in heights if height is not None]
            chart = draw_panel(rows, measure.name, measure.panel.format, lines)
            drawn += [] if chart is None else [(measure, chart)]
    return drawn


def _height(line: Line, reference: dict[str, Any] | None) -> float | None:
    """Return the value of a reference line; None if unknown.

    Examples
    --------
    >>> raw = Line("raw data", ("raw", "rmse"))
    >>> _height(Line("a coin", 0.5), None), _height(raw, {"raw": {"rmse": 0.9}}), _height(raw, None)
    (0.5, 0.9, None)
    """
    if not isinstance(line.height, tuple):
        return line.height
    found: Any = reference
    for key in line.height:
        found = None if found is None else found.get(key)
    return found
