"""Charts of a comparison, with the positions of the page's tooltips."""

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import altair as alt
import vl_convert

from recveil.charts import CONFIG, DASHES, SHAPES, Chart, Style
from recveil.comparison.risk_axes import PERSON, Axis
from recveil.release.registry import all_variants, variant_of

_SOFT = "#8a93a0"
_WIDTH, _HEIGHT = 370, 330
_SMALL = 250, 165
# Lower risks and gains are drawn at the edge; the page says so.
_LEAST_RISK, _LEAST_GAIN = 0.001, -0.5
_TICKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
_LINE = 15  # pixels between two names


class Spot(NamedTuple):
    """A position in the chart with a setting's tooltip."""

    # In percent of the drawing's width and height
    left: float
    top: float
    # The setting
    title: str


class Upward(NamedTuple):
    """The vertical axis of a large chart: one of the two retained shares."""

    # Its key among a row's retained shares
    name: str
    title: str
    # Meaning of a share of 0
    floor: str
    # Meaning of a share of 1
    whole: str


_LISTS = Upward("lists", "Lists", "no list holds anything right", "the best on raw data")
_RATINGS = Upward("ratings", "Ratings", "no better than averages", "the raw data’s gain")
_WORDS = Upward("ratings", "Words", "no better than commonest words", "the raw data’s gain")


def utilities_of(rows: Iterable[dict[str, Any]]) -> tuple[Upward, ...]:
    """Return the evaluated utilities; words have lists only if liked words are given.

    Examples
    --------
    >>> words = {"words_right": 0.6, "rmse": None, "ndcg": None}
    >>> [[each.title for each in utilities_of(rows)] for rows in ([words], [])]
    [['Words'], ['Lists', 'Ratings']]
    """
    names = "words_right", "rmse", "ndcg"
    told = {name for row in rows for name in names if row.get(name) is not None}
    if "words_right" in told:
        return (_LISTS, _WORDS) if "ndcg" in told else (_WORDS,)
    return (_LISTS,) if told == {"ndcg"} else (_LISTS, _RATINGS)


def looks_of(rows: Iterable[dict[str, Any]]) -> list[Style]:
    """Choose a style for each method: colours distinguish kinds, shapes and dashes their variants.

    Examples
    --------
    >>> rows = [{"method": "padded"}, {"method": "raw"}, {"method": "padded-mdav"}]
    >>> [(look.series, look.colour, look.dash) for look in looks_of(rows)]
    [('padded', '#0072B2', [1, 0]), ('raw', '#666666', [1, 0]), ('padded-mdav', '#0072B2', [6, 3])]
    """
    kinds = list(dict.fromkeys(variant.kind for _, variant in all_variants().values()))
    members: dict[str, list[str]] = {kind: [] for kind in kinds}
    looks: dict[str, Style] = {}
    for row in rows:
        method = row["method"]
        if method not in looks:
            variant = variant_of(method)
            kind = variant.kind
            at, offset = len(members[kind]), kinds.index(kind)
            members[kind].append(method)
            shape = SHAPES[(at + offset) % len(SHAPES)]
            looks[method] = Style(method, variant.colour, shape, DASHES[at % len(DASHES)])
    return list(looks.values())


