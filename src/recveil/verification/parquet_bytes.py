"""Accounting for every byte of the Parquet file of a release."""

import re
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.runtime.compiled import compiled
from recveil.runtime.memory import reject_beyond_limit
from recveil.runtime.safe_repr import brief

# Value encodings by their number in the protocol; a structure is given by its fields.
BOOL, I16, I32, I64, TEXT = 1, 4, 5, 6, 8
_LIST, _STRUCTURE = 9, 12

# Schema of a structure: the form of each of its fields. A list has the form of its elements.
Form = dict[int, Any]


class ThriftError(ValueError):
    """The bytes do not follow the compact protocol."""


class ThriftReader:
    """Read structures in the canonical encoding alone: a choice could carry hidden information."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def structure(self, form: Form) -> dict[int, Any]:
        """Read a structure as a dictionary from field numbers to values."""
        fields: dict[int, Any] = {}
        last = 0
        while head := self._byte():
            step, kind = head >> 4, head & 0xF
            number = last + step if step else self._zigzag()
            if number <= last or (not step and number - last < 16):
                raise ThriftError("its fields are not in canonical form")
            if number not in form:
                raise ThriftError(f"a field (number {number}) that only other programs write")
            last = number
            if form[number] == BOOL and kind in (1, 2):
                fields[number] = kind == 1
            else:
                fields[number] = self._value(kind, form[number])
        return fields

    def _value(self, kind: int, form: Any) -> Any:
        expected = form
        if isinstance(form, dict | list):
            expected = _STRUCTURE if isinstance(form, dict) else _LIST
        if kind != expected:
            raise ThriftError(f"a value of kind {kind}, where one of kind {expected} was expected")
        if kind in (I16, I32, I64):
            return self._zigzag()
        if kind == TEXT:
            return self._take(self._varint())
        if kind == _STRUCTURE:
            return self.structure(form)
        if kind == _LIST:
            return self._list(form[0])
        raise ThriftError(f"a value of kind {kind}")

    def _list(self, form: Any) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 0xF
        if size == 15 and (size := self._varint()) < 15:
            raise ThriftError("a list is not in canonical form")
        if kind != (_STRUCTURE if isinstance(form, dict) else form):
            raise ThriftError("a list contains another kind of values than expected")
        if size > len(self.data) - self.at:
            raise ThriftError("a list is truncated")
        return [self._value(kind, form) for _ in range(size)]

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = self._byte()
        if number < 0x80:
            return number
        number, shift = number & 0x7F, 7
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if byte == 0 or number >> 64:
            raise ThriftError("a number is not in canonical form")
        return number

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise ThriftError("it is truncated")
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise ThriftError("it is truncated")
        self.at += size
        return bytes(self.data[self.at - size : self.at])


PLAIN, RUNS, DELTA, DICTIONARY = 0, 3, 5, 8
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PRESENT = 1


def unpack(stored: bytes, size: int) -> bytes | None:
    """Decompress a page of `size` bytes; None unless it is a single plain zstd frame.

    Decoders silently skip further frames and skippable frames.
    """
    if _frame_end(stored) != len(stored):
        return None
    try:
        return pa.decompress(stored, size, codec="zstd", asbytes=True)
    except (pa.ArrowException, OSError):
        return None


def _frame_end(stored: bytes) -> int | None:
    """Return where the first frame ends; None if there is none or it uses other features."""
    if stored[:4] != _ZSTD_MAGIC or len(stored) < 6:
        return None
    head = stored[4]
    if head & 0b11111:  # a dictionary, a checksum, or reserved bits
        return None
    single = head >> 5 & 1
    at = 5 + (1 - single) + {0: single, 1: 2, 2: 4, 3: 8}[head >> 6]
    while at + 3 <= len(stored):
        block = int.from_bytes(stored[at : at + 3], "little")
        kind, size = block >> 1 & 0b11, block >> 3
        if kind == 3:
            return None
        at += 3 + (1 if kind == 1 else size)
        if block & 1:
            return at
    return None


def holds_nothing_else(page: bytes, encoding: int, n: int, plain_size: int) -> bool:
    """Return whether a page of n values, none missing, ends where its values end."""
    levels = _all_present(n)
    levels = len(levels).to_bytes(4, "little") + levels
    if not page.startswith(levels):
        return False
    values = np.frombuffer(page, np.uint8)[len(levels) :]
    if encoding == PLAIN:
        return values.size == plain_size
    if encoding == DICTIONARY and values.size:
        return bool(values[0] <= 32 and _runs_end(values, 1, int(values[0]), n) == values.size)
    return encoding == DELTA and bool(_delta_end(values, n) == values.size)


def _all_present(n: int) -> bytes:
    number, head = n << 1, bytearray()
    while number >= 0x80:
        head.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*head, number, _PRESENT])


@compiled(plain_if_small=True)
def _varint(data: NDArray[Any], at: int) -> tuple[Any, int]:
    """Return a number and its end; -1 if it is truncated or has redundant bytes."""
    number, shift = np.uint64(0), np.uint64(0)
    while at < data.size and shift < np.uint64(64):
        byte = np.uint64(data[at])
        number |= (byte & np.uint64(0x7F)) << shift
        at += 1
        if byte < np.uint64(0x80):
            if byte == np.uint64(0) and shift > np.uint64(0):
                return 0, -1
            return np.int64(number), at
        shift += np.uint64(7)
    return 0, -1


@compiled(plain_if_small=True)
def _is_zero(data: NDArray[Any], first_bit: int, last_bit: int) -> bool:
    """Return whether the unused bits are 0."""
    for bit in range(first_bit, last_bit):  # noqa: SIM110
        if data[bit >> 3] >> (bit & 7) & 1:
            return False
    return True


@compiled(plain_if_small=True)
def _runs_end(data: NDArray[Any], at: int, width: int, n: int) -> int:
    """Return the end of n numbers of `width` bits in runs and packs of eight; -1 if malformed."""
    while n > 0:
        head, at = _varint(data, at)
        if at < 0 or head < 2:
            return -1
        count = head >> 1
        if head & 1:
            end = at + count * width
            n -= 8 * count
            if end > data.size or n <= -8:
                return -1
            if n < 0 and not _is_zero(data, 8 * end + n * width, 8 * end):
                return -1
            at = end
        else:
            at += (width + 7) // 8
            n -= count
            if n < 0:
                return -1
    return at


@compiled(plain_if_small=True)
def _delta_end(data: NDArray[Any], n: int) -> int:
    """Return the end of n delta-encoded numbers; -1 if malformed."""
    at = _delta_head_end(data, n)
    left = n - 1
    while left > 0 and at >= 0:
        at = _delta_block_end(data, at, left)
        left -= 256
    return at


@compiled(plain_if_small=True)
def _delta_head_end(data: NDArray[Any], n: int) -> int:
    """Return the end of the header: block and part sizes, and the first number."""
    size, at = _varint(data, 0)
    if at < 0:
        return -1
    parts, at = _varint(data, at)
    if at < 0 or size != 256 or parts != 4:  # as written for 64 bits
        return -1
    total, at = _varint(data, at)
    if at < 0 or total != n:
        return -1
    _, at = _varint(data, at)
    return at


@compiled(plain_if_small=True)
def _delta_block_end(data: NDArray[Any], at: int, left: int) -> int:
    """Return the end of a block of four parts, of which at most `left` numbers are used."""
    _, at = _varint(data, at)
    if at < 0 or at + 4 > data.size:
        return -1
    widths = data[at : at + 4]
    at += 4
    for part in range(4):
        width, needed = int(widths[part]), left - 64 * part
        end = at + 8 * width
        if width > 64 or end > data.size or (needed <= 0 and width != 0):
            return -1
        if 0 < needed < 64 and not _is_zero(data, 8 * at + needed * width, 8 * end):
            return -1
        at = end
    return at


MOST_ROWS = 1 << 20  # in a row group

_MAGIC = b"PAR1"
_WRITER = re.compile(rb"parquet-cpp-arrow version [0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(-SNAPSHOT)?")
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
# Upper bounds on the bytes that an encoding adds to a value and to a page.
_OVERHEAD_PER_VALUE, _OVERHEAD_PER_PAGE = 10, 1 << 12
_ZSTD = 6
# Parquet's number of each type, and its annotations of text and dates.
_TYPES = {pa.date32(): 1, pa.int64(): 2, pa.float32(): 4, pa.float64(): 5, pa.string(): 6}
_FLOATING = (4, 5)
_ANNOTATIONS: dict[pa.DataType, dict[int, Any]] = {
    pa.string(): {6: 0, 10: {1: {}}},
    pa.date32(): {6: 6, 10: {6: {}}},
}

# The fields of parquet.thrift that recveil's releases use.
_STATISTICS = {1: TEXT, 2: TEXT, 3: I64, 5: TEXT, 6: TEXT, 7: BOOL, 8: BOOL}
_COLUMN = {
    **{1: I32, 2: [I32], 3: [TEXT], 4: I32, 5: I64, 6: I64, 7: I64, 9: I64, 11: I64},
    **{12: _STATISTICS, 13: [{1: I32, 2: I32, 3: I32}], 16: {1: I64, 2: [I64], 3: [I64]}},
}
_GROUP = {1: [{2: I64, 3: _COLUMN}], 2: I64, 3: I64, 5: I64, 6: I64, 7: I16}
_ELEMENT = {1: I32, 3: I32, 4: TEXT, 5: I32, 6: I32, 10: {1: {}, 6: {}}}
_FOOTER = {1: I32, 2: [_ELEMENT], 3: I64, 4: [_GROUP], 6: TEXT, 7: [{1: {}}]}
_DATA_HEAD = {1: I32, 2: I32, 3: I32, 4: I32, 5: _STATISTICS}
_PAGE = {1: I32, 2: I32, 3: I32, 5: _DATA_HEAD, 7: {1: I32, 2: I32, 3: BOOL}}


class UnaccountedError(ValueError):
    """The file holds bytes that are neither values nor recveil's metadata."""


