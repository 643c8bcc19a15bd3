"""A row for each user and a column for each item are read as one rating a line is."""

import gzip

import numpy as np
import pandas as pd
import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.runtime.memory import MemoryLimitError, memory_limited

RNG = np.random.default_rng(1)
# As Jester's: 100 jokes, ratings from -10 to 10 to the hundredth, 99 for none.
JOKES = np.where(RNG.random((40, 100)) < 0.4, np.round(RNG.uniform(-10, 10, (40, 100)), 2), 99)


@pytest.fixture
def as_csv(tmp_path):
    """Return what is read of a CSV with one rating a line."""

    def read(users=range(1, 41)):
        rows, columns = np.nonzero(JOKES != 99)
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        lines = [f"{users[row]},{column + 1},{JOKES[row, column]:g}" for row, column in pairs]
        path = tmp_path / "plain.csv"
        path.write_text("\n".join(["user,item,rating", *lines]))
        return read_ratings(path)

    return read


def jester(mark=","):
    return "\n".join(
        mark.join([str((row != 99).sum()), *(f"{each:g}" for each in row)]) for row in JOKES
    )


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_jester(tmp_path, mark, as_csv):
    path = tmp_path / "jester-data-1.csv"
    path.write_text(jester(mark))
    reading = understand(path, wide=True, null="99")
    assert reading.ratings == as_csv()
    assert reading.layout == ("a matrix, rows counted", "column 1 counts the others")
    assert read_ratings(path, wide=True, null=99.0) == as_csv()


@pytest.mark.parametrize("corner", ["user_id", "", "id"])
@pytest.mark.parametrize("null", ["", "NaN", "99"])
def test_with_names(tmp_path, corner, null, as_csv):
    path = tmp_path / "matrix.csv"
    users = [f"u{n}" for n in range(40)]
    lines = [",".join([corner, *map(str, range(1, 101))])]
    for user, row in zip(users, JOKES, strict=True):
        lines.append(",".join([user, *(null if each == 99 else f"{each:g}" for each in row)]))
    path.write_text("\n".join(lines))
    reading = understand(path, wide=True, null="99")
    assert reading.ratings == as_csv(users)
    assert reading.layout == ("a matrix",)
    assert reading.order == "format"
    path.write_text("\n".join(lines[1:]))
    assert read_ratings(path, wide=True, null="99", user="1").n_users == 40


def test_decimal_commas(tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("user;a;b\nann;3,5;\nben;4;1,5\n")
    ratings = read_ratings(path, wide=True)
    assert sorted(ratings.values.tolist()) == [1.5, 3.5, 4]


@pytest.mark.parametrize(
    ("text", "options", "code", "said"),
    [
        ("user,a,b\nann,4,good\n", {}, "rating.not-a-number", "m.csv line 2 column 3"),
        ("user,a,b\nann,4\n", {}, "input.line", "m.csv line 2"),
        ("user,a,a\nann,4,5\n", {}, "column.duplicate", "'a'"),
        ("user,a,b\n,4,5\n", {}, "id.missing", "m.csv line 2"),
        ("user,a,b\nann,4,5\n\nann,4,3\n", {}, "rating.duplicate", "line 2"),
        ("1,3,,4\n2,,,5\n3,1,1,1\n", {}, "column.ambiguous", "--user 1"),
        ("ann,1,2,3\nben,3,2,1\n", {}, "input.header", "line 1"),
        ("user\nann\n", {}, "input.line", ""),
        ("user,a\nann,\n", {}, "table.no-ratings", ""),
        ("user,a\nann,3\n", {"rating": "a"}, "option.unsupported", ""),
        ("user,a\nann,3\n", {"user": "person"}, "column.missing", "'person'"),
        ("", {}, "input.empty", ""),
        ('{"user": 1, "a": 3}', {}, "option.unsupported", ""),
    ],
)
def test_what_is_no_matrix(tmp_path, text, options, code, said):
    path = tmp_path / "m.csv"
    path.write_text(text)
    with raises(code) as caught:
        read_ratings(path, wide=True, **options)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


def test_names_of_items_alone(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("12,15,18\n4,,3.5\n5,1,\n")
    assert read_ratings(path, wide=True).items.tolist() == [12, 15, 18]


def test_a_count_that_is_wrong_further_down(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("\n".join([*(["2,5,4,"] * 1_500), "7,5,4,"]))
    with raises("input.line") as error:
        read_ratings(path, wide=True)
    assert "m.csv line 1501" in str(error.value)
    assert "'7'" in str(error.value)


@pytest.mark.parametrize("cell", ["3", "{}"])
def test_few_bytes_that_become_many(tmp_path, cell):
    path = tmp_path / "m.csv.gz"
    with gzip.open(path, "wt", 1) as file:
        file.write("user," + ",".join(f"i{n}" for n in range(400)) + "\n")
        for user in range(8_000):
            file.write(f"u{user}," + ",".join([cell.format(user)] * 400) + "\n")
    with (
        memory_limited("20MB"),
        pytest.raises(MemoryLimitError) as error,
    ):
        read_ratings(path, wide=True)
    assert error.value.code == "machine.memory"


def test_a_wide_data_frame_gets_its_remedy_whole():
    frame = pd.DataFrame(1, index=range(3), columns=[f"film{item}" for item in range(2_072)])
    with raises("column.missing", "melt a data frame") as caught:
        understand(frame)
    assert "..." not in str(caught.value)
