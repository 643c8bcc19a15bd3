"""Charts as static SVG, readable without scripts, network or colours, and in print."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

import altair as alt
import vl_convert

# Okabe & Ito's colour-blind safe palette, without its yellow, which is too pale for a line on
# white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
# The numbers of colours, shapes and dashes are coprime, so that 210 series look different.
SHAPES = (
    "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.1L1.1,.8H-1.1Z",
    "M0,-1.2L1,0L0,1.2L-1,0Z",
    "M0,1.1L1.1,-.8H-1.1Z",
    "M-.4,-1H.4V-.4H1V.4H.4V1H-.4V.4H-1V-.4H-.4Z",
)
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4])
# Suffixes of a series' name: the same adversary by two measures.
_MEASURES = (", eccentricity ≥ 1.5", ", best attack", " (in the data)", " (not in the data)")

# The style sheet of the pages has other values of these, and of dark colours, for dark mode.
INK, _GRID = "#333333", "#e6e6e6"
CONFIG: Mapping[str, Any] = {
    # Leave out the descriptions of single points, which would be half of the page.
    "aria": False,
    "background": "transparent",
    "font": "Helvetica, Arial, sans-serif",
    "view": {"stroke": None},
    # Fonts other than Helvetica may be wider than the measured one.
    "padding": {"left": 14, "top": 14, "right": 14, "bottom": 5},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11.5,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "gridColor": _GRID,
        "domainColor": "#888888",
        "tickColor": "#888888",
        "labelLimit": 260,
        "labelFlush": False,
    },
}
_SHARE_AXIS = alt.Axis(format=".0%", values=[0, 0.2, 0.4, 0.6, 0.8, 1])
_WIDTH, _HEIGHT = 420, 265


class Style(NamedTuple):
    """The style of a series."""

    series: str
    colour: str
    # An SVG path within -1 to 1
    shape: str
    # Lengths of strokes and gaps
    dash: list[int]


class Chart(NamedTuple):
    """A chart without its key, which the page adds, so that long names can wrap."""

    svg: str
    # One per series, in the order of the data
    looks: list[Style]
    # Which marks the chart contains
    has_shapes: bool
    has_lines: bool
    # Whether hollow points mark knowledge that is partly wrong
    has_hollow: bool = False
    # The Altair chart
    layers: Any = None

    def with_key(self) -> Any:
        """Return the Altair chart with its key, for a notebook."""
        white = {**CONFIG, "background": "white"}  # the ink is dark, and so may be a notebook
        if not self.looks:
            return self.layers.configure(**white)
        names = [look.series for look in self.looks]
        base = alt.Chart({"values": [look._asdict() for look in self.looks]}).encode(
            y=alt.Y("series:N", sort=names, axis=None), color=alt.Color("colour:N", scale=None)
        )
        mark = base.mark_point(size=60, filled=True, opacity=1)
        if not self.has_shapes:
            mark = base.mark_point(size=60, filled=True, opacity=1, shape="stroke", strokeWidth=3)
        else:
            mark = mark.encode(shape=alt.Shape("shape:N", scale=None))
        words = base.mark_text(align="left", dx=12, fontSize=11.5).encode(
            text="series:N", color=alt.value(INK)
        )
        key = (mark + words).properties(width=24, height=18 * len(names))
        return alt.hconcat(self.layers, key).configure(**white)


class RateRow(TypedDict):
    """A rate with its interval: one point in the row of its name."""

    name: str
    series: str
    rate: float
    low: float
    high: float


class Bin(TypedDict):
    """The number of users between two probabilities."""

    low: float
    high: float
    users: int


class CurvePoint(TypedDict):
    """A point of a curve, as in JSON; see `recveil.auditing.Point`."""

    series: str
    x: str | float
    y: float
    low: NotRequired[float]
    high: NotRequired[float]


class Curves(TypedDict):
    """A figure, as in JSON; see `recveil.auditing.Figure`."""

    number: str
    x: str
    y: str
    points: list[CurvePoint]


def draw_looks(series: Iterable[str]) -> list[Style]:
    """Choose a distinct style for each series, even in black and white."""
    names = list(dict.fromkeys(series))
    parts = [_split(name) for name in names]
    owners = list(dict.fromkeys(owner for owner, _ in parts))
    measures = list(dict.fromkeys(measure for _, measure in parts))
    looks = []
    for name, (owner, measure) in zip(names, parts, strict=True):
        i = owners.index(owner)
        dash = measures.index(measure) if len(measures) > 1 else i
        shape, stroke = SHAPES[i % len(SHAPES)], DASHES[dash % len(DASHES)]
        looks.append(Style(name, COLOURS[i % len(COLOURS)], shape, stroke))
    return looks


def draw_curves(figure: Curves) -> Chart:
    """Draw a figure of the audit."""
    if any(isinstance(point["x"], str) for point in figure["points"]):
        return _draw_steps(figure)
    return _draw_lines(figure)


def draw_rates(rows: list[RateRow], title: str) -> Chart:
    """Draw rates with their intervals, one row per name.

    >>> row = {"name": "colleague", "series": "found", "rate": 0.5, "low": 0.4, "high": 0.6}
    >>> ">colleague<" in draw_rates([row], "share of users").svg
    True
    """
    looks = draw_looks(row["series"] for row in rows)
    values = _dress(rows, looks)
    names = list(dict.fromkeys(row["name"] for row in rows))
    base = alt.Chart({"values": values}).encode(
        y=alt.Y(
            "name:N",
            sort=names,
            title=None,
            scale=alt.Scale(paddingInner=0.45),
            axis=alt.Axis(ticks=False, grid=True, labelPadding=10),
        ),
        yOffset=alt.YOffset("series:N", sort=[look.series for look in looks]),
        color=alt.Color("colour:N", scale=None),
    )
    share = alt.Scale(domain=[0, 1])
    intervals = base.mark_rule(strokeWidth=1.5).encode(
        x=alt.X("low:Q", title=title, scale=share, axis=_SHARE_AXIS), x2="high:Q"
    )
    points = base.mark_point(size=60, filled=True, opacity=1).encode(
        x=alt.X("rate:Q"), shape=alt.Shape("shape:N", scale=None)
    )
    height = 40 + len(names) * (16 + 10 * len(looks))
    chart = (intervals + points).properties(width=_WIDTH, height=height)
    return Chart(_svg(chart), looks, True, False, layers=chart)


def draw_histogram(bins: list[Bin], x: str, y: str, form: str = ".0%") -> Chart:
    """Draw the number of users in each interval of probability.

    >>> bins = [{"low": 0, "high": 0.5, "users": 3}, {"low": 0.5, "high": 1, "users": 7}]
    >>> ">7<" in draw_histogram(bins, "probability", "users").svg
    True
    """
    # An empty bin gets no "0", since it has no bar.
    values = [{**entry, "label": f"{entry['users']:,}" if entry["users"] else ""} for entry in bins]
    base = alt.Chart({"values": values})
    edges = sorted({edge for entry in bins for edge in (entry["low"], entry["high"])})
    axis = alt.Axis(format=form, grid=False, values=edges)
    bars = base.mark_bar(color=COLOURS[0], binSpacing=2).encode(
        x=alt.X("low:Q", title=x, axis=axis).bin("binned"),
        x2="high:Q",
        y=alt.Y("users:Q", title=y),
    )
    labels = base.transform_calculate(middle="(datum.low + datum.high) / 2")
    labels = labels.mark_text(dy=-7, fontSize=12, color=INK).encode(
        x="middle:Q", y="users:Q", text="label:N"
    )
    chart = (bars + labels).properties(width=_WIDTH, height=200)
    return Chart(_svg(chart), [], False, False, layers=chart)


class Caption(NamedTuple):
    """A text, and the places where its centre may be, best first, in pixels."""

    text: str
    places: Sequence[tuple[float, float]]


def width_of(text: str, size: float) -> float:
    """Return an upper bound of a text's width in pixels."""
    return 0.62 * size * len(text)


