"""Many settings side by side, so that the choice is made by looking."""

from recveil.compare.asked import choose_methods, usual_methods
from recveil.compare.cell import Cell
from recveil.compare.choice import Choice, cheapest, frontier
from recveil.compare.comparing import compare
from recveil.compare.comparison import Comparison
from recveil.compare.measure import Line, Measure, Panel
from recveil.compare.measured import MEASURES, register_measure
from recveil.compare.risk_axes import AXES, Axis, axis_named, register_axis
from recveil.compare.rows import Row
from recveil.compare.worth import Share, Shares, Worth, percent, shares_of, worth_of

__all__ = [
    "AXES",
    "MEASURES",
    "Axis",
    "Cell",
    "Choice",
    "Comparison",
    "Line",
    "Measure",
    "Panel",
    "Row",
    "Share",
    "Shares",
    "Worth",
    "axis_named",
    "cheapest",
    "choose_methods",
    "compare",
    "frontier",
    "percent",
    "register_axis",
    "register_measure",
    "shares_of",
    "usual_methods",
    "worth_of",
]
