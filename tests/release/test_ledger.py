"""What the queries of a release cost together, against the definition and other accountants."""

import json
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import rankdata

from error_assertions import raises
from recveil.release.claim import Claim, bounds_of
from recveil.release.ledger import (
    Ledger,
    Query,
    delta_left,
    delta_of,
    epsilon_of,
    point_at,
    share_below,
    tail_over_density,
    total_mu,
)


@settings(deadline=None, max_examples=300)
@given(st.one_of(st.floats(0, 40), st.floats(-8, 3).map(lambda power: 10**power)))
def test_a_tail_over_its_density(x):
    with mpmath.workdps(50):
        exact = mpmath.exp(mpmath.mpf(x) ** 2 / 2) * mpmath.sqrt(mpmath.pi / 2)
        exact *= mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2))
        assert abs(tail_over_density(x) / exact - 1) < 2e-15


@settings(deadline=None)
@given(st.floats(-35, 8))
def test_a_share_below(x):
    with mpmath.workdps(50):
        assert abs(share_below(x) / mpmath.ncdf(x) - 1) < 3e-16 * (2 + x * x)


@settings(deadline=None)
@given(st.one_of(st.floats(1e-12, 1 - 1e-12), st.floats(-300, -1).map(lambda p: 10**p)))
def test_a_point_has_its_share_below_it(share):
    point = point_at(share)
    with mpmath.workdps(50):
        assert abs(mpmath.ncdf(point) / share - 1) < 2e-15 * (1 + point * point)


@pytest.mark.parametrize("x", [1e8, 1e160, 1e300, math.inf])
def test_far_out_nothing_overflows(x):
    assert tail_over_density(x) == pytest.approx(1 / x, rel=1e-15)


ITEMS = Query("item sums", "how many people rated each item", 1.0, 4.0, 1_682)

MOMENTS = Query("moments", "which items are rated together", 2.0, 6.0, 1_415_403)

LEDGER = Ledger((ITEMS, MOMENTS), 1e-7)


def slow_delta(mu: float, epsilon: float):
    """Theorem 8 of Balle & Wang (2018) as it stands there, with 60 digits."""
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        above = mpmath.ncdf(mu / 2 - epsilon / mu)
        return above - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def measured_delta(mu: float, epsilon: float) -> float:
    """The definition itself: how much two normal densities differ where one is far higher."""
    x = np.linspace(-12, 12 + mu, 2_000_001)
    one, other = np.exp(-((x - mu) ** 2) / 2), np.exp(-(x**2) / 2)
    over = np.maximum(one - math.exp(epsilon) * other, 0).sum()
    return over * (x[1] - x[0]) / math.sqrt(2 * math.pi)


class TestByHand:
    def test_prices_add_up_as_squares(self):
        assert ITEMS.mu == 0.25
        assert MOMENTS.mu == 2 / 6
        assert pytest.approx(5 / 12) == LEDGER.mu  # 3/12 and 4/12

    def test_no_epsilon_is_the_distance_of_two_normal_curves(self):
        # Their overlap at a distance of 2 is all beyond one standard deviation, twice.
        assert delta_of(2.0, 0.0) == pytest.approx(1 - 0.31731050786, abs=1e-10)

    @pytest.mark.parametrize(("mu", "epsilon"), [(0.5, 0.3), (1.0, 1.0), (2.0, 5.0), (3.0, 0.1)])
    def test_the_definition(self, mu, epsilon):
        assert delta_of(mu, epsilon) == pytest.approx(measured_delta(mu, epsilon), rel=1e-6)

    def test_the_threshold_takes_its_part_of_delta(self):
        whole = Ledger((ITEMS, MOMENTS))
        assert LEDGER.epsilon(1.1e-6) == pytest.approx(whole.epsilon(1e-6), rel=1e-12)
        assert LEDGER.epsilon(1e-6) > whole.epsilon(1e-6)

    def test_so_little_is_revealed_that_delta_covers_it(self):
        assert epsilon_of(1e-9, 1e-6) == 0


