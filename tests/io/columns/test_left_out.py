"""Rows without a rating on the scale are left out on request, and are reported."""

import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.io.columns.build import build, describe_dropped, drop_rows
from recveil.io.columns.columns import NOT_SAID
from recveil.ratings import Ratings, RatingScale

SCALE = RatingScale(1, 5, 1)


def columns(ratings):
    """A column of users that distinguishes rows, and one of ratings."""
    column = ratings if isinstance(ratings, pa.ChunkedArray) else pa.chunked_array([ratings])
    return {"user": pa.chunked_array([range(len(column))]), "rating": column}


def line(row):
    return f"line {row + 1}"


@pytest.mark.parametrize(
    "ratings",
    [
        pa.chunked_array([["4", "bad"], ["bad", "5.0", "7", "3"]]),
        pa.chunked_array([["4", "bad"], ["bad", "5.0", "7", "3"]]).dictionary_encode(),
    ],
    ids=["text", "dictionary"],
)
def test_text_that_is_no_number_is_not_on_the_scale(ratings):
    left = columns(ratings)
    _, off_scale = drop_rows(left, SCALE, NOT_SAID, line)
    assert left["user"].to_pylist() == [0, 3, 5]
    assert off_scale.rows.tolist() == [1, 2, 4]
    assert off_scale.note.startswith(
        " Their values: 'bad' (2 rows), '7' (1 row). These are 50% of the"
    )


def test_what_says_that_no_rating_is_there_is_missing():
    texts = ["4", None, " N/A ", "", "nan", "5", "7", "NULL"]
    for column in (pa.chunked_array([texts[:3], texts[3:]]), pa.chunked_array([texts])):
        for ratings in (column, column.dictionary_encode()):
            left = columns(ratings)
            unrated, off_scale = drop_rows(left, SCALE, NOT_SAID, line)
            assert left["user"].to_pylist() == [0, 5]
            assert unrated.rows.tolist() == [1, 2, 3, 4, 7]
            assert off_scale.rows.tolist() == [2]  # of those that are left


def test_a_label_of_the_scale_is_never_missing():
    left = columns(pa.chunked_array([["none", "some", "n/a"]]))
    unrated, _ = drop_rows(left, RatingScale.of_labels(["none", "some"]), NOT_SAID, line)
    assert unrated.rows.tolist() == [2]


@pytest.mark.parametrize("number", ["4,5", "\uff14", "\u0664", "1'001"])
def test_a_number_in_another_notation_is_refused_by_its_line(number):
    """To leave such rows out would be to lose half a table."""
    with raises("rating.not-a-number") as error:
        drop_rows(columns(["4", None, "n/a", number]), SCALE, NOT_SAID, line)
    assert "line 4" in str(error.value)


@pytest.mark.parametrize(
    "ratings",
    [*(["4", text] for text in ("-nan", "+nan", " inf", "Infinity")), [4.0, float("inf")]],
)
def test_no_finite_number_is_not_on_the_scale(ratings):
    left = columns(ratings)
    _, off_scale = drop_rows(left, SCALE, NOT_SAID, line)
    assert off_scale.rows.tolist() == [1]


def test_without_a_scale_rows_without_a_rating_are_left_out():
    left = columns([4.0, None, float("nan"), 9.0])
    unrated, off_scale = drop_rows(left, None, NOT_SAID, line)
    assert (unrated.rows.tolist(), off_scale.rows.tolist()) == ([1, 2], [])
    assert left["rating"].to_pylist() == [4.0, 9.0]
    with raises("option.required"):
        drop_rows(columns([4.0, 9.0]), None, NOT_SAID, line)


def test_lines_are_those_of_the_file_whatever_was_left_out():
    unrated, off_scale = drop_rows(columns(["4", None, "x", "9", "3"]), SCALE, NOT_SAID, line)
    where = off_scale.locate_kept(unrated.locate_kept(line))
    assert [where(row) for row in range(2)] == ["line 1", "line 5"]


