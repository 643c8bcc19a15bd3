"""Raw tables of input files, and the selection of their columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa

from recveil.io.columns.columns import (
    GROUP_SIZE,
    LIKED,
    MUST_RATE,
    WIDE,
    Columns,
    Feedback,
    find_columns,
    reject_groups,
)
from recveil.io.columns.time_columns import Look, look_for_times
from recveil.io.files import Spans
from recveil.ratings.rating_scale import Locate
from recveil.runtime.errors import RecveilError, describe_count, named_twice, quoted
from recveil.runtime.memory import reject_beyond_limit
from recveil.runtime.safe_repr import brief

ROLES = ("user", "item", "rating", "time")


def choose_positions(
    n_columns: int,
    given: Mapping[str, str | None],
    where: str,
    *,
    times: bool = True,
    rates: bool = True,
) -> dict[str, int]:
    """Assign roles to the columns of a file without a header, by places from 1.

    Roles that the caller does not assign are taken from left to right, in the order user, item,
    rating, time. Publishing must not rely on that: see `Reading.is_guessed`.
    """
    chosen = {
        role: _position(role, text, n_columns, where)
        for role in ROLES
        if (text := given.get(role)) is not None
    }
    likes = not rates and "rating" not in chosen and n_columns == 2 + ("time" in chosen)
    needed = [role for role in ROLES[:3] if role not in chosen]
    if (n_columns < 3 and not likes) or (n_columns > 4 and needed):
        wide = " (a wide matrix? Read it with wide, --wide)" if n_columns >= WIDE else ""
        needed = needed or list(ROLES[:3])
        left = [place for place in range(1, 7) if place not in chosen.values()]
        options = " ".join(f"--{each} {at}" for each, at in zip(needed, left, strict=False))
        raise RecveilError(
            f"{where}: {describe_count(n_columns, 'column')} and no header{wide}; expected user, "
            f"item, rating and perhaps time; name the columns by place: {', '.join(needed)} "
            f"({options})",
            code="column.ambiguous",
        )
    free = [place for place in range(1, n_columns + 1) if place not in chosen.values()]
    wanted = [role for role in ROLES if role not in chosen and (n_columns <= 4 or role != "time")]
    chosen |= dict(zip(wanted, free, strict=False))
    if missing := [role for role in ROLES[: 2 if likes else 3] if role not in chosen]:
        raise RecveilError(
            f"{where}: no column is left for the {missing[0]}; name it with {missing[0]} "
            f"(--{missing[0]})",
            code="column.missing",
        )
    if len(set(chosen.values())) < len(chosen):
        raise RecveilError(
            f"{where}: one column cannot be two of user, item, rating and time; give each another "
            f"place (--user, --item, --rating, --time)",
            code="option.conflict",
        )
    # Without ratings, whether the column holds times decides whether the rows are likes.
    keeps = times or likes
    return {role: chosen[role] for role in ROLES if role in chosen and (keeps or role != "time")}


def as_text(given: Mapping[str, str | int | None]) -> dict[str, str | None]:
    """Convert places given as numbers to text.

    >>> as_text({"user": 2, "item": "film", "time": None})
    {'user': '2', 'item': 'film', 'time': None}
    """
    return {role: None if name is None else str(name) for role, name in given.items()}


def position_in(text: str, names: list[str]) -> str | None:
    """Return the name of the column at a place from 1; None if the text is not such a place.

    >>> position_in("2", ["film", "user"]), position_in("user", ["film", "user"])
    ('user', None)
    """
    place = place_of(text, len(names))
    return None if place is None else names[place - 1]


def place_of(text: str, n_columns: int) -> int | None:
    """Parse a place from 1; None if there is no such place.

    Numbers of thousands of digits, which Python does not parse, are no place.

    >>> place_of("02", 3), place_of("4", 3), place_of("9" * 5_000, 3), place_of("two", 3)
    (2, None, None, None)
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    place = int(digits) if 0 < len(digits) <= len(str(n_columns)) else 0
    return place if 1 <= place <= n_columns else None


def _position(role: str, text: str, n_columns: int, where: str) -> int:
    if (place := place_of(text, n_columns)) is None:
        raise RecveilError(
            f"{where}: {quoted(text)} for the {role}, but the file has no header; expected the "
            f"place of its column, from 1 to {n_columns} ({role}, --{role})",
            code="column.missing",
        )
    return place


# Maximum number of columns, except for wide matrices, which have their own limit, and the bytes to
# read a column, whatever its content.
MOST_COLUMNS, _A_COLUMN = 100_000, 6_000


def reject_empty_table(where: str) -> NoReturn:
    """Raise the RecveilError for a table without rows."""
    raise RecveilError(
        f"{where}: has no rows; expected at least one rating", code="table.no-ratings"
    )


def reject_many_columns(n_columns: int, where: str, *, read: bool = False) -> None:
    """Reject a table with too many columns before it takes time and memory."""
    if n_columns > MOST_COLUMNS:
        raise RecveilError(
            f"{where}: {n_columns:,} columns, where a table of ratings was expected, which has "
            f"{MOST_COLUMNS:,} at most; write one with the user, the item, the rating and the time",
            code="table.too-large",
        )
    if read:
        reject_beyond_limit(f"{where}: its columns", _A_COLUMN * n_columns)


