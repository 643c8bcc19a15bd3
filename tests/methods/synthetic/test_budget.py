"""However a budget is split, the ledger of what was asked keeps the promise."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.methods.synthetic.synthesizer import Budget
from recveil.release.ledger import Ledger, Query

NAMES = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6)


@settings(deadline=None, max_examples=50)
@given(st.floats(-3, 3), st.floats(-12, -2), st.floats(0, 0.9), NAMES)
def test_the_ledger_of_a_split_budget_states_what_was_promised(
    log_epsilon, log_delta, part, shares
):
    epsilon, delta = 10**log_epsilon, 10**log_delta
    budget = Budget.of(epsilon, delta, threshold_delta=part * delta)
    sigmas = budget.sigmas({"abcdef"[place]: share for place, share in enumerate(shares)})
    queries = tuple(Query(name, "a sum", 1.0, sigma, 1) for name, sigma in sigmas.items())
    stated = Ledger(queries, part * delta).epsilon(delta)
    assert stated <= epsilon
    assert stated == pytest.approx(epsilon, rel=1e-6)


def test_a_share_is_one_of_the_squared_price():
    sigmas = Budget.of(2.0, 1e-6).sigmas({"one": 0.2, "other": 0.8})
    assert sigmas["one"] == pytest.approx(2 * sigmas["other"])


def test_shares_are_relative():
    budget = Budget.of(2.0, 1e-6)
    assert budget.sigmas({"one": 1, "other": 3}) == budget.sigmas({"one": 2, "other": 6})


def test_one_query_gets_all():
    budget = Budget.of(2.0, 1e-6)
    assert budget.sigmas({"one": 0.3})["one"] == pytest.approx(1 / budget.mu, rel=1e-12)


def test_worked_by_hand():
    """At epsilon = mu ** 2 / 2, delta is a half less exp(epsilon) times the tail beyond mu."""
    mu = 0.5
    delta = 0.5 - math.exp(mu * mu / 2) * 0.3085375387259869
    assert Budget.of(mu * mu / 2, delta).mu == pytest.approx(mu, rel=1e-7)


def test_the_threshold_leaves_less():
    assert Budget.of(1.0, 1e-6, threshold_delta=5e-7).mu < Budget.of(1.0, 1e-6).mu


@pytest.mark.parametrize("epsilon", [0, True, -1.0, 1e-5, 1_001, math.nan, math.inf, "1", None])
def test_an_epsilon_that_promises_nothing_is_refused(epsilon):
    with raises("option.value") as caught:
        Budget.of(epsilon, 1e-6)
    assert "epsilon" in str(caught.value)


def test_a_delta_that_the_threshold_takes_whole_is_refused():
    with raises("budget.too-small", "1e-06"):
        Budget.of(1.0, 1e-6, threshold_delta=1e-6)


@pytest.mark.parametrize("share", [0, -1.0, math.nan, math.inf, "1", None])
def test_a_share_that_is_none_is_refused(share):
    with raises("argument.value") as caught:
        Budget.of(1.0, 1e-6).sigmas({"one": share, "other": 1})
    assert "'one'" in str(caught.value)


def test_no_query_at_all_is_refused():
    with raises("argument.value"):
        Budget.of(1.0, 1e-6).sigmas({})


def test_it_shows_the_promise():
    assert repr(Budget.of(1.0, 1e-6)) == "Budget(epsilon: 1, delta: 1e-06, mu: 0.2367)"
