"""Writer of release folders: both are staged next to their targets, verified, then renamed."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol, get_args

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recveil.publish.size_estimate import reject_too_large
from recveil.publish.staging import staged_drawn, staged_pair
from recveil.ratings.arrow_columns import written_out
from recveil.ratings.rating_scale import published_values
from recveil.release.claim import Claim
from recveil.release.coverage import FEWEST_RATINGS, Coverage, reject_nearly_empty
from recveil.release.data_card import data_card
from recveil.release.dates import DATE, period_of
from recveil.release.earlier_formats import RENAMED_SINCE
from recveil.release.ledger import cost_of_rerun
from recveil.release.manifest import (
    ALL_PARTS,
    ANSWERS,
    ASSIGNMENT,
    CARD,
    CLASSES,
    FORMULAS_SINCE,
    HIDDEN_ITEMS_FILE,
    ITEM_TABLE,
    MANIFEST,
    MODEL,
    NOISY_SUMS,
    PRIVATE_MANIFEST,
    PROTECTED,
    SHORT_USERS,
    USER_TABLE,
    FileEntry,
    Manifest,
    class_list,
    counts_of,
    is_part,
    successor_class_list,
    to_bytes,
)
from recveil.release.noisy_answers import answers_to_bytes
from recveil.release.private_folder import IN_TABLE
from recveil.release.records import Records, item_keys
from recveil.release.sides import FileFormat, Layout, Private, Published, Sides
from recveil.runtime.errors import MachineError, RecveilError, add_note, is_of_machine
from recveil.runtime.progress import parts, track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import prefetch
from recveil.verification import Verification, verify
from recveil.verification.not_covered import formulas_of

# Rows of the published file that are laid out at a time.
_ROWS_AT_ONCE = 1 << 22
_ROWS_OF_MODEL = 1 << 20


def rating_writer(
    file: Path, file_format: FileFormat, published: Published, *, in_groups: bool
) -> AbstractContextManager[Any]:
    """Open the published file for writing table after table."""
    fields = {
        "user_id": pa.string(),
        "item_id": pa.array(published.items).type,
        "rating": pa.string() if published.scale.labels else pa.float64(),
    }
    if period_of(published.settings) is not None:
        fields[DATE] = pa.date32()
    if in_groups:
        fields["group_size"] = pa.int64()
    if published.claim.levels:
        fields["k"] = pa.int64()
    schema = pa.schema(fields)
    if file_format == "csv":
        return pa_csv.CSVWriter(str(file), schema)
    # Items ascend within a record, mostly by small steps, which take a few bits each.
    steps = {"item_id": "DELTA_BINARY_PACKED"} if pa.types.is_integer(schema.field(1).type) else {}
    return pq.ParquetWriter(
        str(file),
        schema,
        compression="zstd",
        store_schema=False,
        use_dictionary=[name for name in schema.names if name not in steps],
        column_encoding=steps or None,
    )


def tables(
    published: Published, blocks: Iterator[Records], *, in_groups: bool, n_before: int = 0
) -> Iterator[tuple[pa.Table, int]]:
    """Yield tables of published rows and their record counts, after `n_before` in other files."""
    items = pa.array(published.items)
    for block in blocks:
        copies = np.ones_like(block.sizes) if in_groups else block.sizes
        record_of = np.repeat(np.arange(len(block)), copies)
        lengths = np.diff(block.indptr)[record_of]
        for first, last in _chunks(lengths):
            records, rows = record_of[first:last], lengths[first:last]
            # Position in the block of each row: a run of neighbours for each record.
            runs = np.repeat(block.indptr[records] - np.cumsum(rows) + rows, rows)
            places = runs + np.arange(rows.sum())
            names = pa.array(published.pseudonyms(n_before + first, n_before + last))
            row_of = np.repeat(np.arange(last - first, dtype=np.int32), rows)
            columns = {
                "user_id": written_out(_coded(row_of, names), "user_id"),
                "item_id": written_out(_coded(block.indices[places], items), "item_id"),
                "rating": published_values(block.values[places], published.scale),
            }
            if block.days is not None:
                columns[DATE] = pa.array(block.days[places]).cast(pa.date32())
            if in_groups:
                columns["group_size"] = pa.array(np.repeat(block.sizes[records], rows))
            if block.promised is not None:
                columns["k"] = pa.array(np.repeat(block.promised[records], rows))
            yield pa.table(columns), last - first
        n_before += record_of.size


def _coded(places: NDArray[Any], values: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(places), values)


def evenly(pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Cut the rows anew into pieces of one length, which reveal nothing of the private blocks."""
    rest = None
    for piece in pieces:
        table = piece if rest is None else pa.concat_tables([rest, piece])
        while table.num_rows >= _ROWS_AT_ONCE:
            yield table.slice(0, _ROWS_AT_ONCE)
            table = table.slice(_ROWS_AT_ONCE)
        rest = table
    if rest is not None and rest.num_rows:
        yield rest


