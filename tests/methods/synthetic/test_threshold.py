"""An item of one user is hardly ever named, and one of many nearly always."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.methods.synthetic.gaussian_mechanism import threshold
from recveil.methods.synthetic.gaussian_sampler import NoiseSource


def accident(height: float, sigma: float, n: int, weight: float = 1.0):
    """The probability that a user with n items of their own is revealed, with 50 digits."""
    with mpmath.workdps(50):
        one = mpmath.ncdf((mpmath.mpf(height) - weight / mpmath.sqrt(n)) / sigma)
        return 1 - one**n


class TestByHand:
    def test_one_item_a_user(self):
        # 1.6449 standard deviations above what one user adds leave a twentieth.
        assert threshold(10.0, 0.05, 1) == pytest.approx(1 + 16.448536, abs=1e-5)

    def test_two_items_a_user(self):
        # Each may pass with probability 1 - sqrt(0.81) = 0.1: 1.28155 standard deviations.
        assert threshold(10.0, 0.19, 2) == pytest.approx(1 / math.sqrt(2) + 12.815516, abs=1e-5)

    def test_with_little_noise_one_item_is_the_worst(self):
        assert threshold(1e-9, 1e-6, 1_000) == pytest.approx(1, abs=1e-7)

    def test_half_a_step_more_on_a_grid(self):
        assert threshold(10.0, 1e-6, 9, grid=0.5) == threshold(10.0, 1e-6, 9) + 0.25

    def test_a_lighter_user(self):
        assert threshold(2.0, 1e-6, 5, weight=0.5) == pytest.approx(
            threshold(4.0, 1e-6, 5) / 2, rel=1e-12
        )


@settings(deadline=None, max_examples=40)
@given(st.floats(-3, 3), st.floats(-12, -1), st.integers(1, 50), st.floats(0.1, 1))
def test_never_more_accidents_than_paid_for_and_not_far_fewer(log_sigma, log_delta, most, weight):
    sigma, delta = 10**log_sigma, 10**log_delta
    height = threshold(sigma, delta, most, weight=weight)
    worst = max(accident(height, sigma, n, weight) for n in range(1, most + 1))
    assert worst <= delta
    assert worst >= delta * 0.999


def test_more_items_and_less_delta_need_more():
    assert threshold(5.0, 1e-6, 10) < threshold(5.0, 1e-6, 1_000) < threshold(5.0, 1e-9, 1_000)


def test_accidents_happen_as_often_as_said():
    """Planted: a user with nine items that no other user rated, 20,000 times."""
    sigma, delta, n, grid = 0.7, 0.02, 9, 2.0**-4
    height = threshold(sigma, delta, n, grid=grid)
    gives = math.floor(1 / math.sqrt(n) / grid)
    noise = NoiseSource.repeatable(3).stream().rounded_normals(0, 20_000 * n, sigma / grid)
    named = ((gives + noise) * grid >= height).reshape(-1, n).any(axis=1)
    assert 0.005 < named.mean() < 0.02 + 3 * math.sqrt(0.02 / 20_000)


def test_an_item_of_many_users_is_named():
    height = threshold(5.0, 1e-7, 1_000)
    sums = 100 / math.sqrt(1_000) + np.zeros(1_000)
    assert height < 40
    assert ((sums * 20 + 5 * np.random.default_rng(1).normal(size=1_000)) >= height).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("sigma", value) for value in (0.0, -1.0, math.nan, math.inf, 1, None)],
        *[("delta", value) for value in (0.0, -1.0, 0.5, math.nan, 1, None)],
        *[("most_items", value) for value in (0, -1, 1.0, True, None, 10**8)],
        *[("weight", value) for value in (0.0, -1.0, math.nan, math.inf, 1, None)],
        *[("grid", value) for value in (-1.0, math.nan, math.inf, 1, None)],
    ],
)
def test_anything_else_is_refused_by_name(name, value):
    with raises("argument.value") as caught:
        threshold(**{"sigma": 1.0, "delta": 1e-6, "most_items": 9, name: value})
    assert name in str(caught.value)
