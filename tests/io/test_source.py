"""Which columns are read: none may be lost, whatever they are called."""

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.io import read_table
from recveil.io.source import Selection
from recveil.runtime.errors import RecveilError
from recveil.verification import verify
from shared.io_source import NEEDED, names


@settings(deadline=None, max_examples=200)
@given(extras=st.lists(names, max_size=9), at=st.integers(0, 9))
def test_every_column_of_the_file_is_chosen_once(extras, at):
    columns = [*extras[:at], *NEEDED, *extras[at:]]
    refusal = ""
    try:
        chosen = Selection(extras=True).choose(columns, "some.csv")
    except RecveilError as error:
        refusal = str(error)
    if refusal:  # two of one name, or two that could be the user
        assert "two columns" in refusal or "could both be" in refusal
    else:
        assert sorted(chosen.values()) == sorted(columns)


@pytest.mark.parametrize("role", ["time", "user", "item", "rating"])
@pytest.mark.parametrize("first", [True, False])
def test_a_column_called_extra_next_to_one_that_becomes_it(role, first, tmp_path):
    """Besides `timestamp`, `time` becomes "time (extra)", a name that exists already."""
    columns = {name: ["4", "4"] for name in NEEDED} | {"user_id": ["a", "b"]}
    unique, equal = {f"{role} (extra)": ["x", "y"]}, {role: ["4", "4"]}
    file = tmp_path / "some.csv"
    pa_csv.write_csv(pa.table(columns | (unique | equal if first else equal | unique)), file)
    if role == "rating":  # which is the rating has to be said, as for any two
        pa_csv.write_csv(pa.table(unique | columns | {"stars (extra)": ["4", "4"]}), file)
    assert read_table(file).table.num_columns == 6
    assert not verify(file, k=2).holds


def test_two_extra_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "some.csv").write_text("user_id,item_id,rating,note,note\na,1,4,x,y\nb,1,4,x,z\n")
    with raises("column.duplicate") as error:
        verify(tmp_path / "some.csv", k=2)
    assert "'note'" in str(error.value)
