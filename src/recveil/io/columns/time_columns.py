"""Detection of the column of times, also without a usual name."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.columns import Feedback, find_columns, holds_text, plain_name
from recveil.io.columns.times import parse_days, seconds_of_digits, whole_days
from recveil.ratings.arrow_columns import missing_rows
from recveil.runtime.errors import RecveilError, listed, named_twice, quoted

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|UTC|[+-]\d\d:?\d\d))?)?"
    r"|\d{8}T\d\d(\d\d(\d\d([.,]\d+)?)?)?(Z|[+-]\d\d:?(\d\d)?)?)"
)
# Other formats of dates: 14/12/2009, 14.12.09, 05 26, 2013, Dec 14 2009, 14-Dec-09.
_OTHER = re.compile(
    r"(\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d\d \d{1,2}, \d{4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d)\b.*"
)
_DIGITS = re.compile(r"\d{8,19}")
_FIRST_YEAR = 1990
_EPOCH = date(1970, 1, 1)
# Names of other dates: of birth, registration or publication. Words that may be a part of others,
# as "end" is of "calendar" and "sign" of "assigned", match only as a whole.
_NOT_OF_RATINGS = re.compile(
    r"birth|releas|publish|publicat|regist|expir|premier|founded"
    r"|\b(date|dateof)?(born|dob|pub|join|joined|sign|signed|signup|member|members|membership"
    r"|start|started|starts|end|ended|ends)(date|day|time|at|on|since)?\b"
)
# In English, German, French, Spanish and Portuguese, Italian and Dutch, without accents.
_DATE_PARTS = (
    *(("year", "month", "day"), ("jahr", "monat", "tag"), ("annee", "mois", "jour")),
    *(("ano", "mes", "dia"), ("anno", "mese", "giorno"), ("jaar", "maand", "dag")),
)
_BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_\d]+")


class Look(NamedTuple):
    """Result of a search for times among the columns of a table."""

    # The one column that certainly holds dates
    name: str | None = None
    # Columns that look like dates, unless exactly one is certain
    candidates: tuple[str, ...] = ()
    # The column named as times that was passed over for `name`, as it holds none
    passed: str | None = None
    # Why it holds none, based on its first rows
    problem: str = ""
    # Columns with the year, the month and the day of a date
    parts: tuple[str, ...] = ()
    # Further columns that certainly hold dates, if one is named as times
    others: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Look(name={self.name!r}, candidates={self.candidates!r})"


def look_for_times(sample: pa.Table, roles: Mapping[str, str]) -> Look:
    """Search for times in the column named as times or, if it holds none, in the others."""
    own = {role: roles[role] for role in ("user", "item", "rating") if role in roles}
    names = list(sample.column_names)
    first, passed, problem = roles.get("time"), set(own.values()), ""
    time = first
    while time is not None and time not in passed:
        if not (why := why_no_times(sample.column(names.index(time)))):
            if time != first:
                return Look(time, (), first, problem)
            free = [at for at, name in enumerate(names) if name not in passed and name != time]
            return Look(others=_certain(sample.select(free)))
        problem = problem or why
        passed.add(time)
        rest = [name for name in names if name not in passed or name in own.values()]
        try:
            time = find_columns(rest, feedback=Feedback(likes=True), **own).time
        except RecveilError:  # two columns are named as times
            break
    look = look_for_dates(sample.select([at for at, n in enumerate(names) if n not in passed]))
    if look.name is None and (parts := _parts_of_dates(names)):
        return look._replace(parts=parts)
    return look if look.name is None else look._replace(passed=first, problem=problem)


def look_for_dates(sample: pa.Table) -> Look:
    """Search for dates among columns without another role or a usual name for times.

    Certain are columns of a date type, and text with an ISO date since 1990 in every row. Numbers
    are not: they may be ids or counts.
    """
    certain = _certain(sample)
    twice = {*named_twice(sample.column_names)}
    doubtful = [
        name
        for name, column in zip(sample.column_names, sample.columns, strict=True)
        if name not in twice and name not in certain and _is_doubtful(column)
    ]
    if len(certain) == 1:
        return Look(certain[0])
    return Look(None, (*certain, *doubtful))


def _certain(sample: pa.Table) -> tuple[str, ...]:
    """Return the columns that certainly hold dates, without dates of other events."""
    twice = {*named_twice(sample.column_names)}
    return tuple(
        name
        for name, column in zip(sample.column_names, sample.columns, strict=True)
        if name not in twice and _is_certain(column) and not _is_of_something_else(name)
    )


def _parts_of_dates(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of year, month and day, if there is one of each in one language.

    >>> _parts_of_dates(["user", "rating_year", "rating_month", "rating_day"])
    ('rating_year', 'rating_month', 'rating_day')
    >>> _parts_of_dates(["user", "Año", "Mes", "Día"])
    ('Año', 'Mes', 'Día')
    """
    plain = {
        name: re.sub("[\u0300-\u036f]", "", normalize("NFD", plain_name(name)))
        for name in names
        if not _is_of_something_else(name)
    }
    for words in _DATE_PARTS:
        found = [[name for name in plain if plain[name].endswith(part)] for part in words]
        if all(len(each) == 1 for each in found):
            return tuple(each[0] for each in found)
    return ()


