"""Accuracy of held-out nominal labels, next to the item's most frequent word."""

import numpy as np

from recveil.attacks import AttackTarget
from recveil.datasets import make_ratings
from recveil.evaluation.nominal import most_frequent_values, row_accuracy
from recveil.evaluation.split import HeldOut, Split, split_ratings
from recveil.methods.nominal import NominalAnonymizer
from recveil.ratings import Ratings, RatingScale

SCALE = RatingScale.of_labels("up,down,none", ordered=False)


def kinds(n_kinds=2, n_people=20, n_items=12):
    """Users of a few kinds, each of whom says of each item what all of their kind say."""
    kind = np.repeat(np.arange(n_kinds), n_people)
    users, items = np.divmod(np.arange(kind.size * n_items), n_items)
    said = np.array(SCALE.labels, object)[(kind[users] + items) % 2]
    return Ratings.from_columns(users, items, said, scale=SCALE)


def stated_of(parts, k, seed=1):
    release = NominalAnonymizer(k, seed=seed).anonymize(parts.train)
    return row_accuracy(parts, AttackTarget.from_release(release, parts.train))


def test_by_hand():
    """Two share a row: up for a (one each, and up comes first), up for b."""
    train = Ratings.from_columns(
        ["ann", "ann", "ben"], ["a", "b", "a"], ["up", "up", "down"], scale=SCALE
    )
    test = HeldOut(np.array([1]), np.array([1]), np.array([2.0]))  # Ben says down to b
    found = stated_of(Split(train, test), 2)
    assert (found.cells, found.accuracy.mean, found.baseline.mean) == (1, 0.0, 0.0)
    assert most_frequent_values(train).tolist() == [1.0, 1.0]


def test_an_item_that_no_user_rated_has_the_commonest_word_of_all():
    train = Ratings.from_columns([1, 2, 3], ["a", "a", "b"], ["down", "down", "up"], scale=SCALE)
    held = Ratings(
        train.users, np.array(["a", "b", "c"], object), train.indptr, train.indices, train.values,
        None, SCALE,
    )  # fmt: skip
    assert most_frequent_values(held).tolist() == [2.0, 1.0, 2.0]


def test_planted_kinds_are_predicted_by_their_rows_and_not_by_the_commonest_word():
    parts = split_ratings(kinds(), 0.25, seed=1)
    found = stated_of(parts, 5)
    assert found.accuracy.low > 0.7
    assert found.baseline.high < 0.7
    assert found.gain.low > 0.2


def test_one_row_for_all_users_is_worth_no_more_than_the_commonest_word():
    parts = split_ratings(kinds(), 0.25, seed=1)
    found = stated_of(parts, 40)
    assert abs(found.gain.mean) < 0.1


def test_a_row_need_not_be_worth_more_than_the_commonest_word():
    """The figures of docs/explanation/methods.md."""
    scale = RatingScale.of_labels("up,down,sideways,none", ordered=False)
    made = make_ratings(120, 40, 2_400, seed=5, scale=RatingScale(1, 4, 1)).with_scale(scale)
    parts = split_ratings(made, 0.2, seed=0)
    found = stated_of(parts, 5, seed=0)
    assert (round(found.accuracy.mean, 3), round(found.baseline.mean, 3)) == (0.444, 0.502)
