"""What a notebook shows of results: tables and charts, of shares and verdicts alone."""

from html.parser import HTMLParser

import pytest

from recveil.auditing import audit
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.methods import Release, anonymize
from recveil.ratings import Ratings

pytestmark = pytest.mark.usefixtures("few_recommenders")


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
    anonymize(ratings, folder / "out", k=3, seed=1)
    quick = {"targets": 20, "seed": 1}
    return {
        "audit": audit(ratings, release=folder / "out", **quick),
        "audit of a table": audit(ratings, curves=False, **quick),
        "comparison": compare(
            ratings, folder / "all", methods=["raw", "padded", "simple"], ks=[2, 3, 5], **quick
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


class TestTables:
    @pytest.mark.parametrize(
        ("name", "texts"),
        [
            ("audit", ["adversary", "control", "in the release", "colleague"]),
            ("audit of a table", ["adversary", "control", "colleague"]),
            ("comparison", ["setting", "lists kept", "padded, k = 3"]),
            ("evaluated", ["recommender", "RMSE raw", "release"]),
            ("release", ["layout", "labels"]),
        ],
    )
    def test_say_what_was_found(self, results, name, texts):
        cells = Cells(results[name]._repr_html_())
        assert cells.tags <= {"table", "caption", "tr", "th", "td"}
        assert set(texts) <= set(cells.texts), cells.texts
