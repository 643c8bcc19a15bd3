"""Thrift's compact protocol, in which Parquet describes itself: read strictly, every byte of it."""

from typing import Any

# How values are written, by their number in the protocol; a structure is told by its fields.
BOOL, I16, I32, I64, TEXT = 1, 4, 5, 6, 8
_LIST, _STRUCTURE = 9, 12

# What a structure may hold: the form of each of its fields. A list has the form of its elements.
Form = dict[int, Any]


class ThriftError(ValueError):
    """The bytes are not what a writer of the compact protocol makes."""


class ThriftReader:
    """Reads structures from bytes, and refuses all but the one usual way of writing them.

    What a writer may write in several ways could tell something to those who look at the bytes.

    Parameters
    ----------
    data : bytes
    at : int
        Where to begin; where the next thing to be read stands, afterwards.

    Examples
    --------
    >>> reader = ThriftReader(bytes([0x15, 0x0E, 0x28, 0x02]) + b"ab" + bytes([0x00]))
    >>> reader.structure({1: I32, 3: TEXT}), reader.at
    ({1: 7, 3: b'ab'}, 7)
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def structure(self, form: Form) -> dict[int, Any]:
        """Read a structure as a dictionary from the numbers of its fields to their values."""
        fields: dict[int, Any] = {}
        last = 0
        while head := self._byte():
            step, kind = head >> 4, head & 0xF
            number = last + step if step else self._zigzag()
            if number <= last or (not step and number - last < 16):
                raise ThriftError("its fields are not written in the usual way")
            if number not in form:
                raise ThriftError(
                    f"a field (number {number}) of another program, which has written this file"
                )
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
            raise ThriftError("a list is not written in the usual way")
        if kind != (_STRUCTURE if isinstance(form, dict) else form):
            raise ThriftError("a list holds another kind of values than expected")
        if size > len(self.data) - self.at:
            raise ThriftError("a list is cut short")
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
            raise ThriftError("a number is not written in the usual way")
        return number

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise ThriftError("it is cut short")
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise ThriftError("it is cut short")
        self.at += size
        return bytes(self.data[self.at - size : self.at])
