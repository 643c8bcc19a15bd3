"""Explicit and implicit feedback: ratings as numbers or labels, likes and counts.

A like becomes a 1 on the scale `LIKES`; a value that may be a rating never does. A label becomes
its position on the scale, from 1: a rank of an ordinal label, or the code of a nominal one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.columns import (
    MISSING_RATING,
    Feedback,
    are_mostly_words,
    holds_text,
    is_counted,
    is_text,
    parse_ratings,
    parse_ratings_noted,
    reject_missing,
    run_end_decoded,
    value_type,
    whole_numbers,
)
from recveil.io.columns.ids import describe_lost_digits, describe_null_ids
from recveil.io.columns.time_columns import why_no_times
from recveil.ratings.arrow_columns import in_turn, tidied
from recveil.ratings.rating_scale import (
    LIKES,
    LONGEST_LABEL,
    MOST_LABELS,
    Locate,
    RatingScale,
    ScaleLike,
    alike,
    all_ratings,
    nearest_label,
    problem_of_label,
    scale_of,
)
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.safe_repr import brief


def parse_labels(
    column: pa.ChunkedArray, scale: RatingScale, locate: Locate
) -> NDArray[np.float32]:
    """Convert a column of labels to their positions on a scale."""
    reject_missing(column, MISSING_RATING, locate, code="rating.missing")
    texts = _as_texts(column)
    places = places_of(texts, scale)
    unknown = np.isnan(places)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise RecveilError(
            f"{locate(row)}: {_why_unknown(texts[row].as_py(), scale)}", code="rating.off-scale"
        )
    return places.astype(np.float32)


def are_labels(column: pa.ChunkedArray, scale: RatingScale, locate: Locate) -> NDArray[np.bool_]:
    """Return for each row whether its label is on a scale."""
    reject_missing(column, MISSING_RATING, locate, code="rating.missing")
    return ~np.isnan(places_of(_as_texts(column), scale))


def places_of(column: pa.ChunkedArray, scale: RatingScale) -> NDArray[np.float64]:
    """Return the position of each label on a scale, from 1; nan for an unknown label."""
    known = pa.array(scale.labels, pa.large_string())
    is_dictionary = pa.types.is_dictionary(column.type)
    chunks = []
    for chunk in column.chunks:
        values = chunk.dictionary if is_dictionary else chunk
        found = pc.index_in(values.cast(pa.large_string()), value_set=known)
        chunks.append(found.take(chunk.indices) if is_dictionary else found)
    places = pa.chunked_array(chunks, pa.int32()).cast(pa.float64())
    return np.asarray(places.fill_null(np.nan).to_numpy() + 1, np.float64)


def numbers_of_values(column: pa.ChunkedArray, scale: RatingScale) -> NDArray[np.float64]:
    """Convert published labels to numbers; nan for an unknown label."""
    return places_of(column, scale) if scale.labels else column.to_numpy()


def distinct_labels(column: pa.ChunkedArray, locate: Locate) -> tuple[str, ...]:
    """Return the distinct labels of a column, in alphabetical order.

    >>> distinct_labels(pa.chunked_array([["up", "down", "up"]]), str)
    ('down', 'up')
    """
    reject_missing(column, MISSING_RATING, locate, code="rating.missing")
    texts = _as_texts(column).unique()
    values = [value for value in texts.to_pylist() if value is not None]
    if len(values) > MOST_LABELS:
        raise RecveilError(
            f"{len(values):,} different labels; expected at most {MOST_LABELS}; is this a column "
            f"of comments? Name another with rating (--rating), or the labels with words (--words)",
            code="rating.words",
        )
    for value in values:
        if problem := problem_of_label(value):
            row = next(at for at, text in enumerate(in_turn(_as_texts(column))) if text == value)
            raise RecveilError(
                f"{locate(row)}: rating {quoted(value, 40)}: {problem}", code="rating.words"
            )
    if len(values) < 2:
        raise RecveilError(
            f"all ratings are {quoted(values[0], 40)}, so they are likes; leave that column out, "
            f"or name all labels of the scale with words (--words)",
            code="rating.words",
        )
    return tuple(sorted(values))


def _as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of any plain type as text."""
    column = run_end_decoded(column)
    kind, types = column.type, pa.types
    value = value_type(kind)
    supported = (is_text, types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    if not any(is_one(value) for is_one in supported):
        raise RecveilError(
            f"rating column: expected labels, got {kind}; convert it to text", code="column.type"
        )
    if types.is_dictionary(kind):
        column = tidied(column)
        if is_text(value):
            return column
        chunks = [
            pa.DictionaryArray.from_arrays(each.indices, each.dictionary.cast(pa.string()))
            for each in column.chunks
        ]
        return pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.string()))
    return column if is_text(value) else column.cast(pa.string())


