import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from error_assertions import raises
from recveil.attacks import area_under_curve, mean_interval, wilson_interval
from recveil.attacks.guesses import _deviation, _find_top, _sum_likelihoods, _sum_up
from recveil.attacks.inference.rated_cells import _area, _share
from recveil.attacks.membership.shadow_models import area_over_clusters
from recveil.attacks.statistics import difference_of_means, ratio_interval, share_interval

ONE_EACH = np.empty(0, np.int64)


@given(st.integers(1, 2_000), st.floats(0, 1), st.sampled_from([0.9, 0.95, 0.99]))
def test_wilson_like_scipy(trials, share, confidence):
    successes = round(share * trials)
    interval = wilson_interval(successes, trials, confidence)
    expected = binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert interval.rate == successes / trials
    assert interval.trials == trials


def test_wilson_at_the_ends():
    nothing, everything = wilson_interval(0, 20), wilson_interval(20, 20)
    assert (nothing.rate, nothing.low, everything.rate, everything.high) == (0, 0, 1, 1)
    assert nothing.high == pytest.approx(1 - everything.low) == pytest.approx(0.161125, abs=1e-6)


def test_wilson_without_trials_knows_nothing():
    interval = wilson_interval(0, 0)
    assert np.isnan(interval.rate)
    assert interval[1:] == (0, 1, 0)


@given(st.integers(1, 500), st.floats(0, 1))
def test_wilson_of_fractional_successes(trials, share):
    interval = wilson_interval(share * trials, trials)
    assert 0 <= interval.low <= interval.rate <= interval.high <= 1
    assert interval.low < interval.high


def test_wilson_forgives_rounding_of_a_sum_of_fractions():
    successes = sum([1 / 3] * 3 * 7) + 1e-14
    assert wilson_interval(successes, 7)[0] == wilson_interval(successes, 7)[2] == 1


@pytest.mark.parametrize("successes", [-1, 11, float("nan")])
def test_wilson_refuses_impossible_counts(successes):
    with raises("argument.value") as caught:
        wilson_interval(successes, 10)
    assert "of 10 trials" in str(caught.value)


def test_mean_interval_at_the_ends():
    assert np.isnan(mean_interval([]).mean)
    assert mean_interval([2.0]) == (2, -np.inf, np.inf, 1)
    assert mean_interval([2.0, 2.0])[:3] == (2, 2, 2)


def test_mean_interval_covers_the_mean():
    rng = np.random.default_rng(0)
    intervals = [mean_interval(rng.exponential(size=200)) for _ in range(1_000)]
    assert 0.92 < np.mean([i.low <= 1 <= i.high for i in intervals]) < 0.97


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=30),
    st.lists(st.integers(0, 6), min_size=1, max_size=30),
)
def test_area_like_sklearn(members, others):
    expected = roc_auc_score([1] * len(members) + [0] * len(others), members + others)
    interval = area_under_curve(members, others)
    assert interval.rate == pytest.approx(expected)
    assert 0 <= interval.low <= interval.rate <= interval.high <= 1
    assert interval.trials == len(members) + len(others)


def test_delong_covers_the_area():
    # Members are one standard deviation higher: the area is Φ(1 / √2) = 0.76025.
    rng = np.random.default_rng(0)
    intervals = [area_under_curve(rng.normal(1, 1, 60), rng.normal(0, 1, 90)) for _ in range(1_000)]
    assert 0.93 < np.mean([i.low <= 0.76025 <= i.high for i in intervals]) < 0.97


