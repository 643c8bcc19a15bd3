"""Pseudonyms: the user ids of a release, numbers in published order behind a prefix of its own.

Items have them, too, where they are to be hidden: numbers in an order that was drawn at random.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

PREFIX = re.compile(r"p[0-9a-f]{4}-")
ITEM_PREFIX = re.compile(r"i[0-9a-f]{4}-")


def pseudonyms(prefix: str, n_users: int, first: int, last: int) -> list[str]:
    """Return the user ids of the records `first` to `last - 1`, counted from 0.

    Parameters
    ----------
    prefix : str
        As `PREFIX` describes it; one for the whole release.
    n_users : int
        People behind all records; it says how many digits each number has.
    first, last : int

    Examples
    --------
    >>> pseudonyms("pd9c2-", 943, 7, 9)
    ['pd9c2-007', 'pd9c2-008']
    """
    width = len(str(n_users))
    return [f"{prefix}{row:0{width}d}" for row in range(first, last)]


def fresh_prefix(
    users: NDArray[Any], rng: np.random.Generator, letter: Literal["p", "i"] = "p"
) -> str:
    """Draw a prefix for this release alone, under which no pseudonym can equal an original id.

    Another release of the same people gets another prefix, so that nobody joins the two by
    accident.

    Parameters
    ----------
    users : ndarray
        The original ids: of users, or of items.
    rng : Generator
    letter : {"p", "i"}
        What it begins with: p for people, i for items.

    Examples
    --------
    >>> fresh_prefix(np.array([1, 2, 3]), np.random.default_rng(0))
    'pd9c2-'
    """
    while True:
        prefix = f"{letter}{rng.integers(16**4):04x}-"
        if users.dtype != object or not any(label.startswith(prefix) for label in users):
            return prefix


def hides_items(settings: Mapping[str, Any]) -> bool:
    """Say whether the items of a release with such settings bear pseudonyms.

    Examples
    --------
    >>> hides_items({"method": "k-coRating", "items": "pseudonyms"})
    True
    """
    return settings.get("items") == "pseudonyms"
