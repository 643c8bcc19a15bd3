"""Files of privacy levels, attributes of users, trust, sensitive items and titles."""

import codecs
import hashlib
import io
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.io.columns.columns import USUAL_NAMES, plain_name
from recveil.io.columns.ids import encode_ids
from recveil.io.databases import kind_of_file
from recveil.io.databases.address import NAMES
from recveil.io.detect.dialect import split_line
from recveil.io.detect.file_kinds import (
    HEAD_BYTES,
    is_json,
    is_zip,
    reject_archive,
    reject_unreadable,
    workbook_in,
)
from recveil.io.detect.known_formats import columnar_format
from recveil.io.files import Place, naming, opened_text, watched_text
from recveil.io.formats.delimited import Dialect, check_one_line, check_utf8, read_records
from recveil.io.formats.json_objects import first_objects, read_objects, text_of
from recveil.io.inputs import file_next_to_table
from recveil.io.pipes import require_path
from recveil.io.worker import PACKINGS, decoded_table, decoding
from recveil.ratings.arrow_columns import plain_table, python_values
from recveil.ratings.rating_scale import Locate
from recveil.runtime.errors import RecveilError, describe_count, listed, option_named, quoted
from recveil.runtime.safe_repr import brief

if TYPE_CHECKING:
    from scipy import sparse


# Bytes of a row's line and values in Python.
_A_ROW = 250
# Possible delimiters of names; the first is the default.
_MARKS = ",\t;|"


@brief
class NamedColumns:
    """Columns of a file, and the place of each row."""

    def __init__(self, columns: Mapping[str, pa.ChunkedArray], locate: Locate) -> None:
        self.columns = columns
        self.locate = locate
        self.others: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self.columns[name]

    def _facts(self) -> dict[str, object]:
        return {name: len(column) for name, column in self.columns.items()}


def read_named(
    path: Path,
    usual: Mapping[str, Sequence[str]],
    expected: str,
    optional: Collection[str] = (),
    others: bool = False,
) -> NamedColumns:
    r"""Read the columns of a file with certain names, and the others if wanted, by their names."""
    asked: Any = {"usual": usual, "where": path.name, "expected": expected}
    left: list[str] = []

    def choose(names: Sequence[str]) -> dict[str, str]:
        chosen = _choose(names, **asked, optional=optional, others=others)
        left[:] = [name for name in names if name not in chosen.values()]
        return chosen

    table = _read_chosen(path, choose, expected)
    table.others = tuple(left)
    return table


def _read_chosen(path: Path, choose: Any, expected: str) -> NamedColumns:
    with naming(path):
        head = head_of(path)
        if (columnar := columnar_format(head)) is not None:
            return _read_columnar(path, columnar, choose)
        # A truncated byte order mark is ignored.
        text = (
            "" if codecs.BOM_UTF8.startswith(head) else head.decode("utf-8-sig", errors="replace")
        )
        if not text.strip():
            raise RecveilError(f"{path.name}: the file is empty; {expected}", code="input.empty")
        if is_json(text):
            return _read_json(path, choose)
        return _read_text(path, dialect_of(text), choose)


def head_of(path: Path) -> bytes:
    """Return the unpacked start of a file; raise for kinds of files that are not supported."""
    what = workbook_in(path)
    if kind := kind_of_file(path):
        what = f"a {NAMES[kind]} database"
    if what is not None:
        raise RecveilError(
            f"{path.name}: {what}, from which only ratings are read; write the rows to CSV, "
            f"and name that file",
            code="input.unknown-format",
        )
    if is_zip(path):
        reject_archive(path)
    with opened_text(path) as file:
        head = file.read(HEAD_BYTES)
    reject_unreadable(path, head)
    return head


