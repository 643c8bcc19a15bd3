"""Floor 0: the one data structure that everything else reads."""

from recveil.ratings.columns import Columns, find_columns
from recveil.ratings.levels import levels_by_rule
from recveil.ratings.ratings import Ratings
from recveil.ratings.scale import RatingScale

__all__ = ["Columns", "RatingScale", "Ratings", "find_columns", "levels_by_rule"]
