"""Floor 3: many settings side by side, so that the choice is made by looking."""

from recveil.compare.choice import Choice, cheapest, frontier, percent
from recveil.compare.compare import compare
from recveil.compare.comparison import Comparison
from recveil.compare.methods import ALL, METHODS, PROMISES, Method, choose_methods
from recveil.compare.rows import Row

__all__ = [
    "ALL",
    "METHODS",
    "PROMISES",
    "Choice",
    "Comparison",
    "Method",
    "Row",
    "cheapest",
    "choose_methods",
    "compare",
    "frontier",
    "percent",
]