def dialect_of(text: str) -> Dialect:
    r"""Return the dialect of a text, given the delimiter between its column names.

    >>> dialect_of("user_id\tk\n7\t3\n").delimiter, dialect_of("user_id;k\n7;3\n").delimiter
    ('\t', ';')
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    return Dialect(max(_MARKS, key=first.count), quotes=True, header=True)


def finds_all(names: Sequence[str], usual: Mapping[str, Sequence[str]]) -> bool:
    """Return whether each column has one of its usual names.

    >>> finds_all(["User-ID", "K"], {"user": ("userid",), "k": ("k", "level")})
    True
    """
    return all(_fitting(names, wished) for wished in usual.values())


def _read_columnar(path: Path, format: str, choose: Any) -> NamedColumns:
    with decoding(path, format, packings=PACKINGS) as found:
        chosen = choose(found.schema.names)
    table = decoded_table(path, format, columns=[*chosen.values()], packings=PACKINGS)
    table = plain_table(table)
    columns = {role: table[name] for role, name in chosen.items()}
    return NamedColumns(columns, lambda row: f"{path.name} row {row + 1}")


def _read_json(path: Path, choose: Any) -> NamedColumns:
    chosen = choose(first_objects(path).column_names)
    rows = (
        (line, [text_of(each.get(name), name, line, path.name) for name in chosen.values()])
        for line, each in read_objects(path, _A_ROW)
    )
    return _gathered(path, [*chosen], rows)


def _read_text(path: Path, dialect: Dialect, choose: Any) -> NamedColumns:
    records = read_records(path, dialect, _A_ROW)
    line, names = next(records)
    check_utf8(names, Place(path.name, line))
    chosen = choose(names)
    places = [names.index(name) for name in chosen.values()]
    rows = (
        (line, [fields[place] or None for place in places])
        for line, fields in _whole_records(records, names, dialect, path)
    )
    return _gathered(path, [*chosen], rows)


def _gathered(
    path: Path, names: list[str], rows: Iterator[tuple[int, list[str | None]]]
) -> NamedColumns:
    """Collect rows of text as columns, with their line numbers."""
    lines: list[int] = []
    values: list[list[str | None]] = [[] for _ in names]
    for line, row in rows:
        lines.append(line)
        for column, value in zip(values, row, strict=True):
            column.append(value)
    columns = {
        name: pa.chunked_array([pa.array(column, pa.string())])
        for name, column in zip(names, values, strict=True)
    }
    return NamedColumns(columns, lambda row: str(Place(path.name, lines[row])))


def _whole_records(
    records: Iterator[tuple[int, list[str]]], names: Sequence[str], dialect: Dialect, path: Path
) -> Iterator[tuple[int, list[str]]]:
    for line, fields in records:
        place = Place(path.name, line)
        if len(fields) != len(names):
            raise RecveilError(
                f"{place}: expected {describe_count(len(names), 'column')}, got {len(fields)} "
                f"({dialect.excerpt(fields)}); fix or drop the line",
                code="input.line",
            )
        check_one_line(fields, place)
        check_utf8(fields, place)
        yield line, fields


def _choose(
    names: Sequence[str],
    *,
    usual: Mapping[str, Sequence[str]],
    where: str,
    expected: str,
    optional: Collection[str],
    others: bool,
) -> dict[str, str]:
    """Return the file's name for each needed column."""
    chosen: dict[str, str] = {}
    for role, wished in usual.items():
        fitting = _fitting(names, wished, chosen.values())
        if not fitting and role in optional:
            continue
        if not fitting:
            raise RecveilError(
                f"{where}: no {role} column among {listed(names)}; {expected}",
                code="column.missing",
            )
        if names.count(fitting[0]) > 1:
            raise RecveilError(
                f"{where}: two columns are called {quoted(fitting[0])}; rename one",
                code="column.duplicate",
            )
        chosen[role] = fitting[0]
    left = [name for name in names if name not in chosen.values()] if others else []
    for name in left:
        if name in chosen or not name.strip():
            raise RecveilError(
                f"{where}: column name {quoted(name)}; expected a name of its own for each "
                f"column; rename it",
                code="column.duplicate",
            )
        chosen[name] = name
    return chosen


