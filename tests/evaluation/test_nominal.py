"""Lists of liked items, of words without an order."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.evaluation.nominal import liked_values, serve_liked
from recveil.evaluation.split import TrainingTable, UserRows, split_ratings
from recveil.ratings import Ratings, RatingScale

SCALE = RatingScale.of_labels("down,meh,up", ordered=False)


@pytest.mark.parametrize("liked", ["up,meh", ["up", "meh"], "meh, up"], ids=str)
def test_they_come_in_the_order_of_the_scale(liked):
    assert liked_values(liked, SCALE) == ("meh", "up")


@pytest.mark.parametrize(
    "scale",
    [RatingScale(1, 5, 1), RatingScale.of_labels("down,up"), RatingScale(1, 1, 1)],
    ids=["stars", "ordered", "likes"],
)
def test_a_scale_says_itself_what_is_liked(scale):
    with raises("option.unsupported") as caught:
        liked_values("up", scale)
    assert "liked" in str(caught.value)


@pytest.mark.parametrize("liked", ["", "Up", "up,none", "down,meh,up", []], ids=str)
def test_what_are_no_liked_words(liked):
    with raises("option.value") as caught:
        liked_values(liked, SCALE)
    assert "liked" in str(caught.value)


def test_how_words_are_numbered_changes_no_list():
    """The same choices, with the words named in another order."""
    numbers = make_ratings(60, 30, 900, seed=2, scale=RatingScale(1, 3, 1))
    found = []
    for names in ("down,meh,up", "up,down,meh"):
        scale = RatingScale.of_labels(names, ordered=False)
        number_of = np.array([scale.labels.index(word) + 1 for word in SCALE.labels])
        values = number_of[numbers.values.astype(int) - 1].astype(np.float32)
        words = Ratings(
            *(numbers.users, numbers.items, numbers.indptr, numbers.indices, values, None, scale)
        )
        train, test = split_ratings(words, 0.2, seed=1)
        rows, sizes = UserRows.from_ratings(train), np.ones(train.n_users, np.int64)
        table = TrainingTable(rows, sizes, train.n_items, train.n_users, scale)
        served = serve_liked(table, rows, test, ["up"])
        found.append({name: utility.ndcg for name, utility in served.utilities.items()})
    assert found[0] == pytest.approx(found[1], nan_ok=True)
