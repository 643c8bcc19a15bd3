"""PostgreSQL databases, read in one read-only snapshot through the Arrow driver.

The driver's own library handles credentials: the address, the environment (PGUSER, PGPASSWORD,
PGSERVICE), ~/.pgpass and the service file. No error contains them.
"""

import re
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from recveil.io.databases.queries import Database, DatabaseColumn, each_of, everything_of
from recveil.runtime.errors import RecveilError
from recveil.runtime.memory import require_thread_room

T = TypeVar("T")

# Maximum delay of a signal, in seconds.
_SECONDS_TO_HEAR = 0.1
# Seconds that a server has to cancel a query.
_SECONDS_TO_STOP = 10.0


def heard_meanwhile(work: Callable[[], T], stop: Callable[[], object] | None = None) -> T:
    """Run a blocking call outside Python, and raise exceptions of signal handlers at once.

    Python runs signal handlers between two of its own instructions. A driver that waits for a
    server executes none, so SIGTERM would take effect only after the answer.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    require_thread_room()
    # A daemon thread, for whose end Python does not wait.
    thread = threading.Thread(target=run, name="recveil-database", daemon=True)
    thread.start()
    try:
        # Short waits: with some drivers, the system resumes a long one after a Ctrl-C.
        while not wait([done], _SECONDS_TO_HEAR).done:
            if not thread.is_alive() and not done.done():  # too little memory to report its end
                raise MemoryError
        return done.result()
    except BaseException:
        if stop is not None and thread.is_alive():
            with suppress(Exception):  # the first exception is the relevant one
                stop()
            thread.join(_SECONDS_TO_STOP)
        raise


_ITSELF = {
    *("int2", "int4", "int8", "float4", "float8", "bool"),
    *("text", "varchar", "bpchar", "name", "date", "timestamp", "timestamptz"),
}
_NOTHING = {"json", "jsonb", "bytea", "record", "xml", "tsvector"}
# A consistent, read-only view of the database.
_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Tables, partitioned and foreign tables, and views in the server's search path.
_TABLES = (
    "SELECT relname::text FROM pg_catalog.pg_class WHERE relkind = ANY ('{r,p,v,m,f}') "
    "AND pg_catalog.pg_table_is_visible(oid) AND relnamespace <> ALL "
    "(ARRAY['pg_catalog', 'information_schema']::regnamespace[])"
)
# Start of the server's message for each failure to connect, with a remedy; the rest names user and
# host.
_REFUSALS = {
    r"fe_sendauth|.{0,20}authentication": "the user or password was refused; set PGUSER and "
    "PGPASSWORD, or write the password into ~/.pgpass",
    r"database ": "the server has no database of that name; check the address",
    r"role |no PostgreSQL user": "the server knows no such user; name another in the address or "
    "with PGUSER",
    r"definition of service|service file": "no such service is known; check PGSERVICE and the "
    "service file (~/.pg_service.conf)",
    r"no pg_hba": "the server accepts no such login from here; ask its administrator (pg_hba.conf)",
    r"server does not support SSL|SSL|sslmode|root certificate": "server and client do not agree "
    "about encryption; see sslmode",
    r"sorry|too many|remaining connection|the database system": "the server accepts no "
    "connections at the moment; try again later",
    r"unexpected|invalid|missing|extra|end of string|forbidden": "its address is not understood; "
    "expected postgresql://USER@HOST/DATABASE, with odd characters as %20",
}
_UNREACHABLE = "no server answers there; check the address, and that it runs and lets you in"
_MESSAGE = re.compile(r"(?:ERROR|FATAL):\s+([^\n]*)")


class PostgreSQL(Database):
    """A snapshot of a PostgreSQL database."""

    tables_query = _TABLES

    def __init__(self, cursor: Any, name: str) -> None:
        self.cursor, self.name = cursor, name

    def columns(
        self,
        query: str,
        names: Collection[str] | None = None,
        texts: Collection[str] = (),  # noqa: ARG002  # its columns have types
    ) -> list[DatabaseColumn]:
        """Describe the columns of a query by their types, without fetching rows."""
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

    def _sent(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """Yield the batches that the server sends."""
        coming = partial(next, reader, None)
        while (batch := heard_meanwhile(coming, self.cursor.adbc_cancel)) is not None:
            yield batch

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Convert the driver's errors to one readable line."""
        from adbc_driver_manager import Error

        try:
            yield
        except (Error, OSError, pa.ArrowException) as error:
            message = _MESSAGE.search(str(error))
            problem = message[1] if message else "the server broke off"
            raise RecveilError(
                f"{self.name}: {problem}; check query (--query) or table (--table): one SELECT, "
                f"which changes nothing",
                code="database.query",
            ) from None


def _kind_of(field: pa.Field) -> str:
    """Return PostgreSQL's name of a column's type."""
    of = field.metadata or {}
    return str(of.get(b"POSTGRESQL:type", b"").decode(errors="replace")) or str(field.type)


def _read_as(kind: str, of: pa.DataType) -> Any:
    # All others as the server's text: numbers of any size, ids, enumerations; for some (money), the
    # driver's values differ from the displayed ones.
    if kind in _ITSELF:
        return "itself"
    return "nothing" if kind in _NOTHING or pa.types.is_nested(of) else "text"


@contextmanager
def opened_postgresql(place: str, name: str) -> Iterator[PostgreSQL]:
    """Connect to a server."""
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
    # Raised outside the handler of the driver's error, which contains the host and more.
    raise RecveilError(f"{name}: {problem}", code="database.connection")


def why_not_connected(message: str) -> str:
    """Return why a connection failed, without the driver's text.

    >>> why_not_connected('connection to "10.0.0.7" failed: Connection refused')
    'no server answers there; check the address, and that it runs and lets you in'
    """
    reason = message.partition("Failed to connect:")[2] or message
    # The server's own message is at the end, after its host.
    for mark in ("FATAL:", " failed: "):
        reason = reason.rpartition(mark)[2]
    remedies = (remedy for start, remedy in _REFUSALS.items() if re.match(rf"\s*({start})", reason))
    return next(remedies, _UNREACHABLE)
