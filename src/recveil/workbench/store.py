"""Store: the database of a project, in which a change of several steps is there whole or not."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError
from recveil.locks import FOR_OWNER

# Whoever opens a project of another version must not guess what its columns mean.
_VERSION = 2
# A number that was given is never given again: a page that was loaded earlier may still name it.
_SCHEMA = """
CREATE TABLE inputs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, place TEXT NOT NULL,
    digest TEXT NOT NULL, reading TEXT NOT NULL, added TEXT NOT NULL, UNIQUE (place, digest));
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, room TEXT NOT NULL, task TEXT NOT NULL,
    settings TEXT NOT NULL, command TEXT NOT NULL, input INTEGER, state TEXT NOT NULL,
    error TEXT NOT NULL, began TEXT NOT NULL, ended TEXT NOT NULL);
CREATE TABLE log (
    at TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, command TEXT NOT NULL);
CREATE TABLE kept (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_SHAPE = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"

# Runs one step of a change.
Run = Callable[..., sqlite3.Cursor]


class Store:
    """The database of a project, for all threads of whoever serves it.

    Parameters
    ----------
    file : path
        Is made if it does not exist.

    Attributes
    ----------
    is_new : bool
        Whether nothing was in it.

    Raises
    ------
    RecveilError
        If it is no database of a project.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(Path(folder, "project.sqlite"))
    ...     with store.changing() as run:
    ...         _ = run("INSERT INTO kept (key, value) VALUES ('least k', '5')")
    ...     store.rows("SELECT value FROM kept")
    ...     store.close()
    [('5',)]
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._guard = threading.RLock()
        self._depth = 0
        try:
            self._database = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        except sqlite3.Error as error:
            raise self._unreadable(error) from None
        try:
            file.chmod(FOR_OWNER)
            self.is_new = self._prepare()
        except sqlite3.Error as error:
            self.close()
            raise self._unreadable(error) from None

    def close(self) -> None:
        """Let go of the file."""
        with self._guard:
            self._database.close()

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        with self._guard:
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def changing(self) -> Iterator[Run]:
        """Change something in one or several steps: all of them are kept, or none.

        A change within another one is a part of it.
        """
        with self._guard:
            try:
                if not self._depth:
                    self._database.execute("BEGIN IMMEDIATE")
                self._depth += 1
                try:
                    yield self._database.execute
                finally:
                    self._depth -= 1
                if not self._depth:
                    self._database.execute("COMMIT")
            except BaseException as error:
                if not self._depth and self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                if not isinstance(error, sqlite3.Error):
                    raise
                raise RecveilError(
                    f"{self._file}: cannot be written ({error}); make room, or name another folder",
                    code="output.not-writable",
                ) from None

    def _prepare(self) -> bool:
        """Make the tables, or refuse others: what is read from them is believed."""
        # What is forgotten is not to be read in what is left of the file.
        self._database.execute("PRAGMA secure_delete = ON")
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError(f"version {version}, expected {_VERSION}")
        with closing(sqlite3.connect(":memory:")) as model:
            model.executescript(_SCHEMA)
            expected = model.execute(_SHAPE).fetchall()
        shape = self._database.execute(_SHAPE).fetchall()
        if not shape:
            self._database.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT"
            )
        elif shape != expected:
            raise sqlite3.DatabaseError("other tables than a project's")
        return not shape

    def _unreadable(self, error: sqlite3.Error) -> RecveilError:
        return RecveilError(
            f"{self._file}: is no project that can be read ({error}); name another folder",
            code="workbench.damaged",
        )
