"""The second checker, of the bytes of a Parquet file: nothing is there besides the values.

It asks pyarrow for the values and for the footer, which must be as pyarrow writes it again; between
them, each byte must be of a page whose head has the usual fields, and whose body is one frame of
zstd; a dictionary holds the distinct values of the rows, and no others. It shares nothing with
recveil.
"""

import re
import struct
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq

WRITER = re.compile(r"parquet-cpp-arrow version [0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(-SNAPSHOT)?")
# Fields of a page's head, by parquet.thrift; those of the two kinds of pages stand in it.
OF_PAGE, OF_DATA, OF_DICTIONARY = {1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3}
NUMBERS = {"DOUBLE": "<d", "FLOAT": "<f", "INT64": "<q", "INT32": "<i"}
# Kinds of values in Thrift's compact notation.
TRUE, FALSE, BYTES, STRUCTURE = 1, 2, 8, 12
INTEGERS = (4, 5, 6)


def problems_of_parquet(file):
    """Say what in a Parquet file is no value, or describes none."""
    content, table = file.read_bytes(), pq.ParquetFile(file)
    result, sink = table.metadata, pa.BufferOutputStream()
    result.write_metadata_file(sink)
    length = int.from_bytes(content[-8:-4], "little")
    end = len(content) - 8 - length
    if content[:4] != b"PAR1" or content[end:] != sink.getvalue().to_pybytes()[4:]:
        yield "the footer is not as pyarrow writes it"
    if result.metadata is not None or not WRITER.fullmatch(result.created_by):
        yield "metadata"
    at = 4
    for group in range(result.num_row_groups):
        chunks = [result.row_group(group).column(place) for place in range(result.num_columns)]
        rows = table.read_row_group(group)
        for chunk, column in zip(chunks, rows.columns, strict=True):
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            if start != at or chunk.has_offset_index or chunk.has_column_index:
                yield "bytes between columns, or an index"
                return
            at += chunk.total_compressed_size
            values = column.to_pylist()
            yield from problems_of_pages(content[start:at], chunk.physical_type, values)
            yield from problems_of_statistics(chunk.statistics, values)
    if at != end:
        yield "bytes before the footer"


def problems_of_statistics(result, values):
    if (
        result is not None
        and result.has_min_max
        and (result.min, result.max) != (min(values), max(values))
    ):
        yield "statistics of other values"


def problems_of_pages(chunk, kind, values):
    """Each page has a head of known fields, and one frame; a dictionary has what rows hold."""
    at = 0
    while at < len(chunk):
        try:
            head, body = structure(chunk, at)
            kinds = set(head) - OF_PAGE
            fields = {5: OF_DATA, 7: OF_DICTIONARY}[min(kinds)]
            inner = set(head[min(kinds)])
            at = body + head[3]
            right = len(kinds) == 1 and set(head) > OF_PAGE and fields <= inner <= fields | {5}
            right = right and at <= len(chunk) and frame(chunk[body:at]) == head[3]
            if right and 7 in kinds:
                yield from problems_of_dictionary(head, chunk[body:at], kind, values)
        except (IndexError, KeyError, ValueError):
            right = False
        if not right:
            yield "a page is none"
            return


def problems_of_dictionary(head, body, kind, values):
    """Its entries are the first distinct values, as rows come to them: none that no row has."""
    result = pa.decompress(body, head[2], codec="zstd", asbytes=True)
    distinct = list(dict.fromkeys(plain(kind, value) for value in values))
    n = head[7][1]
    if n > len(distinct) or result != b"".join(distinct[:n]):
        yield "a dictionary of other values than the rows"


def plain(kind, value):
    """A value as a dictionary holds it."""
    if kind == "BYTE_ARRAY":
        text = value.encode()
        return len(text).to_bytes(4, "little") + text
    number = (value - date(1970, 1, 1)).days if isinstance(value, date) else value
    return struct.pack(NUMBERS[kind], number)


def frame(body):
    """How long the frame of zstd is that a body begins with."""
    if body[:4] != b"\x28\xb5\x2f\xfd" or body[4] & 0b11:  # no dictionary of its own
        raise ValueError
    alone, size = body[4] >> 5 & 1, body[4] >> 6
    at = 5 + (not alone) + ((1 if alone else 0), 2, 4, 8)[size]
    while True:
        block = int.from_bytes(body[at : at + 3], "little")
        at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
        if at > len(body):
            raise ValueError
        if block & 1:
            return at + 4 * (body[4] >> 2 & 1)


def structure(data, at):
    """The fields of a structure, by number, and where it ends."""
    fields, last = {}, 0
    while (head := data[at]) != 0:
        if not head >> 4:
            raise ValueError("a field far away")
        last, kind = last + (head >> 4), head & 15
        fields[last], at = value(data, at + 1, kind)
    return fields, at + 1


def value(data, at, kind):
    if kind in (TRUE, FALSE):
        return kind == TRUE, at
    if kind in INTEGERS:
        number, at = varint(data, at)
        return number >> 1 ^ -(number & 1), at
    if kind == BYTES:
        length, at = varint(data, at)
        return data[at : at + length], at + length
    if kind == STRUCTURE:
        return structure(data, at)
    raise ValueError("a kind that no head has")


def varint(data, at):
    """A number in as few bytes as it takes."""
    for end in range(at, at + 10):
        if data[end] < 128:
            if end > at and not data[end]:
                raise ValueError("a longer number than it takes")
            parts = data[at : end + 1]
            return sum((part & 127) << 7 * place for place, part in enumerate(parts)), end + 1
    raise ValueError("a number without an end")
