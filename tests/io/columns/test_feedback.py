"""Likes and counts: what is taken for them, and what is asked about instead."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.io.columns import columns
from recveil.io.columns.columns import Feedback, find_columns
from recveil.io.columns.feedback import COUNT_BINS, feedback_of, take_feedback
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import LIKES

PAIRS = {"user": ["ann", "ann", "ben"], "item": [7, 9, 7]}


def test_without_ratings_they_are_likes_by_hand():
    likes = Ratings.from_columns(PAIRS["user"], PAIRS["item"], days=[3, 1, 2])
    assert likes.is_unary
    assert likes.values.tolist() == [1, 1, 1]
    assert likes.indptr.tolist() == [0, 2, 3]
    assert likes.days.tolist() == [3, 1, 2]
    assert repr(likes) == "Ratings(2 users × 2 items, 3 likes, 75% filled, with times)"
    again = Ratings.from_frame(pa.table({**PAIRS, "day": likes.days * 86_400 + 86_400 * 9_999}))
    assert again.is_unary
    assert (again.days - 9_999 == likes.days).all()
    assert Ratings.from_columns(*PAIRS.values(), [4, 2, 5]).as_likes() == Ratings.from_columns(
        *PAIRS.values()
    )


def test_likes_are_no_ratings_of_1():
    ones = Ratings.from_columns(*PAIRS.values(), [1, 1, 1], scale=RatingScale(1, 1, 1))
    likes = Ratings.from_columns(*PAIRS.values())
    assert not ones.is_unary
    assert ones != likes
    assert ones.digest() != likes.digest()
    assert str(LIKES) == "likes"


def test_the_scale_of_likes_has_one_level_and_no_range():
    assert LIKES.levels.tolist() == [1]
    assert LIKES.range == 0
    assert not LIKES.is_fine
    assert LIKES.contains([0, 0.5, 1, 1.5, 2]).tolist() == [False, False, True, False, False]
    assert LIKES.round([-3, 0.2, 7]).tolist() == [1, 1, 1]


def test_a_pair_that_stands_twice_is_one_like_with_its_last_day():
    with pytest.warns(UserWarning, match="^2 rows were dropped, because a user liked an item"):
        likes = Ratings.from_columns([1, 1, 1, 2], [7, 7, 7, 7], days=[5, 9, 2, 4])
    assert likes.n_ratings == 2
    assert likes.days.tolist() == [9, 4]


@pytest.mark.parametrize("extra", ["raiting", "note", "sth"])
def test_another_column_makes_it_uncertain(extra):
    table = pa.table({**PAIRS, extra: [1, 2, 3]})
    with raises("column.missing") as error:
        Ratings.from_frame(table)
    assert f"'{extra}'" in str(error.value)


def test_a_column_called_time_that_holds_none_makes_it_uncertain():
    with raises("column.missing") as error:
        Ratings.from_frame(pa.table({**PAIRS, "time": [31, 2, 600]}))
    assert "'time'" in str(error.value)


@given(st.lists(st.floats(0, 1e9).map(np.float32), min_size=1, max_size=30))
def test_levels_of_counts_are_those_of_the_simplest_rule(counts):
    if min(counts) <= 0:
        counts = [count + 1 for count in counts]
    taken = take_feedback(
        pa.chunked_array([counts]), len(counts), Feedback(counts="log"), None, "row {}".format
    )
    expected = [max(1, sum(count >= least for least in COUNT_BINS)) for count in counts]
    assert taken.values.tolist() == expected
    assert taken.scale == RatingScale(1, 7, 1)


@pytest.mark.parametrize(
    ("values", "feedback", "place", "code"),
    [
        ([1, 0, 1], Feedback(likes=True), "row 1", "rating.zero"),
        ([1, 0, 1], Feedback(counts="likes"), "row 1", "rating.zero"),
        ([1, 2, -1], Feedback(counts="log"), "row 2", "rating.not-a-count"),
        ([0, 0, 0], Feedback(one_value=True), "all 3 ratings", "rating.zero"),
        ([1, None, 1], Feedback(likes=True), "row 1", "rating.missing"),
        ([None, None], Feedback(), "row 0", "rating.missing"),
        (["good", "bad"], Feedback(counts="likes"), "row 0", "rating.words"),
    ],
)
def test_what_is_asked_about(values, feedback, place, code):
    with raises(code) as error:
        take_feedback(pa.chunked_array([values]), len(values), feedback, None, "row {}".format)
    assert place in str(error.value)


def test_one_value_is_a_like_unless_a_scale_says_that_there_are_others():
    column, stars = pa.chunked_array([[5, 5]]), RatingScale(1, 5, 1)
    by_value = feedback_of(likes=False, counts=None, scale=None, one_value=True)
    taken = take_feedback(column, 2, by_value, None, str).scale
    assert taken == LIKES
    # Not an option: where the claim is about each user, it must be named.
    assert taken.inferred
    said = feedback_of(likes=True, counts=None, scale=None)
    for of in (column, None):
        assert not take_feedback(of, 2, said, None, str).scale.inferred
    assert not take_feedback(None, 2, by_value, None, str).scale.inferred
    given = feedback_of(likes=False, counts=None, scale=stars, one_value=True)
    assert take_feedback(column, 2, given, stars, str).values.tolist() == [5, 5]
    assert take_feedback(pa.chunked_array([[5]]), 1, by_value, None, str).values.tolist() == [5]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"likes": True, "counts": "log", "scale": None}, "option.conflict"),
        ({"likes": True, "counts": None, "scale": RatingScale(1, 5)}, "option.conflict"),
        ({"likes": False, "counts": "log", "scale": RatingScale(1, 5)}, "option.conflict"),
        ({"likes": False, "counts": "many", "scale": None}, "option.value"),
    ],
)
def test_what_cannot_be_said(said, code):
    with raises(code):
        feedback_of(**said)


def test_columns_of_counts_are_found_if_they_are_asked_for():
    names = ["user", "item", "play_count", "note"]
    assert find_columns(names, feedback=Feedback(counts="log")).rating == "play_count"
    with raises("column.ambiguous") as error:
        find_columns(names, feedback=Feedback())
    assert "'play_count'" in str(error.value)
    with raises("column.missing") as error:
        find_columns(["user", "item", "note"], feedback=Feedback(counts="log"))
    assert "'note'" in str(error.value)
    with raises("column.ambiguous"):
        find_columns(["user", "item", "plays", "minutes"], feedback=Feedback(counts="log"))


def test_ratings_that_single_precision_makes_one_are_refused():
    merged = pa.chunked_array([["0.100000001", "0.100000002"], ["0.100000005"]])
    for column in (merged, merged.cast(pa.float64())):
        with raises("rating.merged") as error:
            take_feedback(column, 3, Feedback(one_value=True), None, str)
        assert "0.100000001 to 0.100000005" in str(error.value)


@pytest.mark.parametrize("low", [10**12, 2**53, -(2**60)])
def test_whole_numbers_that_a_double_does_not_distinguish_are_refused(low):
    whole = pa.chunked_array([[low, low + 1], [low]])
    for column in (whole, whole.cast(pa.string()), whole.cast(pa.string()).dictionary_encode()):
        with raises("rating.merged") as error:
            take_feedback(column, 3, Feedback(one_value=True), None, str)
        assert f"from {low} to {low + 1}," in str(error.value)
    only = pa.chunked_array([[2**53] * 3])
    assert "All 3 ratings" in take_feedback(only, 3, Feedback(one_value=True), None, str).why


LONG = 123_456_789_012_345_679


@pytest.mark.parametrize(
    ("values", "merged", "note"),
    [
        ([5, 16_777_216, 16_777_217], True, "16777216 and 16777217 became one"),
        ([5.0, 0.100000001, 0.100000002], True, "0.100000001 and 0.100000002 became one"),
        ([5, 2**53, 2**53 + 1], True, "9007199254740992 and 9007199254740993 became one"),
        (["5", str(2**53), " 9007199254740993.0"], True, "92 and 9007199254740993 became one"),
        ([-5, -(10**12) - 1, -(10**12) - 2], True, "-1000000000002 and -1000000000001 became one"),
        (["0.5", str(2**53), f"{2**53 + 1}"], True, "92 and 9007199254740993 became one"),
        (["5", str(2**53)], False, ""),
        (["5", str(2**53), f"{2**53}.0"], True, "as large as 9007199254740992 are floats"),
        (["5", "9.007199254740992e15"], True, "as large as 9007199254740992 are floats"),
        (["5", "9007199254740992.5"], False, ""),
        (
            [int(float(n * LONG)) for n in range(1, 10)],
            True,
            "are rounded to the digits that a float",
        ),
        ([n * LONG for n in range(1, 10)], False, "Ratings are kept to 7 digits"),
        (["5", "16777217"], False, "16777217 became 16777216."),
        ([5.0, 0.123456789], False, "0.123456789 became 0.12345679."),
        ([0.3, 0.1 + 0.2, 1.1 * 3], False, ""),
        ([5.0, 2.0**44, 2.0**44 + 1], True, "17592186044416 and 17592186044417 became one"),
        ([5.0, 2.0**53], True, "as large as 9007199254740992 are floats"),
        ([5.0, -(2.0**53)], True, "as large as -9007199254740992 are floats"),
        ([5.0, 2.0**53 - 1], False, "9.00719925474099e+15 became"),
        (np.array([5, 2**24], np.float32), True, "as large as 16777216 are floats"),
        (np.array([5, 2048], np.float16), True, "as large as 2048 are floats"),
        ([0.1, 4.56789, 16_777_216, -0.0], False, ""),
        (np.array([0.1, 4.56789, 1 / 3], np.float32), False, ""),
        (np.array([0.1, 4.56789, 1 / 3], np.float32).astype(float), False, ""),
    ],
)
def test_digits_that_single_precision_loses_are_noted(values, merged, note):
    taken = take_feedback(pa.chunked_array([pa.array(values)]), len(values), Feedback(), None, str)
    assert taken.merged == merged
    assert note in taken.note
    assert bool(note) == bool(taken.note)


def test_ratings_of_different_pieces_that_become_one_are_noted(monkeypatch):
    monkeypatch.setattr(columns, "_ROWS_AT_ONCE", 1)
    for values in ([16_777_217.0, 5.0, 16_777_216.0], [16_777_216.0, 5.0, 16_777_217.0]):
        taken = take_feedback(pa.chunked_array([values]), 3, Feedback(), None, str)
        assert taken.merged
        assert "16777216 and 16777217 became one" in taken.note
    values = pa.chunked_array([[16_777_217.0, 5.0, 16_777_217.0]])
    assert not take_feedback(values, 3, Feedback(), None, str).merged
