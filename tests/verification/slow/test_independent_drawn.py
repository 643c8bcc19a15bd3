"""Both checkers, on releases and on forgeries that are made to verify."""

import math

import independent_drawn
from hypothesis import given
from hypothesis import strategies as st

from recveil.release.ledger import delta_of, epsilon_of


class TestEpsilon:
    @given(st.floats(0.01, 30), st.floats(1e-9, 0.3))
    def test_two_ways_to_write_the_formula_agree(self, mu, delta):
        one, other = epsilon_of(mu, delta), independent_drawn.epsilon_of(mu, delta)
        assert math.isclose(one, other, rel_tol=1e-7, abs_tol=1e-7)
        assert math.isclose(delta_of(mu, one), independent_drawn.delta_of(mu, one), rel_tol=1e-5)
