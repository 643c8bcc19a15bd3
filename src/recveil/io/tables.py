"""Reading of any supported file into a raw table, without parsing its values."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from recveil.io.columns.columns import MUST_RATE, NOT_SAID, Feedback
from recveil.io.columns.feedback import reject_doubtful
from recveil.io.columns.frames import frame_of
from recveil.io.columns.time_columns import Look
from recveil.io.databases import Address
from recveil.io.detect.dialect import (
    Recognized,
    of_several,
    recognize,
    recognize_wide,
    reject_doubtful_header,
)
from recveil.io.detect.known_formats import COLUMNAR_FORMATS
from recveil.io.files import naming
from recveil.io.formats.delimited import DIALECTS, Dialect, read_delimited, read_records
from recveil.io.formats.json_objects import first_objects, read_json
from recveil.io.formats.netflix_prize import read_netflix
from recveil.io.formats.typed_tables import (
    OF_SEVERAL_TABLES,
    first_of_typed,
    read_server,
    read_typed,
)
from recveil.io.formats.wide_matrix import read_wide
from recveil.io.options import Layout
from recveil.io.part_files import (
    Part,
    assign_keys,
    describe_names,
    keys_of,
    naming_part,
    parts_of,
    read_parts,
    reject_disliked_parts,
    time_key,
)
from recveil.io.pipes import is_pipe, name_of
from recveil.io.source import (
    Selection,
    Source,
    name_at,
    reject_empty_table,
    reject_many_columns,
    search_times,
)
from recveil.ratings.rating_scale import RatingScale
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.memory import reject_beyond_limit

_ROWS = 1_000
# Bytes of a column: its name, array and buffers, and its field in a schema.
_A_COLUMN = 2_000


def first_rows(
    path: Path,
    format: str,
    dialect: Dialect | None = None,
    within: Mapping[str, str | None] = MappingProxyType({}),
) -> pa.Table | None:
    r"""Return the first rows of a table that names its columns, with all columns."""
    if format in (*COLUMNAR_FORMATS, *OF_SEVERAL_TABLES):
        return first_of_typed(path, format, within)
    if format == "json":
        found = first_objects(path)
        return found if found.num_columns else None
    dialect = dialect or DIALECTS.get(format)
    if dialect is None or not dialect.header:
        return None
    records = read_records(path, dialect)
    _, fields = next(records, (0, []))
    names = list(dialect.columns(fields))
    reject_beyond_limit(f"{path.name}: its columns", _A_COLUMN * len(names))
    reject_many_columns(len(names), path.name)
    if not names or not all(name.isprintable() or not name for name in names):
        return None
    # Invalid rows are reported when the whole file is read.
    several = (dialect.columns(fields) for _, fields in itertools.islice(records, _ROWS))
    rows = [fields for fields in several if len(fields) == len(names)]
    columns = [[_text(fields[at]) for fields in rows] for at in range(len(names))]
    return pa.table([pa.array(column, pa.string()) for column in columns], names)


def _text(field: str) -> str | None:
    """Return a field; None if it is empty or not UTF-8."""
    return field if field and field.isprintable() else None


# How a file is described whose ratings have decimal commas.
COMMAS = "decimal commas"
_BLANKS = r"[\s\pZ]*"
_WITH_COMMA = rf"^{_BLANKS}[-+]?\d+,\d+{_BLANKS}$"
# A comma followed by three digits may separate thousands: 1,000.
_NO_THOUSANDS = rf"^{_BLANKS}[-+]?(\d+,\d{{1,2}}|\d+,\d{{4,}}|0\d*,\d+|\d{{4,}},\d+){_BLANKS}$"
_WITH_POINT = rf"^{_BLANKS}[-+]?\d*\.\d"


def with_points(source: Source, decimal: str | None) -> Source:
    """Replace decimal commas with points in the ratings of a text."""
    if "rating" not in source.table.column_names:
        return source
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
            return source  # the parser reports the line
        raise _doubt(source)
    if pointed:
        row = _first(column, _WITH_POINT)
        raise RecveilError(
            f"{source.locate(row)}: rating {quoted(column[row].as_py(), 20)} has a decimal point, "
            f"but decimal (--decimal) is ','; fix the line, or leave that out",
            code="rating.decimal",
        )
    chunks = [
        pa.DictionaryArray.from_arrays(
            chunk.indices, pc.replace_substring(chunk.dictionary, ",", ".", max_replacements=1)
        )
        for chunk in column.chunks
    ]
    at = source.table.column_names.index("rating")
    table = source.table.set_column(at, "rating", pa.chunked_array(chunks, column.type))
    return source._replace(table=table, layout=(*source.layout, COMMAS))


def _doubt(source: Source) -> RecveilError:
    column = source.table["rating"]
    row = _first(column, _WITH_COMMA)
    return RecveilError(
        f"{source.locate(row)}: rating {quoted(column[row].as_py(), 20)} may have a decimal comma, "
        f"or one between thousands; if decimal, set decimal (--decimal ,), else write thousands "
        f"without a mark",
        code="rating.decimal",
    )


def _any(values: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())


def _first(column: pa.ChunkedArray, pattern: str) -> int:
    row = 0
    for chunk in column.chunks:
        fits = pc.match_substring_regex(chunk.dictionary, pattern).to_pylist()
        codes = chunk.indices.to_pylist()
        found = (at for at, code in enumerate(codes) if code is not None and fits[code])
        if (at := next(found, None)) is not None:
            return row + at
        row += len(chunk)
    return 0


def read_table(
    path: str | PathLike[str],
    format: str | None = None,
    given: Mapping[str, str | None] | None = None,
    layout: Layout | None = None,
) -> Source:
    r"""Read a file of ratings as a raw table, without parsing its values.

    Parameters
    ----------
    path : str or path
        The file, or the folder of the Netflix Prize. It must exist as long as the source is used,
        so pass pipes through `spooled` first.
    format : str, optional
        A key of `FORMATS`; detected from the content if not given.
    given : mapping, optional
        Names or places of the columns `user`, `item`, `rating` and `time`, where the caller knows
        them.
    layout : Layout, optional
        Options on how the text is written.

    Returns
    -------
    Source
        The table with columns `user`, `item`, `rating`, `time`, all other columns under their own
        names, and a function that locates rows.

    Raises
    ------
    RecveilError
        For a file that cannot be read, lacks a column, or has no rows, and for a pipe.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.csv")
    ...     _ = path.write_text("user_id,item_id,rating,group_size\n007,12,3.50,5\n")
    ...     source = read_table(path)
    ...     source.table.to_pylist(), source.locate(0)
    ([{'user': '007', 'item': '12', 'rating': '3.50', 'group_size': '5'}], 'ratings.csv line 2')
    """
    if is_pipe(path):
        raise RecveilError(
            f"{name_of(path)}: can be read once only; expected a file (see spooled)",
            code="input.pipe",
        )
    selection = Selection(given or {}, extras=True)
    return _read_published(Path(path), format, selection, layout or Layout())


def frame_table(frame: Any, given: Mapping[str, str | None]) -> Source:
    """Convert a data frame with all its columns to a source, as `read_table` reads a file.

    Raises
    ------
    RecveilError
        If it is not a data frame, lacks a column, has no rows, or has a column that Arrow does not
        support.

    Examples
    --------
    >>> frame = pa.table({"uid": [1], "iid": [5], "score": [3.5], "town": ["Rome"]})
    >>> frame_table(frame, {}).table.column_names
    ['user', 'item', 'rating', 'town']
    """
    taken = frame_of(frame, MUST_RATE, **given)
    table = taken.table
    if not taken.is_whole:  # a dropped column may distinguish users
        raise RecveilError(
            f"{taken.name}: only {table.num_columns} of {len(frame.columns)} columns can be "
            f"compared; expected numbers, text or times in each; convert the others to text",
            code="column.type",
        )
    if table.num_rows == 0:
        reject_empty_table(taken.name)
    named = {role: name for role, name in given.items() if name is not None}
    chosen = Selection({**taken.roles, **named}, extras=True).choose(table.column_names, taken.name)
    columns = {name: table[own] for name, own in chosen.items()}
    return Source(pa.table(columns), taken.locate, "data frame", chosen)


def read_source(
    path: Path | Address,
    format: str | None,
    given: Mapping[str, str | None],
    *,
    times: bool,
    time_format: str | None = None,
    layout: Layout | None = None,
    feedback: Feedback = NOT_SAID,
    scale: RatingScale | None = None,
) -> Source:
    """Read the columns of users, items, ratings and, if requested, times of a file."""
    layout = layout or Layout()
    are_labels = feedback.words or (scale is not None and bool(scale.labels))
    if are_labels and layout.wide:
        raise RecveilError(
            f"{path.name}: wide (--wide) is given, but the cells of a matrix are numbers; write "
            f"words one a row, as user,item,rating",
            code="option.conflict",
        )
    selection = Selection(
        given, times=times, time_is_text=time_format is not None, feedback=feedback
    )
    if isinstance(path, Address):
        source = _read_server(path, format, selection, layout)
    else:
        source = _read_files(path, format, selection, layout)
    if are_labels:
        _reject_word_as_name(path.name, source, scale)
    else:
        source = with_points(source, layout.decimal)
    if "rating" not in source.table.column_names and time_format is None:
        columns = dict(zip(source.table.column_names, source.table.columns, strict=True))
        reject_doubtful(columns, feedback, source.names.get("time"), path.name)
    if not times and "time" in source.table.column_names:
        name = source.names["time"]
        if not isinstance(name, str):
            texts = map(str, source.table["time"].slice(0, 1).to_pylist())
            such_as = "".join(f", such as {text[:24]}" for text in texts)
            name = name_at("time", name).replace(")", f"{such_as})")
        selection.unread.append(name)
        source = source._replace(table=source.table.drop_columns("time"))
    return source._replace(unread=tuple(selection.unread))


def _reject_word_as_name(where: str, source: Source, scale: RatingScale | None) -> None:
    """Reject a first row without numbers that was mistaken for column names."""
    name = source.names.get("rating")
    if scale is not None and isinstance(name, str) and name in scale.labels:
        raise RecveilError(
            f"{where}: its first line, with {quoted(name, 40)} in it, was taken for names of "
            f"columns; if it is a row, set format (--format csv-plain, or movielens-tab)",
            code="input.header",
        )


def _read_files(path: Path, format: str | None, selection: Selection, layout: Layout) -> Source:
    parts = parts_of(path)
    if layout.wide:
        source = _read_wide(path, format, selection.given, layout, parts)
    elif parts is not None:
        source = _read_parts(path, parts, format, selection, layout)
    else:
        found = recognize(path, format, layout)
        _reject_doubtful_header(path, format, found, selection)
        look, selection = _search_times(path, found, selection)
        source = _read_recognized(path, found, selection)._replace(look=look)
    return _checked(source, path)


def _read_server(
    address: Address, format: str | None, selection: Selection, layout: Layout
) -> Source:
    given = {"format": format, "delimiter": layout.delimiter, "wide": layout.wide or None}
    given |= {"sheet": layout.sheet}
    for name, value in given.items():
        if value is not None:
            raise RecveilError(
                f"{address.name}: {name} (--{name}) is given, but a database has columns with "
                f"types; leave that out",
                code="option.unsupported",
            )
    return read_server(address, selection, layout.wanted)


def _reject_doubtful_header(
    path: Path, format: str | None, found: Recognized, selection: Selection
) -> None:
    """Reject a first row that may be names or data, unless the caller decided."""
    is_guess = found.dialect.header if found.dialect else found.format == "workbook"
    if format is not None or not is_guess:
        return
    with naming(path):
        rows = first_rows(path, found.format, found.dialect, found.within)
    if rows is not None:
        reject_doubtful_header(rows, found, selection.given.values(), path.name)


def _search_times(path: Path, found: Recognized, selection: Selection) -> tuple[Look, Selection]:
    """Search for the column of times, unless the caller named it."""
    with naming(path):
        return search_times(
            selection,
            path.name,
            lambda: first_rows(path, found.format, found.dialect, found.within),
        )


def _read_parts(
    path: Path, parts: list[Part], format: str | None, selection: Selection, layout: Layout
) -> Source:
    # Times may look like numbers in some parts only.
    selection = replace(selection, time_is_text=True)
    time = time_key(parts) if selection.times else None
    with naming_part(parts[0]):
        first = recognize(parts[0].path, format, layout)
        _reject_doubtful_header(parts[0].path, format, first, selection)
        names = _names_of_first(parts[0].path, first, selection, keys_of(parts))
    partition = assign_keys(parts, names, selection, path.name, first.format)
    with naming_part(parts[0]):
        look, selection = _search_times(parts[0].path, first, partition.selection)

    def read(part: Path) -> Source:
        return _read_recognized(part, recognize(part, format, layout), selection)

    source = read_parts(path.name, parts, read, partition.roles, time)
    key_notes = partition.describe(source.names.values())
    source = source._replace(look=look, layout=(*source.layout, *key_notes))
    if "rating" in source.table.column_names:
        return source
    if not selection.feedback or not selection.feedback.likes:
        reject_disliked_parts(parts, path.name)
    return source._replace(notes=(*source.notes, *describe_names(parts)))


def _names_of_first(
    path: Path, found: Recognized, selection: Selection, keys: Sequence[str]
) -> list[str]:
    """Return a part's column names; without a header, the role of each column."""
    if not keys:
        return []
    rows = None
    with naming(path):
        rows = first_rows(path, found.format, found.dialect, found.within)
    if rows is not None:
        return rows.column_names
    given = {role: name for role, name in selection.given.items() if name not in keys}
    read = _read_recognized(path, found, replace(selection, given=given))
    return read.table.column_names


