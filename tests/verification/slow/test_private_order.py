"""Orders: what rises, falls or goes in pieces is found, and random orders are not."""

import numpy as np
import pytest

from recveil.verification.private_data import FEWEST, find_private_order, order_within


@pytest.mark.parametrize("n", [FEWEST, 100, 3_000])
def test_random_orders_are_no_leak(n, monkeypatch):
    """At a rate that can be counted, no more alarms than are stated."""
    from scipy.stats import norm

    from recveil.verification import private_data

    monkeypatch.setattr(private_data, "_FAR", float(norm.isf(0.01 / 3 / 2)))
    rng = np.random.default_rng(n)
    groups = np.repeat(np.arange(n // 3 + 1), 3)[:n]
    draws = 2_000
    alarms = 0
    for _ in range(draws):
        values = rng.random(n)
        alarms += bool(find_private_order(values)) or bool(order_within(groups, values))
    assert alarms <= draws * 0.01 + 4 * (draws * 0.01) ** 0.5
