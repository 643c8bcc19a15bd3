"""Likes through all verbs: users found, utility of lists, and what does not apply."""

import json
import re

import numpy as np
import pytest

from error_assertions import raises
from recveil.auditing import audit
from recveil.cli import main
from recveil.comparison import compare
from recveil.comparison.rows import Row
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.io import write_ratings
from recveil.methods import KCoRater, anonymize, forget
from recveil.methods.sparse.anonymizer import SparseRows
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings
from recveil.release.registry import undone_of
from recveil.release.specs.sparse import SPARSE
from recveil.report.comparison.text import _describe_making
from recveil.report.glossary import meaning_of
from recveil.verification import verify
from shared.likes import METHODS, audited, likes, made, ratings  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("rough_fit")


def liked_by_all_too(likes):
    """Add an item that all users like: sparse rows leave out what fewer than k did."""
    users = np.repeat(likes.users, likes.activity)
    items = np.concatenate([likes.items[likes.indices], np.full(likes.n_users, 9_999)])
    return Ratings.from_columns(np.concatenate([users, likes.users]), items)


class TestAudit:
    def test_planted_users_are_found(self, audited):
        """Without a release, items alone find most users."""
        found = {
            each["name"]: each["reidentified"]["rate"] for each in audited["sparse"]["attacks"]
        }
        assert found["bystander"] > 0.5

    @pytest.mark.parametrize("method", METHODS)
    def test_in_a_release_the_promise_holds(self, audited, method):
        for attack in audited[method]["release"]["attacks"]:
            assert attack["bound"] == 0.2
            assert attack["reidentified"]["low"] <= 0.2

    @pytest.mark.parametrize("make", [KCoRater, SparseRows])
    def test_no_user_is_found_where_all_users_have_one_row(self, likes, make, tmp_path):
        likes = liked_by_all_too(likes)
        release = make(likes.n_users, seed=1).anonymize(likes)
        release.write(tmp_path / "out", allow_sparse_coverage=True)
        result = audit(likes, release=tmp_path / "out", targets=120, curves=False).to_dict()
        for attack in result["release"]["attacks"]:
            assert (attack["reidentified"]["rate"] or 0) <= 1 / likes.n_users + 1e-9

    @pytest.mark.parametrize("method", METHODS)
    def test_nothing_is_said_of_values(self, audited, method):
        release = audited[method]["release"]
        said = " ".join([*release["verdict"], release["headline"], *audited[method]["verdict"]])
        for words in ("exact rating", "as they were given", "Behind a label", "invented", "fill"):
            assert words not in said, words
        for name in (
            "ratings_exact",
            "values_exact",
            "values",
            "companions",
            "fills",
            "attributes",
        ):
            assert release[name] is None, name
        assert "by adversaries who know likes, by scores of one release, too: by 8 likes" in said

    def test_its_rates_reassure_no_user_who_holds_ratings(self, audited):
        warned = " ".join(audited["sparse"]["warnings"])
        assert "A table with rating values re-identifies" in warned or "rating values" in warned

    def test_a_release_of_likes_is_not_audited_by_ratings_nor_the_reverse(
        self, likes, ratings, made
    ):
        with raises("release.mismatch", "sparse", "--likes"):
            audit(ratings, release=made / "sparse", targets=9, curves=False)
        with raises("release.mismatch", "1:5:1", "--scale"):
            audit(likes, release=made / "ratings", targets=9, curves=False)
        with raises("release.mismatch", "1:5:1"):
            audit(
                *(likes,),
                release=made / "sparse",
                second_release=made / "ratings",
                targets=9,
                curves=False,
            )

    def test_two_releases_of_likes(self, likes, made):
        result = audit(
            *(likes,),
            release=made / "sparse",
            second_release=made / "k-corating",
            targets=30,
            curves=False,
        ).to_dict()
        assert result["release"]["linkage"]["users"] == 120

    @pytest.mark.parametrize("days", [None, np.array([0, 1, 2, 3, 4, 5])])
    def test_one_user(self, days):
        one = Ratings.from_columns(["ann"] * 6, range(6), days=days)
        result = audit(one, curves=False).to_dict()
        assert result["data"]["scale"] == "likes"


class TestDrawn:
    """Releases in which no row is any user's."""

    @pytest.fixture(scope="class")
    @staticmethod
    def found(likes, made):
        return audit(likes, release=made / "drawn", shadows=8, targets=20, curves=False)

    @pytest.fixture(scope="class")
    @staticmethod
    def result(found):
        return json.loads(json.dumps(found.to_dict(), allow_nan=False))

    @staticmethod
    def exact(seed):
        return Synthesizer(None, item_catalog="as-rated", seed=seed)

    def test_it_has_a_page(self, found):
        page = found.to_html()
        assert "<th>likes known</th>" in page
        assert "by eight likes" in page
        for words in ("exact rating", "items and ratings", "and the rating"):
            assert words not in page, words

    def test_a_model_is_audited(self, likes, made):
        found = audit(likes, release=made / "model", targets=9, curves=False).to_dict()
        assert "The release is a model" in " ".join(found["release"]["verdict"])

    def test_it_is_judged_by_lists(self, likes, made):
        found = evaluate(made / "drawn", likes, split=0.2, targets=9, with_membership=False)
        result = found.to_dict()
        assert 0.5 < result["recipient"]["utility_retained"]["chosen"]["lists"]["value"] < 1.3
        assert result["recipient"]["utility_retained"]["chosen"]["ratings"]["value"] is None
        assert any("without errors or deviations" in note for note in result["notes"])

    @pytest.mark.parametrize("name", ["drawn", "sparse"])
    def test_it_is_read_and_converted(self, made, tmp_path, capsys, name):
        out = tmp_path / "again.csv"
        with pytest.raises(SystemExit) as ended:
            main(["convert", str(made / name), str(out)])
        assert ended.value.code in (None, 0), capsys.readouterr()
        assert out.read_text().startswith("user_id,item_id\n")

    def test_it_is_described(self, made, tmp_path, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["describe", str(made / "drawn"), str(made / "about.json")])
        assert ended.value.code in (None, 0), capsys.readouterr()
        assert "like" in (made / "about.json").read_text()


