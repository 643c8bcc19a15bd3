"""Presence: which of a user's items stand anywhere in a release."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.attacks import Adversary, Candidates, area_under_curve, hold_out
from recveil.attacks.knowledge import Knowledge, World, draw_knowledge, know_everything
from recveil.attacks.membership.inference import KNOWN, SCORERS, infer_memberships, only
from recveil.attacks.membership.scores import chance_in_row, score_by_presence
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, Pseudonymizer, SparseRows
from recveil.ratings import Ratings
from recveil.release.records import Records

EXACT = Adversary(known=8)


def in_ten_lines(ratings, release, known, certain=1.0):
    """Score all users as simply as can be: one item at a time, by isotonic means as max of min."""
    world = [ratings.indices.tolist().count(item) for item in range(ratings.n_items)]
    items_with = [(0, False)] + [(n, item in release) for item, n in enumerate(world)]
    levels, edge = sorted({n for n, _ in items_with}), 1 / (2 * len(items_with))

    def least(x, a):
        return min(np.mean([y for n, y in items_with if a <= n <= b]) for b in levels if b >= x)

    curve = np.clip([max(least(x, a) for a in levels if a <= x) for x in levels], edge, 1 - edge)

    def describe(item):
        p, q = np.interp([world[item] - 1, world[item] - 1 + IN_FOUR_OF_FIVE], levels, curve)
        return log(certain * (q / p if item in release else (1 - q) / (1 - p)) + 1 - certain)

    return [sum(describe(item) for item in items) for items in known]


IN_FOUR_OF_FIVE = 5 / 4


def long_tail(n_users=100, lone=6, seed=1):
    """All users rated what many rate, and some items that hardly any other user did."""
    rng = np.random.default_rng(seed)
    users, items = [], []
    for user in range(n_users):
        own = rng.choice(30, 12, replace=False).tolist()
        own += [100 + user * lone + place for place in range(lone)]
        users += [user] * len(own)
        items += own
    return Ratings.from_columns(users, items, 1 + rng.integers(5, size=len(items)))


def rarest(ratings, users, n=8):
    """Know the rarest items of a user, as a friend with the same rare preferences would."""
    found = [ratings.row(user)[0] for user in users]
    found = [own[np.argsort(ratings.support[own], kind="stable")[:n]] for own in found]
    starts = np.concatenate([[0], np.cumsum([own.size for own in found])])
    items = np.concatenate(found).astype(np.int32)
    return Knowledge(np.asarray(users), starts, items, None, None, None, 0, World.of(ratings))


@pytest.mark.parametrize("certain", [1.0, 0.75])
@given(seed=st.integers(0, 10_000), n_items=st.integers(2, 25))
def test_it_equals_ten_plain_lines(certain, seed, n_items):
    rng = np.random.default_rng(seed)
    rated = rng.random((10, n_items)) < rng.random(n_items)
    rated[:, 0] |= ~rated.any(axis=1)
    ratings = Ratings.from_columns(*np.nonzero(rated))
    table = only(ratings, np.arange(8))  # four of five
    known = know_everything(ratings, np.arange(10))
    adversary = Adversary(known=8, right=round(8 * certain), wrong_kind="item")
    candidates = Candidates.from_ratings(table)
    share, _, result, each = score_by_presence(candidates, adversary, known, ratings.scale)
    published = set(table.indices.tolist())
    own = [set(ratings.row(user)[0].tolist()) for user in known.targets]
    assert share == pytest.approx([len(items & published) / len(items) for items in own])
    expected = in_ten_lines(ratings, published, [sorted(items) for items in own], certain)
    assert result == pytest.approx(expected, abs=1e-9)
    assert each == pytest.approx(result / np.diff(known.indptr))


def test_by_hand():
    """Of a, rated by two of three, and b and c, rated by one each, c is missing."""
    world = Ratings.from_columns([1, 2, 2, 3], ["a", "a", "b", "c"])
    candidates = Candidates.from_ratings(only(world, np.array([0, 1])))
    known = know_everything(world, np.arange(3))
    raters, chance = chance_in_row(candidates, known.world)
    assert raters.tolist() == [0, 1, 2]
    assert chance.tolist() == [0.125, 0.5, 0.875]  # none; one of two; all, both short of the ends
    share, weighted, result, _ = score_by_presence(candidates, EXACT, known, world.scale)
    assert share.tolist() == [1, 1, 0]
    assert weighted.tolist() == [1, 1, 0]
    # Who rated a is one of two users of three: with them 1 + 3/2 others. b: 0 + 3/2, c the same.
    a, b = log(0.875 / 0.5), log((0.5 + 0.875) / 2 / 0.125)
    assert result == pytest.approx([a, a + b, log((1 - (0.5 + 0.875) / 2) / (1 - 0.125))])


def test_a_rare_item_that_is_missing_counts_more_than_a_common_one():
    ratings = long_tail()
    known = know_everything(ratings, np.array([0]))
    weighed = []
    for missing in known.items[[-1, 0]]:  # one that no other user rated, and one that many did
        items = np.delete(np.arange(ratings.n_items), missing)
        row = Records(np.array([100]), np.array([0, items.size]), items, np.full(items.size, 3.0))
        candidates = Candidates.from_records([row], ratings.n_items, ratings.scale)
        _, weighted, *_ = score_by_presence(candidates, EXACT, known, ratings.scale)
        weighed.append(weighted[0])
    assert weighed[0] < weighed[1]


@pytest.mark.parametrize("make", [Pseudonymizer, lambda: KCoRater(5, seed=1)])
@pytest.mark.parametrize("likes", [True, False])
def test_members_of_a_long_tail_are_inferred(make, likes):
    ratings = long_tail().as_likes() if likes else long_tail()
    held_out = hold_out(ratings, make())
    candidates = held_out.table.candidates
    for knows in (rarest, know_everything):
        inside, outside = (
            score_by_presence(candidates, EXACT, knows(ratings, users), ratings.scale)[2]
            for users in (held_out.members, held_out.nonmembers)
        )
        assert area_under_curve(inside, outside).rate == 1.0


def test_members_of_sparse_rows_of_a_long_tail_are_inferred_by_presence(monkeypatch):
    """Each item was rated by five or six: one user more or less decides whether it is published."""
    rng = np.random.default_rng(3)
    users = np.repeat(np.arange(200), 20)
    items = np.concatenate([rng.choice(700, 20, replace=False) for _ in range(200)])
    ratings = Ratings.from_columns(users, items, 3 + rng.integers(3, size=users.size))
    for other in ("counts", "values"):  # they reveal more
        monkeypatch.delitem(SCORERS, other)
    monkeypatch.setattr("recveil.attacks.membership.inference.JOINT", {})
    result = infer_memberships(ratings, hold_out(ratings, SparseRows(5, seed=1)))["all"]
    assert result.scorer == "presence"
    assert result.auc.low > 0.5


@pytest.mark.parametrize("homogenize", ["padded", "simple"])
def test_one_group_of_all_users_without_rare_items_reveals_nothing(homogenize):
    ratings = make_ratings(n_users=200, n_items=40, n_ratings=4_000, seed=1)
    assert ratings.support.min() > 20  # an item of one rater would reveal that user
    held_out = hold_out(ratings, PredictiveAnonymizer(160, homogenize, seed=1))
    for knows in KNOWN.values():
        inside, outside = (
            score_by_presence(
                held_out.table.candidates,
                EXACT,
                know_everything(ratings, users)
                if knows is None
                else draw_knowledge(ratings, knows, users, 0),
                ratings.scale,
            )
            for users in (held_out.members, held_out.nonmembers)
        )
        assert inside[0].min() == outside[0].min() == 1.0
        for members, outsiders in zip(inside, outside, strict=True):
            assert area_under_curve(members, outsiders).low <= 0.5


def test_it_is_the_same_each_time_and_does_not_depend_on_who_the_targets_are():
    ratings = long_tail()
    candidates = Candidates.from_ratings(only(ratings, np.arange(80)))
    known = draw_knowledge(ratings, EXACT, np.arange(100), 0)
    first = score_by_presence(candidates, EXACT, known, ratings.scale)
    renamed = Knowledge(
        *(known.targets[::-1], known.indptr, known.items, None, None, None, 0, known.world)
    )
    for other in (known, renamed):
        again = score_by_presence(candidates, EXACT, other, ratings.scale)
        assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))


def test_without_outside_counts_there_is_the_share_alone():
    ratings = long_tail(n_users=5)
    known = know_everything(ratings, np.arange(5))
    blind = Knowledge(known.targets, known.indptr, known.items, None, None, None, 0)
    candidates = Candidates.from_ratings(only(ratings, np.arange(4)))
    (share,) = score_by_presence(candidates, EXACT, blind, ratings.scale)
    assert share[:4].tolist() == [1, 1, 1, 1]
    assert share[4] < 1


def test_one_user_and_one_item():
    ratings = Ratings.from_columns([1], ["a"], [3])
    known = know_everything(ratings, np.array([0]))
    for scores in score_by_presence(Candidates.from_ratings(ratings), EXACT, known, ratings.scale):
        assert np.isfinite(scores).all()
