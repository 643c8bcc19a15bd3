"""Ids of people among those of items, which are published as they stand."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recveil.errors import RecveilError
from recveil.ratings.labels import describe_break

# What an id of a person looks like, and from which share of the items on it is no chance.
_KINDS = {
    "e-mail addresses": (r"^\s*[^@\s]+@[^@\s]+\.[A-Za-z]{2,}\s*$", 0.0),
    "telephone numbers": (r"^\s*\+\d[\d ()/.-]{6,18}\d\s*$", 0.5),
    "network (IP) addresses": (r"^\s*\d{1,3}(\.\d{1,3}){3}\s*$", 0.5),
}


def people_among(items: Iterable[Any]) -> tuple[str, int] | None:
    """Say what ids of items look like, if like those of people, and how many.

    One e-mail address is enough; of other kinds, half of the ids.

    Examples
    --------
    >>> people_among(["Heat", "ann@example.org"])
    ('e-mail addresses', 1)
    >>> people_among(["Heat", "1.2.3.4", "@ann"]) is None
    True
    """
    array = items if isinstance(items, np.ndarray) else np.asarray(list(items), dtype=object)
    if array.dtype != object:
        return None
    texts = pa.array([item for item in array if isinstance(item, str)], pa.large_string())
    for kind, (pattern, share) in _KINDS.items():
        found = pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0
        if found and found >= share * array.size:
            return kind, int(found)
    return None


def refuse_people(items: Iterable[Any], *, can_hide: bool = True) -> None:
    """Refuse to publish ids of items that look like those of people, or contain line breaks.

    Parameters
    ----------
    items : iterable
        The ids.
    can_hide : bool
        Whether the caller can publish pseudonyms of items instead.

    Raises
    ------
    RecveilError

    Examples
    --------
    >>> refuse_people(["ann@example.org"])
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: 1 id of items looks like e-mail addresses, and such ids are publ...
    """
    held = (describe_break(item) for item in items if isinstance(item, str))
    if first := next(filter(None, held), ""):
        raise RecveilError(
            f"an item id contains {first}; correct it, or drop its rows", code="id.line-break"
        )
    if (found := people_among(items)) is not None:
        kind, times = found
        look = "id of items looks" if times == 1 else "ids of items look"
        hide = ", or publish pseudonyms (hide_items, --hide-items)" if can_hide else ""
        raise RecveilError(
            f"{times:,} {look} like {kind}, and such ids are published as they stand; if they are "
            f"people's, say which column is which with user and item (--user, --item); if not, "
            f"rename them{hide}",
            code="id.personal",
        )


def people_told(items: Iterable[Any]) -> list[str]:
    """Say of a release how many ids of its items look like those of people.

    Examples
    --------
    >>> people_told(["Heat", "ann@example.org"])
    ['1 of the ids of items looks like e-mail addresses: perhaps people were published as items.']
    """
    if (found := people_among(items)) is None:
        return []
    kind, times = found
    look = "looks" if times == 1 else "look"
    return [
        f"{times:,} of the ids of items {look} like {kind}: perhaps people were published as items."
    ]