def _chunks(lengths: Any) -> Iterator[tuple[int, int]]:
    """Cut records into runs of about `_ROWS_AT_ONCE` rows, at least one record each."""
    ends = np.cumsum(lengths)
    first = 0
    while first < lengths.size:
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _ROWS_AT_ONCE, "right")))
        yield first, last
        first = last


def write_model(model: pa.Table, file: Path) -> dict[str, int]:
    """Write the model for synthetic users in its canonical form; return its item count."""
    items = model.schema.field(0)
    steps = {items.name: "DELTA_BINARY_PACKED"} if pa.types.is_integer(items.type) else {}
    with pq.ParquetWriter(
        str(file),
        model.schema,
        compression="zstd",
        store_schema=False,
        use_dictionary=[] if steps else [items.name],
        column_encoding=steps or None,
    ) as writer:
        writer.write_table(model, row_group_size=_ROWS_OF_MODEL)
    return {"items": model.num_rows}


_WRITING, _VERIFYING = "Writing", "Verifying"


@brief
class Written(NamedTuple):
    """The written ratings."""

    # The file that holds them, or all parts in their order
    files: dict[str, FileEntry]
    # At least the counts of `counts_of`
    counts: dict[str, int]
    # The ids of the written items
    items: list[Any]
    # If it is measured by writing
    coverage: Coverage | None = None

    def _facts(self) -> dict[str, object]:
        return {"files": len(self.files), **self.counts}


class Writing(Protocol):
    """Writer and checker of the large files of a release: this process, or many machines."""

    def write_ratings(
        self, published: Published, folder: Path, file_format: FileFormat, *, in_groups: bool
    ) -> Written:
        """Write the records, and the list of their classes if any."""

    def write_users(self, release: Sides, folder: Path, layout: str) -> Mapping[str, object]:
        """Write the assignment of users to records; return its entries of private.json."""

    def verify(self, folder: Path, private: Path) -> Verification:
        """Check both sides as they were written."""


def write_release(
    release: Sides,
    folder: Path,
    layout: Layout = "auto",
    file_format: FileFormat = "parquet",
    *,
    force: bool = False,
    allow_large: bool = False,
    allow_sparse_coverage: bool = False,
    by: Writing | None = None,
) -> Verification:
    """Write, verify and put into place; see `Release.write`.

    `by` writes and verifies the large files; this process by default.
    """
    by = Here() if by is None else by
    check_form(layout, file_format)
    published = release.published
    _check_promise(published)
    written = published.default_layout if layout == "auto" else layout
    _check_layout(published, written)
    if release.private.coverage is None and release.private.measure_coverage is not None:
        coverage = release.private.measure_coverage(release)
        release = replace(release, private=replace(release.private, coverage=coverage))
    with naming_cost(published.claim):
        if published.expect is not None and folder.absolute().parent.is_dir():
            expected = published.expect(layout, file_format)
            if expected is not None:
                parent = folder.absolute().parent
                reject_too_large(expected, parent, layout, allow_large=allow_large)
        verification = _stage(
            *(release, folder, written, file_format, by),
            force=force,
            allow_sparse_coverage=allow_sparse_coverage,
        )
    if release.private.record_output is not None:
        release.private.record_output(folder)
    return verification


def reject_sparse(release: Sides) -> None:
    """Raise for a nearly empty release; with epsilon, its noisy answers alone decide."""
    noisy = release.published.noisy_coverage
    coverage = release.private.coverage if noisy is None else noisy
    likes = release.published.scale.unary
    reject_nearly_empty(coverage, is_noisy=noisy is not None, likes=likes)


@contextmanager
def naming_cost(claim: Claim) -> Iterator[None]:
    """Add the epsilon of answered queries, which a rerun spends again, to whatever ends a run."""
    try:
        yield
    except BaseException as error:
        if claim.ledger is None or claim.delta is None:
            raise
        spent = claim.ledger.of_itself
        _raise_with(error, cost_of_rerun(spent, claim.delta, spent.mu, spent.threshold_delta))


class _Spending:
    """The cost of the queries that were answered within a block; "" before the first one."""

    def __init__(self) -> None:
        self.describe: Callable[[], str] = lambda: ""


