"""Verification of plain files of ratings, exactly as they are written."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io import Source, frame_table, read_table
from recveil.io.columns.columns import is_text
from recveil.io.columns.ids import encode_ids
from recveil.io.detect.user_column import ambiguous_order, order_of
from recveil.io.options import Layout
from recveil.ratings.arrow_columns import tidied
from recveil.release.claim import claim_kind
from recveil.release.records import Records
from recveil.runtime.errors import RecveilError
from recveil.verification.diversity import check_diversity, describe_rare_sets
from recveil.verification.equivalence_classes import Classes, Supports
from recveil.verification.ids_in_items import line_breaks_in_items
from recveil.verification.not_covered import limits_of_table
from recveil.verification.published_file import MOST_USERS
from recveil.verification.results import Limit, Verification, Violation


def check_table(
    path: Path | Any,
    k: int,
    b: int,
    l: int,  # noqa: E741
    claim: str,
    columns: Mapping[str, str | None],
    *,
    format: str | None = None,
    layout: Layout | None = None,
) -> Verification:
    """Check that each user's rows are identical to those of at least k - 1 others; see `verify`."""
    source = _take(path, format, layout, columns)
    table = source.table
    kind = claim_kind(claim)
    if not kind.compared:
        raise RecveilError(
            f"claim {claim!r}: only a release can make this claim; name a release folder",
            code="option.unsupported",
        )
    # Co-rated rows may differ in their ratings only.
    free = ("user", "group_size", *({"item", "rating"} - {*kind.compared}))
    compared = [name for name in table.column_names if name not in free]
    users, user_of = encode_ids(table["user"], "user", source.locate)
    order, starts, records = _records(table, compared, user_of)
    first_rows = np.minimum.reduceat(order, starts[:-1])
    violations: list[Violation] = []
    has_sizes = "group_size" in table.column_names
    if has_sizes:
        sizes = _group_sizes(source)[order]
        records = Records(sizes[starts[:-1]], records.indptr, records.indices, records.values)
        broken = np.flatnonzero(sizes != np.repeat(records.sizes, np.diff(starts)))
        for row in order[broken].tolist():
            name, problem = str(users[user_of[row]]), "group_size changes within the record"
            violations.append(Violation(source.locate(row), row + 1, name, problem))
    classes = Classes()
    keys = np.arange(2 * (int(records.indices.max()) + 1), dtype=np.uint64).reshape(-1, 2)
    names = [str(user) for user in users]
    rows = (first_rows + 1).tolist()
    digests = records.digests(keys)
    classes.add(digests, records.sizes.tolist(), names, rows)
    limits = limits_of_table(path, source, same_order=_same_order(records, order, digests))
    if classes.count_once():
        limits.append(Limit("repeated-sizes"))
    ignored = sorted({"item", "rating"} - {*kind.compared})
    what = kind.shared_parts
    if ignored:
        what = f"{what} and other columns but the {' and '.join(ignored)}"
    what = what if not has_sizes else f"{what} (equal rows with a group_size count once)"
    below = classes.below(k, lambda row: source.locate(row - 1), what)
    violations += sorted(below, key=lambda violation: violation.row or 0)
    where = path.name if isinstance(path, Path) else "the data frame"
    item_ids = source.table["item"]
    stored = item_ids.type
    if is_text(stored.value_type if pa.types.is_dictionary(stored) else stored):
        violations += line_breaks_in_items(pc.unique(item_ids).to_pylist(), where)
    diversity = None
    if l > 1:
        supports = Supports()
        supports.add(digests, records.indptr, records.indices)
        diversity = check_diversity(supports.rows(), b, l, supports.n_groups)
        if not diversity.holds:
            violations.append(Violation.of_file(where, describe_rare_sets(diversity)))
    return Verification(
        claim=claim,
        k_required=k,
        k_achieved=classes.smallest,
        users=classes.users,
        records=len(names),
        classes=len(classes.user_counts),
        layout="groups" if has_sizes else "users",
        compared=compared,
        violations=violations,
        singletons=classes.singletons,
        diversity=diversity,
        not_covered=limits,
    )


