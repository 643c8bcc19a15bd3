"""Estimate of the time of a comparison, before its work begins."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from recveil.comparison.cells import Setting
from recveil.ratings import Ratings
from recveil.runtime.errors import describe_count
from recveil.runtime.number_format import format_duration


class Estimate(NamedTuple):
    """The settings of a comparison, and about how long they take.

    Attributes
    ----------
    n_settings, n_finished : int
        All settings, and those that an earlier run finished.
    seconds : mapping of str to float
        About how long each of the others takes on two cores, by its title.

    Examples
    --------
    >>> Estimate(3, 1, {"raw": 30.0, "sparse, k = 5": 40.0}).total_seconds
    70.0
    """

    n_settings: int
    n_finished: int
    seconds: Mapping[str, float]

    @property
    def total_seconds(self) -> float:
        """About how long all of them take on two cores."""
        return sum(self.seconds.values())

    def sentence(self) -> str:
        """Describe the estimate, and how it is made.

        Examples
        --------
        >>> from textwrap import fill
        >>> seconds = {"raw": 60.0, "sparse, k = 5": 70.0}
        >>> print(fill(Estimate(3, 1, seconds).sentence(), 88))
        Comparing 3 settings, 1 of them finished earlier: raw; sparse, k = 5. About 2 min on two
        idle cores, estimated from the size of the table.
        """
        finished = f", {self.n_finished:,} of them finished earlier" if self.n_finished else ""
        count = f"Comparing {describe_count(self.n_settings, 'setting')}{finished}"
        if not self.seconds:
            return f"{count}."
        return (
            f"{count}: {'; '.join(self.seconds)}. About {format_duration(self.total_seconds)} on "
            f"two idle cores, estimated from the size of the table."
        )


# Seconds on two cores: of a setting whatever its size, of each rating, and of each pair of a user
# and an item. From the CPU time of the default settings on MovieLens 100K, and on a table with a
# fifth of its ratings and five times its pairs.
_SETTING, _RATING, _PAIR = 3.0, 9e-5, 1.4e-6
# A shadow release of a half of the users, and measuring the raw table, in settings.
_SHADOW, _RAW = 0.12, 1.0


def estimate_settings(
    settings: Sequence[Setting], n_settings: int, ratings: Ratings, shadows: int | None
) -> Estimate:
    """Estimate the time of settings that are not finished, by a model of the table's size.

    The first of them also measures the raw table.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 2], [7, 7], [4, 5])
    >>> settings = [Setting("raw", None), Setting("sparse", 5)]
    >>> estimate = estimate_settings(settings, 3, ratings, shadows=None)
    >>> estimate.n_finished, {title: round(of) for title, of in estimate.seconds.items()}
    (1, {'raw': 6, 'sparse, k = 5': 3})
    """
    pairs = ratings.n_users * ratings.n_items
    one = _SETTING + _RATING * ratings.n_ratings + _PAIR * pairs
    each = one * (1 + _SHADOW * (shadows or 0))
    seconds = {setting.title: each for setting in settings}
    for setting in settings[:1]:
        seconds[setting.title] += one * _RAW
    return Estimate(n_settings, n_settings - len(settings), seconds)
