"""Conversion of ordinal and nominal labels to numbers and back.

The number of a word is its position among the words of the scale, from 1. For ordinal labels, these
are ranks, one step of the scale apart. For nominal labels, the numbers are codes.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.columns import MISSING_RATING, is_text, reject_missing
from recveil.ratings.arrow_columns import in_turn, tidied
from recveil.ratings.rating_scale import (
    LONGEST_WORD,
    MOST_WORDS,
    Locate,
    RatingScale,
    nearest_word,
    problem_of_word,
)
from recveil.runtime.errors import RecveilError, quoted


def parse_words(column: pa.ChunkedArray, scale: RatingScale, locate: Locate) -> NDArray[np.float32]:
    """Convert a column of words to their positions on a scale.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Text, or values that can be written as text: numbers, true and false.
    scale : RatingScale
        Of words.
    locate : callable
        Returns the place of a row, for an error.

    Returns
    -------
    ndarray of float32, shape (n_rows,)

    Examples
    --------
    >>> scale = RatingScale.of_words("no,maybe,yes")
    >>> parse_words(pa.chunked_array([["yes", "no"]]), scale, str)
    array([3., 1.], dtype=float32)
    """
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


def are_words(column: pa.ChunkedArray, scale: RatingScale, locate: Locate) -> NDArray[np.bool_]:
    """Return for each row whether its word is on a scale.

    Examples
    --------
    >>> are_words(pa.chunked_array([["yes", "?"]]), RatingScale.of_words("no,yes"), str)
    array([ True, False])
    """
    reject_missing(column, MISSING_RATING, locate, code="rating.missing")
    return ~np.isnan(places_of(_as_texts(column), scale))


def places_of(column: pa.ChunkedArray, scale: RatingScale) -> NDArray[np.float64]:
    """Return the position of each word on a scale, from 1; nan for an unknown word.

    Examples
    --------
    >>> places_of(pa.chunked_array([["yes", "?"]]), RatingScale.of_words("no,yes"))
    array([ 2., nan])
    """
    known = pa.array(scale.words, pa.large_string())
    places = np.empty(len(column))
    first = 0
    for chunk in column.chunks:
        own = places[first : first + len(chunk)]
        if pa.types.is_dictionary(chunk.type):
            found = pc.index_in(chunk.dictionary.cast(pa.large_string()), value_set=known)
            found = found.take(chunk.indices)
        else:
            found = pc.index_in(chunk.cast(pa.large_string()), value_set=known)
        own[:] = found.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
        own += 1
        first += len(chunk)
    return places


def numbers_of_labels(column: pa.ChunkedArray, scale: RatingScale) -> NDArray[np.float64]:
    """Convert published labels to numbers; nan for an unknown word."""
    return places_of(column, scale) if scale.words else column.to_numpy()


def words_found(column: pa.ChunkedArray, locate: Locate) -> tuple[str, ...]:
    """Return the distinct words of a column, in alphabetical order.

    Examples
    --------
    >>> words_found(pa.chunked_array([["up", "down", "up"]]), str)
    ('down', 'up')
    """
    reject_missing(column, MISSING_RATING, locate, code="rating.missing")
    texts = _as_texts(column).unique()
    values = [value for value in texts.to_pylist() if value is not None]
    if len(values) > MOST_WORDS:
        raise RecveilError(
            f"{len(values):,} different words, where at most {MOST_WORDS} can be; is this a column "
            f"of comments? Name another with rating (--rating), or the words (--words)",
            code="rating.words",
        )
    for value in values:
        if problem := problem_of_word(value):
            row = next(at for at, text in enumerate(in_turn(_as_texts(column))) if text == value)
            raise RecveilError(
                f"{locate(row)}: rating {quoted(value, 40)}: {problem}", code="rating.words"
            )
    if len(values) < 2:
        raise RecveilError(
            f"all ratings are {quoted(values[0], 40)}, and tell no more than who chose what; leave "
            f"that column out, or name all words there are (--words)",
            code="rating.words",
        )
    return tuple(sorted(values))


def _as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of any plain type as text."""
    kind = column.type
    if isinstance(kind, pa.RunEndEncodedType):
        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        column, kind = pa.chunked_array(chunks, kind.value_type), kind.value_type
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    types = pa.types
    if not (
        is_text(value)
        or types.is_boolean(value)
        or types.is_integer(value)
        or types.is_floating(value)
        or types.is_decimal(value)
    ):
        raise RecveilError(
            f"rating column: expected words, got {kind}; convert it to text", code="column.type"
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
    """Return why a text is not a word of a scale."""
    option = "order (--order)" if scale.ordered else "words (--words)"
    if len(text) > LONGEST_WORD:
        return (
            f"rating {quoted(text, 40)} is none of the words that {option} names; is this a column "
            f"of comments? Name another with rating (--rating)"
        )
    near = nearest_word(text, scale.words)
    but = "" if near is None else f", but {quoted(near, 40)} is"
    return (
        f"rating {quoted(text, 40)} is none of the words that {option} names{but}; name it, too, "
        f"mend the row, or leave such rows out with drop_off_scale (--drop-off-scale)"
    )