def _take(
    path: Path | Any, format: str | None, layout: Layout | None, columns: Mapping[str, str | None]
) -> Source:
    """Read all columns; raise if nothing identifies the user column."""
    if not isinstance(path, Path):
        return frame_table(path, columns)
    source = read_table(path, format, columns, layout)
    if order_of(path.name, source, columns, format) == "guessed":
        # A verdict on items would imply nothing about users.
        raise ambiguous_order(path.name, source, columns, danger="would check something else")
    return source


def _same_order(records: Records, order: NDArray[np.int64], digests: list[bytes]) -> bool:
    """Return whether each record's lines are contiguous, and equal records have one order."""
    first_of: dict[bytes, bytes] = {}
    for digest, (start, end) in zip(
        digests, itertools.pairwise(records.indptr.tolist()), strict=True
    ):
        lines = order[start:end]
        if lines.max() - lines.min() != end - start - 1:
            return False
        within = (lines - lines.min()).tobytes()
        if first_of.setdefault(digest, within) != within:
            return False
    return True


def _records(
    table: pa.Table, compared: list[str], user_of: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Records]:
    """Sort the rows by user, item and rating, as positions among the distinct ones."""
    _, item_of = _codes(table["item"], "item")
    # The value of a row consists of all its columns but user and item.
    value_of = np.zeros(table.num_rows, np.int64)
    for name in compared:
        if name != "item":
            n_values, codes = _codes(table[name], name)
            pairs = value_of * n_values + codes
            value_of = np.unique(pairs, return_inverse=True)[1]
    order = np.lexsort((value_of, item_of, user_of))
    starts = np.concatenate([[0], np.cumsum(np.bincount(user_of))])
    values = value_of[order].astype(np.float64)
    items = item_of[order].astype(np.int32)
    return order, starts, Records(np.ones(starts.size - 1, np.int64), starts, items, values)


def _codes(column: pa.ChunkedArray, name: str) -> tuple[int, NDArray[np.int64]]:
    """Return the number of distinct stored values of a column, and the code of each row."""
    if pa.types.is_floating(column.type):
        # Compare bits: -0.0 and 0.0 are equal numbers, but a reader can distinguish them.
        missing = pc.is_null(column).to_numpy()
        bits = column.cast(pa.float64()).fill_null(0.0).to_numpy().view(np.int64)
        distinct, codes = np.unique(bits, return_inverse=True)
        return distinct.size + 1, np.where(missing, distinct.size, codes)
    try:
        if pa.types.is_dictionary(column.type):
            # It may hold duplicates or unused values.
            encoded = tidied(column).combine_chunks()
            codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy()
            return len(encoded.dictionary) + 1, codes.astype(np.int64)
        encoded = column.dictionary_encode(null_encoding="encode")
        encoded = encoded.unify_dictionaries().combine_chunks()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise RecveilError(
            f"column {name!r} holds {column.type}, which cannot be compared; drop or convert it",
            code="column.type",
        ) from error
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return len(encoded.dictionary), codes.astype(np.int64)


def _group_sizes(source: Source) -> NDArray[np.int64]:
    column = source.table["group_size"]
    problem = "expected whole numbers; rename the column if it does not count users"
    if not (pa.types.is_integer(column.type) or pa.types.is_string(column.type)):
        raise RecveilError(
            f"column 'group_size' holds {column.type}; {problem}", code="column.type"
        )
    try:
        sizes = column.cast(pa.int64()).fill_null(0).to_numpy()
    except pa.ArrowInvalid as error:
        raise RecveilError(
            f"column 'group_size': {error}; {problem}", code="column.type"
        ) from error
    sane = (sizes >= 1) & (sizes <= MOST_USERS)
    if not sane.all():
        row = int(np.argmin(sane))
        raise RecveilError(
            f"{source.locate(row)}: group_size is not from 1 to {MOST_USERS:,}", code="input.line"
        )
    return np.asarray(sizes, dtype=np.int64)