def _fitting(names: Sequence[str], wished: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    free = [name for name in names if name not in taken]
    return [name for wish in wished for name in free if plain_name(name) == wish]


_LEVEL_NAMES = ("k", "level", "privacylevel")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_HEADER = "expected a header such as user_id,k"


def read_levels(
    source: str | PathLike[str], users: NDArray[Any], default: int
) -> NDArray[np.int64]:
    r"""Read the privacy level of each user from a file with the columns user_id and k.

    Parameters
    ----------
    source : str or path
        CSV or tab-separated text with a header, JSON Lines, Parquet or Arrow, packed or not; a
        pipe, "-" for standard input, or an address such as s3://. Other columns are ignored.
    users : ndarray of int64 or of str objects, shape (n_users,)
        The users' ids, as in `Ratings.users`.
    default : int
        The level of all users who are not in the file.

    Returns
    -------
    ndarray of int64, shape (n_users,)
        The minimum size of each user's equivalence class, the user included; 1 allows publication
        of their row as it is.

    Raises
    ------
    RecveilError
        For a file that cannot be read, lacks a column or has no rows; for the first level that is
        not a whole number from 1 to the number of users; for a repeated user, and for users in the
        file without ratings.

    Notes
    -----
    Source: Chen 2012 (thesis), sections 5.1 and 5.2. Ids are compared as written: "007" is not 7.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "levels.csv")
    ...     _ = path.write_text("user_id,k\nben,1\nann,3\n")
    ...     read_levels(path, np.array(["ann", "ben", "eve"], dtype=object), default=2)
    array([3, 1, 2])
    """
    _check_default(default, len(users))
    with file_next_to_table("privacy_levels", source) as path:
        return _read_levels(path, users, default)


def _read_levels(path: Path, users: NDArray[Any], default: int) -> NDArray[np.int64]:
    table = _read_level_columns(path)
    with naming(path):
        if not len(table["k"]):
            raise RecveilError(
                f"{path.name}: holds no levels; expected at least one", code="input.empty"
            )
        ids, id_of = encode_ids(table["user"], "user", table.locate)
    in_file = _whole_levels(table, len(users))
    _reject_repeated(ids, id_of, in_file, table.locate)
    position = _find_users(ids, id_of, users, path.name, table.locate)
    levels = np.full(len(users), default, dtype=np.int64)
    levels[position[id_of]] = in_file
    return levels


def _check_default(default: int, n_users: int) -> None:
    whole = isinstance(default, int | np.integer) and not isinstance(default, bool)
    if not whole or not 1 <= default <= n_users:
        raise RecveilError(
            f"the default level is {default!r}; expected a whole number from 1 to the number of "
            f"users ({n_users})",
            code="option.value",
        )


def _read_level_columns(path: Path) -> NamedColumns:
    return read_named(path, {"user": USUAL_NAMES["user"], "k": _LEVEL_NAMES}, _HEADER)


def _whole_levels(table: NamedColumns, n_users: int) -> NDArray[np.int64]:
    levels = np.empty(len(table["k"]), np.int64)
    for row, value in enumerate(python_values(table["k"])):
        level = _whole(value)
        if level is None or level < 1:
            got = "missing" if value is None else quoted(value)
            raise RecveilError(
                f"{table.locate(row)}: k is {got}; expected a whole number, 1 or more",
                code="level.value",
            )
        if level > n_users:
            raise RecveilError(
                f"{table.locate(row)}: k is {level}, but the table has "
                f"{describe_count(n_users, 'user')}; lower it",
                code="level.value",
            )
        levels[row] = level
    return levels


def _whole(value: Any) -> int | None:
    """Parse a whole number, as an int, a float of a data frame, or text."""
    if isinstance(value, str):
        text = value.strip()
        return int(text) if _WHOLE.fullmatch(text) else None
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) else None