# Those of the blocks that a thread is in.
_SPENDING: ContextVar[tuple[_Spending, ...]] = ContextVar("spending", default=())


def record_spending(describe: Callable[[], str]) -> None:
    """Record how to describe the cost of the queries that follow, for `naming_spending`."""
    for each in _SPENDING.get():
        each.describe = describe


@contextmanager
def naming_spending() -> Iterator[None]:
    """Add the epsilon that queries within the block spent to whatever ends it.

    Unlike `naming_cost`, it begins before the first query, so a signal cannot arrive between the
    last answer and it.

    >>> with naming_spending():
    ...     record_spending(lambda: "this run spent epsilon 3")
    ...     raise RecveilError("standard output: cannot be written; redirect it")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: standard output: cannot be written; redirect it; this run spent epsilon 3
    """
    spending = _Spending()
    entered = _SPENDING.set((*_SPENDING.get(), spending))
    try:
        yield
    except BaseException as error:
        _raise_with(error, spending.describe())
    finally:
        _SPENDING.reset(entered)


def _raise_with(error: BaseException, cost: str) -> NoReturn:
    """Raise an error again, with a cost in its message, or as a note of any other exception."""
    if not isinstance(error, RecveilError) and cost:
        add_note(error, cost)
    if not isinstance(error, RecveilError) or cost in str(error):
        raise error
    kind = MachineError if is_of_machine(error) else RecveilError
    raise kind(f"{error}; {cost}", code=error.code) from error


def _stage(
    release: Sides,
    folder: Path,
    layout: str,
    file_format: FileFormat,
    by: Writing,
    *,
    force: bool,
    allow_sparse_coverage: bool,
) -> Verification:
    """Write both sides next to their targets, verify them, and rename them into place."""
    published = release.published
    with (
        staged_pair(folder, force=force) as (public_folder, private_folder),
        parts("Writing", {_WRITING: 1, _VERIFYING: 1}) as begin,
    ):
        begin(_WRITING)
        measured = _write_published(published, public_folder, file_format, layout, by)
        if measured is not None:
            release = replace(release, private=replace(release.private, coverage=measured))
        if not allow_sparse_coverage:
            reject_sparse(release)
        _write_private(release, private_folder, public_folder / MANIFEST, layout, by)
        begin(_VERIFYING)
        if release.private.continuation is None:
            result = by.verify(public_folder, private_folder)
        else:
            previous = release.private.continuation.folder
            result = verify(public_folder, private=private_folder, against=previous)
        n_private = len(result.private_found or ())
        # A folder that violates its claim is not a release, and its private values are not searched
        # for.
        if not result.holds and not 0 < len(result.violations) <= n_private:
            raise RecveilError(
                f"the release does not keep its own claim and was not written: "
                f"{result.violations[0].problem}; {_remedy(published)}",
                code="claim.false",
            )
        if result.private_found:
            raise RecveilError(
                f"the release would contain private data, so it was not written: "
                f"{result.private_found[0]}",
                code="release.refused",
            )
        search = release.private.search_items
        if search is not None and (problem := search(published.items)):
            raise RecveilError(
                f"the release would contain private data, so it was not written: item_id: "
                f"{problem}",
                code="release.refused",
            )
    return result


def write_synthetic(
    published: Published, folder: Path, file_format: FileFormat = "parquet", *, force: bool = False
) -> Verification:
    """Write synthetic users sampled from a published model, which have no private data."""
    check_form("users", file_format)
    if published.claim.about.contains_users:
        raise RecveilError(
            "these records belong to users; write them with their private folder",
            code="release.kind",
        )
    with (
        staged_drawn(folder, force=force) as new,
        parts("Writing", {_WRITING: 1, _VERIFYING: 1}) as begin,
    ):
        begin(_WRITING)
        _write_published(published, new, file_format, "users", Here())
        begin(_VERIFYING)
        result = verify(new)
        if not result.holds:
            problem = result.violations[0].problem
            raise RecveilError(
                f"the sampled users do not verify: {problem}; {_remedy(published)}",
                code="claim.false",
            )
    return result


def check_form(layout: str, file_format: str) -> None:
    """Raise a RecveilError unless there are such a layout and such a file format."""
    if layout not in get_args(Layout):
        raise RecveilError(
            f"layout {layout!r}: expected one of {', '.join(get_args(Layout))}", code="option.value"
        )
    if file_format not in get_args(FileFormat):
        raise RecveilError(
            f"file format {file_format!r}: expected one of {', '.join(get_args(FileFormat))}",
            code="option.value",
        )


