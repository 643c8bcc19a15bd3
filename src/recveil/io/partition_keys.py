"""Partition keys: columns of a table that stand in the names of its folders, such as rating=5."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from recveil.brief import brief
from recveil.errors import RecveilError, listed, quoted, shortened
from recveil.io.part_files import Part
from recveil.io.source import Selection
from recveil.ratings.columns import LIKED, USUAL_NAMES, plain_name

_DATE = re.compile(r"\d{4}-\d\d-\d\d.*")
# Keys that say when rows came, in figures and marks between; those of `USUAL_NAMES` do anyway.
_FIGURES = re.compile(r"[\d.:_/TZ+-]+")
_OF_TIME = frozenset(
    (
        *("year", "yyyy", "y", "quarter", "month", "mm", "m", "week", "dd", "d", "hour", "hh"),
        *("h", "minute", "yearmonth", "yyyymm", "yyyymmdd", "dt", "ds"),
    )
)
# Users and items are looked for in the files alone.
_TOLD = ("rating", "time")
# How writers call what only spreads the rows; and what is called as another column.
_OF_NO_RATING = frozenset(
    (
        *("part", "partition", "shard", "bucket", "chunk", "batch", "file", "fold", "split"),
        *("userbucket", "itembucket"),
        *(name for role in ("user", "item", "time") for name in USUAL_NAMES[role]),
    )
)


@brief
class Keyed(NamedTuple):
    """What the names of folders tell of a table, and what is left to be read of its files.

    Attributes
    ----------
    selection : Selection
        For the files, without what the folders tell.
    roles : dict of str to str
        The keys that hold the ratings or the times.
    left : tuple of str
        Other keys, which are not read.
    """

    selection: Selection
    roles: dict[str, str]
    left: tuple[str, ...]

    @property
    def said(self) -> tuple[str, ...]:
        """What the table's owner should know of it."""
        read = [f"{role} from its folders' names" for role in self.roles if role != "time"]
        left = f"not read: {listed(self.left, 60)} in its folders' names"
        return (*read, left) if self.left else tuple(read)


def time_key(parts: Sequence[Part]) -> str | None:
    """Return the key that tells the date of all rows of each part, if there is one.

    Examples
    --------
    >>> from pathlib import Path
    >>> time_key([Part(Path("0.csv"), "date=2020-01-15/0.csv", {"date": "2020-01-15"})])
    'date'
    """
    for key in parts[0].keys:
        if plain_name(key) in USUAL_NAMES["time"] and all(
            _DATE.fullmatch(part.keys.get(key) or "") for part in parts
        ):
            return key
    return None


def keyed(parts: Sequence[Part], names: Sequence[str], selection: Selection, where: str) -> Keyed:
    """Say which columns the names of folders tell, by the rules for those of a file.

    Parameters
    ----------
    parts : sequence of Part
    names : sequence of str
        What the first file calls its columns.
    selection : Selection
        What is asked for.
    where : str
        What to call the table in an error.

    Raises
    ------
    RecveilError
        If no file holds ratings, nobody said that rows are likes, and a key may be what people
        thought: then they are not taken for likes, and the keys are named.

    Examples
    --------
    >>> from pathlib import Path
    >>> part = Part(Path("0.csv"), "stars=5/0.csv", {"stars": "5"})
    >>> keyed([part], ["user", "item"], Selection(feedback=LIKED), "h").roles
    {'rating': 'stars'}
    """
    keys = [key for key in keys_of(parts) if key not in names]
    given = {role: name for role, name in selection.given.items() if name is not None}
    roles = {role: name for role, name in given.items() if name in keys and role in _TOLD}
    doubtful = [key for key in keys if key not in given.values() and not _is_no_rating(key, parts)]
    if doubtful and "rating" not in given:
        told = f"{shortened(where, 60)} (with {listed(doubtful, 60)} in its folders' names)"
        left = {role: name for role, name in given.items() if role not in roles}
        asked = replace(selection, given=left)
        found = asked.choose([*names, *doubtful], told).get("rating")
        if found in doubtful:
            roles["rating"] = found
    for role, key in roles.items():
        _refuse_partly(parts, role, key)
    selection = replace(
        selection,
        given={role: name for role, name in given.items() if role not in roles},
        feedback=LIKED if "rating" in roles else selection.feedback,
        times=selection.times and "time" not in roles,
    )
    return Keyed(selection, roles, tuple(key for key in doubtful if key not in roles.values()))


def keys_of(parts: Sequence[Part]) -> list[str]:
    """List the keys in the names of folders, in their order.

    Examples
    --------
    >>> from pathlib import Path
    >>> keys_of([Part(Path("0.csv"), "stars=5/0.csv", {"stars": "5"})])
    ['stars']
    """
    return list(dict.fromkeys(key for part in parts for key in part.keys))


def _is_no_rating(key: str, parts: Sequence[Part]) -> bool:
    """Say whether a key is known to say when a row came, or where it was put, and nothing else."""
    plain = plain_name(key)
    if plain in _OF_NO_RATING:
        return True
    return plain in _OF_TIME and all(
        _FIGURES.fullmatch(part.keys.get(key) or "0") for part in parts
    )


def _refuse_partly(parts: Sequence[Part], role: str, key: str) -> None:
    """Refuse a key that the names of some folders lack."""
    for part in parts:
        if key not in part.keys:
            raise RecveilError(
                f"{shortened(part.label, 80)}: no folder's name tells {quoted(key, 40)}, as that "
                f"of other parts does; expected a {role} for each row; move it into such a folder, "
                f"or name a pattern that leaves it out",
                code="input.parts",
            )
