"""Rows of items, against what numpy does with the same table written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from recveil.verification.diversity import ItemRows

tables = st.tuples(st.integers(0, 7), st.integers(0, 6)).flatmap(lambda shape: arrays(bool, shape))


def written_out(rows: ItemRows) -> np.ndarray:
    table = np.zeros((rows.lengths.size, rows.n_items), bool)
    table[rows.row_of, rows.indices] = True
    assert table.sum() == rows.indices.size  # none twice
    for first, last in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        assert (np.diff(rows.indices[first:last]) > 0).all()
    return table


@settings(deadline=None)
@given(table=tables, seed=st.integers(0, 99))
def test_what_is_done_with_rows_is_done_with_the_table(table, seed):
    rng, rows = np.random.default_rng(seed), ItemRows.of(table)
    assert (written_out(rows) == table).all()
    assert (written_out(rows.columns()) == table.T).all()
    which = rng.integers(0, max(len(table), 1), 5 if len(table) else 0)
    assert (written_out(rows.take(which)) == table[which]).all()
    kept = rng.random(rows.indices.size) < 0.5
    less = table.copy()
    less[rows.row_of[~kept], rows.indices[~kept]] = False
    assert (written_out(rows.only(kept)) == less).all()
    place = rng.permutation(table.shape[1])
    assert (written_out(rows.renamed(place, table.shape[1]))[:, place] == table).all()


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_matrix, sparse.csc_array])
def test_a_stored_zero_is_an_entry_and_what_stands_twice_stands_once(form):
    support = form((np.array([0, 2, 2]), ([0, 1, 1], [1, 0, 0])), shape=(3, 2))
    assert written_out(ItemRows.of(support)).tolist() == [[False, True], [True, False], [False] * 2]
