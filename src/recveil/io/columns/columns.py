"""Column detection, and conversion of rating columns to arrays."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.ratings.arrow_columns import (
    cast_each,
    cast_stripped,
    in_turn,
    missing_rows,
    tidied,
)
from recveil.ratings.rating_scale import Locate
from recveil.runtime.errors import RecveilError, listed, named_twice, quoted
from recveil.runtime.safe_repr import brief

# Returns the place of the row at a position, for a message: "ratings.csv line 812".

# Common names of each column, normalized by `plain_name`. The first match wins: ids come before
# columns that may be titles.
USUAL_NAMES = {
    "user": ("userid", "user", "uid", "u", "customerid", "customer", "reviewerid", "userno"),
    "item": (
        *("itemid", "movieid", "productid", "asin", "bookid", "isbn", "artistid", "trackid"),
        *("songid", "animeid", "jokeid", "businessid", "iid", "item", "i", "movie", "product"),
        *("book", "artist", "track", "song", "anime", "joke", "business"),
    ),
    "rating": (
        *("rating", "ratings", "score", "stars", "weight", "value", "bookrating", "overall"),
        *("liked", "isliked", "clicked", "isclicked", "purchased"),
    ),
    "time": (
        *("timestamp", "time", "date", "datetime", "day", "unixreviewtime", "ratedat"),
        *("ratedon", "ratingtime", "ratingdate", "ratingtimestamp", "ts", "tstamp", "unixtime"),
        *("unixtimestamp", "epoch", "reviewtime", "reviewdate", "reviewedat", "submittedat"),
        *("submissiondate", "votedat", "votetime", "votedate", "watchedat", "playedat"),
        *("eventtime", "eventtimestamp", "eventdate"),
        *("createdat", "createdon", "created", "createtime"),
        *("createdate", "creationtime", "creationdate", "datecreated", "dateadded", "addedat"),
        *("dateupdated", "updatedat", "updatedon", "updated", "updatetime", "lastupdated"),
        *("modifiedat", "lastmodified", "postedat", "postdate", "recordedat", "when"),
    ),
}

# What tables write, in any case, where there is no rating
EMPTY_CELLS = frozenset({"", "na", "nan", "null", "none", "n/a"})
# A column of releases: how many users share a row.
GROUP_SIZE = "group_size"
# Names of columns that count interactions, which may be taken for ratings or likes.
COUNTED = (
    *("count", "counts", "plays", "playcount", "playcounts", "listens", "listencount", "minutes"),
    *("seconds", "hours", "duration", "views", "viewcount", "clicks", "clickcount", "purchases"),
    *("quantity", "visits", "streams", "watchtime", "listeningtime"),
)

# A table with so many columns, none of them known, is more likely a matrix with a row per user.
WIDE = 20
_ROWS_AT_ONCE, _LOOKED_AT = 1 << 20, 1_000
MISSING_RATING = (
    "the rating is missing; fill it in, or drop such rows with drop_off_scale (--drop-off-scale)"
)
# Numbers that differ by a smaller relative amount differ by rounding alone.
NOISE = 1e-12
_NO_NUMBER = (
    "is not a number; fix it, or drop such rows by naming the scale (--scale) with drop_off_scale "
    "(--drop-off-scale)"
)
# A number with a unit or a sign before or after it: $4, 17%, 4/5, 4 out of 5, 1.5 min, 4*.
_WITH_SIGN = re.compile(
    r"([^\w\s.+-]?)\s*([+-]?\d+(?:\.\d+|,\d{1,2})?)\s*"
    r"([^\w\s.,]|(?:/|out of|of|von|sur|de)\s*\d+|[^\W\d]{1,8}\.?|)",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:[\s'\u2019]\d{3})+")
_FILLED = "★⭐*"
_STARS = re.compile(r"(?:[★⭐☆✩]\ufe0f?)+|\*+")
_MINUS = ("\N{MINUS SIGN}", "\N{EN DASH}", "\N{EM DASH}")
# The remedy for ratings that are labels.
_OF_LABELS = (
    "is not a number; if ratings are labels, name them from the lowest on with order (--order "
    "hate,like,love), or without an order with words (--words all), or read each row as a like, "
    "whatever its label, with likes (--likes)"
)


class Feedback(NamedTuple):
    """The caller's statements about a table's ratings."""

    # Whether each row is declared a like: the user chose the item, without a rating
    likes: bool = False
    # How to convert ratings that are declared as counts or durations
    counts: str | None = None
    # Whether ratings that are all equal are likes
    one_value: bool = False
    # Whether the ratings are declared nominal: any words of the table, without an order
    words: bool = False
    # Whether the points in numbers are declared as decimal points
    points: bool = False
    # Whether the file writes decimal commas, which were replaced by points
    commas: bool = False

    @property
    def is_specified(self) -> bool:
        """Whether the ratings are declared as likes or counts."""
        return self.likes or self.counts is not None


# Undeclared, declared as likes, and a table that must have ratings.
NOT_SAID, LIKED, MUST_RATE = Feedback(), Feedback(likes=True), None


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns of users, items, ratings and times, where present."""

    user: str
    item: str
    rating: str | None
    time: str | None = None

    def by_role(self) -> dict[str, str]:
        """Return the names of the columns that are present, by role.

        >>> Columns("u", "i", None, "when").by_role()
        {'user': 'u', 'item': 'i', 'time': 'when'}
        """
        names = {"user": self.user, "item": self.item, "rating": self.rating, "time": self.time}
        return {role: name for role, name in names.items() if name is not None}


