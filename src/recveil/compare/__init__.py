"""Many settings side by side, so that the choice is made by looking."""

from recveil.compare.choice import Choice, cheapest, frontier
from recveil.compare.comparing import compare
from recveil.compare.comparison import Comparison
from recveil.compare.methods import ALL, METHODS, PROMISES, Method, choose_methods
from recveil.compare.rows import Row
from recveil.compare.worth import Share, Shares, Worth, percent, shares_of, worth_of

__all__ = [
    "ALL",
    "METHODS",
    "PROMISES",
    "Choice",
    "Comparison",
    "Method",
    "Row",
    "Share",
    "Shares",
    "Worth",
    "cheapest",
    "choose_methods",
    "compare",
    "frontier",
    "percent",
    "shares_of",
    "worth_of",
]
