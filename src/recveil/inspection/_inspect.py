"""Inspection of a table."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from recveil.inspection.column_roles import detect_order, find_identifiers
from recveil.inspection.first_rows import (
    FirstRows,
    describe_swallowed_rows,
    rows_as_read,
    rows_of_columns,
    rows_of_file,
    rows_of_frame,
)
from recveil.inspection.results import Inspection
from recveil.inspection.statistics import Dates, dates_of, distribution_of
from recveil.io import Reading, understand
from recveil.io.columns.columns import USUAL_NAMES, plain_name
from recveil.io.databases import Address
from recveil.io.ingestion import observe_raw_columns, reject_unknown_keywords
from recveil.io.inputs import open_input
from recveil.io.options import ReadingOptions, layout_of
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError


def inspect(
    source: str | PathLike[str] | Ratings | Any, **reading: Unpack[ReadingOptions]
) -> Inspection:
    r"""Inspect a table: its format, its contents, and the columns that may identify users.

    Nothing is written. Of several ratings of one item by one user, which other commands reject by
    default, the latest is used.

    Parameters
    ----------
    source : path, address, Ratings, or data frame
        In any format that `recveil.io` reads.
    **reading
        Passed to `understand`: format, scale, duplicates, drop_off_scale, drop_missing_ids, names
        or places of columns, and how a text is written.

    Raises
    ------
    RecveilError
        As `understand`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.csv")
    ...     _ = path.write_text("user,item,rating,email\nann,7,4,ann@example.org\nben,7,2,\n")
    ...     found = inspect(path)
    >>> found.ratings.n_users, found.ends[0].users, found.dates
    (2, 1, None)
    >>> [(each.column, each.kind) for each in found.identifiers]
    [('user', 'text-ids'), ('email', 'email')]
    """
    reject_unknown_keywords(inspect, reading, "k", "user_files", "times")
    is_chosen = reading.get("duplicates", "error") != "error"
    options = reading if is_chosen else {**reading, "duplicates": "last"}
    raw = _RawColumns()
    with _stable(source) as stable:
        with observe_raw_columns(raw.look):
            found = understand(stable, **options)
        rows = _rows(stable, found, raw, reading)
    if not is_chosen:
        found = _without_choice(found)
    ratings = found.ratings
    found = replace(found, notes=(*found.notes, *describe_swallowed_rows(rows, ratings)))
    user_counts, item_counts = distribution_of(ratings.activity), distribution_of(ratings.support)
    return Inspection(
        reading=found,
        rows=rows,
        user_counts=user_counts,
        item_counts=item_counts,
        dates=_dates(raw, ratings, reading.get("time_format")),
        column_order=detect_order(ratings, user_counts, item_counts, is_named=_is_named(found)),
        identifiers=tuple(find_identifiers(ratings, rows)),
        duplicates_chosen=is_chosen,
    )


def _is_named(found: Reading) -> bool:
    """Return whether the column names identify both the users and the items."""
    names = {column.role: column.name for column in found.columns}
    return all(plain_name(str(names.get(role))) in USUAL_NAMES[role] for role in ("user", "item"))


class _RawColumns:
    """The columns as they were read, before their values were interpreted."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {}
        self.times: pa.ChunkedArray | None = None

    def look(self, columns: Mapping[str, pa.ChunkedArray]) -> None:
        self.values, self.times = rows_of_columns(columns), columns.get("time")


@contextmanager
def _stable(source: Any) -> Iterator[Any]:
    """Return a source that can be read twice: a copy of a pipe or of a remote file."""
    if not isinstance(source, str | PathLike):
        yield source
        return
    with open_input(source) as found:
        yield source if isinstance(found, Address) else found


def _rows(source: Any, found: Reading, raw: _RawColumns, reading: ReadingOptions) -> FirstRows:
    """Return the first rows, with all columns where these can be seen."""
    if isinstance(source, Ratings):
        return FirstRows((), (), ())
    rows = None
    if isinstance(source, str | PathLike):
        with suppress(RecveilError):  # `raw` has the columns that were read
            rows = rows_of_file(Path(source), found, reading.get("format"), layout_of(**reading))
    else:
        rows = rows_of_frame(source, found)
    read = {column.role for column in found.columns}
    # Values that come from folder names are in no file.
    sees_all = rows is not None and rows.rows and read <= {*rows.roles}
    return rows if rows is not None and sees_all else rows_as_read(found, raw.values)


def _without_choice(found: Reading) -> Reading:
    """Add a note that other steps require a choice among several ratings of a pair."""
    if not (n := found.duplicates_dropped):
        return found
    replacement = (
        f"{n:,} {'row rates' if n == 1 else 'rows rate'} an item that the same user rated already; "
        f"here the last one counts, and all other steps require a choice (duplicates, "
        f"--duplicates last or mean)."
    )
    notes = (
        replacement if "rated an item more than once" in note else note for note in found.notes
    )
    return replace(found, notes=tuple(notes))


def _dates(raw: _RawColumns, ratings: Ratings, time_format: str | None) -> Dates | None:
    if ratings.days is None:
        return None
    if raw.times is None:  # `Ratings` hold the day alone
        return dates_of(pa.chunked_array([pa.array(ratings.days, pa.date32())]), ratings.days)
    return dates_of(raw.times, ratings.days, time_format)