def reject_groups(where: str) -> NoReturn:
    """Raise the RecveilError for a table whose rows each represent several users."""
    raise RecveilError(
        f"{where}: a column {GROUP_SIZE} states that one row represents several users, which plain "
        f"ratings cannot express; write the release with layout (--layout) users",
        code="table.kind",
    )


def find_columns(
    names: Sequence[str],
    where: str = "the table",
    *,
    feedback: Feedback | None = MUST_RATE,
    **given: str | None,
) -> Columns:
    """Find the user, item, rating and time columns among a table's column names."""
    taken = [name for name in given.values() if name is not None]
    if twice := named_twice(taken):
        raise RecveilError(
            f"{where}: one column cannot be two of user, item, rating and time; {quoted(twice[0])} "
            f"was given twice; name another one",
            code="option.conflict",
        )
    # Columns named by the caller have no other role.
    others = [name for name in names if name not in taken]
    plain: dict[str, list[str]] = {}
    for name in others:
        plain.setdefault(plain_name(name), []).append(name)
    found = {
        role: _find(role, plain, where, names)
        if given.get(role) is None
        else _given(role, names, where, given[role])
        for role in USUAL_NAMES
    }
    if found["rating"] is None and feedback is not None and (found["user"] and found["item"]):
        found["rating"] = _of_feedback(feedback, found, names, where)
        if found["rating"] is None:
            return Columns(found["user"], found["item"], None, found["time"])
    # Both at once, unless a matrix is likelier.
    if found["user"] is None and found["item"] is None and len(names) < WIDE:
        raise RecveilError(
            f"{where}: no user column among {listed(names, 120)}, and no item column; expected "
            f"names such as {USUAL_NAMES['user'][0]!r} and {USUAL_NAMES['item'][0]!r}; rename "
            f"them, or name them with user and item (--user, --item)",
            code="column.missing",
        )
    for role in ("user", "item", "rating"):
        if found[role] is None:
            raise RecveilError(
                f"{where}: no {role} column among {_describe_names(found, names)}; "
                f"expected a name such as {USUAL_NAMES[role][0]!r} or {USUAL_NAMES[role][1]!r}; "
                f"rename it, or name it with {role} (--{role})",
                code="column.missing",
            )
    return Columns(**found)  # type: ignore[arg-type]  # the loop above leaves only time None


