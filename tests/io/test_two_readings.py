"""Lines that two delimiters split into tables are read only if something settles it."""

import gzip
import io
import zipfile

import pytest

from error_assertions import raises
from recveil.io import understand

PAIRS = [(user, item) for user in range(1, 7) for item in range(5)]
LIKES = {
    "tab": ("\t", [f"{u}\tdrama,{i}" for u, i in PAIRS]),
    "semicolon": (";", [f"{u};crime,{i}" for u, i in PAIRS]),
    "comma, pipe": (",", [f"{u},drama|{i}" for u, i in PAIRS]),
    "comma, pipes": (",", [f"{u},drama|noir|{i}" for u, i in PAIRS]),
    "comma, semicolons": (",", [f"{u},drama;noir;{i}" for u, i in PAIRS]),
    "semicolon, commas": (";", [f"{u};drama,noir,{i}" for u, i in PAIRS]),
    "tab, commas": ("\t", [f"{u}\tdrama,noir,{i}" for u, i in PAIRS]),
    "comma, colons": (",", [f"{u},drama::noir::{i}" for u, i in PAIRS]),
    "tab, names": ("\t", [f"{u}\tShelley{i}, Mary" for u, i in PAIRS]),
    "space": (" ", [f"u{u} drama,{i}" for u, i in PAIRS]),
    "space, numbers": (" ", [f"{u} 1,{i}" for u, i in PAIRS]),
}
RATED = {
    "comma, pipe": (",", [f"{u},drama|{i},{i % 5 + 1}" for u, i in PAIRS]),
    "tab, pipe": ("\t", [f"{u}\tdrama|{i}\t{i % 5 + 1}" for u, i in PAIRS]),
    "tab, comma": ("\t", [f"{u}\tdrama,{i}\t{i % 5 + 1}" for u, i in PAIRS]),
    "semicolon, comma": (";", [f"{u};drama,{i};{i % 5 + 1}" for u, i in PAIRS]),
    "space, comma": (" ", [f"{u} drama,{i} {i % 5 + 1}" for u, i in PAIRS]),
    "space, two words": (",", [f"Jane Austen{u},Movie {i}" for u, i in PAIRS]),
}


def read_ratings(path, **given):
    return understand(path, **given).ratings


@pytest.fixture
def write(tmp_path):
    def write(lines, name="r.csv"):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
@pytest.mark.parametrize("which", [*LIKES, *RATED])
def test_two_readings_are_asked_about(write, which, suffix):
    """One user became several users, each with a part of the rows."""
    mark, lines = LIKES.get(which) or RATED[which]
    path = write(lines, f"r.{suffix}")
    for places in ({}, {"user": 1, "item": 2}):
        with raises("option.required", f"--delimiter {mark!r}") as error:
            understand(path, **places)
        assert str(error.value).count("--delimiter") == 2
    found = read_ratings(path, delimiter=mark, format="csv-plain", user=1, item=2)
    assert (found.n_users, found.n_ratings) == (6, 30)
    names = ["user", "item", "rating"][: len(lines[0].split(mark))]
    assert read_ratings(write([mark.join(names), *lines])) == found


def test_every_reader_asks(tmp_path, write):
    _, lines = LIKES["tab"]
    text = "".join(f"{line}\n" for line in lines).encode()
    (tmp_path / "parts").mkdir()
    for at in range(2):
        write(lines[15 * at : 15 * at + 15], f"parts/{at}.tsv")
    (tmp_path / "r.tsv.gz").write_bytes(gzip.compress(text))
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("r.tsv", text)
    (tmp_path / "r.zip").write_bytes(sink.getvalue())
    for name in ("parts", "r.tsv.gz", "r.zip"):
        with raises("option.required"):
            understand(tmp_path / name, user=1, item=2)
        assert read_ratings(tmp_path / name, delimiter="\t").n_users == 6


@pytest.mark.parametrize("names", [("user", "item"), ("kunde", "titel")])
@pytest.mark.parametrize("which", ["tab", "semicolon", "semicolon, commas", "tab, commas"])
def test_a_header_settles_it(write, which, names):
    mark, lines = LIKES[which]
    reading = understand(write([mark.join(names), *lines]), user=names[0], item=names[1])
    assert (reading.ratings.n_users, reading.ratings.n_ratings) == (6, 30)
    assert reading.mapping() == f"user: column {names[0]!r}; item: column {names[1]!r}"


@pytest.mark.parametrize(
    "row",
    [
        "{u},i{i},{r},2020-01-01 10:00:00",
        "2020-01-01 10:00:00,u{u},i{i},{r}",
        "{u};i{i};{r},5;2020-01-01",
        "{u};i{i};3,{r};2020-01-01 10:00:00",
        "{u}\ti{i}\t{r},5",
        '{u},"drama;{i}",{r}',
        '{u},"a | {i}",{r}',
        '"{u}";"drama, {i}";"{r}"',
        '{u}\t"drama, {i}"\t{r}',
        "{u},Toy Story{i},{r}",
        "Jane Austen{u}, Emma{i}, {r}",
        "{u},\ti{i},\t{r}",
        "{u}::Drama{i} (1995)::{r}",
        "{u} i{i} {r} 2020-01-01",
        "{u} i{i} {r},5",
        "http://x.org/{u},http://x.org/?a={i},{r}",
        "{u},{i},{r},1112486027",
    ],
)
def test_ordinary_rows_need_no_delimiter(write, row):
    lines = [row.format(u=u, i=i, r=i % 5 + 1) for u, i in PAIRS]
    column = {"user": 2, "item": 3, "rating": 4} if row.startswith("2020") else {}
    assert read_ratings(write(lines), times=False, **column).n_users == 6


