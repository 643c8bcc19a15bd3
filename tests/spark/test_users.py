"""Numbers of users: each once, and a digest of all that they gave."""

import pyarrow as pa
import pytest

from recveil.spark.users import _counted, _numbered

USERS = pa.array(["ann", "ben", "cy"])
ITEMS = pa.array([[0, 2], [1], [0, 1, 2]], pa.list_(pa.int32()))
RATINGS = pa.array([[1, 2], [3], [4, 5, 1]], pa.list_(pa.float32()))
NAMES = ["user", "items", "ratings"]
BATCH = pa.RecordBatch.from_arrays([USERS, ITEMS, RATINGS], names=NAMES)


def counted(*batches):
    (found,) = _counted(iter(batches))
    return found.to_pylist()[0]


def test_batches_do_not_matter():
    whole = counted(BATCH)
    assert (whole["users"], whole["n_bytes"]) == (3, 8)
    assert counted(BATCH.slice(0, 1), BATCH.slice(1)) == whole
    assert counted()["users"] == 0


@pytest.mark.parametrize(
    "changed",
    [
        [pa.array(["an", "nben", "cy"]), ITEMS, RATINGS],
        [USERS, pa.array([[0], [1, 2], [0, 1, 2]], pa.list_(pa.int32())), RATINGS],
        [USERS, ITEMS, pa.array([[1, 2], [3], [4, 5, 2]], pa.list_(pa.float32()))],
    ],
)
def test_any_change_of_a_rating_changes_the_digest(changed):
    other = pa.RecordBatch.from_arrays(changed, names=NAMES)
    assert counted(other)["digest"] != counted(BATCH)["digest"]


def test_numbers_go_on_over_batches():
    found = pa.Table.from_batches(_numbered(iter([BATCH.slice(0, 2), BATCH.slice(2)]), [40]))
    assert found["number"].to_pylist() == [40, 41, 42]
    assert found["user"].to_pylist() == ["ann", "ben", "cy"]