def describe_time_columns(look: Look, problem: str, name: str | None, odd: str = "") -> list[str]:
    """Describe how the times were found, or why they are not used, a sentence each.

    >>> print(*describe_time_columns(Look(None, ("when",)), "", None))
    No column of dates was recognized, but 'when' looks like dates: if it holds the times of the
    ratings, name it with time (--time), and its format with time_format (--time-format).
    """
    if look.parts and (name is None or problem):
        year, month, day = map(quoted, look.parts)
        return [
            f"Columns {year}, {month} and {day} hold parts of dates, so no times were read; write "
            f"each date into one column, such as 2005-12-31."
        ]
    sentences = []
    if look.passed is not None:
        sentences.append(
            f"Column {quoted(look.passed)} was not used as times, judging by its first rows: "
            f"{look.problem}."
        )
    if name is not None and problem:
        sentences.append(
            f"Column {quoted(name)} {problem}. If another column holds the times of the ratings, "
            f"name it with time (--time)."
        )
    elif look.name is not None:
        sentences.append(
            f"Column {quoted(look.name)} was used as the times, because every row of it holds a "
            f"date; if another column holds them, name that with time (--time)."
        )
    if name is not None and odd:
        sentences.append(f"Column {quoted(name)}: {odd}.")
    if look.others and name is not None and not problem:
        one = len(look.others) == 1
        sentences.append(
            f"Column {quoted(name)} was used as the times; {listed(look.others)} "
            f"{'holds' if one else 'hold'} dates, too: if {'it' if one else 'one'} holds the times "
            f"of the ratings, name it with time (--time)."
        )
    if look.candidates and (name is None or problem):
        one = len(look.candidates) == 1
        sentences.append(
            f"No column of dates was recognized, but {listed(look.candidates)} "
            f"{'looks' if one else 'look'} like dates: if {'it' if one else 'one'} holds the times "
            f"of the ratings, name it with time (--time), and its format with time_format "
            f"(--time-format)."
        )
    return sentences


def reject_times(column: pa.ChunkedArray, name: str | int, where: str) -> None:
    """Raise a RecveilError if the first rows of a rating column look like times."""
    if _is_certain(column) or _is_doubtful(column):
        raise RecveilError(
            f"{where}: column {quoted(name)} looks like times, not ratings; if it holds the times "
            f"of likes, name it with time (--time); if these are ratings, name their scale "
            f"(--scale)",
            code="column.ambiguous",
        )


def one_date_each(items: NDArray[np.int32], days: NDArray[np.int32]) -> bool:
    """Return whether all ratings of an item share a date, with two or more ratings on average.

    >>> items = np.array([0, 0, 1, 1], np.int32)
    >>> one_date_each(items, np.array([5, 5, 9, 9])), one_date_each(items, np.array([5, 6, 9, 9]))
    (True, False)
    """
    n_items = int(items.max()) + 1
    of_item = np.zeros(n_items, days.dtype)
    of_item[items] = days
    return bool(items.size >= 2 * n_items and (of_item[items] == days).all())


def _is_of_something_else(name: str) -> bool:
    """Return whether a column name states that its dates are not those of ratings."""
    return bool(_NOT_OF_RATINGS.search(_BETWEEN_WORDS.sub(" ", name).lower()))


def why_no_times(column: pa.ChunkedArray) -> str:
    """Return why the non-empty rows of a column hold no times; "" if they do."""
    try:
        return parse_days(
            column.filter(pc.invert(missing_rows(column))), lambda _: "one row"
        ).problem
    except RecveilError as error:
        return str(error).partition(";")[0]


def _is_certain(column: pa.ChunkedArray) -> bool:
    if len(column) == 0 or column.null_count:
        return False
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        days, last = whole_days(column), date(datetime.now(UTC).year + 2, 1, 1)
        first = (date(_FIRST_YEAR, 1, 1) - _EPOCH).days
        return bool(((days >= first) & (days < (last - _EPOCH).days)).all())
    texts = _texts(column)
    years = range(_FIRST_YEAR, datetime.now(UTC).year + 2)
    return bool(texts) and all(
        _ISO.fullmatch(text.strip()) and int(text.strip()[:4]) in years for text in texts
    )


def _is_doubtful(column: pa.ChunkedArray) -> bool:
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return column.null_count < len(column)
    if pa.types.is_integer(column.type):
        texts = [str(value) for value in column.drop_null().to_pylist()]
    else:
        texts = [text.strip() for text in _texts(column)]
    if not texts:
        return False
    if all(_DIGITS.fullmatch(text) for text in texts):
        return len(set(texts)) > 1 and _are_times(map(int, texts))
    return all(_ISO.fullmatch(text) or _OTHER.fullmatch(text) for text in texts)


def _texts(column: pa.ChunkedArray) -> list[str]:
    return [text for text in column.unique().to_pylist() if text] if holds_text(column) else []


def _are_times(numbers: Iterable[int]) -> bool:
    """Return whether numbers are all Unix times since 1990, or all dates such as 20051231."""
    first = datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp()
    last = (datetime.now(UTC) + timedelta(days=366)).timestamp()
    kept = list(numbers)
    if any(all(first * u <= n <= last * u for n in kept) for u in (1, 10**3, 10**6, 10**9)):
        return True
    dates = seconds_of_digits(np.array(kept, np.float64))
    return dates is not None and bool(((first <= dates) & (dates <= last)).all())
