"""Membership by item counts and mean values, with all other users as outside knowledge."""

from types import SimpleNamespace

import numpy as np
import pytest

from recveil.attacks import Adversary, Candidates, infer_memberships
from recveil.attacks.knowledge import World, know_everything
from recveil.attacks.membership.inference import (
    JOINT,
    SCORERS,
    _join_scores,
    _Scores,
    _shuffle_membership,
    hold_out,
    only,
)
from recveil.attacks.membership.scores import score_by_counts, score_by_values
from recveil.attacks.statistics import area_under_curve
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, SparseRows
from recveil.ratings import Ratings

EXACT = Adversary(known=8)


@pytest.fixture(scope="module")
def sparse():
    ratings = make_ratings(n_users=300, n_items=120, n_ratings=9_000, seed=1)
    return ratings, hold_out(ratings, SparseRows(5, seed=1))


def test_an_item_that_occurs_more_often_than_among_others_raises_the_score():
    """Of four users, two are released, and both carry item a; of the others of user 1, one does."""
    ratings = Ratings.from_columns([1, 2, 3, 4], ["a", "a", "b", "b"], [5, 4, 1, 2])
    candidates = Candidates.from_ratings(only(ratings, np.array([0, 1])))
    known = know_everything(ratings, np.arange(4))
    total, mean, damped, _ = score_by_counts(candidates, EXACT, known, ratings.scale)
    share = 1 / 3
    by_hand = (1 - share) / (share * (1 - share) + 1 / 6)
    assert total.tolist() == pytest.approx([by_hand, by_hand, -by_hand / 2, -by_hand / 2])
    assert mean.tolist() == total.tolist()  # one item is known of each
    assert (np.abs(damped) < np.abs(total)).all()


def test_values_that_lean_as_the_target_does_raise_the_score():
    users = np.repeat(np.arange(20), 2)
    ratings = Ratings.from_columns(users, np.tile(["a", "b"], 20), np.tile([5, 1, 1, 5], 10))
    members = np.arange(0, 20, 2)  # who rate a with 5 and b with 1
    candidates = Candidates.from_ratings(only(ratings, members))
    known = know_everything(ratings, np.arange(20))
    for score in score_by_values(candidates, EXACT, known, ratings.scale):
        assert score[::2].min() > score[1::2].max()


def test_without_outside_knowledge_or_values_there_is_no_score(sparse):
    ratings, held_out = sparse
    candidates = held_out.table.candidates
    items = np.array([0], np.int32)
    known = SimpleNamespace(
        targets=np.array([0]), items=items, indptr=np.array([0, 1]), values=None, world=None
    )
    assert score_by_counts(candidates, EXACT, known, ratings.scale) == []
    known.world = World.of(ratings)
    assert score_by_values(candidates, EXACT, known, ratings.scale) == []
    known.values = np.array([1.0])
    assert score_by_values(candidates, EXACT, known, ratings.as_likes().scale) == []


def test_members_of_sparse_rows_are_inferred_where_other_scores_fail(sparse, monkeypatch):
    ratings, held_out = sparse
    found = infer_memberships(ratings, held_out)["all"]
    assert found.scorer in JOINT or found.scorer in ("counts", "values")
    assert found.auc.low > 0.6
    assert found.null_auc.low < 0.5 < found.null_auc.high
    others = {name: SCORERS[name] for name in SCORERS if name not in ("counts", "values")}
    monkeypatch.setattr("recveil.attacks.membership.inference.SCORERS", others)
    assert infer_memberships(ratings, held_out)["all"].auc.rate < found.auc.rate - 0.05


def test_the_mean_of_one_group_reveals_members_to_an_adversary_with_the_means_of_all_others():
    ratings = make_ratings(n_users=200, n_items=40, n_ratings=4_000, seed=1)
    held_out = hold_out(ratings, PredictiveAnonymizer(160, seed=1))
    assert infer_memberships(ratings, held_out)["all"].auc.rate > 0.6


def test_a_joint_score_of_noise_is_measured_on_users_it_was_not_fitted_on():
    rng = np.random.default_rng(5)
    noise = [_Scores(*rng.normal(size=(2, 120)), "noise") for _ in range(20)]
    (joint,) = _join_scores(noise)
    for half in range(2):
        area = area_under_curve(joint.inside[half::2], joint.outside[half::2])
        assert area.low < 0.5 < area.high


def test_scores_that_each_reveal_a_little_reveal_more_together():
    rng = np.random.default_rng(6)
    scores = []
    for name in ("counts", "values"):
        inside, outside = rng.normal(size=(2, 200))
        scores.append(_Scores(inside + 0.8, outside, name))
    alone = [area_under_curve(each.inside[1::2], each.outside[1::2]).rate for each in scores]
    for joint in _join_scores(scores):
        assert area_under_curve(joint.inside[1::2], joint.outside[1::2]).rate > max(alone)
    assert [joint.scorer for joint in _join_scores(scores)] == list(JOINT)


def test_the_control_draws_each_half_apart():
    """A perfect score, so that a fit on one half would be wrong of the other otherwise."""
    of_users = _Scores(np.arange(100.0, 201.0), np.arange(60.0), "counts")
    (drawn,) = _shuffle_membership([of_users], seed=3)
    for half in range(2):
        members = np.concatenate([of_users.inside[half::2], of_users.outside[half::2]])
        lot = np.concatenate([drawn.inside[half::2], drawn.outside[half::2]])
        assert sorted(lot) == sorted(members)
