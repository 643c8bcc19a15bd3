"""The table of ratings that all other packages work on, its scale and its columns."""

from recveil.ratings.columns import Columns, find_columns
from recveil.ratings.rating_scale import RatingScale
from recveil.ratings.ratings import Ratings, levels_by_rule

__all__ = ["Columns", "RatingScale", "Ratings", "find_columns", "levels_by_rule"]
