"""The result for a target does not depend on which targets are searched with it."""

import numpy as np
import pytest

from recveil.attacks import (
    Adversary,
    Candidates,
    Likelihood,
    Scoreboard,
    ScoreboardRH,
    choose_targets,
    draw_knowledge,
)
from recveil.attacks.knowledge import Query, target_rows
from recveil.datasets import make_ratings

KNOWN = Adversary(known=4, date_error=14, rating_error=1, activity_error=0.5)
CUTS = ((0, 1), (1, 7), (7, 40))


class Cut(Candidates):
    """Candidates that are looked through in parts."""

    def look(self, work, sought, threads):
        cuts = [cut for cut in CUTS if cut[0] < sought.target_records.size]
        found = [work(self, sought.part(*cut), 1) for cut in cuts]
        return tuple(np.concatenate(arrays) for arrays in zip(*found, strict=True))


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(150, 60, 3_000, seed=2)


@pytest.mark.parametrize(
    "attack", [ScoreboardRH(), Likelihood.of(KNOWN), Scoreboard(rating_error=1, date_error=14)]
)
def test_parts_find_what_the_whole_finds(ratings, attack):
    knowledge = draw_knowledge(ratings, KNOWN, choose_targets(150, 40, 1), seed=3)
    whole = Candidates.from_ratings(ratings)
    record_of = np.arange(ratings.n_users)
    wanted = attack.attack(whole, knowledge, record_of)
    found = attack.attack(Cut(**vars(whole)), knowledge, record_of)
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other, equal_nan=True)


def test_parts_control_as_the_whole_does(ratings):
    knowledge = draw_knowledge(ratings, KNOWN, choose_targets(150, 40, 1), seed=3)
    whole, record_of = Candidates.from_ratings(ratings), np.arange(ratings.n_users)
    wanted = ScoreboardRH().control(whole, knowledge, record_of)
    found = ScoreboardRH().control(Cut(**vars(whole)), knowledge, record_of)
    assert np.array_equal(found, wanted)


def test_a_part_has_what_is_known_of_its_targets(ratings):
    knowledge = draw_knowledge(ratings, KNOWN, np.arange(150), seed=3)
    weights = np.arange(knowledge.items.size, dtype=np.float32)
    part = Query(knowledge, knowledge.targets, weights).part(3, 5)
    assert part.target_records.tolist() == knowledge.targets[3:5].tolist()
    assert part.knowledge.items.tolist() == knowledge.items[12:20].tolist()
    assert part.knowledge.days.tolist() == knowledge.days[12:20].tolist()
    assert part.knowledge.activity.tolist() == knowledge.activity[3:5].tolist()
    assert part.weights.tolist() == list(range(12, 20))
    assert part.knowledge.world is None


def test_own_rows_are_those_of_the_table(ratings):
    users = np.array([7, 3, 149])
    rows = target_rows(ratings, users)
    for at, user in enumerate(users):
        own = slice(rows.indptr[at], rows.indptr[at + 1])
        items, values = ratings.row(int(user))
        assert np.array_equal(rows.items[own], items)
        assert np.array_equal(ratings.values[rows.places[own]], values)
