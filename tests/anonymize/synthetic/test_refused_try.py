"""A try that noise has refused counts: it asked people."""

import numpy as np
import pytest

from recveil.anonymize import Synthesizer
from recveil.anonymize.synthetic import mechanism as gate
from recveil.anonymize.synthetic.budget import Budget
from recveil.anonymize.synthetic.noisy_sums import SHARES
from recveil.datasets import make_ratings
from recveil.errors import RecveilError
from recveil.ratings import RatingScale
from recveil.release.ledger import epsilon_of


@pytest.fixture(scope="module")
def few():
    return make_ratings(60, 40, 900, seed=1, scale=RatingScale(1, 5, 1))


def kept_with(epsilon, share, threshold=0.0):
    """What a whole try keeps beside another that was refused after a share of its budget."""
    budget = Budget.of(epsilon, 1e-6, threshold_delta=threshold)
    return epsilon_of(budget.mu * np.sqrt(1 + share), 1e-6 - 2 * threshold)


def refused(ratings, epsilon, **options):
    with pytest.raises(RecveilError) as caught:
        Synthesizer(epsilon, **options).anonymize(ratings)
    assert len(str(caught.value)) < 300
    return str(caught.value)


def test_that_people_are_too_few_costs_the_first_answer_alone(few):
    told = refused(few, 0.01, catalogue="as-rated", seed=1)
    assert "how many people there are" in told
    both = kept_with(0.01, SHARES["people by activity"])
    assert told.endswith(
        f"counts, as people were asked: together with the next one it keeps epsilon {both:.3g}"
    )


def test_that_no_item_can_be_named_costs_all_answers_until_then(few, monkeypatch):
    monkeypatch.setattr(gate, "threshold", lambda *_, **__: 1e9)
    told = refused(few, 20.0, seed=1)
    assert "no item is popular enough" in told
    asked = ("people by activity", "labels", "means of people", "item sums")
    both = kept_with(20.0, sum(SHARES[name] for name in asked), threshold=1e-7)
    assert told.endswith(f"keeps epsilon {both:.3g}")


def test_what_is_refused_before_anybody_was_asked_costs_nothing(few):
    assert "counts" not in refused(few, 3.0, catalogue="as-rated", people=0)
