"""Block-wise reader of the ratings of a release that does not trust their order."""

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from recveil.io.columns.feedback import numbers_of_values
from recveil.io.worker import decoding
from recveil.ratings import RatingScale
from recveil.ratings.rating_scale import distinct
from recveil.release.claim import ClaimKind
from recveil.release.dates import ORDER, dates_within, positions_in_rows
from recveil.release.manifest import Manifest
from recveil.release.records import PREFIX, Records, item_keys, pseudonyms
from recveil.runtime.errors import RecveilError
from recveil.runtime.memory import reject_beyond_limit
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import prefetch
from recveil.verification.parquet_bytes import MOST_ROWS, ParquetBytes, UnaccountedError
from recveil.verification.results import Violation, Violations
from recveil.verification.rule_of_users import copied_records, samples_tenths

# Memory per item while its rows are checked: an object for its id, and copies of numbers.
_AN_ITEM = 100
_BLOCK_BYTES, _ROWS_AT_ONCE = 1 << 25, 1 << 20


def csv_pieces(path: Path, schema: pa.Schema, violations: list[Violation]) -> Iterator[pa.Table]:
    """Read a CSV file and check that it is written exactly as recveil writes it.

    A parser ignores the difference between 4 and 4.0, quotes, spaces and empty lines, which could
    carry hidden information. So the parsed rows are written again and compared with the file.
    """
    reader = pa_csv.open_csv(
        path,
        pa_csv.ReadOptions(block_size=_BLOCK_BYTES),
        pa_csv.ParseOptions(newlines_in_values=True),
        pa_csv.ConvertOptions(column_types={name: pa.string() for name in schema.names}),
    )
    _check_names(path, reader.schema.names, schema, violations)
    with path.open("rb") as stream:
        line = 1  # of the next comparison; 0 after the first difference
        line = _compare(path, stream, schema.empty_table(), line, violations, header=True)
        n_before = 0
        for batch in reader:
            text = pa.Table.from_batches([batch]).select(schema.names)
            table = text.cast(schema)
            line = line and _compare(path, stream, table, line, violations)
            if not line:
                violations += _unusual(path, text, table, n_before)
            n_before += table.num_rows
            yield table
        if line and stream.read(1):
            violations.append(_not_as_ours(path, line))


def _compare(
    path: Path,
    stream: Any,
    table: pa.Table,
    line: int,
    violations: list[Violation],
    *,
    header: bool = False,
) -> int:
    """Compare the next rows with recveil's own output; return the next line, or 0."""
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(table, sink, pa_csv.WriteOptions(include_header=header))
    written = sink.getvalue()
    found = stream.read(written.size)
    if written.equals(pa.py_buffer(found)):
        return line + found.count(b"\n")
    length = min(written.size, len(found))
    expected = np.frombuffer(written, np.uint8)[:length]
    differs = np.flatnonzero(expected != np.frombuffer(found, np.uint8)[:length])
    at = int(differs[0]) if differs.size else length
    violations.append(_not_as_ours(path, line + found[:at].count(b"\n")))
    return 0


def _not_as_ours(path: Path, line: int) -> Violation:
    problem = (
        "from here on, the text is not written as recveil writes it (quotes, spaces, line ends, "
        "empty lines or numbers), which may distinguish users"
    )
    return Violation.of_file(f"{path.name} line {line}", problem)


def _unusual(path: Path, text: pa.Table, table: pa.Table, n_before: int) -> Iterator[Violation]:
    """Report each number that is not in canonical form."""
    for name in table.column_names:
        usual = table[name].cast(pa.string())
        differs = pc.fill_null(pc.not_equal(text[name], usual), False)
        for row in np.flatnonzero(differs.to_numpy()).tolist():
            place = n_before + row + 1
            user_id = text["user_id"][row].as_py() if "user_id" in text.column_names else None
            problem = f"its {name} is not in canonical form: {text[name][row].as_py()!r:.80}"
            yield Violation(f"{path.name} line {place + 1}", place, user_id, problem)


