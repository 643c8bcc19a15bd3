"""In every bin, no user is in a group of fewer than k."""

import numpy as np
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.spark.clusters import DistributedGroups, _gathered_bin, reject_small
from recveil.spark.embeddings import as_lists


def bin_of(places, number=3):
    n = len(places)
    rng = np.random.default_rng(n)
    order = rng.permutation(n)
    return pa.table(
        {
            "bin": pa.array(np.full(n, number)),
            "number": pa.array(order * 7),
            "place": as_lists(np.asarray(places, np.float32)[order]),
        }
    )


@pytest.mark.parametrize("k", [2, 3, 5, 17, 60])
@pytest.mark.parametrize("n", [60, 61, 119, 120, 400])
@pytest.mark.parametrize("kind", ["spread", "equal", "far"])
def test_every_group_of_a_bin_has_k(k, n, kind):
    rng = np.random.default_rng([k, n])
    places = rng.normal(size=(n, 3))
    if kind == "equal":
        places[:] = 1.0
    if kind == "far":
        places[0] = 1e6
    found = _gathered_bin(bin_of(places), k, (1, 2), 4)
    _, sizes = np.unique(found["key"].to_numpy(), return_counts=True)
    assert sizes.min() >= k
    assert sizes.sum() == n
    assert sorted(found["number"].to_pylist()) == [7 * number for number in range(n)]
    parts = found["part"].to_numpy()
    assert parts.min() >= 0
    assert parts.max() < 4
    order = np.argsort(found["key"].to_numpy())
    assert (np.diff(parts[order]) >= 0).all()  # sorting by key sorts by part


def test_the_order_of_rows_changes_nothing_and_the_secret_does():
    places = np.random.default_rng(0).normal(size=(50, 2))
    table = bin_of(places)
    found = _gathered_bin(table, 5, (1, 2), 4)
    again = _gathered_bin(table.take(pa.array(np.arange(50)[::-1])), 5, (1, 2), 4)
    assert found.equals(again)
    other = _gathered_bin(table, 5, (1, 3), 4)
    assert not found["key"].equals(other["key"])


def test_what_cannot_be_grouped_is_an_error():
    with raises("internal.fault"):
        _gathered_bin(bin_of(np.zeros((4, 2))), 5, (1, 2), 4)
    with raises("internal.fault"):
        reject_small(np.array([9, 4]), 5)


def test_records_before_a_part_are_users_or_groups():
    parts = np.array([0, 2]), np.array([12, 7]), np.array([2, 1])
    groups = DistributedGroups(None, *parts, 5, (1,))
    assert groups.firsts(in_groups=False).tolist() == [0, 12]
    assert groups.firsts(in_groups=True).tolist() == [0, 2]
