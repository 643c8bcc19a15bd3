"""Files of likes: what becomes likes, and what is asked about."""

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import UnknownOrderError

LIKES = Ratings.from_columns([1, 1, 2], [5, 6, 5])
DATED = Ratings.from_columns([1, 1, 2], [5, 6, 5], days=[11_323, 11_324, 11_325])
TIMES = (11_323 * 86_400, 11_324 * 86_400 + 7, 11_325 * 86_400)


@pytest.fixture
def read(tmp_path):
    def read(text, name="r.csv", **options):
        (tmp_path / name).write_text(text)
        return understand(tmp_path / name, **options)

    return read


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("user,item\n1,5\n1,6\n2,5\n", {}),
        ("user\titem\n1\t5\n1\t6\n2\t5\n", {}),
        ("user;item\n1;5\n1;6\n2;5\n", {}),
        ("1,5\n1,6\n2,5\n", {"user": 1, "item": 2}),
        ("1::5\n1::6\n2::5\n", {"user": 1, "item": 2}),
        ("1|5\n1|6\n2|5\n", {"delimiter": "|", "user": 1, "item": 2}),
        ("who,what\n1,5\n1,6\n2,5\n", {"user": "who", "item": "what"}),
        ('{"user": 1, "item": 5}\n{"user": 1, "item": 6}\n{"user": 2, "item": 5}\n', {}),
        ("user,item,rating\n1,5,5\n1,6,5\n2,5,5\n", {}),
        ("user,item,rating\n1,5,3\n1,6,-5\n2,5,0\n", {"likes": True, "drop_off_scale": True}),
        ("user,item,rating\n1,5,\n1,6,\n2,5,\n", {"likes": True}),
        ("user,item,note\n1,5,x\n1,6,\n2,5,\n", {"likes": True}),
        ("user,item,plays\n1,5,3\n1,6,0.5\n2,5,99\n", {"counts": "likes"}),
        ("user,5,6\n1,1,1\n2,1,\n", {"wide": True}),
    ],
)
def test_what_becomes_likes(read, text, options):
    found = read(text, **options).ratings
    expected = LIKES
    if options.get("drop_off_scale"):
        expected = Ratings.from_columns([1], [5])
    assert found == expected
    assert found.is_unary


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("header", ["user,item,timestamp\n", ""])
def test_times_are_no_ratings(read, times, header):
    rows = zip((1, 1, 2), (5, 6, 5), TIMES, strict=True)
    text = header + "".join(f"{user},{item},{time}\n" for user, item, time in rows)
    options = {} if header else {"user": 1, "item": 2, "time": 3}
    assert read(text, times=times, **options).ratings == (DATED if times else LIKES)
    if not header:
        with raises("column.ambiguous"):
            read(text)
    with raises("column.ambiguous"):
        read(text.replace("timestamp", "rating"), **(options | {"time": None}))


@pytest.mark.parametrize(
    ("text", "options", "code", "said"),
    [
        ("user,item,raiting\n1,5,3\n", {}, "column.missing", ""),
        ("user,item,rating\n1,5,\n2,5,\n", {}, "rating.missing", "r.csv line 2"),
        ("user,item,time\n1,5,31\n2,5,4\n", {}, "column.missing", "'time'"),
        ("user,item,time\n1,5,31\n2,5,4\n", {"times": False}, "column.missing", "'time'"),
        ("1,5,31\n2,5,4\n", {"time": 3}, "column.missing", ""),
        ("user,item,rating\n1,5,0\n2,5,1\n", {"k": 2}, "rating.zero", ""),
        ("user,item,rating\n1,5,0\n2,5,1\n", {"likes": True}, "rating.zero", "r.csv line 2"),
        ("user,item,rating\n1,5,0\n2,5,0\n", {}, "rating.zero", ""),
        ("user,item\n1,5\n1,6,3\n", {}, "input.line", "r.csv line 3"),
        ("user,item\n1,5\n", {"scale": RatingScale(1, 5, 1)}, "option.unsupported", ""),
        ("user,item,plays\n1,5,9\n", {}, "column.ambiguous", "'plays'"),
        ("user,item,plays\n1,5,0\n2,5,3\n", {"counts": "log"}, "rating.zero", "r.csv line 2"),
        ("user_id,k\n1,5\n", {}, "column.missing", ""),
    ],
)
def test_what_is_asked_about(read, text, options, code, said):
    with raises(code) as error:
        read(text, **options)
    assert said in str(error.value)


def test_a_publisher_must_name_the_column_of_users(read):
    with pytest.raises(UnknownOrderError):
        read("1,5\n1,6\n2,5\n", k=2)


@pytest.mark.parametrize(
    ("text", "options", "note"),
    [
        ("user,item\n1,5\n1,6\n", {}, "No ratings: read as likes, without rating values"),
        ("user,item,rating\n1,5,5\n1,6,5\n", {}, "All 2 ratings are 5: read as likes"),
        ("user,item\n1,5\n1,5\n", {}, "1 row was dropped, because a user liked an item"),
        ("user,item,plays\n1,5,2\n1,6,900\n", {"counts": "log"}, "read as levels: 1 from 1, 2 fr"),
        ("user,item,plays\n1,5,2\n1,6,9\n", {"rating": "plays"}, "if it holds counts or durations"),
        ("user,item,weight\n1,5,2\n1,6,900\n", {}, "if it holds counts or durations"),
        ("user,item,rating\n1,5,0\n1,6,1\n", {}, "Ratings are 0 and 1, and a 0 may be"),
    ],
)
def test_what_is_said(read, text, options, note):
    assert any(note in each for each in read(text, **options).notes)


