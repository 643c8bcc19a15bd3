"""The frontier as a drawing for a page that changes: what is kept against risk, point by point.

The report's chart is made to be mailed; this one is made to be clicked. It is plain geometry, which
the page's template writes as SVG without any style of its own, as the page's policy asks.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from recveil.brief import brief
from recveil.charts import Style
from recveil.compare.frontier_chart import Upward, looks_of
from recveil.compare.risk_axes import Axis
from recveil.release.claim import is_promise

WIDTH, HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 18, 16, 46
# Lower risks and shares are drawn at the edge; the page says so.
_LEAST_RISK, _LEAST_SHARE = 0.001, -0.5
_RISKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_SHARES = (-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)


class Tick(NamedTuple):
    """A place on an axis, and what stands there."""

    at: float
    label: str


@brief
class Dot(NamedTuple):
    """A setting in the drawing.

    Attributes
    ----------
    x, y : float
    low, high : float
        Where the interval of the risk begins and ends.
    look : Style
    row : dict
        What was measured of it.
    promises : bool
        Whether its releases promise anything; what does not is there to be compared with.
    """

    x: float
    y: float
    low: float
    high: float
    look: Style
    row: Mapping[str, Any]
    promises: bool


class Drawing(NamedTuple):
    """The frontier, ready to be written as SVG.

    Attributes
    ----------
    width, height, left, right, top, bottom : float
        Of the whole, and where the plot itself ends on each side.
    across, up : list of Tick
    across_title, up_title : str
    dots : list of Dot
    lines : list of (Style, str)
        One a method that has several points, through them.
    frontier : str
        The points of the line through the best settings; empty if there are fewer than two.
    limit : float or None
        Where the risk stands that one can answer for.
    left_out : list of str
        Titles of settings that have no place in it.
    """

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    across: list[Tick]
    up: list[Tick]
    across_title: str
    up_title: str
    dots: list[Dot]
    lines: list[tuple[Style, str]]
    frontier: str
    limit: float | None
    left_out: list[str]


def draw(
    rows: list[dict[str, Any]],
    utility: Upward,
    axis: Axis,
    best: Iterable[str] = (),
    max_risk: float | None = None,
) -> Drawing:
    """Place settings by their risk and by what they keep.

    Parameters
    ----------
    rows : list of dict
        As in `recveil.compare.Comparison.to_dict`.
    utility : Upward
        What is drawn upwards; `utilities_of` tells what was judged.
    axis : Axis
        The risk, to the right.
    best : iterable of str
        Titles of the settings on the frontier, the safest first.
    max_risk : float, optional
        The risk that one can answer for.

    Examples
    --------
    >>> from recveil.compare.risk_axes import PERSON
    >>> kept = {"lists": {"value": 0.8, "is_told": True}, "ratings": None}
    >>> row = {"method": "sparse", "k": 5, "title": "sparse, k = 5", "promise": "k-anonymity",
    ...        "kept": kept, "risk": 0.1, "risk_low": 0.05, "risk_high": 0.2}
    >>> lists = Upward("lists", "Lists", "nothing right", "the best on raw data")
    >>> drawn = draw([row, row | {"title": "other", "risk": None}], lists, PERSON)
    >>> drawn.dots[0].x, drawn.left_out
    (434.0, ['other'])
    """
    placed = [row for row in rows if _has_place(row, utility, axis)]
    looks = {look.series: look for look in looks_of(rows)}
    lowest = max(_LEAST_SHARE, min([0.0, *(_share(row, utility) for row in placed)]))
    dots = [_dot(row, utility, axis, looks[row["method"]], lowest) for row in placed]
    by_title = {dot.row["title"]: dot for dot in dots}
    through = [by_title[title] for title in best if title in by_title]
    shown = {dot.row["title"] for dot in dots}
    return Drawing(
        *(WIDTH, HEIGHT, _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM),
        across=[Tick(_x(risk), _percent(risk)) for risk in _RISKS],
        up=[Tick(_y(share, lowest), f"{share:.0%}") for share in _SHARES if share >= lowest],
        across_title=f"← safer: share {axis.limit} (log scale)",
        up_title=f"{utility.title.lower()}: share of {utility.whole} →",
        dots=dots,
        lines=_lines(dots),
        frontier=_through(through) if len(through) > 1 else "",
        limit=None if max_risk is None else _x(max_risk),
        left_out=[row["title"] for row in rows if row["title"] not in shown],
    )


def _has_place(row: Mapping[str, Any], utility: Upward, axis: Axis) -> bool:
    """Tell whether both its risk and what it keeps were measured, and can be told."""
    kept = (row.get("kept") or {}).get(utility.name)
    return row[axis.value] is not None and kept is not None and bool(kept.get("is_told", True))


def _share(row: Mapping[str, Any], utility: Upward) -> float:
    return float(row["kept"][utility.name]["value"])


def _dot(row: Mapping[str, Any], utility: Upward, axis: Axis, look: Style, lowest: float) -> Dot:
    # An end that is not known is the widest that it can be.
    low = 0.0 if row[axis.low] is None else row[axis.low]
    high = 1.0 if row[axis.high] is None else row[axis.high]
    return Dot(
        x=_x(row[axis.value]),
        y=_y(_share(row, utility), lowest),
        low=_x(low),
        high=_x(high),
        look=look,
        row=row,
        promises=is_promise(row["promise"]),
    )


def _lines(dots: list[Dot]) -> list[tuple[Style, str]]:
    """Return the line through the points of each method, from the safest on."""
    lines = []
    for look in dict.fromkeys(dot.look.series for dot in dots):
        own = sorted((dot for dot in dots if dot.look.series == look), key=lambda dot: dot.x)
        if len(own) > 1:
            lines.append((own[0].look, _through(own)))
    return lines


def _through(dots: Iterable[Dot]) -> str:
    return " ".join(f"{dot.x:g},{dot.y:g}" for dot in dots)


def _x(risk: float) -> float:
    along = 1 - math.log10(max(risk, _LEAST_RISK)) / math.log10(_LEAST_RISK)
    return round(_LEFT + along * (WIDTH - _RIGHT - _LEFT), 1)


def _y(share: float, lowest: float) -> float:
    along = (max(lowest, min(share, 1.0)) - lowest) / (1 - lowest)
    return round(HEIGHT - _BOTTOM - along * (HEIGHT - _BOTTOM - _TOP), 1)


def _percent(risk: float) -> str:
    return f"{risk:.1%}" if risk < 0.01 else f"{risk:.0%}"
