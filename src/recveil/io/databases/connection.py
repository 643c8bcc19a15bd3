"""Connections to a database by address, or to a database file detected by content."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from recveil.io.databases.address import NAMES
from recveil.io.databases.queries import Database
from recveil.runtime.errors import RecveilError

# Offset and content of the magic bytes of each kind of file.
_MAGIC = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}
FILE_DATABASES = tuple(_MAGIC)
_NEEDED = {
    "sqlite": ("adbc_driver_manager", "adbc_driver_sqlite"),
    "postgresql": ("adbc_driver_manager", "adbc_driver_postgresql"),
    "duckdb": ("duckdb",),
}


def kind_of_file(path: Path) -> str | None:
    """Return the kind of a database file by its first bytes; None for other files.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "shop.db")
    ...     _ = path.write_bytes(b"SQLite format 3" + bytes(85))
    ...     kind_of_file(path)
    'sqlite'
    """
    with path.open("rb") as file:
        head = file.read(16)
    return next((kind for kind, (at, magic) in _MAGIC.items() if head[at:].startswith(magic)), None)


def reject_missing_packages(kind: str, what: str) -> None:
    """Raise a RecveilError if the packages that read a database are not installed."""
    for name in _NEEDED[kind]:
        if find_spec(name) is None:
            raise RecveilError(
                f"{what}, which {name.replace('_', '-')} reads; install it (pip install "
                f"'recveil[databases]'), or write the table as CSV",
                code="dependency.missing",
            )


@contextmanager
def opened_database(kind: str, place: str | Path, name: str, limit: int) -> Iterator[Database]:
    """Open a database for reading.

    Parameters
    ----------
    kind : {"sqlite", "duckdb", "postgresql"}
    place : str or Path
        The path of its file, or the address of its server.
    name : str
        Its name in an error.
    limit : int
        Maximum memory in bytes.

    Raises
    ------
    RecveilError
        If it cannot be opened, or its driver is not installed.
    """
    reject_missing_packages(kind, f"{name}: a {NAMES[kind]} database")
    # Drivers are imported on demand.
    opened: Any
    if kind == "sqlite":
        from recveil.io.databases.sqlite import opened_sqlite

        opened = opened_sqlite(Path(place))
    elif kind == "duckdb":
        from recveil.io.databases.duckdb import opened_duckdb

        opened = opened_duckdb(Path(place), limit)
    else:
        from recveil.io.databases.postgresql import opened_postgresql

        opened = opened_postgresql(str(place), name)
    with opened as database:
        yield database
