"""Words that stand in the place of ratings: which can be published, and how they are typed."""

import pytest

from error_assertions import raises
from recveil.ratings import RatingScale
from recveil.ratings.rating_scale import (
    LONGEST_LABEL,
    MOST_LABELS,
    alike,
    labels_in,
    problem_of_label,
)


@pytest.mark.parametrize(
    "word", ["love it", "+1", "-1", "+1.5", "👍", "a=b", "<b>", 'say "no"', "7"]
)
def test_words_that_can_be_published(word):
    assert problem_of_label(word) == ""
    assert RatingScale.of_labels([word, "other"]).labels == (word, "other")


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("", "it is empty"),
        ("=1+1", "a spreadsheet would run it"),
        ("@ann", "a spreadsheet would run it"),
        ("-", "a spreadsheet would run it"),
        ("'=1+1", "a spreadsheet would run it"),
        ("ok;=1+1", "a spreadsheet would run it"),
        ("＋1＋1", "a spreadsheet would run it"),  # noqa: RUF001
        (" love", "begins or ends with a space"),
        ("lo\nve", "a line break"),
        ("lo\x1bve", "an invisible character"),
        ("lo\u202eve", "an invisible character"),
        ("\ud800", "an invisible character"),
        ("x" * (LONGEST_LABEL + 1), "is this a column of comments"),
        (7, "expected text, got int"),
        (None, "expected text, got NoneType"),
    ],
)
def test_words_that_cannot(word, problem):
    assert problem in problem_of_label(word)
    with raises("scale.invalid"):
        RatingScale.of_labels(["good", word])


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["love"],
        ["love", "hate", "love"],
        [f"w{at}" for at in range(MOST_LABELS + 1)],
    ],
)
def test_how_many_words_there_are(words):
    with raises("scale.invalid"):
        RatingScale.of_labels(words)


def test_as_many_as_can_be():
    assert RatingScale.of_labels([f"w{at}" for at in range(MOST_LABELS)]).high == MOST_LABELS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hate,love", ("hate", "love")),
        (" hate , love ", ("hate", "love")),
        ('"no, really",yes', ("no, really", "yes")),
        ('"say ""no""",yes', ('say "no"', "yes")),
        ("a;b,c", ("a;b", "c")),
    ],
)
def test_how_they_are_typed(text, words):
    assert labels_in(text) == words


@pytest.mark.parametrize("text", ['"a,b', "a\nb"])
def test_what_cannot_be_typed(text):
    with raises("scale.invalid"):
        labels_in(text)


def test_words_that_look_like_one():
    assert alike(["Like", "like", "LIKE ", "love"]) == [("Like", "like"), ("Like", "LIKE ")]


class TestScale:
    SCALE = RatingScale.of_labels("hate,dislike,like,love")

    def test_by_hand(self):
        assert (self.SCALE.low, self.SCALE.high, self.SCALE.step) == (1, 4, 1)
        # Halves go to the word with an even number of steps from the lowest.
        assert self.SCALE.round([1.5, 2.5, 3.4, 9]).tolist() == [1, 3, 3, 4]

    def test_order_and_words_distinguish_scales(self):
        assert RatingScale.of_labels(self.SCALE.labels) == self.SCALE
        for other in (
            RatingScale.of_labels(self.SCALE.labels[::-1]),
            RatingScale.of_labels(self.SCALE.labels, ordered=False),
            RatingScale(1, 4, 1),
        ):
            assert other != self.SCALE
            assert self.SCALE.exact_description != other.exact_description

    def test_it_comes_back_from_json(self):
        assert RatingScale.from_json(self.SCALE.to_json()) == self.SCALE
        plain = {"low": 1.0, "high": 5.0, "step": None}
        assert RatingScale.from_json(plain).to_json() == plain

    def test_words_are_numbered_from_1(self):
        with raises("scale.invalid"):
            RatingScale(0, 1, 1, labels=("no", "yes"))
