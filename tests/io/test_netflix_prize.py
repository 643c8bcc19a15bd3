"""The Netflix Prize's files: one a movie, or combined."""

import gzip
import os
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.io import read_ratings, read_table
from recveil.ratings import Ratings
from recveil.verification import verify

FIRST = "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n"
SECOND = "2:\n1488844,4,2005-09-07"
EXPECTED = Ratings.from_columns(
    [1488844, 822109, 1488844], [1, 1, 2], [3, 5, 4], days=[13032, 12916, 13033]
)


def folder(path: Path, **files: str) -> Path:
    for name, text in files.items():
        (path / f"{name}.txt").write_bytes(text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_folder_of_movies(tmp_path: Path, end: str) -> None:
    first, second = FIRST.replace("\n", end), SECOND.replace("\n", end)
    source = read_table(folder(tmp_path, mv_0000001=first, mv_0000002=second, movie_titles="x"))
    assert source.format == "netflix"
    assert [source.locate(row) for row in range(3)] == [
        "mv_0000001.txt line 2",
        "mv_0000001.txt line 3",
        "mv_0000002.txt line 2",
    ]
    assert read_ratings(tmp_path) == EXPECTED


def test_folder_of_combined_files_and_one_file_alone(tmp_path: Path) -> None:
    combined = f"{FIRST}\n{SECOND}\n3:\n"
    folder(tmp_path, combined_data_1=combined, combined_data_2="4:\n7,1,2000-01-01\n")
    assert read_ratings(tmp_path / "combined_data_1.txt") == EXPECTED
    ratings = read_ratings(tmp_path)
    assert ratings.items.tolist() == [1, 2, 4]
    assert ratings.n_ratings == 4


def test_gzipped_members_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "mv_0000001.txt.gz").write_bytes(gzip.compress(FIRST.encode()))
    (tmp_path / "mv_0000002.txt").write_text(SECOND)
    assert read_ratings(tmp_path) == EXPECTED


@pytest.mark.parametrize("block_bytes", [1 << 10, 100, 40, 25])
def test_sections_run_on_across_blocks(
    tmp_path: Path, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recveil.io.formats.netflix_prize.BLOCK_BYTES", block_bytes)
    rows = {movie: range(movie * movie % 11) for movie in range(1, 40)}
    text = "".join(
        f"{movie}:\n" + "".join(f"{user},{1 + user % 5},2005-01-{1 + user:02}\n" for user in users)
        for movie, users in rows.items()
    )
    source = read_table(folder(tmp_path, combined_data_1=text))
    pairs = zip(source.table["item"].to_pylist(), source.table["user"].to_pylist(), strict=True)
    assert list(pairs) == [(str(movie), user) for movie, users in rows.items() for user in users]


def test_a_movie_in_two_files_is_one_movie(tmp_path: Path) -> None:
    folder(tmp_path, combined_data_1="1:\n7,1,2000-01-01\n", combined_data_2="1:\n8,1,2000-01-01\n")
    assert read_ratings(tmp_path).n_items == 1


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (
            "7,1,2000-01-01\n",
            "input.line",
            "mv_2.txt line 1",
        ),
        ("2:\n\n7,1\n", "input.line", "mv_2.txt line 3"),
        ("2:\n7,1,2000-01-01\nann,1,2000-01-01\n", "input.line", "mv_2.txt line 3"),
        ("2:\n7,1,monday\n", "input.line", "mv_2.txt line 2"),
        ("2:\n7,1,2000-01-01 10:30\n", "input.line", "mv_2.txt line 2"),
        ("2:\n7,x,2000-01-01\n", "rating.not-a-number", "mv_2.txt line 2"),
        ("2:\n7,,2000-01-01\n", "rating.missing", "mv_2.txt line 2"),
        ("2:\n7,5,2000-01-01\n7,4,2000-01-01\n", "rating.duplicate", "mv_2.txt line 3"),
        ("2:\n7,1,2000-02-30\n", "input.line", "mv_2.txt line 2"),
        ("2:\n3000000000,1,2000-02-03\n", "input.line", "mv_2.txt line 2"),
        ("2:\n7,1:,2000-02-03\n", "input.line", "mv_2.txt line 2"),
        ("2:\n\xff,1,2000-02-03\n", "input.line", "mv_2.txt line 2"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, code: str, said: str) -> None:
    with raises(code) as error:
        read_ratings(folder(tmp_path, mv_1=FIRST, mv_2=text))
    assert said in str(error.value)


def test_no_ratings(tmp_path: Path) -> None:
    with raises("table.no-ratings"):
        read_ratings(folder(tmp_path, mv_1="1:\n"))


def test_verify_says_how_the_text_is_written_is_not_compared(tmp_path):
    (tmp_path / "mv_0000001.txt").write_text("1:\n1,3,2005-09-06\n2,3,2005-09-06\n")
    assert verify(tmp_path, k=2).not_covered[-1].code == "netflix-text"


@pytest.mark.parametrize("name", ["mv_0000003.txt", "combined_data_1.txt"])
@pytest.mark.parametrize(
    "put",
    [
        os.mkfifo,
        lambda path: path.symlink_to("mv_0000001.txt"),
        lambda path: path.hardlink_to(path.with_name("mv_0000001.txt")),
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.symlink_to("/dev/zero"),
    ],
    ids=["pipe", "link", "hard link", "nowhere", "device"],
)
def test_what_would_be_waited_for_or_read_twice(tmp_path, name, put):
    folder(tmp_path, mv_0000001=FIRST, mv_0000002=SECOND)
    put(tmp_path / name)
    with raises("input.parts"):
        read_ratings(tmp_path)
