"""Decimal commas: ratings such as 3,5, which become 3.5 where that is certain or was said."""

import pyarrow as pa
import pyarrow.compute as pc

from recveil.errors import RecveilError, quoted
from recveil.io.source import Source

_BLANKS = r"[\s\pZ]*"
_WITH_COMMA = rf"^{_BLANKS}[-+]?\d+,\d+{_BLANKS}$"
# Three digits behind a comma may be thousands: 1,000.
_NO_THOUSANDS = rf"^{_BLANKS}[-+]?(\d+,\d{{1,2}}|\d+,\d{{4,}}|0\d*,\d+|\d{{4,}},\d+){_BLANKS}$"
_WITH_POINT = rf"^{_BLANKS}[-+]?\d*\.\d"


def with_points(source: Source, decimal: str | None) -> Source:
    """Write the ratings of a text with decimal points, if they have decimal commas.

    Parameters
    ----------
    source : Source
    decimal : {",", "."} or None
        What stands before decimals; found by looking at all ratings if not given. A comma is one
        beyond doubt, if no rating has a point, and a comma separates no thousands: not all of them
        stand before three digits.

    Raises
    ------
    RecveilError
        If that is in doubt, and if a rating has a decimal point where commas were said.

    Examples
    --------
    >>> column = pa.chunked_array([pa.array(["3,5", "4"]).dictionary_encode()])
    >>> table = pa.table({"user": [1, 2], "item": [1, 1], "rating": column})
    >>> source = Source(table, "row {}".format, "csv", {})
    >>> found = with_points(source, None)
    >>> found.table["rating"].to_pylist(), found.layout
    (['3.5', '4'], ('decimal commas',))
    """
    if "rating" not in source.table.column_names:
        return source
    at = source.table.column_names.index("rating")
    column = source.table["rating"]
    is_text = pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type)
    if decimal == "." or not is_text:
        return source
    values = [chunk.dictionary for chunk in column.chunks]
    if not any(_any(each, _WITH_COMMA) for each in values):
        return source
    pointed = any(_any(each, _WITH_POINT) for each in values)
    if decimal is None and (pointed or not any(_any(each, _NO_THOUSANDS) for each in values)):
        if pointed:
            return source  # whoever parses them names the line
        raise _doubt(source)
    if pointed:
        row = _first(column, _WITH_POINT)
        raise RecveilError(
            f"{source.locate(row)}: rating {quoted(column[row].as_py(), 20)} has a decimal point, "
            f"but decimal (--decimal) is ','; mend the line, or leave that out",
            code="rating.decimal",
        )
    chunks = [
        pa.DictionaryArray.from_arrays(
            chunk.indices, pc.replace_substring(chunk.dictionary, ",", ".", max_replacements=1)
        )
        for chunk in column.chunks
    ]
    mended = source.table.set_column(at, "rating", pa.chunked_array(chunks, column.type))
    return source._replace(table=mended, layout=(*source.layout, "decimal commas"))


def _doubt(source: Source) -> RecveilError:
    column = source.table["rating"]
    row = _first(column, _WITH_COMMA)
    return RecveilError(
        f"{source.locate(row)}: rating {quoted(column[row].as_py(), 20)} may have a decimal comma, "
        f"or one between thousands; say that it is a decimal one with decimal (--decimal ,), or "
        f"write thousands without a mark",
        code="rating.decimal",
    )


def _any(values: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())


def _first(column: pa.ChunkedArray, pattern: str) -> int:
    """Return the first row whose value fits."""
    row = 0
    for chunk in column.chunks:
        fits = pc.match_substring_regex(chunk.dictionary, pattern).to_pylist()
        codes = chunk.indices.to_pylist()
        found = (at for at, code in enumerate(codes) if code is not None and fits[code])
        if (at := next(found, None)) is not None:
            return row + at
        row += len(chunk)
    return 0
