"""Addresses of databases, such as sqlite:///shop.db, shown without their secrets."""

import os
import re
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

_QUOTED = re.compile(rb"%([0-9A-Fa-f]{2})")
_TO_BE_QUOTED = re.compile(rb"[^A-Za-z0-9/._~-]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
# The database of each scheme.
_KINDS = {
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "postgresql": "postgresql",
    "postgres": "postgresql",
}
NAMES = {"sqlite": "SQLite", "duckdb": "DuckDB", "postgresql": "PostgreSQL"}


@brief
class Address(NamedTuple):
    """Address of a database."""

    kind: str  # "sqlite", "duckdb" or "postgresql"
    place: str  # the path of a file; for a server, the whole address, including any password

    @property
    def name(self) -> str:
        """The name of the database in messages."""
        return NAMES[self.kind]

    @property
    def is_server(self) -> bool:
        """Whether the database is on a server, not in a local file."""
        return self.kind == "postgresql"

    def _facts(self) -> dict[str, object]:
        return {"kind": self.kind}


def unquoted(text: str) -> str:
    """Decode a percent-encoded part of an address.

    >>> unquoted("my%20sh%C3%B6p.db")
    'my shöp.db'
    """
    raw = _QUOTED.sub(lambda found: bytes([int(found[1], 16)]), os.fsencode(text))
    return os.fsdecode(raw)


def quoted_path(path: Path) -> str:
    """Encode a path as a part of an address.

    >>> quoted_path(Path("my shop?.db"))
    'my%20shop%3F.db'
    """
    raw = _TO_BE_QUOTED.sub(lambda found: b"%%%02X" % found[0][0], os.fsencode(path))
    return raw.decode("ascii")


def scheme_of(source: object) -> str | None:
    """Return the part of an address before "://"; None for a path.

    >>> scheme_of("sqlite:///shop.db"), scheme_of("shop.db"), scheme_of("C:/shop.db")
    ('sqlite', None, None)
    """
    text = source if isinstance(source, str) else ""
    found = _SCHEME.match(text)
    return found[1].lower() if found and text[found.end() :].startswith("/") else None


def is_given_as_path(source: str | PathLike[str]) -> bool:
    """Return whether an address was converted to a path, which removes one of its slashes.

    >>> is_given_as_path(Path("postgresql://ann@host/shop")), is_given_as_path(Path("shop.db"))
    (True, False)
    """
    found = _SCHEME.match(str(source))
    known = (*_KINDS, "s3", "gs", "file")
    return found is not None and found[1].lower() in known and scheme_of(str(source)) is None


def address_of(source: object) -> Address | None:
    """Return the address of a database; None for paths and for addresses of files.

    >>> address_of("sqlite:///shop.db").place, address_of("duckdb:////data/shop.duckdb").place
    ('shop.db', '/data/shop.duckdb')
    >>> address_of("postgresql://ann:geheim@host/shop")
    Address(kind: postgresql)
    """
    kind = _KINDS.get(scheme_of(source) or "")
    if kind is None:
        return None
    text = str(source)
    if kind == "postgresql":
        return Address(kind, kind + text[text.index(":") :])
    host, slash, place = text.partition("://")[2].partition("/")
    if host or not slash or not place or "?" in place:
        raise RecveilError(
            f"{kind}: expected {kind}:/// and the path of a file, such as {kind}:///shop.db (with "
            f"a fourth slash from the root on), and nothing behind it",
            code="input.address",
        )
    return Address(kind, unquoted(place))
