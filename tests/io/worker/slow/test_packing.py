"""Packed files are read as plain ones, whatever they are called, and bounded in memory."""

import bz2
import gc
import gzip
import io
import lzma
import tracemalloc
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recveil.io import read_ratings
from recveil.io.worker import opened_unpacked
from recveil.runtime.memory import MemoryLimitError, memory_limited

CSV = "user,item,rating\n" + "".join(f"{n % 7},{n},{n % 5 + 1}\n" for n in range(3_000))


def zipped(content, name="ml/ratings.csv", method=zipfile.ZIP_DEFLATED):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as archive:
        archive.writestr("ml/", "")
        archive.writestr("ml/README.txt", "How to cite us.")
        archive.writestr("__MACOSX/ml/._ratings.csv", "\0")
        archive.writestr(name, content)
    return sink.getvalue()


def of_zstd(content):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(content)
    return sink.getvalue().to_pybytes()


PACK = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": of_zstd,
    "zip": zipped,
}


def as_parquet():
    sink = pa.BufferOutputStream()
    columns = {"user": [n % 7 for n in range(60)], "item": list(range(60)), "rating": [3, 4] * 30}
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


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
