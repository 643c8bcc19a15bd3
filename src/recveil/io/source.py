"""What a reader is asked for and what it gives back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from recveil.brief import brief
from recveil.errors import RecveilError, named_twice, quoted
from recveil.io.lines import Spans
from recveil.io.positions import choose_positions, place_of, position_in
from recveil.memory import refuse_beyond_limit
from recveil.ratings import find_columns
from recveil.ratings.columns import (
    GROUP_SIZE,
    LIKED,
    MUST_RATE,
    Columns,
    Feedback,
    Locate,
    refuse_groups,
)
from recveil.ratings.dates import Look

COLUMNS = ("user", "item", "rating", "time")
# Of no table of ratings, wide matrices aside, which are bounded by themselves. To read one takes
# so many bytes, whatever it holds.
MOST_COLUMNS, _A_COLUMN = 100_000, 6_000


def refuse_many_columns(n_columns: int, where: str, *, read: bool = False) -> None:
    """Refuse a table of more columns than one of ratings has, before they take time and memory.

    Parameters
    ----------
    n_columns : int
    where : str
        What to call it in an error.
    read : bool
        Whether all of them are read: then they may take no more memory than may be taken.

    Raises
    ------
    RecveilError
        If there are too many.

    Examples
    --------
    >>> refuse_many_columns(10**6, "ratings.csv")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: ratings.csv: 1,000,000 columns, where a table of ratings was
    expected, which has 100,000 at most; write one with the user, the item, the rating and the time
    """
    if n_columns > MOST_COLUMNS:
        raise RecveilError(
            f"{where}: {n_columns:,} columns, where a table of ratings was expected, which has "
            f"{MOST_COLUMNS:,} at most; write one with the user, the item, the rating and the time",
            code="table.too-large",
        )
    if read:
        refuse_beyond_limit(f"{where}: its columns", _A_COLUMN * n_columns)


@brief
class Source(NamedTuple):
    """A rating file as it stands, before anything is made of its values.

    Attributes
    ----------
    table : pyarrow.Table
        Columns `user`, `item`, `rating`, `time` (if the file has one) and the file's other columns
        under their own names; no `rating` where it certainly holds likes. Delimited text stays
        text: the first three columns are dictionary-encoded strings, the others strings; an empty
        field is null.
    locate : callable
        Turns a row's position, from 0, into its place in the file: "ratings.csv line 812".
    format : str
        The name of the file's format, a key of `FORMATS`.
    names : mapping of str to (str or int)
        For each of the table's columns the file's own name for it, or its place, from 1 on, in a
        file without a header.
    look : Look
        What was found where no column is called times.
    n_columns : int
        How many columns a file without a header has, read or not; 0 for other files.
    layout : tuple of str
        What the file's owner should know of how it was read.
    notes : tuple of str
        What somebody must know who relies on it, a sentence each.
    dialect : Dialect or None
        How delimited text is split.
    spans : Spans or None
        How many fields of delimited text span lines; a single one is not refused yet.
    """

    table: pa.Table
    locate: Locate
    format: str
    names: Mapping[str, str | int]
    look: Look = Look()
    n_columns: int = 0
    layout: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    dialect: Any = None
    spans: Spans | None = None

    @property
    def has_header(self) -> bool:
        """Whether the file names its columns."""
        return not any(isinstance(name, int) for name in self.names.values())


@dataclass(frozen=True, slots=True)
class Selection:
    """Which columns of a file to read.

    Parameters
    ----------
    given : mapping of str to (str or None)
        The file's names for `user`, `item`, `rating` and `time`, or their places from 1 on, where
        the caller knows them.
    times : bool
        Whether to read the times.
    extras : bool
        Whether to read the other columns too.
    time_is_text : bool
        Whether times must stay as they are written, as a format says how to read them.
    feedback : Feedback, optional
        Where it is given, a table may be certain to have no ratings.
    """

    given: Mapping[str, str | None] = field(default_factory=dict)
    times: bool = True
    extras: bool = False
    time_is_text: bool = False
    feedback: Feedback | None = MUST_RATE

    def choose_places(self, n_columns: int, where: str) -> dict[str, int]:
        """Map the name of each column to be read to its place in a file without a header.

        Raises
        ------
        RecveilError
            As `choose_positions`.

        Examples
        --------
        >>> Selection({"user": "2", "item": "1"}).choose_places(3, "ratings.csv")
        {'user': 2, 'item': 1, 'rating': 3}
        """
        refuse_many_columns(n_columns, where, read=self.extras)
        rates = self.feedback is MUST_RATE and not self.extras
        chosen = choose_positions(n_columns, self.given, where, times=self.times, rates=rates)
        if self.extras:
            taken = set(chosen.values())
            others = [place for place in range(1, n_columns + 1) if place not in taken]
            chosen |= {str(place): place for place in others}
        return chosen

    def with_places(self, names: Sequence[str]) -> list[str]:
        """Add the place to a name that several columns have, where it was given by its place.

        Examples
        --------
        >>> Selection({"rating": "4"}).with_places(["user", "item", "rating", "rating"])
        ['user', 'item', 'rating', 'rating (column 4)']
        """
        own, twice = list(names), {*named_twice(names)}
        for given in self.given.values():
            place = place_of(given or "", len(own))
            if place is not None and own[place - 1] in twice:
                own[place - 1] = name_at(own[place - 1], place)
        return own

    def choose(self, names: Sequence[str], where: str) -> dict[str, str]:
        """Map the name of each column to be read to the file's name for it.

        What RecBole hangs on a name (":float") is left out. An extra column whose name is taken
        then keeps all of its own, with as many "(extra)" behind it as make it the only one: no
        column may be lost, since it may tell people apart.

        Raises
        ------
        RecveilError
            If a needed column is missing, a name stands twice, or there are too many of them.

        Examples
        --------
        >>> Selection(extras=True).choose(["uid", "iid", "score", "group_size"], "ratings.csv")
        {'user': 'uid', 'item': 'iid', 'rating': 'score', 'group_size': 'group_size'}
        """
        refuse_many_columns(len(names), where, read=self.extras)
        given = {role: self._name(name, list(names)) for role, name in self.given.items()}
        found = self._find(names, where, given)
        if GROUP_SIZE in names and not self.extras:
            refuse_groups(where)
        chosen = found.by_role()
        # Without ratings, whether it really holds times says whether they are likes.
        if not self.times and found.rating is not None:
            chosen.pop("time", None)
        taken = {*chosen.values(), found.time}
        for name in names if self.extras else ():
            if name not in taken:
                chosen[_free_name(name, chosen)] = name
                taken.add(name)
        twice = {*named_twice(names)}
        if both := [role for role, name in chosen.items() if name in twice]:
            role, name = both[0], chosen[both[0]]
            place = names.index(name) + 1
            said = f", or, in a text file, say which by its place with {role} (--{role} {place})"
            if role not in COLUMNS or self.given.get(role) not in (None, name):
                said = ""  # it was given by its place, which only text is read by
            raise RecveilError(
                f"{where}: two columns are called {quoted(name)}; rename one{said}",
                code="column.duplicate",
            )
        if self.extras and len(chosen) != len(names):
            raise RecveilError(
                f"{where}: {len(names)} columns, of which only {len(chosen)} would be read; "
                f"this is a fault in recveil, please report it",
                code="internal.fault",
            )
        return chosen

    def _find(self, names: Sequence[str], where: str, given: Mapping[str, str | None]) -> Columns:
        """Find the columns; where all are read, nothing is doubtful if there are no others."""
        try:
            return find_columns(names, where, feedback=self.feedback, **given)
        except RecveilError:
            if not self.extras:
                raise
            found = find_columns(names, where, feedback=LIKED, **given)
            if len(found.by_role()) < len(names):
                raise
            return found

    def _name(self, given: str | None, names: list[str]) -> str | None:
        """Return the name that was given, or that of the column at the place that was."""
        if given is None:
            return None
        at_place = position_in(given, names)
        if given in names and at_place not in (None, given):
            raise RecveilError(
                f"column {quoted(given)}: that is the name of one column, and the place of another "
                f"({quoted(at_place)}); rename the columns, so that it is clear which is meant",
                code="column.ambiguous",
            )
        if given in names or at_place is not None:
            return given if given in names else at_place
        # Blanks around a name are no part of it, if no other column is called so.
        stripped = [name for name in names if name.strip() == given.strip()]
        return stripped[0] if len(stripped) == 1 else given


def name_at(name: str, place: int) -> str:
    """Name a column by its place, where another one has the same name.

    Examples
    --------
    >>> name_at("rating", 4)
    'rating (column 4)'
    """
    return f"{name} (column {place})"


def _free_name(name: str, chosen: Mapping[str, str]) -> str:
    """Return a name for an extra column that no other column has."""
    own = name.partition(":")[0]
    if own not in COLUMNS and own not in chosen:
        return own
    # A file may have a column that is called "time (extra)", too.
    own = f"{name} (extra)"
    while own in chosen:
        own += " (extra)"
    return own