@pytest.mark.parametrize("row", ["Jane Austen{u},Emma{i}", "{u},Emma Watson{i}", "u{u},Emma{i} X"])
def test_likes_with_blanks_need_no_delimiter(write, row):
    lines = [row.format(u=f"{u:02}", i=f"{i:02}") for u, i in PAIRS]
    assert read_ratings(write(lines), format="csv-plain").n_users == 6
    with raises("input.header"):  # which asks for names of columns, and not for a delimiter
        read_ratings(write([line.replace("0", "x") for line in lines]), user=1, item=2)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("userId,movieId,rating,timestamp", "{u},{i},{r},1112486027"),
        ("userId,movieId,rating,date", "{u},{i},{r},2020-01-01 10:00:00"),
        ("user,item,rating,genres", "{u},{i},{r},Drama|Crime"),
        ("user\titem\trating", "{u}\tLast, First {i}\t{r}"),
        ("user;item;rating", "{u};Last, First {i};{r},5"),
        ("user id,item id,rating", "Jane Austen{u},Emma Book{i},{r}"),
        ("user item rating", "{u} drama,{i} {r}"),
        ("user::item::rating", "{u}::drama,{i}::{r}"),
        ("user|item|rating", "{u}|drama,{i}|{r}"),
        ("user_id:token\titem_id:token\trating:float", "{u}\tdrama,{i}\t{r}"),
        ("kunde;titel;note", "{u};drama,{i};{r}"),
    ],
)
def test_rows_below_a_header_need_no_delimiter(write, header, row):
    path = write([header, *(row.format(u=u, i=i, r=i % 5 + 1) for u, i in PAIRS)])
    own = {"user": "kunde", "item": "titel", "rating": "note"} if "kunde" in header else {}
    assert read_ratings(path, **own).n_users == 6


def test_the_remedies_for_two_columns_between_semicolons_work(write):
    """They were to put a line user,item above, or to name a format of commas."""
    lines = [f"{u};film{i}{', again' * (i == 2)}" for u, i in PAIRS]
    with raises("input.unknown-format", "--delimiter ';'"):
        read_ratings(write(lines))
    assert read_ratings(write(lines), delimiter=";").n_users == 6
    assert read_ratings(write(["user;item", *lines])).n_users == 6


@pytest.mark.parametrize("role", ["user", "item"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_tab_in_an_id_is_refused(write, role, mark):
    """One user became many, where tabs separate the columns of some rows."""
    rows = [[str(u), f"film{i}", str(i % 5 + 1)] for u, i in PAIRS]
    at = int(role == "item")
    rows[7][at] = f'"{rows[7][at]}\tdrama"'
    lines = [mark.join(row) for row in (["user", "item", "rating"], *rows)]
    remedy = "write a blank" if mark == "\t" else r"--delimiter '\t'"
    for named in ({}, {"delimiter": mark}):
        with raises("id.tab", "line 9", remedy):
            read_ratings(write(lines), **named)
    if mark != "\t":  # between which quotes mean nothing, without a header
        with raises("id.tab", "line 8", remedy):
            read_ratings(write(lines[1:]), user=1, item=2)


def test_a_tab_next_to_a_delimiter_is_a_blank(write):
    lines = [f"{u},\tfilm{i},\t{i % 5 + 1}" for u, i in PAIRS]
    assert read_ratings(write(lines)).n_items == 5


@pytest.mark.parametrize("counts", ["log", "likes"])
@pytest.mark.parametrize("mark", [",", ";"])
def test_three_decimals_are_read_where_the_point_is_declared(write, counts, mark):
    """The remedy was to write the numbers in another way."""
    lines = ["user,item,minutes", *(f"{u},i{i},{u}.{100 + i}" for u, i in PAIRS)]
    path = write([line.replace(",", mark) for line in lines])
    with raises("rating.thousands", "--decimal ."):
        understand(path, counts=counts)
    assert understand(path, counts=counts, decimal=".").ratings.n_ratings == 30


def test_a_single_review_of_several_lines_is_read_with_a_note(write):
    rows = [f"{u},i{i},{i % 5 + 1},fine" for u, i in PAIRS]
    rows[4] = '1,i4,5,"nice, but long,\n\nand sad"'
    reading = understand(write(["user,item,rating,review", *rows]))
    assert reading.ratings.n_ratings == 30
    assert reading.notes[0] == (
        "r.csv: 30 rows and a header take 33 lines, blank lines between rows not counted, because "
        "1 quoted field of another column contains line breaks."
    )


@pytest.mark.parametrize(
    ("header", "first", "last"),
    [
        ("user,item,rating,review", '7,i1,4,"so', '8,i2,3,meh"'),
        ("user,item,rating,review", '7,i1,4,"so', '8,i2"'),
        ("user,review,item,rating", '7,"so,i1,4', '8,meh",i2,3'),
        ("user,review,item,rating", '7,"so,i1,4', 'meh",i2,3'),
        ("review,user,item,rating", '"so,7,i1,4', 'meh",8,i2,3'),
        ("user,item,rating,review", '7,i1,4,"so', 'sad, long"'),
    ],
)
def test_a_single_field_that_may_hold_a_row_is_refused(write, header, first, last):
    rows = [f"{u},i{i},{i % 5 + 1},fine" for u, i in PAIRS]
    if header != "user,item,rating,review":
        at = header.split(",").index("review")
        rows = [",".join(row[:at] + row[-1:] + row[at:-1]) for row in (r.split(",") for r in rows)]
    with raises("input.quote-spans-lines", "line 5", "line 6"):
        understand(write([header, *rows[:3], first, last, *rows[3:]]))
