"""Comparison of methods and settings by privacy and utility."""

from recveil.comparison._compare import choose_methods, compare, usual_methods
from recveil.comparison.cells import Cell
from recveil.comparison.choice import Choice, cheapest, frontier
from recveil.comparison.measure import Line, Measure, Panel
from recveil.comparison.measures import MEASURES, register_measure
from recveil.comparison.results import Comparison
from recveil.comparison.risk_axes import AXES, Axis, axis_named, register_axis
from recveil.comparison.rows import Row
from recveil.comparison.utility import Share, Shares, Worth, percent, shares_of, utility_of

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
    "utility_of",
]