class ParquetBytes:
    """Account for a Parquet file from its first byte to its last.

    Each byte must belong to a page or to the footer, and each field must be one that recveil
    writes, with a correct value. Only the encoding and compression of values, which have many valid
    forms, are not fixed. Field numbers are those of `parquet.thrift` in the Parquet format.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.schema = schema
        self.path = path
        size = path.stat().st_size
        end = self._read(max(size - 8, 0), min(8, size))
        length = int.from_bytes(end[:4], "little")
        if self._read(0, 4) != _MAGIC or end[4:] != _MAGIC or length > size - 12:
            _reject("it does not begin and end as a Parquet file")
        self.end = size - 8 - length
        reader = ThriftReader(self._read(self.end, length))
        try:
            self.footer = reader.structure(_FOOTER)
        except ThriftError as error:
            _reject(f"its footer: {error}")
        if reader.at != length:
            _reject("there are bytes after its footer")
        try:
            self._check_footer()
        except (KeyError, TypeError, AttributeError):
            _reject("its footer lacks a field")
        self.at, self.group = 4, 0

    def _read(self, at: int, size: int) -> bytes:
        # Limit by the stated size: a sparse file takes no disk space but would fill the memory.
        reject_beyond_limit(f"{self.path.name}: parts of it", size)
        with self.path.open(
            "rb", buffering=0
        ) as file:  # not memory-mapped: the file may shrink while it is read
            file.seek(at)
            return file.read(size)

    def _check_footer(self) -> None:
        footer = self.footer
        _only(footer, {1, 2, 3, 4, 6, 7}, set(), "footer")
        root = {3: 0, 4: b"schema", 5: len(self.schema)}
        leaves = [
            {1: _TYPES[field.type], 3: 1, 4: field.name.encode()} | _ANNOTATIONS.get(field.type, {})
            for field in self.schema
        ]
        if not _WRITER.fullmatch(footer[6]):
            _reject("created_by is not a value that recveil writes")
        _equal(footer[1], 2, "version")
        _equal(footer[2], [root, *leaves], "columns")
        _equal(footer[7], [{1: {}} for _ in leaves], "orders of columns")
        rows = [group[3] for group in footer[4]]
        _equal(footer[3], sum(rows), "number of rows")
        if rows and not (set(rows[:-1]) <= {rows[0]} and 0 < rows[-1] <= rows[0] <= MOST_ROWS):
            _reject("its row groups differ in length")

    def check_group(self, table: pa.Table) -> None:
        """Account for the next row group, whose values are known."""
        group = self.footer[4][self.group]
        start = self.at
        try:
            # Arrow numbered row groups until version 19.
            _only(group, {1, 2, 3, 5, 6}, {7}, "row group")
            _equal(group.get(7, self.group), self.group, "number of a row group")
            _equal(group[3], table.num_rows, "rows of a row group")
            _equal(group[5], start, "offset of a row group")
            _equal(len(group[1]), table.num_columns, "columns of a row group")
            plain = 0
            for chunk, name in zip(group[1], table.column_names, strict=True):
                _only(chunk, {2, 3}, set(), "column")
                _equal(chunk[2], 0, "offset of a column")
                plain += self._check_chunk(chunk[3], name, table[name].combine_chunks())
            _equal(group[2], plain, "bytes of a row group")
            _equal(group[6], self.at - start, "stored bytes of a row group")
        except ThriftError as error:
            _reject(f"in the header of a page: {error}")
        except (KeyError, TypeError, AttributeError):
            _reject("the metadata of a row group or page is malformed")
        self.group += 1

    def check_end(self) -> None:
        """Raise an UnaccountedError unless the last page ends where the footer begins."""
        if self.at != self.end or self.group != len(self.footer[4]):
            _reject("there are bytes between its last page and its footer")

    def _check_chunk(self, meta: dict[int, Any], name: str, column: pa.Array) -> int:
        """Account for a column of a row group; return its uncompressed size."""
        _only(meta, {1, 2, 3, 4, 5, 6, 7, 9, 13}, {11, 12, 16}, f"column {name!r}")
        start, n, values = self.at, len(column), _values_of(column)
        of_text: dict[int, Any] = {1: values.text_size()} if isinstance(values, _Texts) else {}
        sizes = of_text | {2: [], 3: [0, n]}
        _equal(meta[1], values.kind, f"type of {name!r}")
        _equal(meta[3], [name.encode()], f"path of {name!r}")
        _equal(meta[4], _ZSTD, f"compression of {name!r}")
        _equal(meta[5], n, f"number of values of {name!r}")
        _equal(meta.get(16, sizes), sizes, f"sizes of {name!r}")
        _check_statistics(meta.get(12), values, f"statistics of {name!r}")
        plain, n_read, first_data = 0, 0, None
        kinds: list[tuple[int, int]] = []
        while n_read < n or first_data is None:
            at = self.at
            page, content = self._page(
                name, values.plain_size() + _OVERHEAD_PER_VALUE * n + _OVERHEAD_PER_PAGE
            )
            plain += self._head_size + len(content)
            if page[1] == _DICTIONARY_PAGE and not kinds:
                kinds.append((_DICTIONARY_PAGE, PLAIN))
                _check_dictionary(page, content, values, name)
                continue
            first_data = at if first_data is None else first_data
            about = page[5]
            _only(about, {1, 2, 3, 4}, {5}, "page")
            _equal((page[1], about[3], about[4]), (_DATA_PAGE, RUNS, RUNS), "kind of a page")
            kinds.append((_DATA_PAGE, about[2]))
            part = values.part(n_read, about[1])
            _check_statistics(about.get(5), part, "statistics of a page")
            plain_size = part.plain_size() if about[2] == PLAIN else 0
            if not holds_nothing_else(content, about[2], about[1], plain_size):
                _reject(f"a page of {name!r} contains more than its values")
            n_read += about[1]
        _equal(n_read, n, f"values in the pages of {name!r}")
        _equal(meta[9], first_data, f"place of the first page of {name!r}")
        has_dictionary = (_DICTIONARY_PAGE, PLAIN) in kinds
        _equal(meta.get(11), start if has_dictionary else None, f"dictionary of {name!r}")
        _equal(meta[6], plain, f"bytes of {name!r}")
        _equal(meta[7], self.at - start, f"stored bytes of {name!r}")
        used = sorted({RUNS, *(encoding for _, encoding in kinds)})
        if not has_dictionary:  # then runs that mark no value as missing come first
            used.sort(key=lambda encoding: encoding != RUNS)
        _equal(meta[2], used, f"encodings of {name!r}")
        pages = sorted(set(kinds), key=lambda kind: (kind[0] != _DICTIONARY_PAGE, kind))
        counts = [{1: kind, 2: how, 3: kinds.count((kind, how))} for kind, how in pages]
        _equal(meta[13], counts, f"numbers of pages of {name!r}")
        return plain

    def _page(self, name: str, most: int) -> tuple[dict[int, Any], bytes]:
        """Read a page; return its header and its decompressed content of at most `most` bytes."""
        # A header has statistics of up to four values.
        reader = ThriftReader(self._read(self.at, min(1 << 15, max(self.end - self.at, 0))))
        page = reader.structure(_PAGE)
        kind = page[1]
        _only(page, {1, 2, 3, 5 if kind == _DATA_PAGE else 7}, set(), "page")
        self._head_size = reader.at
        start = self.at + reader.at
        if not 0 <= page[3] <= self.end - start or not page[2] >= 0:
            _reject(f"a page of {name!r} is truncated")
        if page[2] > most:
            _reject(f"a page of {name!r} is larger than its values")
        content = unpack(self._read(start, page[3]), page[2])
        if content is None or len(content) != page[2]:
            _reject(f"a page of {name!r} is more than one frame of zstd")
        self.at = start + page[3]
        return page, content


@brief
class _Numbers(NamedTuple):
    """The numbers of a column, or of a part of it, as Parquet describes them."""

    numbers: NDArray[Any]
    kind: int

    def part(self, first: int, n: int) -> "_Numbers":
        return self._replace(numbers=self.numbers[first : first + n])

    def plain_size(self) -> int:
        return int(self.numbers.nbytes)

    def ends(self) -> tuple[bytes, bytes]:
        """Return the minimum and the maximum."""
        low, high = self.numbers.min(), self.numbers.max()
        if self.kind in _FLOATING:  # Parquet takes -0.0 for the lower zero
            zero = self.numbers.dtype.type(0)
            low, high = low or -zero, high or zero
        return low.tobytes(), high.tobytes()

    def distinct(self, n: int) -> tuple[int, bytes]:
        """Encode the first n distinct values in order of appearance; return their count."""
        found = pc.unique(pa.array(self.numbers)).to_numpy()[:n]
        return found.size, found.tobytes()


@brief
class _Texts(NamedTuple):
    """Texts as positions among the distinct ones, in order of appearance."""

    codes: NDArray[Any]
    texts: list[bytes]
    rank: NDArray[np.int64]
    lengths: NDArray[np.int64]
    in_order: bool
    kind: int = 6

    @classmethod
    def of(cls, column: pa.Array) -> Self:
        if pa.types.is_dictionary(column.type):
            # A dictionary may hold duplicates or unused texts.
            used = column.indices.unique()
            texts = column.dictionary.take(used).dictionary_encode()
            position = np.zeros(len(column.dictionary), np.int32)
            position[used.to_numpy()] = texts.indices.to_numpy()
            codes, distinct = position[column.indices.to_numpy()], texts.dictionary
        else:
            encoded = column.dictionary_encode()
            codes, distinct = encoded.indices.to_numpy(), encoded.dictionary
        texts = [text.encode() for text in distinct.to_pylist()]
        rank = np.empty(len(texts), np.int64)
        rank[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        lengths = np.array([len(text) for text in texts], np.int64)
        return cls(codes, texts, rank, lengths, in_order=bool((np.diff(rank) > 0).all()))

    def part(self, first: int, n: int) -> "_Texts":
        return self._replace(codes=self.codes[first : first + n])

    def text_size(self) -> int:
        if (self.lengths == self.lengths[:1]).all():  # as the ids of users are
            return int(self.lengths[:1].sum()) * self.codes.size
        return int(self.lengths[self.codes].sum())

    def plain_size(self) -> int:
        return self.text_size() + 4 * self.codes.size

    def ends(self) -> tuple[bytes, bytes]:
        """Return the minimum and the maximum."""
        if self.in_order:  # as the ids of users are
            return self.texts[self.codes.min()], self.texts[self.codes.max()]
        ranks = self.rank[self.codes]
        return self.texts[self.codes[ranks.argmin()]], self.texts[self.codes[ranks.argmax()]]

    def distinct(self, n: int) -> tuple[int, bytes]:
        found = self.texts[:n]
        return len(found), b"".join(len(text).to_bytes(4, "little") + text for text in found)


_Values = _Numbers | _Texts


def _values_of(column: pa.Array) -> _Values:
    if pa.types.is_date32(column.type):
        return _Numbers(column.cast(pa.int32()).to_numpy(), _TYPES[column.type])
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _Numbers(column.to_numpy(), _TYPES[column.type])
    return _Texts.of(column)


def _check_statistics(found: dict[int, Any] | None, values: _Values, what: str) -> None:
    if found is None:
        return
    _only(found, {3}, {1, 2, 5, 6, 7, 8}, what)
    if len(found) == 1:  # the values are too long for statistics
        _equal(found[3], 0, what)
        return
    low, high = values.ends()
    expected = {1: high, 2: low, 3: 0, 5: high, 6: low, 7: True, 8: True}
    _equal(found, {number: expected[number] for number in found}, what)


def _check_dictionary(page: dict[int, Any], content: bytes, values: _Values, name: str) -> None:
    """Raise unless the dictionary holds exactly the values in order of appearance."""
    about = page[7]
    _only(about, {1, 2}, {3}, "dictionary")
    _equal((about[2], about.get(3, False)), (PLAIN, False), f"dictionary of {name!r}")
    if values.distinct(about[1]) != (about[1], content):
        _reject(f"the dictionary of {name!r} does not match its values")


def _only(found: dict[int, Any], needed: set[int], allowed: set[int], what: str) -> None:
    if more := sorted(set(found) - needed - allowed):
        _reject(f"its {what} has a field (number {more[0]}) that only other programs write")
    if missing := sorted(needed - set(found)):
        _reject(f"its {what} lacks a field (number {missing[0]})")


def _equal(found: Any, expected: Any, what: str) -> None:
    # True equals 1 but is encoded differently.
    if found != expected or repr(found) != repr(expected):
        _reject(f"a wrong value: {what}")


def _reject(problem: str) -> NoReturn:
    raise UnaccountedError(problem)
