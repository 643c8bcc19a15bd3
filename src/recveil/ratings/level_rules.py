"""Privacy levels by rule: how many must share a row with each user, told from their activity."""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError, describe_count
from recveil.ratings.ratings import Ratings

_CONDITION = re.compile(r"activity\s*(<|>=)\s*([0-9]{1,18})")
_LEVEL = re.compile(r"[0-9]{1,18}")
_EXAMPLE = "such as 'activity<50:10,else:5', or a number for everybody"


class _Part(NamedTuple):
    """One part of a rule: users with from `low` to `high` - 1 ratings have the level."""

    low: float
    high: float
    level: int


def levels_by_rule(ratings: Ratings, rule: str) -> NDArray[np.int64]:
    """Give each user the privacy level that a rule has for their number of ratings.

    A rule is a number, the level of everybody, or a list of ``CONDITION:LEVEL`` between commas. A
    condition is ``activity>=N`` (N ratings or more), ``activity<N`` or, last, ``else``. The first
    condition that a user meets counts. Spaces are passed over.

    Parameters
    ----------
    ratings : Ratings
        Whose users are meant.
    rule : str
        For example ``activity<50:10,activity>=500:1,else:5``.

    Returns
    -------
    ndarray of int64, shape (n_users,)
        The least number of people who shall share a published row with each user, who
        counts too; 1 says that they do not mind being published as they are.

    Raises
    ------
    RecveilError
        If the rule cannot be read, gives a user no level, or one below 1 or above the number of
        users.

    Notes
    -----
    Source: a level for each user is Chen 2012 (thesis), section 5.1; the rules are recveil's own.
    A rule that is known tells of a user in a small group that they met its condition.

    Examples
    --------
    >>> ratings = Ratings.from_columns(["ann", "ann", "ben"], [7, 8, 7], [4, 2, 5])
    >>> levels_by_rule(ratings, "activity>=2:1, else:2")
    array([1, 2])
    >>> levels_by_rule(ratings, "activity>=2:1")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: rule 'activity>=2:1': no condition holds for 1 of 2 users, first
    'ben' with activity 1; end it with else:LEVEL
    """
    activity = ratings.activity
    levels = np.zeros(ratings.n_users, dtype=np.int64)
    for part in reversed(_parse(rule)):
        if part.level > ratings.n_users:
            raise RecveilError(
                f"rule {rule!r}: level {part.level} is more than there are users "
                f"({ratings.n_users}); lower it",
                code="option.value",
            )
        levels[(activity >= part.low) & (activity < part.high)] = part.level
    without = np.flatnonzero(levels == 0)
    if without.size:
        first = without[0]
        raise RecveilError(
            f"rule {rule!r}: no condition holds for {without.size} of "
            f"{describe_count(ratings.n_users, 'user')}, "
            f"first {ratings.users.tolist()[first]!r} with activity {activity[first]}; "
            f"end it with else:LEVEL",
            code="option.value",
        )
    return levels


def _parse(rule: str) -> list[_Part]:
    if _LEVEL.fullmatch(rule.strip()):
        return [_Part(0, np.inf, _level(rule.strip(), rule))]
    parts = []
    pieces = rule.split(",")
    for number, piece in enumerate(pieces, start=1):
        condition, colon, level = (text.strip() for text in piece.partition(":"))
        if not colon:
            raise RecveilError(
                f"rule {rule!r}: {piece.strip()!r} has no level; expected CONDITION:LEVEL, "
                f"{_EXAMPLE}",
                code="option.value",
            )
        if condition == "else" and number < len(pieces):
            raise RecveilError(
                f"rule {rule!r}: nothing counts after else; put it last", code="option.value"
            )
        parts.append(_Part(*_range(condition, rule), _level(level, rule)))
    return parts


def _range(condition: str, rule: str) -> tuple[float, float]:
    if condition == "else":
        return 0, np.inf
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise RecveilError(
            f"rule {rule!r}: condition {condition!r}; expected activity<N, activity>=N or else, "
            f"{_EXAMPLE}",
            code="option.value",
        )
    bound = int(found[2])
    return (0, bound) if found[1] == "<" else (bound, np.inf)


def _level(text: str, rule: str) -> int:
    if not _LEVEL.fullmatch(text) or int(text) < 1:
        raise RecveilError(
            f"rule {rule!r}: level {text!r}; expected a whole number, 1 or more, {_EXAMPLE}",
            code="option.value",
        )
    return int(text)
