"""PostgreSQL: one snapshot that cannot be written to, by way of its Arrow driver.

Who asks, and with which password, is for the driver's own library: the address, the environment
(PGUSER, PGPASSWORD, PGSERVICE), ~/.pgpass and the service file. None of it stands in an error.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from recveil.databases.meanwhile import heard_meanwhile
from recveil.databases.queries import DatabaseColumn, each_of, everything_of, typed_rows
from recveil.errors import RecveilError

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
        with self._telling():
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
        with self._telling():
            heard_meanwhile(partial(self.cursor.execute, sql), self.cursor.adbc_cancel)
            reader = self.cursor.fetch_record_batch()
        return reader.schema, each_of(self._sent(reader), self._telling)

    rows = typed_rows

    def _sent(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """Yield what the server sends."""
        coming = partial(next, reader, None)
        while (batch := heard_meanwhile(coming, self.cursor.adbc_cancel)) is not None:
            yield batch

    @contextmanager
    def _telling(self) -> Iterator[None]:
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
        with database._telling():
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
