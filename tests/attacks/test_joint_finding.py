"""An adversary looks for a user in two releases."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, AttackTarget, attack_release, reidentify_in_both
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer

STRONG = Adversary(known=10)
ALL_USERS = np.arange(150)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=150, n_items=100, n_ratings=4_000, seed=6)


def released(ratings, grouping, k=5):
    release = PredictiveAnonymizer(k, "simple", grouping=grouping, seed=1).anonymize(ratings)
    return AttackTarget.from_release(release, ratings)


@pytest.fixture(scope="module")
def tables(ratings):
    return released(ratings, "mdav"), released(ratings, "k-member")


@pytest.fixture(scope="module")
def found(ratings, tables):
    return reidentify_in_both(ratings, *tables, STRONG, ALL_USERS)


class TestTwoReleases:
    def test_each_is_found_as_often_as_the_audit_finds_it(self, ratings, tables, found):
        for table, rate in zip(tables, (found.first, found.second), strict=True):
            assert rate == attack_release(ratings, table, STRONG, ALL_USERS).class_reidentified

    def test_both_are_found_at_most_as_often_as_one(self, found):
        assert found.both.rate <= min(found.first.rate, found.second.rate)

    def test_more_users_are_found_than_one_release_allows(self, found):
        assert found.reidentified_by_one.rate <= 1 / 5 < found.reidentified_by_both.low

    def test_the_row_of_another_user_finds_no_user(self, found):
        assert found.control.rate < 0.05


class TestNothingToGain:
    def test_a_null_release_is_found_and_reveals_nothing(self, ratings, tables):
        found = reidentify_in_both(
            ratings, tables[0], released(ratings, "mdav", 150), STRONG, ALL_USERS
        )
        assert found.second.rate == pytest.approx(1 - found.skipped / 150)
        assert found.reidentified_by_both.rate == pytest.approx(found.reidentified_by_one.rate)

    def test_two_null_releases_are_a_blind_guess(self, ratings):
        null = released(ratings, "mdav", 150)
        found = reidentify_in_both(ratings, null, null, STRONG, ALL_USERS)
        blind = (1 - found.skipped / 150) / 150
        assert found.reidentified_by_both.rate == found.control.rate == pytest.approx(blind)


def test_without_an_attacked_target_there_is_no_rate(ratings, tables):
    found = reidentify_in_both(ratings, *tables, Adversary(known=1_000), ALL_USERS)
    assert found.skipped == found.requested == 150
    assert found.both.trials == found.control.trials == 0
    assert np.isnan([found.both.rate, found.reidentified_by_both.rate, found.control.rate]).all()


def test_one_target_has_no_outsider(ratings, tables):
    assert reidentify_in_both(ratings, *tables, STRONG, np.array([7])).control.rate == 0.0


def test_users_of_one_release_only_are_refused(ratings, tables):
    record_of = tables[1].record_of.copy()
    record_of[3] = -1
    without = AttackTarget(**{**vars(tables[1]), "record_of": record_of})
    with raises("argument.value") as caught:
        reidentify_in_both(ratings, tables[0], without, STRONG, ALL_USERS)
    assert "1 of 150" in str(caught.value)
