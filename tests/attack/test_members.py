"""Words for how well somebody can tell who was in the data."""

import numpy as np
import pytest

from recveil.anonymize import PredictiveAnonymizer
from recveil.attack import Adversary, Interval
from recveil.attack.members import SCORERS, describe_membership, membership


@pytest.mark.parametrize(
    ("rate", "low", "words"),
    [
        (0.58, 0.51, "can tell little better than a coin who"),
        (0.6, 0.55, "can sometimes tell who"),
        (0.75, 0.7, "can often tell who"),
        (0.95, 0.9, "can nearly always tell who"),
        (1.0, 1.0, "can nearly always tell who"),
    ],
)
def test_words_rise_with_the_area(rate, low, words):
    assert describe_membership(Interval(rate, low, 1.0, 99), "She").startswith(f"She {words}")


@pytest.mark.parametrize("rate", [0.5, 0.57, 0.99])  # an interval that holds a coin shows nothing
def test_a_coin_is_no_evidence(rate):
    told = describe_membership(Interval(rate, 0.49, 1.0, 99), "An adversary")
    assert told.startswith("By this test, an adversary did not tell who was in the data")


@pytest.mark.parametrize(("rate", "low"), [(0.57, 0.49), (0.58, 0.51), (0.7, 0.6), (0.94, 0.9)])
def test_an_area_that_is_not_high_reassures_nobody(rate, low):
    told = describe_membership(Interval(rate, low, 1.0, 99))
    assert "This area is a lower bound" in told
    assert "lower bound" not in describe_membership(Interval(0.97, 0.95, 0.99, 99))


def test_a_better_score_is_one_more_entry(invented, monkeypatch):
    anonymizer, adversary = PredictiveAnonymizer(5, seed=1), Adversary(known=4)
    before = membership(invented, anonymizer, adversary, seed=3)
    assert before.scorer in SCORERS
    outside = np.random.default_rng(3).permutation(invented.n_users)[: invented.n_users // 5]

    def was_told(_candidates, _adversary, known, _scale):
        return [np.zeros(known.targets.size), 1.0 - np.isin(known.targets, outside)]

    monkeypatch.setitem(SCORERS, "was told", was_told)
    after = membership(invented, anonymizer, adversary, seed=3)
    assert (after.auc.rate, after.scorer) == (1.0, "was told")
