"""Privacy levels from a file: how many must share a row with each user, by their own wish."""

import re
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError, describe_count, quoted
from recveil.io.at_hand import beside_table
from recveil.io.files import naming
from recveil.io.named_columns import read_named
from recveil.ratings.columns import USUAL_NAMES, Locate
from recveil.ratings.labels import encode_labels
from recveil.ratings.plain_types import python_values

_LEVEL_NAMES = ("k", "level", "privacylevel")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_HEADER = "expected a header such as user_id,k"


@brief
class _Column(NamedTuple):
    """What a file says, row by row, and where."""

    users: pa.ChunkedArray
    levels: list[Any]
    locate: Locate


def read_levels(
    source: str | PathLike[str], users: NDArray[Any], default: int
) -> NDArray[np.int64]:
    r"""Read the privacy level of each user from a file with the columns user_id and k.

    Parameters
    ----------
    source : str or path
        CSV or tab-separated text with a header, JSON Lines, Parquet or Arrow, packed or not; a
        pipe, "-" for standard input, or an address such as s3://. Other columns are passed over.
    users : ndarray of int64 or of str objects, shape (n_users,)
        The users' labels, as in `Ratings.users`.
    default : int
        The level of all users who are not in the file.

    Returns
    -------
    ndarray of int64, shape (n_users,)
        The least number of people who shall share a published row with each user, who
        counts too; 1 says that they do not mind being published as they are.

    Raises
    ------
    RecveilError
        For a file that cannot be read, lacks a column or has no rows; for the first level that is
        not a whole number from 1 to the number of users; for a user who stands twice, and for
        users in the file who have no ratings.

    Notes
    -----
    Source: Chen 2012 (thesis), sections 5.1 and 5.2. Ids are compared as they are written: "007"
    is not 7.

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
    with beside_table("privacy_levels", source) as path:
        return _read_levels(path, users, default)


def _read_levels(path: Path, users: NDArray[Any], default: int) -> NDArray[np.int64]:
    column = _read(path)
    with naming(path):
        if not column.levels:
            raise RecveilError(
                f"{path.name}: there are no levels in it; expected at least one", code="input.empty"
            )
        labels, label_of = encode_labels(column.users, "user", column.locate)
    in_file = _whole_levels(column, len(users))
    _refuse_twice(labels, label_of, in_file, column.locate)
    position = _find_users(labels, label_of, users, path.name, column.locate)
    levels = np.full(len(users), default, dtype=np.int64)
    levels[position[label_of]] = in_file
    return levels


def _check_default(default: int, n_users: int) -> None:
    whole = isinstance(default, int | np.integer) and not isinstance(default, bool)
    if not whole or not 1 <= default <= n_users:
        raise RecveilError(
            f"the default level is {default!r}; expected a whole number from 1 to the number of "
            f"users ({n_users})",
            code="option.value",
        )


def _read(path: Path) -> _Column:
    found = read_named(path, {"user": USUAL_NAMES["user"], "k": _LEVEL_NAMES}, _HEADER)
    return _Column(found["user"], python_values(found["k"]), found.locate)


def _whole_levels(column: _Column, n_users: int) -> NDArray[np.int64]:
    for row, value in enumerate(column.levels):
        level = _whole(value)
        if level is None or level < 1:
            got = "missing" if value is None else quoted(value)
            raise RecveilError(
                f"{column.locate(row)}: k is {got}; expected a whole number, 1 or more",
                code="level.value",
            )
        if level > n_users:
            are, users = (
                "there is" if n_users == 1 else "there are",
                describe_count(n_users, "user"),
            )
            raise RecveilError(
                f"{column.locate(row)}: k is {level}, but {are} {users}; lower it",
                code="level.value",
            )
        column.levels[row] = level
    return np.array(column.levels, dtype=np.int64)


def _whole(value: Any) -> int | None:
    """Read a whole number, or text that is one; a data frame may keep it as a float."""
    if isinstance(value, str):
        text = value.strip()
        return int(text) if _WHOLE.fullmatch(text) else None
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) else None


def _refuse_twice(
    labels: NDArray[Any], label_of: NDArray[Any], levels: NDArray[np.int64], locate: Locate
) -> None:
    first = np.full(len(labels), len(label_of))
    np.minimum.at(first, label_of, np.arange(len(label_of)))
    again = np.flatnonzero(first[label_of] < np.arange(len(label_of)))
    if again.size:
        row, before = int(again[0]), int(first[label_of[again[0]]])
        same = levels[row] == levels[before]
        raise RecveilError(
            f"{locate(row)}: user {quoted(labels.tolist()[label_of[row]], 40)} stands twice, "
            + (
                f"both times with k = {levels[row]} (before in {locate(before)}); drop one"
                if same
                else f"with k = {levels[before]} ({locate(before)}) and k = {levels[row]}; keep one"
            ),
            code="id.duplicate",
        )


def _find_users(
    labels: NDArray[Any], label_of: NDArray[Any], users: NDArray[Any], name: str, locate: Locate
) -> NDArray[np.int64]:
    """Return the position of each label among the users."""
    # As text: the file may hold digits only, and so be read as numbers, while the users are text.
    place = {str(user): position for position, user in enumerate(users.tolist())}
    position = np.array([place.get(str(label), -1) for label in labels.tolist()], dtype=np.int64)
    unknown = np.flatnonzero(position[label_of] < 0)
    if unknown.size:
        named = ", ".join(
            f"{quoted(labels.tolist()[label_of[row]], 20)} ({locate(row)})"
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
    r"""Return everybody who stands in a file of privacy levels, whoever has ratings.

    Raises
    ------
    RecveilError
        As `read_levels`, for a file that cannot be read or lacks a column.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "levels.csv")
    ...     _ = path.write_text("user_id,k\nann,3\n")
    ...     users_in_levels(path)
    {'ann'}
    """
    with beside_table("privacy_levels", source) as path:
        column = _read(path)
    return {str(user) for user in python_values(column.users.unique())}
