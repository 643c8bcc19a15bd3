"""Files that are missing, forbidden, folders or damaged."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from error_assertions import raises
from recveil.io import FORMATS, read_ratings

CSV = b"user,item,rating\n" + b"".join(b"%d,%d,3\n" % (i, i * i) for i in range(9999))


@pytest.mark.parametrize("format", [None, *FORMATS])
def test_missing_file(tmp_path: Path, format: str | None) -> None:
    with raises("input.not-found"):
        read_ratings(tmp_path / "r.csv", format=format)


@pytest.mark.parametrize("format", [None, *FORMATS])
def test_folder(tmp_path: Path, format: str | None) -> None:
    with raises("input.folder"):
        read_ratings(tmp_path, format=format)


@pytest.mark.parametrize("format", [None, "csv", "parquet"])
def test_forbidden_file(
    tmp_path: Path, format: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *args: Any) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    # Root may read everything, so that taking the permission away would test nothing there.
    monkeypatch.setattr(Path, "open", refuse)
    with raises("input.unreadable"):
        read_ratings(tmp_path / "r.csv", format=format)


@pytest.mark.parametrize("format", [None, *FORMATS])
@pytest.mark.parametrize("kept", [12, -2000, -4])
def test_gzip_cut_short(tmp_path: Path, kept: int, format: str | None) -> None:
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress(CSV)[:kept])
    with raises("input.damaged") as caught:
        read_ratings(path, format=format)
    if format in (None, "csv"):
        assert "gzip" in str(caught.value)


def test_gzip_with_a_wrong_byte(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(CSV))
    data[len(data) // 2] ^= 0xFF
    path = tmp_path / "r.csv.gz"
    path.write_bytes(data)
    with raises("input.damaged"):
        read_ratings(path)


def test_gzip_in_two_members(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(gzip.compress(b"user,item,rating\n1,1,3\n") + gzip.compress(b"2,1,4\n"))
    assert read_ratings(path).n_users == 2
