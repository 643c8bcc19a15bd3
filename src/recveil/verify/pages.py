"""What stands in a page of a Parquet file: its values, and not a byte beside them."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.compiled import compiled

PLAIN, RUNS, DELTA, DICTIONARY = 0, 3, 5, 8
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PRESENT = 1


def unpack(stored: bytes, size: int) -> bytes | None:
    """Unpack a page of `size` bytes; None if it is more than one plain frame of zstd.

    Decoders pass over further frames, and over such as are made to be skipped.
    """
    if _frame_end(stored) != len(stored):
        return None
    try:
        return pa.decompress(stored, size, codec="zstd", asbytes=True)
    except (pa.ArrowException, OSError):
        return None


def _frame_end(stored: bytes) -> int | None:
    """Return where the first frame ends; None if it is none, or has parts that ours have not."""
    if stored[:4] != _ZSTD_MAGIC or len(stored) < 6:
        return None
    head = stored[4]
    if head & 0b11111:  # a dictionary, a checksum, or bits that mean nothing
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
    """Say whether a page of n values, none of them missing, ends where its values end.

    Parameters
    ----------
    page : bytes
        Unpacked: the levels, which say that nothing is missing, and the values.
    encoding : int
    n : int
    plain_size : int
        Bytes of the n values, each written as it is.
    """
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
    """Return the levels of n values that are all there: one run of ones."""
    number, head = n << 1, bytearray()
    while number >= 0x80:
        head.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*head, number, _PRESENT])


@compiled()
def _varint(data: NDArray[Any], at: int) -> tuple[Any, int]:
    """Return a number and where it ends; -1 if it is cut short or has needless bytes."""
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


@compiled()
def _is_zero(data: NDArray[Any], first_bit: int, last_bit: int) -> bool:
    """Say whether bits are 0 that no value needs."""
    for bit in range(first_bit, last_bit):  # noqa: SIM110
        if data[bit >> 3] >> (bit & 7) & 1:
            return False
    return True


@compiled()
def _runs_end(data: NDArray[Any], at: int, width: int, n: int) -> int:
    """Return where n numbers of `width` bits end, in runs and packs of eight; -1 if broken."""
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


@compiled()
def _delta_end(data: NDArray[Any], n: int) -> int:
    """Return where n numbers end that are written as packed differences; -1 if broken."""
    at = _delta_head_end(data, n)
    left = n - 1
    while left > 0 and at >= 0:
        at = _delta_block_end(data, at, left)
        left -= 256
    return at


@compiled()
def _delta_head_end(data: NDArray[Any], n: int) -> int:
    """Return where the head ends: the sizes of blocks and parts, and the first number."""
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


@compiled()
def _delta_block_end(data: NDArray[Any], at: int, left: int) -> int:
    """Return where a block of four parts ends, of which `left` numbers are needed at most."""
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
