"""Spread crowds: people of similar tastes gathered in bins, and dealt into classes there.

What is kept of a bin tells of crowds, each of at least twenty people, and of the classes that they
were dealt into; of who is in a class only the number that Spark knows them by.
"""

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from recveil.anonymize.dealt_classes import Dealt, deal_classes
from recveil.anonymize.rare_items import activity_on
from recveil.anonymize.support_tastes import log_activity
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.group import KGather
from recveil.ratings import Ratings, RatingScale
from recveil.spark.chosen_tastes import ChosenTastes, place_choosers
from recveil.spark.people_numbers import NumberedPeople
from recveil.spark.spread_groups import (
    KEY_BITS,
    SpreadGroups,
    count_groups,
    of_table,
    parts_for,
    parts_of,
    refuse_small,
)
from recveil.spark.spread_people import (
    SpreadPeople,
    Whole,
    added_up,
    in_pieces,
    ratings_of,
    some_at_a_time,
)
from recveil.spark.taste_bins import TasteBins, find_bins
from recveil.spark.taste_factors import TasteFactors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Ratings of the bins of one partition, about.
_RATINGS_OF_A_PARTITION = 1 << 22
_ROWS = "bin long, number long, items array<int>, ratings array<float>"
# A row for each person, and one for each bin.
_GATHERED = "part long, key long, number long, crowds binary"
# What is drawn, each by a stream of its own.
_BINS, _GROUPING, _DEALING = 41, 42, 43

Kept = tuple[NDArray[np.int32], NDArray[np.int32]]


@brief
class Crowds(NamedTuple):
    """The crowds of a bin, and their classes.

    Attributes
    ----------
    number : ndarray of int64, shape ()
        Of the bin.
    sizes : ndarray of int64, shape (n_crowds,)
    places : ndarray of float64, shape (n_crowds, n_tastes)
        Means over the people of each crowd.
    usual : ndarray of float64, shape (n_crowds,)
        How many common items people rated, by the mean of the logarithms.
    factors : ndarray of float64, shape (n_crowds, rank)
        Means of what ratings are predicted from; of likes there are none.
    starts, items, raters : ndarray of int64
        How many people of each crowd rated each common item, in compressed rows.
    crowd_of, class_sizes, keys : ndarray of int64, shape (n_classes,)
        The crowd that each class is part of, how many people it has, and where it will stand.
    lengths : ndarray of float64, shape (n_classes, 2)
        How many common and rare items its row shall hold.
    """

    number: NDArray[np.int64]
    sizes: NDArray[np.int64]
    places: NDArray[np.float64]
    usual: NDArray[np.float64]
    factors: NDArray[np.float64]
    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    raters: NDArray[np.int64]
    crowd_of: NDArray[np.int64]
    class_sizes: NDArray[np.int64]
    keys: NDArray[np.int64]
    lengths: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        number: int,
        ratings: Ratings,
        places: NDArray[np.float32],
        factors: NDArray[np.float32],
        crowd_of: NDArray[np.int64],
        common: NDArray[np.int32],
        classes: Dealt,
        keys: NDArray[np.int64],
    ) -> Self:
        """Add up what is told of the crowds of some people.

        Examples
        --------
        >>> ratings = Ratings.from_columns([1, 2], [7, 7], [5, 4])
        >>> classes = Dealt(np.zeros(2, int), np.zeros(1, int), np.array([2]), np.ones((1, 2)))
        >>> crowds = Crowds.of(
        ...     3, ratings, np.array([[1], [2]]), np.zeros((2, 0)), np.zeros(2, int),
        ...     np.array([0]), classes, np.array([9]))
        >>> crowds.sizes, crowds.places, crowds.counted(1).toarray()
        (array([2]), array([[1.5]]), array([[2.]]))
        """
        sizes = np.bincount(crowd_of)
        n = crowd_of.size
        member = sparse.csr_array((np.ones(n), (crowd_of, np.arange(n))), shape=(sizes.size, n))
        rated = ratings.csr.astype(np.float64)
        rated.data = np.ones_like(rated.data)
        counts = (member @ rated).tocsc()[:, common].tocsr()
        counts.sort_indices()
        logs = log_activity(activity_on(ratings, [common])[:, 0])
        return cls(
            number=np.array(number),
            sizes=sizes,
            places=(member @ places.astype(np.float64)) / sizes[:, None],
            usual=np.exp(np.asarray(member @ logs) / sizes),
            factors=(member @ factors.astype(np.float64)) / sizes[:, None],
            starts=counts.indptr.astype(np.int64),
            items=counts.indices.astype(np.int64),
            raters=counts.data.astype(np.int64),
            crowd_of=classes.crowd_of,
            class_sizes=classes.sizes,
            keys=keys,
            lengths=classes.lengths,
        )

    @property
    def dealt(self) -> Dealt:
        """The classes; who is in them is not known here."""
        nobody = np.empty(0, np.int64)
        return Dealt(nobody, self.crowd_of, self.class_sizes, self.lengths)

    def counted(self, n_common: int) -> sparse.csr_array:
        """Return how many people of each crowd rated each common item."""
        shape = (self.sizes.size, n_common)
        return sparse.csr_array((self.raters.astype(float), self.items, self.starts), shape=shape)

    def packed(self) -> bytes:
        """Return it as bytes, in NumPy's format."""
        held = io.BytesIO()
        np.savez(held, **self._asdict())
        return held.getvalue()

    @classmethod
    def unpacked(cls, content: bytes) -> Self:
        """Return what was packed."""
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            return cls(**{name: found[name] for name in cls._fields})

    def _facts(self) -> dict[str, object]:
        return {"crowds": self.sizes.size, "classes": self.crowd_of.size}


