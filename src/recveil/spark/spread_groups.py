"""Spread groups: who is in which group, found by executors, in an order that tells nothing."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.group import KGather
from recveil.spark.spread_people import SpreadPeople
from recveil.spark.taste_bins import find_bins, into_bins
from recveil.spark.taste_factors import as_matrix

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A file holds so many people, about, and there are at most so many files.
_A_PART, _MOST_PARTS = 1 << 14, 1 << 12
# Groups stand in the order of such numbers, drawn for each: so many bits, of which these say which
# part a group is in.
KEY_BITS, _PART_BITS = 62, 32
# What is drawn, each by a stream of its own.
_BINS, _GROUPING, _ORDER = 1, 2, 3


@brief
class SpreadGroups(NamedTuple):
    """Groups among executors.

    Attributes
    ----------
    frame : DataFrame
        The columns `part`, `key` (equal for those who are in one group) and `number`.
    parts : ndarray of int64, shape (n_parts,)
        What `part` says, in published order.
    people, groups : ndarray of int64, shape (n_parts,)
        How many there are in each part.
    k : int
        The least that a group has.
    secret : tuple of int
        What all that is drawn follows from, together with the table.
    """

    frame: "DataFrame"
    parts: NDArray[np.int64]
    people: NDArray[np.int64]
    groups: NDArray[np.int64]
    k: int
    secret: tuple[int, ...]

    def firsts(self, *, in_groups: bool) -> NDArray[np.int64]:
        """Return how many records stand before each part."""
        records = self.groups if in_groups else self.people
        return np.asarray(np.cumsum(records) - records)

    def _facts(self) -> dict[str, object]:
        return {"parts": self.parts.size, "groups": int(self.groups.sum()), "k": self.k}


def gather_groups(
    people: SpreadPeople, placed: "DataFrame", k: int, secret: tuple[int, ...]
) -> SpreadGroups:
    """Gather people who are near each other in groups of at least k.

    Parameters
    ----------
    people : SpreadPeople
    placed : DataFrame
        The columns `number` and `place`.
    k : int
    secret : tuple of int
        What all that is drawn follows from, together with the table.

    Raises
    ------
    RecveilError
        If a group has fewer than k people, or somebody is in none: nothing is published then.
    """
    bins = find_bins(placed, people.n_people, k, np.random.default_rng([*secret, _BINS]))
    work = of_table(_gathered_bin, k=k, secret=secret, n_parts=parts_for(people.n_people))
    schema = "part long, key long, number long"
    frame = people.keep(into_bins(placed, bins).groupBy("bin").applyInArrow(work, schema))
    return count_groups(frame, people.n_people, k, secret)


def count_groups(
    frame: "DataFrame", n_people: int, k: int, secret: tuple[int, ...]
) -> SpreadGroups:
    """Count who is in groups, in each part.

    Parameters
    ----------
    frame : DataFrame
        The columns `part`, `key` and `number`.
    n_people, k : int
    secret : tuple of int

    Raises
    ------
    RecveilError
        If a group has fewer than k people, or somebody is in none.
    """
    from pyspark.sql import functions as sql

    sizes = frame.groupBy("part", "key").count()
    told = sizes.groupBy("part").agg(
        sql.sum("count").alias("people"),
        sql.count(sql.lit(1)).alias("groups"),
        sql.min("count").alias("least"),
    )
    table = told.toArrow().combine_chunks().sort_by("part")
    parts, in_parts, groups, least = (
        table[name].to_numpy() for name in ("part", "people", "groups", "least")
    )
    if in_parts.sum() != n_people or least.min() < k:
        raise RecveilError(
            f"groups of {in_parts.sum():,} people, the smallest of {least.min():,}, came of "
            f"{n_people:,} people and k = {k}; this is a fault in recveil, please report it",
            code="internal.fault",
        )
    return SpreadGroups(frame, parts, in_parts, groups, k, secret)


def parts_for(n_people: int) -> int:
    """Return in how many parts, at most, so many people are written."""
    return min(_MOST_PARTS, -(-n_people // _A_PART))


def parts_of(keys: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """Return the part of each group by what was drawn for it: parts ascend as these do.

    Examples
    --------
    >>> parts_of(np.array([0, 3 << 60]), 4)
    array([0, 3])
    """
    return np.asarray(((keys >> (KEY_BITS - _PART_BITS)) * n_parts) >> _PART_BITS)


def _gathered_bin(table: pa.Table, k: int, secret: tuple[int, ...], n_parts: int) -> pa.Table:
    """Gather the people of a bin in groups, and draw where each group will stand."""
    table = table.sort_by("number")
    number_of_bin = int(table["bin"][0].as_py())
    if table.num_rows < k:
        raise RecveilError(
            f"{table.num_rows} people are left in a bin, who cannot form a group of k = {k}; this "
            f"is a fault in recveil, please report it",
            code="internal.fault",
        )
    drawing = np.random.default_rng([*secret, _GROUPING, number_of_bin])
    labels = KGather(min_size=k, random_state=drawing).fit(as_matrix(table["place"])).labels_
    refuse_small(np.bincount(labels), k)
    drawing = np.random.default_rng([*secret, _ORDER, number_of_bin])
    keys = drawing.integers(1 << KEY_BITS, size=labels.max() + 1)[labels]
    return pa.table({"part": parts_of(keys, n_parts), "key": keys, "number": table["number"]})


def of_table(work: Callable[..., pa.Table], **known: Any) -> Callable[[pa.Table], pa.Table]:
    """Return what takes a table alone, and says so: Spark looks at the types of its parameters.

    Examples
    --------
    >>> of_table(lambda table, n: table.slice(0, n), n=1)(pa.table({"part": [7, 8]})).num_rows
    1
    """

    def worked(table: pa.Table) -> pa.Table:
        return work(table, **known)

    return worked


def refuse_small(sizes: NDArray[np.int64], k: int) -> None:
    """Raise a RecveilError if a group has fewer than k people.

    Examples
    --------
    >>> refuse_small(np.array([5, 4]), 5)
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: a group of 4 people, and k = 5; nothing is published; this is ...
    """
    if sizes.min() < k:
        raise RecveilError(
            f"a group of {sizes.min()} people, and k = {k}; nothing is published; this is a fault "
            f"in recveil, please report it",
            code="internal.fault",
        )
