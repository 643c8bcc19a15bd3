"""All attacks on a table look among the candidates that they are given, wherever these lie."""

import numpy as np
import pytest

from recveil.attacks import PRESETS, Adversary, Candidates
from recveil.auditing.table_attacks import attack_table, fitted
from recveil.datasets import make_ratings
from recveil.ratings import Ratings


class Counted(Candidates):
    """Candidates that count how often somebody looks among them."""

    looks = 0

    def look(self, work, sought, threads):
        Counted.looks += 1
        return super().look(work, sought, threads)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(80, 40, 900, seed=1)


def attacked(ratings, candidates, *, curves):
    one, everybody = [Adversary(known=4, name="one")], np.arange(20)
    return attack_table(*(ratings, candidates, one, everybody, str), draws=1, seed=0, curves=curves)


def test_every_attack_looks_among_the_given_candidates(ratings):
    whole = Candidates.from_ratings(ratings)
    found = attacked(ratings, Counted(**vars(whole)), curves=True)
    assert Counted.looks > 100
    wanted = attacked(ratings, whole, curves=True)
    assert found.checks == wanted.checks
    assert found.graphs == wanted.graphs
    assert found.deanonymized == wanted.deanonymized
    assert found.sufficient == wanted.sufficient
    for one, other in ((found.attacks, wanted.attacks), (found.figures, wanted.figures)):
        assert [each.to_dict() for each in one] == [each.to_dict() for each in other]
    assert np.array_equal(found.risk.found, wanted.risk.found, equal_nan=True)


def test_without_curves_the_table_is_not_listed_again(ratings, monkeypatch):
    whole = Candidates.from_ratings(ratings)
    monkeypatch.delattr(Candidates, "from_ratings")
    assert attacked(ratings, whole, curves=False).attacks


def test_nobody_knows_what_a_table_does_not_tell():
    likes = Ratings.from_columns([1, 1, 2], ["a", "b", "a"])
    paper = fitted(likes, PRESETS["paper"])
    assert (paper.date_error, paper.rating_error, paper.wrong_kind) == (None, None, "item")