def _check_promise(published: Published) -> None:
    """Reject a baseline, whose folder would look like an anonymized release."""
    if not published.claim.about.is_published:
        raise RecveilError(
            f"{published.settings['method']!r} promises nothing and is not written as a release; "
            f"evaluate or attack it in memory, or take an anonymizer that makes a promise",
            code="method.unsupported",
        )


def _check_layout(published: Published, layout: str) -> None:
    """Raise for groups of synthetic users, and for a model where there is none."""
    if layout == "groups" and not published.claim.about.contains_users:
        raise RecveilError(
            "layout 'groups' (--layout): these records belong to no user, so there are no groups "
            "of users; take users",
            code="option.unsupported",
        )
    table = published.user_table
    if layout == "groups" and table is not None and table.about.sensitive:
        raise RecveilError(
            "layout 'groups' (--layout): not with a sensitive attribute, of which each user has "
            "a row in users.csv; take users",
            code="option.unsupported",
        )
    if layout == "model" and published.model is None:
        raise RecveilError(
            f"layout 'model' (--layout): {published.settings['method']!r} has no model of users; "
            f"take users",
            code="option.unsupported",
        )


def _remedy(published: Published) -> str:
    if published.claim.l > 1:
        return (
            "rounding may have made two groups' rows equal, which then count as one; take finer "
            "labels (--round), or another l"
        )
    return "this is a fault in recveil, please report it"


def _write_published(
    published: Published, folder: Path, file_format: FileFormat, layout: str, by: Writing
) -> Coverage | None:
    about, coverage = published.claim.about, None
    if layout == "model" and published.model is not None:
        model = published.model()
        counts, items = write_model(model, folder / MODEL), model.column(0).to_pylist()
        files = {MODEL: FileEntry.of(folder / MODEL)}
    else:
        in_groups = layout == "groups"
        written = by.write_ratings(published, folder, file_format, in_groups=in_groups)
        files, counts, items, coverage = written
    content = ALL_PARTS if any(map(is_part, files)) else next(iter(files))
    manifest = Manifest.of(published, layout)
    names = counts_of(manifest.format, about, layout)
    n_short = counts.get(SHORT_USERS, 0) if manifest.number >= RENAMED_SINCE else 0
    short = {SHORT_USERS: n_short} if n_short else {}
    manifest = replace(
        manifest,
        recveil=version("recveil"),
        counts={name: counts[name] for name in names} | short,
        formulas=formulas_of(items) if manifest.number >= FORMULAS_SINCE else None,
    )
    if published.item_table is not None:  # of the items of the release, and no others
        rows = published.item_table.to_arrow(np.array(items, dtype=published.items.dtype))
        pa_csv.write_csv(rows, folder / ITEM_TABLE)
    if published.user_table is not None:
        ids = published.pseudonyms(0, counts["records"])
        rows = published.user_table.to_arrow(ids, in_groups=layout == "groups")
        pa_csv.write_csv(rows, folder / USER_TABLE)
    if published.answers is not None:
        (folder / ANSWERS).write_bytes(answers_to_bytes(published.answers))
    (folder / CARD).write_bytes(data_card(manifest, content).encode())
    files |= {name: FileEntry.of(folder / name) for name in manifest.files_next_to_ratings}
    (folder / MANIFEST).write_bytes(to_bytes(replace(manifest, files=files).to_json()))
    return coverage


class Here:
    """Writes and checks a release in this process."""

    def write_ratings(
        self, published: Published, folder: Path, file_format: FileFormat, *, in_groups: bool
    ) -> Written:
        """Write the records to one file."""
        file = folder / f"ratings.{file_format}"
        counts, items = _write_ratings(published, file, file_format, in_groups=in_groups)
        return Written({file.name: FileEntry.of(file)}, counts, items)

    def write_users(self, release: Sides, folder: Path, layout: str) -> Mapping[str, object]:
        """Write the assignment of users to records to one file."""
        pq.write_table(_who_is_where(release, layout), folder / ASSIGNMENT)
        return {}

    def verify(self, folder: Path, private: Path) -> Verification:
        """Check what was written."""
        return verify(folder, private=private)


