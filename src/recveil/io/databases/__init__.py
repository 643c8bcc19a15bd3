"""Read-only access to databases: a table or the rows of a query, as Arrow batches."""

from recveil.io.databases.address import Address, address_of, is_given_as_path, scheme_of
from recveil.io.databases.connection import kind_of_file, opened_database
from recveil.io.databases.queries import Database, Wanted, query_of

__all__ = [
    "Address",
    "Database",
    "Wanted",
    "address_of",
    "is_given_as_path",
    "kind_of_file",
    "opened_database",
    "query_of",
    "scheme_of",
]
