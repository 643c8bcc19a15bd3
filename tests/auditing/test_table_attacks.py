"""All attacks on a table look among the candidates that they are given, wherever these lie."""

import math

import numpy as np
import pytest

from recveil.attacks import PRESETS, Adversary, Candidates
from recveil.auditing._audit import attack_table, fit_adversary
from recveil.auditing.request import AuditRequest
from recveil.auditing.table_attacks import attack_graphs
from recveil.datasets import make_ratings
from recveil.ratings import Ratings


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(80, 40, 900, seed=1)


def attacked(ratings, candidates, *, curves):
    one, targets = [Adversary(known=4, name="one")], np.arange(20)
    request = AuditRequest(source=ratings, adversaries=one, curves=curves)
    return attack_table(request, ratings, candidates, one, targets, str)


def test_without_curves_the_table_is_not_listed_again(ratings, monkeypatch):
    whole = Candidates.from_ratings(ratings)
    monkeypatch.delattr(Candidates, "from_ratings")
    assert attacked(ratings, whole, curves=False).attacks


def test_no_adversary_knows_what_a_table_does_not_contain():
    likes = Ratings.from_columns([1, 1, 2], ["a", "b", "a"])
    paper = fit_adversary(likes, PRESETS["paper"])
    assert (paper.date_error, paper.rating_error, paper.wrong_kind) == (None, None, "item")


def test_without_users_of_enough_items_the_graph_attacks_have_no_rate():
    ratings = Ratings.from_columns([1, 1, 2, 3], ["a", "b", "a", "b"], [5, 1, 5, 1])
    for attack in attack_graphs(ratings, None, np.arange(3)):
        assert math.isnan(attack.unique.rate)
        assert math.isnan(attack.expected.rate)
        assert attack.unique.trials == 0