def _reject_repeated(
    ids: NDArray[Any], id_of: NDArray[Any], levels: NDArray[np.int64] | None, locate: Locate
) -> None:
    first = np.full(len(ids), len(id_of))
    np.minimum.at(first, id_of, np.arange(len(id_of)))
    again = np.flatnonzero(first[id_of] < np.arange(len(id_of)))
    if again.size:
        row, before = int(again[0]), int(first[id_of[again[0]]])
        both = (
            "" if levels is None else f", with k = {levels[row]}, and k = {levels[before]} before"
        )
        raise RecveilError(
            f"{locate(row)}: user {quoted(ids.tolist()[id_of[row]], 40)} is repeated{both} "
            f"({locate(before)}); keep one",
            code="id.duplicate",
        )


def _find_users(
    ids: NDArray[Any], id_of: NDArray[Any], users: NDArray[Any], name: str, locate: Locate
) -> NDArray[np.int64]:
    """Return the position of each id among the users."""
    # As text: ids of digits in the file may be read as numbers although the users' ids are text.
    place = {str(user): position for position, user in enumerate(users.tolist())}
    position = np.array([place.get(str(each), -1) for each in ids.tolist()], dtype=np.int64)
    unknown = np.flatnonzero(position[id_of] < 0)
    if unknown.size:
        named = ", ".join(
            f"{quoted(ids.tolist()[id_of[row]], 20)} ({locate(row)})"
            for row in unknown[:3].tolist()
        )
        more = ", ..." if unknown.size > 3 else ""
        users_are = "user is" if unknown.size == 1 else "users are"
        raise RecveilError(
            f"{name}: {unknown.size} {users_are} not among the ratings: {named}{more}; "
            f"drop them, or check the ids",
            code="id.unknown",
        )
    return position


def users_in_levels(source: str | PathLike[str]) -> set[str]:
    r"""Return all users in a file of privacy levels, with or without ratings."""
    with file_next_to_table("privacy_levels", source) as path:
        return {str(user) for user in python_values(_read_level_columns(path)["user"].unique())}


@brief
class UserAttributes(NamedTuple):
    """Declared attributes of the users of a table, as text; None where one is missing."""

    columns: dict[str, list[str | None]]  # by name: one text per user of the table
    # Columns of the file that are not declared
    others: tuple[str, ...] = ()

    def digest(self) -> str:
        """Return a digest of all values."""
        return hashlib.sha256(json.dumps(self.columns).encode()).hexdigest()


def check_attributes(users: object, attribute: Sequence[str] | None) -> None:
    """Require both a file of users and attributes, or neither."""
    if users is not None:
        require_path("a file of users and their attributes", users=users)
    given = {"users": users is not None, "attribute": bool(attribute)}
    for name, other in (("users", "attribute"), ("attribute", "users")):
        if given[name] and not given[other]:
            raise RecveilError(
                f"{option_named(name)}: also needs {option_named(other)}; name both, or neither",
                code="option.required",
            )


def read_users(
    source: str | PathLike[str], users: NDArray[Any], names: Sequence[str], user: str | None = None
) -> UserAttributes:
    """Read attributes of users from a file, as for `read_levels`, with an id and their columns."""
    ids_named = (*USUAL_NAMES["user"], *([plain_name(user)] if user else []))
    usual = {"user": ids_named} | {name: (plain_name(name),) for name in names}
    if len(usual) != len(names) + 1:
        raise RecveilError(
            f"attribute (--attribute): {listed(names)}; expected different names, and none of "
            f"them user",
            code="option.value",
        )
    with file_next_to_table("users", source) as path:
        expected = (
            "give the column alone, as gender, without its values"
            if any("=" in name for name in names)
            else f"expected a header such as {user or 'user_id'},{names[0]}"
        )
        table = read_named(path, usual, expected)
        with naming(path):
            ids, id_of = encode_ids(table["user"], "user", table.locate)
    _reject_repeated(ids, id_of, None, table.locate)
    position = _find_users(ids, id_of, users, path.name, table.locate)[id_of].tolist()
    columns: dict[str, list[str | None]] = {name: [None] * len(users) for name in names}
    for name, texts in columns.items():
        for at, value in zip(position, python_values(table[name]), strict=True):
            texts[at] = text_of_value(value) or None
    return UserAttributes(columns, table.others)


