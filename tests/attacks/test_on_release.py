import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, Candidates, draw_knowledge
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.membership.inference import _all_scores, _choose, infer_membership, only
from recveil.attacks.reidentification.on_release import attack_release
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.predictive.homogenize import homogenize_simple
from recveil.publish.release import Release
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.records import Groups
from recveil.release.sides import Private, Published

# Who knows sixteen exact ratings knows more of most of these users than is left.
STRONG = Adversary(known=16)


def table(*rows):
    """Ratings from rows like "a5 b3"."""
    labels = [(user, label[0], int(label[1])) for user, row in enumerate(rows) for label in row]
    users, items, values = zip(*labels, strict=True)
    return Ratings.from_columns(users, items, values, scale=RatingScale(1, 5, 1))


class InGroups:
    """Simple homogenizing with given groups; without any, each user is a group."""

    def __init__(self, labels=None, k=2):
        self.labels, self.k = labels, k

    def anonymize(self, ratings):
        labels = np.arange(ratings.n_users) if self.labels is None else self.labels
        groups = Groups.from_labels(labels)
        published = Published(
            claim=Claim("identical-rows", self.k),
            items=ratings.items,
            scale=ratings.scale,
            settings={},
            n_users=ratings.n_users,
            prefix="p-",
            blocks=lambda: homogenize_simple(ratings, groups),
            default_layout="users",
        )
        return Release(published, Private(ratings.users, groups, 0))


@pytest.fixture
def four_users():
    """In groups of two they are published as a5 b3 c1 d3 and a1.5 c4.5 d5."""
    return table(["a5", "b4", "c1"], ["a5", "b2", "d3"], ["a1", "c5"], ["a2", "c4", "d5"])


@pytest.fixture
def two_groups(four_users):
    return AttackTarget.from_release(InGroups([0, 0, 1, 1]).anonymize(four_users), four_users)


# The three most rated items are a, c and b, so they know d, of users 1 and 3; the others have none.
KNOWS_D = Adversary(known=1, outside_top=3)


class TestTwoGroupsByHand:
    @pytest.fixture
    def result(self, four_users, two_groups):
        return attack_release(four_users, two_groups, KNOWS_D, np.arange(4))

    def test_two_of_four_lead_to_their_group(self, result):
        assert result.class_reidentified.rate == 2 / 4
        assert result.class_reidentified.trials == 4

    def test_in_a_group_of_two_every_other_user_is_found(self, result):
        assert result.reidentified.rate == (1 / 2 + 1 / 2) / 4
        assert (result.baseline, result.bound) == (1 / 4, 1 / 2)

    def test_links(self, result):
        # User 1 rated a and b of a, b, c; user 3 rated a and c of a, c.
        assert result.link_precision.mean == pytest.approx((2 / 3 + 1) / 2)
        assert result.link_precision.trials == 2
        # Of four users, 4 rated a, 2 b, and 3 c.
        assert result.link_baseline.mean == pytest.approx(((1 + 2 / 4 + 3 / 4) / 3 + 7 / 8) / 2)

    def test_errors(self, result):
        # User 1 gave a5 b2, their row says a5 b3; user 3 gave a2 c4, their row says a1.5 c4.5.
        errors = result.rating_errors
        assert errors.mae == (0 + 1 + 0.5 + 0.5) / 4
        assert errors.rmse == pytest.approx(math.sqrt((0 + 1 + 0.25 + 0.25) / 4))
        # The item means are a3.25 b3 c2.75.
        assert errors.item_mean_mae == (1.75 + 1 + 1.25 + 1.25) / 4
        squares = 1.75**2 + 1 + 1.25**2 + 1.25**2
        assert errors.item_mean_rmse == pytest.approx(math.sqrt(squares / 4))
        assert errors.gain.mean == pytest.approx(((1.75 + 0) / 2 + (0.75 + 0.75) / 2) / 2)
        assert (errors.ratings, errors.with_value) == (4, 4)

    def test_exact(self, result):
        assert result.exact.rate == (1 / 2 + 0) / 2
        assert result.exact.trials == 2

    def test_targets_may_come_twice(self, four_users, two_groups, result):
        twice = attack_release(four_users, two_groups, KNOWS_D, np.arange(8) % 4)
        assert twice.class_reidentified.rate == result.class_reidentified.rate
        assert twice.class_reidentified.trials == 8


def test_ratings_without_a_label_are_counted(four_users, two_groups):
    """The row of the second group loses its c."""
    kept = [0, 1, 2, 3, 4, 6]
    cut = replace(
        two_groups,
        indptr=np.array([0, 4, 6]),
        indices=two_groups.indices[kept],
        values=two_groups.values[kept],
    )
    result = attack_release(four_users, cut, KNOWS_D, np.array([3]))
    assert (result.rating_errors.ratings, result.rating_errors.with_value) == (2, 1)
    assert result.link_precision.mean == 1.0
    assert result.rating_errors.mae == 0.5


def test_single_precision_does_not_hide_an_exact_label():
    ratings = Ratings.from_columns(
        [0, 0, 1, 1], list("abab"), [0.1, 0.3, 0.1, 0.3], scale=RatingScale(0, 1, 0.1)
    )
    release = InGroups([0, 0]).anonymize(ratings)
    exact = [replace(block, values=np.array([0.1, 0.3])) for block in release.published.blocks()]
    published = replace(release.published, blocks=lambda: iter(exact))
    found = AttackTarget.from_release(replace(release, published=published), ratings)
    assert attack_release(ratings, found, Adversary(known=1), np.arange(2)).exact.rate == 1.0


