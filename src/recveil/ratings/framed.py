"""Framed: which columns of a table in memory hold users, items, ratings and times."""

from typing import Any, NamedTuple

import pyarrow as pa

from recveil.brief import brief
from recveil.ratings.columns import GROUP_SIZE, NOT_SAID, Feedback, Locate, refuse_groups
from recveil.ratings.dates import Look, look_for_times
from recveil.ratings.feedback import refuse_doubtful
from recveil.ratings.frame import frame_of

# The first rows, in which dates are looked for where no column is called times.
_LOOKED_AT = 1_000


@brief
class Framed(NamedTuple):
    """The columns of a data frame that hold users, items, ratings and times, if any.

    Attributes
    ----------
    columns : dict of str to pyarrow.ChunkedArray
    names : dict of str to str
        What the frame calls them.
    look : Look
        What was found where no column is called times, or the one that is holds none.
    name : str
        What to call the frame in messages.
    locate : callable
        Turns a row's position into the place that an error names.
    note : str
        What somebody must know who relies on the roles of the columns.
    """

    columns: dict[str, pa.ChunkedArray]
    names: dict[str, str]
    look: Look
    name: str
    locate: Locate
    note: str


def frame_columns(
    frame: Any, *, is_written: bool = False, feedback: Feedback = NOT_SAID, **given: str | None
) -> Framed:
    """Return the columns of a data frame that hold users, items, ratings and times, if any.

    Parameters
    ----------
    frame : object
        What `frame_of` takes.
    is_written : bool
        Whether the caller says how times are written; then a column called times is not judged.
    feedback : Feedback
        What is known of the ratings; a frame may be certain to have none.
    **given : str or None
        Names of the columns `user`, `item`, `rating` and `time`, where the caller knows them.

    Returns
    -------
    Framed

    Raises
    ------
    RecveilError
        If it is no data frame, is empty, or lacks a column.

    Examples
    --------
    >>> found = frame_columns(pa.table({"uid": [1], "iid": [5], "score": [3.5]}))
    >>> found.names
    {'user': 'uid', 'item': 'iid', 'rating': 'score'}
    """
    taken = frame_of(frame, feedback, **given)
    table, names = taken.table, taken.find(feedback, **given)
    found = names.by_role()
    time_is_known = given.get("time") is not None or (is_written and names.time is not None)
    look = Look() if time_is_known else look_for_times(table.slice(0, _LOOKED_AT), found)
    if look.name is not None:
        found["time"] = look.name
    if GROUP_SIZE in table.column_names:
        refuse_groups(taken.name)
    columns = {role: table[name] for role, name in found.items()}
    refuse_doubtful(columns, feedback, found.get("time"), taken.name)
    return Framed(columns, found, look, taken.name, taken.locate, taken.note)