def parquet_pieces(
    path: Path, schema: pa.Schema, violations: list[Violation]
) -> Iterator[pa.Table]:
    """Read a Parquet file by row group, and account for every byte."""
    with decoding(path) as described:
        found, rows_of = described.schema, described.groups
    _check_names(path, found.names, schema, violations)
    for field in schema:
        expected, stored = field.type, found.field(field.name).type
        if stored not in (expected, pa.large_string() if expected == pa.string() else expected):
            # A cast could make different values equal.
            raise RecveilError(
                f"{path.name}: column {field.name!r} contains {stored}; a release has {expected}",
                code="release.damaged",
            )
    if found.metadata or any(found.field(name).metadata for name in schema.names):
        problem = "it contains metadata in addition to the ratings, which was not checked"
        violations.append(Violation.of_file(path.name, problem))
    # A user's id occurs in many rows: as a dictionary it is decoded once a page.
    coded = schema.set(0, pa.field("user_id", pa.dictionary(pa.int32(), pa.string())))
    account = _Account(path, schema, violations)
    wanted: Any = {"columns": schema.names, "dictionary": ["user_id"], "rows": _ROWS_AT_ONCE}
    with decoding(path, wanted="batches", **wanted) as decoded:
        for group, batches in itertools.groupby(decoded.batches, lambda each: each[1]):
            small = rows_of[group] <= MOST_ROWS
            pieces = []
            for batch, _ in batches:
                piece = pa.Table.from_batches([batch]).cast(coded)
                pieces += [piece] if small else []
                yield piece
            if small:
                account.check_group(pa.concat_tables(pieces))
    account.check_end()


def model_table(
    path: Path,
    names: Callable[[int], Sequence[str]],
    id_type: pa.DataType,
    violations: list[Violation],
) -> pa.Table:
    """Read the model for synthetic users, and account for every byte."""
    try:
        with decoding(path) as described:
            found = described.schema
        expected = list(names(len(found)))
        types = [id_type, *[pa.float32()] * (len(found) - 1)]
        if found.names != expected or list(found.types) != types:
            raise RecveilError(
                f"{path.name}: its columns are not those of a model", code="release.damaged"
            )
        if found.metadata or any(field.metadata for field in found):
            problem = "it contains metadata in addition to the model, which was not checked"
            violations.append(Violation.of_file(path.name, problem))
        account = _Account(path, found, violations)
        tables = [found.empty_table()]
        wanted: Any = {"columns": found.names, "rows": MOST_ROWS}
        with decoding(path, wanted="batches", **wanted) as decoded:
            n_bytes = 0
            for _, batches in itertools.groupby(decoded.batches, lambda each: each[1]):
                tables.append(pa.Table.from_batches([batch for batch, _ in batches]))
                n_bytes += tables[-1].nbytes + _AN_ITEM * tables[-1].num_rows
                reject_beyond_limit(f"{path.name}: its items", n_bytes, at_least=True)
                account.check_group(tables[-1])
        account.check_end()
        return pa.concat_tables(tables)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise RecveilError(
            f"{path.name}: cannot be read as a model ({reason})", code="release.damaged"
        ) from error


class _Account:
    """Account for the bytes of a Parquet file up to the first unexpected content."""

    def __init__(self, path: Path, schema: pa.Schema, violations: list[Violation]) -> None:
        self.path, self.violations = path, violations
        self.bytes: ParquetBytes | None = None
        try:
            self.bytes = ParquetBytes(path, schema)
        except UnaccountedError as error:
            self._stop(error)

    def check_group(self, table: pa.Table) -> None:
        if self.bytes is not None:
            try:
                self.bytes.check_group(table)
            except UnaccountedError as error:
                self._stop(error)

    def check_end(self) -> None:
        if self.bytes is not None:
            try:
                self.bytes.check_end()
            except UnaccountedError as error:
                self._stop(error)

    def _stop(self, error: UnaccountedError) -> None:
        problem = f"it is not stored as recveil stores it, which may reveal private data: {error}"
        self.violations.append(Violation.of_file(self.path.name, problem))
        self.bytes = None


def _check_names(
    path: Path, names: list[str], schema: pa.Schema, violations: list[Violation]
) -> None:
    for name in schema.names:
        if names.count(name) != 1:
            raise RecveilError(
                f"{path.name}: expected one column {name!r}, found {names.count(name)}",
                code="release.damaged",
            )
    for name in sorted(set(names) - set(schema.names)):
        problem = f"column {name!r:.80} is not a part of a release and may distinguish users"
        violations.append(Violation.of_file(path.name, problem))


# With a smaller step, ten digits do not distinguish the values of a grid.
_FINEST_GRID = 1e-8

_DIGITS = 18
_EPOCH = date(1970, 1, 1)
# No group has more users than there are humans on earth.
MOST_USERS = 10**10


