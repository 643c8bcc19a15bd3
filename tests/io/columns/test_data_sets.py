"""Sparse matrices and data sets of other libraries, as columns."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from error_assertions import raises
from recveil.io import understand
from recveil.io.columns.frames import data_set_of
from recveil.ratings import Ratings

# ann rates the second film 4, ben the first 2.5.
BY_HAND = sparse.csr_array([[0, 4.0], [2.5, 0]])


class TestMatrices:
    def test_by_hand(self):
        ratings = Ratings.from_frame(BY_HAND)
        assert ratings == Ratings.from_columns([0, 1], [1, 0], [4, 2.5])

    def test_the_other_way_round(self):
        turned = Ratings.from_frame(BY_HAND.T, user="column", item="row")
        assert turned == Ratings.from_frame(BY_HAND)

    def test_how_it_was_read_is_stated_unless_an_option_named_it(self):
        (note,) = [note for note in understand(BY_HAND).notes if "matrix" in note]
        assert note.startswith("The rows of the matrix were taken for users")
        said = understand(BY_HAND, user="row", item="column")
        assert not [note for note in said.notes if "matrix" in note]
        assert said.mapping().startswith("user: column 'row'; item: column 'column'")

    def test_stored_zeros_are_refused(self):
        matrix = sparse.csr_array((np.array([0.0, 3.0, -0.0]), ([0, 0, 1], [0, 1, 1])))
        with raises("rating.zero") as error:
            Ratings.from_frame(matrix)
        assert "2 zeros" in str(error.value)
        matrix.eliminate_zeros()
        assert Ratings.from_frame(matrix).n_ratings == 1

    def test_a_pair_that_stands_twice_is_no_sum(self):
        twice = sparse.coo_array(([2.0, 3.0], ([0, 0], [1, 1])), shape=(1, 2))
        with raises("rating.duplicate") as error:
            Ratings.from_frame(twice)
        assert "row 0, column 1" in str(error.value)
        with pytest.warns(UserWarning, match="1 row was dropped"):
            assert Ratings.from_frame(twice, duplicates="last").values.tolist() == [3]

    def test_users_without_ratings_are_not_there(self):
        matrix = sparse.csr_array(([5.0, 1.0], ([1, 3], [0, 2])), shape=(6, 4))
        ratings = Ratings.from_frame(matrix)
        assert (ratings.users.tolist(), ratings.items.tolist()) == ([1, 3], [0, 2])

    def test_errors_name_row_and_column(self):
        matrix = sparse.coo_array(([4.0, np.nan], ([0, 7], [1, 2])))
        with raises("rating.not-a-number") as error:
            Ratings.from_frame(matrix)
        assert "row 7, column 2" in str(error.value)

    @pytest.mark.parametrize("kind", ["int8", "uint64", "float32", "float64", "longdouble"])
    def test_any_numbers(self, kind):
        ratings = Ratings.from_frame(sparse.csr_array(np.array([[1, 0, 3]], dtype=kind)))
        assert ratings.values.tolist() == [1, 3]

    @pytest.mark.parametrize(
        ("matrix", "code"),
        [
            (sparse.csr_array(np.array([[1j, 0]])), "argument.type"),
            (sparse.csr_array(np.array([[True, False]])), "column.type"),
            (sparse.coo_array(np.array([1.0, 2.0])), "argument.shape"),
            (sparse.csr_array((3, 4)), "table.no-ratings"),
        ],
    )
    def test_what_makes_no_sense(self, matrix, code):
        with raises(code):
            Ratings.from_frame(matrix)


def fake_surprise(rows):
    return SimpleNamespace(raw_ratings=rows, reader=None)


class TestSurprise:
    """By what its data sets have; `tests/test_sources.py` has the library itself."""

    def test_times_as_it_reads_them_from_a_file(self):
        rows = [("196", "242", 3.0, "881250949"), ("186", "302", 3.0, "891717742")]
        expected = Ratings.from_columns([196, 186], [242, 302], [3, 3], [10199, 10320])
        found = Ratings.from_frame(fake_surprise(rows))
        assert found.days.tolist() == [10320, 10199]
        assert found == expected

    def test_without_times(self):
        data = data_set_of(fake_surprise([("ann", "heat", 3.0, None)]))
        assert set(data.table.column_names) == {"user", "item", "rating"}

    def test_mixed_labels_are_reported(self):
        rows = [("ann", 1, 3.0, None), (7, 1, 3.0, None)]
        with raises("column.type"):
            Ratings.from_frame(fake_surprise(rows))

    def test_a_training_set(self):
        trained = SimpleNamespace(
            all_ratings=lambda: iter([(0, 1, 4.0), (1, 0, 2.5)]),
            to_raw_uid=["ann", "ben"].__getitem__,
            to_raw_iid=["alien", "heat"].__getitem__,
        )
        expected = Ratings.from_columns(["ann", "ben"], ["heat", "alien"], [4, 2.5])
        assert Ratings.from_frame(trained) == expected


class TestCornac:
    def data(self, **more):
        triples = np.array([0, 1, 0]), np.array([1, 0, 0]), np.array([4, 2.5, 1])
        labels = {"uid_map": {"ann": 0, "ben": 1, "nobody": 2}, "iid_map": {7: 0, 9: 1}}
        return SimpleNamespace(**{"uir_tuple": triples, "timestamps": None, **labels, **more})

    def test_by_hand(self):
        expected = Ratings.from_columns(["ann", "ben", "ann"], [9, 7, 7], [4, 2.5, 1])
        assert Ratings.from_frame(self.data()) == expected

    def test_times(self):
        dated = self.data(timestamps=10**9 + np.array([86_400, 0, 90_000]))
        assert Ratings.from_frame(dated).days.tolist() == [11_575, 11_575, 11_574]

    def test_baskets_are_no_ratings(self):
        with raises("argument.type"):
            Ratings.from_frame(self.data(num_baskets=3))


def test_a_frame_with_such_columns_is_a_frame():
    import pandas as pd

    names = ("uir_tuple", "uid_map", "iid_map")
    columns = {"user": [1], "item": [2], "rating": [3]} | {name: [0] for name in names}
    assert Ratings.from_frame(pd.DataFrame(columns)).n_ratings == 1