def _of_feedback(
    feedback: Feedback, found: Mapping[str, str | None], names: Sequence[str], where: str
) -> str | None:
    """Return the column of counts; None if there are certainly no ratings, or none are wanted."""
    left = [name for name in names if name not in found.values()]
    counted = [name for name in left if is_counted(name)]
    if feedback.counts is not None:
        if len(counted) == 1:
            return counted[0]
        raise RecveilError(
            f"{where}: counts (--counts) is given, but {'several columns' if counted else 'none'} "
            f"among {listed(left) or 'the others'} may hold counts; name it with rating (--rating)",
            code="column.ambiguous" if counted else "column.missing",
        )
    if feedback.likes or not left:
        return None
    if counted:
        raise RecveilError(
            f"{where}: {quoted(counted[0], 40)} seems to hold counts or durations; convert them "
            f"with counts (--counts log, --counts likes), or name it with rating (--rating)",
            code="column.ambiguous",
        )
    raise RecveilError(
        f"{where}: no rating column among {listed(names, 120)}; name it with rating (--rating), or "
        f"with time (--time) if it holds times; if each row is a like, set likes (--likes)",
        code="column.missing",
    )


def _describe_names(found: Mapping[str, str | None], names: Sequence[str]) -> str:
    """List the columns; of a table that may be a matrix, the first ones with a hint."""
    if len(names) < WIDE or sum(name is not None for name in found.values()) > 1:
        return listed(names, 120)
    return f"{listed(names, 20)} (a wide matrix? Read a file with wide, --wide; melt a data frame)"


def _given(role: str, names: Sequence[str], where: str, given: str | None) -> str:
    """Return the column that the caller named."""
    if given is None or given not in names:
        raise RecveilError(
            f"{where}: no column {quoted(given)} for the {role}; it has {listed(names)}; "
            f"name one of them with {role} (--{role})",
            code="column.missing",
        )
    return given


def _find(
    role: str, plain: Mapping[str, Sequence[str]], where: str, names: Sequence[str]
) -> str | None:
    """Return the column whose plain name is a usual one; None if there is none."""
    # The first usual name that matches wins: a table with "rating" and "value" means "rating".
    for name in USUAL_NAMES[role]:
        fitting = plain.get(name, ())
        if len(fitting) > 1 and fitting[0] == fitting[1]:
            place = [*names].index(fitting[0]) + 1
            raise RecveilError(
                f"{where}: two columns are called {quoted(fitting[0])}; rename one, or, in a file, "
                f"select it by place with {role} (--{role} {place})",
                code="column.duplicate",
            )
        if len(fitting) > 1:
            raise RecveilError(
                f"{where}: {quoted(fitting[0])} and {quoted(fitting[1])} could both be the {role} "
                f"column; name one with {role} (--{role})",
                code="column.ambiguous",
            )
        if fitting:
            return fitting[0]
    return None


def is_counted(name: str) -> bool:
    """Return whether a column name suggests counts of interactions.

    >>> is_counted("play_count"), is_counted("rating")
    (True, False)
    """
    return plain_name(name) in COUNTED


def is_usual_time(name: str) -> bool:
    """Return whether a column of this name usually has dates or times.

    >>> is_usual_time("Created_At"), is_usual_time("title")
    (True, False)
    """
    return plain_name(name) in USUAL_NAMES["time"]


def plain_name(name: str) -> str:
    """Normalize letter case, separators and type suffixes of a column name.

    >>> plain_name("User-ID"), plain_name("user_id:token"), plain_name("userId")
    ('userid', 'userid', 'userid')
    """
    return re.sub(r"[\s_-]", "", name.partition(":")[0]).lower()