class TestNeverBelow:
    """The epsilon that is stated keeps its delta in exact numbers, and no much smaller one does."""

    @settings(deadline=None)
    @given(st.floats(-12, -0.5), st.floats(-3, 1.6))
    def test_with_sixty_digits(self, log_delta, log_mu):
        delta, mu = 10**log_delta, 10**log_mu
        epsilon = epsilon_of(mu, delta)
        assert slow_delta(mu, epsilon) <= delta
        if epsilon > 0:
            assert slow_delta(mu, epsilon * (1 - 3e-9) - 3e-12) > delta

    @pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-5, 1e-2])
    @pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 20.0, 200.0, 1_000.0])
    def test_the_way_back(self, epsilon, delta):
        low, high = 1e-9, 100.0
        for _ in range(100):
            mu = math.sqrt(low * high)
            low, high = (mu, high) if slow_delta(mu, epsilon) <= delta else (low, mu)
        assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-8)
        assert epsilon_of(high, delta) >= epsilon

    @given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=9))
    def test_a_total_is_no_smaller_than_the_root_of_the_squares(self, mus):
        with mpmath.workdps(60):
            exact = mpmath.sqrt(sum(mpmath.mpf(mu) ** 2 for mu in mus))
            assert exact <= total_mu(mus) <= exact * (1 + mpmath.mpf(1e-13))

    @given(st.floats(1e-12, 0.4), st.floats(0, 0.99))
    def test_what_is_left_of_delta(self, delta, part):
        left = delta_left(delta, delta * part)
        with mpmath.workdps(60):
            assert 0 < left <= mpmath.mpf(delta) - mpmath.mpf(delta * part)


class TestOtherAccountants:
    """dp-accounting and OpenDP, both well kept, come to the same, or to more where they bound."""

    @pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (3.0, 1e-5), (50.0, 1e-9)])
    def test_the_noise_of_one_query_by_dp_accounting(self, epsilon, delta):
        from dp_accounting.pld.accountant import get_smallest_gaussian_noise
        from dp_accounting.pld.common import DifferentialPrivacyParameters

        wanted = DifferentialPrivacyParameters(epsilon, delta)
        mu = 1 / get_smallest_gaussian_noise(wanted, num_queries=1, sensitivity=1.0)
        assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-3)

    @pytest.mark.parametrize("noises", [(1.0,), (4.0, 3.0), (0.3, 0.8, 5.0)])
    @pytest.mark.parametrize("delta", [1e-9, 1e-6])
    def test_concentrated_privacy_of_opendp(self, noises, delta):
        """It knows of normal noise only how concentrated it is: a bound that is never below."""
        import opendp.prelude as dp

        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        rho = sum(dp.m.make_gaussian(*space, scale=noise).map(1.0) for noise in noises)
        bound = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=1.0))
        mu = total_mu(1 / noise for noise in noises)
        assert rho == pytest.approx(mu**2 / 2, rel=1e-9)
        ours, theirs = epsilon_of(mu, delta), bound.map(mu).epsilon(delta)
        assert ours <= theirs <= 1.3 * ours + 0.1


class TestJson:
    def test_there_and_back(self):
        written = json.dumps(LEDGER.to_json())
        assert Ledger.from_json(json.loads(written)) == LEDGER

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *[("sigma", value) for value in (0.0, -1.0, math.nan, math.inf, 4, "4", None, True)],
            *[("sensitivity", value) for value in (0.0, -1.0, math.nan, math.inf, 1, "1", None)],
            *[("values", value) for value in (0, -1, 1.0, True, "1", None, 10**16)],
            *[("name", value) for value in ("", "Item", "x" * 41, "item\n", 7, None)],
            *[("what", value) for value in ("", "a\nb", "x" * 201, "ü", 7, None)],
        ],
    )
    def test_another_value_is_refused_by_name(self, field, value):
        content = LEDGER.to_json()
        content["queries"][1][field] = value
        with raises("argument.value") as error:
            Ledger.from_json(content)
        assert field in str(error.value)

    @pytest.mark.parametrize("value", [-0.1, 0.5, math.nan, math.inf, 0, "0", None, False])
    def test_a_threshold_that_is_no_small_probability_is_refused(self, value):
        with raises("argument.value") as error:
            Ledger.from_json(LEDGER.to_json() | {"threshold_delta": value})
        assert "threshold_delta" in str(error.value)

    @pytest.mark.parametrize("content", [None, [], "queries", 4, {}, {"queries": []}])
    def test_what_is_no_ledger_is_refused(self, content):
        with raises("release.damaged") as error:
            Ledger.from_json(content)
        assert "'queries'" in str(error.value)

    def test_a_key_too_many_or_too_few_is_refused(self):
        content = LEDGER.to_json()
        with raises("release.damaged") as error:
            Ledger.from_json(content | {"note": "ann"})
        assert "'note'" in str(error.value)
        content["queries"][1] |= {"note": "ann"}
        with raises("release.damaged") as error:
            Ledger.from_json(content)
        assert "query 2" in str(error.value)
        del content["queries"][1]["note"], content["queries"][1]["sigma"]
        with raises("release.damaged"):
            Ledger.from_json(content)

    def test_queries_that_are_no_list_are_refused(self):
        with raises("release.damaged") as error:
            Ledger.from_json(LEDGER.to_json() | {"queries": {}})
        assert "queries" in str(error.value)

    def test_no_query_or_one_twice_is_refused(self):
        with raises("argument.value") as error:
            Ledger(())
        assert "0 queries" in str(error.value)
        with raises("argument.value") as error:
            Ledger((ITEMS, ITEMS))
        assert "'item sums' twice" in str(error.value)

    def test_a_price_beyond_all_numbers_is_refused(self):
        with raises("argument.value"):
            Query("moments", "which items are rated together", 1e300, 1e-300, 1)