@brief
class Block(NamedTuple):
    """A block of records."""

    # Equal for records of one class of the checked claim; empty if no record belongs to a user
    digests: list[bytes]
    # The same for the release's own claim, as in classes.csv
    stated_digests: list[bytes]
    # Number of users per record
    sizes: list[int]
    user_ids: list[str]
    # The first row of each, counted from 1
    rows: list[int]
    # Number of users that each record promises, if records do
    promised: list[int] | None
    # The items of the records in compressed rows, as numbers that are the same in all blocks
    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    # The values of these items
    values: NDArray[np.float64]


class PublishedFile:
    """The ratings file of a release."""

    def __init__(self, paths: Path | Sequence[Path], manifest: Manifest, claim: ClaimKind) -> None:
        self.paths = [paths] if isinstance(paths, Path) else list(paths)
        self.name = self.paths[0].name if len(self.paths) == 1 else str(manifest.ratings_file)
        self._rows_before = [0]  # per part that was begun
        self.claim = claim
        self.what = claim.shared_parts  # must be shared
        self._has_classes = claim.contains_users
        self.in_groups = manifest.in_groups
        self.scale = manifest.scale
        self._ends = RatingScale(self.scale.low, self.scale.high)  # values may be between levels
        self.has_levels = manifest.claim.levels
        expected = manifest.counts.get("values")
        self.n_expected = (
            expected if isinstance(expected, int) else None
        )  # for the progress bar only
        self.n_values = 0  # found so far
        self.lengths: Counter[int] = Counter()  # users by the number of values of their record
        self._stated_claim = manifest.claim.about
        self._is_one_user_each = manifest.is_one_user_each
        self._grid = manifest.value_grid
        self._has_tenths = samples_tenths(manifest)
        self.pseudonyms = Pseudonyms(manifest.counts.get("users"))
        self.period = manifest.settings.get("dates")
        self.periods = dates_within(manifest.settings)
        if "date" in self.compared_too:
            self.what += " and dates"
        self.schema = manifest.columns
        self._key_of: dict[Any, list[int]] = {}
        self.items: list[Any] = []  # by number, in order of appearance
        self._number_of: dict[Any, int] = {}
        self._known_ids: set[str] = set()

    @property
    def compared_too(self) -> list[str]:
        """Columns that are compared, in addition to those of every such claim."""
        has_dates = self.period is not None and not self.claim.is_of_items
        return ["date"] * has_dates + ["k"] * self.has_levels

    def locate(self, row: int) -> str:
        """Return the location in its file of a row, counted from 1 without the header."""
        part = bisect_left(self._rows_before, row) - 1
        path, row = self.paths[part], row - self._rows_before[part]
        return f"{path.name} line {row + 1}" if path.suffix == ".csv" else f"{path.name} row {row}"

    def blocks(self, violations: Violations) -> Iterator[Block]:
        """Yield all records; append errors of the rows to `violations`."""
        for number, path in enumerate(self.paths):
            if number:
                self._rows_before.append(self.n_values)
            yield from self._blocks_of(path, violations)

    def _blocks_of(self, path: Path, violations: Violations) -> Iterator[Block]:
        """Yield the records of one part; a record does not continue in the next part."""
        carried, n_before = None, self.n_values
        try:
            for batch in self._batches(path, violations):
                table = batch if carried is None else pa.concat_tables([carried, batch])
                # The last record may continue in the next batch.
                whole = int(_run_starts(table)[-2]) if table.num_rows else 0
                if whole:
                    yield self._block(table.slice(0, whole), n_before, violations)
                carried, n_before = table.slice(whole), n_before + whole
        except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0]
            raise RecveilError(
                f"{path.name}: cannot be read as a release ({reason})", code="release.damaged"
            ) from error
        if carried is not None and carried.num_rows:
            yield self._block(carried, n_before, violations)

    def _batches(self, path: Path, violations: Violations) -> Iterator[pa.Table]:
        """Read a file in batches with the declared column types and without missing values."""
        read = csv_pieces if path.suffix == ".csv" else parquet_pieces
        pieces = read(path, self.schema, violations)
        rows = track(
            prefetch(pieces),
            "Checking rows",
            self.n_expected,
            lambda table: table.num_rows,
            share=0.8,
        )
        for table in rows:
            for name in self.schema.names:
                if table[name].null_count:
                    raise RecveilError(
                        f"{path.name}: column {name!r} has missing values; a release has none",
                        code="release.damaged",
                    )
            self.n_values += table.num_rows
            yield table

    def _block(self, table: pa.Table, n_before: int, violations: Violations) -> Block:
        starts = _run_starts(table)
        user_ids = table["user_id"].take(pa.array(starts[:-1])).to_pylist()
        ids, codes = _ranked(table["item_id"])
        lengths = np.diff(starts)
        sizes = np.ones(len(user_ids), np.int64)
        if self.in_groups:
            sizes = table["group_size"].to_numpy()[starts[:-1]]
        for length, size in zip(lengths.tolist(), sizes.tolist(), strict=True):
            self.lengths[length] += size
        promised = table["k"].to_numpy()[starts[:-1]] if self.has_levels else None
        values = numbers_of_values(table["rating"], self.scale)
        days = None
        if self.period is not None:
            days = table["date"].cast(pa.int32()).to_numpy()
        records = Records(sizes, starts, codes, values, promised, days)
        for problem, rows in self._problems(table, records, user_ids):
            violations.left_out += max(0, rows.size - violations.room)
            for row in rows[: violations.room].tolist():
                place, user_id = n_before + row + 1, table["user_id"][row].as_py()
                violations.append(Violation(self.locate(place), place, user_id, problem))
        rows = (starts[:-1] + n_before + 1).tolist()
        keys = self._keys(ids)
        digests = stated_digests = self.claim.digests(records, keys) if self._has_classes else []
        if self.claim != self._stated_claim:
            stated_digests = self._stated_claim.digests(records, keys)
        return Block(
            digests=digests,
            stated_digests=stated_digests,
            sizes=sizes.tolist(),
            user_ids=user_ids,
            rows=rows,
            promised=None if promised is None else promised.tolist(),
            indptr=starts,
            items=self._numbers(ids)[codes],
            values=values,
        )

    def _problems(
        self, table: pa.Table, records: Records, user_ids: list[str]
    ) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Yield the errors of rows, and the positions of these rows in the table."""
        starts = records.indptr[:-1]
        again = [self._is_known(user_id) for user_id in user_ids]
        yield "its record is not contiguous: the user id also occurs elsewhere", starts[again]
        falls = np.flatnonzero(np.diff(records.indices) <= 0) + 1
        within = falls[~np.isin(falls, starts)]
        yield "its items are not in ascending order, each once", within
        off_scale = np.flatnonzero(~self._ends.contains(records.values))
        yield f"its rating is outside the scale {self.scale}", off_scale
        grid = None if self.scale.labels else self._grid  # word ratings have no grid
        if grid is not None and grid >= _FINEST_GRID:
            problem = f"its rating is not on the grid of {grid:g} in the settings"
            yield problem, self._off_grid(records.values, grid)
        if self._has_tenths:
            copied = copied_records(records.indptr, records.values, self.scale)
            problem = "its ratings are all levels of the scale, as if copied: sampled ones differ"
            yield problem, starts[copied]
        if records.days is not None and self.period == ORDER:
            moved = np.flatnonzero(positions_in_rows(records.days, records.indptr) != records.days)
            yield "its date is not the next position of its record, from 1970-01-01 on", moved
        elif records.days is not None:
            problem = f"its date is not the first day of a {self.period}"
            yield problem, np.flatnonzero(_within_period(records.days, str(self.period)))
            if self.periods is not None:
                outside = np.flatnonzero(~np.isin(records.days, self.periods))
                yield "its date is not within date_range", outside
        odd = starts[self.pseudonyms.odd(user_ids)]
        yield "its user id is not the next pseudonym of a release, such as 'pd9c2-007'", odd
        if records.promised is not None:
            promised = table["k"].to_numpy()
            expected = np.repeat(records.promised, np.diff(records.indptr))
            yield "its k changes within the record", np.flatnonzero(promised != expected)
            yield "its k is below 1", starts[records.promised < 1]
        if self.in_groups:
            expected = np.repeat(records.sizes, np.diff(records.indptr))
            sizes = table["group_size"].to_numpy()
            yield "group_size changes within the record", np.flatnonzero(sizes != expected)
            sane = (records.sizes >= 1) & (records.sizes <= MOST_USERS)
            yield f"group_size is not from 1 to {MOST_USERS:,}", starts[~sane]
            if self._is_one_user_each:
                problem = "group_size is not 1, but each record of this method belongs to one user"
                yield problem, starts[records.sizes != 1]

    def _off_grid(self, ids: NDArray[np.float64], grid: float) -> NDArray[np.int64]:
        """Return the positions of values that rounding to a grid would change."""
        few = distinct(ids)  # far fewer than the rows
        off = few[self.scale.round(few, grid) != few]
        return np.flatnonzero(np.isin(ids, off)) if off.size else np.empty(0, np.int64)

    def _is_known(self, user_id: str) -> bool:
        """Return whether a user occurred before, and record the user."""
        before = len(self._known_ids)
        self._known_ids.add(user_id)
        return len(self._known_ids) == before

    def _keys(self, ids: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the items' keys; each id is hashed once per file."""
        new = [id_ for id_ in ids.tolist() if id_ not in self._key_of]
        self._key_of.update(zip(new, item_keys(new).tolist(), strict=True))
        keys = np.array([self._key_of[id_] for id_ in ids.tolist()], dtype=np.uint64)
        return keys.reshape(-1, 2)

    def _numbers(self, ids: NDArray[Any]) -> NDArray[np.int32]:
        """Return the items' numbers; new items get the next ones."""
        for id_ in ids.tolist():
            if id_ not in self._number_of:
                self._number_of[id_] = len(self.items)
                self.items.append(id_)
        return np.array([self._number_of[id_] for id_ in ids.tolist()], dtype=np.int32)


