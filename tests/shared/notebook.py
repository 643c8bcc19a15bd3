"""What the fast and the slow tests of `test_notebook.py` share."""

from html.parser import HTMLParser

import pytest

from recveil.auditing import audit
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.methods import Release, anonymize
from recveil.ratings import Ratings


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    made = make_ratings(n_users=120, n_items=40, n_ratings=2_400, seed=5)
    ratings = Ratings.from_columns(
        [f"secret-ann-{user}" for user in made.user_positions()],
        [f"secret film {item}" for item in made.indices],
        made.values,
        scale=made.scale,
    )
    folder = tmp_path_factory.mktemp("notebook")
    anonymize(ratings, folder / "out", k=3, method="predictive", seed=1)
    quick = {"targets": 20, "seed": 1}
    return {
        "audit": audit(ratings, release=folder / "out", **quick),
        "audit of a table": audit(ratings, curves=False, **quick),
        "comparison": compare(
            ratings, folder / "all", methods=["raw", "padded", "simple"], k=[2, 3, 5], **quick
        ),
        "evaluated": evaluate(folder / "out", ratings, split=0.2, with_membership=False, **quick),
        "release": Release.read(folder / "out"),
    }


class Cells(HTMLParser):
    """Collects the tags, and the texts of the cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        assert not attributes
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data)