def text_of_value(value: Any) -> str | None:
    """Return a value as text, whole numbers without a point; None for a missing one."""
    if value is None or value != value:  # NaN
        return None
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value).strip()


_NAMES = {
    "truster": ("truster", "trustor", "userid", "user"),
    "trustee": ("trustee", "trusted", "friendid", "friend"),
    "value": ("value", "trust", "trustvalue", "weight"),
}
_EXPECTED = "expected the names truster, trustee and value"

# Truster and trustee.
Pair = tuple[str, str]


@brief
class StatedTrust(NamedTuple):
    """Trust values between the users of some ratings.

    Attributes
    ----------
    links : scipy.sparse.csr_array of float64, shape (n_users, n_users)
        Trust of the row's user in the column's user; no entry where none was stated.
    n_ignored : int
        Number of lines about users without ratings.
    n_unknown : int
        Number of such users.
    """

    links: "sparse.csr_array"
    n_ignored: int
    n_unknown: int


def read_trust(source: str | PathLike[str], users: NDArray[Any]) -> StatedTrust:
    r"""Read trust between users: lines of truster, trustee and value, or columns with these names.

    Parameters
    ----------
    source : str or path
        Text without a header, such as FilmTrust's ``trust.txt``; or columns called truster,
        trustee and value, as CSV, JSON Lines, Parquet or Arrow; packed or not. A pipe, "-" for
        standard input, or an address such as s3://.
    users : ndarray of int64 or of str objects, shape (n_users,)
        The users' ids, as in `Ratings.users`. Ids are compared as written: "007" is not 7.

    Returns
    -------
    StatedTrust
        For `TrustKNN`. Lines about users without ratings are ignored and counted, since they
        support no predictions. The last line about a pair counts.

    Raises
    ------
    RecveilError
        For a file that cannot be read or has no lines, and for the first line that does not have
        three columns or whose value is not a finite number.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "trust.txt")
    ...     _ = path.write_text("ann ben 1\nben eve 1\n")
    ...     stated = read_trust(path, np.array(["ann", "ben"], dtype=object))
    >>> stated.links.toarray(), stated.n_ignored, stated.n_unknown
    (array([[0., 1.], [0., 0.]]), 1, 1)
    """
    with file_next_to_table("trust", source) as path:
        return _read_trust(path, users)


def _read_trust(path: Path, users: NDArray[Any]) -> StatedTrust:
    position = {str(user): at for at, user in enumerate(users.tolist())}
    values: dict[tuple[int, int], float] = {}
    unknown: set[str] = set()
    n_ignored = 0
    for pair, value in _stated(path):
        missing = {name for name in pair if name not in position}
        if missing:
            unknown |= missing
            n_ignored += 1
        else:
            values[position[pair[0]], position[pair[1]]] = value
    if not values and not n_ignored:
        raise RecveilError(
            f"{path.name}: the file is empty; expected lines such as 'ann ben 1'",
            code="input.empty",
        )
    from scipy import sparse

    pairs = np.array(list(values), dtype=np.int64).reshape(-1, 2)
    trust = np.array(list(values.values()), dtype=np.float64)
    shape = (len(position), len(position))
    return StatedTrust(sparse.csr_array((trust, pairs.T), shape=shape), n_ignored, len(unknown))


