"""From columns of words to the numbers that all else works with, and back."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.io.columns.feedback import are_labels, parse_labels, places_of
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import labels_at, published_values

SCALE = RatingScale.of_labels("hate,dislike,like,love")


def locate(row):
    return f"row {row}"


@given(st.lists(st.sampled_from(SCALE.labels), min_size=1, max_size=40), st.integers(1, 7))
def test_there_and_back(words, cut):
    """However a column is cut and stored, its words are numbered as a dictionary would."""
    number = {word: at for at, word in enumerate(SCALE.labels, 1)}
    expected = [number[word] for word in words]
    pieces = [words[at : at + cut] for at in range(0, len(words), cut)]
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        column = pa.chunked_array([pa.array(piece, pa.string()) for piece in pieces]).cast(kind)
        found = parse_labels(column, SCALE, locate)
        assert found.tolist() == expected
        assert labels_at(found, SCALE).to_pylist() == words


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([True, False], "false,true"),
        ([1, -1], "-1,1"),
        ([4.0, 2.5], "2.5,4"),
        (pa.array(["up", "down", "up"]).dictionary_encode(), "down,up"),
    ],
)
def test_what_can_be_written_as_text(values, words):
    column = pa.chunked_array([values])
    found = parse_labels(column, RatingScale.of_labels(words), locate)
    assert found[:2].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (["like", "Like"], "rating.off-scale"),
        (["like", "like "], "rating.off-scale"),
        (
            ["like", "bad"],
            "rating.off-scale",
        ),
        (["like", ""], "rating.off-scale"),
        (["like", None], "rating.missing"),
        (["like", "x" * 900], "rating.off-scale"),
        ([["like"]], "column.type"),
    ],
)
def test_what_is_no_word(values, code):
    with raises(code):
        parse_labels(pa.chunked_array([values]), SCALE, locate)


def test_outsiders_can_be_left_out():
    column = pa.chunked_array([["like", "bad", ""], ["love"]])
    assert are_labels(column, SCALE, locate).tolist() == [True, False, False, True]
    assert np.isnan(places_of(column, SCALE)[1:3]).all()


def test_nothing_lies_between_two_words():
    with raises("rating.off-scale"):
        labels_at(np.array([1.0, 2.5]), SCALE)
    with raises("rating.off-scale"):
        labels_at(np.array([5.0]), SCALE)
    assert published_values(np.array([2.5]), RatingScale(1, 5, 1)).to_pylist() == [2.5]


class TestRatings:
    def test_by_hand(self):
        ratings = Ratings.from_columns(
            ["ann", "ben", "ann"], [7, 7, 9], ["love", "hate", "like"], scale=SCALE
        )
        assert ratings.values.tolist() == [4, 3, 1]
        assert ratings.to_arrow()["rating"].to_pylist() == ["love", "like", "hate"]
        assert "scale hate < dislike < like < love" in repr(ratings)

    def test_other_words_are_other_ratings(self):
        columns = [1, 2], [7, 7], ["up", "down"]
        up = Ratings.from_columns(*columns, scale=RatingScale.of_labels("down,up"))
        down = Ratings.from_columns(*columns, scale=RatingScale.of_labels("up,down"))
        assert up != down
        assert up.digest() != down.digest()

    def test_of_several_the_last_is_kept(self):
        columns = [1, 1, 1, 2], [7, 7, 7, 7], ["hate", "love", "like", "love"]
        with raises("rating.duplicate"):
            Ratings.from_columns(*columns, scale=SCALE)
        with pytest.warns(UserWarning, match="in the last line of each pair was kept"):
            found = Ratings.from_columns(*columns, scale=SCALE, duplicates="last")
        assert found.to_arrow()["rating"].to_pylist() == ["like", "love"]

    @pytest.mark.parametrize("ordered", [False, True])
    def test_words_have_no_mean(self, ordered):
        """That of two would be one of them by its place, or a word that no user gave."""
        words = RatingScale.of_labels("down,up", ordered=ordered)
        with raises("option.unsupported"):
            Ratings.from_columns([1, 1], [7, 7], ["up", "down"], scale=words, duplicates="mean")

    def test_unknown_words_can_be_dropped(self):
        table = pa.table({"user": [1, 2, 3], "item": [7, 7, 7], "rating": ["up", "?", "down"]})
        scale = RatingScale.of_labels("down,up")
        with pytest.warns(UserWarning, match="1 row was dropped, because the rating is not on"):
            found = Ratings.from_frame(table, scale=scale, drop_off_scale=True)
        assert found.n_ratings == 2
        with raises("table.no-ratings") as error:
            Ratings.from_frame(table, scale=RatingScale.of_labels("a,b"), drop_off_scale=True)
        assert "(--order)" in str(error.value)

    def test_a_column_of_words_asks_for_both_remedies(self):
        with raises("rating.words"):
            Ratings.from_columns([1, 2], [7, 7], ["up", "down"])

    def test_a_stray_word_among_numbers_is_mended(self):
        with raises("rating.not-a-number") as error:
            Ratings.from_columns([1, 2, 3], [7, 7, 7], ["4", "n/a", "5"])
        assert "'n/a'" in str(error.value)
