"""Pseudonyms: the user ids of a release, numbers in published order behind a prefix of its own."""

import re

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
