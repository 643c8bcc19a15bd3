"""Delimited text: what must be read, and what must be refused by its line."""

import gzip
import random
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from dialects import compare_dialect, table_of_dialect

from error_assertions import raises
from recveil.inspection import inspect
from recveil.io import read_ratings, read_table, understand
from recveil.io.ingestion import without_dates
from recveil.ratings import RatingScale

Write = Callable[..., Path]
PLACES = {"user": "1", "item": "2"}
HEADER = "user,item,rating\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_text(text: str | bytes, name: str = "r.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_text


def test_ids_with_leading_zeros_stay_text(write: Write) -> None:
    with pytest.warns(UserWarning, match="2 users may be 1"):
        ratings = read_ratings(write(HEADER + "007,a,1\n7,b,2\n"))
    assert ratings.users.tolist() == ["007", "7"]


def test_crlf_bom_blank_lines_and_no_last_line_end(write: Write) -> None:
    path = write("\ufeffuser,item,rating\r\n\r\n1,5,4\r\n\r\n\r\n2,5,3")
    source = read_table(path)
    assert read_ratings(path).users.tolist() == [1, 2]
    assert [source.locate(row) for row in (0, 1)] == ["r.csv line 3", "r.csv line 6"]


def test_bom_without_header(write: Write) -> None:
    assert read_ratings(write("\ufeff1,5,4\n2,5,3\n"), **PLACES).users.tolist() == [1, 2]


def test_quoted_fields_hold_delimiters_quotes_and_line_breaks(write: Write) -> None:
    text = (
        'user,item,rating,title\n"a,b",1,3,"Crow, The"\n'
        'c,2,"4","He said ""no""\nand left"\nd,2,5,\n'
        'e,2,5,"and came\nback"\n'
    )
    source = read_table(write(text))
    assert source.table["user"].to_pylist() == ["a,b", "c", "d", "e"]
    titles = ["Crow, The", 'He said "no"\nand left', None, "and came\nback"]
    assert source.table["title"].to_pylist() == titles
    assert [source.locate(row) for row in range(4)] == [f"r.csv line {n}" for n in (2, 3, 5, 6)]