class Pseudonyms:
    """Check the sequence of user ids in a release: one prefix, and consecutive numbers from 0.

    Other names may reveal the identity of a user.
    """

    def __init__(self, n_users: Any, *, in_part: bool = False) -> None:
        self.n_users = n_users if isinstance(n_users, int) else 0
        self.prefix = ""
        self.first = self.next = 0
        self._in_part = in_part

    def odd(self, user_ids: list[str]) -> NDArray[np.bool_]:
        """Report the ids of the next records that are out of sequence."""
        if not self.prefix and user_ids and (found := PREFIX.match(user_ids[0])):
            self.prefix = found.group()
            digits = user_ids[0].removeprefix(self.prefix)
            if self._in_part and digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS:
                self.first = self.next = int(digits)
        last = self.next + len(user_ids)
        expected = pseudonyms(self.prefix, self.n_users, self.next, last)
        if user_ids == expected and self.prefix:
            self.next = last
            return np.zeros(len(user_ids), np.bool_)
        return np.array([self._is_odd(user_id) for user_id in user_ids], np.bool_)

    def _is_odd(self, user_id: str) -> bool:
        (expected,) = pseudonyms(self.prefix, self.n_users, self.next, self.next + 1)
        right = bool(self.prefix) and user_id == expected
        digits = user_id.removeprefix(self.prefix)
        if not right and len(user_id) == len(expected) and digits.isascii() and digits.isdigit():
            self.next = int(digits)  # continue from here, so that a gap is reported once
        self.next += 1
        return not right


