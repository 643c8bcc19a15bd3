"""Clusters: records that share their values, and the targets whose cluster is inferred."""

from dataclasses import replace

import numpy as np
import pytest

from recveil.attacks import Adversary, AttackTarget, attack_release
from recveil.attacks.knowledge import know_everything
from recveil.attacks.reidentification import clusters as module
from recveil.attacks.reidentification.clusters import (
    attack_clusters,
    find_clusters,
    most_targets,
    too_many_to_compare,
)
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, SparseRows


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=400, n_items=150, n_ratings=16_000, seed=3)


@pytest.fixture(scope="module")
def table(ratings):
    return AttackTarget.from_release(SparseRows(5, seed=1).anonymize(ratings), ratings)


def test_the_file_alone_shows_the_clusters_that_rows_were_drawn_from(table):
    sizes = np.bincount(find_clusters(table.candidates), table.candidates.sizes)
    assert sizes.tolist() == 20 * [20.0]


def test_rows_of_few_items_join_the_cluster_that_they_share_most_values_with():
    ratings = make_ratings(n_users=800, n_items=400, n_ratings=8_000, seed=3)
    table = AttackTarget.from_release(SparseRows(5, seed=1).anonymize(ratings), ratings)
    linked = find_clusters(replace(table.candidates, cluster_size=0))
    joined = find_clusters(table.candidates)
    n_small = [
        np.count_nonzero(np.bincount(clusters, table.candidates.sizes) < 20)
        for clusters in (linked, joined)
    ]
    assert n_small[0] > 3 * n_small[1]
    assert np.bincount(joined, table.candidates.sizes).max() < 40
    for cluster in range(linked.max() + 1):  # what is linked stays together
        assert np.unique(joined[linked == cluster]).size == 1


def test_rows_of_one_cluster_are_joined_and_nothing_more(ratings):
    release = SparseRows(5, cluster_size=200, seed=1).anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    assert np.bincount(find_clusters(table.candidates), table.candidates.sizes).max() == 200


def test_by_all_ratings_clusters_and_classes_are_inferred_far_above_the_blind_guess(ratings, table):
    found = attack_clusters(
        table, know_everything(ratings, np.arange(400)), find_clusters(table.candidates)
    )
    assert found.cluster_inferred.trials == 200  # the other half decides how
    assert 0.05 < found.cluster_baseline < 0.1  # of the 200 unknown users, 20 in a cluster
    assert 0.0125 < found.class_baseline <= 5 / 200
    assert found.cluster_inferred.low > 3 * found.cluster_baseline
    assert found.class_inferred.low > 3 * found.class_baseline
    assert found.class_inferred.rate < found.cluster_inferred.rate / 2


@pytest.mark.parametrize("k", [5, 20])
def test_of_users_with_records_at_random_nothing_is_inferred(ratings, k):
    """Known members resemble the target no more than others, and sizes are no news."""
    table = AttackTarget.from_release(SparseRows(k, seed=1).anonymize(ratings), ratings)
    at_random = np.random.default_rng(0).permutation(table.record_of)
    table = replace(table, record_of=at_random)
    known = know_everything(ratings, np.arange(400))
    found = attack_clusters(table, known, find_clusters(table.candidates))
    assert found.cluster_inferred.low <= found.cluster_baseline
    assert found.class_inferred.low <= found.class_baseline


def _with_rows_at_random(table):
    """Let every record have items and values at random, so that the file reveals nothing."""
    rng = np.random.default_rng(0)
    lengths = np.full(table.candidates.n_records, 20)
    items = [np.sort(rng.choice(table.n_items, 20, replace=False)) for _ in lengths]
    return replace(
        table,
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        indices=np.concatenate(items).astype(np.int32),
        values=rng.choice(table.candidates.levels, lengths.sum()),
    )


def test_classes_of_similar_users_are_inferred_from_known_members_alone(ratings, monkeypatch):
    table = AttackTarget.from_release(SparseRows(20, seed=1).anonymize(ratings), ratings)
    table = _with_rows_at_random(table)
    known, clusters = know_everything(ratings, np.arange(400)), np.arange(20)
    found = attack_clusters(table, known, clusters)
    assert found.class_inferred.low > 2 * found.class_baseline
    monkeypatch.setattr(module, "_of_members", lambda targets, rows, _: targets @ rows.T)
    without = attack_clusters(table, known, clusters)
    assert without.class_inferred.low <= without.class_baseline


def test_classes_whose_users_are_nearly_all_known_are_not_picked(ratings):
    """Of 20 classes, two have unknown users, and any other choice is wrong."""
    table = AttackTarget.from_release(SparseRows(20, seed=1).anonymize(ratings), ratings)
    record_of = table.record_of.copy()
    record_of[::2] = np.arange(200) % 18 + 2  # all known users
    record_of[1::2] = np.repeat([0, 1], 100)
    sizes = np.bincount(record_of, minlength=20)
    candidates = replace(table.candidates, sizes=sizes)
    table = replace(_with_rows_at_random(table), record_of=record_of, candidates=candidates)
    found = attack_clusters(table, know_everything(ratings, np.arange(400)), np.arange(20))
    assert found.class_baseline == 0.5
    assert found.class_inferred.rate > 0.4


