"""Packed files are read as plain ones, whatever they are called, and bounded in memory."""

import gzip
import io
import zipfile

import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.io.worker import opened_unpacked
from recveil.runtime.errors import RecveilError
from shared.io_worker_packing import CSV, PACK, as_parquet, zipped


@pytest.mark.parametrize("content", [CSV.encode(), as_parquet()], ids=["text", "parquet"])
@pytest.mark.parametrize("packing", PACK)
def test_equals_the_plain_file(tmp_path, packing, content):
    (tmp_path / "plain").write_bytes(content)
    path = tmp_path / "download"
    path.write_bytes(PACK[packing](content))
    with opened_unpacked(path) as file:
        assert file.read() == content
    reading = understand(path)
    assert reading.ratings == read_ratings(tmp_path / "plain")
    assert reading.layout == (packing,)


@pytest.mark.parametrize("packing", ["gzip", "bzip2", "xz", "zstd"])
def test_packed_in_two_pieces(tmp_path, packing):
    path = tmp_path / "download"
    at = CSV.index("\n", 20_000) + 1
    path.write_bytes(b"".join(PACK[packing](part.encode()) for part in (CSV[:at], CSV[at:])))
    with opened_unpacked(path) as file:
        assert file.read() == CSV.encode()


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("kept", [0.4, 0.97])
def test_cut_short(tmp_path, packing, kept):
    content = PACK[packing](CSV.encode())
    path = tmp_path / "download.csv"
    path.write_bytes(content[: int(len(content) * kept)])
    with raises("input.damaged") as caught:
        read_ratings(path)
    assert "fetch" in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("packing", PACK)
def test_a_wrong_byte(tmp_path, packing):
    content = bytearray(PACK[packing](CSV.encode()))
    middle = len(content) // 2
    content[middle] ^= 0xFF
    path = tmp_path / "download.csv"
    path.write_bytes(content)
    if packing == "zstd" and read_without_error(path):
        pytest.skip("zstd without a checksum cannot tell")
    with pytest.raises(RecveilError) as caught:
        read_ratings(path)
    assert caught.value.code in ("input.damaged", "input.line")
    assert str(caught.value).startswith("download.csv")
    assert len(str(caught.value)) < 300


def read_without_error(path):
    try:
        read_ratings(path)
    except RecveilError:
        return False
    return True


def archive_of(*names, **contents):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in names:
            archive.writestr(name, CSV)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (
            archive_of("ratings.csv", "movies.csv"),
            "input.not-a-table",
            "'ratings.csv'",
        ),
        (archive_of("README.txt"), "input.not-a-table", ""),
        (zipped(gzip.compress(CSV.encode())), "input.not-a-table", ""),
        (zipped(archive_of("a.csv")), "input.not-a-table", ""),
        (zipped(CSV, method=zipfile.ZIP_LZMA), "input.damaged", ""),
        (archive_of(*(f"{n:0200}.csv" for n in range(900))), "input.not-a-table", "900 files"),
    ],
)
def test_an_archive_of_anything_else(tmp_path, content, code, said):
    path = tmp_path / "download.zip"
    path.write_bytes(content)
    with raises(code) as caught:
        read_ratings(path)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


def test_an_encrypted_archive(tmp_path):
    content = bytearray(zipped(CSV))
    place = content.rindex(b"PK\x01\x02")
    content[place + 8] |= 1  # as the archive's list of files has it
    path = tmp_path / "download.zip"
    path.write_bytes(content)
    with raises("input.damaged"):
        read_ratings(path)


def _patched(flag):
    """Set a mark of the one file in an archive, in both places where it stands."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("ratingX.csv", CSV)
    content = bytearray(sink.getvalue())
    listed = content.find(b"PK\x01\x02")
    for at in 7, listed + 9:
        content[at] |= flag >> 8
    for at in 6, listed + 8:
        content[at] |= flag & 0xFF
    return bytes(content)


_NO_TEXT = _patched(0x800).replace(b"ratingX", b"rating\xff")

_ONLY_WITHIN = _patched(0x800).replace(b"ratingX", b"rating\xff", 1)


@pytest.mark.parametrize("content", [_patched(0x20), _patched(0x40), _NO_TEXT, _ONLY_WITHIN])
def test_archives_that_python_gives_up_on_are_refused_by_name(tmp_path, content):
    path = tmp_path / "download.zip"
    path.write_bytes(content)
    for read in (read_ratings, understand):
        with raises("input.damaged") as error:
            read(path)
        assert str(error.value).startswith("download.zip: ")
