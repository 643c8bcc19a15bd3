"""Reader of release folders for attacks and recipients, which trusts their checksums.

`recveil.verification`, which checks the claim of a release, has its own reader.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from recveil.io.columns.feedback import numbers_of_values
from recveil.io.item_features import ItemTable
from recveil.io.worker import decoded_table, decoding
from recveil.ratings.arrow_columns import plain_column, python_values
from recveil.release.dates import DATE
from recveil.release.manifest import (
    HIDDEN_ITEMS_FILE,
    ITEM_TABLE,
    MANIFEST,
    PRIVATE_MANIFEST,
    PROTECTED,
    USER_TABLE,
    FileEntry,
    Manifest,
    private_folder,
)
from recveil.release.private_folder import assignment_files, read_assignment, reject_missing
from recveil.release.records import Records, hides_items
from recveil.runtime.devices import read_whole, reject_devices
from recveil.runtime.errors import RecveilError, quoted, reason_of
from recveil.runtime.safe_repr import brief

_ROWS_AT_ONCE = 1 << 20


@brief
class NamedRecords(NamedTuple):
    """A block of records with their published ids."""

    ids: list[str]
    # Items as positions among the ids given to `read_blocks`
    records: Records


def read_blocks(folder: Path, manifest: Manifest, items: NDArray[Any]) -> Iterator[NamedRecords]:
    """Yield the records of a release, block by block, each record in one piece."""
    file = folder / str(manifest.ratings_file)
    for table in read_rows(folder, manifest):
        with reading_release(folder):
            # A public catalogue may have items without ratings.
            missing = None if manifest.contains_users else -1
            yield _named_records(as_numbers(table, manifest), items, file, missing)


def read_rows(folder: Path, manifest: Manifest) -> Iterator[pa.Table]:
    """Yield the published rows in batches without splitting a record."""
    if manifest.layout == "model":
        raise RecveilError(
            f"{folder.name}: it holds a model and no users; expected a release with users; sample "
            f"some (recveil sample, with n_users, --n-users)",
            code="release.kind",
        )
    with reading_release(folder):
        files = _ratings_files(folder, manifest)
        yield from _whole_records(batch for file in files for batch in _batches(file, manifest))


def as_numbers(table: pa.Table, manifest: Manifest) -> pa.Table:
    """Return published rows with labels replaced by numbers."""
    if not manifest.scale.labels:
        return table
    at = table.schema.get_field_index("rating")
    numbers = numbers_of_values(table["rating"], manifest.scale)
    if np.isnan(numbers).any():
        raise ValueError("a value is none of the labels in release.json")
    return table.set_column(at, "rating", pa.array(numbers))


def read_model(folder: Path, manifest: Manifest) -> pa.Table:
    """Return the model for synthetic users: one row per item, its id first, then numbers."""
    with reading_release(folder):
        (file,) = _ratings_files(folder, manifest)
        return _whole_table(file)


def read_items(folder: Path, manifest: Manifest) -> ItemTable | None:
    """Return the item table of a release; None if it has none."""
    if not manifest.item_table:
        return None
    with reading_release(folder):
        _require_written(folder, manifest, ITEM_TABLE)
        table = pa.concat_tables(
            pa.table(each) for each in _csv(folder / ITEM_TABLE, manifest.item_columns)
        )
        row_of = {str(item): row for row, item in enumerate(table["item_id"].to_pylist())}
        columns = {name: [*table[name].to_pylist(), ""] for name in manifest.item_table}
        return ItemTable(columns, row_of)


def read_attributes(folder: Path, manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """Return the published attributes by published id; empty if a release has none."""
    if manifest.user_columns is None:
        return {}
    with reading_release(folder):
        _require_written(folder, manifest, USER_TABLE)
        pieces = _csv(folder / USER_TABLE, manifest.user_table_columns)
        rows = pa.concat_tables(pa.table(each) for each in pieces).to_pydict().values()
        return {each[0]: each[1:] for each in zip(*rows, strict=True)}


@contextmanager
def reading_release(folder: Path | str) -> Iterator[None]:
    """Turn any error into one about a damaged release."""
    try:
        yield
    except RecveilError:
        raise
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise RecveilError(
            f"{folder}: cannot be read as a release ({reason_of(error)}); "
            f"ask recveil verify what is wrong with it",
            code="release.damaged",
        ) from error


@brief
class PrivateFolder(NamedTuple):
    """Content of the private folder of a release."""

    # Original user ids
    users: Any
    # The published id of each
    ids: list[str]
    # With simple homogenizing, the share of the ratings that are published unchanged because no
    # other group member rated the item
    lone_share: float | None
    # Whether users who left have rows
    keeps_rows: bool = False


def find_private(parent: Path, sha256: str) -> Path | None:
    """Return the private folder in `parent` of the release with a digest; None without one."""
    for file in sorted(parent.glob(f"*/{PRIVATE_MANIFEST}")):
        with suppress(RecveilError):
            if _release_of(_read_private(file)) == sha256:
                return file.parent
    return None


def read_private_folder(
    folder: Path, private: Path | None = None, sha256: str | None = None
) -> PrivateFolder:
    """Read the assignment of users from the private folder of a release, or of its model."""
    private = private or private_folder(folder)
    reject_missing(private, [PRIVATE_MANIFEST], folder)
    content = _read_private(private / PRIVATE_MANIFEST)
    reject_missing(private, assignment_files(content), folder)
    if _release_of(content) != (sha256 or FileEntry.of(folder / MANIFEST).sha256):
        raise RecveilError(
            f"{private}: the private folder belongs to another release (SHA-256 of {MANIFEST}); "
            f"put the right one next to {folder.name}",
            code="private.mismatch",
        )
    with reading_release(folder):
        assignment = read_assignment(private, assignment_files(content))
        lone = content.get("lone_ratings")
        share = float(lone["rating_share"]) if lone else None
        ids = python_values(plain_column(assignment["published_id"]))
        return PrivateFolder(assignment["user_id"], ids, share, "previous" in content)


def read_protected(
    folder: Path, private: Path | None = None
) -> tuple[set[str], int | None, int] | None:
    """Return the users of the highest risk, the most ratings that they keep, and the seed."""
    private = private or private_folder(folder)
    if not (private / PROTECTED).is_file():
        return None
    content = _read_private(private / PRIVATE_MANIFEST)
    with reading_release(folder):
        done, seed = content["protected"], int(content["seed"])
        users = read_assignment(private, [PROTECTED], ["user_id"])["user_id"]
        names = {str(user) for user in python_values(plain_column(users))}
        return names, done.get("truncate_to"), seed


def names_in_release(
    folder: Path, manifest: Manifest, items: NDArray[Any], private: Path | None = None
) -> NDArray[Any]:
    """Return the published names of items: their ids or pseudonyms.

    An item that is not in the release has an empty text. If items have pseudonyms, the private
    folder is read for the evaluation; no adversary has it.
    """
    if not hides_items(manifest.settings):
        return items
    file = (private or private_folder(folder)) / HIDDEN_ITEMS_FILE
    if not file.is_file():
        raise RecveilError(
            f"{file} is missing; it maps the pseudonyms of the items of {folder.name}; put the "
            f"private folder next to {folder.name}",
            code="private.not-found",
        )
    read_private_folder(folder)  # raises if it belongs to another release
    with reading_release(folder):
        table = _whole_table(file)
        place = positions(pa.array(items), _values(table["item_id"]), "item", file, missing=-1)
        names = np.append(_values(table["published_id"]), "").astype(object)
        return np.asarray(names[place])


def _values(column: Any) -> NDArray[Any]:
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False))


def _release_of(content: Mapping[str, Any]) -> object:
    belongs_to = content.get("release")
    return belongs_to.get("sha256") if isinstance(belongs_to, dict) else None


def _read_private(file: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(read_whole(file).decode()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise RecveilError(
            f"{file}: cannot be read ({reason_of(error)}); expected the folder of a release, with "
            f"its private folder next to it",
            code="private.not-found" if isinstance(error, FileNotFoundError) else "private.damaged",
        ) from error


def positions(
    column: Any, ids: NDArray[Any], what: str, where: object, *, missing: int | None = None
) -> NDArray[np.int32]:
    """Return the position of each label of a column among given ones.

    >>> positions(pa.array([7, 9, 7]), np.array([7, 8, 9]), "item", "the release")
    array([0, 2, 0], dtype=int32)
    """
    known = pa.array(ids)
    if column.type == pa.large_string():
        column = column.cast(pa.string())
    if column.type != known.type:
        # A catalogue and published items may have different types.
        column, known = column.cast(pa.string()), known.cast(pa.string())
    found = pc.index_in(column, value_set=known)
    if missing is not None:
        found = found.fill_null(missing)
    if found.null_count:
        unknown_id = column.filter(pc.is_null(found))[0].as_py()
        raise RecveilError(
            f"{where}: {what} {unknown_id!r} is unknown to the ratings; "
            f"give the ratings that the release was made from",
            code="release.mismatch",
        )
    return np.asarray(found.to_numpy(), dtype=np.int32)


def _ratings_files(folder: Path, manifest: Manifest) -> list[Path]:
    names = manifest.ratings_files
    if not names:
        raise RecveilError(
            f"{folder}: {MANIFEST} names no ratings; fetch or write the release again",
            code="release.damaged",
        )
    for name in names:
        _require_written(folder, manifest, name)
    return [folder / name for name in names]


def _require_written(folder: Path, manifest: Manifest, name: str) -> None:
    reject_devices(folder / name)
    if FileEntry.of(folder / name).sha256 != manifest.files[name].sha256:
        raise RecveilError(
            f"{folder / name}: not the file that was written (SHA-256); "
            f"ask recveil verify what was changed",
            code="release.damaged",
        )


def _csv(file: Path, types: pa.Schema) -> Iterator[pa.RecordBatch]:
    parse = pa_csv.ParseOptions(newlines_in_values=True)
    convert = pa_csv.ConvertOptions(column_types=types)
    with file.open("rb") as stream:
        yield from pa_csv.open_csv(stream, parse_options=parse, convert_options=convert)


def _batches(file: Path, manifest: Manifest) -> Iterator[pa.Table]:
    types = manifest.columns
    if file.suffix == ".csv":
        for batch in _csv(file, types):
            yield pa.Table.from_batches([batch]).select(types.names).cast(types)
        return
    with decoding(file, wanted="batches", columns=types.names, rows=_ROWS_AT_ONCE) as found:
        for field in found.schema:
            # It could expand to gigabytes.
            if pa.types.is_dictionary(field.type):
                raise RecveilError(
                    f"{file}: column {quoted(field.name)} is a dictionary, which no release has; "
                    f"ask recveil verify what is wrong with it",
                    code="release.damaged",
                )
        for batch, _ in found.batches:
            yield pa.Table.from_batches([batch]).cast(types)


def _whole_table(file: Path) -> pa.Table:
    with decoding(file) as found:
        names = found.schema.names
    return decoded_table(file, columns=names)


def _whole_records(batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
    carried = None
    for batch in batches:
        table = batch if carried is None else pa.concat_tables([carried, batch])
        whole = int(record_starts(table)[-2]) if table.num_rows else 0
        if whole:
            yield table.slice(0, whole)
        carried = table.slice(whole)
    if carried is not None and carried.num_rows:
        yield carried


def record_starts(table: pa.Table) -> NDArray[np.int64]:
    """Return where each record of published rows begins, and the number of rows.

    >>> record_starts(pa.table({"user_id": ["p0-1", "p0-1", "p0-2"]}))
    array([0, 2, 3])
    """
    codes = table["user_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    return np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [codes.size]])


def days_of(table: pa.Table) -> NDArray[np.int32]:
    """Return the dates of published rows, in days since 1970-01-01."""
    return np.asarray(table[DATE].cast(pa.int32()).to_numpy())


def _named_records(
    table: pa.Table, items: NDArray[Any], file: Path, missing: int | None
) -> NamedRecords:
    """Return published ids and records; without a size column, each represents one user."""
    starts = record_starts(table)
    firsts = pa.array(starts[:-1])
    sizes = np.ones(starts.size - 1, np.int64)
    if "group_size" in table.column_names:
        sizes = table["group_size"].take(firsts).to_numpy()
    records = Records(
        sizes=sizes,
        indptr=starts,
        indices=positions(
            table["item_id"], items, "item", f"{file.parent.name}/{file.name}", missing=missing
        ),
        values=table["rating"].to_numpy(),
        promised=table["k"].take(firsts).to_numpy() if "k" in table.column_names else None,
        days=days_of(table) if DATE in table.column_names else None,
    )
    if missing is not None:
        records = records.only(records.indices != missing)
    return NamedRecords(table["user_id"].take(firsts).to_pylist(), records)
