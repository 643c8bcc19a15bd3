"""Comparisons of ratings that are words, and what else judges them."""

import json

import pytest

from recveil.cli import main
from recveil.comparison import compare
from recveil.ratings import RatingScale
from recveil.report.comparison.text import describe_advice

pytestmark = pytest.mark.usefixtures("rough_fit", "few_recommenders")

WORDS = ("hate", "dislike", "like", "love")


class TestEvaluateAndCompare:
    def test_settings_are_compared_as_those_of_numbers(self, words, tmp_path):
        names = ["padded", "simple", "k-corating-mean", "sparse", "raw", "item-means"]
        found = compare(words, tmp_path / "out", methods=names, k=[5], targets=20)
        assert not [row.problem for row in found.rows if row.problem]
        assert json.loads(json.dumps(found.to_dict()))["data"]["labels"] == list(WORDS)


@pytest.fixture(scope="module")
def unordered(words):
    return words.with_scale(RatingScale.of_labels(WORDS, ordered=False))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("compared") / "out"


@pytest.fixture(scope="module")
def found(unordered, out):
    options = {"methods": ["all"], "k": [5, 121], "targets": 40}
    return compare(unordered, out, min_k=5, liked="love,like", **options)


class TestWithoutAnOrder:
    """Correctly predicted words take the place of ratings; lists are of what is liked."""

    def test_all_are_those_that_take_them(self, found):
        titles = [row.title for row in found.rows]
        assert titles == [
            *(
                "nominal, k = 5",
                "nominal, k = 121",
                "nominal-shares, k = 5",
                "nominal-shares, k = 121",
            ),
            "raw",
        ]
        assert [row.title for row in found.rows if row.problem] == [titles[1], titles[3]]

    def test_without_liked_words_alone_decide(self, unordered, tmp_path):
        found = compare(unordered, tmp_path / "out", methods=["nominal", "raw"], k=[5], min_k=5)
        plain = found.to_dict()
        assert plain["settings"]["utility"] == "ratings"
        assert any("Lists are not evaluated" in warning for warning in plain["warnings"])
        assert "lists" not in describe_advice(found.choice())
        assert "no labels count as liked" in found.to_html()

    def test_shadow_releases_reveal_members(self, unordered, tmp_path):
        options = {"methods": ["raw"], "targets": 20, "shadows": 8}
        (row,) = compare(unordered, tmp_path / "out", **options).rows
        assert row.shadow_auc > 0.9

    def test_the_command(self, words_file, tmp_path, capsys):
        out = tmp_path / "out"
        with pytest.raises(SystemExit) as ended:
            main(
                [
                    *(
                        "compare",
                        str(words_file),
                        "-o",
                        str(out),
                        "--words",
                        "hate,dislike,like,love",
                    ),
                    *("--liked", "love", "--k", "5", "--targets", "20", "--methods", "nominal,raw"),
                    "--explain",
                ]
            )
        assert not ended.value.code
        result = " ".join(capsys.readouterr().out.split())
        assert "nominal" in result
        assert "RMSE" not in result
        assert (out / "index.html").exists()