def pieces(column: pa.ChunkedArray) -> Iterator[tuple[int, pa.Array]]:
    """Yield short pieces of a column, each with its first row, to limit the memory for copies."""
    first = 0
    for chunk in column.chunks:
        for start in range(0, len(chunk), _ROWS_AT_ONCE):
            piece = chunk.slice(start, _ROWS_AT_ONCE)
            yield first, piece
            first += len(piece)


# Smaller numbers have fewer digits in single precision.
LEAST = float(np.finfo(np.float32).tiny)
_MOST_POWER = 300
# Half floats do not keep all whole numbers from here on.
_LEAST_ROUNDED, _POINT = 2**11, re.compile("[.eE]")
# From here on, different whole numbers may differ by no more than `NOISE`, or not in a float64.
LARGE = 1 / NOISE


def parse_ratings(column: pa.ChunkedArray, locate: Locate) -> NDArray[np.float32]:
    """Parse a column of numbers, or of numbers as text, as finite ratings, shape (n_rows,)."""
    return parse_ratings_noted(column, locate).values


@brief
class ParsedRatings(NamedTuple):
    """Ratings in single precision, and what the conversion lost."""

    values: NDArray[np.float32]
    # Which digits were lost, as a sentence; "" if none
    note: str = ""
    # Whether different ratings became equal, or may have been before
    merged: bool = False


def parse_ratings_noted(column: pa.ChunkedArray, locate: Locate) -> ParsedRatings:
    """Parse a column as `parse_ratings`, and report lost digits."""
    parsed = _parse_ratings(column, locate)
    largest = max(abs(parsed.values.min()), abs(parsed.values.max()))
    if largest < _LEAST_ROUNDED or not (note := _describe_floats(column, largest)):
        return parsed
    return ParsedRatings(parsed.values, f"{parsed.note} {note}".strip(), merged=True)


def _describe_floats(column: pa.ChunkedArray, largest: float) -> str:
    """Return the note on a column of floats that are too large, or of their text."""
    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array([tidied(column).chunk(0).dictionary])
    if is_text(column.type) and largest >= 2**53:
        texts = [text for text in pc.unique(column).to_pylist() if _POINT.search(text)]
        large = [text for text in texts if abs(float(text)) >= 2**53]
        if not large or any(Decimal(text.strip()) != float(text) for text in large):
            return ""  # no float, or no whole number, was written
        column = pa.chunked_array([list(map(float, large))])
    if not pa.types.is_floating(column.type):
        return ""
    ends = pc.min_max(column.cast(pa.float64())).as_py()
    return describe_rounded_floats(ends["min"], ends["max"], column.type.to_pandas_dtype())


def describe_rounded_floats(low: float, high: float, kind: type[np.floating[Any]]) -> str:
    """Return the note on floats from low to high, if their type has no whole numbers between.

    >>> print(describe_rounded_floats(1, 2**24, np.float32))
    Ratings as large as 16777216 are floats, of which several whole numbers may have become one
    before; write them as integers or text where they come from.
    >>> describe_rounded_floats(1, 2**24, np.float64)
    ''
    """
    largest = max(low, high, key=abs)
    if abs(largest) < 2 ** (np.finfo(kind).nmant + 1):
        return ""
    return (
        f"Ratings as large as {largest:.17g} are floats, of which several whole numbers may have "
        f"become one before; write them as integers or text where they come from."
    )


