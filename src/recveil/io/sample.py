"""The first rows of a table, to look into its columns before any is read."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from recveil.decoding import PACKINGS, decoded_table
from recveil.io.delimited import DIALECTS, Dialect, read_records
from recveil.io.json_objects import first_objects
from recveil.io.source import refuse_many_columns
from recveil.io.table_within import OF_SEVERAL_TABLES, first_within
from recveil.memory import refuse_beyond_limit
from recveil.ratings.plain_types import plain_table

_ROWS = 1_000
# What each becomes: a name, an array of its own with buffers, and its place in a schema.
_A_COLUMN = 2_000


def first_rows(
    path: Path,
    format: str,
    dialect: Dialect | None = None,
    within: Mapping[str, str | None] = MappingProxyType({}),
) -> pa.Table | None:
    r"""Return the first rows of a table that names its columns, with all of these.

    Parameters
    ----------
    path : Path
    format : str
        A key of `FORMATS`.
    dialect : Dialect, optional
        How text is split, if it is not as usual for the format.
    within : mapping
        Which table it is, of a file that may hold several.

    Returns
    -------
    pyarrow.Table or None
        Delimited text stays text, and an empty field is null. None for a format without names, and
        for names that are no text. A column of several values a row is null.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.csv")
    ...     _ = path.write_text("user,item,rating,note\n7,12,3.5,\n")
    ...     first_rows(path, "csv").to_pylist()
    [{'user': '7', 'item': '12', 'rating': '3.5', 'note': None}]
    """
    if format in ("parquet", "arrow"):
        return plain_table(
            decoded_table(path, format, wanted="first", rows=_ROWS, packings=PACKINGS)
        )
    if format in OF_SEVERAL_TABLES:
        return first_within(path, format, within)
    if format == "json":
        found = first_objects(path)
        return found if found.num_columns else None
    dialect = dialect or DIALECTS.get(format)
    if dialect is None or not dialect.header:
        return None
    records = read_records(path, dialect)
    _, fields = next(records, (0, []))
    names = list(dialect.columns(fields))
    refuse_beyond_limit(f"{path.name}: its columns", _A_COLUMN * len(names))
    refuse_many_columns(len(names), path.name)
    if not names or not all(name.isprintable() or not name for name in names):
        return None
    # Whoever reads all of it will say what is wrong with a row.
    several = (dialect.columns(fields) for _, fields in itertools.islice(records, _ROWS))
    rows = [fields for fields in several if len(fields) == len(names)]
    columns = [[_text(fields[at]) for fields in rows] for at in range(len(names))]
    return pa.table([pa.array(column, pa.string()) for column in columns], names)


def _text(field: str) -> str | None:
    """Return a field, or null for one that is empty or not UTF-8."""
    return field if field and field.isprintable() else None
