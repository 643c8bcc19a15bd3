"""Held-out words without an order: told rightly or not, beside the item's commonest word."""

import json

import numpy as np
import pytest

from recveil.anonymize import anonymize
from recveil.anonymize.shared_words import SharedWords
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.evaluate import evaluate
from recveil.evaluate.split import HeldOut, Split, split_ratings
from recveil.evaluate.words_told import commonest_words, tell_words
from recveil.io import write_ratings
from recveil.ratings import Ratings, RatingScale

SCALE = RatingScale.of_words("up,down,none", ordered=False)


def kinds(n_kinds=2, n_people=20, n_items=12):
    """People of a few kinds, each of whom says of each item what all of their kind say."""
    kind = np.repeat(np.arange(n_kinds), n_people)
    users, items = np.divmod(np.arange(kind.size * n_items), n_items)
    said = np.array(SCALE.words, object)[(kind[users] + items) % 2]
    return Ratings.from_columns(users, items, said, scale=SCALE)


def test_by_hand():
    """Two share a row: up for a (one each, and up comes first), up for b."""
    train = Ratings.from_columns(
        ["ann", "ann", "ben"], ["a", "b", "a"], ["up", "up", "down"], scale=SCALE
    )
    test = HeldOut(np.array([1]), np.array([1]), np.array([2.0]))  # Ben says down to b
    found = tell_words(Split(train, test), SharedWords(2, seed=1).anonymize(train))
    assert (found.cells, found.right.mean, found.commonest.mean) == (1, 0.0, 0.0)
    assert commonest_words(train).tolist() == [1.0, 1.0]


def test_an_item_that_nobody_rated_has_the_commonest_word_of_all():
    train = Ratings.from_columns([1, 2, 3], ["a", "a", "b"], ["down", "down", "up"], scale=SCALE)
    held = Ratings(
        train.users, np.array(["a", "b", "c"], object), train.indptr, train.indices, train.values,
        None, SCALE,
    )  # fmt: skip
    assert commonest_words(held).tolist() == [2.0, 1.0, 2.0]


def test_planted_kinds_are_told_by_their_rows_and_not_by_the_commonest_word():
    parts = split_ratings(kinds(), 0.25, seed=1)
    found = tell_words(parts, SharedWords(5, seed=1).anonymize(parts.train))
    assert found.right.low > 0.7
    assert found.commonest.high < 0.7
    assert found.gain.low > 0.2


def test_one_row_for_everybody_is_worth_no_more_than_the_commonest_word():
    parts = split_ratings(kinds(), 0.25, seed=1)
    found = tell_words(parts, SharedWords(40, seed=1).anonymize(parts.train))
    assert abs(found.gain.mean) < 0.1


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    words = make_ratings(60, 20, 500, seed=2, scale=RatingScale(1, 3, 1)).with_scale(SCALE)
    write_ratings(words, folder / "words.csv")
    options = {"words": ",".join(SCALE.words), "method": "words", "k": 5, "seed": 1}
    anonymize(folder / "words.csv", folder / "out", **options)
    parts = split_ratings(words, 0.2, seed=3)
    write_ratings(parts.train, folder / "train.csv")
    held = np.argsort(parts.test.users, kind="stable")
    users, items = parts.test.users[held], parts.test.items[held]
    said = [SCALE.words[int(at) - 1] for at in parts.test.values[held]]
    test = Ratings.from_columns(words.users[users], words.items[items], said, scale=SCALE)
    write_ratings(test, folder / "test.csv")
    anonymize(folder / "train.csv", folder / "of_train", **options)
    return folder


def test_the_verb_splits_or_takes_two_files(made):
    found = [
        evaluate(made / "out", made / "words.csv", split=0.2),
        evaluate(made / "of_train", train=made / "train.csv", test=made / "test.csv"),
    ]
    for each in found:
        told = json.loads(json.dumps(each.to_json(), allow_nan=False))
        assert 0 < told["words_told"]["right"]["mean"] < 1
        assert "rmse" not in json.dumps(told)
        assert any("no error is told" in note for note in told["notes"])


def test_the_command_shows_it(made, capsys):
    with pytest.raises(SystemExit) as ended:
        main(
            ["evaluate", str(made / "words.csv"), "--release", str(made / "out"), "--split", "0.2"]
        )
    assert not ended.value.code
    out = " ".join(capsys.readouterr().out.split())
    assert "the item's commonest word" in out
    assert "RMSE" not in out


def test_a_row_need_not_be_worth_more_than_the_commonest_word():
    """The figures of docs/methods.md."""
    scale = RatingScale.of_words("up,down,sideways,none", ordered=False)
    made = make_ratings(120, 40, 2_400, seed=5, scale=RatingScale(1, 4, 1)).with_scale(scale)
    parts = split_ratings(made, 0.2, seed=0)
    found = tell_words(parts, SharedWords(5, seed=0).anonymize(parts.train))
    assert (round(found.right.mean, 3), round(found.commonest.mean, 3)) == (0.47, 0.502)
