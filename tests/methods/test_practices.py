"""What publishers do today: samples, perturbation, filters and shifted dates."""

from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, AttackTarget, attack_release, hold_out, infer_membership
from recveil.auditing.shadow_releases import attack_by_shadows
from recveil.datasets import make_ratings
from recveil.methods import DateShift, KCore, NetflixPerturbation, UserSample
from recveil.ratings import Ratings


def published(release):
    """Return the published ratings by user and item id."""
    users, items = release.private.users, release.published.items
    rows, record = {}, 0
    for block in release.published.blocks():
        for start, end in zip(block.indptr, block.indptr[1:], strict=False):
            user = users[release.private.groups.members[record]]
            named = items[block.indices[start:end]].tolist()
            rows[user] = dict(zip(named, block.values[start:end].tolist(), strict=True))
            record += 1
    return rows


def cells(ratings):
    rows = (ratings.row(user) for user in range(ratings.n_users))
    return {
        ratings.users[user]: dict(zip(ratings.items[items].tolist(), values.tolist(), strict=True))
        for user, (items, values) in enumerate(rows)
    }


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=200, n_items=80, n_ratings=5_000, seed=3)


class TestUserSample:
    def test_sampled_users_are_published_unchanged(self, ratings):
        rows, raw = published(UserSample(seed=1).anonymize(ratings)), cells(ratings)
        assert len(rows) == 20
        assert rows == {user: raw[user] for user in rows}

    def test_each_user_is_as_likely(self, ratings):
        counts = dict.fromkeys(ratings.users, 0)
        for seed in range(100):
            for user in published(UserSample(0.5, seed=seed).anonymize(ratings)):
                counts[user] += 1
        # 100 draws of 0.5: the standard deviation is 5.
        assert 25 < min(counts.values()) <= max(counts.values()) < 75

    def test_membership_is_inferred_of_published_users(self, ratings):
        held_out = hold_out(ratings, UserSample(0.5, seed=1))
        assert (held_out.table.record_of[held_out.members] >= 0).all()
        assert held_out.members.size == 80  # half of 160
        found = infer_membership(ratings, UserSample(0.5, seed=1), Adversary(known=8))
        assert found.auc.rate > 0.95
        assert found.null_auc.low < 0.5 < found.null_auc.high

    def test_shadow_releases_do_not_count_absent_users_as_members(self, ratings):
        with raises("release.unsupported"):
            attack_by_shadows(ratings, lambda seed: UserSample(0.5, seed=seed), 8)


class TestNetflixPerturbation:
    def test_shares(self):
        ratings = make_ratings(n_users=200, n_items=800, n_ratings=5_000, seed=3)
        n_removed = n_changed = n_added = 0
        raw = cells(ratings)
        for seed in range(10):
            rows = published(NetflixPerturbation(0.04, seed=seed).anonymize(ratings))
            assert rows.keys() == raw.keys()
            for user, before in raw.items():
                after = rows[user]
                n_removed += len(before.keys() - after.keys())
                n_added += len(after.keys() - before.keys())
                n_changed += sum(after[item] != before[item] for item in after.keys() & before)
        # 10 × 5,000 draws of 0.04: 2,000 with a standard deviation of 44. Of the rest, 0.04 are
        # changed, and rarely is an added item one that the user has.
        assert n_removed == pytest.approx(2_000, abs=220)
        assert n_changed == pytest.approx(1_920, abs=220)
        assert 800 < n_added < 2_000

    def test_a_removed_rating_does_not_return_and_no_user_is_emptied(self):
        # Both users have both items, so that none can be added; one rating each is removed often.
        full = Ratings.from_columns([1, 1, 2, 2], ["a", "b", "a", "b"], [1, 5, 2, 4])
        lengths = set()
        for seed in range(50):
            rows = published(NetflixPerturbation(0.5, seed=seed).anonymize(full))
            lengths |= {len(row) for row in rows.values()}
            assert len(rows) == 2
        assert lengths == {1, 2}

    def test_an_added_rating_is_one_of_the_table(self):
        # Only b can be added to user 1, and only with the 5 of user 2; values that stay are 1.
        table = Ratings.from_columns([1, 2], ["a", "b"], [1, 5])
        added = [
            row["b"]
            for seed in range(50)
            for user, row in published(NetflixPerturbation(0.3, seed=seed).anonymize(table)).items()
            if user == 1 and "b" in row
        ]
        assert added
        assert set(added) == {5.0}


class TestKCore:
    def test_by_hand(self):
        # d has one rating. Without it user 3 has one, then c has one, and user 2 two.
        users, items = [1, 1, 2, 2, 2, 3, 3], list("ababccd")
        table = Ratings.from_columns(users, items, [1, 2, 3, 4, 5, 3, 2])
        rows = published(KCore(2, seed=1).anonymize(table))
        assert rows == {1: {"a": 1.0, "b": 2.0}, 2: {"a": 3.0, "b": 4.0}}

    def test_one_removes_nothing_and_too_many_is_an_error(self, ratings):
        assert published(KCore(1, seed=1).anonymize(ratings)) == cells(ratings)
        with raises("table.too-few-ratings"):
            KCore(300, seed=1).anonymize(ratings)


class TestDateShift:
    def test_all_dates_of_a_user_move_alike_within_the_limit(self, ratings):
        release = DateShift(30, seed=1).anonymize(ratings)
        assert published(release) == cells(ratings)
        (block,) = release.published.blocks()
        offsets = []
        for record, user in enumerate(release.private.groups.members):
            days = block.days[block.indptr[record] : block.indptr[record + 1]]
            moved = days - ratings.days[ratings.indptr[user] : ratings.indptr[user + 1]]
            assert np.ptp(moved) == 0
            offsets.append(moved[0])
        assert -30 <= min(offsets) < -20
        assert 20 < max(offsets) <= 30

    def test_differences_identify_users_of_equal_ratings(self):
        """All rate alike, and differ in their differences of days alone; or not in these either."""
        users, items = np.divmod(np.arange(600), 6)
        steps = np.random.default_rng(1).integers(0, 400, (100, 6))
        for days, low, high in ((steps, 0.9, 1), (np.tile(steps[0], (100, 1)), 0, 0.02)):
            table = Ratings.from_columns(users, items, items % 3 + 1, 15_000 + days.ravel())
            target = AttackTarget.from_release(DateShift(seed=1).anonymize(table), table)
            knows = Adversary(known=4, date_error=1)
            found = attack_release(table, target, knows, np.arange(100))
            assert low <= found.by_attack["date-differences"].rate <= high
            assert found.reidentified.rate <= 0.2 or found.attack == "date-differences"
            undated = attack_release(table, target, replace(knows, date_error=None), np.arange(100))
            assert undated.reidentified.rate == pytest.approx(0.01)
            assert "date-differences" not in undated.by_attack

    def test_a_table_without_dates_is_an_error(self):
        with raises("time.missing"):
            DateShift().anonymize(Ratings.from_columns([1, 2], ["a", "a"], [1, 5]))


@pytest.mark.parametrize("share", [0, 1, -0.1, float("nan"), "half"])
@pytest.mark.parametrize("method", [UserSample, NetflixPerturbation])
def test_bad_shares(ratings, method, share):
    with raises("argument.value", "share"):
        method(share).anonymize(ratings)


@pytest.mark.parametrize("least", [0, -1, 2.0, True, "5"])
@pytest.mark.parametrize(("method", "name"), [(KCore, "min_ratings"), (DateShift, "max_shift")])
def test_bad_whole_numbers(ratings, least, method, name):
    with raises("argument.value", name):
        method(least).anonymize(ratings)