# The months that begin with each period; a week begins on a Monday.
_FIRST_MONTHS = {"year": (1,), "quarter": (1, 4, 7, 10), "month": tuple(range(1, 13))}


def _within_period(days: NDArray[np.int32], period: str) -> NDArray[np.bool_]:
    """Return whether each day, since 1970-01-01, is another one than the first of a period.

    >>> _within_period(np.array([0, 4, 31]), "week"), _within_period(np.array([0, 4, 31]), "month")
    (array([ True, False,  True]), array([False,  True, False]))
    """
    few, place = np.unique(days, return_inverse=True)
    is_first = [_is_first(day, period) for day in few.tolist()]
    return ~np.array(is_first, np.bool_)[place]


def _is_first(day: int, period: str) -> bool:
    try:
        first = _EPOCH + timedelta(days=day)
    except OverflowError:  # no year of four digits
        return False
    if period == "week":
        return first.isoweekday() == 1
    return first.day == 1 and first.month in _FIRST_MONTHS.get(period, ())


def _run_starts(table: pa.Table) -> NDArray[np.int64]:
    """Return where each run of one user begins, and the number of rows."""
    _, codes = _encoded(table["user_id"])
    changes = np.flatnonzero(np.diff(codes)) + 1
    return np.concatenate([[0], changes, [codes.size]])


def _ranked(column: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct ids in ascending order, and each row's position among them."""
    ids, codes = _encoded(column)
    order = np.argsort(ids)
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return ids[order], rank[codes]


def _encoded(column: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.int32]]:
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_numpy(zero_copy_only=False), encoded.indices.to_numpy()