def kinds_of(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the colour of each kind of method, by its name.

    Examples
    --------
    >>> kinds_of([{"method": "padded"}, {"method": "padded-mdav"}])
    {'padded': '#0072B2'}
    """
    variants = [variant_of(row["method"]) for row in rows]
    return {variant.kind: variant.colour for variant in variants}


def draw_frontier(
    rows: list[dict[str, Any]], utility: Upward, chosen: str | None, axis: Axis = PERSON
) -> tuple[Chart, list[Spot]] | None:
    """Draw a retained share against risk, one line per method, with names and numbers."""
    # Altair copies its data repeatedly, so pass only the needed columns.
    wanted = ("method", "title", "k", axis.value, axis.low, axis.high)
    drawn = [
        {name: row[name] for name in wanted} | {"share": row["kept"][utility.name]["value"]}
        for row in rows
        if row[axis.value] is not None and _is_reported(row.get("kept", {}).get(utility.name))
    ]
    if not drawn:
        return None
    looks = {look.series: look for look in looks_of(rows)}
    lowest = max(_LEAST_GAIN, min(0.0, *(row["share"] for row in drawn)))
    span = lowest - 0.04 * (1 - lowest), 1 + 0.06 * (1 - lowest)
    points = [
        row
        | looks[row["method"]]._asdict()
        | {
            "x": max(_LEAST_RISK, row[axis.value]),
            "low": max(_LEAST_RISK, _end(row, axis.low, 0.0)),
            "high": max(_LEAST_RISK, _end(row, axis.high, 1.0)),
            "y": max(lowest, row["share"]),
            "number": "" if row["k"] is None else str(row["k"]),
        }
        for row in drawn
    ]
    names = _names(points, span)
    chart = _frontier_layers(points, names, span, utility, chosen, axis)
    # Names are at the edge, and a reader's font may be wider than the measured one.
    chart = chart.properties(width=_WIDTH, height=_HEIGHT)
    svg = _svg(chart, right=34)
    return Chart(svg, [], True, True, layers=chart), _spots(svg, points, span)


def _end(row: dict[str, Any], name: str, unknown: float) -> float:
    """Return an end of an interval; the widest possible one if unknown."""
    return unknown if row[name] is None else float(row[name])


def _is_reported(share: dict[str, Any] | None) -> bool:
    return share is not None and bool(share.get("is_told", True))


def _names(points: list[dict[str, Any]], span: tuple[float, float]) -> list[dict[str, Any]]:
    """Place the methods' names at the right edge without overlap, each tied to its last point."""
    last: dict[str, dict[str, Any]] = {}
    for point in points:
        other = last.get(point["method"])
        if other is None or point["x"] > other["x"]:
            last[point["method"]] = point
    step = _LINE / _HEIGHT * (span[1] - span[0])
    ends = sorted(last.values(), key=lambda point: (-point["y"], point["x"]))
    places = _apart([point["y"] for point in ends], step, span[0])
    return [
        point
        | {
            "text": point["method"]
            + (f" ({point['share']:.0%})" if point["share"] < point["y"] else ""),
            "name_y": place,
            "from_x": _beyond(8),
            "to_x": _beyond(26),
            "name_x": _beyond(30),
        }
        for point, place in zip(ends, places, strict=True)
    ]


def _apart(heights: list[float], step: float, floor: float) -> list[float]:
    """Move descending heights apart until each is a step below the one before."""
    places: list[float] = []
    for height in heights:
        places.append(min(height, places[-1] - step) if places else height)
    lowest = floor
    for at in range(len(places) - 1, -1, -1):
        places[at] = max(places[at], lowest)
        lowest = places[at] + step
    return places


def _beyond(pixels: float) -> float:
    """Return the risk at a distance in pixels right of 100 %."""
    return float(10 ** (pixels / _WIDTH * -math.log10(_LEAST_RISK)))


def _frontier_layers(
    points: list[dict[str, Any]],
    names: list[dict[str, Any]],
    span: tuple[float, float],
    utility: Upward,
    chosen: str | None,
    axis: Axis,
) -> alt.LayerChart:
    x = alt.Scale(type="log", domain=[_LEAST_RISK, 1], nice=False)
    y = alt.Scale(domain=list(span), nice=False)
    ticks = "datum.value < 0.01 ? format(datum.value, '.1%') : format(datum.value, '.0%')"
    across = alt.X(
        "x:Q",
        scale=x,
        title=f"← safer  ·  share {axis.limit} (log scale)",
        axis=alt.Axis(values=_TICKS, labelExpr=ticks),
    )
    shares = alt.Axis(format=".0%", values=[-0.5, -0.25, 0, 0.25, 0.5, 0.75, 1])
    up = alt.Y(
        "y:Q",
        scale=y,
        title=f"{utility.title.lower()}: share of {utility.whole}  ·  better →",
        axis=shares,
    )
    base = alt.Chart({"values": points}).encode(
        x=across, y=up, color=alt.Color("colour:N", scale=None), detail="method:N"
    )
    edges = [
        {"y": 1, "text": "as good as the raw data"},
        {"y": 0, "text": utility.floor},
    ]
    rules = alt.Chart({"values": edges}).encode(y=alt.Y("y:Q", scale=y))
    reference = rules.mark_rule(color="#444444", strokeWidth=1)
    words = rules.mark_text(align="left", dx=4, dy=-6, fontSize=11, color="#555555").encode(
        x=alt.datum(_LEAST_RISK), text="text:N"
    )
    lines = base.mark_line(strokeWidth=1.8).encode(
        order="x:Q", strokeDash=alt.StrokeDash("dash:N", scale=None)
    )
    bars = base.mark_rule(strokeWidth=1, opacity=0.55).encode(x="low:Q", x2="high:Q")
    marks = base.mark_point(size=70, filled=True, opacity=1).encode(
        shape=alt.Shape("shape:N", scale=None)
    )
    # Where lines are vertical, at the right edge, numbers are next to them.
    upright = base.transform_filter("datum.x > 0.85").encode(text="number:N")
    others = base.transform_filter("datum.x <= 0.85").encode(text="number:N")
    numbers = others.mark_text(dy=-14, fontSize=10.5) + upright.mark_text(
        dx=-13, dy=1, fontSize=10.5
    )
    ties = (
        alt.Chart({"values": _ties(names)})
        .mark_line(strokeWidth=0.9, color=_SOFT, opacity=0.8, strokeDash=[1, 3])
        .encode(x=alt.X("x:Q", scale=x), y=alt.Y("y:Q", scale=y), detail="method:N", order="at:Q")
    )
    texts = (
        alt.Chart({"values": names})
        .mark_text(align="left", fontSize=12, fontWeight="bold")
        .encode(
            x=alt.X("name_x:Q", scale=x),
            y=alt.Y("name_y:Q", scale=y),
            text="text:N",
            color=alt.Color("colour:N", scale=None),
        )
    )
    ring = (
        alt.Chart({"values": [point for point in points if point["title"] == chosen]})
        .mark_point(size=280, strokeWidth=2.2, color="#111111", opacity=1)
        .encode(x="x:Q", y="y:Q")
    )
    return alt.LayerChart(layer=[reference, words, ties, bars, lines, marks, numbers, ring, texts])


def _ties(names: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return three points for each line from a method's last point to its name."""
    return [
        {"method": name["method"], "x": x, "y": y, "at": at}
        for name in names
        for at, (x, y) in enumerate(
            [
                (name["x"], name["y"]),
                (name["from_x"], name["y"]),
                (name["to_x"], name["name_y"]),
            ]
        )
    ]


def _spots(svg: str, points: list[dict[str, Any]], span: tuple[float, float]) -> list[Spot]:
    """Return the positions of the points in the rendered chart."""
    _, _, width, height = map(float, _matched(r'viewBox="([^"]*)"', svg).split())
    left, top = map(float, _matched(r"translate\(([^)]*)\)", svg).split(","))
    spots = []
    for point in points:
        x = _WIDTH * (1 - math.log10(point["x"]) / math.log10(_LEAST_RISK))
        y = _HEIGHT * (span[1] - point["y"]) / (span[1] - span[0])
        spots.append(Spot(100 * (left + x) / width, 100 * (top + y) / height, point["title"]))
    return spots


def _matched(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""


def draw_panel(
    rows: list[dict[str, Any]], field: str, form: str, lines: list[tuple[str, float]]
) -> Chart | None:
    """Draw one measure against k, one line per method; None if no row has it."""
    drawn = [row for row in rows if row["k"] is not None and row.get(field) is not None]
    if not drawn:
        return None
    looks = {look.series: look for look in looks_of(rows)}
    points = [
        {"method": row["method"], "k": row["k"], "y": row[field]} | looks[row["method"]]._asdict()
        for row in drawn
    ]
    ks = sorted({row["k"] for row in drawn})
    x = alt.X(
        "k:Q",
        title="k",
        scale=alt.Scale(type="log", domain=[ks[0] / 1.15, ks[-1] * 1.15], nice=False),
        axis=alt.Axis(values=ks, format="d", grid=False),
    )
    y = alt.Y(
        "y:Q",
        title=None,
        scale=alt.Scale(zero=False, padding=8),
        axis=alt.Axis(tickCount=5, format=form),
    )
    base = alt.Chart({"values": points}).encode(
        x=x, y=y, color=alt.Color("colour:N", scale=None), detail="method:N"
    )
    curves = base.mark_line(strokeWidth=1.6).encode(strokeDash=alt.StrokeDash("dash:N", scale=None))
    marks = base.mark_point(size=38, filled=True, opacity=1).encode(
        shape=alt.Shape("shape:N", scale=None)
    )
    edges = [{"y": height, "text": name} for name, height in lines]
    rules = alt.Chart({"values": edges}).encode(y="y:Q")
    reference = rules.mark_rule(color="#444444", strokeWidth=1, strokeDash=[2, 2])
    words = rules.mark_text(align="right", dx=-3, dy=-6, fontSize=10.5, color="#444444").encode(
        x=alt.datum(ks[-1] * 1.15), text="text:N"
    )
    chart = alt.LayerChart(layer=[reference, curves, marks, words])
    svg = _svg(chart.properties(width=_SMALL[0], height=_SMALL[1]))
    return Chart(svg, list(looks.values()), True, True)


def _svg(chart: alt.LayerChart, right: int = 14) -> str:
    """Render a chart; width and height are those of the plot area, so that positions are known."""
    specification = chart.to_dict(validate=False)
    specification["autosize"] = {"type": "pad"}
    specification["config"] = CONFIG | {"padding": CONFIG["padding"] | {"right": right}}
    svg = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r"<svg \1>", svg, count=1)