def _why_unknown(text: str, scale: RatingScale) -> str:
    """Return why a text is not a label of a scale."""
    option = "order (--order)" if scale.ordered else "words (--words)"
    if len(text) > LONGEST_LABEL:
        return (
            f"rating {quoted(text, 40)} is not among the labels of {option}; is this a column of "
            f"comments? Name another with rating (--rating)"
        )
    near = nearest_label(text, scale.labels)
    but = "" if near is None else f", but {quoted(near, 40)} is"
    return (
        f"rating {quoted(text, 40)} is not among the labels of {option}{but}; add it, correct the "
        f"row, or drop such rows with drop_off_scale (--drop-off-scale)"
    )


# Fixed, since bins computed from a table would reveal information about its users.
COUNT_BINS = (1, 3, 10, 30, 100, 300, 1000)
COUNT_SCALE = RatingScale(1, len(COUNT_BINS), 1)


def count_levels() -> str:
    """Format the lowest count of each level.

    >>> count_levels()
    '1 from 1, 2 from 3, 3 from 10, 4 from 30, 5 from 100, 6 from 300, 7 from 1,000'
    """
    return ", ".join(f"{level} from {least:,}" for level, least in enumerate(COUNT_BINS, 1))


Counts = Literal["log", "likes"]
# Given in place of a list of labels: all labels of the table.
ALL_WORDS = "all"
_LOOKED_AT = 1_000
# Rating scales rarely exceed it.
_MOST_OF_RATINGS = 100
# Numbers of 16 digits; programs keep 15, or the 53 bits of a float.
_LEAST_LONG = 1e15


def feedback_of(
    *,
    likes: bool,
    counts: str | None,
    scale: RatingScale | None,
    one_value: bool = False,
    words: bool = False,
    points: bool = False,
) -> Feedback:
    """Validate the caller's statements about a table's ratings."""
    if counts is not None and counts not in get_args(Counts):
        raise RecveilError(
            f"counts (--counts) is {quoted(counts)}; expected log (levels of counts) or likes",
            code="option.value",
        )
    _reject_several({"likes": likes or None, "counts": counts, "words": words or None})
    kind = "likes" if likes else "counts" if counts is not None else "words" if words else None
    if kind is not None and scale is not None:
        raise RecveilError(
            f"{option_of(scale)} is {scale}, but {kind} (--{kind}) have a scale of their own; "
            f"leave one of the two out",
            code="option.conflict",
        )
    return Feedback(likes, counts, one_value and scale is None and not words, words, points)


def parse_scale_option(
    scale: ScaleLike | None,
    order: str | Iterable[str] | None,
    words: str | Iterable[str] | None,
) -> tuple[RatingScale | None, bool]:
    """Return the scale given by one of three options, and whether any labels are allowed.

    >>> str(parse_scale_option(None, "no,yes", None)[0]), parse_scale_option(None, None, "all")
    ('no < yes', (None, True))
    """
    scale = scale_of(scale)
    _reject_several({"scale": scale, "order": order, "words": words})
    if isinstance(words, str) and words == ALL_WORDS:
        return None, True
    if order is not None:
        return RatingScale.of_labels(order), False
    return (scale, False) if words is None else (RatingScale.of_labels(words, ordered=False), False)


