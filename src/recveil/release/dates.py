"""Dates of published values: each is the first day of a period."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.release.method import PublicSetting, Settings

# The days of each period, of which a published date is the first.
PERIODS = {"year": 365, "quarter": 91, "month": 30, "week": 7}
# The format of releases with dates; others are written in the one before.
DATED_FORMAT = 10
DATES = PublicSetting(
    "dates",
    tuple(PERIODS),
    when=lambda settings: "dates" in settings,
    first_format=DATED_FORMAT,
)
# The column of dates.
DATE = "date"


def period_of(settings: Settings) -> str | None:
    """Return the period of the dates of a release with these settings; None without dates.

    Examples
    --------
    >>> period_of({"method": "sparse rows", "dates": "week"})
    'week'
    """
    return settings.get(DATES.name)


def first_days(days: NDArray[Any], period: str) -> NDArray[np.int32]:
    """Return the first day of the period of each day; a week begins on Monday, as in ISO 8601.

    Examples
    --------
    >>> days = np.array(["1997-09-20", "1998-01-01"], "datetime64[D]").astype(int)
    >>> [first_days(days, period).astype("datetime64[D]").astype(str).tolist()
    ...  for period in PERIODS]  # doctest: +NORMALIZE_WHITESPACE
    [['1997-01-01', '1998-01-01'], ['1997-07-01', '1998-01-01'], ['1997-09-01', '1998-01-01'],
     ['1997-09-15', '1997-12-29']]
    """
    if period == "week":  # the first day of 1970 is a Thursday
        return ((days + 3) // 7 * 7 - 3).astype(np.int32)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    n_months = {"year": 12, "quarter": 3, "month": 1}[period]
    firsts = (months // n_months * n_months).astype("datetime64[M]")
    return firsts.astype("datetime64[D]").astype(np.int32)
