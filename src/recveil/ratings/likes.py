"""Likes: who chose what, and nothing more; and ratings that are all equal, which tell no more."""

import re

from recveil.errors import RecveilError, quoted
from recveil.ratings.feedback import all_ratings
from recveil.ratings.ratings import Ratings

# What goes wrong with ratings that are all equal, for `refuse_likes`.
PUBLISHED = (
    "what is added to hide people is equal to them, so that padded rows would say that everybody "
    "rated everything, and other rows that whole groups did"
)
PREDICTED = "any prediction of them is right, so that no error tells a good release from a bad one"
# "No ratings are known" is as true of likes, a rate is a share, and options keep their names.
_OF_RATINGS = re.compile(
    r"(?<!no )(?<!without )(?<!neither )(?<!--)\b(unrated|ratings?|rated|(?<=people )rate)\b"
)
_OF_LIKES = {
    **{"rating": "like", "ratings": "likes", "rated": "liked", "unrated": "not liked"},
    "rate": "like",
}


def in_likes(text: str, is_unary: bool = True) -> str:
    """Say of likes what a sentence says of ratings.

    Parameters
    ----------
    text : str
        It may speak of rates, which stay as they are.
    is_unary : bool
        Whether likes are meant; else it stays as it is.

    Examples
    --------
    >>> print(in_likes("People with too few ratings count as not found, so that rates are higher"))
    People with too few likes count as not found, so that rates are higher
    >>> in_likes("items that nobody rated; no ratings are known")
    'items that nobody liked; no ratings are known'
    >>> in_likes("people's ratings; --ratings whole")
    "people's likes; --ratings whole"
    """
    if not is_unary:
        return text
    return _OF_RATINGS.sub(lambda found: _OF_LIKES[found.group()], text)


def refuse_unordered(ratings: Ratings, what: str) -> None:
    """Raise a RecveilError for ratings that are words without an order.

    Their numbers are names: whoever took them for ranks would tell distances that there are not.

    Parameters
    ----------
    ratings : Ratings
    what : str
        What they cannot be given to: "this method", "a comparison".

    Raises
    ------
    RecveilError

    Examples
    --------
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale.of_words("up,down", ordered=False)
    >>> words = Ratings.from_columns([1, 2], [7, 7], ["up", "down"], scale=scale)
    >>> refuse_unordered(words, "a comparison")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: words (--words) without an order are not supported by a ...
    """
    if not ratings.scale.ordered:
        raise RecveilError(
            f"words (--words) without an order are not supported by {what}; publish them by method "
            f"words (--method words); if they have an order, name it with order (--order); if it "
            f"matters only who chose what, leave the column of words out",
            code="table.kind",
        )


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
            "method k-corating or sparse (--method k-corating, --method sparse), or draw people "
            "with epsilon (--epsilon 3)",
            code="table.kind",
        )
    values = ratings.values
    if values.size and values.min() == values.max():
        words = ratings.scale.words
        given = quoted(words[int(values[0]) - 1], 40) if words else f"{values[0]:g}"
        remedy = (
            "leave the column of words out"
            if words
            else "read them as likes (--likes), without a scale"
        )
        raise RecveilError(
            f"{all_ratings(values.size)} {given}: likes, not supported yet as "
            f"ratings; {why}; {remedy}",
            code="table.kind",
        )
