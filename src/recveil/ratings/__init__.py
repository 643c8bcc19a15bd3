"""The table of ratings that all other packages work on, and its scale."""

from recveil.ratings.rating_scale import RatingScale
from recveil.ratings.ratings import Ratings, levels_by_rule

__all__ = ["RatingScale", "Ratings", "levels_by_rule"]
