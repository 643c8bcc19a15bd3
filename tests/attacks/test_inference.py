"""Membership inference from one release, and the words for it."""

from types import SimpleNamespace

import numpy as np
import pytest

from recveil.attacks import Adversary, Candidates, Interval
from recveil.attacks.membership.inference import (
    hold_out,
    infer_membership,
    infer_memberships,
)
from recveil.attacks.membership.scores import SCORERS, score_by_narrowest
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import LIKES
from recveil.report.audit.disclosure import MEMBERSHIP, describe_membership


@pytest.mark.parametrize(
    ("rate", "low", "words"),
    [
        (0.58, 0.51, "infers slightly better than a random guess who"),
        (0.6, 0.55, "sometimes infers who"),
        (0.75, 0.7, "often infers who"),
        (0.95, 0.9, "nearly always infers who"),
        (1.0, 1.0, "nearly always infers who"),
    ],
)
def test_words_rise_with_the_area(rate, low, words):
    assert describe_membership(Interval(rate, low, 1.0, 99), "She").startswith(f"She {words}")


@pytest.mark.parametrize("rate", [0.5, 0.57, 0.99])  # an interval that holds a coin shows nothing
def test_a_coin_is_no_evidence(rate):
    result = describe_membership(Interval(rate, 0.49, 1.0, 99), "An adversary")
    assert result.startswith(
        "By scores that use one release only, it is not shown that an adversary infers who"
    )
    assert "--shadows 32" in result


def test_results_of_shadow_releases_are_next_to_those_of_one_release():
    result = describe_membership(
        Interval(0.57, 0.49, 0.64, 99), shadows=Interval(0.9, 0.8, 0.95, 99)
    )
    assert "AUC 0.90 (0.80–0.95)" in result
    assert "--shadows" not in result  # they were made


@pytest.mark.parametrize(("rate", "low"), [(0.57, 0.49), (0.58, 0.51), (0.7, 0.6), (0.94, 0.9)])
def test_an_area_that_is_not_high_does_not_reassure(rate, low):
    result = describe_membership(Interval(rate, low, 1.0, 99))
    assert "lower bound" in result
    assert "lower bound" not in describe_membership(Interval(0.97, 0.95, 0.99, 99))


@pytest.mark.parametrize("area", [0.3, 0.5, 0.57, 0.65, 0.8, 0.94])
@pytest.mark.parametrize("width", [0.01, 0.2])
def test_an_area_comes_with_what_a_stronger_test_found(area, width):
    result = describe_membership(Interval(area, area - width, area + width, 300))
    assert result.endswith(MEMBERSHIP)


def test_a_better_score_is_one_more_entry(invented, monkeypatch):
    anonymizer, adversary = PredictiveAnonymizer(5, seed=1), Adversary(known=4)
    before = infer_membership(invented, anonymizer, adversary, seed=3)
    assert before.scorer in SCORERS
    outside = np.random.default_rng(3).permutation(invented.n_users)[: invented.n_users // 5]

    def was_inferred(_candidates, _adversary, known, _scale):
        return [np.zeros(known.targets.size), 1.0 - np.isin(known.targets, outside)]

    monkeypatch.setitem(SCORERS, "was inferred", was_inferred)
    after = infer_membership(invented, anonymizer, adversary, seed=3)
    assert (after.auc.rate, after.scorer) == (1.0, "was inferred")


def test_a_score_that_is_the_same_for_all_users_is_not_chosen(invented, monkeypatch):
    """Its area would be one half without any doubt, which would pass for evidence."""

    def same(_candidates, _adversary, known, _scale):
        return [np.ones(known.targets.size)]

    def against(_candidates, _adversary, known, _scale):
        return [-1.0 * known.targets]

    monkeypatch.setattr(
        "recveil.attacks.membership.inference.SCORERS", {"same": same, "against": against}
    )
    result = infer_membership(invented, PredictiveAnonymizer(5, seed=1), Adversary(known=4), seed=3)
    assert result.scorer == "against"
    assert result.auc.high - result.auc.low > 0.01
    monkeypatch.setattr("recveil.attacks.membership.inference.SCORERS", {"same": same})
    result = infer_membership(invented, PredictiveAnonymizer(5, seed=1), Adversary(known=4), seed=3)
    assert (result.scorer, result.auc.rate) == ("same", 0.5)


class TestNarrowest:
    """Likes: the narrowest row that holds what is known."""

    @staticmethod
    def scores(rows, known, scale=LIKES):
        users = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        likes = Ratings.from_columns(users, [item for row in rows for item in row])
        items = np.array([item for each in known for item in each], np.int32)
        starts = np.concatenate([[0], np.cumsum([len(each) for each in known])])
        about = SimpleNamespace(targets=np.arange(len(known)), items=items, indptr=starts)
        candidates = Candidates.from_ratings(likes)
        return score_by_narrowest(candidates, Adversary(), about, scale)

    def test_by_hand(self):
        """Rows {0, 1} and {0, 1, 2, 3}; there are four items, so that each lacked counts five."""
        per_item, whole = self.scores([[0, 1], [0, 1, 2, 3]], [[0, 1], [0], [2], [1, 2]])
        assert whole.tolist() == [-2, -2, -4, -4]
        assert per_item.tolist() == [-1, -2, -4, -2]
        (_, lacking) = self.scores([[0, 1], [2, 3]], [[0, 2]])
        assert lacking.tolist() == [-(2 + 5)]

    def test_where_there_are_ratings_it_does_not_apply(self):
        assert self.scores([[0, 1]], [[0]], RatingScale(1, 5, 1)) == []

    def test_filled_rows_reveal_members_and_one_row_for_all_reveals_none(self, monkeypatch):
        monkeypatch.setattr("recveil.attacks.membership.inference.JOINT", {})
        likes = make_ratings(n_users=200, n_items=150, n_ratings=4_000, seed=1).as_likes()
        result = infer_memberships(likes, hold_out(likes, KCoRater(3, seed=1)))
        assert result["all"].auc.rate > 0.95
        assert result["all"].scorer == "narrowest"
        null = infer_memberships(likes, hold_out(likes, KCoRater(160, seed=1)))
        assert null["all"].auc.low <= 0.5