def test_a_known_target_is_no_member_of_the_own_cluster():
    rng = np.random.default_rng(0)
    targets, rows = rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    cluster = np.array([1, 1, 1, 2, 3])
    apart = module._of_members(targets, rows, cluster)
    mean = (rows[1] + targets[2] + targets[4]) / 3  # without target 0
    assert apart[0, 1] == pytest.approx(((targets[0] - mean) ** 2).sum())
    mean = (rows[1] + targets[0] + targets[2] + targets[4]) / 4
    assert apart[1, 1] == pytest.approx(((targets[1] - mean) ** 2).sum())
    assert apart[6, 2] == pytest.approx(((targets[6] - rows[2]) ** 2).sum())


def test_chances_sum_to_at_most_the_unknown_users():
    chances = np.random.default_rng(0).dirichlet(np.ones(5), 30).astype(np.float32)
    unknown = np.array([3.0, 20, 20, 2, 0])
    fitted = module._fit_to_sizes(chances, unknown)
    assert fitted.sum(axis=1) == pytest.approx(1)
    assert (fitted.sum(axis=0) <= unknown * 1.01 + 0.01).all()
    assert module._fit_to_sizes(chances, np.full(5, 30.0)) == pytest.approx(chances)


def test_rows_of_as_many_users_as_a_cluster_are_never_linked(table):
    """A cluster has fewer than twice its smallest size; values of two may be equal by chance."""
    large = replace(table.candidates, sizes=np.full(80, 20))
    assert np.unique(find_clusters(replace(large, cluster_size=0))).size < 80
    assert np.unique(find_clusters(large)).size == 80


@pytest.mark.parametrize("k", [20, 40])
def test_where_each_class_is_its_own_cluster_classes_are_inferred(ratings, k):
    table = AttackTarget.from_release(SparseRows(k, seed=1).anonymize(ratings), ratings)
    clusters = find_clusters(table.candidates)
    assert clusters.tolist() == list(range(table.candidates.n_records))
    found = attack_clusters(table, know_everything(ratings, np.arange(400)), clusters)
    assert found.cluster_inferred == found.class_inferred
    assert found.class_inferred.low > 3 * found.class_baseline
    direct = attack_release(
        *(ratings, table, Adversary(known=1), np.arange(400)),
        known=know_everything(ratings, np.arange(400)),
    )
    assert found.class_inferred.rate > direct.class_reidentified.rate


def test_values_that_groups_do_not_share_show_no_clusters(ratings):
    for homogenize in ("padded", "simple"):
        release = PredictiveAnonymizer(5, homogenize, seed=1).anonymize(ratings)
        table = AttackTarget.from_release(release, ratings)
        assert np.bincount(find_clusters(table.candidates)).max() == 1


def test_of_likes_classes_are_inferred_by_items_alone(ratings):
    likes = ratings.as_likes()
    table = AttackTarget.from_release(SparseRows(5, seed=1).anonymize(likes), likes)
    clusters = find_clusters(table.candidates)
    assert np.bincount(clusters).max() == 1
    found = attack_clusters(table, know_everything(likes, np.arange(400)), clusters)
    assert found.class_inferred.low > found.class_baseline


def test_one_record_leaves_nothing_to_infer(ratings):
    release = PredictiveAnonymizer(300, "simple", seed=1).anonymize(ratings)
    assert find_clusters(AttackTarget.from_release(release, ratings).candidates) is None


def test_a_record_without_items_leaves_the_others_inferred(ratings, table):
    n_cut = int(table.indptr[1])
    cut = replace(
        table,
        indptr=np.concatenate([[0], table.indptr[1:] - n_cut]),
        indices=table.indices[n_cut:],
        values=table.values[n_cut:],
    )
    found = attack_clusters(
        cut, know_everything(ratings, np.arange(400)), find_clusters(cut.candidates)
    )
    assert found.cluster_inferred.low > 3 * found.cluster_baseline


def test_targets_are_as_many_as_all_their_scores_fit_into_memory(table, monkeypatch):
    assert most_targets(table) * table.candidates.n_records <= 5_000_000
    monkeypatch.setattr(module, "_MOST_SCORES", 1_000)
    assert most_targets(table) == 1_000 // table.candidates.n_records


def test_too_many_records_are_not_compared(table, monkeypatch):
    candidates = replace(table.candidates)
    assert not too_many_to_compare(candidates)
    monkeypatch.setattr(module, "MOST_RECORDS", 10)
    assert too_many_to_compare(candidates)
    assert find_clusters(candidates) is None


def test_embeddings_infer_more_clusters_of_sparse_rows(monkeypatch):
    """Few items are common to a target and a cluster, though both like the same kinds of items."""
    ratings = make_ratings(n_users=800, n_items=400, n_ratings=12_000, seed=3)
    table = AttackTarget.from_release(SparseRows(5, seed=1).anonymize(ratings), ratings)
    known, clusters = know_everything(ratings, np.arange(800)), find_clusters(table.candidates)
    found = attack_clusters(table, known, clusters).cluster_inferred
    monkeypatch.setattr(module, "_by_embeddings", lambda *_: ([], []))
    without = attack_clusters(table, known, clusters).cluster_inferred
    assert found.rate > without.rate + 0.02