def test_fives_on_a_named_scale_stay_ratings(read):
    found = read("user,item,rating\n1,5,5\n2,5,5\n", scale=RatingScale(1, 5, 1))
    assert not found.ratings.is_unary
    assert found.ratings.values.tolist() == [5, 5]


def test_who_reads_a_file_as_it_stands_keeps_ratings_of_one_value(tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\n1,5,5\n2,5,5\n")
    assert read_ratings(tmp_path / "r.csv").values.tolist() == [5, 5]
    assert read_ratings(tmp_path / "r.csv", likes=True).is_unary


def test_ratings_of_one_value_that_were_read_already():
    fives = Ratings.from_columns([1, 2], [7, 7], [5, 5])
    found = understand(fives)
    assert found.ratings == Ratings.from_columns([1, 2], [7, 7])
    assert "All 2 ratings are 5: read as likes" in found.notes[0]
    on_scale = Ratings.from_columns([1, 2], [7, 7], [5, 5], scale=RatingScale(1, 5, 1))
    assert understand(on_scale).ratings == on_scale
    with raises("option.unsupported"):
        understand(fives, likes=True)


@pytest.mark.parametrize(
    ("header", "options"),
    [("user,item", {}), ("who,what", {"user": "who", "item": "what"}), ("item;user", {})],
)
def test_a_header_between_the_rows_is_no_user(read, header, options):
    sign = ";" if ";" in header else ","
    rows = [f"{user}{sign}{item}" for user in ("u1", "u2") for item in "ab"]
    text = "\n".join([header, *rows[:2], header, *rows[2:], ""])
    with raises("input.header", "line 4"):
        read(text, **options)
    first = header.split(sign)[0]
    other = text.replace(f"\n{header}", f"\n{first}{sign}a")
    assert read(other, **options).ratings.n_ratings == 5


@pytest.mark.parametrize(
    ("numbers", "options"),
    [
        (("950", "1.000", "12.500"), {"counts": "log"}),
        (("950", "1.000", "12.500"), {"counts": "likes"}),
        (("1.000", "12.500", "2.000"), {"counts": "log"}),
        (("950", "1.000", "3.500"), {"rating": "n"}),
        ((" 950", "1.000 ", "3.500"), {"rating": "n"}),
    ],
)
def test_points_between_thousands_are_no_decimal_points(read, numbers, options):
    """A count of 1.000 was read as 1, and one of 950 as 950."""
    named = {"rating": "n", **options}
    lines = [f"u{at % 4};i{at};{numbers[at % 3]}" for at in range(12)]
    at = next(at for at, number in enumerate(numbers) if "." in number)
    with raises("rating.thousands", f"line {at + 2}"):
        read("\n".join(["user;item;n", *lines, ""]), **named)


@pytest.mark.parametrize(
    ("numbers", "options"),
    [
        (("950", "1.25", "12.500"), {"counts": "log"}),
        (("1950", "1.250", "12.500"), {"counts": "log"}),
        (("0.125", "1.250", "12.500"), {"counts": "log"}),
        (("1.000", "2.000", "3.500"), {}),
        (("1.000", "4.500", "3"), {"scale": RatingScale(1, 5, 0.5)}),
        (("95", "1.000", "100"), {}),
    ],
)
def test_three_decimals_may_be_decimals(read, numbers, options):
    lines = [f"u{at % 4};i{at};{numbers[at % 3]}" for at in range(12)]
    text = "\n".join(["user;item;n", *lines, ""])
    assert read(text, rating="n", **options).ratings.n_ratings == 12


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_words_of_likes_are_not_read(tmp_path, name):
    table = pa.table(
        {"user": ["1", "1", "2"], "item": ["5", "6", "5"], "rating": ["good", "bad", "good"]}
    )
    (csv.write_csv if name == "r.csv" else parquet.write_table)(table, tmp_path / name)
    for options in {}, {"drop_off_scale": True}:
        reading = understand(tmp_path / name, likes=True, **options)
        assert reading.ratings.is_unary
        assert reading.ratings.n_ratings == 3
        assert [note for note in reading.notes if "'bad'" in note and "--likes" in note]


@pytest.mark.parametrize(("ratings", "n_notes"), [("52", 1), ("55", 0), ("11", 0)])
def test_ratings_dropped_for_likes_are_stated(read, ratings, n_notes):
    text = "user,item,rating\n" + "".join(f"{at},7,{each}\n" for at, each in enumerate(ratings))
    assert len(read(text, likes=True).notes) == n_notes


def test_a_zero_among_words_of_likes_may_be_a_dislike(read):
    text = "user,item,rating\n1,5,good\n1,6,0\n2,5,fine\n"
    with raises("rating.zero", "line 3", "--drop-off-scale"):
        read(text, likes=True)
    assert read(text, likes=True, drop_off_scale=True).ratings.n_ratings == 2
    with raises("rating.missing", "line 3"):
        read("user,item,rating\n1,5,good\n1,6,\n2,5,fine\n", likes=True)
    with raises("rating.words", "--likes"):
        read("user,item,rating\n1,5,good\n1,6,bad\n2,5,fine\n")
