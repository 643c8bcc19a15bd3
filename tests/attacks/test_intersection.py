"""Two releases of the same users: what both groups of a user have in common."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import AttackTarget, intersect
from recveil.attacks.linkage import groups_of, users_in_both
from recveil.datasets import make_ratings
from recveil.methods import KCoRater
from recveil.methods.predictive.homogenize import homogenize_simple
from recveil.publish.release import Release
from recveil.release.claim import Claim
from recveil.release.records import Groups
from recveil.release.sides import Private, Published


def released(ratings, groups, k=5):
    """Return a simple release with groups that are given."""
    found = Groups.from_labels(groups)
    published = Published(
        claim=Claim("identical-rows", k),
        items=ratings.items,
        scale=ratings.scale,
        settings={},
        n_users=ratings.n_users,
        prefix="p-",
        blocks=lambda: homogenize_simple(ratings, found),
        default_layout="users",
    )
    release = Release(published, Private(ratings.users, found, 0))
    return AttackTarget.from_release(release, ratings)


@pytest.fixture(scope="module")
def planted():
    return make_ratings(n_users=25, n_items=40, n_ratings=500, seed=3)


@pytest.fixture(scope="module")
def rows_and_columns(planted):
    """Planted: 25 users in a square, in groups by its rows, and in groups by its columns."""
    return [released(planted, np.arange(25) // 5), released(planted, np.arange(25) % 5)]


@pytest.fixture(scope="module")
def one_group(planted):
    """The null release: all users in one group."""
    return released(planted, np.zeros(25, int), k=25)


class TestPlanted:
    @pytest.fixture
    def found(self, rows_and_columns):
        return intersect(*rows_and_columns, promised=np.full(25, 5))

    def test_each_user_is_alone(self, found):
        assert found.unique.rate == found.below_k.rate == found.mean_users.mean == 1.0

    def test_no_user_is_alone_in_one(self, found):
        assert found.unique_in_one == 0.0

    def test_intervals_are_of_the_users(self, found):
        assert found.n_users == found.unique.trials == found.mean_users.trials == 25
        assert 0.8 < found.unique.low < 1.0


class TestNothingToGain:
    def test_a_null_release_adds_nothing(self, rows_and_columns, one_group):
        found = intersect(rows_and_columns[0], one_group, promised=np.full(25, 5))
        assert found.unique.rate == found.below_k.rate == 0.0
        assert found.mean_users.mean == 5.0

    def test_the_same_release_twice_adds_nothing(self, rows_and_columns):
        first = rows_and_columns[0]
        found = intersect(first, first, promised=np.full(25, 5))
        assert found.unique.rate == found.below_k.rate == 0.0


def test_who_is_missing_in_one_release_is_not_counted():
    assert users_in_both(np.array([0, 0, 0, -1]), np.array([1, 1, -1, 1])).tolist() == [2, 2, 0, 0]


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=30))
def test_counts_are_those_of_sets(pairs):
    first, second = np.array(pairs).T
    for user, (one, two) in enumerate(pairs):
        own = {at for at, pair in enumerate(pairs) if pair == (one, two)}
        expected = len(own) if min(one, two) >= 0 else 0
        assert users_in_both(first, second)[user] == expected


def test_the_order_of_the_releases_does_not_matter(rows_and_columns):
    promised = np.full(25, 5)
    assert intersect(*rows_and_columns, promised) == intersect(*rows_and_columns[::-1], promised)


def test_groups_of_a_co_rated_release_share_items(planted):
    table = AttackTarget.from_release(KCoRater(5, seed=1).anonymize(planted), planted)
    groups = groups_of(table)
    assert np.bincount(groups)[groups].min() >= 5
    for group in np.unique(groups):
        rows = [
            tuple(table.row(table.record_of[user])[0]) for user in np.flatnonzero(groups == group)
        ]
        assert len(set(rows)) == 1


def test_releases_without_common_users_are_refused(planted, rows_and_columns):
    first = rows_and_columns[0]
    no_user = AttackTarget(**{**vars(first), "record_of": np.full(25, -1)})
    with raises("release.mismatch"):
        intersect(first, no_user, np.full(25, 5))


def test_other_ratings_are_refused(rows_and_columns):
    first = rows_and_columns[0]
    fewer = AttackTarget(**{**vars(first), "record_of": first.record_of[:20]})
    with raises("release.mismatch") as caught:
        intersect(first, fewer, np.full(25, 5))
    assert "25 users" in str(caught.value)