def test_few_rows_are_reported_without_a_doubt_about_the_scale():
    ratings = ["4"] * 99 + ["-1"]
    _, off_scale = drop_rows(columns(ratings), SCALE, NOT_SAID, line)
    assert off_scale.note == " Their values: '-1' (1 row)."


def test_values_far_off_the_scale_come_first_however_rare():
    near = ["3.5"] * 40 + ["2.5"] * 30 + ["4.5"] * 20 + ["6.0"]
    ratings = ["4"] * 200 + near + ["-1"] * 8 + ["99"] * 5 + ["k. A."] * 3
    _, off_scale = drop_rows(columns(ratings), SCALE, NOT_SAID, line)
    assert off_scale.note.startswith(
        " Their values: '-1' (8 rows), '99' (5 rows), 'k. A.' (3 rows), '3.5' (40 rows), "
        "'2.5' (30 rows), '4.5' (20 rows) and 1 further value."
    )


def test_values_are_written_as_in_the_file(tmp_path):
    path = tmp_path / "ratings.csv"
    rated = ["3,5"] * 90 + ["6,0", "0,7", "k. A."]
    rows = (f'{at},7,"{value}"' for at, value in enumerate(rated))
    path.write_text("\n".join(["user,item,rating", *rows]))
    reading = understand(path, scale="1:5:0.5", drop_off_scale=True)
    assert "'6,0' (1 row), 'k. A.' (1 row), '0,7' (1 row)." in " ".join(reading.notes)


def test_a_long_text_is_reported_in_short():
    _, off_scale = drop_rows(columns(["4"] * 99 + ["x" * 1_000]), SCALE, NOT_SAID, line)
    assert len(off_scale.note) < 50


def test_the_note_says_what_was_left_out():
    rated = ["4", "9", "bad", None]
    table = pa.table({"user": [1, 2, 3, 4], "item": [1, 1, 1, 1], "rating": rated})
    given = {name: table[name] for name in table.column_names}
    _, note = describe_dropped(build(given, SCALE, "last", str, drop_off_scale=True), "last")
    assert note == (
        "2 rows were dropped, because the rating is not on the scale 1:5:1 (drop_off_scale, "
        "--drop-off-scale). Their values: '9' (1 row), 'bad' (1 row). These are 66.7% of the "
        "rows with ids and a rating: check the scale."
    )


def test_a_frame_says_it_too():
    table = pa.table({"user": [1, 2, 3], "item": [1, 1, 1], "rating": ["4", "2", "bad"]})
    with pytest.warns(UserWarning, match="Their values: 'bad'"):
        read = Ratings.from_frame(table, scale=SCALE, drop_off_scale=True)
    assert read.n_ratings == 2


