"""Many settings side by side, so that the choice is made by looking."""

from recveil.compare.asked import choose_methods, usual_methods
from recveil.compare.choice import Choice, cheapest, frontier
from recveil.compare.comparing import compare
from recveil.compare.comparison import Comparison
from recveil.compare.rows import Row
from recveil.compare.worth import Share, Shares, Worth, percent, shares_of, worth_of

__all__ = [
    "Choice",
    "Comparison",
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
    "usual_methods",
    "worth_of",
]
