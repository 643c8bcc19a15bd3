"""Every byte of a Parquet file, of any size and with any values."""

import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.runtime.memory import memory_limited
from recveil.verification.parquet_bytes import (
    I32,
    TEXT,
    ParquetBytes,
    ThriftError,
    ThriftReader,
    UnaccountedError,
    unpack,
)


def test_a_footer_of_gigabytes_in_a_file_with_holes_is_not_read(tmp_path):
    """It takes no disk: all but its ends is a hole."""
    file, length = tmp_path / "some.parquet", 3 * 10**9
    with file.open("wb") as made:
        made.write(b"PAR1")
        made.truncate(length + 12)
        made.seek(0, 2)
        made.seek(-8, 1)
        made.write(length.to_bytes(4, "little") + b"PAR1")
    with memory_limited("1GB"), raises("machine.memory") as error:
        ParquetBytes(file, pa.schema([]))
    assert "3 GB" in str(error.value)


def test_a_page_is_one_frame(tmp_path):
    frame = bytes(pa.compress(b"4" * 1000, codec="zstd", asbytes=True))
    skipped = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"alice"
    assert unpack(frame, 1000) == b"4" * 1000
    for spoilt in (frame + skipped, skipped + frame, frame + b"x", frame[:-1], b"", frame + frame):
        assert unpack(spoilt, 1000) is None


@pytest.mark.parametrize(
    "content",
    [
        b"\x15\x80\x00\x00",  # a zero in two bytes
        b"\x05\x02\x0e\x00",  # a field's number in full that fits into its head
        b"\x15\x0e\x05\x02\x0e\x00",  # a field twice
        b"\x18\x05ab\x00",  # a text that is cut short
        b"\x1b\x00\x00",  # a map
        b"\x16\x0e\x00",  # a number of 64 bits where one of 32 was expected
        b"\x29\x06\x00",  # an empty list of others than expected
        b"\xe5\x0e\x00",  # an unknown field
        b"\x19\xf5\x01\x02\x00",  # a short list with a long head
        b"\x1c" * 50,
        b"",
    ],
)
def test_thrift_is_read_strictly(content):
    with pytest.raises(ThriftError):
        ThriftReader(content).structure({1: I32, 2: [I32], 3: TEXT, 4: {1: I32}})


def test_what_is_no_parquet_file(tmp_path):
    for content in (b"", b"PAR1", b"PAR1" + b"\xff" * 8 + b"PAR1", b"x" * 100):
        (tmp_path / "some.parquet").write_bytes(content)
        with pytest.raises((UnaccountedError, OSError, pa.ArrowException)):
            ParquetBytes(tmp_path / "some.parquet", pa.schema({"rating": pa.float64()}))
