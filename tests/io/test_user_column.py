"""Which column holds the users: said, fixed by the format, or refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.io.source import choose_positions
from recveil.methods import anonymize
from recveil.publish import convert
from recveil.ratings import RatingScale
from recveil.runtime.errors import UnknownOrderError
from recveil.verification import verify

STARS = RatingScale(1, 5, 1)


def rows(delimiter: str = ",", *, item_first: bool = True, times: bool = False) -> str:
    """Invent 12 films that 40 users rated, in the order of the films as Netflix extracts have."""
    rng = np.random.default_rng(1)
    lines = []
    for film in range(1, 13):
        for one_user in sorted(rng.choice(np.arange(7000, 7040), 25, replace=False).tolist()):
            ids = (film, one_user) if item_first else (one_user, film)
            fields = [*ids, rng.integers(1, 6), *([978300000 + film] if times else [])]
            lines.append(delimiter.join(map(str, fields)))
    return "\n".join(lines) + "\n"


@pytest.fixture
def extract(tmp_path: Path) -> Path:
    path = tmp_path / "extract.csv"
    path.write_text(rows())
    return path


@pytest.mark.parametrize("delimiter", [",", "\t", " "])
@pytest.mark.parametrize("times", [False, True])
def test_films_are_never_anonymized_in_the_place_of_users(tmp_path, delimiter, times):
    path = tmp_path / "extract.txt"
    path.write_text(rows(delimiter, times=times))
    with pytest.raises(UnknownOrderError) as error:
        anonymize(path, tmp_path / "out", k=3, method="predictive")
    assert error.value.code == "column.order"
    assert "--user 2" in str(error.value)
    assert "--item 1" in str(error.value)
    assert [file.name for file in tmp_path.iterdir()] == ["extract.txt"]
    made = anonymize(
        path, tmp_path / "out", k=3, method="predictive", user="2", item="1", scale=STARS
    )
    assert made.ratings.users.min() == 7000
    published = pd.read_parquet(tmp_path / "out" / "ratings.parquet")
    assert set(published["item_id"]) <= set(range(1, 13))
    assert not set(published["user_id"].astype(str)) & {str(user) for user in made.ratings.users}


@pytest.mark.parametrize("given", [{"user": "2"}, {"item": "1"}])
def test_one_of_two_places_is_not_enough(extract, given):
    with pytest.raises(UnknownOrderError) as refused:
        understand(extract, k=3, **given)
    if "user" in given:
        assert refused.value.choices == [{"user": "2", "item": "1"}]


def test_the_error_shows_what_there_is_to_see(extract):
    with pytest.raises(UnknownOrderError) as refused:
        understand(extract, k=3)
    assert len(str(refused.value)) < 300
    first, second = refused.value.facts
    assert first.startswith("column 1: 12 different values, such as 1, 2; in the first 300 rows")
    assert "form 12 runs" in first
    assert second.startswith("column 2: 40 different values, such as 70")
    assert refused.value.choices == [{"user": "1", "item": "2"}, {"user": "2", "item": "1"}]


@pytest.mark.parametrize("kind", ["levels", "trust"])
def test_a_file_that_names_users_states_which_column_is_likelier(tmp_path, extract, kind):
    other = tmp_path / "people"
    all_users = range(7000, 7040)
    header, line = ("user_id,k\n", "{},3\n") if kind == "levels" else ("", "{} 7001 1\n")
    other.write_text(header + "".join(line.format(one_user) for one_user in all_users))
    with pytest.raises(UnknownOrderError) as refused:
        understand(extract, k=3, user_files=[(kind, other)])
    assert refused.value.choices[0] == {"user": "2", "item": "1"}
    assert (
        "people lists 40 users: 0 of them are in column 1, 40 in column 2"
        in (refused.value.facts[2])
    )


def test_anonymize_looks_into_the_levels_it_is_given(tmp_path, extract):
    levels = tmp_path / "levels.csv"
    levels.write_text("user_id,k\n7000,2\n7001,2\n")
    with pytest.raises(UnknownOrderError) as refused:
        anonymize(extract, tmp_path / "out", k=3, method="predictive", privacy_levels=levels)
    assert "levels.csv lists 2 users" in refused.value.facts[2]


def test_product_numbers_are_no_users(tmp_path):
    path = tmp_path / "amazon.csv"
    path.write_text("B00004Z5M1,A2XX,4.0,978300000\nB0000AZJY6,A3YY,5.0,978300001\n")
    with pytest.raises(UnknownOrderError) as refused:
        understand(path, k=2)
    assert refused.value.facts[2] == "column 1 looks like product numbers"
    assert refused.value.choices[0] == {"user": "2", "item": "1"}


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("u.data", rows("\t", item_first=False, times=True), None),
        ("u1.base.gz", rows("\t", item_first=False, times=True), None),
        ("other", rows("\t", item_first=False, times=True), "movielens-tab"),
        ("ratings.dat", rows("::", item_first=False, times=True), None),
        ("combined_data_1.txt", "5:\n1,4,1970-01-02\n2,1,1970-01-03\n", None),
    ],
)
def test_some_formats_fix_the_order(tmp_path, name, text, format):
    path = tmp_path / name
    path.write_text(text)
    assert understand(path, k=2, format=format).order == "format"


def test_other_verbs_say_what_they_took_for_what(extract):
    reading = understand(extract)
    assert reading.order == "guessed"
    assert "column 1 was taken for the users (12 different ones)" in reading.notes[0]
    assert "(--user 2 --item 1)" in reading.notes[0]
    assert reading.mapping() == "user: column 1; item: column 2; rating: column 3"
    assert reading.mapping(examples=True).startswith("user: column 1 (1, 2); item: column 2 (70")
    assert reading.to_dict()["columns"] == {"user": 1, "item": 2, "rating": 3}
    with pytest.warns(UserWarning, match="has no header"):
        read_ratings(extract)


def test_convert_says_it_too(extract, tmp_path):
    found = convert(extract, tmp_path / "other.csv", user="2", item="1")
    assert (found.order, found.has_header) == ("given", False)
    assert found.ratings.users.min() == 7000


def test_places_count_in_files_with_a_header_as_well(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("film,person,rating\n1,7000,4\n2,7001,5\n")
    by_place = understand(path, user="2", item="1")
    assert by_place.ratings.users.tolist() == [7000, 7001]
    assert by_place.columns[0].name == "person"
    assert by_place.order == "named"


def test_a_number_is_no_name_of_a_column(tmp_path):
    """The first row of such a file was taken for its header, and its ids for names."""
    path = tmp_path / "wide.csv"
    path.write_text("2,1,4,a,b\n3,1,5,a,b\n")
    with raises("column.ambiguous") as error:
        understand(path, user="2")
    assert "5 columns" in str(error.value)
    reading = understand(path, user="2", item="1", rating="3")
    assert (reading.ratings.n_ratings, reading.ratings.users.tolist()) == (2, [1])


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_a_rating_is_no_header_even_if_the_format_says_so(tmp_path, format):
    path = tmp_path / "ratings"
    path.write_text("1,2,4\n2,2,5\n".replace(",", "\t" if format == "tsv" else ","))
    with raises("input.header") as error:
        understand(path, format=format, user="1", item="2", rating="4")
    assert "line 1" in str(error.value)


def test_the_rating_may_stand_anywhere(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("ann,heat,978300000,4\nben,heat,978300001,5\n")
    reading = understand(path, user="1", item="2", rating="4", time="3")
    assert reading.ratings.values.tolist() == [4, 5]
    assert reading.ratings.days is not None


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"user": "5"}, "column.missing"),
        ({"user": "person"}, "column.missing"),
        ({"user": "0"}, "column.missing"),
        ({"user": "1", "item": "1"}, "option.conflict"),
    ],
)
def test_places_that_make_no_sense_are_refused(given, code):
    with raises(code):
        choose_positions(4, given, "ratings.csv")


def test_two_columns_are_too_few():
    with raises("column.ambiguous") as error:
        choose_positions(2, {}, "ratings.csv")
    assert "2 columns" in str(error.value)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("asin.dat", "B000000242::ann@x.org::4::978300760"),
        ("u.data", "B000000242\tann@x.org\t4\t978300760"),
        ("u2.base", "7\t196\t4"),
        ("ratings.dat", "7::196::4"),
        ("books.dat", "0439023480::196::4::978300760"),
    ],
)
def test_what_does_not_look_like_movielens_is_not_taken_for_it(tmp_path, name, line):
    path = tmp_path / name
    path.write_text(line + "\n")
    with pytest.raises(UnknownOrderError):
        understand(path, k=2)


@pytest.mark.parametrize("given", [{"user": "2"}, {"item": "1"}])
def test_only_commands_that_can_work_are_proposed(extract, given):
    with pytest.raises(UnknownOrderError) as refused:
        understand(extract, k=3, **given)
    assert refused.value.choices == [{"user": "2", "item": "1"}]


def test_two_roles_are_two_columns(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("item,user,rating\n7,1,4\n")
    for given in ({"user": "1", "item": "1"}, {"user": "item", "item": "item"}):
        with raises("option.conflict"):
            understand(path, **given)
    with raises("column.missing"):
        understand(path, item="user")
    with raises("column.missing"):
        understand(pd.DataFrame({"item": [7], "user": [1], "rating": [4]}), item="user")


def test_a_name_that_is_the_place_of_another_column_is_refused(tmp_path):
    path = tmp_path / "r.parquet"
    pd.DataFrame({"0": [7, 8], "1": [1, 2], "2": [4, 5]}).to_parquet(path)
    with raises("column.ambiguous"):
        understand(path, user="2", item="1", rating="3")


def test_places_may_be_numbers(extract):
    by_text = understand(extract, k=3, user="2", item="1").ratings
    assert understand(extract, k=3, user=2, item=1).ratings == by_text
    assert verify(extract, k=2, user=2, item=1).users == by_text.n_users


@pytest.mark.parametrize("options", [{"k": 3}, {"epsilon": 20.0, "item_catalog": "as-rated"}])
def test_no_release_guesses_the_user_column(tmp_path, options):
    """With epsilon, too: noise for another unit than the user guarantees nothing."""
    path = tmp_path / "ratings.txt"
    path.write_text(
        "".join(f"{1 + row // 40} {1 + row % 40} {1 + row % 5}\n" for row in range(120))
    )
    with pytest.raises(UnknownOrderError):
        anonymize(path, tmp_path / "out", scale="1:5:1", **options)
    assert not (tmp_path / "out").exists()
