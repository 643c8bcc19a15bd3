"""Dates in releases: of published values, and of when the users of a cohort joined."""

import re
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from recveil.release.method import PublicSetting, Settings
from recveil.runtime.errors import RecveilError, quoted

if TYPE_CHECKING:  # the help of the command line needs no numpy
    import numpy as np
    from numpy.typing import NDArray

# The days of each period, of which a published date is the first.
PERIODS = {"year": 365, "quarter": 91, "month": 30, "week": 7}
# Instead of a period: each date is a position in its row, counted from 1970-01-01.
ORDER = "order"
# The format of releases with dates; others are written in the one before.
DATED_FORMAT = 10
DATES = PublicSetting(
    "dates",
    (*PERIODS, ORDER),
    when=lambda settings: "dates" in settings,
    first_format=DATED_FORMAT,
)
# The column of dates.
DATE = "date"


def period_of(settings: Settings) -> str | None:
    """Return the period, or the order, of the dates of a release; None without dates.

    Examples
    --------
    >>> period_of({"method": "sparse rows", "dates": "week"})
    'week'
    """
    return settings.get(DATES.name)


def reject_order(settings: Settings) -> None:
    """Raise if a release has positions instead of dates, which time cannot split."""
    if period_of(settings) == ORDER:
        raise no_dates()


def reject_positions(days: "NDArray[Any]", indptr: "NDArray[Any]") -> None:
    """Raise if the dates are positions, as in a release with an order."""
    if are_positions(days, indptr):
        raise no_dates()


def are_positions(days: "NDArray[Any]", indptr: "NDArray[Any]") -> bool:
    """Return whether the days of each row are positions in it."""
    longest = (indptr[1:] - indptr[:-1]).max(initial=0)
    may_be = days.size and days.min() == 0 and days.max() < longest
    return bool(may_be and (positions_in_rows(days, indptr) == days).all())


def no_dates() -> RecveilError:
    """Return the error of a split by time of an order."""
    return RecveilError(
        "split_by (--split-by) is time, but the dates are an order: positions, which are not "
        "comparable between users; split by user",
        code="option.unsupported",
    )


