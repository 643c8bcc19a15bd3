"""Looking for the column of times in the first rows, where nobody named it."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from recveil.io.source import Selection
from recveil.ratings.dates import Look, look_for_times


def looked(
    selection: Selection, where: str, first: Callable[[], pa.Table | None]
) -> tuple[Look, Selection]:
    """Look for the column of times, where nobody named it.

    Parameters
    ----------
    selection : Selection
    where : str
        What to call the table in an error.
    first : callable
        Returns the first rows with all columns; None for a table without names.

    Returns
    -------
    look : Look
    selection : Selection
        With the name of the column that was found, if one was.

    Examples
    --------
    >>> rows = pa.table({"user": [1], "item": [5], "rating": [3], "seen": ["2009-12-14"]})
    >>> look, selection = looked(Selection(), "ratings.csv", lambda: rows)
    >>> selection.given
    {'time': 'seen'}
    """
    if not selection.times or selection.given.get("time") is not None:
        return Look(), selection
    rows = first()
    if rows is None:
        return Look(), selection
    rows = rows.rename_columns(selection.with_places(rows.column_names))
    chosen = selection.choose(rows.column_names, where)
    if "time" in chosen and selection.time_is_text:
        return Look(), selection  # a format says how it is written
    look = look_for_times(rows, chosen)
    if look.name is None:
        return look, selection
    return look, replace(selection, given={**selection.given, "time": look.name})
