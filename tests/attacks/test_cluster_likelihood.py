"""Cluster-likelihood: a release worked by hand, a dense oracle, a null, and planted clusters."""

import math
from dataclasses import replace

import numpy as np
import pytest

from recveil.attacks import (
    Adversary,
    AttackTarget,
    Candidates,
    ClusterLikelihood,
    Knowledge,
    attack_release,
    draw_knowledge,
    wilson_interval,
)
from recveil.attacks.reidentification import clusters as module
from recveil.attacks.reidentification.clusters import find_clusters
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, Pseudonymizer, SparseRows
from recveil.ratings import RatingScale
from recveil.release.records import Records

KNOWS_8 = Adversary(known=8)
ITEMS_ALONE = Adversary(known=8, rating_error=None)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=800, n_items=400, n_ratings=24_000, seed=3)


@pytest.fixture(scope="module")
def table(ratings):
    return AttackTarget.from_release(SparseRows(5, seed=1).anonymize(ratings), ratings)


def attacked(ratings, table, adversary, seed=0):
    known = draw_knowledge(ratings, adversary, np.arange(ratings.n_users), seed)
    attack = ClusterLikelihood.of(adversary, ratings.scale)
    return attack, known, attack.attack(table.candidates, known, table.record_of)


def test_by_hand(monkeypatch):
    # Three records of two users each: a 4, b 2; a 4, c 3; b 5, d 1. The first two are a cluster.
    rows = Records(
        np.array([2, 2, 2]),
        np.array([0, 2, 4, 6]),
        np.array([0, 1, 0, 2, 1, 3], np.int32),
        np.array([4.0, 2.0, 4.0, 3.0, 5.0, 1.0]),
    )
    candidates = Candidates.from_records([rows], 9, RatingScale(1, 5, 1))
    monkeypatch.setitem(module._CLUSTERS, candidates, np.array([0, 0, 1]))
    known = Knowledge(
        *(np.array([0, 1]), np.array([0, 2, 3]), np.array([0, 2, 1], np.int32)),
        *(np.array([4, 3, 2], np.float32), None, None, 0),
    )
    # Of 12 choices, 4 are of a and of b, 2 of c and of d. Of the cluster's 8, 4 are of a, 2 of b
    # and of c; of the other's 4, 2 are of b and of d. Half of a row's are of each of its items.
    # Means: a 4, b (2 + 2 + 5 + 5) / 4 = 3.5, c 3.
    a = 0.5 * 4 / 12, 0.48 * 4 / 8, 0.02 / 2
    c = 0.5 * 2 / 12, 0.48 * 2 / 8, 0.02 / 2
    first = math.log((a[0] + a[1] + a[2]) / a[0]) + math.log((c[0] + c[1]) / c[0])
    second = math.log(sum(a) / a[0]) + math.log(sum(c) / c[0])
    # Known: b 2. The cluster's mean is 2, and the other's 5; by 3.5, the rating is 1.5 off.
    b = 0.5 * 4 / 12, 0.48 * 2 / 8, 0.48 * 2 / 4, 0.02 / 2
    of_b = [
        math.log((b[0] + b[1] + b[3]) / b[0]) + (1.5**2 - 0) / 2,
        math.log((b[0] + b[1]) / b[0]) + (1.5**2 - 0) / 2,
        math.log((b[0] + b[2] + b[3]) / b[0]) + (1.5**2 - 3**2) / 2,
    ]
    attack = ClusterLikelihood(spread=1.0)
    scores = list(attack._score(candidates, known))
    assert scores[0] == pytest.approx([first, second, 0])
    assert scores[1] == pytest.approx(of_b)
    guesses = attack.attack(candidates, known, np.array([1, 0]))
    assert guesses.best.tolist() == [1, 0]
    assert guesses.tied_users.tolist() == [2, 2]
    assert guesses.target_is_top.all()
    # Without ratings, b is as frequent in the row of the other cluster, and its share is larger.
    alone = attack.attack(candidates, replace(known, values=None), np.array([1, 0]))
    assert alone.best.tolist() == [1, 2]


def oracle(table, known, clusters, spread):
    """Score every record with dense matrices."""
    shape = (table.candidates.n_records, table.n_items)
    has, values = np.zeros(shape), np.zeros(shape)
    records = np.repeat(np.arange(shape[0]), np.diff(table.indptr))
    has[records, table.indices], values[records, table.indices] = 1, table.values
    sizes = table.candidates.sizes[:, None]
    of_all = (sizes * has).sum(axis=0) / (sizes * has).sum()
    means = (sizes * values).sum(axis=0) / np.maximum((sizes * has).sum(axis=0), 1)
    likely, centres = np.zeros(shape), np.tile(means, (shape[0], 1))
    for cluster in range(clusters.max() + 1):
        inside = clusters == cluster
        counts = (sizes * has)[inside].sum(axis=0)
        likely[inside] = counts / counts.sum()
        totals = (sizes * values)[inside].sum(axis=0)
        centres[inside] = np.where(counts > 0, totals / np.maximum(counts, 1), means)
    rows = has / has.sum(axis=1, keepdims=True)
    for target in range(known.targets.size):
        entries = slice(known.indptr[target], known.indptr[target + 1])
        items = known.items[entries]
        items, at = items[of_all[items] > 0], np.flatnonzero(of_all[items] > 0)
        mixed = 0.02 * rows[:, items] + 0.48 * likely[:, items] + 0.5 * of_all[items]
        score = np.log(mixed / (0.5 * of_all[items])).sum(axis=1)
        if known.values is not None:
            rated = known.values[entries][at]
            off = (rated - means[items]) ** 2 - (rated - centres[:, items]) ** 2
            score += off.sum(axis=1) / (2 * spread**2)
        yield score


