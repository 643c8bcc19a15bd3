"""Charts of a comparison, with the positions of the page's tooltips."""

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple, TypedDict

import altair as alt
import vl_convert

from recveil.charts import (
    CONFIG,
    DASHES,
    INK,
    SHAPES,
    Caption,
    Chart,
    Style,
    place_captions,
    places_around,
    width_of,
)
from recveil.comparison.choice import REIDENTIFICATION, Axis
from recveil.comparison.results import Comparison
from recveil.comparison.rows import Row, shares_of
from recveil.release.registry import all_variants, variant_of
from recveil.report.comparison.text import headline_choice
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.number_format import percent

_SOFT = "#8a93a0"
_WIDTH, _HEIGHT = 370, 330
_SMALL = 250, 165
# Lower risks and gains are drawn at the edge; the page says so.
_LEAST_RISK, _LEAST_GAIN = 0.001, -0.5
_TICKS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
_FEW_POINTS = 0.05
_LINE = 15  # pixels between two names
_FONT = 11.0  # of the numbers and of the names of lines


class Spot(NamedTuple):
    """A position in the chart with a setting's tooltip."""

    # In percent of the drawing's width and height
    left: float
    top: float
    # The setting
    title: str


class Upward(NamedTuple):
    """The vertical axis of a large chart: one of the two retained shares."""

    # Its name among a row's retained shares
    name: str
    title: str
    # Meaning of a share of 0
    floor: str
    # Meaning of a share of 1
    whole: str


POPULAR = "popular items alone"
_LISTS = Upward("lists", "Lists", "no list has a relevant item", "the best on raw data")
_RATINGS = Upward("ratings", "Ratings", "no better than averages", "the raw data’s gain")
_LABELS = Upward("ratings", "Labels", "no better than most frequent labels", "the raw data’s gain")


def utilities_of(rows: Iterable[Row]) -> tuple[Upward, ...]:
    """Return the evaluated utilities; nominal labels have lists only if liked labels are given.

    >>> row = Row("nominal", 5, "k-anonymity", None, nominal_accuracy=0.6)
    >>> [[each.title for each in utilities_of(rows)] for rows in ([row], [])]
    [['Labels'], ['Lists', 'Ratings']]
    """
    names = "nominal_accuracy", "rmse", "ndcg"
    measured = {name for row in rows for name in names if getattr(row, name) is not None}
    if "nominal_accuracy" in measured:
        return (_LISTS, _LABELS) if "ndcg" in measured else (_LABELS,)
    return (_LISTS,) if measured == {"ndcg"} else (_LISTS, _RATINGS)


def styles_of(methods: Iterable[str]) -> dict[str, Style]:
    """Choose a style for each method: colours distinguish kinds, shapes and dashes their variants.

    >>> styles = styles_of(["padded", "raw", "padded-mdav"])
    >>> [(name, style.colour, style.dash) for name, style in styles.items()]
    [('padded', '#0072B2', [1, 0]), ('raw', '#666666', [1, 0]), ('padded-mdav', '#0072B2', [6, 3])]
    """
    kinds = list(dict.fromkeys(variant.kind for _, variant in all_variants().values()))
    members: dict[str, list[str]] = {kind: [] for kind in kinds}
    styles: dict[str, Style] = {}
    for method in dict.fromkeys(methods):
        variant = variant_of(method)
        at, offset = len(members[variant.kind]), kinds.index(variant.kind)
        members[variant.kind].append(method)
        shape = SHAPES[(at + offset) % len(SHAPES)]
        styles[method] = Style(method, variant.colour, shape, DASHES[at % len(DASHES)])
    return styles


def colours_of(rows: Iterable[Row]) -> dict[str, str]:
    """Return the colour of each kind of method, by its name.

    >>> colours_of([Row("padded", 5, "k-anonymity", None), Row("padded-mdav", 5, "", None)])
    {'padded': '#0072B2'}
    """
    variants = [variant_of(row.method) for row in rows]
    return {variant.kind: variant.colour for variant in variants}


class _Columns(TypedDict):
    """The style of a method as columns of a chart's data."""

    series: str
    colour: str
    shape: str
    dash: list[int]


def _columns(style: Style) -> _Columns:
    return {
        "series": style.series,
        "colour": style.colour,
        "shape": style.shape,
        "dash": style.dash,
    }


