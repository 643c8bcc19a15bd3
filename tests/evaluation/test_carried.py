import numpy as np
import pytest

from error_assertions import raises
from recveil.evaluation import Utility, carry_over, kendall_tau


def utility(rmse, ndcg) -> Utility:
    return Utility(rmse, rmse, ndcg, ndcg, 1.0, 10, 5, 5, 0, (), rmse)


def test_by_hand():
    # RMSE: raw a < b < c, release b < a < c: of three pairs two agree. nDCG: raw p > a > b > c,
    # release the opposite. p predicts no ratings.
    raw = {
        "p": utility(np.nan, 0.4),
        "a": utility(0.8, 0.3),
        "b": utility(0.9, 0.2),
        "c": utility(1.0, 0.1),
    }
    release = {
        "a": utility(0.9, 0.2),
        "b": utility(0.8, 0.3),
        "c": utility(1.1, 0.4),
        "p": utility(np.nan, 0.1),
    }
    found = carry_over(raw, release)
    assert found.by_rmse == ("a", "b", "c")
    assert found.by_ndcg == ("p", "a", "b", "c")
    assert found.tau_rmse == pytest.approx((2 - 1) / 3, abs=1e-12)
    assert found.tau_ndcg == pytest.approx(-1, abs=1e-12)


def test_ties_count_for_neither_side():
    # Pairs: (1,2) agrees, (1,3) agrees, (2,3) ties in the first: 2 / √(2 · 3).
    assert kendall_tau([1, 2, 2], [1, 2, 3]) == pytest.approx(2 / 6**0.5, abs=1e-12)
    assert kendall_tau([1, 2, 2 + 1e-12], [1, 2, 3]) == kendall_tau([1, 2, 2], [1, 2, 3])


def test_equal_scores_have_no_order():
    assert np.isnan(kendall_tau([1, 1, 1], [1, 2, 3]))
    assert np.isnan(kendall_tau([1], [1]))


def test_other_recommenders_are_refused():
    with raises("argument.value"):
        carry_over({"a": utility(1, 1)}, {"b": utility(1, 1)})
