"""Numbers in text columns, as `float()` reads them."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import understand
from recveil.io.columns.columns import parse_ratings
from recveil.ratings import RatingScale

ROWS = [(1, 7, "4"), (1, 8, "2"), (2, 7, "3")]


@pytest.mark.parametrize("blank", [" ", "\t", "\xa0", "\u2003", "  "])
@pytest.mark.parametrize("form", ["csv", "csv-plain", "parquet", "large", "dictionary", "json"])
def test_blanks_next_to_ratings_and_times_are_ignored(tmp_path, blank, form):
    path = tmp_path / f"ratings.{form}"
    rows = [(u, i, f"{blank}{r}{blank}", f"{blank}2020-01-0{r}{blank}") for u, i, r in ROWS]
    names = ("user", "item", "rating", "time")
    if form.startswith("csv"):
        lines = [",".join(map(str, row)) for row in rows]
        path.write_text("\n".join([*([",".join(names)] if form == "csv" else []), *lines]), "utf-8")
    elif form == "json":
        objects = [dict(zip(names, map(str, row), strict=True)) for row in rows]
        path.write_text("\n".join(map(json.dumps, objects)), "utf-8")
    else:
        table = pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))
        kinds = {"parquet": pa.string(), "large": pa.large_string()}
        kind = kinds.get(form, pa.dictionary(pa.int32(), pa.string()))
        pq.write_table(table.set_column(2, "rating", table["rating"].cast(kind)), path)
    ratings = understand(path, scale=RatingScale(1, 5, 1)).ratings
    assert ratings.values.tolist() == [4, 2, 3]
    assert (ratings.days - 18262).tolist() == [3, 1, 2]


@pytest.mark.parametrize("rating", [" ", " 4 2", "4\u200b", "\ufeff4"])
def test_what_float_does_not_read_is_no_rating(tmp_path, rating):
    path = tmp_path / "ratings.csv"
    path.write_text(f"user,item,rating\n1,7,4\n1,8,{rating}\n", "utf-8")
    with raises("rating.not-a-number") as error:
        understand(path)
    assert "ratings.csv line 3" in str(error.value)


@pytest.mark.parametrize("comma", [" 3,5", "\xa03,5\xa0"])
def test_blanks_next_to_decimal_commas_are_ignored(tmp_path, comma):
    path = tmp_path / "ratings.csv"
    path.write_text(f"user;item;rating\n1;7;{comma}\n1;8;4\n", "utf-8")
    assert understand(path, scale=RatingScale(1, 5, 0.5)).ratings.values.tolist() == [3.5, 4]


def test_blanks_around_names_of_columns_are_no_part_of_them(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("who,\twhat , how much\n1,7,4\n1,8,3\n2,8,1\n")
    reading = understand(path, user="who", item="what", rating="how much")
    assert reading.ratings.values.tolist() == [4, 3, 1]


@pytest.mark.parametrize("zero", ["-0.0", "-0", "-0e0"])
def test_minus_zero_is_zero(tmp_path, zero):
    path = tmp_path / "ratings.csv"
    path.write_text(f"user,item,rating\n1,7,4\n1,8,{zero}\n2,7,3\n")
    reading = understand(path)
    assert str(reading.ratings.scale) == "0:4:1"
    assert not np.signbit(reading.ratings.values).any()
    assert str(RatingScale.parse("-0:4:1")) == "0:4:1"


@pytest.mark.parametrize(
    ("low", "step"),
    [(0.1, 1e-9), (1e-46, 1e-46), (-2e-46, 1e-46), (1e-40, 1e-48), (1e-44, 1e-52), (1e12, 4.0)],
)
def test_arithmetic_that_an_error_advises_keeps_ratings_apart(low, step):
    ratings = np.array([low + n * step for n in range(5)])
    with raises("rating.merged") as caught:
        parse_ratings(pa.chunked_array([ratings]), str)
    for word, number in re.findall(r"(subtract|multiply)[a-z ]* (-?[0-9.e+-]+)", str(caught.value)):
        ratings = ratings - float(number) if word == "subtract" else ratings * float(number)
    assert np.unique(parse_ratings(pa.chunked_array([ratings]), str)).size == 5


def test_ratings_that_no_arithmetic_keeps_apart():
    with raises("rating.merged"):
        parse_ratings(pa.chunked_array([np.array([1e-310, 2e-310])]), str)


@pytest.mark.parametrize(
    ("form", "advice"),
    [
        ("{}%", "has '%' after its number; remove it from each rating (3); if units"),
        ("{}/5", "has '/5' after its number; remove it from each rating (3)"),
        ("{} out of 5", "has 'out of 5' after its number; remove it from each rating (3)"),
        ("{}.5 min", "has 'min' after its number; remove it from each rating (3.5)"),
        ("{} stars", "has 'stars' after its number; remove it from each rating (3)"),
        ("'{}", "before its number; remove it from each rating (3)"),
        ("$ {},50", "has '$' before its number; remove it from each rating (3.50)"),
        ("{}*", "has '*' after its number; remove it from each rating (3)"),
        ("\N{MINUS SIGN}{}", "has another minus than - (U+2212); write -3"),
        ("\uff11{}", "is a number in another notation; write 13"),
        ("\u0661{}", "is a number in another notation; write 13"),
        *((f"1{sign}00{{}}", "notation; write 1003") for sign in " '\u2019\u00a0"),
        ("1_{}", "is a number in another notation; write 13"),
    ],
)
@pytest.mark.parametrize("has_numbers", [False, True])
def test_a_sign_at_a_number_is_named(form, advice, has_numbers):
    """The advice was that for words: an order of them, or likes."""
    texts = [form.format(3), *map(form.format, (1, 2, 4, 5)), *["0"] * has_numbers]
    with raises("rating.not-a-number", "row 0: rating", advice):
        parse_ratings(pa.chunked_array([texts]), "row {}".format)


def test_stars_are_counted_and_words_stay_words():
    with raises("rating.not-a-number", "is a number of stars; write 2"):
        parse_ratings(pa.chunked_array([["★★☆☆☆", "★★★★★"]]), str)
    for words in (["good", "bad", "5*"], ["A1", "B2"], ["hate", "love", "+"]):
        with raises("rating.words"):
            parse_ratings(pa.chunked_array([words]), str)


@pytest.mark.parametrize("name", ["liked", "is_liked", "clicked", "purchased"])
def test_zeros_of_a_column_of_likes_are_no_likes(name):
    """The column is read by its name, whether or not rows are to be likes."""
    table = pa.table({"user": [1, 1, 2, 2], "item": [1, 2, 1, 3], name: [1, 0, 1, 0]})
    assert understand(table).ratings.n_ratings == 4
    with raises("rating.zero", "0 may mean a dislike"):
        understand(table, likes=True)
    assert understand(table, likes=True, drop_off_scale=True).ratings.n_ratings == 2