def _write_ratings(
    published: Published, ratings_file: Path, file_format: FileFormat, *, in_groups: bool
) -> tuple[dict[str, int], list[Any]]:
    """Write the records, and the list of their classes if any; return all counts, and the items."""
    contains_users = published.claim.about.contains_users
    user_counts: Counter[bytes] = Counter()
    of_previous: Counter[tuple[bytes, bytes]] = Counter()
    counts = {"users": published.n_users, "records": 0, "values": 0, SHORT_USERS: 0}
    keys = item_keys(published.items)
    is_written = np.zeros(published.items.size, bool)
    previous = iter(published.predecessor.digests if published.predecessor else ())

    def counted() -> Iterator[Records]:
        blocks = track(
            published.blocks(),
            "Writing the rows of all users",
            published.n_users,
            lambda block: float(block.sizes.sum()),
            share=0.9,
        )
        for block in blocks:
            # Synthetic records have no classes: equal ones imply nothing about users.
            digests = published.claim.about.digests(block, keys) if contains_users else []
            sizes = block.sizes.tolist() if contains_users else []
            for digest, n_users in zip(digests, sizes, strict=True):
                user_counts[digest] += n_users
                if published.predecessor:
                    of_previous[digest, next(previous)] += n_users
            is_written[block.indices] = True
            counts[SHORT_USERS] += int(block.sizes[np.diff(block.indptr) < FEWEST_RATINGS].sum())
            yield block

    def pieces() -> Iterator[pa.Table]:
        for table, n_records in tables(published, counted(), in_groups=in_groups):
            counts["records"] += n_records
            counts["values"] += table.num_rows
            yield table

    with rating_writer(ratings_file, file_format, published, in_groups=in_groups) as writer:
        for table in prefetch(evenly(pieces())):
            writer.write_table(table)
    counts |= {"items": int(is_written.sum()), "classes": len(user_counts)}
    counts["singletons"] = sum(n_users == 1 for n_users in user_counts.values())
    counts["duplicates_dropped"] = published.duplicates_dropped
    if contains_users:
        is_first = published.predecessor is None
        listed = class_list(user_counts) if is_first else successor_class_list(of_previous)
        (ratings_file.parent / CLASSES).write_bytes(listed)
    return counts, published.items[is_written].tolist()


def _who_is_where(release: Sides, layout: str) -> pa.Table:
    """Return the columns that map users to records; a user in no record has no id there."""
    private, groups = release.private, release.private.groups
    if not release.published.claim.about.contains_users:
        nowhere = pa.nulls(private.users.size, pa.string())
        return pa.table({"user_id": pa.array(private.users), "published_id": nowhere})
    if layout == "groups":
        pseudonyms = release.published.pseudonyms(0, groups.sizes.size)
        of_member = np.repeat(np.array(pseudonyms, dtype=object), groups.sizes)
    else:
        of_member = np.array(release.published.pseudonyms(0, groups.members.size), dtype=object)
    columns = {"user_id": pa.array(private.users[groups.members]), "published_id": of_member}
    if private.levels is not None:
        columns["k"] = pa.array(private.levels[groups.members])
    if private.continuation is not None:
        columns[IN_TABLE] = pa.array(private.continuation.in_table[groups.members])
    return pa.table(columns)


def _write_private(release: Sides, folder: Path, manifest: Path, layout: str, by: Writing) -> None:
    private: Private = release.private
    assignment = by.write_users(release, folder, layout)
    content = "the users of every published row"
    if not release.published.claim.about.contains_users:
        what = "interactions" if release.published.scale.unary else "ratings"
        content = f"the users whose {what} the synthetic users were sampled from"
    if private.items is not None:
        names = {"item_id": pa.array(private.items), "published_id": release.published.items}
        pq.write_table(pa.table(names), folder / HIDDEN_ITEMS_FILE)
    if private.protection is not None:
        pq.write_table(private.protection.table(), folder / PROTECTED)
    if private.noisy_sums is not None:
        private.noisy_sums.write(folder / NOISY_SUMS)
    about = {
        "note": f"Keep this folder secret: it reveals {content}.",
        "release": asdict(FileEntry.of(manifest)),
        "ratings_sha256": private.ratings_sha256,
        "seed": private.seed,
        "settings": private.settings,
        "lone_ratings": private.lone_ratings and private.lone_ratings._asdict(),
        "diversity_cost": private.diversity_cost and private.diversity_cost._asdict(),
        "summary": private.summary,
        "dropped": private.dropped,
        "coverage": private.coverage and private.coverage.figures(),
        **({"previous": private.continuation.to_json()} if private.continuation else {}),
        **({"protected": private.protection.to_json()} if private.protection else {}),
        **({"sums_sha256": FileEntry.of(folder / NOISY_SUMS).sha256} if private.noisy_sums else {}),
        **assignment,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    text = json.dumps(about, indent=2, ensure_ascii=False, default=str)
    (folder / PRIVATE_MANIFEST).write_text(f"{text}\n", "utf-8")
