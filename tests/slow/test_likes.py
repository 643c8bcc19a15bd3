"""Likes through all verbs: users found, utility of lists, and what does not apply."""

import json

import numpy as np
import pytest

from recveil.attacks.adversary import PRESETS
from recveil.attacks.reidentification.hidden_items import ItemSide
from recveil.auditing import audit
from recveil.auditing.shadow_releases import attack_by_shadows
from recveil.cli import main
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.report.comparison.text import describe_advice, describe_answer
from shared.likes import audited, likes, made, ratings  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("rough_fit")


class TestAudit:
    def test_no_user_knows_ratings(self, audited):
        for attack in audited["sparse"]["attacks"]:
            assert attack["rating_error"] is None
            assert not attack["likes_only"]
            knew = PRESETS[attack["name"]].rating_error is not None
            assert (
                "Here no ratings are known: the table holds likes." in attack["description"]
            ) == knew

    def test_it_has_a_page(self, likes, made):
        found = audit(likes, release=made / "k-corating", targets=20)
        assert json.dumps(found.to_dict(), allow_nan=False)
        page = found.to_html()
        assert "the table holds likes" in page


# What is said only where there are ratings.
ABOUT_RATINGS = ("exact rating", "ratings", "labels", "rated", "fills", "liked another item more")


class TestDrawn:
    """Releases in which no row is any user's."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result(likes, made):
        found = audit(likes, release=made / "drawn", shadows=8, targets=20, curves=False)
        return json.loads(json.dumps(found.to_dict(), allow_nan=False))

    def test_membership_is_measured_and_nothing_is_said_of_values(self, result):
        release = result["release"]
        said = " ".join([*release["verdict"], release["headline"], *release["does_not_apply"]])
        for words in ABOUT_RATINGS:
            assert words not in said, words
        assert "by adversaries who know likes" in said
        assert "all likes" in said
        assert release["epsilon"] == 60
        assert release["membership"]["all"]["auc"]["trials"]
        assert release["shadows"]["n"] == 8
        assert release["synthetic"]["nearest"]
        assert (release["synthetic"]["inference"], release["attributes"]) == (None, None)

    def test_exact_sums_of_few_users_reveal_members(self, likes):
        """Planted: each of sixty users is a sixtieth of the sums."""
        found = attack_by_shadows(likes, self.exact, n=8).by_known["all"]
        assert found.inferred.auc.low > 0.55

    def test_a_release_of_others_reveals_nothing(self, likes):
        """Null: whichever users are members, synthetic users follow the same others."""
        others = make_ratings(n_users=60, n_items=60, n_ratings=1_200, seed=9).as_likes()

        class OfOthers:
            def __init__(self, seed):
                self.seed = seed

            def anonymize(self, _likes):
                return TestDrawn.exact(self.seed).anonymize(others)

        found = attack_by_shadows(likes, OfOthers, n=8).by_known["all"]
        assert found.inferred.auc.low <= 0.5 <= found.inferred.auc.high

    @staticmethod
    def exact(seed):
        return Synthesizer(None, item_catalog="as-rated", seed=seed)


class TestCompare:
    def test_all_methods_that_take_likes(self, likes, tmp_path):
        found = compare(likes, tmp_path / "out", methods="all", k=[5], targets=20)
        result = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert {row["method"] for row in result["rows"]} == {
            *("k-corating-likes", "sparse", "synthetic-10", "synthetic-3", "synthetic-1", "raw")
        }
        result = {row["method"]: row["problem"] for row in result["rows"]}
        assert not any(result[name] for name in ("k-corating-likes", "sparse", "raw"))
        # 120 users are too few for little an epsilon, and that is said in a line.
        assert "epsilon" in result["synthetic-1"]
        assert found.utility == "lists"
        assert all(row.rmse is None for row in found.rows)

    def test_the_answer_speaks_of_lists_alone(self, likes, tmp_path):
        options = {"methods": ["sparse", "raw"], "k": [5], "targets": 20, "min_k": 5}
        choice = compare(likes, tmp_path / "out", **options).choice()
        assert (choice.row, choice.reason) == (None, "not-distinguishable")
        result = " ".join([describe_answer(choice), describe_advice(choice)])
        assert "lists" in result
        assert "RMSE" not in result


def test_every_verb_says_that_they_are_likes(likes, made, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    users, items = likes.user_positions(), likes.indices
    pairs = [f"{user},{item}" for user, item in zip(users, items, strict=True)]
    (tmp_path / "likes.csv").write_text("\n".join(["user,item", *pairs]))
    release = str(made / "sparse")
    for words in (
        ("audit", "likes.csv", "--targets", "9", "--no-curves"),
        ("selftest", "likes.csv"),
        ("anonymize", "likes.csv", "-o", "out", "--k", "5", "--method", "sparse"),
        ("evaluate", "likes.csv", "--release", "out", "--split", "0.2", "--no-membership"),
        ("compare", "likes.csv", "-o", "comparison", "--k", "5", "--targets", "9"),
        ("convert", "likes.csv", "again.csv"),
    ):
        with pytest.raises(SystemExit):
            main(list(words))
        out = " ".join(capsys.readouterr().out.split())
        assert "Read 2,400 likes of 60 items by 120 users; no ratings: read as likes." in out, words
        assert "RMSE" not in out, words
    assert (tmp_path / "again.csv").read_text().startswith("user_id,item_id\n")
    with pytest.raises(SystemExit) as ended:
        main(["verify", release])
    assert ended.value.code in (None, 0)


def test_hidden_items_of_likes_are_named_by_their_company(likes, tmp_path):
    """Nothing is divided by the range of likes."""
    side = ItemSide.of_ratings(likes)
    for numbers in (side.counts, side.means, side.spreads, side.alike, side.together):
        assert np.isfinite(numbers).all()
    anonymize(likes, tmp_path / "out", k=5, method="sparse", seed=1, hide_items=True)
    result = audit(likes, release=tmp_path / "out", targets=20, curves=False).to_dict()
    assert result["release"]["hidden_items"]["named"]["10"]["trials"] == 10
