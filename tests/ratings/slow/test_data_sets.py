"""Sparse matrices and data sets of other libraries, as columns."""

from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from recveil.ratings import Ratings


class TestMatrices:
    @given(st.dictionaries(st.tuples(st.integers(0, 9), st.integers(0, 9)), st.integers(1, 5)))
    def test_as_columns_say(self, cells):
        if not cells:
            return
        (users, items), values = zip(*cells, strict=True), list(cells.values())
        matrix = sparse.coo_array((values, (users, items)))
        assert Ratings.from_frame(matrix.tocsc()) == Ratings.from_columns(users, items, values)
