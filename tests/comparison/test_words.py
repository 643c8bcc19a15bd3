"""Comparisons of ratings that are words, and what else judges them."""

import json

import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.comparison import compare
from recveil.evaluation import evaluate
from recveil.ratings import RatingScale
from recveil.report.comparison.text import describe_setting, headline_of

pytestmark = pytest.mark.usefixtures("rough_fit", "few_recommenders")

WORDS = ("hate", "dislike", "like", "love")


class TestEvaluateAndCompare:
    def test_the_scale_is_the_release_s_own(self, words_file, words_made):
        found = evaluate(
            words_made / "simple", words_file, split=0.2, targets=20, with_membership=False
        )
        assert found.to_dict()["recipient"]["release"]["rmse"] > 0

    def test_another_order_is_refused(self, words_file, words_made):
        other = RatingScale.of_labels(WORDS[::-1])
        with raises("release.mismatch"):
            evaluate(words_made / "simple", words_file, split=0.2, targets=9, scale=other)


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

    def test_the_checker_counted_and_the_attacks_find_the_raw_ones(self, found):
        rows = {row.title: row for row in found.rows}
        assert rows["nominal, k = 5"].verified_k >= 5
        assert rows["nominal, k = 5"].risk_low <= rows["nominal, k = 5"].bound == 0.2
        assert rows["raw"].risk > 0.5
        assert rows["raw"].gain_retained in (1.0, None)
        assert rows["raw"].best_ndcg_retained == 1.0

    def test_words_and_lists_are_judged_and_no_error(self, found):
        for row in found.rows:
            if row.problem is None:
                assert (
                    0
                    < row.nominal_accuracy_low
                    < row.nominal_accuracy
                    < row.nominal_accuracy_high
                    < 1
                )
                assert row.ndcg is not None
                assert row.rmse is None
                assert row.target_rmse is None

    def test_an_answer_speaks_of_words(self, found):
        choice = found.choice()
        assert (choice.reason, choice.is_nominal) == ("not-distinguishable", True)
        result = headline_of(choice) + describe_setting(found.rows[0], "both", found.axis)
        assert "labels" in headline_of(choice)
        assert "averages" not in result
        assert "ratings" not in result
        assert "RMSE" not in result

    def test_a_page_and_a_table(self, found, out):
        json.dumps(found.to_dict(), allow_nan=False)
        page = found.to_html()
        assert "accuracy of own row" in page
        assert "RMSE" not in page.partition("<body>")[2]
        assert "no better than most frequent labels" in page or "Nothing to draw" in page
        table = pq.read_table(out / "comparison.parquet")
        assert table["nominal_accuracy"].null_count == 2

    def test_finished_cells_are_found_again_but_not_for_other_liked_words(
        self, found, unordered, out
    ):
        options = {"k": [5], "targets": 40, "methods": ["nominal"]}
        again = compare(unordered, out, liked=["like", "love"], **options)
        assert again.computed == 0
        assert again.rows[0] == found.rows[0]
        assert compare(unordered, out, liked="love", **options).computed == 1

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"methods": ["simple"]}, "method.unsupported"),
            ({"utility": "lists"}, "option.required"),
            ({"liked": "loved"}, "option.value"),
        ],
        ids=str,
    )
    def test_what_makes_no_sense_is_refused_before_the_work(
        self, unordered, tmp_path, options, code
    ):
        with raises(code):
            compare(unordered, tmp_path / "out", k=[5], **options)
        assert not list(tmp_path.iterdir())
