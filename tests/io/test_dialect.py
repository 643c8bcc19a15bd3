"""A first line that may be a row is not lost as names of columns without a word."""

import pytest

from error_assertions import raises
from recveil.io import understand

ROWS = [(f"ann{100 + n % 12}", f"film{n // 12}", f"2020-01-{n % 28 + 1:02}") for n in range(84)]


def write(path, rows, mark=","):
    path.write_text("".join(f"{mark.join(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (",", {"format": "csv-plain"}),
        ("\t", {"format": "movielens-tab"}),
        (";", {"format": "csv-plain", "delimiter": ";"}),
    ],
)
@pytest.mark.parametrize("n_columns", [2, 3])
def test_ids_as_text_lose_no_row(tmp_path, mark, said, n_columns):
    if mark == ";" and n_columns == 2:
        return  # refused for its semicolon
    path = write(tmp_path / "plain.csv", [row[:n_columns] for row in ROWS], mark)
    given = {"user": 1, "item": 2, "time": 3 if n_columns == 3 else None}
    with raises("input.header") as error:
        understand(path, **given)
    assert all(
        f"--{name} {value}" in str(error.value).replace("'", "") for name, value in said.items()
    )
    assert understand(path, **given, **said).ratings.n_ratings == 84


@pytest.mark.parametrize("empty", ["rating", "all but the item"])
def test_a_first_row_with_empty_values_is_not_lost(tmp_path, empty):
    first = ("ann0", "film9", "", "2024-01-11") if empty == "rating" else ("", "film9", "", "")
    rows = [
        first,
        *((f"ann{n % 7}", f"film{n}", f"{n % 5 + 1}", "2024-01-10") for n in range(1, 41)),
    ]
    path = write(tmp_path / "plain.csv", rows)
    with raises("input.header"):
        understand(path, user=1, item=2, rating=3)


def test_nor_do_parts(tmp_path):
    (tmp_path / "h").mkdir()
    write(tmp_path / "h" / "part-0.csv", [row[:2] for row in ROWS])
    with raises("input.header") as error:
        understand(tmp_path / "h", user=1, item=2)
    assert "h/part-0.csv" in str(error.value)


@pytest.mark.parametrize(
    "header", [("person", "film", "seen"), ("ann7", "user", "x1"), ("ann7", "film7", "seen")]
)
def test_names_that_differ_from_the_rows_are_names(tmp_path, header):
    path = write(tmp_path / "named.csv", [header, *ROWS])
    assert understand(path, user=1, item=2, time=3).ratings.n_ratings == 84


def test_an_option_or_the_format_names_a_column(tmp_path):
    path = write(tmp_path / "named.csv", [("who", "what"), ("ann", "heat"), ("ben", "heat")])
    with raises("input.header"):
        understand(path, user=1, item=2)
    assert understand(path, user="who", item="what").ratings.n_ratings == 2
    assert understand(path, user=1, item=2, format="csv").ratings.n_ratings == 2
    assert understand(path, user=1, item=2, format="csv-plain").ratings.n_ratings == 3


def test_a_title_above_rows_whose_reviews_span_lines_is_named_with_the_command(tmp_path):
    file = tmp_path / "my shop.csv"
    rows = [f'{user};film-{user};3,5;"fine\nreally; fine"' for user in range(30)]
    file.write_text("\n".join(["Export of May", "", "Kunde;Artikel;Sterne;Text", *rows, ""]))
    with raises("input.header", "line 3", f"tail -n +3 '{file}' > table.csv"):
        understand(file)
