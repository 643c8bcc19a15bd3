"""The one data structure that everything else reads."""

from recveil.ratings.columns import Columns, find_columns
from recveil.ratings.rating_scale import RatingScale
from recveil.ratings.ratings import Ratings, levels_by_rule

__all__ = ["Columns", "RatingScale", "Ratings", "find_columns", "levels_by_rule"]
