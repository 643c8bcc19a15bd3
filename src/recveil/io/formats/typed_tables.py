"""Tables whose columns have types: Parquet, Arrow, databases and workbooks."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from recveil.io.databases import Address, Wanted, opened_database, query_of
from recveil.io.databases.connection import reject_missing_packages
from recveil.io.databases.queries import sample_of, with_dictionaries
from recveil.io.detect.known_formats import looks_like_data
from recveil.io.files import naming
from recveil.io.source import Selection, Source, reject_empty_table, search_times
from recveil.io.worker import PACKINGS, decoded_table, decoding
from recveil.ratings.arrow_columns import plain_table
from recveil.runtime.errors import RecveilError, quoted, shortened
from recveil.runtime.memory import memory_limit, reject_beyond_limit

Within = Mapping[str, str | None]


def read_typed(
    path: Path, format: str, selection: Selection, within: Within = MappingProxyType({})
) -> Source:
    """Read the selected columns of a Parquet or Arrow file, a database or a workbook."""
    with naming(path):
        if format == "workbook":
            return _read_workbook(path, selection, within)
        with decoding(path, format, packings=PACKINGS, within=within) as found:
            schema = found.schema
            if format not in OF_SEVERAL_TABLES:
                names = selection.with_places(schema.names)
                fields = zip(schema, names, strict=True)
                schema = pa.schema([field.with_name(name) for field, name in fields])
            chosen = selection.choose(schema.names, path.name)
            _reject_nested(schema, chosen, path)
        repeated = _repeated(chosen)
        raw = decoded_table(
            path,
            format,
            columns=list(chosen.values()),
            # Ratings in Parquet and Arrow files keep their type.
            dictionary=repeated if format in OF_SEVERAL_TABLES else repeated[:2],
            narrow=not selection.extras,
            packings=PACKINGS,
            within=within,
        )
        table = plain_table(pa.table({name: raw[in_file] for name, in_file in chosen.items()}))
    return Source(table, lambda row: f"{path.name} row {row + 1}", format, chosen)


def _reject_nested(schema: pa.Schema, chosen: dict[str, str], path: Path) -> None:
    """Reject nested columns among those that are read."""
    for role, name in chosen.items():
        kind = schema.field(name).type
        needed = f" ({role})" if role != name else ""
        if pa.types.is_run_end_encoded(kind):
            raise RecveilError(
                f"{path.name}: column {quoted(name)}{needed} is stored as runs of equal values "
                f"({shortened(str(kind))}), which is not read; write one value a row "
                f"(pyarrow.compute.run_end_decode), or drop the column",
                code="column.type",
            )
        if pa.types.is_nested(kind):
            raise RecveilError(
                f"{path.name}: column {quoted(name)}{needed} holds {shortened(str(kind))}, several "
                f"values a row; expected one; name another column, take one value out of each, or "
                f"drop the column",
                code="column.type",
            )


OF_SEVERAL_TABLES = ("sqlite", "duckdb", "workbook")
_SAMPLE_ROWS = 1_000
# Bytes per row, in addition to its values, while rows are sorted.
_A_ROW = 16


def first_of_typed(
    path: Path, format: str, within: Within = MappingProxyType({})
) -> pa.Table | None:
    """Return the first rows of a typed table; None if its columns have no names."""
    found = decoded_table(
        path, format, wanted="first", rows=_SAMPLE_ROWS, packings=PACKINGS, within=within
    )
    if format == "workbook":
        if looks_like_data(found.schema.names):
            return None
        # A column without a name is ignored.
        found = found.select([at for at, name in enumerate(found.schema.names) if name])
    return plain_table(found)


def _read_workbook(path: Path, selection: Selection, within: Within) -> Source:
    with decoding(path, "workbook", within=within) as found:
        names = list(found.schema.names)
    has_header = not looks_like_data(names)
    chosen: Mapping[str, str | int]
    if has_header:
        names = selection.with_places(names)
        chosen = selection.choose(names, path.name)
        places = {role: names.index(str(name)) + 1 for role, name in chosen.items()}
    else:
        chosen = places = selection.choose_places(len(names), path.name)
    raw = decoded_table(
        path,
        "workbook",
        columns=[str(place) for place in places.values()],
        dictionary=[str(places["user"]), str(places["item"])],
        within={**within, "header": "yes" if has_header else ""},
    )
    columns = {role: raw[str(place)] for role, place in places.items()}
    if "time" in columns:
        columns["time"] = columns["time"].cast(pa.string())
    rows = raw["row"].to_numpy().astype(np.int32)
    n_columns = 0 if has_header else len(names)
    return Source(
        pa.table(columns),
        lambda row: f"{path.name} row {rows[row]}",
        "workbook",
        chosen,
        n_columns=n_columns,
    )


def read_server(address: Address, selection: Selection, wanted: Wanted) -> Source:
    """Read the selected columns of a table or query on a database server."""
    name = address.name
    with opened_database(address.kind, address.place, name, memory_limit()) as database:
        query = query_of(database, wanted, name)
        columns = database.columns(query)

        def first() -> pa.Table:
            schema, batches = database.batches(sample_of(query, columns, _SAMPLE_ROWS))
            return plain_table(pa.Table.from_batches(list(batches), schema))

        look, selection = search_times(selection, name, first)
        chosen = selection.choose([column.name for column in columns], name)
        of = {column.name: column for column in columns}
        repeated = _repeated(chosen)
        own = dict.fromkeys(chosen.values())
        _, rows = database.rows(query, [of[each] for each in own])
        batches, held = [], 0
        for batch in rows:
            encoded = with_dictionaries(batch, repeated)
            batches.append(encoded)
            held += encoded.nbytes + _A_ROW * encoded.num_rows
            reject_beyond_limit(f"{name}: its rows", held, at_least=True)
    if not batches:
        reject_empty_table(name)
    raw = pa.Table.from_batches(batches)
    table = plain_table(pa.table({role: raw[each] for role, each in chosen.items()}))
    return Source(table, lambda row: f"{name} row {row + 1}", address.kind, chosen, look)


def _repeated(chosen: Mapping[str, str]) -> list[str]:
    """Return the columns with repeated values, which dictionaries compress."""
    return [chosen[role] for role in ("user", "item", "rating") if role in chosen]


def reject_missing_reader(format: str, what: str) -> None:
    """Raise a RecveilError if the packages that read a kind of file are not installed."""
    if format != "workbook":
        reject_missing_packages(format, what)
    elif find_spec("python_calamine") is None:
        raise RecveilError(
            f"{what}, which python-calamine reads; install it (pip install 'recveil[excel]'), or "
            f"save the sheet as CSV (UTF-8), and name that file",
            code="dependency.missing",
        )
