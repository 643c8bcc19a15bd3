"""Text from any source: bytes that no text has, lines without end, more rows than may be held."""

import gzip

import numpy as np
import pytest

from error_assertions import raises
from recveil.io import read_ratings, read_trust, understand
from recveil.io.files import LONGEST_LINE, watched_text
from recveil.runtime.memory import MemoryLimitError, memory_limited
from recveil.verification import verify

HEADER = b"user,item,rating\n"

MANY = HEADER + b"".join(b"%d,%d,3\n" % (row // 10, row % 10) for row in range(20_000))


@pytest.mark.parametrize("ids", [b"1\x002,3,4\n", b"\0\0\0\0\0\0", b"u1,i\0,4\n"])
def test_a_nul_byte_anywhere_is_refused_with_its_line(tmp_path, ids):
    path = tmp_path / "r.csv"
    path.write_bytes(MANY + ids)
    for read in (read_ratings, lambda path: verify(path, k=2)):
        with raises("input.line") as error:
            read(path)
        assert "r.csv line 20002" in str(error.value)


def test_a_line_of_a_trust_file_ends(tmp_path):
    path = tmp_path / "trust.txt.gz"
    path.write_bytes(gzip.compress(b"ann ben 1\n" + b"x" * (2 * LONGEST_LINE), 1))
    with raises("input.line") as error:
        read_trust(path, np.array(["ann", "ben"], dtype=object))
    assert "trust.txt.gz line 2" in str(error.value)
    assert "16,777,216 bytes" in str(error.value)


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "u.data", "r.txt"])
def test_rows_are_refused_once_they_take_too_much(tmp_path, name):
    line = {"u.data": b"1\t2\t3\t900000000\n", "r.txt": b"1,3,2005-09-06\n"}.get(name, b"1,2,3\n")
    head = {"u.data": b"", "r.txt": b"7:\n"}.get(name, HEADER)
    content = head + line * 300_000
    path = tmp_path / name
    path.write_bytes(gzip.compress(content, 1) if name.endswith("gz") else content)
    with memory_limited("10MB"), pytest.raises(MemoryLimitError) as error:
        read_ratings(path, duplicates="last")
    assert error.value.code == "machine.memory"
    assert str(error.value).startswith(f"{name}: its rows")
    assert understand(path, duplicates="last").ratings.n_ratings == 1


@pytest.mark.parametrize("most", [1, 2, 3, 100])
@pytest.mark.parametrize("last", ["7,1,4", '7,"1', ""])
def test_all_line_ends_are_counted_once_wherever_a_piece_ends(tmp_path, most, last):
    (tmp_path / "r.csv").write_bytes(f"user\r\n1\n\r2\r3\r\n\r\n{last}".encode())
    with watched_text(tmp_path / "r.csv") as text:
        while text.raw.read(most):
            pass
        assert (text.raw.lines, text.raw.last_line) == (6, last or "3")
