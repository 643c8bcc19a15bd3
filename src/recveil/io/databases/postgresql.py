"""PostgreSQL: one snapshot that cannot be written to, by way of its Arrow driver.

Who asks, and with which password, is for the driver's own library: the address, the environment
(PGUSER, PGPASSWORD, PGSERVICE), ~/.pgpass and the service file. None of it stands in an error.
"""

import re
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from recveil.io.databases.queries import DatabaseColumn, each_of, everything_of, typed_rows
from recveil.runtime.errors import RecveilError
from recveil.runtime.threads import reject_without_room

T = TypeVar("T")

# How long a signal may wait, at most.
_SECONDS_TO_HEAR = 0.1
# So long a server has to take note that nobody waits for its answer any more.
_SECONDS_TO_STOP = 10.0


def heard_meanwhile(work: Callable[[], T], stop: Callable[[], object] | None = None) -> T:
    """Do what waits outside Python; whatever a signal raises meanwhile is raised at once.

    Python runs what a signal asks for between two steps of its own. A driver that waits for a
    server takes none: SIGTERM would be heard after the answer.

    Parameters
    ----------
    work : callable
    stop : callable, optional
        Asks from this thread that the work end, if its result is not wanted any more. Without it
        the work is left to itself.

    Examples
    --------
    >>> heard_meanwhile(lambda: 1 + 2)
    3
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    reject_without_room()
    # Of a thread that is left to itself, nobody waits for the end.
    thread = threading.Thread(target=run, name="recveil-database", daemon=True)
    thread.start()
    try:
        # Not one long wait: with some drivers the system goes on with it after a Ctrl-C.
        while not wait([done], _SECONDS_TO_HEAR).done:
            if not thread.is_alive() and not done.done():  # it had no memory to say how it ended
                raise MemoryError
        return done.result()
    except BaseException:
        if stop is not None and thread.is_alive():
            with suppress(Exception):  # what was raised is what matters
                stop()
            thread.join(_SECONDS_TO_STOP)
        raise


_ITSELF = {
    *("int2", "int4", "int8", "float4", "float8", "bool"),
    *("text", "varchar", "bpchar", "name", "date", "timestamp", "timestamptz"),
}
_NOTHING = {"json", "jsonb", "bytea", "record", "xml", "tsvector"}
# Nothing else that happens meanwhile is seen, and nothing is written.
_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Tables, partitioned ones, views and what stands for such, where the server looks for a name.
_TABLES = (
    "SELECT relname::text FROM pg_catalog.pg_class WHERE relkind = ANY ('{r,p,v,m,f}') "
    "AND pg_catalog.pg_table_is_visible(oid) AND relnamespace <> ALL "
    "(ARRAY['pg_catalog', 'information_schema']::regnamespace[])"
)
# How it begins what it says where it cannot connect, and what to do; the rest names who and where.
_REFUSALS = {
    r"fe_sendauth|.{0,20}authentication": "the user or password was refused; set PGUSER and "
    "PGPASSWORD, or write the password into ~/.pgpass",
    r"database ": "the server has no database of that name; check the address",
    r"role |no PostgreSQL user": "the server knows no such user; name another in the address or "
    "with PGUSER",
    r"definition of service|service file": "no such service is known; check PGSERVICE and the "
    "service file (~/.pg_service.conf)",
    r"no pg_hba": "the server lets nobody in from here as that user; ask who runs it (pg_hba.conf)",
    r"server does not support SSL|SSL|sslmode|root certificate": "server and client do not agree "
    "about encryption; see sslmode",
    r"sorry|too many|remaining connection|the database system": "the server takes nobody in at the "
    "moment; try again later",
    r"unexpected|invalid|missing|extra|end of string|forbidden": "its address is not understood; "
    "expected postgresql://USER@HOST/DATABASE, with odd characters as %20",
}
_UNREACHABLE = "no server answers there; check the address, and that it runs and lets you in"
_SAID = re.compile(r"(?:ERROR|FATAL):\s+([^\n]*)")


class PostgreSQL:
    """A PostgreSQL database, as it stands in one moment.

    Parameters
    ----------
    cursor : cursor of the driver
        Within a transaction that is read only.
    name : str
        What to call the database in an error.
    """

    def __init__(self, cursor: Any, name: str) -> None:
        self.cursor, self.name = cursor, name

    def tables(self) -> list[str]:
        """List the names of its tables and views, where it looks for them."""
        _, batches = self.batches(_TABLES)
        return [name for batch in batches for name in batch.column(0).to_pylist()]

    def columns(
        self,
        query: str,
        names: Collection[str] | None = None,
        texts: Collection[str] = (),  # noqa: ARG002  # its columns have types
    ) -> list[DatabaseColumn]:
        """Describe the columns of a query by their types; no row is asked for."""
        with self._reporting():
            described = partial(self.cursor.adbc_execute_schema, everything_of(query))
            schema = heard_meanwhile(described, self.cursor.adbc_cancel)
        found = [(field.name, _kind_of(field), field.type) for field in schema]
        return [
            DatabaseColumn(name, kind, _read_as(kind, of))
            for name, kind, of in found
            if names is None or name in names
        ]

    def batches(self, sql: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the rows of a query, batch by batch, as the server sends them."""
        with self._reporting():
            heard_meanwhile(partial(self.cursor.execute, sql), self.cursor.adbc_cancel)
            reader = self.cursor.fetch_record_batch()
        return reader.schema, each_of(self._sent(reader), self._reporting)

    rows = typed_rows

    def _sent(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """Yield what the server sends."""
        coming = partial(next, reader, None)
        while (batch := heard_meanwhile(coming, self.cursor.adbc_cancel)) is not None:
            yield batch

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Turn what the driver raises into one readable line."""
        from adbc_driver_manager import Error

        try:
            yield
        except (Error, OSError, pa.ArrowException) as error:
            said = _SAID.search(str(error))
            told = said[1] if said else "the server broke off"
            raise RecveilError(
                f"{self.name}: {told}; check query (--query) or table (--table): one SELECT, "
                f"which changes nothing",
                code="database.query",
            ) from None


def _kind_of(field: pa.Field) -> str:
    """Return what PostgreSQL calls the type of a column."""
    of = field.metadata or {}
    return str(of.get(b"POSTGRESQL:type", b"").decode(errors="replace")) or str(field.type)


def _read_as(kind: str, of: pa.DataType) -> Any:
    # All others as the server writes them: numbers of any size, ids, words of an enumeration; of
    # some the driver gives other numbers than people see (money).
    if kind in _ITSELF:
        return "itself"
    return "nothing" if kind in _NOTHING or pa.types.is_nested(of) else "text"


@contextmanager
def opened_postgresql(place: str, name: str) -> Iterator[PostgreSQL]:
    """Connect to a server.

    Parameters
    ----------
    place : str
        The address.
    name : str
        What to call the database in an error.

    Raises
    ------
    RecveilError
        If the server cannot be reached or lets nobody in, in words that name neither it nor whom.
    """
    with _connected(place, name) as connection, connection.cursor() as cursor:
        database = PostgreSQL(cursor, name)
        with database._reporting():
            heard_meanwhile(partial(cursor.execute, _SNAPSHOT), cursor.adbc_cancel)
        yield database


def _connected(place: str, name: str) -> Any:
    from adbc_driver_manager import Error
    from adbc_driver_postgresql import dbapi

    try:
        return heard_meanwhile(partial(dbapi.connect, place))
    except Error as error:
        problem = why_not_connected(str(error))
    # Not within the handling of the driver's error, which names the host and may quote more.
    raise RecveilError(f"{name}: {problem}", code="database.connection")


def why_not_connected(message: str) -> str:
    """Say in words of our own why there is no connection.

    Parameters
    ----------
    message : str
        What the driver says, which names the host, the user and more.

    Examples
    --------
    >>> why_not_connected('connection to "10.0.0.7" failed: Connection refused')
    'no server answers there; check the address, and that it runs and lets you in'
    """
    said = message.partition("Failed to connect:")[2] or message
    # What the server itself says stands at the end; before it stands where it is.
    for mark in ("FATAL:", " failed: "):
        said = said.rpartition(mark)[2]
    for beginning, words in _REFUSALS.items():
        if re.match(rf"\s*({beginning})", said):
            return words
    return _UNREACHABLE
