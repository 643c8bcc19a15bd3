"""Readers and writers of rating files."""

from recveil.io.at_hand import file_at
from recveil.io.formats import FORMATS
from recveil.io.intake import read_ratings, understand
from recveil.io.level_file import read_levels
from recveil.io.pipes import spooled
from recveil.io.read import frame_table, read_table
from recveil.io.reading import ReadColumn, Reading
from recveil.io.source import Source
from recveil.io.trust import StatedTrust, read_trust
from recveil.io.write import write_ratings

__all__ = [
    "FORMATS",
    "ReadColumn",
    "Reading",
    "Source",
    "StatedTrust",
    "file_at",
    "frame_table",
    "read_levels",
    "read_ratings",
    "read_table",
    "read_trust",
    "spooled",
    "understand",
    "write_ratings",
]
