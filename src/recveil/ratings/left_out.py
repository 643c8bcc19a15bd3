"""Left out: rows whose rating is none, or not on the scale, which somebody asked to leave out."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError, describe_count, quoted
from recveil.ratings.columns import (
    Feedback,
    Locate,
    casts,
    has_decimal_comma,
    is_text,
    parse_ratings,
)
from recveil.ratings.dictionaries import in_turn, missing_rows, tidied
from recveil.ratings.feedback import all_ratings, are_likes, option_of
from recveil.ratings.scale import RatingScale
from recveil.ratings.worded import are_words

# More of a table than this is seldom left out on purpose.
_MANY = 0.05
_NAMED, _LOOKED_AT, _LONGEST = 3, 100_000, 20


@brief
class LeftOut(NamedTuple):
    """Rows that are left out.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_left_out,)
        Their positions, ascending.
    told : str
        What stood there, and how many of all rows these are: sentences, each after a space.
    """

    rows: NDArray[np.int64]
    told: str = ""

    def skipped(self, locate: Locate) -> Locate:
        """Return where a row of those that are left stands, counted as the file does."""
        if not self.rows.size:
            return locate
        # The n-th dropped row has so many kept ones before it.
        kept_before = self.rows - np.arange(self.rows.size)
        return lambda row: locate(row + int(np.searchsorted(kept_before, row, side="right")))


NOTHING = LeftOut(np.empty(0, np.int64))


def leave_out(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    feedback: Feedback,
    locate: Locate,
) -> tuple[LeftOut, LeftOut]:
    """Take the rows out that have no rating, and then those whose rating is not on the scale.

    Parameters
    ----------
    columns : dict of str to pyarrow.ChunkedArray
        By role. Columns without these rows are put in their place.
    scale : RatingScale or None
        Without one, only rows without a rating are left out; of likes, those that are none.
    feedback : Feedback
    locate : callable
        Says where a row stands.

    Returns
    -------
    unrated, off_scale : LeftOut
        The positions of the latter are among the rows that have a rating.

    Raises
    ------
    RecveilError
        If nothing would be left, or nobody said what is to be left out.

    Examples
    --------
    >>> table = pa.table({"user": [1, 1, 2, 2], "rating": ["4", None, "9", "none"]})
    >>> columns = {name: table[name] for name in table.column_names}
    >>> unrated, off_scale = leave_out(columns, RatingScale(1, 5, 1), Feedback(), str)
    >>> unrated.rows, off_scale.rows, columns["rating"].to_pylist()
    (array([1]), array([1, 2]), ['4'])
    >>> off_scale.told
    " There stood '9', 'none'. That is 67% of all: check that the scale is the true one."
    """
    if "rating" not in columns:
        if scale is None:
            raise RecveilError(
                "drop_off_scale (--drop-off-scale) is given, but there are no ratings; leave "
                "it out",
                code="option.unsupported",
            )
        return NOTHING, NOTHING  # whoever reads ratings says what is wrong with the scale
    unrated = _leave_out_unrated(columns, feedback)
    if scale is None and not feedback.is_said:
        if not unrated.rows.size:
            raise RecveilError(
                "drop_off_scale (--drop-off-scale) needs the scale that ratings are to be on; give "
                "it with scale (--scale), such as 1:5:1, or the words with order (--order)",
                code="option.required",
            )
        return unrated, NOTHING
    return unrated, _leave_out_off_scale(columns, scale, feedback, unrated.skipped(locate))


def _leave_out_unrated(columns: dict[str, pa.ChunkedArray], feedback: Feedback) -> LeftOut:
    column = columns["rating"]
    if pa.types.is_floating(column.type):
        gone = pc.is_null(column, nan_is_null=True).to_numpy()
    else:
        gone = missing_rows(column).to_numpy()
    if gone.all():
        likes = (
            ", and say with likes (--likes) that each row is a like, or name another column with "
            "rating (--rating)"
        )
        also = "" if feedback.likes else likes
        raise RecveilError(
            f"{all_ratings(gone.size)} missing, so that drop_off_scale (--drop-off-scale) "
            f"would leave nothing; leave that out{also}",
            code="table.no-ratings",
        )
    _keep(columns, ~gone)
    return LeftOut(np.flatnonzero(gone))


def _leave_out_off_scale(
    columns: dict[str, pa.ChunkedArray],
    scale: RatingScale | None,
    feedback: Feedback,
    locate: Locate,
) -> LeftOut:
    column = columns["rating"]
    if scale is None:
        on_scale = are_likes(column, feedback, locate)
    elif scale.words:
        on_scale = are_words(column, scale, locate)
    else:
        on_scale = _are_on(scale, column, locate)
    if not on_scale.any():
        what = "above 0" if scale is None else f"on the scale {scale}"
        raise RecveilError(
            f"none of the {describe_count(on_scale.size, 'rating')} is {what}, so that "
            f"drop_off_scale (--drop-off-scale) would leave nothing; check "
            f"{'scale (--scale)' if scale is None else option_of(scale)}",
            code="table.no-ratings",
        )
    _keep(columns, on_scale)
    rows = np.flatnonzero(~on_scale)
    if not rows.size:
        return NOTHING
    return LeftOut(rows, _tell(column.filter(pa.array(~on_scale)), rows.size / on_scale.size))


def _are_on(scale: RatingScale, column: pa.ChunkedArray, locate: Locate) -> NDArray[np.bool_]:
    on_scale = _are_numbers(column)
    text = LeftOut(np.flatnonzero(~on_scale))
    numbers = column.filter(pa.array(on_scale)) if text.rows.size else column
    on_scale[on_scale] = scale.contains(parse_ratings(numbers, text.skipped(locate)))
    return on_scale


def _are_numbers(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Say which rows hold a number. With a decimal comma it is meant as one, and refused later."""
    is_dictionary = pa.types.is_dictionary(column.type)
    if not is_text(column.type.value_type if is_dictionary else column.type):
        return np.ones(len(column), bool)
    column = tidied(column if is_dictionary else column.dictionary_encode())
    texts = in_turn(pa.chunked_array([column.chunk(0).dictionary]))
    good = np.array([casts(text, pa.float64()) or has_decimal_comma(text) for text in texts])
    return np.concatenate([good[chunk.indices.to_numpy()] for chunk in column.chunks])


def _tell(column: pa.ChunkedArray, share: float) -> str:
    """Say what stood in the rows most often, and which share they are, if it is a large one."""
    counts = Counter(quoted(value, _LONGEST) for value in in_turn(column.slice(0, _LOOKED_AT)))
    most = ", ".join(value for value, _ in counts.most_common(_NAMED))
    told = f" There stood {most}{' and others' if len(counts) > _NAMED else ''}."
    if share > _MANY:
        told += f" That is {share:.0%} of all: check that the scale is the true one."
    return told


def _keep(columns: dict[str, pa.ChunkedArray], rows: NDArray[np.bool_]) -> None:
    """Leave some rows alone in all columns."""
    if not rows.all():
        kept = pa.array(rows)
        columns |= {name: column.filter(kept) for name, column in columns.items()}
