"""Orders: what rises, falls or goes in pieces is found, and random orders are not."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from recveil.verification.private_data import FEWEST, find_private_order, order_within, ranks_of

N = 200

ORDERED = np.arange(float(N))


@pytest.mark.parametrize(
    ("values", "result"),
    [
        (ORDERED, "it rises"),
        (ORDERED[::-1], "it falls"),
        (np.roll(ORDERED, N // 4), "neighbours are similar"),
        (np.concatenate([ORDERED[::2], ORDERED[::-1][::2]]), "neighbours are similar"),
        (np.concatenate([ORDERED[first::7] for first in (3, 0, 6, 1, 5, 2, 4)]), "neighbours"),
        (np.ravel([ORDERED[:100], ORDERED[100:]], order="F"), "it rises"),
        (np.arange(float(FEWEST)), "it rises"),
    ],
)
def test_planted_orders_are_found(values, result):
    assert find_private_order(values).startswith(result)


def test_half_an_order_is_found():
    rng = np.random.default_rng(1)
    values = ORDERED + rng.normal(0, N / 4, N)
    assert find_private_order(values) == "it rises"


@pytest.mark.parametrize("n", [0, 1, 5, FEWEST - 1])
def test_of_few_nothing_is_found(n):
    assert find_private_order(np.arange(float(n))) == ""
    assert order_within(np.zeros(n, np.int64), np.arange(float(n))) == ""


def test_equal_values_reveal_nothing():
    assert find_private_order(np.ones(N)) == ""


def test_rising_is_spearmans_correlation(monkeypatch):
    from recveil.verification import private_data

    rng = np.random.default_rng(4)
    values = np.round(rng.normal(0, 3, 60)) + np.linspace(0, 1, 60)
    result = spearmanr(np.arange(60), values).statistic * 59**0.5
    monkeypatch.setattr(private_data, "_FAR", abs(result) * 1.001)
    assert not find_private_order(values).startswith("they r")
    monkeypatch.setattr(private_data, "_FAR", abs(result) * 0.999)
    assert find_private_order(values) == ("it rises" if result > 0 else "it falls")


def test_within_groups_an_order_is_found_that_is_none_over_all():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(60), 5)
    values = np.concatenate(
        [np.sort(group) for group in rng.permutation(np.arange(300.0)).reshape(60, 5)]
    )
    assert order_within(groups, values) == "it rises"
    assert order_within(groups, -values) == "it falls"
    assert order_within(np.arange(300), values) == ""


@pytest.mark.parametrize(
    ("labels", "ranks"),
    [
        *(
            ([10, 9, 100], [2, 1, 3]),
            (["10", "9", "100"], [2, 1, 3]),
            (["b", "a", "10"], [3, 2, 1]),
        ),
        (["7" * 5_000, "07", "7" * 4_999, "6"], [4, 2, 3, 1]),  # no number of Python's is so long
    ],
)
def test_numbers_are_ranked_as_numbers(labels, ranks):
    assert ranks_of(labels).tolist() == ranks