def places_around(
    x: float, y: float, text: str, size: float, gap: float = 9
) -> list[tuple[float, float]]:
    """Return places of a text around a point: above, below, left, right, and farther away."""
    aside, up = width_of(text, size) / 2, size / 2
    return [
        (x + across * (aside + near), y + down * (up + far * gap))
        for far in (1, 2, 3)
        for across, down, near in (
            *((0, -1, 0), (0, 1, 0), (1, 0, far * gap), (-1, 0, far * gap)),
            *((1, -1, 0), (-1, -1, 0), (1, 1, 0), (-1, 1, 0)),
        )
    ]


def place_captions(
    captions: Iterable[Caption],
    marks: Iterable[tuple[float, float]],
    edges: tuple[float, float, float, float],
    size: float,
    radius: float = 6,
    lines: Sequence[float] = (),
) -> list[tuple[float, float] | None]:
    """Place captions, the first one first, where they overlap no other, no mark and no line.

    `marks` are centres, `edges` left, top, right and bottom, `lines` heights of horizontal lines.
    None is for a caption with no free place.

    >>> captions = [Caption("5", places_around(50, 50, "5", 10)) for _ in range(2)]
    >>> place_captions(captions, [(50, 50)], (0, 0, 100, 100), 10)
    [(50.0, 36.0), (50.0, 64.0)]
    """
    left, top, right, bottom = edges
    taken = [(x - radius, y - radius, x + radius, y + radius) for x, y in marks]
    placed: list[tuple[float, float] | None] = []
    for caption in captions:
        aside, up = width_of(caption.text, size) / 2, size / 2
        for x, y in caption.places:
            box = x - aside, y - up, x + aside, y + up
            inside = box[0] >= left and box[1] >= top and box[2] <= right and box[3] <= bottom
            is_crossed = any(box[1] < height < box[3] for height in lines)
            if (
                inside
                and not is_crossed
                and not any(
                    box[0] < other[2]
                    and other[0] < box[2]
                    and box[1] < other[3]
                    and other[1] < box[3]
                    for other in taken
                )
            ):
                taken.append(box)
                placed.append((float(x), float(y)))
                break
        else:
            placed.append(None)
    return placed