def _read_wide(
    path: Path,
    format: str | None,
    given: Mapping[str, str | None],
    layout: Layout,
    parts: list[Part] | None,
    *,
    is_published: bool = False,
) -> Source:
    if named := [role for role in ("item", "rating", "time") if given.get(role) is not None]:
        raise RecveilError(
            f"{named[0]} (--{named[0]}): given for a wide table, whose columns are the items; "
            f"leave that out",
            code="option.unsupported",
        )
    if parts is not None or path.is_dir():
        raise RecveilError(
            f"{path.name}: a folder or pattern, where one wide table was expected; name its file",
            code="input.folder",
        )
    dialect = recognize_wide(path, format, layout)
    split = dialect.dialect or DIALECTS["csv"]
    source = read_wide(path, split, given.get("user"), layout.null, is_published=is_published)
    return source._replace(layout=(*dialect.notes, *source.layout))


def _read_recognized(path: Path, found: Recognized, selection: Selection) -> Source:
    with naming(path):
        if found.dialect is not None:
            source = read_delimited(path, found.format, selection, found.dialect)
        elif found.format == "json":
            source = read_json(path, selection)
        elif found.format == "netflix":
            source = read_netflix(path, selection)
        else:
            source = read_typed(path, found.format, selection, found.within)
    return source._replace(layout=(*found.notes, *source.layout))


def _read_published(path: Path, format: str | None, selection: Selection, layout: Layout) -> Source:
    """Read all columns of one published table, for the verifier."""
    if not path.is_dir():
        with naming(path):
            several = of_several(path)
        if several is not None:
            raise RecveilError(
                f"{path.name}: {several[1]}, which may hold several tables; write the one of "
                f"ratings to a file, and verify that: recveil convert FILE TABLE.parquet",
                code="input.not-a-table",
            )
    if layout.wide:
        source = _read_wide(path, format, selection.given, layout, None, is_published=True)
    else:
        found = recognize(path, format, layout)
        _reject_doubtful_header(path, format, found, selection)
        source = _read_recognized(path, found, selection)
    return _checked(source, path)


def _checked(source: Source, path: Path) -> Source:
    """Reject a table without rows, and a single multi-line field; report several."""
    if source.table.num_rows == 0:
        reject_empty_table(path.name)
    spans = [] if source.spans is None else source.spans.describe(path.name)
    return source._replace(notes=(*spans, *source.notes))
