"""Comparison of methods and settings by privacy and utility."""

from recveil.comparison._compare import compare
from recveil.comparison.cells import Cell, Setting
from recveil.comparison.choice import (
    AXES,
    Axis,
    Choice,
    axis_named,
    choose_setting,
    frontier,
    register_axis,
)
from recveil.comparison.measures import MEASURES, Line, Measure, Panel, register_measure
from recveil.comparison.results import Comparison
from recveil.comparison.rows import Purpose, Row, Share, Shares, shares_of, utility_of
from recveil.comparison.settings import choose_methods, list_settings, usual_methods

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
    "Purpose",
    "Row",
    "Setting",
    "Share",
    "Shares",
    "axis_named",
    "choose_methods",
    "choose_setting",
    "compare",
    "frontier",
    "list_settings",
    "register_axis",
    "register_measure",
    "shares_of",
    "usual_methods",
    "utility_of",
]
