"""Pseudonyms of users and items.

User ids of a release are numbers in published order, with a prefix that is unique to the release.
Hidden items have pseudonyms, too: numbers in a random order.
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
    """Draw a prefix for one release, with which no pseudonym equals an original id.

    Another release of the same users gets another prefix, so the two cannot be joined by accident.

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
    """Return whether the items of a release with these settings have pseudonyms.

    Examples
    --------
    >>> hides_items({"method": "k-coRating", "items": "pseudonyms"})
    True
    """
    return settings.get("items") == "pseudonyms"
