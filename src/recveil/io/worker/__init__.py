"""Decoding of untrusted binary files in a child process, which may crash."""

from recveil.io.worker.decoder import Decoded, decoded_table, decoding
from recveil.io.worker.packing import (
    PACKINGS,
    opened_archive,
    opened_unpacked,
    packing_of,
    tables_in,
)

__all__ = [
    "PACKINGS",
    "Decoded",
    "decoded_table",
    "decoding",
    "opened_archive",
    "opened_unpacked",
    "packing_of",
    "tables_in",
]
