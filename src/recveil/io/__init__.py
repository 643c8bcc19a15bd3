"""Readers and writers of rating files."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recveil.io.detect.known_formats import FORMATS
    from recveil.io.ingestion import ReadColumn, Reading, read, read_ratings, understand
    from recveil.io.inputs import file_at
    from recveil.io.pipes import spooled
    from recveil.io.side_tables import StatedTrust, read_levels, read_trust
    from recveil.io.source import Source
    from recveil.io.tables import frame_table, read_table
    from recveil.io.write import write_ratings

__all__ = [
    "FORMATS",
    "ReadColumn",
    "Reading",
    "Source",
    "StatedTrust",
    "file_at",
    "frame_table",
    "read",
    "read_levels",
    "read_ratings",
    "read_table",
    "read_trust",
    "spooled",
    "understand",
    "write_ratings",
]

# Loaded lazily: the child process that decodes untrusted files is in this package, and must start
# fast.
_HOMES = {
    "FORMATS": "detect.known_formats",
    "ReadColumn": "ingestion",
    "Reading": "ingestion",
    "Source": "source",
    "StatedTrust": "side_tables",
    "file_at": "inputs",
    "frame_table": "tables",
    "read": "ingestion",
    "read_levels": "side_tables",
    "read_ratings": "ingestion",
    "read_table": "tables",
    "read_trust": "side_tables",
    "spooled": "pipes",
    "understand": "ingestion",
    "write_ratings": "write",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import the module of a public name at its first use."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