@pytest.mark.parametrize("adversary", [KNOWS_8, ITEMS_ALONE])
def test_scores_against_the_oracle(ratings, table, adversary, monkeypatch):
    monkeypatch.setattr(module, "_MOST_SCORES", 7 * table.candidates.n_records)
    attack, known, guesses = attacked(ratings, table, adversary)
    slow = list(oracle(table, known, find_clusters(table.candidates), attack.spread))
    fast = list(attack._score(table.candidates, known))
    assert np.allclose(fast, slow)
    for target, score in enumerate(slow):
        top = np.flatnonzero(score >= score.max() - 1e-9)
        assert guesses.tied_users[target] == table.candidates.sizes[top].sum()
        assert guesses.best[target] == (top[0] if top.size == 1 else -1)


@pytest.mark.parametrize("adversary", [KNOWS_8, ITEMS_ALONE, Adversary(known=8, right=6)])
def test_it_finds_far_more_classes_of_sparse_rows_than_other_attacks(ratings, table, adversary):
    found = attack_release(ratings, table, adversary, np.arange(800), seed=1)
    assert found.attack == "cluster-likelihood"
    others = [found.by_attack[name].rate for name in found.by_attack if name != found.attack]
    assert found.reidentified.rate > 1.4 * max(others)
    assert found.reidentified.rate <= found.bound


def test_a_planted_cluster_is_found_by_items_that_the_own_row_lacks(monkeypatch):
    """Of 20 clusters with 15 of 60 items each, four rows with four of them are released."""
    rng = np.random.default_rng(0)
    of_cluster = [rng.choice(60, 15, replace=False) for _ in range(20)]
    clusters = np.repeat(np.arange(20), 4)
    items = [np.sort(rng.choice(of_cluster[cluster], 4, replace=False)) for cluster in clusters]
    rows = Records(
        np.full(80, 5),
        np.arange(81) * 4,
        np.concatenate(items).astype(np.int32),
        np.full(320, 3.0),
    )
    candidates = Candidates.from_records([rows], 60, RatingScale(1, 5, 1))
    record_of = np.repeat(np.arange(80), 5)
    known = np.stack([rng.choice(of_cluster[clusters[own]], 5, False) for own in record_of])
    knowledge = Knowledge(
        *(np.arange(400), np.arange(401) * 5, known.ravel().astype(np.int32)),
        *(None, None, None, 0),
    )
    shares = []
    for inferred in (clusters, np.arange(80)):
        of_these = replace(candidates)
        monkeypatch.setitem(module._CLUSTERS, of_these, inferred)
        best = ClusterLikelihood().attack(of_these, knowledge, record_of).best
        shares.append(np.mean((best >= 0) & (clusters[best] == clusters[record_of])))
    assert shares[0] > 0.75 > shares[1] + 0.1


def test_of_likes_each_row_is_its_own_cluster(ratings):
    likes = ratings.as_likes()
    table = AttackTarget.from_release(SparseRows(5, seed=1).anonymize(likes), likes)
    found = attack_release(likes, table, ITEMS_ALONE, np.arange(800), seed=1)
    assert found.attack == "cluster-likelihood"
    assert found.reidentified.low > found.baseline


@pytest.mark.parametrize("adversary", [KNOWS_8, ITEMS_ALONE])
def test_users_with_records_at_random_are_found_no_better_than_by_a_random_guess(
    ratings, table, adversary
):
    rng = np.random.default_rng(0)
    successes, trials = 0.0, 0
    for seed in range(10):
        at_random = replace(table, record_of=rng.permutation(table.record_of))
        _, known, guesses = attacked(ratings, at_random, adversary, seed)
        successes, trials = successes + guesses.chance.sum(), trials + known.targets.size
    interval = wilson_interval(successes, trials)
    assert interval.low <= 1 / 800 <= interval.high


def test_it_is_not_run_where_no_users_share_rows_of_few_items(ratings):
    padded = PredictiveAnonymizer(5, seed=1).anonymize(ratings)
    for release in (padded, Pseudonymizer(seed=1).anonymize(ratings)):
        table = AttackTarget.from_release(release, ratings)
        found = attack_release(ratings, table, KNOWS_8, np.arange(30))
        assert "cluster-likelihood" in found.not_run


def test_items_that_are_in_no_record_reveal_nothing(table):
    unused = np.setdiff1d(np.arange(table.n_items), table.indices)[:1]
    assert unused.size
    known = Knowledge(
        *(np.array([0]), np.array([0, 1]), unused.astype(np.int32)),
        *(np.array([5], np.float32), None, None, 0),
    )
    guesses = ClusterLikelihood().attack(table.candidates, known, table.record_of)
    assert (guesses.best[0], guesses.tied_users[0]) == (-1, 800)


def test_a_forgotten_mixture_is_computed_again(table):
    known = Knowledge(
        *(np.array([0]), np.array([0, 1]), table.indices[:1].astype(np.int32)),
        *(np.array([5], np.float32), None, None, 0),
    )
    likelihood, found = ClusterLikelihood(), []
    for _ in range(2):
        found.append(likelihood.attack(table.candidates, known, table.record_of))
        assert table.candidates in module._MIXTURES
        module.forget_mixture(table.candidates)
        assert table.candidates not in module._MIXTURES
    assert found[0].tied_users.tolist() == found[1].tied_users.tolist()