@pytest.fixture(scope="module")
def judged(likes, made):
    options = {"split": 0.2, "targets": 20, "with_membership": False}
    return {name: evaluate(made / name, likes, **options).to_dict() for name in METHODS}


class TestEvaluate:
    @pytest.mark.parametrize("method", METHODS)
    def test_no_error_is_stated_not_even_0(self, judged, method):
        def numbers(plain, path=""):
            if isinstance(plain, dict):
                for name, value in plain.items():
                    yield from numbers(value, f"{path}.{name}")
            elif isinstance(plain, int | float) and not isinstance(plain, bool):
                yield path, plain

        result = [path for path, _ in numbers(judged[method])]
        assert not [path for path in result if "rmse" in path or path.endswith("mae")]
        assert judged[method]["target_deviation"] is None
        assert judged[method]["fidelity"]["rating_distance"] is None
        assert any("without errors or deviations" in note for note in judged[method]["notes"])

    @pytest.mark.parametrize("method", METHODS)
    def test_lists_are_judged(self, judged, method):
        result = judged[method]["recipient"]
        assert list(result["recommenders"]) == [
            *("popularity", "EASE on liked", "item cosine, 100 neighbours", "PureSVD")
        ]
        assert result["lists"]["best_raw"]["ndcg@10"] > 0.1
        assert 0.3 < result["utility_retained"]["chosen"]["lists"]["value"] < 1.2
        assert result["utility_retained"]["chosen"]["ratings"]["value"] is None

    def test_the_table_must_be_what_the_release_was_made_from(self, likes, ratings, made):
        with raises("release.mismatch"):
            evaluate(made / "ratings", likes, split=0.2, targets=9)
        with raises("release.mismatch"):
            evaluate(made / "sparse", ratings, split=0.2, targets=9)


class TestCompare:
    def test_there_are_no_ratings_to_choose_by(self, likes, tmp_path):
        with raises("option.unsupported", "--utility"):
            compare(likes, tmp_path / "out", k=[5], targets=20, utility="ratings")


class TestWords:
    """Texts about likes spoke of ratings, held-out ratings and raters."""

    def test_a_release_is_verified_and_forgotten_in_words_of_likes(self, likes, tmp_path):
        SparseRows(5, seed=1).anonymize(likes).write(tmp_path / "out")
        assert verify(tmp_path / "out").to_dict()["compared"] == ["item"]
        found = forget(tmp_path / "out", user=likes.users[0], ratings=likes)
        assert not re.search("rating|rated", " ".join(found.sentences()))

    def test_a_nearly_empty_release_is_refused_in_words_of_likes(self, tmp_path):
        few = make_ratings(n_users=60, n_items=46, n_ratings=120, seed=1).as_likes()
        with raises("release.nearly-empty") as caught:
            anonymize(few, tmp_path / "out", k=5, seed=1)
        assert "rating" not in str(caught.value)

    def test_terms_are_explained_in_words_of_likes(self):
        meanings = [str(meaning_of(name, is_unary=True)) for name in ("nDCG", "gap", "gain")]
        assert not re.search("rat(ed|er|ing)|RMSE", " ".join(meanings))

    def test_a_comparison_speaks_of_likes(self, likes, tmp_path):
        table = tmp_path / "likes.csv"
        write_ratings(likes, table)
        found = compare(table, tmp_path / "out", methods=["raw", "sparse"], k=[5], targets=20)
        page = re.sub(r"<(style|code|svg).*?</\1>|<[^>]*>", " ", found.to_html(), flags=re.S)
        said = re.sub(r"\b([Nn]o|without) (rating)", "", page)
        assert not re.search(r"\b(rat(ed|ers?|ings?)|RMSE)\b|predicted", said)
        assert "100K, as implicit feedback" in undone_of("sparse", has_ratings=False)[0]
        making = dict.fromkeys(("k", "bound", "problem")) | {"promise": "nothing"}
        assert "list of liked items" in _describe_making(Row("synthetic-3", **making, ndcg=0.2))
        assert "list of rated items" in _describe_making(
            Row("synthetic-3", **making, ndcg=0.2, rmse=1.0)
        )

    @pytest.mark.parametrize("dates", ["month", "order"])
    def test_figures_of_dates_name_their_table(self, dates):
        settings = {"method": "sparse rows", "feedback": "implicit", "dates": dates}
        assert "likes were not measured" in " ".join(SPARSE.undone_by(settings))
        del settings["feedback"]
        assert "likes" not in " ".join(SPARSE.undone_by(settings))