def _reject_several(options: Mapping[str, object]) -> None:
    """Raise a RecveilError if several options are given, each of which defines the ratings."""
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise RecveilError(
            f"{given[0]} (--{given[0]}) and {given[1]} (--{given[1]}) are both given, and each "
            f"defines the ratings; leave one out",
            code="option.conflict",
        )


def option_of(scale: RatingScale) -> str:
    """Return the option that names such a scale, in Python and on the command line.

    >>> option_of(RatingScale(1, 5, 1)), option_of(RatingScale.of_labels("no,yes"))
    ('scale (--scale)', 'order (--order)')
    """
    if not scale.labels:
        return "scale (--scale)"
    return "order (--order)" if scale.ordered else "words (--words)"


@brief
class Taken(NamedTuple):
    """The ratings of a table's rows, and how they were interpreted."""

    # All 1, if they are likes
    values: NDArray[np.float32]
    # Their scale, as far as known; `LIKES` for likes, marked as `inferred` if they were not
    # declared
    scale: RatingScale | None
    # If undeclared ratings were taken for likes, the reason, as the start of a sentence
    why: str = ""

    # Which digits were lost, or that labels were not read, as a sentence
    note: str = ""
    # Whether different ratings became equal, or may have been before
    merged: bool = False


def take_feedback(
    column: pa.ChunkedArray | None,
    n_rows: int,
    feedback: Feedback,
    scale: RatingScale | None,
    locate: Locate,
) -> Taken:
    """Parse a column of ratings, likes or counts."""
    if column is None:
        if scale is not None or feedback.words:
            given = "words (--words)" if scale is None else f"{option_of(scale)} {scale}"
            raise RecveilError(
                f"{given}: given, but there are no ratings; leave it out",
                code="option.unsupported",
            )
        return Taken(np.ones(n_rows, np.float32), LIKES, "" if feedback.likes else "No ratings")
    if feedback.likes and column.null_count == n_rows:
        return Taken(np.ones(n_rows, np.float32), LIKES)  # declared for a table without ratings
    taken = _take_words(column, feedback, scale, locate)
    return _take_numbers(column, feedback, scale, locate) if taken is None else taken


def _take_numbers(
    column: pa.ChunkedArray, feedback: Feedback, scale: RatingScale | None, locate: Locate
) -> Taken:
    if feedback.is_specified:
        values, note, merged = *_parse_specified(column, feedback, locate), False
    else:
        values, note, merged = parse_ratings_noted(column, locate)
        if not merged and (lost := _describe_lost_digits(column, values)):
            note, merged = f"{note} {lost}".strip(), True
    if not feedback.points and (
        feedback.counts is not None
        or (scale is None and not feedback.is_specified and values.max() > _MOST_OF_RATINGS)
    ):
        _require_no_thousands(column, locate)
    if feedback.is_specified:
        _reject_zeros(values, feedback, locate)
    if feedback.counts == "log":
        # A count between bins, such as half a minute, is in the lower one.
        bins = np.searchsorted(COUNT_BINS, values, side="right")
        return Taken(np.maximum(bins, 1).astype(np.float32), COUNT_SCALE)
    if feedback.likes and not note and values.min() < values.max():
        note = (
            f"Ratings from {values.min():g} to {values.max():g} are dropped: each row is read as a "
            f"like (likes, --likes)."
        )
    if feedback.is_specified:
        return Taken(np.ones(values.size, np.float32), LIKES, note=note)
    if feedback.one_value and values.size > 1 and values.min() == values.max():
        _reject_all_zero(values)
        why = f"All {values.size:,} ratings are {values[0]:g}"
        # One more rating would make them explicit, so a caller that gives per-user guarantees
        # checks `inferred`.
        return Taken(
            np.ones(values.size, np.float32), replace(LIKES, inferred=True), why, note, merged
        )
    return Taken(values, scale, note=note, merged=merged)


def _describe_lost_digits(column: pa.ChunkedArray, values: NDArray[np.float32]) -> str:
    """Report long whole numbers that are rounded, as a program with floats writes them."""
    if max(values.max(), -values.min()) < _LEAST_LONG:
        return ""
    numbers = np.array([abs(number) for number in whole_numbers(column)], object)
    return " ".join(describe_lost_digits(numbers, "rating"))


