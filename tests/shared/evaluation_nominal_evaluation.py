"""What the fast and the slow tests of `test_nominal_evaluation.py` share."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.evaluation.split import split_ratings
from recveil.io import write_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings, RatingScale

SCALE = RatingScale.of_labels("up,down,none", ordered=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    words = make_ratings(60, 20, 500, seed=2, scale=RatingScale(1, 3, 1)).with_scale(SCALE)
    write_ratings(words, folder / "words.csv")
    options = {"words": ",".join(SCALE.labels), "method": "nominal", "k": 5, "seed": 1}
    anonymize(folder / "words.csv", folder / "out", **options)
    parts = split_ratings(words, 0.2, seed=3)
    write_ratings(parts.train, folder / "train.csv")
    held = np.argsort(parts.test.users, kind="stable")
    users, items = parts.test.users[held], parts.test.items[held]
    said = [SCALE.labels[int(at) - 1] for at in parts.test.values[held]]
    test = Ratings.from_columns(words.users[users], words.items[items], said, scale=SCALE)
    write_ratings(test, folder / "test.csv")
    anonymize(folder / "train.csv", folder / "of_train", **options)
    return folder