@brief
class SpreadCrowds(NamedTuple):
    """Crowds among executors, bin by bin.

    Attributes
    ----------
    frame : DataFrame
        The column `crowds`, a row for each bin.
    classes : SpreadGroups
        Who is in which class.
    """

    frame: "DataFrame"
    classes: SpreadGroups

    def add_up(self, sums: Callable[..., Whole], *known: Any) -> Whole:
        """Return ``sums(crowds, *known)``, added up over all bins, the same in whatever order."""
        return added_up(self.frame, partial(_sums_of, sums=sums, known=known))

    def _facts(self) -> dict[str, object]:
        return self.classes._facts()


def _sums_of(
    batches: Iterator[pa.RecordBatch], sums: Callable[..., Whole], known: tuple[Any, ...]
) -> Iterator[pa.RecordBatch]:
    total: Whole | None = None
    for batch in batches:
        for content in batch.column("crowds"):
            found = sums(Crowds.unpacked(content.as_py()), *known)
            total = found if total is None else total + found
    if total is not None:
        yield from in_pieces(total)


def gather_crowds(
    people: SpreadPeople,
    numbered: NumberedPeople,
    chosen: ChosenTastes,
    known: TasteFactors | None,
    kept: Kept,
    *,
    k: int,
    crowd: int,
    secret: tuple[int, ...],
) -> SpreadCrowds:
    """Gather people who choose alike in crowds, and deal each into classes of at least k.

    Parameters
    ----------
    people : SpreadPeople
    numbered : NumberedPeople
        The same people.
    chosen : ChosenTastes
        By which people are near each other.
    known : TasteFactors or None
        What ratings are predicted from; None for likes.
    kept : tuple of ndarray of int32
        Common and rare items, from `split_items`.
    k, crowd : int
        The least that a class, and a crowd, has.
    secret : tuple of int
        What all that is drawn follows from, together with the table.

    Raises
    ------
    RecveilError
        If a class has fewer than k people, a crowd too few, or somebody is in none.
    """
    least = max(k, crowd)
    placed = place_choosers(people, numbered, chosen)
    bins = find_bins(placed, people.n_people, least, np.random.default_rng([*secret, _BINS]))
    rows = numbered.frame.mapInArrow(
        partial(_binned, scale=people.scale, chosen=chosen, bins=bins), _ROWS
    )
    work = of_table(
        _gathered,
        scale=people.scale,
        chosen=chosen,
        known=known,
        kept=kept,
        k=k,
        least=least,
        secret=secret,
        n_parts=parts_for(people.n_people),
    )
    n_partitions = -(-int(chosen.support.sum()) // _RATINGS_OF_A_PARTITION) + 1
    found = rows.repartition(n_partitions, "bin").groupBy("bin").applyInArrow(work, _GATHERED)
    frame = people.keep(found)
    members = frame.where("crowds is null").select("part", "key", "number")
    classes = count_groups(members, people.n_people, k, secret)
    return SpreadCrowds(frame.where("crowds is not null").select("crowds"), classes)


def _binned(
    batches: Iterator[pa.RecordBatch], scale: RatingScale, chosen: ChosenTastes, bins: TasteBins
) -> Iterator[pa.RecordBatch]:
    """Add the bin of each person to their row."""
    for table in some_at_a_time(batches):
        places = chosen.of_people(ratings_of(table, scale, chosen.support.size))
        found = pa.array(bins.of(table["number"].to_numpy(), places))
        columns = [table[name] for name in ("number", "items", "ratings")]
        yield from pa.table([found, *columns], ["bin", "number", "items", "ratings"]).to_batches()


def _gathered(
    table: pa.Table,
    scale: RatingScale,
    chosen: ChosenTastes,
    known: TasteFactors | None,
    kept: Kept,
    k: int,
    least: int,
    secret: tuple[int, ...],
    n_parts: int,
) -> pa.Table:
    """Gather the people of a bin in crowds, deal these, and draw where each class will stand."""
    table = table.sort_by("number")
    number = int(table["bin"][0].as_py())
    ratings = ratings_of(table, scale, chosen.support.size)
    places = chosen.of_people(ratings)
    crowd_of = _crowds_of(places, least, np.random.default_rng([*secret, _GROUPING, number]))
    rng = np.random.default_rng([*secret, _DEALING, number])
    classes = deal_classes(crowd_of, activity_on(ratings, kept), k, rng)
    refuse_small(classes.sizes, k)
    keys = rng.integers(1 << KEY_BITS, size=classes.sizes.size)
    none = np.zeros((ratings.n_users, 0), np.float32)
    factors = none if known is None else known.of_people(ratings)
    crowds = Crowds.of(number, ratings, places, factors, crowd_of, kept[0], classes, keys)
    own = keys[classes.class_of]
    members = [pa.array(parts_of(own, n_parts)), pa.array(own), table["number"].combine_chunks()]
    columns = [pa.concat_arrays([column, pa.nulls(1, pa.int64())]) for column in members]
    packed = pa.array([None] * ratings.n_users + [crowds.packed()], pa.binary())
    return pa.table([*columns, packed], ["part", "key", "number", "crowds"])


def _crowds_of(
    places: NDArray[np.float32], least: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the crowd of each person of a bin.

    Examples
    --------
    >>> _crowds_of(np.array([[1], [2]], np.float32), 3, np.random.default_rng(0))
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: 2 people came into one crowd, of at least 3; nothing is ...
    """
    labels = np.zeros(len(places), np.int64)
    if len(places) >= least:
        labels = np.asarray(KGather(min_size=least, random_state=rng).fit(places).labels_)
    sizes = np.bincount(labels)
    if sizes.min() < least:
        raise RecveilError(
            f"{sizes.min()} people came into one crowd, of at least {least}; nothing is "
            f"published; this is a fault in recveil, please report it",
            code="internal.fault",
        )
    return labels
