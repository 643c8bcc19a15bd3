import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.attacks import AttackTarget
from recveil.attacks.inference.companions import (
    count_certain,
    count_possible,
    measure_companions,
    measure_possible_ratings,
)
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings, RatingScale
from recveil.release.exact_ratings import count_exact_ratings
from recveil.release.records import Groups, Records

STARS = RatingScale(1, 5, 1)


def release(ratings, k=3, **settings):
    made = PredictiveAnonymizer(k=k, homogenize="simple", seed=1, **settings).anonymize(ratings)
    return AttackTarget.from_release(made, ratings)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)


class TestCompanions:
    def test_nothing_wrong_is_inferred(self, ratings):
        for k, rounded in itertools.product((2, 5), ("tenth", "none", "scale")):
            table = release(ratings, k, round_values=rounded)
            grid = {"tenth": 0.1, "none": None, "scale": 1.0}[rounded]
            found = measure_companions(ratings, table, np.arange(60), grid)
            assert found.correct.rate == 1.0
            assert found.inferred.low > found.control.high

    def test_exact_means_reveal_everything(self, ratings):
        """An exact mean leaves the target's rating, unless it is the mean of the others."""
        table = release(ratings, 3, round_values="none")
        found = measure_companions(ratings, table, np.arange(60), None)
        dense, result = ratings.csr.toarray(), 0
        for user, item in zip(*np.nonzero(dense), strict=True):
            group = np.flatnonzero(table.record_of == table.record_of[user])
            others = [dense[one, item] for one in group if one != user and dense[one, item]]
            result += not others or abs(np.mean(others) - dense[user, item]) > 1e-6
        assert found.inferred.rate == pytest.approx(result / ratings.n_ratings)

    def test_one_group_of_all_users_reveals_the_last_to_all_others(self, ratings):
        table = release(ratings, 60)
        found = measure_companions(ratings, table, np.arange(60), 0.1)
        assert found.control.trials == 0
        # With fifteen and more raters a tenth of a point hides one of them mostly.
        assert (
            found.inferred.rate
            < measure_companions(ratings, release(ratings, 2), np.arange(60), 0.1).inferred.low
        )

    def test_on_a_continuous_scale_nearly_all_is_inferred(self):
        """The mean of .1 and .3 is .2: who knows the one works out the other one."""
        continuous = Ratings.from_columns(
            [1, 1, 2], ["a", "b", "a"], [0.1, 0.2, 0.3], scale=RatingScale(0, 1)
        )
        table = AttackTarget.from_release(
            PredictiveAnonymizer(k=2, homogenize="simple", seed=1).anonymize(continuous), continuous
        )
        found = measure_companions(continuous, table, np.arange(2), 0.01)
        assert (found.inferred.rate, found.correct.rate, found.within) == (1, 1, 0.05)
        # With labels as coarse as this, what is left is more than a tenth of the scale.
        assert measure_companions(continuous, table, np.arange(2), 0.5).inferred.rate < 1

    @given(
        st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=4),
        st.lists(st.integers(0, 5), min_size=4, max_size=4),
    )
    @settings(max_examples=60, deadline=None)
    def test_as_trying_every_value(self, others, own):
        """0 is no rating: whatever value of the last one leaves the labels as they are is tried."""
        rows = np.array([*others, own])
        users, items = np.nonzero(rows)
        raters = (rows > 0).sum(axis=0)
        shown = np.flatnonzero(raters)
        if not shown.size or not (rows[:-1] > 0).any():
            return
        labels = np.round(rows.sum(axis=0)[shown] / raters[shown], 1)
        ratings = Ratings.from_columns(
            [*users, 90, 90, 90, 90],
            [*items, 0, 1, 2, 3],
            [*rows[users, items], 1, 1, 1, 1],
            scale=STARS,
        )
        all_users = np.array([p for p in np.unique(users) if p < len(others)])
        places = np.searchsorted(ratings.users.astype(int), all_users)
        sure = count_certain(ratings, shown, labels, places, 0.1)
        for place, item in enumerate(shown):
            seen = rows[:-1, item][rows[:-1, item] > 0]
            fitting = [
                value
                for value in range(6)
                if seen.size + (value > 0)
                and abs((seen.sum() + value) / (seen.size + (value > 0)) - labels[place])
                <= 0.05 + 1e-6
            ]
            expected = fitting[0] if len(fitting) == 1 and fitting[0] else np.nan
            assert np.array_equal(sure[place], expected, equal_nan=True)


class TestBehindLabels:
    def test_whole_labels_as_counted_before(self, ratings):
        table = release(ratings)
        groups = Groups.from_labels(table.record_of)
        rows = Records(table.candidates.sizes, table.indptr, table.indices, table.values)
        expected = count_exact_ratings(ratings, groups, [rows]).label_share
        found = measure_possible_ratings(ratings, table, are_means=True, grid=0.1)
        assert found.whole_exact.rate == pytest.approx(expected)
        assert found.whole_exact.low > found.whole_by_commonest.high

    def test_one_group_of_all_users_is_the_table(self, ratings):
        """Behind each label stand all ratings of the item: the distance is nothing."""
        found = measure_possible_ratings(ratings, release(ratings, 60), are_means=True, grid=0.1)
        assert found.distance.mean == pytest.approx(0, abs=1e-12)
        values = [np.unique(ratings.values[ratings.indices == item]).size for item in range(40)]
        rated = [n for n in values if n]
        assert found.distinct.mean == pytest.approx(np.mean(rated))

    def test_padded_labels_have_no_possible_values(self, ratings):
        table = AttackTarget.from_release(
            PredictiveAnonymizer(k=3, seed=1).anonymize(ratings), ratings
        )
        found = measure_possible_ratings(ratings, table, are_means=False, grid=0.1)
        assert (found.possible, found.sure) == (None, None)

    @given(st.integers(10, 50), st.integers(1, 4))
    @settings(max_examples=60, deadline=None)
    def test_possible_values_as_all_multisets(self, tenths, size):
        label = tenths / 10
        possible = {
            value
            for n in range(1, size + 1)
            for given_ in itertools.combinations_with_replacement(range(1, 6), n)
            if abs(sum(given_) / n - label) <= 0.05 + 1e-6
            for value in given_
        }
        counted = count_possible(np.array([label]), np.array([size]), STARS, 0.1)
        assert counted[0] == len(possible)
