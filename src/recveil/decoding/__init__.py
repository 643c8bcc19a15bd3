"""Reading Parquet and Arrow files from anybody: another process decodes them, and may die of it."""

from recveil.decoding.decoder import Decoded, decoded_table, decoding

__all__ = ["Decoded", "decoded_table", "decoding"]