def test_area_without_users_knows_nothing():
    interval = area_under_curve([], [1.0, 2.0])
    assert np.isnan(interval.rate)
    assert interval[1:] == (0, 1, 2)


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), max_size=20), st.booleans())
def test_statistics_of_scores(pairs, grouped):
    scores = np.array([score for score, _ in pairs], np.float32)
    # The records stand, in reverse, behind three others.
    records = np.arange(3, 3 + scores.size, dtype=np.int32)[::-1].copy()
    counts = np.array([size for _, size in pairs], np.int64)
    sizes = np.concatenate([[9, 9, 9], counts[::-1]]).astype(np.int64) if grouped else ONE_EACH
    users = np.repeat(scores.astype(float), counts if grouped else 1)
    total, squares, n_people = _sum_up(scores, records, sizes)
    assert (total, squares, n_people) == (users.sum(), (users**2).sum(), users.size)
    assert _deviation(total, squares, n_people) == pytest.approx(users.std() if pairs else 0)
    top, second, best, n_top = _find_top(scores, records, sizes)
    assert [second, top] == sorted([-1, -1, *scores])[-2:]
    assert n_top == (users == top).sum()
    assert best == -1 if not pairs else scores[records == best] == top
    likelihoods = np.exp((users - 5.0) / 0.7)
    mass = _sum_likelihoods(scores, records, sizes, 5.0, 0.7)
    assert mass == pytest.approx(likelihoods.sum(), rel=1e-7)


def test_a_likelihood_too_small_for_a_number_is_nothing():
    scores, records = np.array([0.0], np.float32), np.array([0], np.int32)
    assert _sum_likelihoods(scores, records, ONE_EACH, 5.0, 1e-9) < 1e-300


def test_the_deviation_of_equal_scores_is_nothing():
    assert _deviation(7 * 0.1, 7 * 0.1**2, 7) == _deviation(0.0, 0.0, 0) == 0


class TestRatioInterval:
    def test_of_clusters_of_one_it_is_no_narrower_than_wilsons(self):
        plain = wilson_interval(30, 100)
        found = ratio_interval([1] * 30 + [0] * 70, [1] * 100)
        assert (found.rate, found.trials) == (0.3, 100)
        assert found.low <= plain.low
        assert found.high >= plain.high

    def test_clusters_that_go_together_widen_it(self):
        together = ratio_interval([10] * 5 + [0] * 5, [10] * 10)
        apart = ratio_interval([5] * 10, [10] * 10)
        assert together.rate == apart.rate == 0.5
        assert together.high - together.low > 1.5 * (apart.high - apart.low)

    def test_of_nothing_there_is_no_rate(self):
        assert ratio_interval([], []).trials == 0


RATES = {
    "of targets": lambda end: wilson_interval(13 * end, 13),
    "of clusters": lambda end: ratio_interval([2 * end] * 6 + [end], [2] * 6 + [1]),
    "of marked cells": lambda end: _share(np.full((6, 5), bool(end)), np.eye(6, 5) > 0),
    "of ranked cells": lambda end: _area((np.eye(6, 5) > 0) == end, np.eye(6, 5) > 0),
    "of scores": lambda end: area_under_curve([end] * 9, [1 - end] * 7),
    "of shadows": lambda end: area_over_clusters(
        *(np.tile([end, 1.0 - end], (9, 4)), np.tile([True, False], (9, 4)))
    ),
    "of means": lambda end: share_interval([float(end)] * 8),
}


@pytest.mark.parametrize("shares", [[0.941], [0.0, 0.004, 0.092], [1.0, 0.99, 0.8]])
def test_a_mean_of_few_shares_has_an_interval_of_shares(shares):
    found = share_interval(shares)
    assert 0 <= found.low < found.mean < found.high <= 1
    assert found.trials == len(shares)


class TestAtTheEnds:
    """A rate of 0 or 1 in a few trials is not certain, however it is computed."""

    @pytest.mark.parametrize("end", [0, 1])
    @pytest.mark.parametrize("name", RATES)
    def test_no_interval_has_no_width(self, name, end):
        rate, low, high, trials = RATES[name](end)
        assert (rate, trials > 1) == (end, True)
        assert low == 0 or end
        assert high == 1 or not end
        assert 0.1 < high - low < 0.7

    def test_a_share_of_marked_cells_is_as_certain_as_its_rows(self):
        marked, of = np.zeros((4, 9), bool), np.ones((4, 9), bool)
        of[2:] = False
        assert _share(marked, of)[1:] == (0, wilson_interval(0, 2).high, 18)

    def test_a_difference_to_a_mean_at_an_end_is_as_wide(self):
        excess = difference_of_means(share_interval([1.0] * 9), share_interval([0.0] * 9))
        assert excess.mean - excess.low > 0.3