class _Point(_Columns):
    """A setting in the frontier chart, with the style of its method."""

    method: str
    title: str
    share: float
    x: float
    low: float
    high: float
    y: float
    number: str


class _Degree(TypedDict):
    """A point of a line of growing padding: the settings of one k, by their degree."""

    k: int | None
    degree: float
    x: float
    y: float


class _Name(_Point):
    """A method's last point, with the place of the method's name."""

    text: str
    name_y: float
    from_x: float
    to_x: float
    name_x: float


def draw_frontier(
    rows: list[Row], utility: Upward, chosen: str | None, axis: Axis = REIDENTIFICATION
) -> tuple[Chart, list[Spot]] | None:
    """Draw a retained share against risk, one line per method, with names and numbers."""
    shares = {row: getattr(shares_of(row), utility.name) for row in rows}
    placed = [
        (row, risk, share.value)
        for row, share in shares.items()
        if (risk := axis.of(row)) is not None and share is not None and share.is_reliable
    ]
    if not placed:
        return None
    styles = styles_of(row.method for row in rows)
    lowest = max(_LEAST_GAIN, min(0.0, *(share for _, _, share in placed)))
    span = lowest - 0.04 * (1 - lowest), 1 + 0.06 * (1 - lowest)
    # Altair copies its data repeatedly, so pass only the needed columns.
    points: list[_Point] = [
        {
            "method": row.method,
            "title": row.title,
            "share": share,
            "x": max(_LEAST_RISK, risk),
            # An unknown end is the widest possible one.
            "low": max(_LEAST_RISK, getattr(row, axis.low) or 0.0),
            "high": max(_LEAST_RISK, axis.highest(row)),
            "y": max(lowest, share),
            "number": "" if row.k is None else str(row.k),
            **_columns(styles[row.method]),
        }
        for row, risk, share in placed
    ]
    names = _names(points, span)
    edges = [("as good as the raw data", 1.0), (utility.floor, 0.0)]
    popular = popular_share(rows) if utility is _LISTS else None
    if popular is not None:
        above = f" ({percent(popular)})" if popular > 1 else ""
        edges.insert(0, (f"{POPULAR}{above}", min(popular, 1.0)))
    chart = _frontier_layers(points, names, span, utility, edges, chosen, axis)
    curves = padding_curves(points)
    if curves:
        chart = alt.LayerChart(layer=[_curve_layer(curves), *chart.layer])
    # Names are at the edge, and a reader's font may be wider than the measured one.
    chart = chart.properties(width=_WIDTH, height=_HEIGHT)
    svg = _svg(chart, right=34)
    return Chart(svg, [], True, True, layers=chart), _spots(svg, points, span)


def popular_share(rows: Iterable[Row]) -> float | None:
    """Return how good lists of popular items are, as a share of the lists retained from raw data.

    >>> row = Row("raw", None, "nothing", None, ndcg=0.2, ndcg_retained=1.0, popularity_ndcg=0.1)
    >>> popular_share([row]), popular_share([])
    (0.5, None)
    """
    # It is the same in all rows that have one.
    for row in rows:
        if row.ndcg and row.ndcg_retained and row.popularity_ndcg:
            return row.popularity_ndcg * row.ndcg_retained / row.ndcg
    return None


def padding_of(method: str) -> float | None:
    """Return the degree of padding of a method; None if it is not of that line.

    >>> [padding_of(name) for name in ("simple", "padded-0.25", "padded", "padded-mdav", "raw")]
    [0.0, 0.25, 1.0, None, None]
    """
    degree = variant_of(method).options.get("padding")
    return {"simple": 0.0, "padded": 1.0}.get(method, degree)


def padding_curves(points: Iterable[_Point]) -> list[_Degree]:
    """Return the points of each k that has a degree between simple and padded, by degree."""
    curves: dict[int | None, list[_Degree]] = {}
    for point in points:
        if (degree := padding_of(point["method"])) is not None:
            k = int(point["number"]) if point["number"] else None
            curves.setdefault(k, []).append(
                {"k": k, "degree": degree, "x": point["x"], "y": point["y"]}
            )
    return [
        point
        for curve in curves.values()
        if len(curve) > 1 and any(0 < point["degree"] < 1 for point in curve)
        for point in sorted(curve, key=lambda point: point["degree"])
    ]