def _require_no_thousands(column: pa.ChunkedArray, locate: Locate) -> None:
    """Raise for text with points that separate thousands, such as 950, 1.000 and 12.500."""
    # Points separate decimals if a number has more or fewer of them than three, or 0 before the
    # point, or if a whole number has four digits without a point.
    if not holds_text(column):
        return
    texts = pc.utf8_trim_whitespace(column.unique().cast(pa.large_string()))
    thousands = pc.match_substring_regex(texts, r"^[1-9][0-9]{0,2}[.][0-9]{3}$")
    whole = pc.match_substring_regex(texts, r"^[0-9]{1,3}$")
    if not pc.any(thousands).as_py() or not pc.all(pc.or_(thousands, whole)).as_py():
        return
    first = texts.filter(thousands)[0].as_py()
    row = pc.index(pc.utf8_trim_whitespace(column.cast(pa.large_string())), first).as_py()
    raise RecveilError(
        f"{locate(row)}: {first} and all others with a point have three decimals, so the point "
        f"seems to separate thousands; if so, write numbers without it; if not, name it in a file "
        f"with decimal (--decimal .)",
        code="rating.thousands",
    )


def _take_words(
    column: pa.ChunkedArray, feedback: Feedback, scale: RatingScale | None, locate: Locate
) -> Taken | None:
    """Parse a column of labels; None if it should hold numbers."""
    if feedback.words:
        found = RatingScale.of_labels(distinct_labels(column, locate), ordered=False)
        scale = replace(found, inferred=True)
    if scale is None or not scale.labels:
        return None
    return Taken(parse_labels(column, scale, locate), scale)


def reject_doubtful(
    columns: Mapping[str, pa.ChunkedArray], feedback: Feedback, name: object, where: str
) -> None:
    """Raise a RecveilError if a table without ratings has invalid times, such as durations."""
    if "rating" in columns or "time" not in columns or feedback.likes:
        return
    if problem := why_no_times(columns["time"].slice(0, _LOOKED_AT)):
        raise RecveilError(
            f"{where}: no rating column, and {quoted(name)} holds no times ({problem}); if it "
            f"holds ratings or counts, name it with rating (--rating); if each row is a like, set "
            f"likes (--likes)",
            code="column.missing",
        )


def are_likes(column: pa.ChunkedArray, feedback: Feedback, locate: Locate) -> NDArray[np.bool_]:
    """Return for each row whether its value is above 0, and so a like or a count.

    >>> are_likes(pa.chunked_array([[1, 0, 1]]), Feedback(likes=True), str)
    array([ True, False,  True])
    """
    values, _ = _parse_specified(column, feedback, locate)
    if feedback.counts is not None:
        _reject_below(values, locate)
    return values > 0


# Numbers among labels; every other text is a label.
_A_NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_N_NAMED = 3


def _parse_specified(
    column: pa.ChunkedArray, feedback: Feedback, locate: Locate
) -> tuple[NDArray[np.float32], str]:
    """Parse likes or counts; labels of likes count as 1, with a note that they were not read."""
    is_dictionary = pa.types.is_dictionary(column.type)
    if not (feedback.likes and holds_text(column) and are_mostly_words(column)):
        return parse_ratings(column, locate), ""
    reject_missing(column, MISSING_RATING, locate, code="rating.missing")
    column = tidied(column if is_dictionary else column.dictionary_encode())
    texts = column.chunk(0).dictionary.to_pylist()
    trimmed = pc.utf8_trim_whitespace(column.chunk(0).dictionary)
    is_number = pc.match_substring_regex(trimmed, _A_NUMBER)
    numbers = pc.if_else(is_number, trimmed, "1").cast(pa.float64()).to_numpy()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
    shown = ", ".join(quoted(text, 20) for text in texts[:_N_NAMED])
    more = " and others" if len(texts) > _N_NAMED else ""
    note = f"Ratings are labels ({shown}{more}), but each row is read as a like (likes, --likes)."
    return numbers.astype(np.float32)[codes], note


