"""The normal distribution's tails, against fifty digits."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.runtime.normal_distribution import point_at, share_below, tail_over_density


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
