"""What a release keeps, on users few enough to compute by hand."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.evaluation import (
    Measured,
    gain_interval,
    gain_retained,
    lists_gain_retained,
    lists_interval,
    lists_retained,
    raw_gain,
    raw_lists,
    release_gain,
    utility_retained,
)
from recveil.evaluation.recipient import AVERAGES, PerUserUtility, Served, Utility


class TestGainInterval:
    def plain(self, averages, best, cells):
        """Make what is served of each user's squared errors."""
        squares = {AVERAGES: np.asarray(averages, float), "kNN": np.asarray(best, float)}
        users = PerUserUtility(np.asarray(cells), squares, {})
        rest = (0.0, 0.0, 0.0, 0.0, 10, 1, 1, 0, (), 0.0)

        def utility(squares):
            return Utility(float(np.sqrt(np.sum(squares) / np.sum(cells))), *rest)

        utilities = {AVERAGES: utility(averages), "kNN": utility(best)}
        return Served(utilities, "kNN", per_user=users)

    def test_users_who_are_all_alike_leave_no_doubt(self):
        """Errors 1.0, 0.8 and 0.9 of all users: half of the gain is kept in each sample."""
        raw = self.plain([1.0] * 9, [0.64] * 9, [1] * 9)
        release = self.plain([1.0] * 9, [0.81] * 9, [1] * 9)
        assert gain_interval(raw, release) == pytest.approx((0.5, 0.5))

    def test_against_a_plain_oracle(self):
        rng = np.random.default_rng(3)
        cells = rng.integers(1, 6, 40)
        averages, best, released = cells * rng.uniform(
            [[1.0], [0.4], [0.6]], [[1.6], [0.9], [1.2]], (3, 40)
        )
        raw, release = self.plain(averages, best, cells), self.plain(averages, released, cells)
        draw, shares = np.random.default_rng(7), []
        for _ in range(1000):
            users = draw.integers(40, size=40)
            n = sum(cells[p] for p in users)
            a, b, c = (
                (sum(errors[p] for p in users) / n) ** 0.5 for errors in (averages, best, released)
            )
            shares.append((a - c) / (a - b))
        shares.sort()
        # The 2.5 % point of 1,000 numbers lies between the 25th and 26th, the 97.5 % point between
        # the 975th and 976th; each end takes the outer one.
        found = gain_interval(raw, release, seed=7)
        assert found == pytest.approx((shares[24], shares[975]), abs=1e-12)
        assert found[0] < gain_retained(raw, release) < found[1]
        assert gain_interval(raw, release, seed=7) == found
        assert gain_interval(raw, release, seed=8) != found

    def test_a_gain_that_may_be_none_has_no_interval(self):
        """The raw data serve one of two users badly: a quarter of the draws is of them alone."""
        raw = self.plain([1.0, 1.0], [0.1, 1.2], [1, 1])
        assert gain_retained(raw, raw) == 1
        assert np.isnan(gain_interval(raw, raw)).all()

    def test_without_a_gain_there_is_none(self):
        raw = self.plain([1.0, 1.0], [1.0, 1.0], [1, 1])
        assert np.isnan(gain_interval(raw, raw)).all()

    def test_others_were_served(self):
        raw = self.plain([1.0, 1.0], [0.5, 0.5], [1, 1])
        with raises("argument.value") as caught:
            gain_interval(raw, self.plain([1.0] * 3, [0.5] * 3, [1] * 3))
        assert "2 users" in str(caught.value)


class TestRawGain:
    plain = TestGainInterval.plain

    def test_a_clear_gain_is_stated(self):
        errors = np.tile([0.63, 0.65], 10)
        raw = self.plain([1.0] * 20, errors, [1] * 20)
        assert raw_gain(raw).value == pytest.approx(0.2)
        assert raw_gain(raw).unreliable_reason is None
        fewer = self.plain([1.0] * 19, errors[:19], [1] * 19)
        assert raw_gain(fewer).unreliable_reason == "too-few-users"

    def test_without_a_width_there_is_no_interval(self):
        """All users alike, and one user alone: a bootstrap over them has no width."""
        for n in (1, 50):
            gain = raw_gain(self.plain([1.0] * n, [0.64] * n, [1] * n))
            assert gain.low == gain.high
            assert gain.unreliable_reason is not None

    def test_worse_than_averages_is_stated_without_a_gain_of_the_raw_data(self):
        raw = self.plain([1.0] * 30, [1.0] * 30, [1] * 30)
        worse = self.plain([1.0] * 30, np.tile([1.1, 1.3], 15), [1] * 30)
        gain = release_gain(raw, worse)
        assert gain.value == pytest.approx(1 - 1.2**0.5)
        assert gain.high < 0

    def test_a_gain_by_chance_is_not(self):
        """Errors differ by far more between users than between recommenders."""
        rng = np.random.default_rng(0)
        averages = rng.uniform(0, 2, 50)
        raw = self.plain(averages, averages + rng.normal(-0.01, 0.3, 50), np.ones(50))
        gain = raw_gain(raw)
        assert gain.low < 0 < gain.high
        assert gain.unreliable_reason is not None

    def test_a_gain_smaller_than_its_interval_is_not(self):
        assert Measured(0.02, 0.0101, 0.0301, 20).unreliable_reason is None
        assert Measured(0.02, 0.0099, 0.0301, 20).unreliable_reason is not None
        assert Measured(0.02, 0.0, 0.01, 20).unreliable_reason is not None


