"""JSON Lines and arrays of objects are read as their CSV is, and named by line if they are none."""

import gzip

import pytest

from error_assertions import raises
from recveil.io import read_ratings
from recveil.runtime.memory import MemoryLimitError, memory_limited


@pytest.mark.parametrize("start", ['[{"user": "', '{"user": "'])
def test_an_object_without_end_takes_no_memory(tmp_path, start):
    path = tmp_path / "r.json.gz"
    with gzip.open(path, "wt", 1) as file:
        file.write(start)
        file.writelines("a" * 1_000_000 for _ in range(40))
    with raises("input.json") as error:
        read_ratings(path)
    assert "line 1" in str(error.value)
    assert "16,777,216 characters" in str(error.value)


@pytest.mark.parametrize("is_array", [False, True])
def test_more_than_may_be_taken_is_refused(tmp_path, is_array):
    path = tmp_path / "r.json.gz"
    with gzip.open(path, "wt", 1) as file:
        file.write("[" * is_array)
        for n in range(3_000):
            user = f"{n}{'x' * 50_000}"
            file.write(f'{{"user": "{user}", "item": 1, "rating": 3}}' + ",\n"[not is_array :])
        file.write("{}" + "]" * is_array)
    with (
        memory_limited("50MB"),
        pytest.raises(MemoryLimitError) as error,
    ):
        read_ratings(path)
    assert error.value.code == "machine.memory"
