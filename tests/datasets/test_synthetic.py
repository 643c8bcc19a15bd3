import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.ratings import RatingScale


def test_sizes_are_exact_and_all_users_rate():
    ratings = make_ratings(n_users=500, n_items=200, n_ratings=12_345, seed=3)
    assert (ratings.n_users, ratings.n_items, ratings.n_ratings) == (500, 200, 12_345)
    assert ratings.activity.min() >= 1


def test_the_seed_fixes_everything():
    sizes = {"n_users": 100, "n_items": 80, "n_ratings": 1_000}
    assert make_ratings(**sizes, seed=4) == make_ratings(**sizes, seed=4)
    assert make_ratings(**sizes, seed=4) != make_ratings(**sizes, seed=5)


def test_popularity_has_a_long_tail_and_activity_is_skewed():
    ratings = make_ratings(n_users=3_000, n_items=1_000, n_ratings=150_000, seed=1)
    support = np.sort(ratings.support)[::-1]
    assert support[:100].sum() > 0.35 * support.sum()
    assert np.median(support) < 0.6 * support.mean()
    assert np.median(ratings.activity) < 0.75 * ratings.activity.mean()


def test_labels_and_days_look_real():
    ratings = make_ratings(n_users=500, n_items=300, n_ratings=20_000, seed=2)
    assert set(ratings.values) == {1, 2, 3, 4, 5}
    assert 3.3 < ratings.values.mean() < 3.9
    assert ratings.days.min() >= 10_957
    assert ratings.days.max() < 10_957 + 2_190
    # Users rate in sittings: far fewer different days than ratings.
    user = int(np.argmax(ratings.activity))
    own = slice(ratings.indptr[user], ratings.indptr[user + 1])
    assert np.unique(ratings.days[own]).size < 0.5 * ratings.activity[user]


def test_another_scale():
    ratings = make_ratings(50, 40, 400, seed=1, scale=RatingScale(-10, 10, 5))
    assert set(ratings.values) <= {-10, -5, 0, 5, 10}
    with raises("scale.continuous"):
        make_ratings(50, 40, 400, scale=RatingScale(0, 1))


def test_extreme_sizes():
    assert make_ratings(n_users=1, n_items=1, n_ratings=1).n_ratings == 1
    assert make_ratings(n_users=20, n_items=10, n_ratings=100, seed=9).n_ratings == 100


@pytest.mark.parametrize(
    "sizes", [(0, 5, 5), (5, 0, 5), (10, 10, 9), (10, 10, 51), (10, 10**400, 50)]
)
def test_sizes_that_do_not_fit_are_refused(sizes):
    with raises("argument.value"):
        make_ratings(*sizes)
