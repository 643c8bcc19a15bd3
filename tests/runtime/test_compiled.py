import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.io.formats.delimited import Dialect
from recveil.ratings import sorted_rows
from recveil.runtime.compiled import Kernel
from recveil.verification import parquet_bytes
from recveil.verification.not_covered import find_irregularities

SMALL = 10_000


def both(kernel: Kernel, *arguments):
    """Return what plain Python and compiled code make of equal arguments, which both may change."""
    results = []
    for run in (kernel, kernel.dispatcher):
        own = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        results.append((run(*own), own))
    return results


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=40))
def test_small_tables_are_sorted_as_large_ones(pairs):
    users, items = np.array(pairs, np.int32).T.copy()
    (plain, _), (compiled, _) = both(sorted_rows._count, users, items, 7)
    np.testing.assert_array_equal(plain[0], compiled[0])
    assert bool(plain[1]) == compiled[1]
    places = np.empty(users.size, np.uint32)
    (_, plain), (_, compiled) = both(sorted_rows._place, users, items, plain[0], places)
    np.testing.assert_array_equal(plain[3], compiled[3])


@given(st.binary(max_size=60), st.integers(0, 40), st.integers(0, 2**40))
def test_small_pages_end_where_large_ones_do(data, width, n):
    page = np.frombuffer(data, np.uint8)
    for kernel, rest in (
        (parquet_bytes._runs_end, (0, width, n)),
        (parquet_bytes._delta_end, (n,)),
    ):
        (plain, _), (compiled, _) = both(kernel, page, *rest)
        assert plain == compiled


@pytest.mark.parametrize("size", [1, SMALL])
def test_small_files_have_the_irregularities_of_large_ones(tmp_path, size):
    path = tmp_path / "ratings.csv"
    path.write_bytes(b'user,item\r\n"a",1\n\nb,"2"\n' + b"b,2\n" * size)
    found = find_irregularities(path, Dialect(",", quotes=True, header=True))
    assert found == ["mixed-cr-lf", "empty-lines", "needless-quotes"]


def test_small_tables_do_not_wait_for_the_compiler(tmp_path):
    (tmp_path / "ratings.csv").write_text("user,item,rating\na,1,3\nb,1,4\nb,2,5\n")
    program = (
        "import sys; from recveil import inspect; "
        "inspect('ratings.csv'); print('numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
