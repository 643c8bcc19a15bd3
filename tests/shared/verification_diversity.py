"""What the fast and the slow tests of `test_diversity.py` share."""

from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

tables = st.tuples(st.integers(0, 9), st.integers(0, 7)).flatmap(
    lambda shape: st.one_of(
        arrays(bool, shape),
        arrays(bool, shape, elements=st.sampled_from([True, True, True, False])),
    )
)


def count_sets(table: np.ndarray, b: int, weights: np.ndarray | None = None) -> dict:
    """In how many groups each set of b items stands: one set after the other."""
    weights = np.ones(len(table), int) if weights is None else weights
    counts = {
        items: int(weights[table[:, items].all(axis=1)].sum())
        for items in combinations(range(table.shape[1]), b)
    }
    return {items: count for items, count in counts.items() if count}


def assert_agrees(found, counts: dict, least: int) -> None:
    below = [items for items, count in counts.items() if count < least]
    assert (found.sets, found.below) == (len(counts), len(below))
    assert found.smallest == min(counts.values(), default=None)
    assert found.holds is (not below)
    if below:
        assert counts[found.example] == found.smallest
    else:
        assert found.example is None