def first_days(days: "NDArray[Any]", period: str) -> "NDArray[np.int32]":
    """Return the first day of the period of each day; a week begins on Monday, as in ISO 8601.

    Examples
    --------
    >>> import numpy as np
    >>> days = np.array(["1997-09-20", "1998-01-01"], "datetime64[D]").astype(int)
    >>> [first_days(days, period).astype("datetime64[D]").astype(str).tolist()
    ...  for period in PERIODS]  # doctest: +NORMALIZE_WHITESPACE
    [['1997-01-01', '1998-01-01'], ['1997-07-01', '1998-01-01'], ['1997-09-01', '1998-01-01'],
     ['1997-09-15', '1997-12-29']]
    """
    import numpy as np

    if period == "week":  # the first day of 1970 is a Thursday
        return ((days + 3) // 7 * 7 - 3).astype(np.int32)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    n_months = {"year": 12, "quarter": 3, "month": 1}[period]
    firsts = (months // n_months * n_months).astype("datetime64[M]")
    return firsts.astype("datetime64[D]").astype(np.int32)


def positions_in_rows(days: "NDArray[Any]", indptr: "NDArray[Any]") -> "NDArray[np.int32]":
    """Return the position of each day in its row, from 0 on; equal days have the same one.

    Examples
    --------
    >>> import numpy as np
    >>> positions_in_rows(np.array([30, 10, 30, 7, 9]), np.array([0, 3, 5]))
    array([1, 0, 1, 0, 1], dtype=int32)
    """
    import numpy as np

    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    order = np.lexsort((days, rows))
    is_later = (np.diff(days[order], prepend=0) != 0) & (np.diff(rows[order], prepend=-1) == 0)
    n_later = np.cumsum(is_later)
    positions = np.empty(rows.size, np.int32)
    positions[order] = n_later - n_later[np.minimum(indptr[rows], rows.size - 1)]
    return positions


def periods_within(period: str, date_range: Any) -> "NDArray[np.int32]":
    """Return the first day of each period from the first to the last day of a range."""
    import numpy as np

    found = Cohort.of(date_range, DATE_RANGE)
    if found.first is None:
        raise _invalid_days(date_range, DATE_RANGE)
    # No period is shorter than a week, so that each contains one of these days.
    days = np.append(np.arange(found.first, found.last, PERIODS["week"]), found.last)
    return np.unique(first_days(days, period))


def dates_within(settings: Settings) -> "NDArray[np.int32] | None":
    """Return the dates that a release with a range of dates can have; None without a valid one."""
    try:
        return periods_within(settings[DATES.name], settings[DATE_RANGE])
    except (KeyError, TypeError, RecveilError):
        return None


# The setting of the days of the periods of dates.
DATE_RANGE = "date_range"
# The setting of a release of one cohort.
COHORT = "cohort"
_PERIOD = re.compile(r"[12][0-9]{3}(-[0-9]{2}(-[0-9]{2})?)?")


class Cohort(NamedTuple):
    """The users whose first rating is on one of some days, since 1970-01-01, ends included."""

    # None for all days until the last
    first: int | None
    last: int

    @classmethod
    def of(cls, text: Any, name: str = COHORT) -> Self:
        """Read a year, month or day, or two around a colon, of which the first may be left out.

        Examples
        --------
        >>> str(Cohort.of("2026-02")), str(Cohort.of(":2025"))
        ('2026-02-01:2026-02-28', ':2025-12-31')
        """
        import numpy as np

        start, colon, end = str(text).partition(":")
        ends = [end] if colon and not start else [start, end] if colon else [start, start]
        try:
            if not all(map(_PERIOD.fullmatch, ends)):
                raise ValueError(text)
            days = [np.datetime64(each) for each in ends]
        except ValueError:
            days = []
        last = int(((days[-1] + 1).astype("M8[D]") - 1).astype(int)) if days else 0
        first = int(days[0].astype("M8[D]").astype(int)) if len(days) == 2 else None
        if not days or (first is not None and first > last):
            raise _invalid_days(text, name)
        return cls(first, last)

    def __str__(self) -> str:
        import numpy as np

        days = ["" if day is None else str(np.datetime64(day, "D")) for day in self]
        return ":".join(days)

    def is_disjoint(self, other: "Cohort") -> bool:
        """Return whether no day is in both.

        >>> Cohort.of(":2025").is_disjoint(Cohort.of("2026"))
        True
        """
        starts_after = other.first is not None and self.last < other.first
        return starts_after or (self.first is not None and other.last < self.first)

    def contains(self, days: "NDArray[Any]") -> "NDArray[np.bool_]":
        """Return which days are in the range."""
        import numpy as np

        found = np.asarray(days <= self.last)
        return found if self.first is None else found & (days >= self.first)


def _invalid_days(text: Any, name: str) -> RecveilError:
    what = "of users' first ratings, or two, such as 2026-01, 2026-01:2026-03, or :2025 for all"
    last = " until the end of 2025"
    if name == DATE_RANGE:
        what, last = "of the published dates, or two, such as 2026 or 2025-07:2026-06", ""
    return RecveilError(
        f"{name} (--{name.replace('_', '-')}) is {quoted(text)}; expected a year, month or day "
        f"{what}{last}",
        code="option.value",
    )


def cohort_of(settings: Settings) -> Cohort | None:
    """Return the cohort that a release states; None for all users.

    Examples
    --------
    >>> cohort_of({"method": "synthetic users"})
    """
    return Cohort.of(settings[COHORT]) if COHORT in settings else None


def is_cohort(value: Any) -> bool:
    """Return whether a value is a cohort as releases state it."""
    try:
        return isinstance(value, str) and str(Cohort.of(value)) == value
    except RecveilError:
        return False