def test_where_all_ratings_are_missing_nothing_is_advised_that_was_given(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\n1,7,\n2,7,\n")
    for likes in (False, True):
        with raises("table.no-ratings", 2) as caught:
            read_ratings(path, drop_off_scale=True, likes=likes)
        assert ("(--likes)" in str(caught.value)) is not likes
    assert read_ratings(path, likes=True).n_ratings == 2


def _with_gaps(kind):
    """Two of eight rows have no user, one has no item, and one of these has no rating."""
    users = ["a", None, "b", "c", "", "d", "a", "b"]
    items = ["x", "y", "x", None, "y", "x", "y", "y"]
    ratings = [4, 3, 2, None, 5, 1, 2, 3]
    table = pa.table({"user": users, "item": items, "rating": ratings})
    if kind == "dictionary":
        for at, name in enumerate(("user", "item")):
            table = table.set_column(at, name, table[name].dictionary_encode())
    if kind == "numbers":
        users = pa.array([1, None, 2, 3, None, 4, 1, 2], pa.float64())
        table = table.set_column(0, "user", users)
    return table


def test_rows_without_ids_are_counted_once_and_before_their_ratings():
    rows = [(None, "i", 99), (None, "i", None), ("u", None, 1)]
    rows += [(f"u{at}", "i", 4) for at in range(9)] + [("v", "i", None), ("w", "i", 7)]
    table = pa.table(dict(zip(("user", "item", "rating"), zip(*rows, strict=True), strict=True)))
    reading = understand(table, scale=SCALE, drop_off_scale=True, drop_missing_ids=True)
    assert reading.dropped == {"no id": 3, "no rating": 1, "off scale": 1}


@pytest.mark.parametrize("options", [{}, {"drop_missing_ids": True}])
def test_rows_with_another_delimiter_are_not_dropped_for_their_rating(tmp_path, options):
    path = tmp_path / "ratings.csv"
    rows = [f"u{at},i{at % 7},4,2024-05-11" for at in range(90)]
    rows += [f"v{at};i{at};4;2024-05-11,,," for at in range(9)]
    path.write_text("\n".join(["user,item,rating,date", *rows]))
    with raises("id.row-within", "line 92") as caught:
        understand(path, scale=SCALE, drop_off_scale=True, **options)
    assert "--drop-missing-ids" not in " ".join(caught.value.also)


def test_most_rows_without_ids_and_ratings_are_refused():
    rows = [("u", "i", 4), ("v", "i", 3), *[(None, "i", None)] * 3]
    table = pa.table(dict(zip(("user", "item", "rating"), zip(*rows, strict=True), strict=True)))
    with raises("id.missing", "3 of 5"):
        understand(table, scale=SCALE, drop_off_scale=True, drop_missing_ids=True)


@pytest.mark.parametrize("kind", ["text", "dictionary", "numbers"])
def test_rows_without_ids_are_counted_and_dropped_on_request(kind):
    with raises("id.missing", "row 1", "3 of 8", "--drop-missing-ids"):
        understand(_with_gaps(kind))
    reading = understand(_with_gaps(kind), drop_missing_ids=True)
    assert reading.dropped == {"no id": 3}
    assert reading.to_dict()["missing_ids_dropped"] == 3
    assert reading.notes[0].startswith("3 rows were dropped")
    assert reading.ratings.to_arrow()["rating"].to_pylist() == [4, 2, 2, 3, 1]
    both = understand(_with_gaps(kind), drop_missing_ids=True, drop_off_scale=True)
    assert both.dropped == {"no id": 3}
    assert both.ratings.digest() == reading.ratings.digest()
    assert read_ratings(_with_gaps(kind), drop_missing_ids=True).n_ratings == 5
    assert Ratings.from_frame(_with_gaps(kind), drop_missing_ids=True).n_ratings == 5


def test_a_row_after_dropped_ones_is_named_by_its_place():
    table = pa.table({"user": [None, "a", "a"], "item": ["x", "x", "x"], "rating": [1, 2, 3]})
    with raises("rating.duplicate", "row 2"):
        understand(table, drop_missing_ids=True)


@pytest.mark.parametrize("text", ["b\nc", "u5;i3;4", "u5,i3,4", "u5\ti3\t4", "u5::i3::4"])
def test_rows_that_a_dropped_row_swallowed_are_not_dropped_with_it(text):
    users, items = ["a", "b", "c", text], ["x", "y", "x", None]
    with raises("id.row-within", "row 3"):
        understand(
            pa.table({"user": users, "item": items, "rating": [1, 2, 3, 4]}), drop_missing_ids=True
        )


@pytest.mark.parametrize("how", [{}, {"drop_missing_ids": True}])
def test_most_rows_are_not_dropped_since_the_columns_are_wrong(how):
    table = pa.table({"user": [None, None, "a"], "item": ["x", "y", "x"], "rating": [1, 2, 3]})
    with raises("id.missing", "2 of 3", "--delimiter"):
        understand(table, **how)


def test_missing_ids_are_named_next_to_the_first_problem(tmp_path):
    rows = [f"u{at},i{at % 3},{1 + at % 5}" for at in range(20)]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["user,item,rating", *rows, ",i1,3", "u1,,"]))
    with raises("id.missing", "line 22", "2 of 22") as error:
        understand(path)
    assert not [line for line in error.value.also if "--drop-missing-ids" in line]
    with raises("rating.missing", "line 22") as error:
        path.write_text("\n".join(["user,item,rating", *rows, "u1,i2,", "u9,i1,3"]))
        understand(path, drop_missing_ids=True)
