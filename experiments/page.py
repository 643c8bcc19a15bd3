"""Rows that set our figure next to a paper's, and how they are printed and drawn."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import altair as alt
import vl_convert
from arguments import folder_with, parser_of

from recveil.charts import draw_looks

_CONFIG = {
    "aria": False,
    "background": "white",
    "font": "Helvetica, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {"gridColor": "#e6e6e6", "domainColor": "#888888", "titleFontWeight": "normal"},
    "header": {"labelFontSize": 12, "title": None},
}


class Row(NamedTuple):
    """One figure of ours, next to the paper's.

    A row with `x` is a point of the chart; a row with a label is a line of the table; it may be
    both.

    Attributes
    ----------
    label : str
        What is counted; for a claim, with the bound by which it is judged.
    ours : float
    paper : float, optional
        As printed, or computed from what is printed. None: the text does not print it.
    holds : bool, optional
        Whether the paper's claim holds in ours; None where the row is no claim.
    fails : str
        What to say if it does not; "" where another row says it.
    form : str
        How both are written.
    series, x, panel
        The line of the chart, the place on its horizontal axis (text keeps its order), and which
        of the charts.
    interval : (float, float), optional
        Between which figures ours lies with 95 % confidence.
    """

    label: str
    ours: float
    paper: float | None = None
    holds: bool | None = None
    fails: str = ""
    form: str = ".4f"
    series: str = ""
    x: float | str | None = None
    panel: str = ""
    interval: tuple[float, float] | None = None


Run = Callable[[Path], list[Row]]
ScaleType = Literal["linear", "log"]


def table(rows: list[Row], next_to: str = "paper") -> str:
    """Write the labelled rows as a Markdown table, and below it what failed."""
    lines = [
        f"| what | recveil | {next_to} | difference | claim holds |",
        "|---|---:|---:|---:|---|",
    ]
    for row in rows:
        if not row.label:
            continue
        paper = "" if row.paper is None else format(row.paper, row.form)
        apart = "" if row.paper is None else difference(row.ours, row.paper, row.form)
        holds = "" if row.holds is None else "yes" if row.holds else "**no**"
        lines.append(f"| {row.label} | {ours(row)} | {paper} | {apart} | {holds} |")
    failed = [row.fails for row in rows if row.holds is False and row.fails]
    return "\n".join([*lines, *(f"\n**Fails:** {sentence}" for sentence in failed)])


def ours(row: Row) -> str:
    """Write our figure, and its interval if there is one.

    Examples
    --------
    >>> ours(Row("found", 0.5, form=".0%", interval=(0.4, 0.6)))
    '50% (40% to 60%)'
    """
    written = format(row.ours, row.form)
    if row.interval is None:
        return written
    low, high = (format(end, row.form) for end in row.interval)
    return f"{written} ({low} to {high})"


def difference(ours: float, paper: float, form: str) -> str:
    """Subtract the paper's figure; shares differ in points.

    Examples
    --------
    >>> difference(0.5, 0.75, ".1%"), difference(1.25, 1, ".2f")
    ('-25.0 points', '+0.25')
    """
    if form.endswith("%"):
        return f"{100 * (ours - paper):+{form[:-1]}f} points"
    return f"{ours - paper:+{form}}"


def draw(rows: list[Row], x: str, y: str, scale: ScaleType = "linear") -> str:
    """Draw the rows with an x as lines, one chart for each panel, two in a row; returns SVG."""
    points = [row for row in rows if row.x is not None]
    looks = draw_looks(row.series for row in points)
    names = [look.series for look in looks]
    panels = list(dict.fromkeys(row.panel for row in points))
    # Five digits are more than a line's width shows; more would only make the file longer.
    values = [
        {"x": row.x, "y": float(f"{row.ours:.5g}"), "series": row.series, "panel": row.panel}
        for row in points
    ]
    in_words = any(isinstance(row.x, str) for row in points)
    along = alt.X("x:O", title=x, sort=None, axis=alt.Axis(labelAngle=0))
    if not in_words:
        ticks = alt.Axis(tickCount=6, grid=False)
        along = alt.X(
            "x:Q", title=x, axis=ticks, scale=alt.Scale(type=scale, nice=scale == "linear")
        )
    legend = alt.Legend(title=None, orient="bottom", labelLimit=300, symbolType="stroke", columns=4)
    lines = (
        alt.Chart(alt.Data(values=values))
        .mark_line(strokeWidth=1.8, point={"size": 22})
        .encode(
            x=along,
            y=alt.Y("y:Q", title=y, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6)),
            color=alt.Color(
                "series:N",
                sort=names,
                scale=alt.Scale(domain=names, range=[look.colour for look in looks]),
                legend=legend if len(names) > 1 else None,
            ),
            strokeDash=alt.StrokeDash(
                "series:N",
                sort=names,
                scale=alt.Scale(domain=names, range=[look.dash for look in looks]),
                legend=legend if len(names) > 1 else None,
            ),
        )
        .properties(width=300 if len(panels) > 1 else 460, height=200)
    )
    chart = lines
    if len(panels) > 1:
        chart = lines.facet(alt.Facet("panel:N", sort=panels, title=None), columns=2)
    specification = chart.to_dict()
    specification["config"] = _CONFIG
    return str(vl_convert.vegalite_to_svg(specification, allowed_base_urls=[]))


def main(run: Run, usage: str | None, *files: str, next_to: str = "paper") -> None:
    """Print how a script reads the paper, and its table.

    The script's only argument is a folder with one of the files (u.data).
    """
    parser = parser_of(usage)
    parser.add_argument("folder", type=folder_with(*(files or ("u.data",))))
    folder = parser.parse_args().folder
    script = sys.modules["__main__"]
    if hasattr(script, "missing") and (missing := script.missing()):
        parser.error(missing)
    rows = run(folder)
    if not rows:
        parser.error("needs more data than this folder; the --help names them")
    print(f"{script.TITLE}\n\n{script.READING}\n")
    print(table(rows, next_to))