def _stated(path: Path) -> Iterator[tuple[Pair, float]]:
    """Yield truster, trustee and value from a file of any kind."""
    with naming(path):
        head = head_of(path)
    text = head.decode("utf-8-sig", errors="replace")
    first = next((line for line in text.splitlines() if line.strip()), "")
    is_named = columnar_format(head) is not None or is_json(text)
    if is_named or finds_all(split_line(first, dialect_of(text).delimiter), _NAMES):
        return _of_columns(path)
    return _of_lines(path)


def _of_columns(path: Path) -> Iterator[tuple[Pair, float]]:
    found = read_named(path, _NAMES, _EXPECTED)
    with naming(path):
        ends = [encode_ids(found[role], role, found.locate) for role in ("truster", "trustee")]
    names = [[str(each) for each in ids.tolist()] for ids, _ in ends]
    stated = python_values(found["value"])
    for row, value in enumerate(stated):
        truster, trustee = (named[of[row]] for named, (_, of) in zip(names, ends, strict=True))
        yield (truster, trustee), _number(value, found.locate(row))


def _of_lines(path: Path) -> Iterator[tuple[Pair, float]]:
    # An id that is not UTF-8 matches no user, and counts as unknown.
    with (
        naming(path),
        watched_text(path, keeps_text=True, a_row=_A_ROW) as raw,
        io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape") as text,
    ):
        for line, each in enumerate(text, start=1):
            if fields := each.split():
                place = str(Place(path.name, line))
                if len(fields) != 3:
                    raise RecveilError(
                        f"{place}: expected truster, trustee and value with blanks between, got "
                        f"{describe_count(len(fields), 'field')}; fix or drop the line, or give a "
                        f"CSV with these names",
                        code="input.line",
                    )
                yield (fields[0], fields[1]), _number(fields[2], place)


