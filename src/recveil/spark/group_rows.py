"""Group rows: how executors make the rows of some groups, by the kernels of the local engine."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from recveil.anonymize.base import rounded
from recveil.anonymize.corated_rows import CoRatedRows, Protect
from recveil.anonymize.homogenize import homogenize_padded, homogenize_simple
from recveil.brief import brief
from recveil.ratings import Ratings
from recveil.release.as_given import GivenCounts
from recveil.release.groups import Groups
from recveil.release.records import Records
from recveil.release.sides import Published
from recveil.spark.spread_groups import refuse_small
from recveil.spark.spread_people import SpreadPeople, Whole, ratings_of
from recveil.spark.taste_factors import TasteFactors

# Where a scale has no steps, ratings are added up in whole steps of so small a part of it.
_STEPS = 1 << 20
# Labels that are dealt anew are so by a stream of its own, and so is in which order the people of a
# group stand.
_DEALT, _MEMBERS = 31, 21
_IN_ORDER = [("key", "ascending"), ("number", "ascending")]


class GroupRows(Protocol):
    """How the rows of groups are made; all that executors need for it."""

    @property
    def published(self) -> Published:
        """Without what only the driver calls."""

    @property
    def k(self) -> int:
        """The least that a group has."""

    @property
    def step(self) -> float | None:
        """That of the labels."""

    @property
    def are_shared(self) -> bool:
        """Whether a group has one row, and not each of its people their own."""

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> "PartRows":
        """Make the rows of the groups of a part, of whom nobody is in another one."""


class PartRows(NamedTuple):
    """The rows of a part, in published order.

    Attributes
    ----------
    blocks : iterator of Records
    given : list of int
        The numbers of `GivenCounts`, of rows whose labels may be ratings as they were given.
    """

    blocks: Iterator[Records]
    given: list[int]


def in_published_order(
    table: pa.Table, part: int, secret: tuple[int, ...]
) -> tuple[pa.Table, Groups]:
    """Put the people of a part in published order; return them, and their groups."""
    table = table.sort_by(_IN_ORDER)
    luck = np.random.default_rng([*secret, _MEMBERS, part]).random(table.num_rows)
    table = table.take(np.lexsort((luck, table["key"].to_numpy())))
    keys = table["key"].to_numpy()
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1, [keys.size]])
    return table, Groups(np.arange(keys.size), starts.astype(np.int64))


def _people_of(
    table: pa.Table, part: int, secret: tuple[int, ...], published: Published, k: int
) -> tuple[Ratings, Groups]:
    """Return the ratings of the people of a part, and the groups that they are in."""
    table, groups = in_published_order(table, part, secret)
    refuse_small(groups.sizes, k)
    return ratings_of(table, published.scale, published.items.size), groups


@brief
class SharedRows(NamedTuple):
    """One row for each group, of means.

    Attributes
    ----------
    published : Published
        Without what only the driver calls.
    homogenize : {"padded", "simple"}
    step : float or None
        That of the labels.
    known : TasteFactors or None
        For padded rows.
    k : int
    """

    published: Published
    homogenize: Literal["padded", "simple"]
    step: float | None
    known: TasteFactors | None
    k: int

    @property
    def are_shared(self) -> bool:
        """Say that people share them, always."""
        return True

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> PartRows:
        """Make the rows of the groups of a part, of whom nobody is in another one.

        Labels of simple ones may be ratings as they were given, which are counted: of an item that
        one person alone rated, the mean is their rating.
        """
        ratings, groups = _people_of(table, part, secret, self.published, self.k)
        if self.known is None:
            held = list(self._rounded(homogenize_simple(ratings, groups)))
            given = GivenCounts.of(ratings, groups, held, self.step)
            return PartRows(iter(held), given.numbers.tolist())
        padding = self.known.padding(self.known.of_people(ratings), ratings.scale)
        all_items = np.arange(ratings.n_items, dtype=np.int32)
        padded = homogenize_padded(ratings, padding, groups, rated=all_items)
        return PartRows(self._rounded(padded), [])

    def _rounded(self, blocks: Iterator[Records]) -> Iterator[Records]:
        for block in blocks:
            labels = rounded(block.values, self.published.scale, self.step)
            yield Records(block.sizes, block.indptr, block.indices, labels)

    def _facts(self) -> dict[str, object]:
        return {"": self.homogenize, "k": self.k}


@brief
class FilledRows(NamedTuple):
    """A row for each person: what they rated, and fills where others of their group rated.

    Attributes
    ----------
    published : Published
        Without what only the driver calls.
    step : float or None
        That of the labels.
    known : KnownMeans
    k : int
    round_fills : bool
    protect : {"none", "labels", "mean", "shuffle"}
    secret : tuple of int
        What all that is drawn follows from, together with the table.
    """

    published: Published
    step: float | None
    known: "KnownMeans"
    k: int
    round_fills: bool
    protect: Protect
    secret: tuple[int, ...]

    @property
    def are_shared(self) -> bool:
        """Not even where they are equal: k-coRating gives each person a record."""
        return False

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> PartRows:
        """Make the rows of the groups of a part, of whom nobody is in another one.

        That labels are ratings as they were given is said of all of them, and none is counted.
        """
        ratings, groups = _people_of(table, part, secret, self.published, self.k)
        rng = np.random.default_rng([*self.secret, _DEALT, part])
        rows = CoRatedRows.of(
            ratings,
            self.known,
            groups,
            round_fills=self.round_fills,
            protect=self.protect,
            seed=int(rng.integers(2**62)),
        )
        return PartRows((rows.rows(first, last) for first, last in rows.blocks()), [])

    def _facts(self) -> dict[str, object]:
        return {"": "filled", "k": self.k}


@brief
class ClassRows(NamedTuple):
    """One row for each class, drawn from the tastes of its crowd; see `crowd_rows`.

    Attributes
    ----------
    published : Published
        Without what only the driver calls.
    step : float or None
        That of the labels.
    k : int
    """

    published: Published
    step: float | None
    k: int

    @property
    def are_shared(self) -> bool:
        """Say that people share them, always."""
        return True

    def of(self, table: pa.Table, part: int, secret: tuple[int, ...]) -> PartRows:
        """Put the rows of the classes of a part in published order."""
        del part, secret  # nothing more is drawn
        table = table.sort_by("key").combine_chunks()
        sizes = table["people"].to_numpy()
        refuse_small(sizes, self.k)
        items, labels = (table[name].combine_chunks() for name in ("items", "labels"))
        starts = items.offsets.to_numpy().astype(np.int64)
        block = Records(
            sizes, starts - starts[0], items.flatten().to_numpy(), labels.flatten().to_numpy()
        )
        return PartRows(iter([block]), [])

    def _facts(self) -> dict[str, object]:
        return {"": "drawn", "k": self.k}


@brief
class KnownMeans(NamedTuple):
    """What `recveil.predict.ItemMean` learns, from sums.

    Attributes
    ----------
    means : ndarray of float32, shape (n_items,)

    Examples
    --------
    >>> KnownMeans(np.array([3.5, 1], np.float32)).predict([0, 0], [1, 0])
    array([1. , 3.5], dtype=float32)
    """

    means: NDArray[np.float32]

    @classmethod
    def of(cls, people: SpreadPeople) -> "KnownMeans":
        """Ask executors; sums of whole numbers are the same in whatever order."""
        scale = people.scale
        unit = scale.step or scale.range / _STEPS or 1.0
        support, steps = people.add_up(sums_of_items, scale.low, unit)
        # The sum first, and then the quotient: as ItemMean works it out.
        sums = support * scale.low + steps * unit
        overall = sums.sum() / max(1, support.sum())
        means = np.where(support > 0, sums / np.maximum(support, 1), overall)
        return cls(means.astype(np.float32))

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Return the mean of each item, whoever asks."""
        del users
        return self.means[np.asarray(items)]

    def _facts(self) -> dict[str, object]:
        return {"items": self.means.size}


def sums_of_items(ratings: Ratings, low: float, unit: float) -> Whole:
    """Count the ratings of each item, and add up how many units above the lowest they are.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 2, 2], [7, 7, 8], [5, 1.5, 3])
    >>> sums_of_items(ratings, 1, 0.5)
    array([[2, 1],
           [9, 4]])
    """
    steps = np.rint((ratings.values.astype(np.float64) - low) / unit)
    n = ratings.n_items
    sums = [np.bincount(ratings.indices, minlength=n), np.bincount(ratings.indices, steps, n)]
    return np.array(sums).astype(np.int64)
