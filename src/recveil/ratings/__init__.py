"""The one data structure that everything else reads."""

from recveil.ratings.columns import Columns, find_columns
from recveil.ratings.level_rules import levels_by_rule
from recveil.ratings.ratings import Ratings
from recveil.ratings.scale import RatingScale

__all__ = ["Columns", "RatingScale", "Ratings", "find_columns", "levels_by_rule"]
