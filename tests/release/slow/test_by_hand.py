"""The lines on the card of a model draw users as recveil does."""

import re

import numpy as np
import pandas as pd
import pytest

from recveil.datasets import make_ratings
from recveil.methods import sample
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings, RatingScale

SCALES = [RatingScale(1, 5, 1), RatingScale(0, 10)]
N_BY_HAND = 40  # each looks for its offset in 4,001 places


@pytest.fixture(scope="module", params=SCALES, ids=str)
def released(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("by_hand") / "model"
    scale = request.param
    stars = make_ratings(600, 40, 9_000, seed=3, scale=SCALES[0])
    values = (stars.values - 1) / 4 * scale.range + scale.low
    rows = (stars.users, stars.items, stars.indptr, stars.indices)
    ratings = Ratings(*rows, values, None, scale)
    Synthesizer(40.0, item_catalog="as-rated").anonymize(ratings).write(folder, layout="model")
    return folder, scale


def lines_of(folder) -> str:
    """The block of the card that imports numpy."""
    card = (folder / "README.md").read_text()
    blocks = re.findall(r"(?:^    .*\n)+", card, re.M)
    (found,) = [block for block in blocks if "import json, pathlib" in block]
    return re.sub("^    ", "", found, flags=re.M)


def test_the_lines_as_they_stand_draw_the_same_users(released, tmp_path, monkeypatch):
    folder, scale = released
    monkeypatch.chdir(folder)
    lines = compile(lines_of(folder), "README.md", "exec")
    all_users = []
    # Unlike a reader who copies the lines, the test draws the same users from a model.
    for rng in np.random.default_rng(1).spawn(N_BY_HAND):
        names = {}
        with monkeypatch.context() as patch:
            patch.setattr(np.random, "default_rng", lambda rng=rng: rng)
            exec(lines, names)
        all_users.append(names["user"])
    assert all(scale.low <= label <= scale.high for one in all_users for label in one.values())

    sample(folder, tmp_path / "drawn", n_users=4_000, seed=1)
    drawn = pd.read_parquet(tmp_path / "drawn" / "ratings.parquet")
    # The noise of the model has no seed, so each bound is five standard errors.
    lengths = drawn.groupby("user_id").size()
    by_hand = [len(one) for one in all_users]
    assert np.mean(by_hand) == pytest.approx(len(drawn) / 4_000, abs=5 * standard_error(lengths))
    shares = drawn["item_id"].value_counts() / 4_000
    rated = pd.Series([item for one in all_users for item in one]).value_counts() / N_BY_HAND
    next_to = pd.concat([shares, rated], axis=1).fillna(0).to_numpy()
    assert np.abs(next_to[:, 0] - next_to[:, 1]).max() < 5 * 0.5 / N_BY_HAND**0.5
    assert np.abs(next_to[:, 0] - next_to[:, 1]).mean() < 0.16
    assert np.corrcoef(next_to.T)[0, 1] > 0.85
    labels = drawn.groupby("user_id")["rating"].mean()
    by_hand = [np.mean(list(one.values())) for one in all_users if one]
    assert np.mean(by_hand) == pytest.approx(labels.mean(), abs=5 * standard_error(labels))


def standard_error(of_users) -> float:
    return of_users.std() / N_BY_HAND**0.5


def test_drawn_users_have_no_such_lines(tmp_path):
    ratings = make_ratings(300, 30, 4_000, seed=3, scale=SCALES[0])
    Synthesizer(40.0, item_catalog="as-rated").anonymize(ratings).write(tmp_path / "out")
    assert "without recveil" not in (tmp_path / "out" / "README.md").read_text()