def _split(series: str) -> tuple[str, str]:
    for measure in _MEASURES:
        if series.endswith(measure):
            return series.removesuffix(measure), measure
    return series, ""


def _dress(points: Iterable[RateRow | CurvePoint], looks: list[Style]) -> list[dict[str, object]]:
    look_of = {look.series: look for look in looks}
    return [{**point, **look_of[point["series"]]._asdict()} for point in points]


def _vertical(figure: Curves, field: str = "y:Q") -> alt.Y:
    if figure["y"].startswith("share"):
        scale, axis = alt.Scale(domain=[0, 1]), _SHARE_AXIS
    else:
        scale, axis = alt.Scale(zero=True, nice=True), alt.Axis(tickCount=6)
    return alt.Y(field, title=figure["y"], scale=scale, axis=axis)


def _draw_steps(figure: Curves) -> Chart:
    """Draw points with intervals over named steps, side by side without overlap."""
    # Steps such as "3 of 4" alternate more than they grow: one line joins the steps with everything
    # right, and another those with something wrong, which are hollow.
    looks = draw_looks(point["series"] for point in figure["points"])
    values = _dress([_mark_errors(point) for point in figure["points"]], looks)
    steps = list(dict.fromkeys(str(point["x"]) for point in figure["points"]))
    base = alt.Chart({"values": values}).encode(
        x=alt.X(
            "x:O",
            sort=steps,
            title=figure["x"],
            scale=alt.Scale(paddingInner=0.4, paddingOuter=0.2),
            axis=alt.Axis(labelAngle=0, grid=False),
        ),
        xOffset=alt.XOffset("series:N", sort=[look.series for look in looks]),
        color=alt.Color("colour:N", scale=None),
        detail=["series:N", "hollow:N"],
    )
    lines = base.mark_line(strokeWidth=1.2, opacity=0.75).encode(
        y=_vertical(figure), strokeDash=alt.StrokeDash("dash:N", scale=None)
    )
    intervals = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    points = base.mark_point(size=34, opacity=1, strokeWidth=1.5).encode(
        y="y:Q",
        shape=alt.Shape("shape:N", scale=None),
        fill=alt.when("datum.hollow")
        .then(alt.value("white"))
        .otherwise(alt.Fill("colour:N", scale=None)),
    )
    chart = lines + intervals.encode(y="low:Q", y2="high:Q") + points
    has_hollow = any(value["hollow"] for value in values)
    chart = chart.properties(width=_WIDTH, height=_HEIGHT)
    return Chart(_svg(chart), looks, True, True, has_hollow, chart)


class _MarkedPoint(CurvePoint):
    """A point with a flag for partly wrong knowledge."""

    hollow: bool


def _mark_errors(point: CurvePoint) -> _MarkedPoint:
    right, _, known = str(point["x"]).partition(" of ")
    return {**point, "hollow": bool(known) and right != known}


def _draw_lines(figure: Curves) -> Chart:
    looks = draw_looks(point["series"] for point in figure["points"])
    logarithmic = figure["number"] == "7"
    if logarithmic:
        scale, axis = alt.Scale(type="log", nice=False), alt.Axis(format=",d", tickCount=5)
    else:
        scale, axis = alt.Scale(zero=True), alt.Axis(tickCount=6)
    values = _dress(figure["points"], looks)
    base = alt.Chart({"values": values}).encode(
        x=alt.X("x:Q", title=figure["x"], scale=scale, axis=axis),
        color=alt.Color("colour:N", scale=None),
        detail="series:N",
    )
    lines = base.mark_line(strokeWidth=2).encode(
        y=_vertical(figure), strokeDash=alt.StrokeDash("dash:N", scale=None)
    )
    bands = base.transform_filter("isValid(datum.low)").mark_area(opacity=0.15)
    chart = bands.encode(y=_vertical(figure, "low:Q"), y2="high:Q") + lines
    chart = chart.properties(width=_WIDTH, height=_HEIGHT)
    return Chart(_svg(chart), looks, False, True, layers=chart)


def _svg(chart: alt.LayerChart) -> str:
    """Render a chart; its width and height, in pixels, include axes and labels."""
    fitting = alt.AutoSizeParams(type="fit", contains="padding")
    specification = chart.properties(autosize=fitting).to_dict()
    specification["config"] = CONFIG
    svg = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    # The page scales it to the width of its column; HTML needs no namespaces.
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r"<svg \1>", svg, count=1)
