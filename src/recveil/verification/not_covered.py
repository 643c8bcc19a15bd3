"""Properties of published files that a verdict does not cover."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.io import Source
from recveil.io.columns.ids import user_ids_among
from recveil.io.files import naming, opened_text
from recveil.io.formats.delimited import Dialect
from recveil.io.worker import PACKINGS, decoding, packing_of
from recveil.io.write import is_formula
from recveil.release.claim import (
    LOUD_DELTA,
    NEIGHBOURS_SINCE,
    Claim,
    bounds_of,
    of_large_epsilon,
)
from recveil.release.data_card import has_old_words
from recveil.release.manifest import ALL_PARTS, ItemFormulas, Manifest
from recveil.release.manifest_reader import MOST_OF_EXAMPLE
from recveil.release.records import hides_items
from recveil.release.settings import foreign_names
from recveil.runtime.compiled import compiled
from recveil.verification.results import Limit

_PIECE = 1 << 24
_MOST_COLUMNS = 256

# State kept between bytes; the first is one of the four below.
_AT, _COLUMN, _WAS_RETURN, _LINE_EMPTY, _NEEDED, _IN_HEADER = range(6)
_START, _PLAIN, _QUOTED, _CLOSED = range(4)
# Counters: line ends, empty lines, and quotes that enclose no field.
_LF, _CRLF, _CR, _EMPTY, _ODD_QUOTES = range(5)
# Counters per column.
_QUOTED_NEEDLESSLY, _UNQUOTED = range(2)


def find_irregularities(path: Path, dialect: Dialect) -> list[str]:
    """Find inconsistencies in how a delimited file is written that its values do not show."""
    state = np.array([_START, 0, 0, 1, 0, int(dialect.header)])
    counts, columns = np.zeros(5, np.int64), np.zeros((_MOST_COLUMNS, 2), np.int64)
    rules = ord(dialect.character), dialect.quotes
    with opened_text(path) as stream:
        while piece := stream.read(_PIECE):
            _walk(np.frombuffer(piece, np.uint8), *rules, state, counts, columns)
    if not state[_LINE_EMPTY]:  # the last line need not end
        _walk(np.frombuffer(b"\n", np.uint8), *rules, state, np.zeros(5, np.int64), columns)
    ends = counts[[_LF, _CRLF, _CR]] > 0
    is_mixed = ends.sum() > 1
    found = {
        "mixed-cr-lf": is_mixed and ends[1],
        "mixed-cr": is_mixed and not ends[1],
        "empty-lines": counts[_EMPTY],
        "needless-quotes": (columns > 0).all(axis=1).any(),
        "stray-quotes": counts[_ODD_QUOTES],
    }
    return [name for name, is_there in found.items() if is_there]


@compiled(plain_if_small=True)
def _walk(
    data: NDArray[Any],
    delimiter: int,
    quotes: bool,
    state: NDArray[Any],
    counts: NDArray[Any],
    columns: NDArray[Any],
) -> None:
    """Process the next bytes and update the counters."""
    for byte in data:
        is_end = byte == 10 or byte == 13
        if state[_AT] == _QUOTED:
            _within_quotes(byte, is_end or byte == delimiter, state)
        elif state[_WAS_RETURN] and byte == 10:  # the second half of CR LF
            counts[_CR] -= 1
            counts[_CRLF] += 1
            state[_WAS_RETURN] = 0
        elif is_end or byte == delimiter:
            _end_of_field(byte, is_end, state, counts, columns)
        else:
            _within_field(quotes and byte == 34, state, counts)


@compiled(plain_if_small=True)
def _within_quotes(byte: int, divides: bool, state: NDArray[Any]) -> None:
    if byte == 34:
        state[_AT] = _CLOSED
    elif divides:
        state[_NEEDED] = 1


@compiled(plain_if_small=True)
def _end_of_field(
    byte: int, is_end: bool, state: NDArray[Any], counts: NDArray[Any], columns: NDArray[Any]
) -> None:
    # The header is one line and may be quoted in any way.
    if not state[_IN_HEADER]:
        column = min(state[_COLUMN], columns.shape[0] - 1)
        if state[_AT] == _CLOSED and not state[_NEEDED]:
            columns[column, _QUOTED_NEEDLESSLY] += 1
        elif state[_AT] == _PLAIN:
            columns[column, _UNQUOTED] += 1
    state[_AT], state[_NEEDED], state[_WAS_RETURN] = _START, 0, byte == 13
    state[_COLUMN] += 1
    if is_end:
        counts[_LF if byte == 10 else _CR] += 1
        counts[_EMPTY] += state[_LINE_EMPTY]
        state[_COLUMN], state[_IN_HEADER] = 0, 0
    state[_LINE_EMPTY] = is_end


@compiled(plain_if_small=True)
def _within_field(is_quote: bool, state: NDArray[Any], counts: NDArray[Any]) -> None:
    state[_WAS_RETURN], state[_LINE_EMPTY] = 0, 0
    if not is_quote:
        counts[_ODD_QUOTES] += state[_AT] == _CLOSED
        state[_AT] = _PLAIN
        return
    if state[_AT] == _CLOSED:  # an escaped quote
        state[_NEEDED] = 1
    elif state[_AT] != _START:
        counts[_ODD_QUOTES] += not state[_IN_HEADER]
    state[_AT] = _PLAIN if state[_AT] == _PLAIN else _QUOTED


def limits_of_release(manifest: Manifest, ratings_name: str) -> list[Limit]:
    """Return what a release states that no file can prove, and what is not compared."""
    settings, method = manifest.settings, manifest.known_method
    if not manifest.contains_users:
        limits = [Limit("synthetic-records", ("likes" if manifest.scale.unary else "ratings",))]
    elif manifest.in_groups and not manifest.is_one_user_each:
        limits = [Limit("group-sizes")]
    else:
        limits = [Limit("real-users", ("record",))]
    limits += [Limit("making"), Limit("changed-files"), *_limits_of_budget(manifest.claim)]
    if method is not None:
        limits += [Limit("method", (text,)) for text in method.publishers_word(settings)]
    limits += [Limit("foreign-class", each) for each in foreign_names(settings)]
    if manifest.previous:
        limits += [Limit("kept-classes"), Limit("kept-rows"), Limit("previous-release")]
    if method is not None:
        limits += [Limit("method", (text,)) for text in method.made_before(settings)]
    limits += _limits_of_card(manifest)
    if dropped := manifest.counts.get("duplicates_dropped"):
        limits.append(Limit("dropped-rows", (dropped,)))
    limits.append(Limit("hidden-items" if hides_items(settings) else "item-ids"))
    if ratings_name.endswith(".parquet"):
        limits.append(Limit("parquet-encoding"))
    if ratings_name == ALL_PARTS:
        limits.append(Limit("parts"))
    return limits


def _limits_of_budget(claim: Claim) -> Iterator[Limit]:
    if claim.delta is not None and claim.delta > LOUD_DELTA:
        yield Limit("large-delta", (claim.delta,))
    if claim.epsilon is not None and of_large_epsilon(claim.epsilon):
        yield Limit("large-epsilon", (claim.epsilon,))


def _limits_of_card(manifest: Manifest) -> Iterator[Limit]:
    """Yield what a card of an earlier version states too low."""
    if has_old_words(manifest):
        yield Limit("old-card" if manifest.contains_users else "old-synthetic-card")
    elif manifest.claim.about.is_differential and manifest.number < NEIGHBOURS_SINCE:
        yield Limit("old-bound", (bounds_of(manifest.claim)["most_accuracy_of_two"],))


def limits_of_items(items: Iterable[Any]) -> list[Limit]:
    """Return whether ids of items may run as formulas, or look like ids of users."""
    items = list(items)
    formulas, user_ids = formulas_of(items), user_ids_among(items)
    limits = [] if formulas is None else [Limit("formulas", (formulas.items,))]
    return limits if user_ids is None else [*limits, Limit("user-ids", user_ids)]


def formulas_of(items: Iterable[Any]) -> ItemFormulas | None:
    """Return the ids that a spreadsheet may run as formulas; None if there are none."""
    found = [item for item in items if is_formula(item)]
    return ItemFormulas(len(found), min(found)[:MOST_OF_EXAMPLE]) if found else None


def limits_of_table(path: Path | Any, source: Source, *, same_order: bool) -> list[Limit]:
    """Return what is not compared in a plain file."""
    has_sizes = "group_size" in source.table.column_names
    limits = [
        Limit("ids-and-names"),
        Limit("group-sizes") if has_sizes else Limit("real-users", ("user id",)),
        Limit("user-order" if same_order else "line-order"),
    ]
    if not isinstance(path, Path):
        return [*limits, Limit("frame-attributes")]
    packing = packing_of(path) if path.is_file() else None
    if packing is not None:
        limits.append(Limit("gzip-header") if packing == "gzip" else Limit("packing", (packing,)))
    if source.dialect is not None:
        if irregularities := find_irregularities(path, source.dialect):
            limits.append(Limit("irregular-text", tuple(irregularities)))
        return [*limits, *([Limit("space-runs")] if source.dialect.runs else [])]
    if source.format in ("json", "netflix"):
        return [*limits, Limit(f"{source.format}-text")]
    with naming(path), decoding(path, source.format, packings=PACKINGS) as found:
        return [*limits, Limit("file-metadata", tuple(found.metadata))]