def _swallowing(delimiter: str, stray: str, end: str, n_users: int = 6) -> str:
    """A table whose column `stray` opens a quote in user 2's row and closes it in user 4's."""
    columns = ["user", "item", "rating", "review"]
    lines = [columns]
    for user in range(1, n_users + 1):
        for item in ("i1", "i2", "i3"):
            row = {"user": f"u{user}", "item": item, "rating": "4", "review": "fine"}
            if (user, item) == (2, "i2"):
                row[stray] = f'"{row[stray]}'
            if (user, item) == (4, "i2"):
                row[stray] = f'{row[stray]}"'
            lines.append([row[name] for name in columns])
    return end.join(delimiter.join(line) for line in lines) + end


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("stray", ["user", "item", "rating", "review"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_a_stray_pair_of_quotes_swallows_no_rows(write: Write, delimiter, stray, end) -> None:
    """Rows of other users were read as part of one field, and published as the id of an item."""
    text = _swallowing(delimiter, stray, end)
    with raises("input.quote-spans-lines") as error:
        understand(write(text))
    assert "line 6" in str(error.value)
    assert "to line 12" in str(error.value)
    assert "leave" not in str(error.value)  # `review` has chosen that for an unread column
    assert understand(write(text.replace('"', ""))).ratings.n_ratings == 18


@pytest.mark.parametrize(
    ("first", "swallowed"),
    [
        ('u1,034545103X,4,"so', '7,0345451047,3,meh"'),
        ('1,i1,4,"so', 'u7,2,3,meh"'),
        ('u1,i1,4,"so', 'u7,i2,,meh"'),
        ('u1,i1,,"so', 'u7,i2,4,meh"'),
    ],
    ids=["item", "user", "no rating", "a rating"],
)
def test_swallowed_rows_may_have_ids_of_another_kind_or_no_rating(write, first, swallowed) -> None:
    rows = [f"u{user},i{item},4,fine" for user in range(9) for item in range(3)]
    for at in (12, 6):
        rows[at:at] = [first, swallowed]
    with raises("input.quote-spans-lines") as error:
        understand(write("user,item,rating,review\n" + "\n".join(rows) + "\n"), rating="rating")
    assert "line 8" in str(error.value)
    assert "to line 9" in str(error.value)


def test_swallowed_rows_are_found_behind_a_review_with_delimiters(write: Write) -> None:
    rows = [f"u{user},fine,i{item},4" for user in range(9) for item in range(3)]
    for at in (12, 6):
        rows[at:at] = ['u1,"so, so,i1,4', 'u7,meh",i2,3']
    with raises("input.quote-spans-lines") as error:
        understand(write("user,review,item,rating\n" + "\n".join(rows) + "\n"))
    assert "line 8" in str(error.value)
    assert "to line 9" in str(error.value)


@pytest.mark.parametrize("header", ["user,item,review,rating", "user,review,item,rating"])
def test_rows_swallowed_between_reviews_that_span_lines_are_found(write: Write, header) -> None:
    """The closing quote of one review is missing, and the opening one of the next."""
    rows = [[f"u{user}", f"i{item}", "4"] for user in range(9) for item in range(3)]
    texts = ['"so\nso"'] * len(rows)
    texts[6:8] = ['"so\nso', 'meh\nmeh"']
    columns = header.split(",")
    lines = [
        ",".join(
            {"user": user, "item": item, "rating": n, "review": text}[each] for each in columns
        )
        for (user, item, n), text in zip(rows, texts, strict=True)
    ]
    with raises("input.quote-spans-lines"):
        understand(write("\n".join([header, *lines]) + "\n"), rating="rating")


@pytest.mark.parametrize("held", ["i7,u3,i8,5", "i7, u3, i8, 5", "i7 u3 i8 5", "u3;i8;4"])
@pytest.mark.parametrize("role", ["user", "item"])
def test_rows_inside_an_id_are_refused_by_their_line(write: Write, role, held) -> None:
    rows = [["user", "item", "rating"], *([f"u{n}", f"i{n}", "4"] for n in range(9))]
    rows.insert(4, ["u1", f'"{held}"', "3"] if role == "item" else [f'"{held}"', "i1", "3"])
    with raises("id.row-within") as error:
        understand(write("\n".join(map(",".join, rows)) + "\n"))
    assert f"line 5: the {role}" in str(error.value)


@pytest.mark.parametrize("item", ["1|2|3", "Heat|Crime|Drama", "Lock, Stock, 2 Barrels"])
def test_ids_that_are_lists_are_read(write: Write, item) -> None:
    rows = [
        "user,item,rating",
        *(f"{user},{item},4" for user in (1, 2, 3, "Crime") for item in "123"),
    ]
    rows += ["3,Heat,4", f'2,"{item}",3']
    assert item in understand(write("\n".join(rows) + "\n")).ratings.items


def test_a_stray_pair_of_quotes_is_found_in_packed_text_and_in_parts(write: Write) -> None:
    text = _swallowing(",", "review", "\n")
    folder = write(text, "r.csv").parent / "parts"
    folder.mkdir()
    (folder / "part-0.csv").write_text(text.replace('"', ""))
    (folder / "part-1.csv").write_text(text)
    for source in (write(gzip.compress(text.encode()), "r.csv.gz"), folder):
        with raises("input.quote-spans-lines") as error:
            understand(source)
        assert "line 6" in str(error.value)
        assert "to line 12" in str(error.value)


def test_a_quoted_header_swallows_no_rows(write: Write) -> None:
    text = 'user,item,rating,"note\n1,1,4,a\n2,1,5,b"\n3,1,4,c\n'
    with raises("input.quote-spans-lines") as error:
        understand(write(text))
    assert "line 1" in str(error.value)
    assert "to line 3" in str(error.value)


@pytest.mark.parametrize("first", [True, False], ids=["review first", "review last"])
def test_reviews_that_span_lines_are_read_and_counted(write: Write, first: bool) -> None:
    reviews = ['"good\nbut long, in parts, and sad, too"', "fine", '"one\n\nthree"', "", "4"]
    lines = ["review,user,item,rating" if first else "user,item,rating,review"]
    for user, review in enumerate(reviews, 1):
        row = f"{user},i1,{1 + user % 5}"
        lines.append(f"{review},{row}" if first else f"{row},{review}")
    reading = understand(write("\n".join(lines) + "\n\n"))
    assert reading.ratings.n_ratings == 5
    assert "5 rows and a header take 9 lines" in reading.notes[0]


def test_short_texts_of_likes_that_span_lines_are_read(write: Write) -> None:
    rows = [f'u{n},i{n % 3},"sad, slow, long\nbut good, warm, short"' for n in range(9)]
    reading = understand(write("\n".join(["user,item,review", *rows])), likes=True)
    assert reading.ratings.n_ratings == 9
    rows[4] = 'u4,i1,"sad\nu7,i2,short"'
    with raises("input.quote-spans-lines") as error:
        understand(write("\n".join(["user,item,review", *rows])), likes=True)
    assert "line 10" in str(error.value)


@pytest.mark.parametrize(
    ("first", "last", "likes"),
    [
        ('1,300,4,"so', 'Guest User 7,Big Fish,5,fine"', False),
        ('Guest User 7,Big Fish,5,"so', '1,300,4,fine"', False),
        ('u1,1917,"so', 'u1,Big Fish,fine"', True),
        ('u1,Big Fish,"so', 'u1,1917,fine"', True),
    ],
)
def test_swallowed_rows_are_found_whatever_the_kinds_of_ids(write, first, last, likes) -> None:
    """A title of one number in one row, and of words in the next, made these no rows."""
    rating = "" if likes else ",4"
    names = ["1917", "300", "Big Fish"]
    rows = [f"u{user},{item}{rating},fine" for user in range(9) for item in names]
    for at in (12, 6):
        rows[at:at] = [first, last]
    header = "user,item,tag" if likes else "user,item,rating,tag"
    with raises("input.quote-spans-lines", "line 8", "line 9"):
        understand(write("\n".join([header, *rows, ""])), likes=likes)


def test_a_single_field_that_spans_lines_and_may_hold_a_row_is_refused(write: Write) -> None:
    with raises("input.quote-spans-lines") as error:
        understand(write('user,item,rating,review\n1,a,5,"good\nold, so"\n2,a,4,fine\n'))
    assert "line 2" in str(error.value)
    assert "to line 3" in str(error.value)


@pytest.mark.parametrize("end", ["", "\n", "\r\n"], ids=["no end", "lf", "crlf"])
@pytest.mark.parametrize("last", ['u3,a,5,"so good', 'u3,a,5,"so\ngood', '"u3""",""5"a,5,"x""'])
def test_a_quote_that_is_never_closed_is_refused(write: Write, last: str, end: str) -> None:
    text = f'user,item,rating,review\nu1,a,5,"good\nold"\nu2,a,4,"not\nnew"\n{last}{end}'
    with raises("input.quotes") as error:
        understand(write(text))
    assert "line 6" in str(error.value)


@pytest.mark.parametrize("review", ["fine", '"fine"', '"a, b"', '"so" "good"', 'so "good"'])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_quotes_that_are_closed_are_read(write: Write, review: str, end: str) -> None:
    lines = ["user,item,rating,review", f"u1,a,5,{review}", "", f"u2,a,4,{review}", ""]
    reading = understand(write(end.join(lines)))
    assert reading.ratings.n_ratings == 2
    assert not any("line breaks" in note for note in reading.notes)


def test_line_ends_of_several_kinds_hide_no_field_that_spans_lines(write: Write) -> None:
    """A line end that was not counted made up for one within a field."""
    text = "user,item,rating,review\ru1,a,5,fine\nu2,a,4,fine\n"
    with raises("input.quote-spans-lines") as error:
        understand(write(text + 'u3,a,4,"so\ngood, too"\n'))
    assert "line 4" in str(error.value)
    assert "to line 5" in str(error.value)


def test_text_after_a_closing_quote_is_refused_where_fields_span_lines(write: Write) -> None:
    reviews = ['"good\nold"', '"not\nnew"', '"so" good']
    text = "user,item,rating,review\n" + "".join(f"u,{n},5,{r}\n" for n, r in enumerate(reviews))
    with raises("input.quotes") as error:
        understand(write(text))
    assert "line 6" in str(error.value)


@pytest.mark.parametrize("seed", range(200))
def test_rows_are_those_of_csv_and_pandas_in_any_dialect(seed: int) -> None:
    """Quotes, delimiters and line ends in any column; see fuzz/dialects.py for longer runs."""
    compare_dialect(table_of_dialect(random.Random(seed)))


def test_quotes_mean_nothing_in_movielens_files(write: Write) -> None:
    assert read_ratings(write('"a\t1\t3\nb\t1\t4\n'), **PLACES).users.tolist() == ['"a', "b"]


def test_half_stars_iso_dates_and_milliseconds(write: Write) -> None:
    header = "user,item,rating,date\n"
    iso = read_ratings(write(header + "1,5,4.5,2005-09-06\n1,6,0.5,2005-09-06\n"))
    milliseconds = read_ratings(write(header + "1,5,4.5,1126000000000\n1,6,0.5,1126000000000\n"))
    assert iso.values.tolist() == [4.5, 0.5]
    assert iso.days is not None
    assert np.array_equal(iso.days, [13032, 13032])
    assert milliseconds == iso


def test_columns_are_named_by_the_caller(write: Write) -> None:
    path = write("who,what,how\nann,x,3\n")
    assert read_ratings(path, user="who", item="what", rating="how").n_ratings == 1
    with raises("column.missing") as error:
        read_ratings(path, user="whom")
    assert "'whom'" in str(error.value)


def test_table_keeps_text_and_other_columns(write: Write) -> None:
    table = read_table(write("group_size,userId,movieId,rating,\n5,1,2,3.50,x\n")).table
    assert table.column_names == ["user", "item", "rating", "group_size", ""]
    assert table.to_pylist() == [
        {"user": "1", "item": "2", "rating": "3.50", "group_size": "5", "": "x"}
    ]
    encoded = pa.dictionary(pa.int32(), pa.string())
    assert table.schema.types == [encoded] * 3 + [pa.string()] * 2


def test_table_drops_recbole_types_from_other_columns(write: Write) -> None:
    text = "user_id:token\titem_id:token\trating:float\tgroup_size:float\n1\t2\t3\t5\n"
    assert read_table(write(text)).table.column_names[-1] == "group_size"


def test_duplicates_are_named_by_their_lines(write: Write) -> None:
    path = write("1 5 4\n1 6 3\n1 5 2\n", "ratings.txt")
    with raises("rating.duplicate") as error:
        read_ratings(path)
    assert "ratings.txt line 1" in str(error.value)
    assert "ratings.txt line 3" in str(error.value)
    with pytest.warns(UserWarning, match="1 row was dropped"):
        kept = read_ratings(path, duplicates="last", **PLACES)
    assert kept.values.tolist() == [2, 3]


def test_many_blocks_keep_their_lines(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recveil.io.formats.delimited.BLOCK_BYTES", 100)
    lines = [f"u{n},{n % 7},{n % 5}\n" for n in range(500)]
    path = write(HEADER + "".join(lines))
    source = read_table(path)
    assert source.table["user"].num_chunks > 10
    assert source.locate(400) == "r.csv line 402"
    assert read_ratings(path).n_users == 500


BAD = [
    ("1,2,3\n1,3\n", "input.line", "line 3", "'1,3'"),
    ("1,2,3\n1,3,4,5\n", "input.line", "line 3", "'1,3,4,5'"),
    ("1,2,3\n \n", "input.line", "line 3", "' '"),
    ("1,2,3\n1,3,nan\n", "rating.not-a-number", "line 3", "nan"),
    ("1,2,3\n1,3,-inf\n", "rating.not-a-number", "line 3", "-inf"),
    ("1,2,3\n1,3,\n", "rating.missing", "line 3", "rating"),
    ("1,2,3\n1,3,good\n", "rating.not-a-number", "line 3", "'good'"),
    ("1,2,3\n,3,4\n", "id.missing", "line 3", "user"),
    ("1,2,3\n1,,4\n", "id.missing", "line 3", "item"),
    ("1,2,3\n1,3,7.5\n", "rating.off-scale", "line 3", "7.5", "1:5:1"),
    ("1,2,3\n1,3,2.5\n", "rating.off-scale", "line 3", "2.5", "1:5:1"),
    ('1,2,3\n1,3,2\n"4,5,1\n4,6,1\n', "input.quotes", "line 4"),
    ("", "table.no-ratings"),
    ("\n\n", "table.no-ratings"),
]


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("bad", BAD, ids=str)
def test_errors_name_the_line(write: Write, bad: tuple[str, ...], end: str, zipped: bool) -> None:
    rows, code, *names = bad
    text = (HEADER + rows).replace("\n", end).encode()
    path = write(gzip.compress(text) if zipped else text)
    with raises(code, "r.csv", *names):
        read_ratings(path, scale=RatingScale(1, 5, 1))


@pytest.mark.parametrize(
    ("text", "code", "names"),
    [
        ("1::2::3\n\n1::2\n", "input.line", ["line 3", "'1::2'"]),
        ("1::2::3\n1:5::2::3\n", "input.line", ["line 2", "':'", "'1:5::2::3'"]),
        ("1::2::3\n1:2:3:4:5\n", "input.line", ["line 2", "'1:2:3:4:5'"]),
        ("1\t2\t3\n1\t2\t3\t4\n", "input.line", ["line 2", 4]),
        ("1 2 3\n1  2 3\n", "input.line", ["line 2", "'1  2 3'"]),
        ("user,item,title\n1,2,x\n", "column.missing", ["'user', 'item', 'title'"]),
        ("user,item,rating,rating\n1,2,3,4\n", "column.duplicate", ["'rating'"]),
    ],
)
def test_other_errors(write: Write, text: str, code: str, names: list[object]) -> None:
    with raises(code, "r.csv", *names):
        read_ratings(write(text))


@pytest.mark.parametrize(
    ("review", "code"),
    [
        ("x" * 140_000, "input.line"),
        ('"fine, ' + "x" * 140_000 + '"', "input.line"),
        ('"fine,\n' + "x" * 140_000 + '"', "input.quotes"),
        ('"fine,\n' + "1,2,3,good\n" * 14_000, "input.quotes"),
    ],
    ids=["plain", "quoted", "line end", "stray quote"],
)
def test_a_long_text_is_no_stray_quote(write: Write, review: str, code: str) -> None:
    rows = "".join(f'{n % 7},{n},{n % 5 + 1},"good, too"\n' for n in range(60))
    with raises(code, "r.csv", "131,072"):
        read_ratings(write(f"user,item,rating,review\n{rows}9,9,3,{review}\n"))


@pytest.mark.parametrize(
    ("last", "code", "said"),
    [
        ("monday", "time.unreadable", "r.csv line 3"),
        ("", "time.missing", "r.csv line 3"),
        ("0", "time.mixed", ""),
    ],
)
def test_times_that_were_named_are_refused_and_others_left_out(
    write: Write, last: str, code: str, said: str
) -> None:
    path = write(f"user,item,rating,when\n1,2,3,1999-01-01\n1,3,3,{last}\n")
    with raises(code) as error:
        read_ratings(path, time="when")
    assert said in str(error.value)
    with pytest.warns(UserWarning, match=f"Column 'when' was .*{said}"):
        assert read_ratings(path).days is None


def test_errors_about_a_whole_column_name_the_file(write: Write) -> None:
    text = "user,item,rating,time\n1,2,3,1999-01-01\n1,3,3,1126000000\n"
    with raises("time.mixed"):
        read_ratings(write(text), time="time")


def test_bytes_that_are_not_utf8(write: Write) -> None:
    path = write(b"user,item,rating,title\n1,2,3,caf\xe9\n\xe9,2,3,x\n")
    with raises("input.encoding") as error:
        read_ratings(path)
    assert "r.csv line 3" in str(error.value)
    assert "'\\xe9'" in str(error.value)
    # An unused title does no harm; read_table reads it.
    with raises("input.encoding") as error:
        read_table(path)
    assert "r.csv line 2" in str(error.value)
    assert "'caf\\xe9'" in str(error.value)
    with raises("input.encoding") as error:
        read_ratings(write(b"user,item,rating,\xff\n1,2,3,4\n"))
    assert "r.csv line 1" in str(error.value)
    assert "'\\xff'" in str(error.value)


@pytest.mark.parametrize("mark", [",", "\t", ";", "::"])
@pytest.mark.parametrize(("place", "values"), [("3", [2, 4]), (4, [5, 1])])
def test_a_name_that_two_columns_have_is_chosen_by_its_place(
    write: Write, mark: str, place: str | int, values: list[float]
) -> None:
    rows = ["user,item,rating,rating,date,date", "1,2,2,5,2020-01-01,x", "1,3,4,1,2020-01-02,y"]
    path = write("\n\n".join(rows).replace(",", mark))
    found = understand(path, rating=place, time="5")
    assert found.ratings.values.tolist() == values
    assert found.ratings.days is not None
    with raises("column.duplicate") as error:
        read_ratings(path)
    assert "--rating 3" in str(error.value)
    with raises("column.duplicate") as error:
        read_ratings(path, rating="rating", time="5")
    assert "--rating 3" in str(error.value)
    rows_shown = inspect(path, rating=place, time="5").rows
    assert [rows_shown.roles[at] for at in (2, 3)].index("rating") == int(place) - 3


@pytest.mark.parametrize("role", ["user", "item", "time"])
def test_any_role_that_two_columns_have_is_chosen_by_its_place(write: Write, role: str) -> None:
    names = ["user", "item", "rating", "time"]
    at = names.index(role)
    row = ["7", "8", "3", "2020-01-01"]
    text = [",".join([*each, each[at]]) for each in (names, row, [*row[:1], "9", "4", row[3]])]
    path = write("\n".join(text))
    found = understand(path, **{role: at + 1})
    assert [column.role for column in found.columns] == names


def test_repeated_extra_column(write: Write) -> None:
    with raises("column.duplicate") as error:
        read_table(write("user,item,rating,x,x\n1,2,3,4,5\n"))
    assert "'x'" in str(error.value)


def test_quote_that_is_never_closed_in_a_large_file(write: Write) -> None:
    rows = "".join(f"{n},1,3\n" for n in range(40_000))
    with raises("input.quotes") as error:
        read_ratings(write(HEADER + '1,2,3\n"1,3,3\n' + rows))
    assert "r.csv line 3" in str(error.value)


@pytest.mark.parametrize("format", ["csv-plain", "space", "movielens-tab", "movielens-colons"])
def test_wrong_format_named(write: Write, format: str) -> None:
    with raises("input.line") as error:
        read_ratings(write("1|2|3\n"), format=format)
    assert "r.csv line 1" in str(error.value)
    assert "4 columns" in str(error.value)


@pytest.mark.parametrize("format", ["csv", "csv-plain", "inter", "movielens-colons"])
def test_empty_file_with_format_named(write: Write, format: str) -> None:
    with raises("input.empty"):
        read_ratings(write(""), format=format)


ESCAPED = {
    "in a review": '{0},i{0},{1},"He said \\"hi\\", and left"',
    "in an id": '{0},"the \\"{0}\\" one",{1},x',
    "in an id with a comma": '{0},"the \\"{0}, big\\" one",{1},x',
    "at the end of an id": '{0},"the {0} \\"cut\\"",{1},x',
    "before a line end": '{0},i{0},{1},"He said \\"hi\\"\nand left"',
    "of a comma": "{0},the\\, {0},{1},x",
}


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("case", ESCAPED)
@pytest.mark.parametrize("packed", [False, True])
def test_backslashes_that_escape_are_named_with_a_command_that_works(tmp_path, case, mark, packed):
    rows = [ESCAPED[case].replace(",", mark).format(n, n % 5 + 1) for n in range(30)]
    content = "\n".join([mark.join(["user", "item", "rating", "review"]), *rows, ""]).encode()
    path = tmp_path / "r.csv"
    path.write_bytes(gzip.compress(content) if packed else content)
    with raises("input.quotes") as caught:
        read_ratings(path, delimiter=mark)
    assert len(str(caught.value)) < 300
    command = str(caught.value).partition("convert the file: ")[2]
    command = command.replace("FILE", "r.csv").replace("python", shlex.quote(sys.executable))
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    if mark == "\t" and case in ("in an id with a comma", "of a comma"):
        with raises("id.tab", "line 2"):
            read_ratings(tmp_path / "ratings.csv")
        return
    if case == "before a line end":
        with pytest.warns(
            UserWarning, match="30 quoted fields of other columns contain line breaks"
        ):
            made = read_ratings(tmp_path / "ratings.csv")
    else:
        made = read_ratings(tmp_path / "ratings.csv")
    assert (made.n_users, made.n_items, made.n_ratings) == (30, 30, 30)
    assert not any("\\" in item for item in map(str, made.items))


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("options", [{}, {"delimiter": ";"}, {"format": "csv"}])
def test_lines_in_quotes_are_named_with_a_command_that_works(
    tmp_path, mark, end, encoding, options
):
    """Each line became one field: no user column was found, with the advice to rename it."""
    inside = mark.replace("\t", ":")  # an id has no tab
    rows = [["user", "item", "rating"], *([n, f'""{n}{inside} ü""', n % 5 + 1] for n in range(30))]
    content = "".join(f'"{mark.join(map(str, row))}"{end}' for row in rows)
    (tmp_path / "r.csv").write_bytes(content.encode(encoding))
    with raises("input.quotes", "each line is in quotes") as caught:
        read_ratings(tmp_path / "r.csv", **options)
    command = str(caught.value).partition("around lines: ")[2].replace("FILE", "r.csv")
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    made = read_ratings(tmp_path / "ratings.csv", delimiter=mark)
    assert (made.n_users, made.n_items, made.n_ratings) == (30, 30, 30)
    assert f"7{inside} ü" in made.items.tolist()


def test_an_id_with_text_after_its_closing_quote_is_refused(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text('user,item,rating\n1,"the ""big"" one",4\n2,"the "big" one",5\n')
    with raises("input.quotes") as error:
        read_ratings(path)
    assert "r.csv line 3" in str(error.value)
    path.write_text('user,item,rating\n1,"the ""big"" one",4\n2,5" disc,5\n3,"C:\\",4\n')
    assert read_ratings(path).n_items == 3


def test_an_id_that_spans_lines_may_hold_rows_and_may_not(write: Write) -> None:
    """Whether a field holds rows is unknown: "9,i9,5" in an id may be a name."""
    path = write('user,item,rating\n1,"i1",3\n1,"i\r9",4\n2,"i1",3\n')
    with raises("input.quote-spans-lines", "line 3", "line 4"):
        understand(path)


@pytest.mark.parametrize("mark", ["\t", "::", ","])
def test_a_column_of_times_without_a_name_is_said_to_be_left_out(write, mark):
    path = write("".join(f"{mark.join((str(at), '7', '4', '881250949'))}\n" for at in range(1, 9)))
    found = understand(path, times=False, user="1", item="2", scale=RatingScale(1, 5, 1))
    note = "The release has no dates: 'time (column 4)' is left out."
    assert without_dates(found, None).notes[-1] == note
    assert without_dates(understand(path, user="1", item="2"), None).unread == ()


def test_lines_between_another_mark_are_counted_and_not_dropped(write):
    lines = [";".join((f"u{at}", f"i{at}", "4")) for at in range(20)]
    lines += [line.replace(";", "\t") for line in lines[:3]]
    with raises("input.line") as caught:
        understand(write("\n".join(["user;item;rating", *lines])))
    assert "3 lines of the file use tabs" in str(caught.value)
    assert "drop" not in str(caught.value)
    with raises("input.line") as caught:  # none looks like a row
        understand(write("\n".join(["user;item;rating", *lines[:20], "the end"])))
    assert "fix or drop the line" in str(caught.value)


def test_a_first_row_without_a_rating_is_not_taken_for_names(write):
    rows = [f"CL-{at},IS-{at % 5},{'' if at == 0 else 4}" for at in range(20)]
    with raises("input.header"):
        understand(write("\n".join(rows)), user="1", item="2", rating="3")
