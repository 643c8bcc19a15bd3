"""All attacks on a table look among the candidates that they are given, wherever these lie."""

import numpy as np
import pytest

from recveil.attacks import Adversary, Candidates
from recveil.auditing._audit import attack_table
from recveil.auditing.request import AuditRequest
from recveil.datasets import make_ratings


class Counted(Candidates):
    """Candidates that count how often they are searched."""

    looks = 0

    def search(self, work, query, threads):
        Counted.looks += 1
        return super().search(work, query, threads)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(80, 40, 900, seed=1)


def attacked(ratings, candidates, *, curves):
    one, targets = [Adversary(known=4, name="one")], np.arange(20)
    request = AuditRequest(source=ratings, adversaries=one, curves=curves)
    return attack_table(request, ratings, candidates, one, targets, str)


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
    assert np.array_equal(found.risk.rates, wanted.risk.rates, equal_nan=True)
