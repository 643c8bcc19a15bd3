"""ReleasedTable: a release as an adversary searches it, and who is where, to judge his guesses."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.brief import brief
from recveil.errors import RecveilError, reason_of
from recveil.ratings import Ratings
from recveil.release.manifest import FORMATS
from recveil.release.records import Records

if TYPE_CHECKING:
    from recveil.release.sides import Sides

_ROWS_AT_ONCE = 1 << 20


@brief
@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """The classes of identical published records, and the class of each person.

    Records that tell the same are one class, because nobody can tell the people behind them apart.
    Positions of items and users are those of the raw ratings.

    Parameters
    ----------
    candidates : Candidates
        One candidate for each class, with its size in people.
    indptr : ndarray of int64, shape (n_classes + 1,)
        The labels of class c stand at ``indptr[c]:indptr[c + 1]``.
    indices : ndarray of int32, shape (n_labels,)
        Positions of items, ascending in each class.
    values : ndarray of float64, shape (n_labels,)
        The labels.
    record_of : ndarray of int64, shape (n_users,)
        The class of each user of the raw ratings; -1 if he is not in the release. It judges
        guesses, and no attack may look at it.
    k : int
        What the release claims: at least so many people in each class.
    promised : ndarray of int64, shape (n_classes,)
        The same for each class: more than `k` where people have privacy levels of their own.
    co_rated : bool
        Whether the release claims that records share their items only, so that labels are filled
        in.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> release = PredictiveAnonymizer(k=5, seed=1).anonymize(ratings)
    >>> table = ReleasedTable.from_release(release, ratings)
    >>> table.k, table.candidates.n_people, table.record_of.size
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

    @classmethod
    def from_release(cls, release: "Sides", ratings: Ratings) -> Self:
        """Take a release that is still in memory.

        Parameters
        ----------
        release : Sides
        ratings : Ratings
            The ratings that it was made from; further users may stand in them.

        Raises
        ------
        RecveilError
            If an item or a user of the release is unknown to the ratings.
        """
        published, private = release.published, release.private
        item_of = _positions(pa.array(published.items), ratings.items, "item", "the release")
        classes = _Classes(ratings.n_items)
        class_of_group: list[int] = []
        for block in published.blocks():
            class_of_group += classes.add(block, item_of[block.indices])
        users = _positions(pa.array(private.users), ratings.users, "user", "the release")
        class_of = np.repeat(np.array(class_of_group, np.int64), private.groups.sizes)
        record_of = np.full(ratings.n_users, -1, np.int64)
        record_of[users[private.groups.members]] = class_of
        # Where real ratings stay as they are, no person is promised to be found with 1/k at most.
        k = published.claim.k if published.claim.kind == "identical-rows" else 1
        co_rated = published.claim.kind == "co-rated"
        return cls(*classes.listed(ratings), record_of, k, classes.promised(k), co_rated)

    @classmethod
    def from_folder(cls, folder: str | PathLike[str], ratings: Ratings) -> Self:
        """Read a release from its folder, and who is where from its private twin.

        Parameters
        ----------
        folder : path
            The published folder; its private twin must lie beside it.
        ratings : Ratings
            The ratings that it was made from; further users may stand in them.

        Raises
        ------
        RecveilError
            If the folder is no release, its ratings are not the ones that were written, the twin
            is missing or belongs to another release, or an item or a user of the release is
            unknown to the ratings.
        """
        published = Path(folder).resolve()  # its name is needed, and . has none
        manifest = _read_json(published / "release.json")
        private = published.with_name(f"{published.name}.private")
        _check_twin(published, private)
        with _reading(published):
            classes, class_of_id, k = _read_classes(published, manifest, ratings)
            assignment = pq.read_table(private / "assignment.parquet")
            record_of = _assigned(assignment, class_of_id, ratings, private)
        found = np.bincount(record_of[record_of >= 0], minlength=len(classes.sizes))
        if not np.array_equal(found, classes.sizes):
            raise RecveilError(
                f"{private}: its people are not as many as stand behind the published records; "
                f"write the release again"
            )
        co_rated = manifest["claim"] == "co-rated"
        return cls(*classes.listed(ratings), record_of, k, classes.promised(k), co_rated)

    @classmethod
    def from_published(cls, folder: str | PathLike[str], ratings: Ratings) -> Self:
        """Read a release as the world sees it: nobody is known to be in any record.

        Parameters
        ----------
        folder : path
            The published folder; a private twin is not looked for.
        ratings : Ratings
            They tell the positions of the items.

        Raises
        ------
        RecveilError
            If the folder is no release, its ratings are not the ones that were written, or an item
            is unknown to the ratings.
        """
        published = Path(folder).resolve()
        manifest = _read_json(published / "release.json")
        with _reading(published):
            classes, _, k = _read_classes(published, manifest, ratings)
        nobody = np.full(ratings.n_users, -1, np.int64)
        co_rated = manifest["claim"] == "co-rated"
        return cls(*classes.listed(ratings), nobody, k, classes.promised(k), co_rated)

    def row(self, record: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the item positions (ascending) and labels of one class."""
        own = slice(self.indptr[record], self.indptr[record + 1])
        return self.indices[own], self.values[own]

    def item_means(self) -> NDArray[np.float64]:
        """Return each item's mean label over the people who carry one, shape (n_items,).

        nan for an item that no record carries.
        """
        # Everybody in the release has his class in record_of, so that counts a class's people.
        sizes = np.bincount(self.record_of[self.record_of >= 0], minlength=self.indptr.size - 1)
        people = np.repeat(sizes, np.diff(self.indptr)).astype(np.float64)
        n_items = self.candidates.indptr.size - 1
        total = np.bincount(self.indices, weights=people * self.values, minlength=n_items)
        carrying = np.bincount(self.indices, weights=people, minlength=n_items)
        return np.divide(total, carrying, out=np.full(n_items, np.nan), where=carrying > 0)


class _Classes:
    """Collects records block by block and keeps one row for each class of identical ones."""

    def __init__(self, n_items: int) -> None:
        self.sizes: list[int] = []
        self._keys = np.arange(2 * n_items, dtype=np.uint64).reshape(-1, 2)
        self._class_of: dict[bytes, int] = {}
        self._lengths: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._indices: list[NDArray[np.int32]] = []
        self._values: list[NDArray[np.float64]] = []
        self._promised: dict[int, int] = {}

    def promised(self, k: int) -> NDArray[np.int64]:
        """Return how many people each class promises: k, or what its records say for themselves."""
        return np.array([self._promised.get(place, k) for place in range(len(self.sizes))])

    def add(self, block: Records, items: NDArray[np.int32]) -> list[int]:
        """Add records with their items' positions; return the class of each."""
        lengths = np.diff(block.indptr)
        record_of = np.repeat(np.arange(len(block)), lengths)
        # Labels in another order of items are sorted anew; a stable sort is quick if they are not.
        order = np.argsort(record_of * self._keys.shape[0] + items, kind="stable")
        indices, values = items[order].astype(np.int32), block.values[order]
        found, new = [], np.zeros(len(block), bool)
        digests = Records(block.sizes, block.indptr, indices, values).digests(self._keys)
        for record, (digest, size) in enumerate(zip(digests, block.sizes.tolist(), strict=True)):
            place = self._class_of.setdefault(digest, len(self.sizes))
            if place == len(self.sizes):
                self.sizes.append(0)
                new[record] = True
            self.sizes[place] += size
            if block.promised is not None:
                self._promised[place] = int(block.promised[record])
            found.append(place)
        kept = new[record_of]
        self._lengths.append(lengths[new])
        self._indices.append(indices[kept])
        self._values.append(values[kept])
        return found

    def listed(self, ratings: Ratings) -> tuple[Candidates, Any, Any, Any]:
        """Return the candidates and the rows that they list."""
        rows = (
            np.cumsum(np.concatenate(self._lengths)),
            np.concatenate(self._indices),
            np.concatenate(self._values),
        )
        records = Records(np.array(self.sizes, np.int64), *rows)
        return Candidates.from_records([records], ratings.n_items, ratings.scale), *rows


def _positions(column: Any, labels: NDArray[Any], what: str, where: object) -> NDArray[np.int32]:
    """Return the position of each label of a column among the ratings' labels."""
    known = pa.array(labels)
    if column.type == pa.large_string():
        column = column.cast(pa.string())
    if column.type != known.type:
        raise RecveilError(
            f"{where}: {what} ids are {column.type}, but {known.type} in the ratings; "
            f"give the ratings that the release was made from"
        )
    found = pc.index_in(column, value_set=known)
    if found.null_count:
        stranger = column.filter(pc.is_null(found))[0].as_py()
        raise RecveilError(
            f"{where}: {what} {stranger!r} is unknown to the ratings; "
            f"give the ratings that the release was made from"
        )
    return np.asarray(found.to_numpy(), dtype=np.int32)


@contextmanager
def _reading(published: Path) -> Iterator[None]:
    """Say of whatever goes wrong that the folder is no good release."""
    try:
        yield
    except RecveilError:
        raise
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise RecveilError(
            f"{published}: cannot be read as a release ({reason_of(error)}); "
            f"ask recveil verify what is wrong with it"
        ) from error


def _read_classes(
    published: Path, manifest: dict[str, Any], ratings: Ratings
) -> tuple[_Classes, dict[str, int], int]:
    """Return the classes, the class of each published id, and the k of identical rows."""
    classes = _Classes(ratings.n_items)
    class_of_id: dict[str, int] = {}
    file = _ratings_file(published, manifest)
    for table in _whole_records(_batches(file, manifest)):
        ids, block = _records(table, ratings, file)
        class_of_id.update(zip(ids, classes.add(block, block.indices), strict=True))
    return classes, class_of_id, int(manifest["k"]) if manifest["claim"] == "identical-rows" else 1


def _read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if file.name == "release.json" and content["format"] not in FORMATS:
            known = " and ".join(map(repr, FORMATS))
            raise ValueError(f"format {content['format']!r:.60}; this recveil reads {known}")
        return dict(content)
    except (OSError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise RecveilError(
            f"{file}: cannot be read ({reason_of(error)}); expected the folder of a release, with "
            f"its private twin beside it"
        ) from error


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check_twin(published: Path, private: Path) -> None:
    for name in ("private.json", "assignment.parquet"):
        if not (private / name).is_file():
            raise RecveilError(
                f"{private / name} is missing; without it nobody can tell whether a guess is "
                f"right; put the private twin beside {published.name}"
            )
    belongs_to = _read_json(private / "private.json").get("release")
    digest = belongs_to.get("sha256") if isinstance(belongs_to, dict) else None
    if digest != _digest(published / "release.json"):
        raise RecveilError(
            f"{private}: the private folder belongs to another release (SHA-256 of release.json); "
            f"put the right one beside {published.name}"
        )


def _ratings_file(published: Path, manifest: dict[str, Any]) -> Path:
    for name in ("ratings.parquet", "ratings.csv"):
        if name not in manifest["files"]:
            continue
        if _digest(published / name) != manifest["files"][name]["sha256"]:
            raise RecveilError(
                f"{published / name}: not the file that was written (SHA-256); "
                f"ask recveil verify what was changed"
            )
        return published / name
    raise RecveilError(f"{published}: release.json names no ratings; write the release again")


def _batches(file: Path, manifest: dict[str, Any]) -> Iterator[pa.Table]:
    item_type = pa.string() if manifest["item_type"] == "text" else pa.int64()
    types = {"user_id": pa.string(), "item_id": item_type, "rating": pa.float64()}
    if manifest["layout"] == "groups":
        types["group_size"] = pa.int64()
    if manifest.get("levels"):
        types["k"] = pa.int64()
    batches: Any
    if file.suffix == ".csv":
        parse = pa_csv.ParseOptions(newlines_in_values=True)
        convert = pa_csv.ConvertOptions(column_types=types)
        batches = pa_csv.open_csv(file, parse_options=parse, convert_options=convert)
    else:
        batches = pq.ParquetFile(file).iter_batches(_ROWS_AT_ONCE)
    for batch in batches:
        yield pa.table(batch).select(list(types)).cast(pa.schema(types))


def _whole_records(batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Cut the rows anew, so that the lines of a record stay together."""
    carried = None
    for batch in batches:
        table = batch if carried is None else pa.concat_tables([carried, batch])
        whole = int(_starts(table)[-2]) if table.num_rows else 0
        if whole:
            yield table.slice(0, whole)
        carried = table.slice(whole)
    if carried is not None and carried.num_rows:
        yield carried


def _starts(table: pa.Table) -> NDArray[np.int64]:
    """Return where each record begins, and the number of rows."""
    codes = table["user_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    return np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [codes.size]])


def _records(table: pa.Table, ratings: Ratings, file: Path) -> tuple[list[str], Records]:
    """Return published ids and records; without the column, one person stands behind each."""
    starts = _starts(table)
    firsts = pa.array(starts[:-1])
    sizes = np.ones(starts.size - 1, np.int64)
    if "group_size" in table.column_names:
        sizes = table["group_size"].take(firsts).to_numpy()
    items = _positions(table["item_id"], ratings.items, "item", file)
    promised = table["k"].take(firsts).to_numpy() if "k" in table.column_names else None
    ids = table["user_id"].take(firsts).to_pylist()
    return ids, Records(sizes, starts, items, table["rating"].to_numpy(), promised)


def _assigned(
    assignment: pa.Table, class_of_id: dict[str, int], ratings: Ratings, private: Path
) -> NDArray[np.int64]:
    """Return the class of each user of the ratings; -1 for those who are not assigned."""
    users = _positions(assignment["user_id"], ratings.users, "user", private)
    ids = assignment["published_id"].to_pylist()
    strangers = [published_id for published_id in ids if published_id not in class_of_id]
    if strangers:
        raise RecveilError(
            f"{private}: published id {strangers[0]!r} is not in the release; "
            f"put the private twin that belongs to it beside it"
        )
    record_of = np.full(ratings.n_users, -1, np.int64)
    record_of[users] = [class_of_id[published_id] for published_id in ids]
    return record_of
