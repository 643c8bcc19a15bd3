"""Reading the ratings of a release as blocks of records, without trusting their order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recveil.ahead import ahead
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.progress import track
from recveil.ratings import RatingScale
from recveil.records import Records, item_keys
from recveil.verify.verification import Violation

_ROWS_AT_ONCE = 1 << 20

# More people than there are on earth are nobody's group.
MOST_PEOPLE = 10**10


@brief
class Block(NamedTuple):
    """Some records.

    Attributes
    ----------
    digests : list of bytes
    sizes : list of int
        The people behind each.
    user_ids : list of str
    rows : list of int
        The first row of each, counted from 1.
    promised : list of int or None
        How many people each record promises, if they do so one by one.
    indptr, items : ndarray
        The items of the records in compressed rows, as numbers that are the same in all blocks.
    """

    digests: list[bytes]
    sizes: list[int]
    user_ids: list[str]
    rows: list[int]
    promised: list[int] | None
    indptr: NDArray[np.int64]
    items: NDArray[np.int32]


class PublishedFile:
    """The ratings file of a release.

    Parameters
    ----------
    path : Path
        ``ratings.parquet`` or ``ratings.csv``.
    manifest : dict
        The content of release.json.
    claim : str
        "identical-rows", or "co-rated": then labels may differ among the people who share a row.
    """

    def __init__(self, path: Path, manifest: dict[str, Any], claim: str) -> None:
        self.path = path
        self.items_only = claim == "co-rated"
        self.what = "items" if self.items_only else "labels"  # must be shared
        self.in_groups = manifest["layout"] == "groups"
        self.scale = RatingScale(**manifest["scale"])
        self._ends = RatingScale(self.scale.low, self.scale.high)  # labels may lie between levels
        item_type = pa.string() if manifest["item_type"] == "text" else pa.int64()
        fields = {"user_id": pa.string(), "item_id": item_type, "rating": pa.float64()}
        if self.in_groups:
            fields["group_size"] = pa.int64()
        self.has_levels = bool(manifest.get("levels"))
        n_labels = manifest.get("counts", {}).get("labels")
        self.n_labels = n_labels if isinstance(n_labels, int) else None  # for the bar alone
        if self.has_levels:
            fields["k"] = pa.int64()
        self.schema = pa.schema(fields)
        self.columns = list(fields)
        self._key_of: dict[Any, list[int]] = {}
        self.items: list[Any] = []  # by number, in the order in which they were met
        self._number_of: dict[Any, int] = {}
        self._seen: set[str] = set()

    def locate(self, row: int) -> str:
        """Turn a row's number, counted from 1 without the header, into its place in the file."""
        if self.path.suffix == ".csv":
            return f"{self.path.name} line {row + 1}"
        return f"{self.path.name} row {row}"

    def blocks(self, violations: list[Violation]) -> Iterator[Block]:
        """Yield all records; what is wrong with the rows themselves goes to `violations`."""
        carried, n_before = None, 0
        try:
            for batch in self._batches(violations):
                table = batch if carried is None else pa.concat_tables([carried, batch])
                # The last record may go on in the next batch.
                whole = int(_run_starts(table)[-2]) if table.num_rows else 0
                if whole:
                    yield self._block(table.slice(0, whole), n_before, violations)
                carried, n_before = table.slice(whole), n_before + whole
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0]
            raise RecveilError(
                f"{self.path.name}: cannot be read as a release ({reason})"
            ) from error
        if carried is not None and carried.num_rows:
            yield self._block(carried, n_before, violations)

    def _batches(self, violations: list[Violation]) -> Iterator[pa.Table]:
        """Read the file piece by piece, in columns of the declared types and without gaps."""
        if self.path.suffix == ".csv":
            pieces = self._csv_pieces(violations)
        else:
            pieces = self._parquet_pieces(violations)
        rows = track(ahead(pieces), "Checking rows", self.n_labels, lambda table: table.num_rows)
        for table in rows:
            for name in self.columns:
                if table[name].null_count:
                    raise RecveilError(
                        f"{self.path.name}: column {name!r} has gaps; a release has none"
                    )
            yield table

    def _csv_pieces(self, violations: list[Violation]) -> Iterator[pa.Table]:
        """Read text, and see to it that each number is written in the one usual way.

        4 and 4.0 are one number to a parser, but a reader of the file can tell them apart.
        """
        reader = pa_csv.open_csv(
            self.path,
            pa_csv.ReadOptions(block_size=1 << 25),
            pa_csv.ParseOptions(newlines_in_values=True),
            pa_csv.ConvertOptions(column_types={name: pa.string() for name in self.columns}),
        )
        self._check_names(reader.schema.names, violations)
        n_before = 0
        for batch in reader:
            text = pa.table(batch).select(self.columns)
            table = text.cast(self.schema)
            for name in self.columns:
                usual = table[name].cast(pa.string())
                for row in np.flatnonzero(pc.not_equal(text[name], usual).to_numpy()).tolist():
                    place, user_id = n_before + row + 1, text["user_id"][row].as_py()
                    problem = f"its {name} is written unusually: {text[name][row].as_py()!r}"
                    violations.append(Violation(self.locate(place), place, user_id, problem))
            n_before += table.num_rows
            yield table

    def _parquet_pieces(self, violations: list[Violation]) -> Iterator[pa.Table]:
        found = pq.ParquetFile(self.path).schema_arrow
        self._check_names(found.names, violations)
        for name in self.columns:
            expected, stored = self.schema.field(name).type, found.field(name).type
            if stored not in (expected, pa.large_string() if expected == pa.string() else expected):
                # A cast could make different values equal.
                raise RecveilError(
                    f"{self.path.name}: column {name!r} holds {stored}; a release has {expected}"
                )
        if found.metadata or any(found.field(name).metadata for name in self.columns):
            problem = "it carries metadata beside the ratings; nobody has checked what it tells"
            violations.append(Violation(self.path.name, None, None, problem))
        # A user's id stands in many rows: as a dictionary it is decoded once a page.
        file = pq.ParquetFile(self.path, read_dictionary=["user_id"])
        names = pa.field("user_id", pa.dictionary(pa.int32(), pa.string()))
        schema = self.schema.set(0, names)
        for batch in file.iter_batches(_ROWS_AT_ONCE):
            yield pa.table(batch).select(self.columns).cast(schema)

    def _check_names(self, names: list[str], violations: list[Violation]) -> None:
        for name in self.columns:
            if names.count(name) != 1:
                raise RecveilError(
                    f"{self.path.name}: expected one column {name!r}, found {names.count(name)}"
                )
        for name in sorted(set(names) - set(self.columns)):
            problem = f"column {name!r} is no part of a release and may tell people apart"
            violations.append(Violation(self.path.name, None, None, problem))

    def _block(self, table: pa.Table, n_before: int, violations: list[Violation]) -> Block:
        starts = _run_starts(table)
        user_ids = table["user_id"].take(pa.array(starts[:-1])).to_pylist()
        labels, codes = _ranked(table["item_id"])
        sizes = np.ones(len(user_ids), np.int64)
        if self.in_groups:
            sizes = table["group_size"].to_numpy()[starts[:-1]]
        promised = table["k"].to_numpy()[starts[:-1]] if self.has_levels else None
        records = Records(sizes, starts, codes, table["rating"].to_numpy(), promised)
        for problem, rows in self._problems(table, records, user_ids):
            for row in rows.tolist():
                place, user_id = n_before + row + 1, table["user_id"][row].as_py()
                violations.append(Violation(self.locate(place), place, user_id, problem))
        rows = (starts[:-1] + n_before + 1).tolist()
        return Block(
            digests=records.digests(self._keys(labels), items_only=self.items_only),
            sizes=sizes.tolist(),
            user_ids=user_ids,
            rows=rows,
            promised=None if promised is None else promised.tolist(),
            indptr=starts,
            items=self._numbers(labels)[codes],
        )

    def _problems(
        self, table: pa.Table, records: Records, user_ids: list[str]
    ) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Yield what is wrong with rows, and the positions of such rows in the table."""
        starts = records.indptr[:-1]
        again = [self._is_known(user_id) for user_id in user_ids]
        yield "its record is not in one piece: the user id stands elsewhere too", starts[again]
        falls = np.flatnonzero(np.diff(records.indices) <= 0) + 1
        within = falls[~np.isin(falls, starts)]
        yield "its items are not in ascending order, each once", within
        off_scale = np.flatnonzero(~self._ends.contains(records.values))
        yield f"its rating is outside the scale {self.scale}", off_scale
        if records.promised is not None:
            promised = table["k"].to_numpy()
            expected = np.repeat(records.promised, np.diff(records.indptr))
            yield "its k changes within the record", np.flatnonzero(promised != expected)
            yield "its k is below 1", starts[records.promised < 1]
        if self.in_groups:
            expected = np.repeat(records.sizes, np.diff(records.indptr))
            sizes = table["group_size"].to_numpy()
            yield "group_size changes within the record", np.flatnonzero(sizes != expected)
            sane = (records.sizes >= 1) & (records.sizes <= MOST_PEOPLE)
            yield f"group_size is not from 1 to {MOST_PEOPLE:,}", starts[~sane]

    def _is_known(self, user_id: str) -> bool:
        """Say whether a user has been met before; from now on he has."""
        before = len(self._seen)
        self._seen.add(user_id)
        return len(self._seen) == before

    def _keys(self, labels: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the items' keys; each label is hashed once for the whole file."""
        new = [label for label in labels.tolist() if label not in self._key_of]
        self._key_of.update(zip(new, item_keys(new).tolist(), strict=True))
        keys = np.array([self._key_of[label] for label in labels.tolist()], dtype=np.uint64)
        return keys.reshape(-1, 2)

    def _numbers(self, labels: NDArray[Any]) -> NDArray[np.int32]:
        """Return the items' numbers; new ones get the next."""
        for label in labels.tolist():
            if label not in self._number_of:
                self._number_of[label] = len(self.items)
                self.items.append(label)
        return np.array([self._number_of[label] for label in labels.tolist()], dtype=np.int32)


def _run_starts(table: pa.Table) -> NDArray[np.int64]:
    """Return where each run of one user begins, and the number of rows."""
    _, codes = _encoded(table["user_id"])
    changes = np.flatnonzero(np.diff(codes)) + 1
    return np.concatenate([[0], changes, [codes.size]])


def _ranked(column: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct labels in ascending order, and each row's position among them."""
    labels, codes = _encoded(column)
    order = np.argsort(labels)
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return labels[order], rank[codes]


def _encoded(column: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.int32]]:
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_numpy(zero_copy_only=False), encoded.indices.to_numpy()
