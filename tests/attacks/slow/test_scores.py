"""Membership by item counts and mean values, with all other users as outside knowledge."""

import numpy as np

from recveil.attacks import infer_memberships
from recveil.attacks.membership.inference import MembershipTargets, hold_out, only
from recveil.datasets import make_ratings
from recveil.methods import SparseRows


def test_a_release_of_other_users_reveals_no_membership():
    """Neither the fits nor the choice of a score may find members where there are none."""
    areas = []
    for seed in range(6):
        ratings = make_ratings(n_users=360, n_items=60, n_ratings=6_000, seed=seed)
        table = hold_out(only(ratings, np.arange(120)), SparseRows(5, seed=1), seed=seed).table
        halves = MembershipTargets(table, np.arange(120, 240), np.arange(240, 360))
        areas.append(infer_memberships(ratings, halves, seed=seed)["all"].auc.rate)
    assert abs(np.mean(areas) - 0.5) < 0.06
