"""What the owner hears of the other rows that promise the same."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, SparseRows, Synthesizer, anonymize
from recveil.methods.registry import summarize
from recveil.ratings import RatingScale
from recveil.release.coverage import CoverageWarning
from recveil.release.exact_ratings import HIGH
from recveil.release.sides import Sides
from recveil.release.specs.predictive import SPARSE_KEEPS_MORE
from recveil.report.release import describe_summary
from recveil.runtime.errors import RecveilError
from recveil.verification._verify import verify

pytestmark = pytest.mark.usefixtures("rough_fit")


@pytest.fixture(scope="module")
def many_users():
    return make_ratings(300, 40, 5_000, seed=3, scale=RatingScale(1, 5, 1))


@pytest.fixture(scope="module")
def drawn(many_users):
    return Synthesizer(20.0, item_catalog="as-rated").anonymize(many_users)


def with_epsilon(release, epsilon):
    published = release.published
    claim = replace(published.claim, epsilon=epsilon)
    return Sides(replace(published, claim=claim), release.private)


def test_padded_rows_are_mentioned_next_to_sparse_ones(invented):
    release = PredictiveAnonymizer(5, seed=1).anonymize(invented)
    assert SPARSE_KEEPS_MORE in describe_summary(summarize(release, invented))
    assert SparseRows(5, seed=1).anonymize(invented).published.claim.k == 5


@pytest.mark.parametrize(
    "options",
    [
        {"homogenize": "simple"},
        {"values": "predicted"},
        {"padding": 0.5},
        {"privacy_levels": "activity<40:9,else:5"},
    ],
)
def test_it_is_stated_of_nothing_else(options, invented):
    result = describe_summary(
        summarize(PredictiveAnonymizer(5, seed=1, **options).anonymize(invented), invented)
    )
    assert SPARSE_KEEPS_MORE not in result


def test_rows_that_reveal_most_ratings_are_a_warning(invented):
    def warned(**options):
        release = PredictiveAnonymizer(2, seed=1, **options).anonymize(invented)
        summary = summarize(release, invented)
        share = summary.figures.exact and summary.figures.exact.exact_share
        result = describe_summary(summary)
        return share, any(each.startswith("warning: The rows reveal") for each in result)

    share, is_warned = warned(homogenize="simple")
    assert (share >= HIGH) == is_warned
    assert is_warned


def test_nor_of_users_whom_sparse_rows_refuse():
    ratings = make_ratings(n_users=19, n_items=20, n_ratings=150, seed=1)
    with raises("table.too-few-users"):
        SparseRows(5).anonymize(ratings)
    result = describe_summary(
        summarize(PredictiveAnonymizer(5, seed=1).anonymize(ratings), ratings)
    )
    assert SPARSE_KEEPS_MORE not in result


@pytest.mark.parametrize(
    ("epsilon", "judged"),
    [(9.9, None), (10.0, "a weak"), (19.9, "a weak"), (20.0, "no meaningful")],
)
def test_an_epsilon_is_judged_as_the_docs_judge_it(drawn, many_users, epsilon, judged):
    result = " ".join(describe_summary(summarize(with_epsilon(drawn, epsilon), many_users)))
    assert ("1 is strong" in result) is bool(judged)
    assert (judged or "") in result
    assert "weak guarantee" not in result or judged == "a weak"


def test_who_checks_a_release_hears_of_its_epsilon_too(drawn, tmp_path):
    drawn.write(tmp_path / "out")
    limits = {limit.code: limit.values for limit in verify(tmp_path / "out").not_covered}
    assert limits["large-epsilon"] == (20,)


def test_a_low_coverage_warns_from_python():
    ratings = make_ratings(50, 30, 400, seed=1)
    with pytest.warns(CoverageWarning) as caught:
        release = anonymize(ratings, k=20, seed=1, allow_sparse_coverage=True)
    (warning,) = [each for each in caught if each.category is CoverageWarning]
    kept = np.unique(release.to_arrow()["item_id"]).size
    assert f" {kept} of {np.count_nonzero(ratings.support)} items" in str(warning.message)
    assert f"items: {kept} of " in repr(release)


def test_a_nearly_empty_release_is_not_recommended(tmp_path):
    ratings = make_ratings(50, 30, 400, seed=1)
    for k, ending in ((20, "Nearly empty"), (2, "Publish")):
        with warnings.catch_warnings(action="ignore"):
            made = anonymize(ratings, tmp_path / str(k), k=k, seed=1, allow_sparse_coverage=True)
        assert made.sentences()[-1].startswith(ending)


def test_a_smaller_k_is_named_where_it_may_help_alone(tmp_path):
    months = make_ratings(50, 300, 60, seed=1)  # hardly a rating a user
    years = make_ratings(50, 30, 400, seed=1)
    for ratings, k, can_help in ((months, 2, False), (months, 3, False), (years, 20, True)):
        with pytest.raises(RecveilError) as caught:
            anonymize(ratings, tmp_path / "out", k=k, seed=1)
        assert caught.value.code == "release.nearly-empty"
        assert ("lower k" in str(caught.value)) is can_help
