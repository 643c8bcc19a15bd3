"""Text from any source: bytes that no text has, lines without end, more rows than may be held."""

import gzip

import pytest

from error_assertions import raises
from recveil.io import read_ratings
from recveil.io.files import LONGEST_LINE

HEADER = b"user,item,rating\n"


@pytest.mark.parametrize("start", [HEADER + b'1,2,"', HEADER + b"1,2,", b"user,item,", b"1,2,"])
def test_a_field_without_end_takes_no_memory(tmp_path, start):
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress(start + b"3" * (3 * LONGEST_LINE), 1))
    with raises("input.line"):
        read_ratings(path)
