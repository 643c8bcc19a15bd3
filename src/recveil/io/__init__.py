"""Floor 1: readers and writers of rating files."""

from recveil.io.convert import convert
from recveil.io.formats import FORMATS
from recveil.io.levels import read_levels
from recveil.io.read import read_ratings, read_table
from recveil.io.source import Source
from recveil.io.trust import StatedTrust, read_trust
from recveil.io.write import write_ratings

__all__ = [
    "FORMATS",
    "Source",
    "StatedTrust",
    "convert",
    "read_levels",
    "read_ratings",
    "read_table",
    "read_trust",
    "write_ratings",
]
