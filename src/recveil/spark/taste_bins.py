"""Taste bins: people around centres, so many in each that one executor can gather groups there.

Source: Chang et al., section 4.2. A sample of people comes to the driver, our own k-gather finds
centres in it, and everybody joins the bin of the nearest.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.group import BisectingKGather
from recveil.group.bounded import nearest_centre
from recveil.spark.taste_factors import as_matrix

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# So many people come to the driver at most, and at least so many of them show where a bin is.
_SAMPLE, _LEAST_OF_BIN = 50_000, 8
# A bin has so many people, about; what grows beyond so many times that is split. Of a large k
# there shall be many groups in a bin all the same.
_A_BIN, _GROUPS_OF_A_BIN, _SKEWED = 1 << 13, 32, 4
# An odd number that mixes the numbers of people: 2 ** 64 over the golden ratio.
_MIXING = np.uint64(0x9E3779B97F4A7C15)


@brief
class TasteBins(NamedTuple):
    """Where bins are.

    Attributes
    ----------
    centres : ndarray of float32, shape (n_bins, d)
        Each with at least k people.
    pieces : ndarray of int64, shape (n_bins,)
        Into how many pieces each is split: 1, unless it has too many people.
    mixing : int
        Says who comes into which piece.
    """

    centres: NDArray[np.float32]
    pieces: NDArray[np.int64]
    mixing: int

    def of(self, numbers: NDArray[np.int64], places: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the bin of each person, pieces counted one by one.

        Examples
        --------
        >>> bins = TasteBins(np.array([[0], [9]], np.float32), np.array([1, 2]), 0)
        >>> bins.of(np.array([5, 6, 8]), np.array([[1], [8], [9]], np.float32))
        array([0, 1, 2])
        """
        nearest, _ = nearest_centre(places, self.centres)
        first = np.cumsum(self.pieces) - self.pieces
        mixed = (numbers.astype(np.uint64) + np.uint64(self.mixing)) * _MIXING >> np.uint64(32)
        piece = mixed % self.pieces[nearest].astype(np.uint64)
        return first[nearest] + piece.astype(np.int64)

    def _facts(self) -> dict[str, object]:
        return {"bins": len(self.centres), "pieces": int(self.pieces.sum())}


def find_bins(placed: "DataFrame", n_people: int, k: int, rng: np.random.Generator) -> TasteBins:
    """Find bins of at least k people each.

    Parameters
    ----------
    placed : DataFrame
        The columns `number` and `place`.
    n_people : int
    k : int
        Precondition: at most n_people.
    rng : Generator
        Draws the sample, and what centres begin with.

    Notes
    -----
    The sample is half of the people, as Chang et al. leave it open, and at most 50,000. A bin that
    gets fewer than k people is dissolved: each of them joins the nearest of those that have k, and
    these only grow. A bin of too many is split by chance, as there people are close.
    """
    usual = max(_A_BIN, _GROUPS_OF_A_BIN * k)
    wanted, most_of_sample = -(-n_people // usual), min(_SAMPLE, max(1, n_people // 2))
    n_bins = max(1, min(wanted, most_of_sample // _LEAST_OF_BIN))
    sample = np.sort(rng.choice(n_people, most_of_sample, replace=False))
    mixing = int(rng.integers(2**63))
    centres = _centres(_sampled(placed, sample), n_bins, rng)
    bins = TasteBins(centres, np.ones(len(centres), np.int64), mixing)
    sizes = _sizes(placed, bins)
    if (sizes < k).any():
        kept = sizes >= k
        kept[np.argmax(sizes)] = True  # with nobody else, it gets all
        bins = TasteBins(centres[kept], bins.pieces[kept], mixing)
        sizes = _sizes(placed, bins)
    return bins._replace(pieces=np.where(sizes > _SKEWED * usual, -(-sizes // usual), 1))


def _centres(
    sample: NDArray[np.float32], n_bins: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return the means of groups of a sample, at most `n_bins` of them.

    Examples
    --------
    >>> _centres(np.array([[1], [3]], np.float32), 1, np.random.default_rng(0))
    array([[2.]], dtype=float32)
    """
    if n_bins == 1:
        return sample.mean(axis=0, dtype=np.float64, keepdims=True).astype(np.float32)
    least = len(sample) // n_bins
    labels = BisectingKGather(min_size=least, random_state=rng).fit(sample).labels_
    sums = np.zeros((labels.max() + 1, sample.shape[1]))
    np.add.at(sums, labels, sample)
    return (sums / np.bincount(labels)[:, None]).astype(np.float32)


def _sampled(placed: "DataFrame", sample: NDArray[np.int64]) -> NDArray[np.float32]:
    """Bring the places of some people to the driver, in the order of their numbers."""
    work = partial(_only, sample=sample)
    table = placed.mapInArrow(work, "number long, place array<float>").toArrow().combine_chunks()
    return as_matrix(table.sort_by("number")["place"])


def _only(batches: Iterator[pa.RecordBatch], sample: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(pa.array(np.isin(batch.column("number").to_numpy(), sample)))


def _sizes(placed: "DataFrame", bins: TasteBins) -> NDArray[np.int64]:
    """Count the people of each bin."""
    found = into_bins(placed, bins).groupBy("bin").count().toArrow()
    sizes = np.zeros(int(bins.pieces.sum()), np.int64)
    sizes[found["bin"].to_numpy()] = found["count"].to_numpy()
    return sizes


def into_bins(placed: "DataFrame", bins: TasteBins) -> "DataFrame":
    """Add the bin of each person to a frame of `number` and `place`."""
    work = partial(_binned, bins=bins)
    return placed.mapInArrow(work, "bin long, number long, place array<float>")


def _binned(batches: Iterator[pa.RecordBatch], bins: TasteBins) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            numbers = batch.column("number")
            found = bins.of(numbers.to_numpy(), as_matrix(batch.column("place")))
            yield pa.RecordBatch.from_arrays(
                [pa.array(found), numbers, batch.column("place")], names=["bin", "number", "place"]
            )
