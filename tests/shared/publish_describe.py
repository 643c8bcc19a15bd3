"""What the fast and the slow tests of `test_describe.py` share."""

import json

import numpy as np
import pytest

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer, anonymize
from recveil.publish import describe
from recveil.ratings import Ratings, RatingScale

MADE = make_ratings(n_users=60, n_items=20, n_ratings=500, seed=2, scale=RatingScale(1, 5, 1))

RATINGS = Ratings.from_columns(
    [f"secret-{user}" for user in MADE.user_positions()],
    MADE.indices,
    MADE.values,
    scale=MADE.scale,
)

WAYS = {
    "padded": (lambda: PredictiveAnonymizer(4, seed=918_273), {}),
    "padded, users, csv": (
        lambda: PredictiveAnonymizer(4, seed=918_273),
        {"layout": "users", "file_format": "csv"},
    ),
    "levels": (
        lambda: PredictiveAnonymizer(
            4, "simple", grouping="level-gather", privacy_levels=np.full(60, 4), seed=918_273
        ),
        {},
    ),
    "k-corated": (lambda: KCoRater(4, seed=918_273), {}),
    "sparse": (lambda: SparseRows(4, seed=918_273), {}),
    "drawn": (lambda: Synthesizer(20.0, item_catalog="as-rated"), {}),
    "model": (lambda: Synthesizer(20.0, item_catalog="as-rated"), {"layout": "model"}),
}


@pytest.fixture(scope="module", params=WAYS)
def folder(request, tmp_path_factory):
    make, options = WAYS[request.param]
    folder = tmp_path_factory.mktemp("described") / "out"
    make().anonymize(RATINGS).write(folder, **options)
    return folder


@pytest.fixture(scope="module")
def padded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("padded") / "out"
    PredictiveAnonymizer(4, seed=918_273).anonymize(RATINGS).write(folder)
    return folder


def described(folder, card=None, force=True):
    target = folder.parent / "croissant.json"
    if card is not None:
        (folder.parent / "card.toml").write_text(card)
    describe(folder, target, card=card and folder.parent / "card.toml", force=force)
    return json.loads(target.read_text("utf-8"))


@pytest.fixture(scope="module")
def found(padded):
    """The file of an audit, and what stands in it."""
    file = padded.parent / "audit.json"
    result = audit(RATINGS, release=padded, targets=20, curves=False).to_dict()
    file.write_text(json.dumps(result, default=str))
    return file, result


@pytest.fixture(scope="module")
def judged(padded):
    """The file of an evaluation, and what stands in it."""
    file = padded.parent / "evaluation.json"
    result = evaluate(padded, RATINGS, split=0.2, targets=10, with_membership=False).to_dict()
    file.write_text(json.dumps(result))
    return file, result


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("origin")
    rows = [
        f"{u % 30},{i},{u % 5 + 1},2020-01-{u % 28 + 1:02}" for u in range(60) for i in range(9)
    ]
    rows = [*dict.fromkeys(rows), "31,8,77,2020-01-01"]
    (folder / "salaries of acme.csv").write_text(
        "acme_member,acme_film,acme_stars,acme_day\n" + "\n".join(rows) + "\n"
    )
    reading = {"user": "acme_member", "item": "acme_film", "rating": "acme_stars"}
    reading |= {"time": "acme_day", "scale": RatingScale(1, 5, 1), "drop_off_scale": True}
    reading |= {"duplicates": "last"}
    table = folder / "salaries of acme.csv"
    anonymize(table, folder / "out", k=3, method="predictive", seed=1, **reading)
    result = audit(table, release=folder / "out", targets=5, curves=False, **reading).to_dict()
    (folder / "audit.json").write_text(json.dumps(result, default=str))
    return folder, result
