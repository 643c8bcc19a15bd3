"""Packed files are read as plain ones, whatever they are called, and bounded in memory."""

import bz2
import gc
import lzma
import tracemalloc

import pytest

from recveil.io import read_ratings
from recveil.io.worker import opened_unpacked
from recveil.runtime.memory import MemoryLimitError, memory_limited
from shared.io_worker_packing import CSV, PACK, as_parquet


def test_damaged_files_keep_no_memory(tmp_path):
    (tmp_path / "cut").write_bytes(bz2.compress(CSV.encode())[:40])
    tracemalloc.start()
    for _ in range(40):
        with opened_unpacked(tmp_path / "cut") as file, pytest.raises((OSError, EOFError)):
            file.read(4)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1 << 20  # where each kept a piece, it was ten times as much


@pytest.mark.parametrize("packing", PACK)
def test_few_bytes_that_become_many(tmp_path, packing):
    path = tmp_path / "bomb.csv"
    text = "user,item,rating\n" + "1,2,3\n" * 5_000_000
    path.write_bytes(PACK[packing](text.encode()))
    assert path.stat().st_size < 300_000
    with (
        memory_limited("50MB"),
        pytest.raises(MemoryLimitError) as error,
    ):
        read_ratings(path)
    assert error.value.code == "machine.memory"


@pytest.mark.parametrize("packing", PACK)
def test_few_bytes_that_become_a_large_parquet_file(tmp_path, packing):
    content = as_parquet()
    path = tmp_path / "bomb.parquet"
    path.write_bytes(PACK[packing](content[:4] + bytes(60_000_000) + content[4:]))
    with (
        memory_limited("50MB"),
        pytest.raises(MemoryLimitError) as error,
    ):
        read_ratings(path)
    assert error.value.code == "machine.memory"


def test_xz_that_wants_more_memory_than_may_be_taken(tmp_path):
    path = tmp_path / "download"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 30}]
    content = bytearray(lzma.compress(CSV.encode(), filters=filters))
    path.write_bytes(content)
    with memory_limited("50MB"), pytest.raises(MemoryLimitError) as error:
        read_ratings(path)
    assert error.value.code == "machine.memory"
