"""A release as the adversary receives it, with the true records to evaluate guesses."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.attacks.candidates import Candidates
from recveil.ratings import Ratings
from recveil.ratings.rating_scale import LIKES
from recveil.release.claim import Claim
from recveil.release.dates import ORDER, PERIODS, period_of
from recveil.release.manifest import Manifest, private_folder
from recveil.release.manifest_reader import known_manifest
from recveil.release.method import Settings
from recveil.release.reader import (
    PrivateFolder,
    names_in_release,
    positions,
    read_attributes,
    read_blocks,
    read_private_folder,
    reading_release,
)
from recveil.release.records import Records
from recveil.release.sides import Anonymizer, Sides
from recveil.release.user_table import SUPPRESSED, UserColumns, UserTable
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief


@brief
@dataclass(frozen=True, eq=False)
class AttackTarget:
    """The classes of identical published records, and the class of each user.

    Identical records form one class, because their users cannot be distinguished. Positions of
    items and users are those of the raw ratings.

    Parameters
    ----------
    candidates : Candidates
        One candidate per class, with its number of users.
    indptr : ndarray of int64, shape (n_classes + 1,)
        Class c has the values ``indptr[c]:indptr[c + 1]``.
    indices : ndarray of int32, shape (n_values,)
        Positions of items, ascending in each class.
    values : ndarray of float64, shape (n_values,)
        The published values.
    record_of : ndarray of int64, shape (n_users,)
        Class of each user of the raw ratings; -1 outside the release. It evaluates guesses; attacks
        must not use it.
    k : int
        The claimed minimum number of users per class.
    promised : ndarray of int64, shape (n_classes,)
        The same per class: more than `k` where users have their own privacy levels.
    co_rated : bool
        Whether the release claims that records share only their items, so that some values are
        fills.
    contains_users : bool
        Whether each record belongs to users in the data. If not, no user has a record, but
        membership may still leak.
    days : ndarray of int32, shape (n_values,), or None
        The middle of the period of each published date, in days since 1970-01-01; of an order, the
        quantile of the days of the raw ratings at the relative position.
    attributes : dict of str to list of Counter
        Published attributes of users: per class, the number of its users with each text.
    known_attributes : dict of str to list of str or None
        The attributes of each user of the raw ratings, as the adversary knows them.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> release = PredictiveAnonymizer(k=5, seed=1).anonymize(ratings)
    >>> table = AttackTarget.from_release(release, ratings)
    >>> table.k, table.candidates.n_users, table.record_of.size
    (5, 50, 50)
    """

    candidates: Candidates
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    record_of: NDArray[np.int64]
    k: int
    promised: NDArray[np.int64]
    co_rated: bool = False
    contains_users: bool = True
    days: NDArray[np.int32] | None = None
    attributes: Mapping[str, list[Counter[str]]] = field(default_factory=dict)
    known_attributes: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    # Most days by which all dates of a user were shifted; 0 for true dates
    date_shift: int = 0

    @staticmethod
    def from_release(release: Sides, ratings: Ratings) -> "AttackTarget":
        """Build the table from a release in memory.

        Parameters
        ----------
        release : Sides
        ratings : Ratings
            The ratings that it was made from; they may contain further users.

        Raises
        ------
        RecveilError
            If an item or a user of the release is unknown to the ratings.
        """
        published, private = release.published, release.private
        contains_users = published.claim.about.contains_users
        # A public catalog may contain items without ratings.
        item_of = positions(
            *(pa.array(release.original_items), ratings.items, "item", "the release"),
            missing=None if contains_users else -1,
        )
        classes = _Classes(ratings.n_items)
        class_of_group: list[int] = []
        of_groups = _attributes_of_groups(published.user_table)
        for block in published.blocks():
            known = block if contains_users else block.only(item_of[block.indices] >= 0)
            texts = [*itertools.islice(of_groups, len(block))]
            class_of_group += classes.add(known, item_of[known.indices], texts)
        record_of = np.full(ratings.n_users, -1, np.int64)
        settings = published.settings
        if not contains_users:
            return classes.released(ratings, record_of, published.claim, settings)
        missing = None if private.continuation is None else -1  # users who left
        users = positions(
            pa.array(private.users), ratings.users, "user", "the release", missing=missing
        )[private.groups.members]
        class_of = np.repeat(np.array(class_of_group, np.int64), private.groups.sizes)
        record_of[users[users >= 0]] = class_of[users >= 0]
        return classes.released(ratings, record_of, published.claim, settings)

    @staticmethod
    def from_folder(folder: str | PathLike[str], ratings: Ratings) -> "AttackTarget":
        """Read a release from its folder, and the users' records from its private folder.

        Parameters
        ----------
        folder : path
            The published folder. Its private folder must be next to it, unless no record belongs to
            a user.
        ratings : Ratings
            The ratings that it was made from; they may contain further users.

        Raises
        ------
        RecveilError
            If the folder is no release, its ratings are not those that were written, the private
            folder is missing or belongs to another release, or an item or a user of the release is
            unknown to the ratings.
        """
        published = Path(folder).resolve()  # its name is needed, and . has none
        manifest, private = known_manifest(published), private_folder(published)
        if not manifest.contains_users:
            return AttackTarget.from_published(published, ratings)
        opened = read_private_folder(published)
        classes, class_of_id = _read_classes(published, manifest, ratings)
        with reading_release(published):
            record_of = _assigned(opened, class_of_id, ratings, private)
        found = np.bincount(
            [class_of_id[published_id] for published_id in opened.ids], minlength=len(classes.sizes)
        )
        if not np.array_equal(found, classes.sizes):
            raise RecveilError(
                f"{private}: the published records state other numbers of users; write the release "
                f"again",
                code="private.mismatch",
            )
        return classes.released(ratings, record_of, manifest.claim, manifest.settings)

    @staticmethod
    def from_published(folder: str | PathLike[str], ratings: Ratings) -> "AttackTarget":
        """Read a release without its private folder: every user's record is unknown.

        Parameters
        ----------
        folder : path
            The published folder. The private folder is read only if items have pseudonyms.
        ratings : Ratings
            They define the positions of the items.

        Raises
        ------
        RecveilError
            If the folder is no release, its ratings are not those that were written, or an item is
            unknown to the ratings.
        """
        published = Path(folder).resolve()
        manifest = known_manifest(published)
        classes, _ = _read_classes(published, manifest, ratings)
        no_records = np.full(ratings.n_users, -1, np.int64)
        return classes.released(ratings, no_records, manifest.claim, manifest.settings)

    def agreeing(self, users: NDArray[np.int64]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield places of users with the same known attributes, and the classes that agree.

        A class agrees if, for each attribute, a user of it has the text or a suppressed one.
        """
        names = [name for name in self.known_attributes if name in self.attributes]
        columns = [self.known_attributes[name] for name in names]
        places: dict[tuple[str | None, ...], list[int]] = {}
        for place, user in enumerate(users.tolist()):
            places.setdefault(tuple(texts[user] for texts in columns), []).append(place)
        for own, these in places.items():
            agree = np.ones(self.candidates.n_records, np.bool_)
            for name, text in zip(names, own, strict=True):
                if text is not None:
                    agree &= [not {text, SUPPRESSED}.isdisjoint(n) for n in self.attributes[name]]
            # Where none agrees, what is known is wrong.
            yield np.array(these), np.flatnonzero(agree if agree.any() else ~agree)

    @property
    def n_items(self) -> int:
        """Number of items of the raw ratings."""
        return self.candidates.n_items

    def row(self, record: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the item positions (ascending) and values of one class."""
        cells = slice(self.indptr[record], self.indptr[record + 1])
        return self.indices[cells], self.values[cells]

    def item_means(self) -> NDArray[np.float64]:
        """Return each item's mean value over the users who have one, shape (n_items,), else nan."""
        carried, totals = self.item_sums()
        return np.divide(totals, carried, out=np.full(self.n_items, np.nan), where=carried > 0)

    def item_sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each item's number of users, and the sum of their values, shape (n_items,)."""
        users = np.repeat(self.candidates.sizes, np.diff(self.indptr)).astype(np.float64)
        carried, totals = (
            np.bincount(self.indices, weights, self.n_items).astype(np.float64)
            for weights in (users, users * self.values)
        )
        return carried, totals


class _Classes:
    """Collects records block by block and keeps one row per class of identical ones."""

    def __init__(self, n_items: int) -> None:
        self.sizes: list[int] = []
        self._keys = np.arange(2 * n_items, dtype=np.uint64).reshape(-1, 2)
        self._class_of: dict[bytes, int] = {}
        self._lengths: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._indices: list[NDArray[np.int32]] = []
        self._values: list[NDArray[np.float64]] = []
        self._days: list[NDArray[np.int32]] = []
        self._promised: dict[int, int] = {}
        self._attributes: list[dict[str, Counter[str]]] = []

    def add(
        self,
        block: Records,
        items: NDArray[np.int32],
        texts: "Sequence[_RecordAttributes]" = (),
    ) -> list[int]:
        """Add records with their items' positions; return the class of each.

        Records of one class have the same shared attributes.
        """
        lengths = np.diff(block.indptr)
        record_of = np.repeat(np.arange(len(block)), lengths)
        # Rows are sorted by item; a stable sort is fast if they already are.
        order = np.argsort(record_of * self._keys.shape[0] + items, kind="stable")
        indices, values = items[order].astype(np.int32), block.values[order]
        found, new = [], np.zeros(len(block), bool)
        days = None if block.days is None else block.days[order]
        rows = Records(block.sizes, block.indptr, indices, values, days=days)
        digests = rows.digests(self._keys)
        if texts:
            digests = [
                digest + "\x1f".join(each.shared).encode()
                for digest, each in zip(digests, texts, strict=True)
            ]
        for record, (digest, size) in enumerate(zip(digests, block.sizes.tolist(), strict=True)):
            place = self._class_of.setdefault(digest, len(self.sizes))
            if place == len(self.sizes):
                self.sizes.append(0)
                new[record] = True
            self.sizes[place] += size
            if texts:
                counts = texts[record].counts
                if new[record]:
                    self._attributes.append({name: Counter() for name in counts})
                for name, found_texts in counts.items():
                    self._attributes[place][name] += found_texts
            if block.promised is not None:
                self._promised[place] = int(block.promised[record])
            found.append(place)
        kept = new[record_of]
        self._lengths.append(lengths[new])
        self._indices.append(indices[kept])
        self._values.append(values[kept])
        if days is not None:
            self._days.append(days[kept])
        return found

    def released(
        self, ratings: Ratings, record_of: NDArray[np.int64], claim: Claim, settings: Settings
    ) -> AttackTarget:
        """Return the table for an adversary."""
        date_width, size = _date_width(settings), settings.get("cluster_size")
        indptr = np.cumsum(np.concatenate(self._lengths))
        indices, values = np.concatenate(self._indices), np.concatenate(self._values)
        days = np.concatenate(self._days) + np.int32(date_width // 2) if self._days else None
        if days is not None and period_of(settings) == ORDER and ratings.days is not None:
            days = _days_of_positions(days, indptr, ratings.days)
        records = Records(np.array(self.sizes, np.int64), indptr, indices, values, days=days)
        # Where real ratings are kept, a re-identification rate of at most 1/k is not promised.
        k = claim.k if claim.about.is_bound else 1
        return AttackTarget(
            candidates=Candidates.from_records(
                [records],
                ratings.n_items,
                ratings.scale,
                date_width=date_width,
                cluster_size=max(size, claim.k or 0) if type(size) is int else 0,
            ),
            indptr=indptr,
            indices=indices,
            values=values,
            record_of=record_of,
            k=k,
            promised=np.array([self._promised.get(place, k) for place in range(len(self.sizes))]),
            co_rated=claim.about.holds_fills,
            contains_users=claim.about.contains_users,
            days=days,
            attributes={
                name: [each[name] for each in self._attributes]
                for name in (self._attributes[0] if self._attributes else ())
            },
            date_shift=settings.get("max_shift", 0),
        )


class _RecordAttributes(NamedTuple):
    """Attributes of the users of a record: those that they share, and the users of each text."""

    shared: Sequence[str]
    counts: Mapping[str, Counter[str]]

    @classmethod
    def of(cls, about: UserColumns, rows: Sequence[Sequence[str]], n_users: int) -> Self:
        """Return those of some rows of a table, of `n_users` each."""
        counts = {
            name: Counter({text: n * n_users for text, n in Counter(column).items()})
            for name, column in zip(about.names, zip(*rows, strict=True), strict=True)
        }
        return cls(rows[0][: len(about.shared)], counts)


def _attributes_of_groups(table: UserTable | None) -> Iterator[_RecordAttributes]:
    """Yield the attributes of each group of a release in memory, if it has some."""
    if table is None:
        return
    rows = [*zip(*table.columns.values(), strict=True)]
    ends = np.cumsum(table.sizes).tolist()
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        yield _RecordAttributes.of(table.about, rows[start:end], 1)


def _date_width(settings: Settings) -> int:
    period = period_of(settings)
    return PERIODS.get(period, 0) if period else 0


def _days_of_positions(
    positions: NDArray[np.int32], indptr: NDArray[np.int64], days: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the quantile of days at each relative position in its row.

    >>> _days_of_positions(np.array([1, 0, 0]), np.array([0, 2, 3]), np.array([10, 20, 30, 40]))
    array([40, 20, 30], dtype=int32)
    """
    lengths = np.diff(indptr)
    last = np.maximum.reduceat(positions, indptr[:-1][lengths > 0])
    share = (positions + 0.5) / (np.repeat(last, lengths[lengths > 0]) + 1)
    return np.sort(days)[(share * days.size).astype(np.int64)].astype(np.int32)


def _read_classes(
    published: Path, manifest: Manifest, ratings: Ratings
) -> tuple[_Classes, dict[str, int]]:
    """Return the classes, and the class of each published id."""
    classes = _Classes(ratings.n_items)
    class_of_id: dict[str, int] = {}
    items = names_in_release(published, manifest, ratings.items)
    attributes, about = read_attributes(published, manifest), manifest.user_columns
    for ids, block in read_blocks(published, manifest, items):
        texts = []
        if about is not None:
            with reading_release(published):
                texts = [
                    _RecordAttributes.of(about, [attributes[each]], n_users)
                    for each, n_users in zip(ids, block.sizes.tolist(), strict=True)
                ]
        class_of_id.update(zip(ids, classes.add(block, block.indices, texts), strict=True))
    return classes, class_of_id


def _assigned(
    opened: PrivateFolder, class_of_id: dict[str, int], ratings: Ratings, private: Path
) -> NDArray[np.int64]:
    """Return the class of each user of the ratings; -1 for users without one."""
    missing = -1 if opened.keeps_rows else None  # users who left
    users = positions(opened.users, ratings.users, "user", private.name, missing=missing)
    unknown_ids = [published_id for published_id in opened.ids if published_id not in class_of_id]
    if unknown_ids:
        raise RecveilError(
            f"{private}: published id {unknown_ids[0]!r} is not in the release; "
            f"put the private folder of this release next to it",
            code="private.mismatch",
        )
    record_of = np.full(ratings.n_users, -1, np.int64)
    record_of[users[users >= 0]] = np.array([class_of_id[each] for each in opened.ids])[users >= 0]
    return record_of


# Nominal labels have no distance: two labels are equal or different. Each pair of item and label is
# therefore an item of its own, and attacks treat it as implicit feedback.

# Separates an item from a label; no label contains it.
_BETWEEN = "\x1f"


def pairs_of(ratings: Ratings) -> Ratings:
    """Return implicit feedback in which each pair of item and label is an item."""
    words = ratings.scale.labels
    items: NDArray[Any] = np.array(
        [f"{item}{_BETWEEN}{word}" for item in ratings.items.tolist() for word in words], object
    )
    indices = _paired(ratings.indices, ratings.values, len(words))
    ones = np.ones_like(ratings.values)
    return Ratings(ratings.users, items, ratings.indptr, indices, ones, ratings.days, LIKES)


def released_pairs(table: AttackTarget, ratings: Ratings) -> AttackTarget:
    """Convert a release of nominal labels to one of pairs."""
    n_words = len(ratings.scale.labels)
    indices = _paired(table.indices, table.values, n_words)
    values = np.ones_like(table.values)
    records = Records(table.candidates.sizes, table.indptr, indices, values, days=table.days)
    candidates = Candidates.from_records([records], ratings.n_items * n_words, LIKES)
    return replace(table, candidates=candidates, indices=indices, values=values)


def _paired(items: NDArray[np.int32], numbers: NDArray[Any], n_words: int) -> NDArray[np.int32]:
    places = items.astype(np.int64) * n_words + np.rint(numbers).astype(np.int64) - 1
    return places.astype(np.int32)


class PairAnonymizer:
    """Anonymizes pairs with an anonymizer of the nominal labels."""

    def __init__(self, anonymizer: Anonymizer, words: Ratings) -> None:
        self.anonymizer, self.words = anonymizer, words

    def anonymize(self, pairs: Ratings) -> Sides:
        """Return a release of the pairs of some users."""
        n_words = len(self.words.scale.labels)
        items, numbers = np.divmod(pairs.indices, n_words)
        own = Ratings(
            *(pairs.users, self.words.items, pairs.indptr, items.astype(np.int32)),
            *((numbers + 1).astype(np.float32), pairs.days, self.words.scale),
        )
        release = self.anonymizer.anonymize(own)

        def blocks() -> Iterator[Records]:
            for block in release.published.blocks():
                places = _paired(block.indices, block.values, n_words)
                yield replace(block, indices=places, values=np.ones_like(block.values))

        published = replace(
            release.published, items=pairs.items, scale=LIKES, blocks=blocks, expect=None
        )
        return Sides(published, release.private)