def _curve_layer(curves: list[_Degree]) -> alt.Chart:
    return (
        alt.Chart({"values": curves})
        .mark_line(strokeWidth=2.4, color=_SOFT, opacity=0.7, strokeDash=[2, 3])
        .encode(x="x:Q", y="y:Q", detail="k:N", order="degree:Q")
    )


def chart(comparison: Comparison, name: str | None = None) -> Any:
    """Return an Altair chart of utility against risk: of "lists" (default) or "ratings"."""
    utilities = {utility.name: utility for utility in utilities_of(comparison.rows)}
    name = name or next(iter(utilities))
    if name not in utilities:
        raise RecveilError(
            f"chart {quoted(name)}: expected one of {', '.join(utilities)}",
            code="argument.value",
        )
    choice = headline_choice(comparison)
    title = None if choice is None or choice.row is None else choice.row.title
    drawn = draw_frontier(comparison.rows, utilities[name], title, comparison.axis)
    if drawn is None:
        raise RecveilError(
            f"chart {quoted(name)}: no setting has a risk and a reported share of {name}; compare "
            f"other settings",
            code="argument.value",
        )
    return drawn[0].with_key()


def _names(points: list[_Point], span: tuple[float, float]) -> list[_Name]:
    """Place the methods' names at the right edge without overlap, each tied to its last point."""
    last: dict[str, _Point] = {}
    for point in points:
        other = last.get(point["method"])
        if other is None or point["x"] > other["x"]:
            last[point["method"]] = point
    step = _LINE / _HEIGHT * (span[1] - span[0])
    ends = sorted(last.values(), key=lambda point: (-point["y"], point["x"]))
    places = _apart([point["y"] for point in ends], step, span[0])
    return [
        {
            **point,
            "text": point["method"]
            + (f" ({percent(point['share'])})" if point["share"] < point["y"] else ""),
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
    """Return the risk at a distance in pixels right of 100%."""
    return float(10 ** (pixels / _WIDTH * -math.log10(_LEAST_RISK)))


def _frontier_layers(
    points: list[_Point],
    names: list[_Name],
    span: tuple[float, float],
    utility: Upward,
    edges: list[tuple[str, float]],
    chosen: str | None,
    axis: Axis,
) -> alt.LayerChart:
    x = alt.Scale(type="log", domain=[_LEAST_RISK, 1], nice=False)
    y = alt.Scale(domain=list(span), nice=False)
    ticks = "datum.value < 0.01 ? format(datum.value, '.1%') : format(datum.value, '.0%')"
    across = alt.X(
        "x:Q",
        scale=x,
        title=f"← safer  ·  share of {axis.label} (log scale)",
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
    rules = alt.Chart({"values": [{"y": height} for _, height in edges]})
    reference = rules.mark_rule(color=INK, strokeWidth=1).encode(y=alt.Y("y:Q", scale=y))
    texts = (
        alt.Chart({"values": _place_texts(points, edges, span, chosen)})
        .mark_text(fontSize=_FONT, baseline="middle")
        .encode(
            x=alt.X("x:Q", scale=x),
            y=alt.Y("y:Q", scale=y),
            text="text:N",
            color=alt.Color("colour:N", scale=None),
        )
    )
    lines = base.mark_line(strokeWidth=1.8).encode(
        order="x:Q", strokeDash=alt.StrokeDash("dash:N", scale=None)
    )
    bars = base.mark_rule(strokeWidth=1, opacity=0.55).encode(x="low:Q", x2="high:Q")
    marks = base.mark_point(size=70, filled=True, opacity=1).encode(
        shape=alt.Shape("shape:N", scale=None)
    )
    ties = (
        alt.Chart({"values": _ties(names)})
        .mark_line(strokeWidth=0.9, color=_SOFT, opacity=0.8, strokeDash=[1, 3])
        .encode(x=alt.X("x:Q", scale=x), y=alt.Y("y:Q", scale=y), detail="method:N", order="at:Q")
    )
    ends = (
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
        .mark_point(size=280, strokeWidth=2.2, color=INK, opacity=1)
        .encode(x="x:Q", y="y:Q")
    )
    return alt.LayerChart(layer=[reference, ties, bars, lines, marks, texts, ring, ends])


def _place_texts(
    points: list[_Point],
    edges: list[tuple[str, float]],
    span: tuple[float, float],
    chosen: str | None,
) -> list[dict[str, object]]:
    """Place the names of the horizontal lines, then the numbers, first of the chosen setting."""
    captions = []
    for text, height in edges:
        half, y = width_of(text, _FONT) / 2 + 4, _down(height, span)
        across = half, _WIDTH - half, _WIDTH / 2
        captions.append(Caption(text, [(x, y + dy) for x in across for dy in (-8, 9)]))
    numbered = [point for point in points if point["number"]]
    numbered.sort(key=lambda point: point["title"] != chosen)
    for point in numbered:
        x, y = _across(point["x"]), _down(point["y"], span)
        gap = 12 if point["title"] == chosen else 9
        captions.append(Caption(point["number"], places_around(x, y, point["number"], _FONT, gap)))
    marks = [(_across(point["x"]), _down(point["y"], span)) for point in points]
    # The names of the methods begin a little right of the plot.
    heights = [_down(height, span) for _, height in edges]
    within = 0, -14, _WIDTH + 6, _HEIGHT + 2
    places = place_captions(captions, marks, within, _FONT, lines=heights)
    colours = [INK] * len(edges) + [point["colour"] for point in numbered]
    return [
        {
            "text": caption.text,
            "colour": colour,
            "x": _beyond(place[0] - _WIDTH),
            "y": span[1] - place[1] / _HEIGHT * (span[1] - span[0]),
        }
        for caption, colour, place in zip(captions, colours, places, strict=True)
        if place is not None
    ]


def _across(risk: float) -> float:
    return _WIDTH * (1 - math.log10(risk) / math.log10(_LEAST_RISK))


def _down(share: float, span: tuple[float, float]) -> float:
    return _HEIGHT * (span[1] - share) / (span[1] - span[0])


def _ties(names: list[_Name]) -> list[dict[str, object]]:
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


def _spots(svg: str, points: list[_Point], span: tuple[float, float]) -> list[Spot]:
    """Return the positions of the points in the rendered chart."""
    _, _, width, height = map(float, _matched(r'viewBox="([^"]*)"', svg).split())
    left, top = map(float, _matched(r"translate\(([^)]*)\)", svg).split(","))
    spots = []
    for point in points:
        x, y = _across(point["x"]), _down(point["y"], span)
        spots.append(Spot(100 * (left + x) / width, 100 * (top + y) / height, point["title"]))
    return spots


def _matched(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else ""


def draw_panel(
    rows: list[Row], field: str, form: str, lines: list[tuple[str, float]]
) -> Chart | None:
    """Draw one measure against k, one line per method; None if no row has it."""
    drawn = [row for row in rows if row.k is not None and getattr(row, field) is not None]
    if not drawn:
        return None
    styles = styles_of(row.method for row in rows)
    points = [
        {"method": row.method, "k": row.k, "y": getattr(row, field), **_columns(styles[row.method])}
        for row in drawn
    ]
    ks = sorted({row.k for row in drawn if row.k is not None})
    heights = [getattr(row, field) for row in drawn] + [height for _, height in lines]
    if form == ".0%" and max(heights) - min(heights) < _FEW_POINTS:
        form = ".1%"  # so that no two ticks have the same label
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
    reference = rules.mark_rule(color=INK, strokeWidth=1, strokeDash=[2, 2])
    words = rules.mark_text(align="right", dx=-3, dy=-6, fontSize=10.5, color=INK).encode(
        x=alt.datum(ks[-1] * 1.15), text="text:N"
    )
    chart = alt.LayerChart(layer=[reference, curves, marks, words])
    svg = _svg(chart.properties(width=_SMALL[0], height=_SMALL[1]))
    return Chart(svg, list(styles.values()), True, True)


def _svg(chart: alt.LayerChart, right: int = 14) -> str:
    """Render a chart; width and height are those of the plot area, so that positions are known."""
    specification = chart.to_dict(validate=False)
    specification["autosize"] = {"type": "pad"}
    specification["config"] = {**CONFIG, "padding": CONFIG["padding"] | {"right": right}}
    svg = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r"<svg \1>", svg, count=1)
