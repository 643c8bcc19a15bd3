"""Reading the ratings of a release as blocks of records, without trusting their order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.ratings import RatingScale
from recveil.records import Records, item_keys
from recveil.verify.verification import Violation

_ROWS_AT_ONCE = 1 << 20


class Block(NamedTuple):
    """Some records: their digests, the people behind each, published ids and first rows."""

    digests: list[bytes]
    sizes: list[int]
    user_ids: list[str]
    rows: list[int]


class PublishedFile:
    """The ratings file of a release.

    Parameters
    ----------
    path : Path
        ``ratings.parquet`` or ``ratings.csv``.
    manifest : dict
        The content of release.json.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        self.in_groups = manifest["layout"] == "groups"
        self.item_type = pa.string() if manifest.get("item_type") == "text" else pa.int64()
        self.scale = RatingScale(**manifest["scale"])
        self.columns = ["user_id", "item_id", "rating"] + ["group_size"] * self.in_groups
        self._key_of: dict[Any, int] = {}
        self._seen: set[str] = set()

    def locate(self, row: int) -> str:
        """Say where a row stands, counted from 1 without the header."""
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
        except (pa.ArrowException, OSError) as error:
            raise RecveilError(
                f"{self.path.name}: cannot be read as a release ({error})"
            ) from error
        if carried is not None and carried.num_rows:
            yield self._block(carried, n_before, violations)

    def _batches(self, violations: list[Violation]) -> Iterator[pa.Table]:
        """Read the file piece by piece, in columns of known types and without gaps."""
        types = [pa.string(), self.item_type, pa.float64(), pa.int64()]
        schema = pa.schema(list(zip(self.columns, types, strict=False)))
        if self.path.suffix == ".csv":
            options = pa_csv.ConvertOptions(column_types=schema)
            block = pa_csv.ReadOptions(block_size=1 << 25)
            reader = pa_csv.open_csv(self.path, block, convert_options=options)
            names, batches = reader.schema.names, reader
        else:
            file = pq.ParquetFile(self.path)
            names, batches = file.schema_arrow.names, file.iter_batches(_ROWS_AT_ONCE)
        for name in sorted(set(names) - set(self.columns)):
            problem = f"column {name!r} is no part of a release and may tell people apart"
            violations.append(Violation(self.path.name, None, None, problem))
        for batch in batches:
            table = pa.table(batch).select(self.columns).cast(schema)
            for name in self.columns:
                if table[name].null_count:
                    raise RecveilError(f"{self.path.name}: column {name!r} has gaps; fill none in")
            yield table

    def _block(self, table: pa.Table, n_before: int, violations: list[Violation]) -> Block:
        starts = _run_starts(table)
        user_ids = table["user_id"].take(pa.array(starts[:-1])).to_pylist()
        labels, codes = _ranked(table["item_id"])
        sizes = np.ones(len(user_ids), np.int64)
        if self.in_groups:
            sizes = table["group_size"].to_numpy()[starts[:-1]]
        records = Records(sizes, starts, codes, table["rating"].to_numpy())
        for problem, rows in self._problems(table, records, user_ids):
            for row in rows.tolist():
                place, user_id = n_before + row + 1, table["user_id"][row].as_py()
                violations.append(Violation(self.locate(place), place, user_id, problem))
        rows = (starts[:-1] + n_before + 1).tolist()
        return Block(records.digests(self._keys(labels)), sizes.tolist(), user_ids, rows)

    def _problems(
        self, table: pa.Table, records: Records, user_ids: list[str]
    ) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Yield what is wrong with rows, and the positions of such rows in the table."""
        starts = records.indptr[:-1]
        again = [user_id in self._seen for user_id in user_ids]
        self._seen.update(user_ids)
        yield "its record is not in one piece: the user id stands elsewhere too", starts[again]
        falls = np.flatnonzero(np.diff(records.indices) <= 0) + 1
        within = falls[~np.isin(falls, starts)]
        yield "its items are not in ascending order, each once", within
        off_scale = np.flatnonzero(~_between(records.values, self.scale))
        yield f"its rating is outside the scale {self.scale}", off_scale
        if self.in_groups:
            expected = np.repeat(records.sizes, np.diff(records.indptr))
            sizes = table["group_size"].to_numpy()
            yield "group_size changes within the record", np.flatnonzero(sizes != expected)
            yield "group_size is below 1", starts[records.sizes < 1]

    def _keys(self, labels: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the items' keys; each label is hashed once for the whole file."""
        new = [label for label in labels.tolist() if label not in self._key_of]
        self._key_of.update(zip(new, item_keys(new).tolist(), strict=True))
        return np.array([self._key_of[label] for label in labels.tolist()], dtype=np.uint64)


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


def _between(values: NDArray[np.float64], scale: RatingScale) -> NDArray[np.bool_]:
    slack = 1e-9 * max(1.0, scale.range)
    return (values >= scale.low - slack) & (values <= scale.high + slack)
