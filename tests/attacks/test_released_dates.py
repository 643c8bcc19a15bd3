"""Adversaries compare the dates of a release, on tables in which dates alone separate classes."""

from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, attack_release
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.linkage import reidentify_in_both
from recveil.attacks.membership.inference import (
    MembershipTargets,
    infer_memberships,
    only,
)
from recveil.auditing import audit
from recveil.auditing.release_attacks import attack_table
from recveil.datasets import make_ratings
from recveil.methods import SparseRows
from recveil.publish.release import Release
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.dates import first_days
from recveil.release.manifest import Manifest
from recveil.release.records import Groups, Records
from recveil.release.sides import Private, Published

N_CLASSES, K, N_ITEMS = 8, 5, 12
KNOWS_DATES = Adversary(known=4, rating_error=0, date_error=3)


class InYears:
    """Publishes classes that have the same items and values, and dates in different years.

    Class c of `K` users rates everything in year c; with `dates`, the release says so.
    """

    k = K

    def __init__(self, dates="month"):
        self.dates = dates

    def anonymize(self, ratings):
        year = (ratings.days[ratings.indptr[:-1]] // 365).astype(np.int64)
        years, class_of = np.unique(year, return_inverse=True)
        groups = Groups.from_labels(class_of)
        days = np.repeat((years * 365 + 200).astype(np.int32), N_ITEMS)
        cells = years.size * N_ITEMS
        rows = Records(
            groups.sizes,
            np.arange(0, cells + 1, N_ITEMS),
            np.tile(np.arange(N_ITEMS, dtype=np.int32), years.size),
            np.full(cells, 3.0),
            days=None if self.dates is None else first_days(days, self.dates),
        )
        settings = {"method": "sparse rows", "cluster_size": 20, "items_below_k": "omitted"}
        settings |= {"value_step": 0.1} | ({"dates": self.dates} if self.dates else {})
        published = Published(
            claim=Claim("identical-rows", K),
            items=ratings.items,
            scale=ratings.scale,
            settings=settings,
            n_users=ratings.n_users,
            prefix="p0000-",
            blocks=lambda: iter([rows]),
            default_layout="users",
        )
        return Release(published, Private(users=ratings.users, groups=groups, seed=0))


@pytest.fixture(scope="module")
def ratings():
    users = np.repeat(np.arange(N_CLASSES * K), N_ITEMS)
    days = users // K * 365 + 200 + np.random.default_rng(0).integers(0, 20, users.size)
    items = np.tile(np.arange(N_ITEMS), N_CLASSES * K)
    scale = RatingScale(1, 5, 1)
    return Ratings.from_columns(users, items, np.full(users.size, 3), days, scale=scale)


def attack(ratings, dates, adversary=KNOWS_DATES):
    release = InYears(dates).anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    return attack_release(ratings, table, adversary, np.arange(ratings.n_users))


def test_dates_separate_classes(ratings):
    """Without dates all users have one row; with them, all find their class, and no more."""
    undated, dated = attack(ratings, None), attack(ratings, "month")
    assert undated.reidentified.rate == pytest.approx(1 / (N_CLASSES * K))
    assert dated.class_reidentified.rate == 1
    assert dated.reidentified.rate == pytest.approx(1 / K) == dated.bound
    assert dated.attack.endswith(", with dates")


def test_classes_with_other_dates_are_others(ratings):
    table = AttackTarget.from_release(InYears().anonymize(ratings), ratings)
    assert table.candidates.n_records == N_CLASSES
    assert table.candidates.sizes.tolist() == [K] * N_CLASSES


@pytest.mark.parametrize("period", ["year", "quarter", "month", "week"])
def test_a_coarse_date_is_compared_as_its_period(ratings, period):
    assert attack(ratings, period).class_reidentified.rate == 1


def test_an_order_separates_classes():
    """Two classes rate the same items, one of them in the reverse order; half of the pairs fit."""
    n_users, days = 2 * K, np.arange(N_ITEMS) * 90
    users, items = np.divmod(np.arange(n_users * N_ITEMS), N_ITEMS)
    days = np.where(users < K, days[items], days[::-1][items])
    threes = np.full(users.size, 3)
    ratings = Ratings.from_columns(users, items, threes, days, scale=RatingScale(1, 5, 1))
    positions = np.concatenate([np.arange(N_ITEMS), np.arange(N_ITEMS)[::-1]]).astype(np.int32)
    rows = Records(
        np.array([K, K]),
        np.array([0, N_ITEMS, 2 * N_ITEMS]),
        np.tile(np.arange(N_ITEMS, dtype=np.int32), 2),
        np.full(2 * N_ITEMS, 3.0),
        days=positions,
    )
    plain = InYears("year").anonymize(ratings)
    settings = {**plain.published.settings, "dates": "order"}
    published = replace(plain.published, settings=settings, blocks=lambda: iter([rows]))
    groups = Groups.from_labels(np.arange(n_users) // K)
    table = AttackTarget.from_release(
        Release(published, replace(plain.private, groups=groups)), ratings
    )
    assert (np.diff(table.days[:N_ITEMS]) > 0).all()
    found = attack_release(ratings, table, KNOWS_DATES, np.arange(n_users))
    assert found.class_reidentified.rate > 0.9
    assert found.attack.endswith(", with dates")


def test_an_adversary_without_dates_is_as_before(ratings):
    """No date is known, so that each of the classes has the same best score."""
    blind = attack(ratings, "month", Adversary(known=4, rating_error=0))
    assert blind.reidentified.rate == pytest.approx(1 / (N_CLASSES * K))


@pytest.mark.parametrize("seed", range(3))
def test_an_attack_with_dates_is_at_least_as_strong_as_without(seed):
    ratings = make_ratings(n_users=100, n_items=30, n_ratings=1_400, seed=seed)
    release = SparseRows(5, seed=seed, dates="week").anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    merged = replace(table.candidates, days=None)
    undated = replace(table, candidates=merged, days=None)
    users = np.arange(ratings.n_users)
    found = attack_release(ratings, table, KNOWS_DATES, users)
    before = attack_release(ratings, undated, KNOWS_DATES, users)
    assert found.reidentified.rate >= before.reidentified.rate
    assert all(found.by_attack[name].rate >= rate.rate for name, rate in before.by_attack.items())


def test_membership_is_inferred_from_dates(ratings):
    """Members rate in the years of the release, and others with the same ratings in other years."""
    inside = np.flatnonzero(np.arange(ratings.n_users) // K % 2 == 0)
    outside = np.setdiff1d(np.arange(ratings.n_users), inside)
    members = {}
    for dates in (None, "month"):
        release = InYears(dates).anonymize(only(ratings, inside))
        table = AttackTarget.from_release(release, ratings)
        held_out = MembershipTargets(table, inside, outside)
        members[dates] = infer_memberships(ratings, held_out)
    assert [each.auc.rate for each in members[None].values() if each.members] == [0.5, 0.5]
    assert [each.auc.rate for each in members["month"].values() if each.members] == [1, 1]


def test_a_table_without_times_cannot_audit_dates(tmp_path):
    ratings = make_ratings(n_users=60, n_items=24, n_ratings=700, seed=2)
    release = SparseRows(3, seed=1, dates="week").anonymize(ratings)
    parts = ratings.users, ratings.items, ratings.indptr, ratings.indices, ratings.values
    undated = Ratings(*parts, None, ratings.scale)
    table = AttackTarget.from_release(release, undated)
    manifest = Manifest.of(release.published)
    with raises("time.missing", "--time"):
        attack_table(undated, table, manifest, [KNOWS_DATES], np.arange(9))
    release.write(tmp_path / "out")
    with raises("time.missing", "--time"):
        audit(undated, release=tmp_path / "out", curves=False)
    found = audit(ratings, release=tmp_path / "out", curves=False, targets=20)
    assert any(each.date_error is not None for each, _ in found.published.attacks)


@pytest.mark.parametrize("second", [None, "year"])
def test_two_releases_are_attacked_together(ratings, second):
    """Dates of either are compared only if both have some, so that one knowledge serves both."""
    tables = [
        AttackTarget.from_release(InYears(dates).anonymize(ratings), ratings)
        for dates in ("month", second)
    ]
    wrong = replace(KNOWS_DATES, right=3)
    found = reidentify_in_both(ratings, *tables, wrong, np.arange(ratings.n_users))
    expected = 1 / K if second else 0  # without dates, no class is the best one
    assert found.reidentified_by_both.rate == pytest.approx(expected)
