"""Crowd rows: the row of each class, drawn by executors, bin by bin, with the local kernels."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.anonymize.dealt_classes import draw_items
from recveil.anonymize.sparse_rows import label_rows
from recveil.ratings import RatingScale
from recveil.spark.crowd_rule import CrowdRule
from recveil.spark.spread_crowds import Crowds, Kept, SpreadCrowds
from recveil.spark.spread_groups import parts_of
from recveil.spark.spread_people import added_up, in_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS = "part long, key long, people long, items array<int>, labels array<double>"
# What is drawn, by a stream of its own.
_ITEMS = 61


def draw_rows(
    crowds: SpreadCrowds,
    rule: CrowdRule,
    kept: Kept,
    support: NDArray[np.int64],
    scale: RatingScale,
    step: float,
    n_parts: int,
) -> "DataFrame":
    """Return a frame of the rows of all classes: `part`, `key`, `people`, `items` and `labels`.

    Parameters
    ----------
    crowds : SpreadCrowds
    rule : CrowdRule
    kept : tuple of ndarray of int32
        Common and rare items.
    support : ndarray of int64, shape (n_items,)
    scale : RatingScale
    step : float
        That of the labels.
    n_parts : int
    """
    of_bin = partial(
        rows_of_bin,
        rule=rule,
        kept=kept,
        support=support,
        scale=scale,
        step=step,
        n_parts=n_parts,
    )
    work = partial(_drawn, of_bin=of_bin)
    return crowds.frame.mapInArrow(work, _ROWS)


def count_people(rows: "DataFrame", n_items: int) -> NDArray[np.int64]:
    """Return how many people's rows hold each item, shape (n_items,)."""
    return added_up(rows.select("people", "items"), partial(_counted, n_items=n_items))


def _counted(batches: Iterator[pa.RecordBatch], n_items: int) -> Iterator[pa.RecordBatch]:
    people = np.zeros(n_items, np.int64)
    for batch in batches:
        items = batch.column("items")
        behind = np.repeat(batch.column("people").to_numpy(), np.diff(items.offsets.to_numpy()))
        np.add.at(people, items.flatten().to_numpy(), behind)
    yield from in_pieces(people)


def _drawn(
    batches: Iterator[pa.RecordBatch], of_bin: Callable[[Crowds], Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for content in batch.column("crowds"):
            yield from of_bin(Crowds.unpacked(content.as_py()))


def rows_of_bin(
    crowds: Crowds,
    rule: CrowdRule,
    kept: Kept,
    support: NDArray[np.int64],
    scale: RatingScale,
    step: float,
    n_parts: int,
) -> Iterator[pa.RecordBatch]:
    """Draw the rows of the classes of a bin.

    An item stands in less than one row more or less of each bin than its probabilities add up to.
    Of the people of rare items each bin has its share, by how many rare items its people rated.
    """
    rng = np.random.default_rng([*rule.secret, _ITEMS, int(crowds.number)])
    dealt = crowds.dealt
    of_rare, total = float(dealt.lengths[:, 1] @ dealt.sizes), float(support[kept[1]].sum())
    if not of_rare:  # nobody here rated any of them
        kept = kept[0], kept[1][:0]
    share = support[kept[1]] * (of_rare / max(total, 1.0))
    drawn = draw_items(rule.choices(crowds), kept, share, dealt, rng)
    labels = rule.labels(crowds, support.size)
    in_order = np.arange(dealt.sizes.size)
    first = 0
    for block in label_rows(drawn, in_order, dealt, labels, scale, step):
        keys = crowds.keys[first : first + len(block)]
        first += len(block)
        offsets = pa.array(block.indptr.astype(np.int32))
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(parts_of(keys, n_parts)),
                pa.array(keys),
                pa.array(block.sizes, pa.int64()),
                pa.ListArray.from_arrays(offsets, pa.array(block.indices, pa.int32())),
                pa.ListArray.from_arrays(offsets, pa.array(block.values, pa.float64())),
            ],
            names=["part", "key", "people", "items", "labels"],
        )