@brief
class Source(NamedTuple):
    """The raw table of a rating file, before its values are parsed.

    Attributes
    ----------
    table : pyarrow.Table
        Columns `user`, `item`, `rating`, `time` (if the file has one) and the file's other columns
        under their own names; no `rating` if it certainly holds likes. Delimited text stays text:
        the first three columns are dictionary-encoded strings, the others strings; an empty field
        is null.
    locate : callable
        Returns the place of the row at a position, from 0: "ratings.csv line 812".
    format : str
        The file's format, a key of `FORMATS`.
    names : mapping of str to (str or int)
        For each column, its name in the file, or its place, from 1, without a header.
    look : Look
        Result of the search for times, if no column is named as times.
    n_columns : int
        Number of columns of a file without a header, read or not; 0 for other files.
    layout : tuple of str
        Properties of the file that the publisher should know.
    notes : tuple of str
        Warnings about the table, a sentence each.
    dialect : Dialect or None
        How delimited text is split.
    spans : Spans or None
        Number of multi-line fields of delimited text; a single one is not rejected yet.
    unread : tuple of str
        Names of the columns that are not read.
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
    unread: tuple[str, ...] = ()

    @property
    def has_header(self) -> bool:
        """Whether the file names its columns."""
        return not any(isinstance(name, int) for name in self.names.values())


@dataclass(frozen=True, slots=True)
class Selection:
    """The columns of a file to read."""

    given: Mapping[str, str | None] = field(default_factory=dict)
    times: bool = True
    extras: bool = False
    time_is_text: bool = False
    feedback: Feedback | None = MUST_RATE
    folders: Mapping[str, str] = field(default_factory=dict)
    # Names of the columns that the last call of `choose` left out
    unread: list[str] = field(default_factory=list)

    def choose_places(self, n_columns: int, where: str) -> dict[str, int]:
        """Map each column to be read to its place in a file without a header.

        >>> Selection({"user": "2", "item": "1"}).choose_places(3, "ratings.csv")
        {'user': 2, 'item': 1, 'rating': 3}
        """
        reject_many_columns(n_columns, where, read=self.extras)
        rates = self.feedback is MUST_RATE and not self.extras
        chosen = choose_positions(n_columns, self.given, where, times=self.times, rates=rates)
        taken = set(chosen.values())
        others = [place for place in range(1, n_columns + 1) if place not in taken]
        if self.extras:
            return chosen | {str(place): place for place in others}
        roles = choose_positions(n_columns, self.given, where, rates=rates)
        self.unread[:] = [
            name_at("time", place) if place == roles.get("time") else f"column {place}"
            for place in others
        ]
        return chosen

    def with_places(self, names: Sequence[str]) -> list[str]:
        """Add its place to a name that several columns have, if the caller gave the place.

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
        """Map each column to be read to its name in the file.

        RecBole's type suffix (":float") is removed. An extra column whose name is taken keeps its
        full name, with "(extra)" appended until it is unique: no column may be lost, since it may
        distinguish users.
        """
        reject_many_columns(len(names), where, read=self.extras)
        given = {role: self._name(name, list(names)) for role, name in self.given.items()}
        known = [*names, *self.folders.values()]
        found = self._find(known, where, {**given, **self.folders})
        if GROUP_SIZE in names and not self.extras:
            reject_groups(where)
        by_role = found.by_role().items()
        chosen = {role: name for role, name in by_role if role not in self.folders}
        # Without ratings, whether the column holds times decides whether the rows are likes.
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
            by_place = f", or, in a file, select it by place with {role} (--{role} {place})"
            if role not in ROLES or self.given.get(role) not in (None, name):
                by_place = ""  # given by its place, which databases do not support
            raise RecveilError(
                f"{where}: two columns are called {quoted(name)}; rename one{by_place}",
                code="column.duplicate",
            )
        if self.extras and len(chosen) != len(names):
            raise RecveilError(
                f"{where}: {len(names)} columns, of which only {len(chosen)} would be read; "
                f"this is a fault in recveil, please report it",
                code="internal.fault",
            )
        read = {*chosen.values()}
        self.unread[:] = [name for name in names if name not in read]
        return chosen

    def _find(self, names: Sequence[str], where: str, given: Mapping[str, str | None]) -> Columns:
        """Find the columns; if all are read, a table without others is not ambiguous."""
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
        """Return the given name, or the name of the column at the given place."""
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
        # Blanks around a name are ignored if the match is unique.
        stripped = [name for name in names if name.strip() == given.strip()]
        return stripped[0] if len(stripped) == 1 else given


def name_at(name: str, place: int) -> str:
    """Append its place to the name of a column that shares the name.

    >>> name_at("rating", 4)
    'rating (column 4)'
    """
    return f"{name} (column {place})"


def _free_name(name: str, chosen: Mapping[str, str]) -> str:
    """Return an unused name for an extra column."""
    own = name.partition(":")[0]
    if own not in ROLES and own not in chosen:
        return own
    # A file may also have a column called "time (extra)".
    own = f"{name} (extra)"
    while own in chosen:
        own += " (extra)"
    return own


def search_times(
    selection: Selection, where: str, first: Callable[[], pa.Table | None]
) -> tuple[Look, Selection]:
    """Search for the column of times, unless the caller named it."""
    if not selection.times or selection.given.get("time") is not None:
        return Look(), selection
    rows = first()
    if rows is None:
        return Look(), selection
    rows = rows.rename_columns(selection.with_places(rows.column_names))
    chosen = selection.choose(rows.column_names, where)
    if "time" in chosen and selection.time_is_text:
        return Look(), selection  # parsed with a given format
    look = look_for_times(rows, chosen)
    if look.name is None:
        return look, selection
    return look, replace(selection, given={**selection.given, "time": look.name})
