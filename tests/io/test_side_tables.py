"""Trust from a file: what is read, what is passed over, and what is refused by its line."""

import gzip

import numpy as np
import pytest

from error_assertions import raises
from recveil.io import read_trust

NUMBERS = np.array([2, 5, 104, 966])
NAMES = np.array(["007", "7", "été"], dtype=object)


@pytest.fixture
def write(tmp_path):
    def write_bytes(text: str | bytes):
        path = tmp_path / "trust.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_bytes


@pytest.mark.parametrize(
    "text",
    [
        "2 966 1\n2 104 0.5\n104 2 -1\n",
        "\ufeff2\t966\t1\r\n\r\n 2  104\t0.50 \n104 2 -1.0",
        gzip.compress(b"2 966 1\n2 104 0.5\n104 2 -1\n", mtime=0),
    ],
)
def test_texts_that_say_the_same(write, text):
    stated = read_trust(str(write(text)), NUMBERS)
    assert stated.links.toarray().tolist() == [
        [0, 0, 0.5, 1],
        [0, 0, 0, 0],
        [-1, 0, 0, 0],
        [0, 0, 0, 0],
    ]
    assert (stated.n_ignored, stated.n_unknown) == (0, 0)


def test_unknown_users_are_passed_over_and_counted(write):
    # Three lines about 9 and 8, who are two users; 02 is a third, for ids are text here.
    stated = read_trust(write("2 9 1\n9 8 1\n8 5 1\n02 5 1\n5 2 1\n"), NUMBERS)
    assert stated.links.nnz == 1
    assert stated.links[1, 0] == 1
    assert (stated.n_ignored, stated.n_unknown) == (4, 3)


def test_a_file_about_outsiders_only_is_read(write):
    stated = read_trust(write(b"9 8 1\n\xe9 2 1\n"), NUMBERS)
    assert (stated.links.nnz, stated.n_ignored, stated.n_unknown) == (0, 2, 3)
    assert stated.links.shape == (4, 4)


def test_ids_are_compared_as_they_are_written(write):
    stated = read_trust(write("7 007 1\nété 7 0.25\n"), NAMES)
    assert stated.links.toarray().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0.25, 0]]


def test_the_last_line_about_a_pair_counts(write):
    assert read_trust(write("2 5 1\n2 5 0.25\n"), NUMBERS).links[0, 1] == 0.25


@pytest.mark.parametrize(
    ("text", "code", "names"),
    [
        ("", "input.empty", []),
        ("\n  \n", "input.empty", []),
        ("2 5 1\n2 5\n", "input.line", ["line 2", 2]),
        ("2 5 1\n\n2 5 1 7\n", "input.line", ["line 3", 4]),
        ("2,5,1\n", "input.line", ["line 1", 1]),
        ("truster trustee value\n", "input.line", ["line 1", "'value'"]),
        ("2 5 nan\n", "input.line", ["line 1", "'nan'"]),
        ("9 8 1\n9 8 inf\n", "input.line", ["line 2", "'inf'"]),
    ],
)
def test_what_is_refused(write, text, code, names):
    with raises(code, "trust.txt", *names):
        read_trust(write(text), NUMBERS)


def test_a_file_that_is_not_there(tmp_path):
    with raises("input.not-found"):
        read_trust(tmp_path / "trust.txt", NUMBERS)
