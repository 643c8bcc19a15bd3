"""Fitting: an adversary cannot know what a table does not tell, nor be wrong about it."""

from dataclasses import replace

import numpy as np

from recveil.attack.adversary import Adversary
from recveil.attack.knowledge import liking, steps_within
from recveil.ratings import Ratings
from recveil.ratings.likes import in_likes


def why_never_wrong(ratings: Ratings, adversary: Adversary) -> str | None:
    """Say why the wrong values that an adversary is to have cannot be wrong in this table.

    Parameters
    ----------
    ratings : Ratings
    adversary : Adversary

    Returns
    -------
    str or None
        The reason, as the end of a sentence. None if every value can be wrong, or none has to be.

    Examples
    --------
    >>> likes = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [1, 1, 1])
    >>> why_never_wrong(likes, Adversary(known=2, right=1))
    'the table has one rating value only'
    >>> why_never_wrong(likes, Adversary(known=2, right=1, date_error=14))  # the date can be
    """
    is_right = adversary.n_right == adversary.known or adversary.wrong_kind == "item"
    if is_right or adversary.date_error is not None:
        return None
    if adversary.rating_error is None:
        return "they know neither ratings nor dates"
    scale, error = ratings.scale, adversary.rating_error
    if scale.range == 0 and ratings.is_unary:
        return "likes have no values that could be wrong"
    if scale.range == 0:
        return "the table has one rating value only"
    # An error of clearly less than half of the scale covers the whole of it for no rating.
    if adversary.likes_only or 2.1 * error < scale.range:
        return None
    _, top, first, last = steps_within(scale, np.unique(ratings.values).astype(np.float64), error)
    if ((first > 0) | (last < top)).all():
        return None
    return f"every rating of the scale {scale} is within {error:g} of some true one"


def with_wrong_items(ratings: Ratings, adversary: Adversary) -> Adversary:
    """Let an adversary's wrong entries be items never rated if no value of theirs can be wrong.

    Parameters
    ----------
    ratings : Ratings
    adversary : Adversary

    Returns
    -------
    Adversary
        As given if their wrong values can be wrong; else one whose description says what was
        changed, and why.

    Examples
    --------
    >>> likes = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [1, 1, 1])
    >>> with_wrong_items(likes, Adversary(known=2, right=1)).wrong_kind
    'item'
    """
    reason = why_never_wrong(ratings, adversary)
    if reason is None:
        return adversary
    note = f"Here the wrong entries are items that the target never rated: {reason}."
    note = in_likes(note, ratings.is_unary)
    return replace(adversary.noted(note), wrong_kind="item")


def without_dates(ratings: Ratings, adversary: Adversary, where: str) -> Adversary:
    """Take away the dates that an adversary cannot use, with what only dates made possible.

    Parameters
    ----------
    ratings : Ratings
        What they know is drawn from them.
    adversary : Adversary
        If they know no dates, they stay as they are: what is impossible was so before.
    where : str
        Why dates are of no use, as the end of a sentence.

    Returns
    -------
    Adversary
        Without dates; the description says so.

    Examples
    --------
    >>> likes = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [1, 1, 1])
    >>> paper = Adversary(known=2, right=1, date_error=14)
    >>> print(without_dates(likes, paper, "no column of dates was recognized").description)
    Here no dates are known: no column of dates was recognized. Here the wrong entries are items \
that the target never rated: the table has one rating value only.
    """
    if adversary.date_error is None:
        return adversary
    blunted = adversary.without_dates().noted(f"Here no dates are known: {where}.")
    return with_wrong_items(ratings, blunted)


def without_ratings(ratings: Ratings, adversary: Adversary) -> Adversary:
    """Take away the ratings that nobody can know of likes.

    Parameters
    ----------
    ratings : Ratings
    adversary : Adversary
        If they are no likes, or the adversary knows no ratings, they stay as they are.

    Examples
    --------
    >>> likes = Ratings.from_columns([1, 1, 2], ["a", "b", "a"])
    >>> blunted = without_ratings(likes, Adversary(known=2, rating_error=1))
    >>> blunted.rating_error, blunted.description
    (None, 'Here no ratings are known: the table holds likes.')
    """
    if not ratings.is_unary:
        return adversary
    notes = tuple(map(in_likes, adversary.notes))
    adversary = replace(adversary, description=in_likes(adversary.description), notes=notes)
    if adversary.rating_error is None:
        return adversary
    noted = adversary.noted("Here no ratings are known: the table holds likes.")
    return replace(noted, rating_error=None, likes_only=False)


def with_likes(ratings: Ratings, adversary: Adversary) -> Adversary:
    """Tell somebody who knows likes only what they leave open on the scale of a table.

    Parameters
    ----------
    ratings : Ratings
    adversary : Adversary
        If they know more than likes, they stay as they are.

    Examples
    --------
    >>> stars = Ratings.from_columns([1, 1], ["a", "b"], [0.5, 5])
    >>> with_likes(stars, Adversary(known=2, rating_error=1, likes_only=True)).rating_error
    0.0
    """
    if not adversary.likes_only:
        return adversary
    return replace(adversary, rating_error=liking(ratings.scale)[-1])