class TestLists:
    def served(self, ndcg, best):
        """Two recommenders; the first is chosen, the second has the higher nDCG."""
        rest = (10, 1, 1, 0, (), 0.0)
        ndcg, best = np.asarray(ndcg, float), np.asarray(best, float)
        utilities = {
            AVERAGES: Utility(0.9, 0.7, float(np.nanmean(ndcg)), 0.0, 0.0, *rest),
            "kNN": Utility(0.8, 0.6, float(np.nanmean(best)), 0.0, 0.0, *rest),
        }
        cells = np.ones(ndcg.size)
        squares = {AVERAGES: 0.81 * cells, "kNN": 0.64 * cells}
        users = PerUserUtility(cells.astype(int), squares, {AVERAGES: ndcg, "kNN": best})
        return Served(utilities, AVERAGES, AVERAGES, users)

    def test_shares_by_hand_of_the_chosen_and_of_the_best(self):
        raw = self.served([0.4, 0.2, np.nan], [0.6, 0.2, np.nan])
        release = self.served([0.1, 0.2, np.nan], [0.5, 0.3, np.nan])
        # Against the best lists of the raw data: 0.15 / 0.4.
        assert lists_retained(raw, release) == pytest.approx(0.375)
        assert lists_retained(raw, release, best=True) == pytest.approx(1)
        # A user who is sampled twice: 0.1 / 0.6 and 0.2 / 0.2.
        assert lists_interval(raw, release) == pytest.approx((1 / 6, 1))
        of_both = utility_retained(raw, release)
        assert of_both.lists == pytest.approx((0.375, 1 / 6, 1, 2))
        assert np.isnan(of_both.ratings[:3]).all()  # averages are chosen: nothing is gained
        assert utility_retained(raw, release, best=True).ratings.value == pytest.approx(1)

    def test_the_gain_is_counted_from_popularity(self):
        ndcg = {"popularity": [0.1, 0.3], "kNN": [0.4, 0.8]}
        served = {
            name: self.of_two(ndcg | {"kNN": best})
            for name, best in {
                "raw": [0.4, 0.8],
                "same": [0.1, 0.3],
                "half": [0.3, 0.5],
                "worse": [0.0, 0.2],
            }.items()
        }
        raw = served["raw"]
        shares = [
            lists_gain_retained(raw, served[name]) for name in ("raw", "same", "half", "worse")
        ]
        assert shares == pytest.approx([1, 0, 0.5, -0.25])
        # A user who is sampled twice: 0.2 / 0.3 and 0.2 / 0.5.
        assert utility_retained(raw, served["half"]).lists_gain == pytest.approx(
            (0.5, 0.4, 2 / 3, 2)
        )

    def of_two(self, ndcg):
        rest = (10, 1, 1, 0, (), 0.0)
        result = {n: Utility(0.9, 0.7, float(np.mean(v)), 0.0, 0.0, *rest) for n, v in ndcg.items()}
        result[AVERAGES] = Utility(0.9, 0.7, 0.0, 0.0, 0.0, *rest)
        cells, lists = np.ones(2), {name: np.array(v) for name, v in ndcg.items()}
        users = PerUserUtility(cells.astype(int), {AVERAGES: 0.81 * cells}, lists)
        return Served(result, AVERAGES, "kNN", users)

    def test_lists_that_are_always_wrong_have_no_share(self):
        nothing = self.served([0.0, 0.0], [0.0, 0.0])
        assert np.isnan(lists_retained(nothing, nothing))
        assert np.isnan(lists_interval(nothing, nothing)).all()
        assert raw_lists(nothing).unreliable_reason is not None

    def test_lists_that_are_all_perfect_show_nothing(self):
        perfect = raw_lists(self.served([1.0] * 40, [1.0] * 40))
        assert perfect[:3] == (1, 1, 1)
        assert perfect.unreliable_reason == "no-variation"

    def test_the_interval_of_the_raw_lists(self):
        result = raw_lists(self.served([0.4, 0.2, np.nan], [0.0, 0.0, np.nan]))
        assert result == pytest.approx((0.3, 0.2, 0.4, 2))
