import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.runtime.compiled import count_bits, pack_rows


@given(st.integers(0, 2**64 - 1))
def test_ones_are_counted(word):
    assert count_bits(np.uint64(word)) == word.bit_count()


@pytest.mark.parametrize("n_columns", [0, 1, 64, 65, 300])
def test_each_entry_is_a_bit(n_columns):
    table = np.random.default_rng(n_columns).random((7, n_columns)) < 0.4
    rows, columns = np.nonzero(table)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=7))])
    bits = pack_rows(indptr, columns, n_columns)
    assert bits.shape == (7, -(-n_columns // 64))
    unpacked = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little", count=n_columns)
    assert (unpacked.astype(bool) == table).all()
