"""Properties of published files that a verdict does not cover."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.io import Source
from recveil.io.files import naming, opened_text
from recveil.io.formats.delimited import Dialect
from recveil.io.worker import PACKINGS, decoding, packing_of
from recveil.release.claim import (
    LOUD_DELTA,
    NEIGHBOURS_SINCE,
    bounds_of,
    of_large_delta,
    of_large_epsilon,
)
from recveil.release.data_card import has_old_words
from recveil.release.manifest import ALL_PARTS, Manifest
from recveil.release.pseudonyms import hides_items
from recveil.release.settings import foreign_names
from recveil.runtime.compiled import compiled

_PIECE = 1 << 24
_MOST_COLUMNS = 256

# State kept between bytes; the first is one of the four below.
_AT, _COLUMN, _WAS_RETURN, _LINE_EMPTY, _NEEDED, _IN_HEADER = range(6)
_START, _PLAIN, _QUOTED, _CLOSED = range(4)
# Counters: line ends, empty lines, and quotes that enclose no field.
_LF, _CRLF, _CR, _EMPTY, _ODD_QUOTES = range(5)
# Counters per column.
_QUOTED_NEEDLESSLY, _UNQUOTED = range(2)


def irregularities(path: Path, dialect: Dialect) -> list[str]:
    r"""Describe inconsistencies in how a delimited file is written that its values do not show."""
    state = np.array([_START, 0, 0, 1, 0, int(dialect.header)])
    counts, columns = np.zeros(5, np.int64), np.zeros((_MOST_COLUMNS, 2), np.int64)
    rules = ord(dialect.character), dialect.quotes
    with opened_text(path) as stream:
        while piece := stream.read(_PIECE):
            _walk(np.frombuffer(piece, np.uint8), *rules, state, counts, columns)
    if not state[_LINE_EMPTY]:  # the last line need not end
        _walk(np.frombuffer(b"\n", np.uint8), *rules, state, np.zeros(5, np.int64), columns)
    notes = []
    ends = counts[[_LF, _CRLF, _CR]] > 0
    if ends.sum() > 1:
        notes.append(f"some lines end in {'CR LF' if ends[1] else 'CR'}, others do not")
    if counts[_EMPTY]:
        notes.append("some lines are empty")
    if (columns > 0).all(axis=1).any():
        notes.append("some fields of a column are quoted without need, others are not")
    if counts[_ODD_QUOTES]:
        notes.append("quotes stand within fields")
    return notes


@compiled()
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


@compiled()
def _within_quotes(byte: int, divides: bool, state: NDArray[Any]) -> None:
    if byte == 34:
        state[_AT] = _CLOSED
    elif divides:
        state[_NEEDED] = 1


@compiled()
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


@compiled()
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


_SHOWN = 5


def not_covered_of_release(manifest: Manifest, ratings_name: str) -> list[str]:
    """Describe what a release states that no file can prove, and what is not compared."""
    settings, method = manifest.settings, manifest.known_method
    dropped = manifest.counts.get("duplicates_dropped")
    notes = ["That another real person stands behind each record is the publisher's word."]
    if not manifest.contains_users:
        what = "likes" if manifest.scale.unary else "ratings"
        notes = [
            f"That nobody's {what} stand in a record, and all were drawn, is the publisher's word."
        ]
    elif manifest.in_groups and not manifest.is_one_user_each:
        notes = ["How many people stand behind a row (group_size) is the publisher's word."]
    notes.append(
        "How the release was made (recveil's version, method, settings, scale), and that its "
        "records stand in a random order, is the publisher's word."
    )
    notes.append(
        "That nobody changed these files since they were published: whoever does can make all "
        "checksums anew. Compare the SHA-256 of release.json with what the publisher tells of it."
    )
    if manifest.claim.delta is not None and manifest.claim.delta > LOUD_DELTA:
        notes.append(of_large_delta(manifest.claim.delta))
    if manifest.claim.epsilon is not None and (large := of_large_epsilon(manifest.claim.epsilon)):
        notes.append(large)
    notes += [] if method is None else method.publishers_word(settings)
    notes += [
        f"The {name} {given!r:.60} is none of recveil's: its name is the publisher's word."
        for name, given in foreign_names(settings)
    ]
    notes += [] if method is None else method.made_before(settings)
    if has_old_words(manifest):
        notes.append(
            "The card has the words of its time: its figures of what attacks find are lower than "
            "those that are known now, and it does not name all that is not promised."
            if manifest.contains_users
            else "The card has the words of its time: what it says of odds, of two people and of "
            "ratings that were left out is too low."
        )
    elif manifest.claim.about.is_differential and manifest.number < NEIGHBOURS_SINCE:
        notes.append(
            "The card has the wording of its version: it states the bound for one given user as if "
            "it were about two. An adversary names which of two users is in the data with a "
            f"probability of at most {bounds_of(manifest.claim)['most_accuracy_of_two']:.3f}."
        )
    if dropped:
        rows = "1 row was" if dropped == 1 else f"{dropped!r:.40} rows were"
        notes.append(f"That {rows} left out is the publisher's word.")
    notes.append(
        "Which item stands behind which pseudonym, and that their order was drawn at random, is "
        "the publisher's word."
        if hides_items(settings)
        else "What the ids of items say is not looked at."
    )
    if ratings_name.endswith(".parquet"):
        notes.append(
            "How values are encoded and compressed within the pages of the Parquet file is not "
            "compared, as there are many right ways; nor is which version of its writer it names."
        )
    if ratings_name == ALL_PARTS:
        notes.append("After which record one part of the ratings ends is not compared.")
    return notes


def not_covered_of_table(path: Path | Any, source: Source, *, same_order: bool) -> list[str]:
    """Describe what is not compared in a plain file."""
    notes = [
        "What the ids of users and items and the names of columns say is not looked at: they may "
        "be people's own."
    ]
    if "group_size" in source.table.column_names:
        notes.append(
            "How many people stand behind a row (group_size) is the publisher's word, and not "
            "compared."
        )
    else:
        notes.append("That another real person stands behind each user id is the publisher's word.")
    if same_order:
        notes.append("The order in which the users stand is not compared.")
    else:
        notes.append(
            "The order of the lines is not compared: those of a person may stand in an order, or "
            "apart from each other, as nobody else's do."
        )
    if not isinstance(path, Path):
        notes.append("Whatever a data frame carries beside its columns is not looked at.")
        return notes
    return [*notes, *_not_covered_of_file(path, source)]


def _not_covered_of_file(path: Path, source: Source) -> Iterator[str]:
    """Yield what is not compared in a file: its compression and the details of its text."""
    packing = packing_of(path) if path.is_file() else None
    if packing == "gzip":
        yield "How the file was zipped, and what its gzip header says, is not looked at."
    elif packing is not None:
        yield f"How the {packing} file was packed, and what else it holds, is not checked."
    if source.dialect is not None:
        if ways := irregularities(path, source.dialect):
            yield f"How the text is written may tell people apart: {'; '.join(ways)}."
        if source.dialect.runs:
            yield "How many spaces separate columns is not compared."
    elif source.format == "json":
        yield "How the JSON is written (spaces, line ends, escapes) is not compared."
    elif source.format == "netflix":
        yield (
            "How the text is written (line ends, empty lines, spaces, zeros before a number) is "
            "not compared."
        )
    else:
        yield _other_columns(path, source.format)


def _other_columns(path: Path, format: str) -> str:
    """Describe what a Parquet or Arrow file may hold in addition to its values."""
    with naming(path), decoding(path, format, packings=PACKINGS) as found:
        keys = [repr(key) for key in found.metadata]
    shown = ", ".join(f"{key:.40}" for key in keys[:_SHOWN]) + (", …" if len(keys) > _SHOWN else "")
    here = f" (here: {shown})" if keys else ""
    return (
        f"What the file holds beside its values is not looked at: metadata{here}, statistics, "
        f"unused entries of dictionaries, bytes between parts, and where the parts begin."
    )
