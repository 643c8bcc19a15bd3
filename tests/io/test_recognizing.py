"""What stands between columns and before decimals is found where it is certain; else asked."""

import csv
import io

import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.runtime.errors import RecveilError

ROWS = [(f"u{n % 7}", f"i{n}", n % 9 / 2 + 1, f"2020-01-{n % 28 + 1:02}") for n in range(60)]
NAMES = ("user", "item", "rating", "date")


def plain(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text(written(",", "."))
    return read_ratings(path)


def written(delimiter, decimal, header=True, rows=ROWS):
    rows = [
        (user, item, f"{rating:g}".replace(".", decimal), date) for user, item, rating, date in rows
    ]
    rows = [NAMES, *rows] if header else rows
    if len(delimiter) > 1:
        return "".join(f"{delimiter.join(row)}\n" for row in rows)
    sink = io.StringIO()
    csv.writer(sink, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return sink.getvalue()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t", " ", "::"])
def test_found_by_looking(tmp_path, delimiter, decimal, header, encoding):
    path = tmp_path / "download"
    path.write_text(written(delimiter, decimal, header), encoding=encoding)
    reading = understand(path, user="1", item="2")
    assert reading.ratings == plain(tmp_path)
    assert ("decimal commas" in reading.layout) == (decimal == ",")
    if delimiter in ";|":
        assert reading.layout[0] == f"columns between {delimiter!r}"


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t", " ", "::", "^", "\x01", "||", "tab"])
def test_said_by_its_owner(tmp_path, delimiter, header):
    path = tmp_path / "download"
    mark = "\t" if delimiter == "tab" else delimiter
    path.write_text(written(mark, ",", header))
    found = read_ratings(path, delimiter=delimiter, decimal=",", user="1", item="2")
    assert found == plain(tmp_path)


@pytest.mark.parametrize("header", [True, False])
def test_numbers_that_stand_under_each_other(tmp_path, header):
    path = tmp_path / "aligned.txt"
    lines = written(",", ".", header).splitlines()
    aligned = ["   ".join(f"{field:<12}" for field in line.split(",")) for line in lines]
    path.write_text("\n".join(f" {line} " for line in aligned))
    assert read_ratings(path, user="1", item="2") == plain(tmp_path)


def test_a_table_as_a_shop_in_italy_writes_it(tmp_path):
    path = tmp_path / "valutazioni.csv"
    path.write_bytes(
        b'User-ID;ISBN;Book-Rating\n"276725";"034545104X";"0,5"\n"276726";"a;b, c, d";"5"\n'
    )
    reading = understand(path)
    assert reading.ratings.values.tolist() == [0.5, 5]
    assert "a;b, c, d" in reading.ratings.items.tolist()
    assert reading.to_dict()["layout"] == ["columns between ';'", "decimal commas"]


@pytest.mark.parametrize(
    ("text", "options", "code", "said"),
    [
        ("1,2,3;4;5\n2,2,3;5;6\n", {}, "option.required", "--delimiter ';'"),
        ("user;item;rating\n1;2;1,000\n2;2;2,500\n", {}, "rating.decimal", "line 2"),
        ("user;item;rating\n1;2;3,5\n2;2;4.5\n", {}, "rating.not-a-number", "line 2"),
        (
            "user;item;rating\n1;2;3,5\n2;2;4.5\n",
            {"decimal": ","},
            "rating.decimal",
            "line 3",
        ),
        ("user;item;rating\n1;2;3;4\n", {}, "input.line", "line 2"),
        ("user;item;rating\n1;2;3\n", {"delimiter": "|"}, "input.line", ""),
        ("1;2;3\n", {"delimiter": "|"}, "input.line", ""),
        ("user;item;rating\n1;2;3\n", {"delimiter": "ab"}, "option.value", "'ab'"),
        ("user;item;rating\n1;2;3\n", {"delimiter": '"'}, "option.value", ""),
        ("user;item;rating\n1;2;3\n", {"decimal": ";"}, "option.value", ""),
        ("user;item;rating\n1;2;3\n", {"null": "99"}, "option.conflict", ""),
        (
            '{"user": 1, "item": 2, "rating": 3}',
            {"delimiter": ";"},
            "option.unsupported",
            "",
        ),
        ("1::2:5::3\n", {}, "input.line", "line 1"),
        ("user::item::rating\n1::2:5::3\n", {}, "input.line", "line 2"),
    ],
)
def test_what_is_not_certain_or_wrong_is_said(tmp_path, text, options, code, said):
    path = tmp_path / "r.csv"
    path.write_text(text)
    with raises(code) as caught:
        read_ratings(path, **options)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "title", ["Ratings of our shop, 2025", "Report;;;", "a\n\nb", '"x, y, z, v"']
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_title_above_the_names_is_named(tmp_path, title, delimiter):
    path = tmp_path / "r.csv"
    path.write_text(f"{title}\n\n{written(delimiter, '.')}")
    line = title.count("\n") + 3
    with raises("input.header") as error:
        understand(path)
    assert f"in line {line}" in str(error.value)


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("title", ["Export of ratings, 31.12.2024 14:05", "Kino\n\nStand; Mai"])
def test_a_title_above_other_names_is_named_too(tmp_path, title, header):
    path = tmp_path / "r.csv"
    names = "Kunde;Filmtitel;Bewertung (1 bis 5);Datum\n"
    path.write_text(f"{title}\n{names * header}{written(';', ',', header=False)}")
    line = title.count("\n") + 2
    for options in ({}, {"delimiter": ";"}, {"user": "1", "item": "2", "rating": "3"}):
        with raises("input.header") as error:
            understand(path, **options)
        assert f"in line {line}" in str(error.value)
        assert "and line 1" in str(error.value)


@pytest.mark.parametrize("names", ["who,what,how much\n", ""])
def test_a_title_that_a_spreadsheet_filled_up_is_named(tmp_path, names):
    path = tmp_path / "r.csv"
    path.write_text(f"Ratings of our shop,,\n{names}ann,heat,3\nann,up,4\nben,up,5\n")
    with raises("input.header", "line 1", "line 2"):
        understand(path)
    path.write_text(path.read_text().partition("\n")[2])
    columns = {"user": "who", "item": "what", "rating": "how much"} if names else {}
    assert understand(path, **columns).ratings.n_ratings == 3


def test_columns_that_end_early_are_no_title(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating,note\n1,7,3\n1,8,4\n2,7,5\n2,8,1\n")
    with pytest.raises(RecveilError) as caught:
        understand(path)
    assert "seems to begin" not in str(caught.value)


@pytest.mark.parametrize("line", [4, 9])
def test_the_line_is_that_of_the_file(tmp_path, line):
    for delimiter, runs in ((";", 1), ("::", 1), (" ", 3)):
        lines = written(delimiter, ",").replace(delimiter, delimiter * runs).splitlines()
        lines[line - 1] = lines[line - 1].replace(
            lines[line - 1].split(delimiter)[2 * runs], "good"
        )
        path = tmp_path / "r.txt"
        path.write_text("\n".join(lines))
        with raises("rating.not-a-number") as error:
            read_ratings(path)
        assert f"r.txt line {line}" in str(error.value)
        assert "'good'" in str(error.value)


@pytest.mark.parametrize("source", [{"user": [1]}, "ratings"])
def test_means_nothing_for_what_is_no_text(tmp_path, source):
    given = plain(tmp_path) if source == "ratings" else source
    with raises("option.unsupported"):
        understand(given, delimiter=";")


def test_a_quote_in_the_header_that_does_not_end_is_named(tmp_path):
    rows = [f"ok,{1001 + n // 3},i{n % 3},{n % 5 + 1}" for n in range(9)]
    (tmp_path / "r.csv").write_text("\n".join(['"note,user,item,rating', *rows]) + "\n")
    with raises("input.quotes", "r.csv line 1"):
        read_ratings(tmp_path / "r.csv")