class TestDelta:
    @pytest.mark.parametrize("delta", [0.0, -1e-6, 0.5, 1.0, math.nan, math.inf, 0, "1e-6", None])
    def test_none_that_is_no_small_probability(self, delta):
        with raises("option.value"):
            LEDGER.epsilon(delta)

    def test_none_that_the_threshold_takes_whole(self):
        with raises("budget.too-small") as error:
            LEDGER.epsilon(1e-7)
        assert "1e-07" in str(error.value)


def test_it_shows_its_price():
    assert repr(LEDGER) == "Ledger(queries: 2, mu: 0.4167)"
    assert repr(ITEMS) == "Query(item sums, mu: 0.25)"


class TestBounds:
    """Each bound is about a game of its own; users with opposite vectors play both."""

    @pytest.fixture
    def played(self):
        rng = np.random.default_rng(7)
        bounds = bounds_of(
            Claim("differentially-private", 1, False, 1, 1, 3.0, 1e-6, self.ledger())
        )
        sigma = self.ledger().queries[0].sigma
        return bounds, sigma, rng.normal(scale=sigma, size=(2, 400_000))

    @staticmethod
    def ledger():
        # The noise with which one query of sensitivity 1 has epsilon 3 at delta 1e-6.
        mu = brentq(lambda mu: epsilon_of(mu, 1e-6) - 3.0, 0.1, 3.0)
        return Ledger((Query("item sums", "how much each item was rated", 1.0, 1 / mu, 1),))

    def test_which_of_two_users_reaches_its_bound_and_exceeds_that_of_one(self, played):
        bounds, _, noise = played
        # One user adds 1, the other subtracts 1; the sign of the noisy sum names the user.
        accuracy = (1 + noise[0] > 0).mean()
        assert bounds["most_auc"] == pytest.approx(0.677, abs=1e-3)
        assert accuracy > bounds["most_auc"] + 0.05
        assert accuracy == pytest.approx(bounds["most_accuracy_of_two"], abs=3e-3)

    def test_a_given_user_reaches_the_bounds_of_one(self, played):
        bounds, sigma, noise = played
        outside, inside = noise[0], 1 + noise[1]
        ranks = rankdata(np.concatenate([outside, inside]))[outside.size :]
        auc = (ranks.mean() - (inside.size + 1) / 2) / outside.size
        assert auc == pytest.approx(bounds["most_auc"], abs=3e-3)
        detected = (inside > 1.6448536 * sigma).mean()
        assert detected == pytest.approx(bounds["most_recognized"], abs=3e-3)

    def test_the_threshold_adds_its_part_of_delta(self):
        ledger = Ledger(self.ledger().queries, 1e-7)
        claim = Claim("differentially-private", 1, False, 1, 1, 3.1, 1e-6, ledger)
        without = Claim("differentially-private", 1, False, 1, 1, 3.1, 1e-6, self.ledger())
        more, less = bounds_of(claim), bounds_of(without)
        for name in ("most_auc", "most_recognized", "most_accuracy_of_two"):
            assert more[name] - less[name] == pytest.approx(1e-7)
