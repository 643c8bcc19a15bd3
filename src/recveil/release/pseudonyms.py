"""Pseudonyms: the user ids of a release, numbers in published order behind a prefix of its own."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

PREFIX = re.compile(r"p[0-9a-f]{4}-")


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


def fresh_prefix(users: NDArray[Any], rng: np.random.Generator) -> str:
    """Draw a prefix for this release alone, under which no pseudonym can equal an original id.

    Another release of the same people gets another prefix, so that nobody joins the two by
    accident.

    Examples
    --------
    >>> fresh_prefix(np.array([1, 2, 3]), np.random.default_rng(0))
    'pd9c2-'
    """
    while True:
        prefix = f"p{rng.integers(16**4):04x}-"
        if users.dtype != object or not any(label.startswith(prefix) for label in users):
            return prefix
