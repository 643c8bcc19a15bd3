import numpy as np
import pytest

from recveil.attacks import (
    Adversary,
    AttackTarget,
    Candidates,
    Knowledge,
    attack_release,
    draw_knowledge,
    find_nearest,
)
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import RatingScale
from recveil.release.records import Records

# Three records of a release over items a, b, c with 2, 3 and 4 users:
#   0: a 4, b 2        1: a 4, b 3, c 1        2: b 3
TABLE = Candidates.from_records(
    [
        Records(
            np.array([2, 3, 4]),
            np.array([0, 2, 5, 6]),
            np.array([0, 1, 0, 1, 2, 1], np.int32),
            np.array([4.0, 2.0, 4.0, 3.0, 1.0, 3.0]),
        )
    ],
    n_items=3,
    scale=RatingScale(1, 5, 1),
)
RECORD_OF = np.array([0, 1, 2, -1])


def _know(targets, items, values):
    n = len(targets)
    per_target = len(items) // n
    return Knowledge(
        np.array(targets),
        np.arange(n + 1) * per_target,
        np.array(items, np.int32),
        None if values is None else np.array(values, np.float32),
        *(None, None, 0),
    )


def test_by_hand():
    # Known: a 4, b 3. The largest difference of labels is 3, so a missing item counts 9.
    # Record 0: 0 + 1 = 1; record 1: 0 + 0 = 0; record 2: 9 + 0 = 9. The nearest is record 1.
    nearby = find_nearest(TABLE, _know([1, 0], [0, 1, 0, 1], [4, 3, 4, 3]), RECORD_OF)
    assert nearby.best.tolist() == [1, 1]
    assert nearby.tied_users.tolist() == [3, 3]
    assert nearby.target_is_top.tolist() == [True, False]


def test_ties_are_nobodys():
    # Known: b 3 alone. Records 1 and 2 are at distance 0.
    nearby = find_nearest(TABLE, _know([2], [1], [3]), RECORD_OF)
    assert (nearby.best[0], nearby.tied_users[0], nearby.target_is_top[0]) == (-1, 7, True)


def test_without_ratings_missing_items_count_alone():
    # Known: a and c were rated. Record 1 carries both, 0 lacks one, 2 lacks both.
    nearby = find_nearest(TABLE, _know([1, 3], [0, 2, 0, 2], None), RECORD_OF)
    assert nearby.best.tolist() == [1, 1]
    assert nearby.target_is_top.tolist() == [True, False]  # user 3 is not in the release


@pytest.mark.parametrize("homogenize", ["padded", "simple"])
def test_the_dense_way(invented, homogenize):
    release = PredictiveAnonymizer(4, homogenize, seed=2).anonymize(invented)
    table = AttackTarget.from_release(release, invented)
    known = draw_knowledge(invented, Adversary(known=5), np.arange(40), seed=1)
    nearby = find_nearest(table.candidates, known, table.record_of)
    span = np.ptp(table.candidates.levels) ** 2
    for target in range(known.targets.size):
        own = slice(known.indptr[target], known.indptr[target + 1])
        distances = []
        for record in range(table.candidates.n_records):
            items, labels = table.row(record)
            row = dict(zip(items.tolist(), labels.tolist(), strict=True))
            pairs = zip(known.items[own].tolist(), known.values[own].tolist(), strict=True)
            distances.append(sum((row[i] - v) ** 2 if i in row else span for i, v in pairs))
        nearest = np.flatnonzero(np.array(distances) <= min(distances) + 1e-6)
        assert nearby.tied_users[target] == table.candidates.sizes[nearest].sum()
        if nearest.size == 1:
            assert nearby.best[target] == nearest[0]


@pytest.mark.parametrize("homogenize", ["padded", "simple"])
@pytest.mark.parametrize("k", [2, 5, 20])
def test_no_user_is_found_above_1_in_k_whatever_is_known(invented, homogenize, k):
    release = PredictiveAnonymizer(k, homogenize, seed=2).anonymize(invented)
    table = AttackTarget.from_release(release, invented)
    for known in (1, 4, 16):
        found = attack_release(invented, table, Adversary(known=known), np.arange(300), seed=3)
        assert found.reidentified.rate <= 1 / k + 1e-12
        assert found.class_reidentified.trials == 300


def test_the_stronger_attack_is_reported(invented):
    release = PredictiveAnonymizer(5, seed=2).anonymize(invented)
    table = AttackTarget.from_release(release, invented)
    found = attack_release(invented, table, Adversary(known=8), np.arange(300), seed=3)
    assert found.attack in ("nearest", "scoreboard-rh", "likelihood", "residual")
    known = draw_knowledge(invented, Adversary(known=8), np.arange(300), seed=3)
    nearby = find_nearest(table.candidates, known, table.record_of)
    assert found.reidentified.rate * 300 >= (nearby.target_is_top / nearby.tied_users).sum() - 1e-9
