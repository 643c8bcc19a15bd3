"""What a reader is asked for and what it gives back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from recveil.errors import RecveilError
from recveil.ratings import find_columns
from recveil.ratings.columns import Locate

COLUMNS = ("user", "item", "rating", "time")


class Source(NamedTuple):
    """A rating file as it stands, before anything is made of its values.

    Attributes
    ----------
    table : pyarrow.Table
        Columns `user`, `item`, `rating`, `time` (if the file has one) and the file's other columns
        under their own names. Delimited text stays text: the first three columns are
        dictionary-encoded strings, the others strings; an empty field is null.
    locate : callable
        Turns a row's position, from 0, into its place in the file: "ratings.csv line 812".
    format : str
        The name of the file's format, a key of `FORMATS`.
    """

    table: pa.Table
    locate: Locate
    format: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which columns of a file to read.

    Parameters
    ----------
    given : mapping of str to (str or None)
        The file's names for `user`, `item`, `rating` and `time`, where the caller knows them.
    times : bool
        Whether to read the times.
    extras : bool
        Whether to read the other columns too.
    """

    given: Mapping[str, str | None] = field(default_factory=dict)
    times: bool = True
    extras: bool = False

    def choose(self, names: Sequence[str], where: str) -> dict[str, str]:
        """Map the name of each column to be read to the file's name for it.

        An extra column that bears one of the four names, but is not that column, gets "(extra)"
        behind it: no column may be lost, since it may tell people apart. What RecBole hangs on a
        name (":float") is left out.

        Raises
        ------
        RecveilError
            If a needed column is missing, or a name stands twice.

        Examples
        --------
        >>> Selection(extras=True).choose(["uid", "iid", "score", "group_size"], "ratings.csv")
        {'user': 'uid', 'item': 'iid', 'rating': 'score', 'group_size': 'group_size'}
        """
        found = find_columns(names, where, **self.given)
        if "group_size" in names and not self.extras:
            raise RecveilError(
                f"{where}: a column group_size says that one row stands for several people, and "
                f"plain ratings cannot keep that; write the release with --layout users"
            )
        chosen = {"user": found.user, "item": found.item, "rating": found.rating}
        if self.times and found.time is not None:
            chosen["time"] = found.time
        taken = {*chosen.values(), found.time}
        for name in names if self.extras else ():
            own = name.partition(":")[0]
            if name not in taken:
                # No two columns may share a name here: the one that is lost may tell people apart.
                clash = own in COLUMNS or own in chosen
                chosen[f"{name} (extra)" if clash else own] = name
        for name in chosen.values():
            if names.count(name) > 1:
                raise RecveilError(f"{where}: two columns are called {name!r}; rename one")
        return chosen