def _reject_below(values: NDArray[np.float32], locate: Locate) -> None:
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        raise RecveilError(
            f"{locate(row)}: {values[row]:g} is no count; drop the row, or leave out counts "
            f"(--counts)",
            code="rating.not-a-count",
        )


def _reject_zeros(values: NDArray[np.float32], feedback: Feedback, locate: Locate) -> None:
    """Reject values of 0 or less, which are not certain to be likes."""
    if feedback.counts is not None:
        _reject_below(values, locate)
    if (values <= 0).any():
        row = int(np.argmax(values <= 0))
        raise RecveilError(
            f"{locate(row)}: {values[row]:g} may mean a dislike, or no rating; drop such rows with "
            f"drop_off_scale (--drop-off-scale), or name a scale instead of "
            f"{'likes (--likes)' if feedback.likes else 'counts (--counts)'}",
            code="rating.zero",
        )


def _reject_all_zero(values: NDArray[np.float32]) -> None:
    if values[0] <= 0:
        raise RecveilError(
            f"{all_ratings(values.size)} {values[0]:g}, without a stated meaning; if each row is a "
            f"like, leave the column out; if it is a rating, name the scale (--scale)",
            code="rating.zero",
        )


def describe_feedback(
    scale: RatingScale, why_likes: str, feedback: Feedback, column: object, *, publishing: bool
) -> list[str]:
    """Describe the interpretation of ambiguous ratings, a sentence each.

    >>> print(*describe_feedback(LIKES, "No ratings", Feedback(), None, publishing=True))
    No ratings: read as likes, without rating values.
    """
    if scale.labels:
        return _describe_words(scale)
    if why_likes:
        rest = (
            "" if why_likes == "No ratings" else "; if they are ratings, name the scale (--scale)"
        )
        return [f"{why_likes}: read as likes, without rating values{rest}."]
    if feedback.counts == "log":
        return [f"Column {quoted(column)} holds counts, read as levels: {count_levels()}."]
    if feedback.counts == "likes":
        return [f"Column {quoted(column)} holds counts, read as likes."]
    if not scale.inferred:
        return []
    if (scale.low, scale.high, scale.step) == (0, 1, 1):
        doubt = (
            "ratings are 0 and 1, and a 0 may be a dislike (scale, --scale 0:1:1) or no rating "
            "(likes with drop_off_scale, --likes --drop-off-scale); state which"
        )
        if publishing:
            raise RecveilError(doubt, code="rating.zero")
        return [f"R{doubt[1:]}."]
    counted = isinstance(column, str) and is_counted(column)
    whole = scale.low >= 0 and scale.step is not None and scale.step % 1 == 0
    if counted or (whole and scale.high > _MOST_OF_RATINGS):
        return [
            f"Column {quoted(column)} was read as ratings on the scale {scale}; if it holds counts "
            f"or durations, set counts (--counts log, or likes)."
        ]
    return []


def meaning_of_labels(scale: RatingScale) -> list[str]:
    """Explain how ratings that are labels are treated; empty for numbers.

    >>> print(*meaning_of_labels(RatingScale.of_labels("no,maybe,yes")))
    Ratings are labels, and count as ranks from 1 to 3: a point is a step between two neighbours, as
    if all were equally far apart.
    """
    if not scale.labels:
        return []
    if not scale.ordered:
        return ["Ratings are labels without an order: two of them are equal, or they are not."]
    return [
        f"Ratings are labels, and count as ranks from 1 to {scale.high:g}: a point is a step "
        f"between two neighbours, as if all were equally far apart."
    ]


def _describe_words(scale: RatingScale) -> list[str]:
    """Describe labels that look alike, and labels that look like a missing rating."""
    pairs = [
        f"{quoted(one)} and {quoted(other)} differ only in capital letters, spaces or the code of "
        f"a letter, and were read as two labels; if they are one, correct the table."
        for one, other in alike(scale.labels)
    ]
    return [*pairs, *describe_null_ids(scale.labels, "label")]