def _number(value: Any, place: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        got = "missing" if value is None else quoted(value)
        raise RecveilError(
            f"{place}: trust is {got}; expected a finite number; fix or drop the line",
            code="input.line",
        )
    return number


def users_in_trust(source: str | PathLike[str]) -> set[str]:
    """Return all users in a trust file, with or without ratings."""
    with file_next_to_table("trust", source) as path:
        return {name for pair, _ in _stated(path) for name in pair}


# The category of all sensitive items.
ANY = "any"


@brief
class SensitiveItems(NamedTuple):
    """Sensitive items of a table, by category, after those of any."""

    masks: dict[str, NDArray[np.bool_]]  # shape (n_items,) each
    n_unknown: int  # items of the file that are not in the table


def read_sensitive(source: str | PathLike[str], items: NDArray[Any]) -> SensitiveItems:
    r"""Read sensitive items from a file with the columns item_id and, optionally, category.

    Ids are compared as written. The file must name an item of the table.
    """
    usual = {"item": USUAL_NAMES["item"], "category": ("category", "kind", "topic")}
    expected = "expected a header such as item_id,category"
    with file_next_to_table("sensitive", source) as path:
        table = read_named(path, usual, expected, optional=("category",))
        with naming(path):
            ids, id_of = encode_ids(table["item"], "item", table.locate)
    place = {str(item): position for position, item in enumerate(items.tolist())}
    position = [place.get(str(each), -1) for each in ids.tolist()]
    if max(position, default=-1) < 0:
        raise RecveilError(
            f"{path.name}: none of its {describe_count(len(ids), 'item')} is in the table; it must "
            f"use the table's own item ids",
            code="id.unknown",
        )
    masks = {ANY: np.zeros(len(items), bool)}
    named = table.columns.get("category")
    categories = [None] * len(id_of) if named is None else python_values(named)
    for number, category in zip(id_of.tolist(), categories, strict=True):
        if (at := position[number]) >= 0:
            for name in (ANY, category):
                if name is not None:
                    masks.setdefault(str(name), np.zeros(len(items), bool))[at] = True
    return SensitiveItems(masks, position.count(-1))


def item_column(names: Sequence[str], where: str) -> str:
    """Return the column of a table that holds the ids of items: the only one, or by its name."""
    usual = [name for name in names if plain_name(name) in USUAL_NAMES["item"]]
    found = names if len(names) == 1 else usual
    if len(found) != 1:
        raise RecveilError(
            f"item_catalog (--item-catalog): {where}: "
            f"{'several columns' if found else 'no column'} of {listed(found or names)} may hold "
            f"the ids of items; leave one, or call it item_id",
            code="column.ambiguous" if found else "column.missing",
        )
    return found[0]


def read_item_ids(path: Path) -> list[str] | None:
    """Return the ids in a table of items, each once; None for lines without a header."""
    head = head_of(path)
    text = "" if columnar_format(head) else head.decode("utf-8-sig", errors="replace")
    first = next(iter(text.splitlines()), "")
    names = split_line(first, dialect_of(first).delimiter)
    if text and not is_json(text) and all(plain_name(n) not in USUAL_NAMES["item"] for n in names):
        return None
    table = _read_chosen(path, lambda names: {"item": item_column(names, path.name)}, "")
    return [*dict.fromkeys(text_of_value(value) or "" for value in python_values(table["item"]))]


# Lists of titles without a header: u.item and movies.dat of MovieLens, and Netflix's titles.
_TITLE_LINES = tuple(
    re.compile(line)
    for line in (
        r"(?P<item>\d+)\|(?P<title>[^|]+)\|",
        r"(?P<item>\d+)::(?P<title>.+)::",
        r"(?P<item>\d+),(?P<year>\d{4}|NULL),(?P<title>.+)",
    )
)


def read_titles(name: str, source: str | PathLike[str]) -> dict[str, str]:
    r"""Read the title of each item, with its year in parentheses if there is one.

    The file has the columns item_id, title and, optionally, year, and one title of each item.
    u.item and movies.dat of MovieLens, and movie_titles.csv of the Netflix Prize, need no header.
    """
    titles: dict[str, str] = {}
    with file_next_to_table(name, source) as path:
        for item, title, place in _titles(path):
            if titles.setdefault(item, title) != title:
                raise RecveilError(
                    f"{place}: item {quoted(item, 40)} has two titles; keep one",
                    code="id.duplicate",
                )
    return titles


def _titles(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each item, its title with the year, and the place."""
    with naming(path):
        head = head_of(path)
        is_text = columnar_format(head) is None
        lines = head.decode("latin-1").splitlines() if is_text else []
        form = next((form for form in _TITLE_LINES if lines and form.match(lines[0])), None)
        if form is not None:
            yield from _title_lines(path, form)
            return
    usual = {"item": USUAL_NAMES["item"], "title": TITLE_NAMES, "year": ("year", "releaseyear")}
    expected = "expected a header such as item_id,title"
    table = read_named(path, usual, expected, optional=("year",))
    years = table.columns.get("year")
    columns = [table["item"], table["title"], table["title"] if years is None else years]
    for row, (item, title, year) in enumerate(zip(*map(python_values, columns), strict=True)):
        if item is not None and title is not None:
            yield str(item), _dated(str(title), None if years is None else year), table.locate(row)


TITLE_NAMES = ("title", "name", "movietitle", "itemtitle", "itemname")


def _title_lines(path: Path, form: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    with opened_text(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig").strip()
            except UnicodeDecodeError:
                text = line.decode("latin-1").strip()
            place = str(Place(path.name, number))
            if (parts := form.match(text)) is None:
                if text:
                    raise RecveilError(
                        f"{place}: expected an item and its title, as in the first line; fix or "
                        f"drop the line",
                        code="input.line",
                    )
                continue
            yield parts["item"], _dated(parts["title"], parts.groupdict().get("year")), place


def _dated(title: str, year: Any) -> str:
    """Append the year, if it is a number and not there yet."""
    digits = str(year).removesuffix(".0").strip()
    has_year = re.search(r"\(\d{4}\)\s*$", title) is not None
    return title.strip() if has_year or not digits.isdigit() else f"{title.strip()} ({digits})"
