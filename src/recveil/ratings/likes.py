"""Likes: who chose what, and nothing more; and ratings that are all equal, which tell no more."""

from recveil.errors import RecveilError
from recveil.ratings.ratings import Ratings

# What goes wrong with ratings that are all equal, for `refuse_likes`.
PUBLISHED = (
    "what is added to hide people is equal to them, so that padded rows would say that everybody "
    "rated everything, and other rows that whole groups did"
)
PREDICTED = "any prediction of them is right, so that no error tells a good release from a bad one"


def refuse_likes(ratings: Ratings, why: str) -> None:
    """Raise a RecveilError for likes, and for ratings that are all equal.

    For whatever needs ratings: likes have none, and ratings that are all equal tell nothing apart.

    Parameters
    ----------
    ratings : Ratings
    why : str
        What would go wrong, `PUBLISHED` or `PREDICTED`.

    Raises
    ------
    RecveilError

    Examples
    --------
    >>> refuse_likes(Ratings.from_columns([1, 1, 2], [7, 8, 7], [1, 1, 1]), PREDICTED)
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: all 3 ratings are 1: likes, not supported yet as ratings; any
    prediction of them is right, so that no error tells a good release from a bad one; read them as
    likes (--likes), without a scale
    """
    if ratings.is_unary:
        raise RecveilError(
            "these are likes, and this method publishes ratings, which likes have none of; take "
            "method k-corating or sparse (--method k-corating, --method sparse)"
        )
    values = ratings.values
    if values.size and values.min() == values.max():
        raise RecveilError(
            f"all {values.size:,} ratings are {values[0]:g}: likes, not supported yet as "
            f"ratings; {why}; read them as likes (--likes), without a scale"
        )
