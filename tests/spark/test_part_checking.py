"""What executors find is put together as one machine would have found it."""

import json

import pytest

from error_assertions import raises
from recveil.spark.verification import merge_parts
from recveil.verification.results import Violations


class Stated:
    """A manifest that names three parts."""

    ratings_files = ("ratings-00000.parquet", "ratings-00001.parquet", "ratings-00002.parquet")


def row(first, following, **other):
    return {
        "right": True,
        "n_values": 10,
        "records": following - first,
        "lengths": json.dumps([[2, 1], [first + 4, following - first - 1]]),
        "prefix": "pd9c2-",
        "first": first,
        "next": following,
        "items": json.dumps([[7, 6], [9, 4]]),
        "violations": "[]",
        "left_out": 0,
        "unread": "",
        **other,
    }


def problems(rows):
    violations = Violations()
    counts, items, lengths = merge_parts(rows, Stated, violations)
    return (
        {**counts, "lengths": dict(lengths)},
        items,
        [f"{each.where}: {each.problem}" for each in violations],
    )


def test_parts_that_follow_each_other_are_counted():
    counts, items, found = problems([row(0, 4), row(4, 8), row(8, 9)])
    lengths = {2: 3, 4: 3, 8: 3, 12: 0}
    assert counts == {"records": 9, "values": 30, "items": 2, "rarest": 12, "lengths": lengths}
    assert (items, found) == ([7, 9], [])


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        ([row(1, 4), row(4, 8), row(8, 9)], "00000"),
        ([row(0, 4), row(5, 8), row(8, 9)], "00001"),
        ([row(0, 4), row(4, 8), row(4, 8)], "00002"),
        ([row(0, 4), row(4, 8), row(8, 9, prefix="pffff-")], "00002"),
    ],
)
def test_pseudonyms_must_go_on(rows, where):
    (found,) = problems(rows)[2]
    assert found.startswith(f"ratings-{where}.parquet: its user ids do not continue")


def test_problems_of_parts_are_reported():
    one = ["ratings-00001.parquet row 3", 3, "x", "its rating is outside the scale"]
    rows = [row(0, 4), row(4, 8, violations=json.dumps([one]), left_out=5), row(8, 9)]
    violations = Violations()
    merge_parts(rows, Stated, violations)
    assert [tuple(each) for each in violations] == [tuple(one)]
    assert violations.left_out == 5


def test_a_part_that_cannot_be_read_though_it_is_right_is_no_verdict():
    with raises("release.damaged"):
        problems([row(0, 4), row(4, 8, unread="ratings-00001.parquet: broken"), row(8, 9)])


def test_a_changed_part_that_cannot_be_read_is_reported():
    broken = row(0, 0, right=False, unread="ratings-00001.parquet: broken", prefix="")
    _, _, found = problems([row(0, 4), broken, row(8, 9)])
    assert found[0] == "ratings-00001.parquet: changed, and broken"
