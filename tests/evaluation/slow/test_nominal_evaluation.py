"""Releases of words without an order, judged: words, lists of liked items, and attacks."""

import json
import shutil

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.evaluation.split import split_ratings
from recveil.io import write_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings, RatingScale

SCALE = RatingScale.of_words("up,down,none", ordered=False)


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
        assert told["recipient"]["release"]["rmse"] is None
        assert any("no error is told" in note for note in told["notes"])


def test_without_the_twin_only_what_the_world_can_tell(made, tmp_path):
    shutil.copytree(made / "of_train", tmp_path / "alone")
    files = {"train": made / "train.csv", "test": made / "test.csv"}
    told = evaluate(tmp_path / "alone", **files, liked="up").to_json()
    assert told["words_told"] is None
    assert told["disclosure"] is None
    assert any("Nobody knows whose rows" in note for note in told["notes"])
    with_twin = evaluate(made / "of_train", **files, liked="up").to_json()
    assert told["recipient"] == with_twin["recipient"]