def _parse_ratings(column: pa.ChunkedArray, locate: Locate) -> ParsedRatings:
    if pa.types.is_boolean(column.type):
        raise RecveilError(
            "rating column: expected numbers, got bool; convert it to 0 and 1", code="column.type"
        )
    reject_missing(column, MISSING_RATING, locate, code="rating.missing")
    written = column
    if pa.types.is_dictionary(column.type):
        column = _decoded_numbers(column)
    ratings = np.empty(len(column), np.float32)
    low, high, changed, merged = np.inf, -np.inf, np.empty(0), None
    n_changed = 0
    for first, piece in pieces(column):
        numbers = numbers_of(
            pa.chunked_array([piece]), "rating", _shifted(locate, first)
        ).to_numpy()
        too_large = ~(np.abs(numbers) <= np.finfo(np.float32).max)
        if too_large.any():
            row = int(np.argmax(too_large))
            raise RecveilError(
                f"{locate(first + row)}: rating {numbers[row]:g} is not a finite number; fix it, "
                f"or drop such rows with drop_off_scale (--drop-off-scale)",
                code="rating.not-a-number",
            )
        ratings[first : first + numbers.size] = numbers + 0.0  # turns -0.0 into 0
        low, high = min(low, numbers.min()), max(high, numbers.max())
        if merged is None:
            different = pc.unique(pa.array(numbers)).to_numpy()
            here = _changed_among(different)
            n_changed += int(np.isin(numbers, here).sum()) if here.size else 0
            changed = np.union1d(changed, here)
            merged = _find_merged(np.union1d(changed, different)) if changed.size else None
    if max(abs(low), abs(high)) >= LARGE and (equal := find_merged_whole(written, low, high)):
        return _merged_ratings(ratings, *equal)
    if not changed.size:
        return ParsedRatings(ratings)
    require_different(low, high)
    kept = changed.astype(np.float32)
    if merged is None and (is_kept := np.isin(ratings, kept)).sum() > n_changed:
        # A rating that lost digits became equal to an exact one in another piece.
        at = int(np.argmax(np.isin(kept, ratings[is_kept])))
        merged = float(str(kept[at])), float(changed[at])
    if merged is None:
        return ParsedRatings(ratings, describe_lost_digits(float(changed[0])))
    return _merged_ratings(ratings, f"{merged[0]:.15g}", f"{merged[1]:.15g}")


def _merged_ratings(ratings: NDArray[np.float32], one: str, other: str) -> ParsedRatings:
    return ParsedRatings(ratings, describe_merged(one, other), merged=True)


def describe_merged(one: str, other: str) -> str:
    """Return the note on two ratings that become equal in single precision.

    >>> print(describe_merged("16777216", "16777217"))
    Ratings are kept to 7 digits, so that 16777216 and 16777217 became one, and perhaps others, too.
    """
    return (
        f"Ratings are kept to 7 digits, so that {one} and {other} became one, and perhaps others, "
        f"too."
    )


def find_merged_whole(column: pa.ChunkedArray, low: float, high: float) -> tuple[str, str] | None:
    """Return two whole numbers of a column that become equal, if there are any.

    Raise a RecveilError if all ratings, from low to high, do.

    >>> find_merged_whole(pa.chunked_array([["5", "16777216", "16777217"]]), 5, 16777217)
    ('16777216', '16777217')
    """
    whole = whole_numbers(column)
    kept = [np.float32(float(each)) for each in whole]
    if len(whole) > 1 and np.float32(low) == np.float32(high):
        raise RecveilError(
            f"ratings differ, from {whole[0]} to {whole[-1]}, but not in the 7 digits that are "
            f"kept; subtract {whole[0]} from all of them",
            code="rating.merged",
        )
    for place, (one, other) in enumerate(itertools.pairwise(kept)):
        if one == other:
            return str(whole[place]), str(whole[place + 1])
    return None


def whole_numbers(column: pa.ChunkedArray) -> list[int]:
    """Return the distinct whole numbers of a column, ascending and exact.

    Of floats, if all are whole and below 2^53: others may differ by rounding alone.

    >>> whole_numbers(pa.chunked_array([["7", "5.0", "0.5"]]))
    [5, 7]
    """
    different = pc.unique(column)
    kind = different.type.value_type if pa.types.is_dictionary(different.type) else different.type
    if pa.types.is_floating(kind):
        floats = different.to_pylist()
        are_whole = all(each.is_integer() for each in floats)
        return sorted({int(each) for each in floats if abs(each) < 2**53}) if are_whole else []
    numbers = (Decimal(str(value)) for value in different.to_pylist())
    return sorted({int(each) for each in numbers if each == each.to_integral_value()})


