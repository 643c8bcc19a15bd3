"""Far table: ratings that fit on no machine, as an audit asks for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from recveil.attack import Candidates
from recveil.errors import RecveilError, quoted
from recveil.io import Reading
from recveil.io.keywords import was_given
from recveil.io.reading import ReadColumn
from recveil.ratings import Ratings
from recveil.ratings.columns import NOT_SAID, Columns, find_columns
from recveil.spark.item_lists import FarCandidates
from recveil.spark.lake import lake_of
from recveil.spark.numbered_ratings import number_ratings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_COLUMNS = ("user", "item", "rating", "time")
_OF_TABLES = (*_OF_COLUMNS, "likes", "scale")
# As `encode_labels` has it: ids are numbers if all of them are written as such.
_WHOLE = r"\A(0|-?[1-9][0-9]{0,17})\z"


@contextmanager
def far_table(
    frame: "DataFrame", name: str, reading: dict[str, Any]
) -> Iterator[tuple[Reading, Candidates]]:
    """Give a table that stays among executors, and its lists by item.

    Parameters
    ----------
    frame : DataFrame
    name : str
        What the table is called.
    reading : dict
        How it is read: its columns, the scale, and whether they are likes.

    Raises
    ------
    RecveilError
        For other options of reading, ratings without a scale, and what `lake_of` refuses.
    """
    given = {key: value for key, value in reading.items() if was_given(value) and value != "error"}
    if strange := [key for key in given if key not in _OF_TABLES]:
        flags = ", ".join(f"--{key.replace('_', '-')}" for key in strange)
        raise RecveilError(
            f"{flags}: not for ratings that do not fit here; leave that out",
            code="option.unsupported",
        )
    named = {role: given[role] for role in _OF_COLUMNS if role in given}
    found = find_columns(frame.columns, name, feedback=NOT_SAID, **named)
    _refuse_unnamed_times(frame, found)
    lake = lake_of(frame, **given, times=True)
    if not lake.scale.unary and "scale" not in given:
        raise RecveilError(
            f"scale (--scale): {lake.scale} was read off ratings that do not fit here; name it",
            code="scale.inferred",
        )
    numbered = number_ratings(lake, users_are_whole=_are_whole(frame, found.user, lake.rows))
    # It has all that is asked of ratings here, but for whole arrays.
    ratings = cast("Ratings", numbered)
    roles = {
        role: col
        for role, col in found.by_role().items()
        if role != "rating" or not lake.scale.unary
    }
    columns = tuple(ReadColumn(role, column, ()) for role, column in roles.items())
    try:
        candidates = FarCandidates.of(numbered)
        try:
            yield Reading(ratings, name, columns, scale_given="scale" in given), candidates
        finally:
            candidates.lists.close()
    finally:
        numbered.frame.unpersist()


def _refuse_unnamed_times(frame: "DataFrame", found: Columns) -> None:
    """Refuse columns that may hold dates: if nobody knew these, people looked harder to find."""
    others = [name for name in frame.columns if name not in found.by_role().values()]
    if found.time is None and others:
        raise RecveilError(
            f"no time column, but {quoted(others[0])} may hold times; name it with time (--time), "
            f"or drop it if it does not say when people rated",
            code="column.ambiguous",
        )


def _are_whole(frame: "DataFrame", user: str, rows: "DataFrame") -> bool:
    """Say whether all ids of users are whole numbers, as `Ratings` has them."""
    from pyspark.sql import functions as sql

    if frame.schema[user].dataType.typeName() in ("byte", "short", "integer", "long"):
        return True
    answer = rows.agg(sql.bool_and(sql.col("user").rlike(_WHOLE))).first()
    return answer is not None and bool(answer[0])
