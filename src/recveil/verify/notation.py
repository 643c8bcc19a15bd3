"""How a text file is written: in one way throughout, or in several, which may tell people apart?"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.compiled import compiled
from recveil.io.delimited import Dialect
from recveil.io.files import opened_text

_PIECE = 1 << 24
_MOST_COLUMNS = 256

# What is remembered between bytes; the first is one of the four below.
_AT, _COLUMN, _WAS_RETURN, _LINE_EMPTY, _NEEDED, _IN_HEADER = range(6)
_START, _PLAIN, _QUOTED, _CLOSED = range(4)
# What is counted: ends of lines, empty lines, and quotes that enclose no field.
_LF, _CRLF, _CR, _EMPTY, _ODD_QUOTES = range(5)
# And for each column.
_QUOTED_NEEDLESSLY, _UNQUOTED = range(2)


def irregularities(path: Path, dialect: Dialect) -> list[str]:
    r"""Say in what ways the lines of a delimited file differ that its values do not show.

    Parameters
    ----------
    path : Path
        Packed or not.
    dialect : Dialect

    Returns
    -------
    list of str
        Empty if each column is quoted throughout, or only where it must be, all lines end in the
        same way, and none is empty.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.io.delimited import DIALECTS
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ratings.csv")
    ...     _ = file.write_bytes(b'user,item,rating\r\n1,7,"4"\n2,7,4\n\n')
    ...     irregularities(file, DIALECTS["csv"])
    ['some lines end in CR LF, others do not', 'some lines are empty',
    'some fields of a column are quoted without need, others are not']
    """
    state = np.array([_START, 0, 0, 1, 0, int(dialect.header)])
    counts, columns = np.zeros(5, np.int64), np.zeros((_MOST_COLUMNS, 2), np.int64)
    rules = ord(dialect.character), dialect.quotes
    with opened_text(path) as stream:
        while piece := stream.read(_PIECE):
            _walk(np.frombuffer(piece, np.uint8), *rules, state, counts, columns)
    if not state[_LINE_EMPTY]:  # the last line need not end
        _walk(np.frombuffer(b"\n", np.uint8), *rules, state, np.zeros(5, np.int64), columns)
    told = []
    ends = counts[[_LF, _CRLF, _CR]] > 0
    if ends.sum() > 1:
        told.append(f"some lines end in {'CR LF' if ends[1] else 'CR'}, others do not")
    if counts[_EMPTY]:
        told.append("some lines are empty")
    if (columns > 0).all(axis=1).any():
        told.append("some fields of a column are quoted without need, others are not")
    if counts[_ODD_QUOTES]:
        told.append("quotes stand within fields")
    return told


@compiled()
def _walk(
    data: NDArray[Any],
    delimiter: int,
    quotes: bool,
    state: NDArray[Any],
    counts: NDArray[Any],
    columns: NDArray[Any],
) -> None:
    """Go on through the bytes, and count what is written in which way."""
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
    # The header, one line for all, may be quoted as it likes.
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
    if state[_AT] == _CLOSED:  # two quotes stand for one
        state[_NEEDED] = 1
    elif state[_AT] != _START:
        counts[_ODD_QUOTES] += not state[_IN_HEADER]
    state[_AT] = _PLAIN if state[_AT] == _PLAIN else _QUOTED