def _changed_among(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers whose digits change in single precision."""
    kept = numbers.astype(np.float32)
    kept, inexact = kept[numbers != kept], numbers[numbers != kept]
    written = pa.array(kept).cast(pa.string()).cast(pa.float64()).to_numpy()
    return inexact[np.abs(inexact - written) > NOISE * np.abs(inexact)]


def _find_merged(numbers: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return two of the ascending numbers that are equal in single precision, if there are any."""
    kept = numbers.astype(np.float32)
    are_one = (kept[1:] == kept[:-1]) & (np.diff(numbers) > NOISE * np.abs(numbers[1:]))
    at = int(np.argmax(are_one)) if are_one.any() else -1
    return None if at < 0 else (float(numbers[at]), float(numbers[at + 1]))


def require_different(low: float, high: float) -> None:
    """Raise a RecveilError if the lowest and the highest rating differ, but become equal."""
    if np.float32(low) != np.float32(high) or high - low <= NOISE * abs(high):
        return
    subtract, power = f"subtract {low:.15g} from all of them", -int(np.floor(np.log10(high - low)))
    if high - low >= LEAST:
        remedy = subtract
    elif power > _MOST_POWER:
        remedy = "they cannot be kept; write larger numbers where they come from"
    elif np.float32(low * 10.0**power) != np.float32(high * 10.0**power):
        remedy = f"multiply all of them by 1e{power}"
    else:
        remedy = f"{subtract}, then multiply them by 1e{power}"
    raise RecveilError(
        f"ratings differ, from {low:.15g} to {high:.15g}, but not in the 7 digits that are "
        f"kept; {remedy}",
        code="rating.merged",
    )


def describe_lost_digits(rating: float) -> str:
    """Return the note on a rating whose digits change in single precision.

    >>> print(describe_lost_digits(16_777_217))
    Ratings are kept to 7 digits: 16777217 became 16777216.
    """
    kept = float(str(np.float32(rating)))
    return f"Ratings are kept to 7 digits: {rating:.15g} became {kept:.15g}."


def _decoded_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Parse each distinct text once, if all are numbers."""
    column = tidied(column)
    try:
        chunks = [
            pa.DictionaryArray.from_arrays(
                chunk.indices, cast_stripped(chunk.dictionary, pa.float64(), safe=False)
            )
            for chunk in column.chunks
        ]
    except pa.ArrowInvalid:
        return column  # the caller parses row by row, and can locate the invalid one
    return pa.chunked_array(chunks, pa.dictionary(column.type.index_type, pa.float64()))


def _shifted(locate: Locate, first: int) -> Locate:
    return lambda row: locate(first + row)


def numbers_of(column: pa.ChunkedArray, role: str, locate: Locate) -> pa.ChunkedArray:
    """Parse numbers, or text of numbers, as float64; raise for the first that is not a number."""
    try:
        return cast_each(column, pa.float64(), safe=False)
    except pa.ArrowInvalid:
        for row, text in enumerate(in_turn(column)):
            if not casts(text, pa.float64()):
                why = _why(text)
                if role == "rating" and _have_signs(column):
                    why = _sign_of(text) or why
                elif role == "rating" and are_mostly_words(column):
                    why = _OF_LABELS
                raise RecveilError(
                    f"{locate(row)}: {role} {quoted(text)} {why}",
                    code="time.unreadable"
                    if role == "time"
                    else "rating.words"
                    if why is _OF_LABELS
                    else "rating.not-a-number",
                ) from None
        raise
    except pa.ArrowNotImplementedError:
        raise RecveilError(
            f"{role} column: expected numbers, got {column.type}; convert it", code="column.type"
        ) from None


def are_mostly_words(column: pa.ChunkedArray) -> bool:
    """Return whether most of the first distinct values of a column are not numbers.

    >>> are_mostly_words(pa.chunked_array([["good", "bad", "4"]]))
    True
    """
    values = list(dict.fromkeys(itertools.islice(in_turn(column), _LOOKED_AT)))
    words = [
        value for value in values if _why(value) == _NO_NUMBER and not casts(value, pa.float64())
    ]
    return len(words) > len(values) / 2


def _why(text: object) -> str:
    """Return why a text is not a number."""
    if has_decimal_comma(text):
        return f"has a decimal comma; write {str(text).strip().replace(',', '.')}"
    if number := plain_number(text):
        return f"is a number in another notation; write {number}"
    return _NO_NUMBER


def plain_number(text: object) -> str:
    """Return a number in other digits, or with signs between thousands, as any program reads it.

    >>> plain_number("\uff14.5"), plain_number("1'001"), plain_number("four")
    ('4.5', '1001', '')
    """
    plain = str(text).strip()
    if _THOUSANDS.fullmatch(plain):
        plain = re.sub(r"[\s'\u2019]", "", plain)
    try:
        return f"{float(plain):.15g}"
    except ValueError:
        return ""


def _have_signs(column: pa.ChunkedArray) -> bool:
    """Check whether most of the first distinct values that are no numbers have a sign or unit."""
    values = dict.fromkeys(itertools.islice(in_turn(column), _LOOKED_AT))
    others = [value for value in values if not casts(value, pa.float64())]
    return 2 * sum(bool(_sign_of(value)) for value in others) > len(others)


def _sign_of(text: object) -> str:
    """Return what is written around a number, such as a unit, and what to write; "" for others."""
    plain = text.strip() if isinstance(text, str) else ""
    if _STARS.fullmatch(plain):
        return f"is a number of stars; write {sum(map(plain.count, _FILLED))}"
    found = _WITH_SIGN.fullmatch(plain)
    if found is None or not (found[1] or found[3]):
        return ""
    before, number, after = found[1], found[2].replace(",", "."), found[3]
    if before in _MINUS:
        return f"has another minus than - (U+{ord(before):04X}); write -{number}"
    where = f"{quoted(before)} before" if before else f"{quoted(after)} after"
    return (
        f"has {where} its number; remove it from each rating ({number}); if units differ, convert "
        f"them first"
    )


def has_decimal_comma(text: object) -> bool:
    """Return whether a text is a number with a decimal comma."""
    return isinstance(text, str) and bool(re.fullmatch(r"\s*-?[0-9]+,[0-9]+\s*", text))


def casts(value: object, kind: pa.DataType) -> bool:
    """Return whether a value can be cast to a type."""
    try:
        cast_stripped(pa.array([value]), kind)
    except pa.ArrowInvalid:
        return False
    return True


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def run_end_decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without run-end encoding."""
    if not isinstance(column.type, pa.RunEndEncodedType):
        return column
    chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
    return pa.chunked_array(chunks, column.type.value_type)


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values, also of a dictionary's."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def holds_text(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds text, dictionary-encoded or not."""
    return is_text(value_type(column.type))


def reject_missing(column: pa.ChunkedArray, problem: str, locate: Locate, *, code: str) -> None:
    """Raise for the first row that is null, directly or through a null in the dictionary."""
    parts = [*column.chunks]
    if pa.types.is_dictionary(column.type):
        parts += [chunk.dictionary for chunk in column.chunks]
    if any(part.null_count for part in parts):  # otherwise no row is null
        reject_first(missing_rows(column), problem, locate, code=code)


def reject_first(
    refused: pa.Array | pa.ChunkedArray, problem: str, locate: Locate, *, code: str
) -> None:
    """Raise for the first row of a boolean array that is true."""
    row = pc.index(refused, True).as_py()
    if row >= 0:
        raise RecveilError(f"{locate(row)}: {problem}", code=code)
