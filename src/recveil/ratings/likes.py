"""Likes: ratings that are all equal, so that who rated what is all they tell."""

from recveil.errors import RecveilError
from recveil.ratings.ratings import Ratings

# What goes wrong with likes, for `refuse_likes`.
PUBLISHED = (
    "what is added to hide people is equal to them, so that padded rows would say that everybody "
    "rated everything, and other rows that whole groups did"
)
PREDICTED = "any prediction of them is right, so that no error tells a good release from a bad one"


def refuse_likes(ratings: Ratings, why: str) -> None:
    """Raise a RecveilError if all ratings are equal: likes are not supported yet.

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
    recveil.errors.RecveilError: all 3 ratings are 1: likes, not supported yet; any prediction of
    them is right, so that no error tells a good release from a bad one; recveil audit takes them
    """
    values = ratings.values
    if values.size and values.min() == values.max():
        raise RecveilError(
            f"all {values.size:,} ratings are {values[0]:g}: likes, not supported yet; {why}; "
            f"recveil audit takes them"
        )
