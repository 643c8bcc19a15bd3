"""What the fast and the slow tests of `test_diversifying.py` share."""

from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from recveil.methods.predictive.diversity import (
    Coverage,
)

tables = st.tuples(st.integers(1, 9), st.integers(1, 7)).flatmap(lambda shape: arrays(bool, shape))


def cover(table, labels=None) -> Coverage:
    """The coverage of a dense table; the labels of its entries are 3 if not given."""
    table = np.asarray(table, bool)
    labels = np.full(table.shape, 3.0) if labels is None else np.asarray(labels, float)
    holders = table.sum(axis=0)
    means = np.divide(
        (labels * table).sum(axis=0), holders, out=np.full(holders.size, np.nan), where=holders > 0
    )
    return Coverage(csr_array(table.astype(np.int8)), means)


def entries(matrix) -> np.ndarray:
    """Where a sparse matrix has an entry, a stored zero or not."""
    ones = np.ones(matrix.indices.size, np.int64)
    dense = csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape).toarray()
    assert dense.max(initial=0) <= 1
    return dense == 1


def is_diverse(table, b: int, least: int) -> bool:
    """Whether every set of b items in a row stands in at least so many rows, set by set."""
    counts = [table[:, items].all(axis=1).sum() for items in combinations(range(table.shape[1]), b)]
    return not any(0 < count < least for count in counts)