def test_nothing_is_learned_without_a_found_user():
    """Both groups have the same of d, so that their scores tie."""
    ratings = table(["a5", "d3"], ["b5"], ["a1", "d3"], ["b1"])
    found = AttackTarget.from_release(InGroups([0, 0, 1, 1]).anonymize(ratings), ratings)
    result = attack_release(ratings, found, Adversary(known=1, outside_top=2), np.arange(4))
    assert result.class_reidentified.rate == 0
    assert result.reidentified.rate == (1 / 4 + 1 / 4) / 4
    assert result.is_blind
    assert result.link_precision.trials == result.exact.trials == 0
    assert math.isnan(result.rating_errors.rmse)
    assert math.isnan(result.rating_errors.gain.mean)


def test_users_who_are_not_in_the_release_are_not_found(four_users):
    two = only(four_users, np.array([0, 1]))
    found = AttackTarget.from_release(InGroups([0, 0]).anonymize(two), four_users)
    result = attack_release(four_users, found, Adversary(known=1), np.arange(4))
    assert result.class_reidentified.rate == 2 / 4
    assert result.reidentified.rate == 1 / 4
    assert result.baseline == 1 / 2


def test_ratings_of_another_table(four_users, two_groups):
    with raises("release.mismatch") as caught:
        attack_release(only(four_users, np.arange(3)), two_groups, KNOWS_D, np.arange(3))
    assert "4 users" in str(caught.value)


class TestMembership:
    def test_raw_rows_reveal_members(self, invented):
        result = infer_membership(invented, InGroups(), Adversary(known=8), seed=1)
        assert result.auc.rate == 1
        assert result.auc.low > 0.8  # there are 21 non-members
        # Half of those who could be scored chose the score.
        assert 300 - result.skipped - 2 <= 2 * result.auc.trials <= 300 - result.skipped
        assert result.auc.trials == result.members + result.nonmembers

    def test_one_row_for_all_reveals_little(self, invented):
        all_users = InGroups(np.zeros(240, np.int64), k=240)
        result = infer_membership(invented, all_users, Adversary(known=4), seed=1)
        assert result.auc.low < 0.5 < result.auc.high

    def test_same_seed_same_result(self, invented):
        first, second, other = (
            infer_membership(invented, PredictiveAnonymizer(5, seed=1), STRONG, seed=seed)
            for seed in (1, 1, 2)
        )
        assert first == second
        assert first != other

    def test_at_most_a_thousand_are_scored_and_half_of_them_measured(self):
        ratings = make_ratings(n_users=2600, n_items=30, n_ratings=26_000, seed=1)
        result = infer_membership(ratings, InGroups(), Adversary(known=1), holdout=0.45)
        assert (result.members, result.nonmembers, result.skipped) == (500, 500, 0)

    def test_members_are_counted_where_no_nonmember_has_enough_ratings(self, invented):
        able = int(np.sort(invented.activity)[-20])
        result = infer_membership(invented, InGroups(), Adversary(known=able), holdout=0.004)
        assert (result.members, result.nonmembers) == (10, 0)
        assert not result.is_measured

    @pytest.mark.parametrize("holdout", [0, 1, -0.5, 0.001, 0.999, math.nan])
    def test_both_sides_need_a_user(self, invented, holdout):
        with raises("argument.value"):
            infer_membership(invented, InGroups(), STRONG, holdout=holdout)

    def test_the_release_must_claim_the_k_that_was_asked_for(self, invented):
        class Lax(InGroups):
            def anonymize(self, ratings):
                release = super().anonymize(ratings)
                lower = replace(release.published, claim=Claim("identical-rows", 1))
                return replace(release, published=lower)

        with raises("argument.result") as caught:
            infer_membership(invented, Lax(), STRONG)
        assert "k is 2" in str(caught.value)
        assert "k = 1" in str(caught.value)


@pytest.mark.parametrize("rating_error", [0, None])
def test_top_shares_against_every_record_by_hand(rating_error):
    some = make_ratings(n_users=30, n_items=20, n_ratings=200, seed=2)
    adversary = Adversary(known=4, rating_error=rating_error)
    known = draw_knowledge(some, adversary, np.arange(30), seed=3)
    of_others = only(some, np.arange(0, 30, 2))
    expected = []
    weight = 1 / np.log(np.maximum(of_others.support, 2))
    for start, end in itertools.pairwise(known.indptr):
        named = known.items[start:end]
        scores = []
        for user in range(of_others.n_users):
            row = dict(zip(*(part.tolist() for part in of_others.row(user)), strict=True))
            score = 0.0
            for at in range(start, end):
                item = known.items[at]
                if item in row:
                    off = 0 if known.values is None else abs(row[item] - known.values[at])
                    score += weight[item] * math.exp(-off / 1.5)
            scores.append(score)
        expected.append(max(scores) / weight[named].sum())
    found = _all_scores(Candidates.from_ratings(of_others), adversary, [known, known], some.scale)
    assert np.allclose(found[0][0], expected)
    assert np.array_equal(found[0][0], found[0][1])  # asked twice about the same users


def test_the_score_is_chosen_on_other_users_than_it_is_measured_on():
    # The first score distinguishes the even places, the second one the odd ones.
    first = np.array([9.0, 1, 9, 1]), np.array([2.0, 2, 2, 2])
    second = np.array([1.0, 9, 1, 9]), np.array([2.0, 2, 2, 2])
    inside, outside = _choose([second, first])
    assert inside.tolist() == [1, 1]
    assert outside.tolist() == [2, 2]


def test_only_some_users(invented):
    users = np.array([3, 7, 200])
    some = only(invented, users)
    assert some.n_items == invented.n_items
    for place, user in enumerate(users):
        assert some.users[place] == invented.users[user]
        for part, whole in zip(some.row(place), invented.row(user), strict=True):
            assert np.array_equal(part, whole)
    assert only(invented, np.arange(300)) == invented
