"""Worth: how much of what the raw data are good for a setting keeps, for lists and for ratings."""

from typing import Literal, NamedTuple, get_args

from recveil.compare.rows import Row
from recveil.errors import RecveilError

Worth = Literal["both", "ratings", "lists"]
# Below this share, a sentence says "only".
_LITTLE = 0.5
# A share whose interval is wider than from averages to raw counts by its lower end.
_WIDE = 1.0


class Share(NamedTuple):
    """A share that is kept, 1 at most: whatever is measured above it is as good as raw.

    Attributes
    ----------
    value : float
    low, high : float or None
        Its 95 % interval over the people judged; None if there is none.
    """

    value: float
    low: float | None
    high: float | None

    def cautious(self) -> "Share":
        """Return the share as it counts: by the lower end of its interval, where that is too wide.

        Examples
        --------
        >>> Share(0.4, -0.5, 0.9).cautious().value, Share(0.4, 0.1, 0.9).cautious().value
        (-0.5, 0.4)
        """
        if self.low is None or self.high is None or self.high - self.low <= _WIDE:
            return self
        return self._replace(value=self.low)


class Shares(NamedTuple):
    """What a setting keeps of both; None where too little is there to tell a share of it."""

    ratings: Share | None
    lists: Share | None


def shares_of(row: Row) -> Shares:
    """Return what a setting keeps, as far as that can be told.

    A share of the raw data's gain (or of their lists' nDCG) is told if that gain's own 95 %
    interval lies above 0 and is not wider than the gain; see `recveil.evaluate.Measured.is_told`.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, gain_kept=1.33, gain_low=0.9, gain_high=1.5,
    ...           is_gain_told=True, ndcg_kept=0.18, is_ndcg_told=True)
    >>> shares_of(row).ratings, shares_of(row).lists
    (Share(value=1, low=0.9, high=1), Share(value=0.18, low=None, high=None))
    >>> shares_of(row._replace(is_gain_told=False)).ratings
    """
    return Shares(
        _share(row.gain_kept, row.gain_low, row.gain_high, row.is_gain_told),
        _share(row.ndcg_kept, row.ndcg_low, row.ndcg_high, row.is_ndcg_told),
    )


def worth_of(row: Row, worth: Worth = "both") -> Share | None:
    """Return what a setting is worth: with "both", the smaller of its two shares.

    A share whose interval is wider than 100 points counts by its lower end.
    Where one of the two cannot be told, the other counts alone; None if nothing can be told.

    Parameters
    ----------
    row : Row
    worth : {"both", "ratings", "lists"}
        Which share counts.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, gain_kept=1.33, is_gain_told=True,
    ...           ndcg_kept=0.18, is_ndcg_told=True)
    >>> worth_of(row).value, worth_of(row, "ratings").value
    (0.18, 1)
    """
    shares = shares_of(row)
    wanted = shares if worth == "both" else (getattr(shares, worth),)
    told = [share.cautious() for share in wanted if share is not None]
    if not told:
        return None
    lows = [share.value if share.low is None else share.low for share in told]
    highs = [share.value if share.high is None else share.high for share in told]
    known = all(share.low is not None for share in told)
    ends = (min(lows), min(highs)) if known else (None, None)
    return Share(min(share.value for share in told), *ends)


def check_worth(worth: str) -> None:
    """Refuse what is none of `Worth`."""
    if worth not in get_args(Worth):
        raise RecveilError(f"worth (--for) is {worth!r}; expected both, ratings or lists")


def say_lists(row: Row) -> str:
    """Say what a setting keeps of the lists, as part of a sentence.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, ndcg=0.03, ndcg_kept=0.18, is_ndcg_told=True)
    >>> say_lists(row), say_lists(row._replace(ndcg_kept=1.01))
    ('lists only 18% of raw', 'lists as good as raw')
    """
    share = shares_of(row).lists
    if share is None:
        return "lists cannot be told, since those of the raw table itself are too poor to tell"
    if share.value >= 1:
        return "lists as good as raw"
    return f"lists {_only(share)}{percent(share.value)} of raw"


def say_ratings(row: Row) -> str:
    """Say what a setting keeps of the gain in predicted ratings, as part of a sentence.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, gain_kept=1.33, is_gain_told=True)
    >>> say_ratings(row), say_ratings(row._replace(gain_kept=-0.1))
    ('ratings as good as raw', 'ratings no better than averages')
    >>> say_ratings(row._replace(gain_kept=0.85))
    'ratings 85% of the raw gain'
    """
    share = shares_of(row).ratings
    if share is None:
        return (
            f"for ratings, the gain of the raw table itself is too small to tell "
            f"(RMSE {_number(row.rmse)}; raw {_number(row.raw_rmse)}, averages "
            f"{_number(row.averages_rmse)})"
        )
    if share.value >= 1:
        return "ratings as good as raw"
    if share.value <= 0:
        return "ratings no better than averages"
    return f"ratings {_only(share)}{percent(share.value)} of the raw gain"


def say_share(share: Share | None) -> str:
    """Write a share for a table.

    Examples
    --------
    >>> [say_share(share) for share in (Share(1, 0.9, 1), Share(0.5, None, None), None)]
    ['as good as raw', '50%', 'cannot be told']
    """
    if share is None:
        return "cannot be told"
    return "as good as raw" if share.value >= 1 else percent(share.value)


def say_interval(share: Share) -> str:
    """Write the interval of a share, if it has one.

    Examples
    --------
    >>> say_interval(Share(1, 0.9, 1)), say_interval(Share(0.5, 0.4, 0.6))
    ('90% to as good as raw', '40% to 60%')
    """
    if share.low is None or share.high is None:
        return ""
    if share.low >= 1:
        return "as good as raw"
    high = "as good as raw" if share.high >= 1 else percent(share.high)
    return f"{percent(share.low)} to {high}"


def percent(share: float | None) -> str:
    """Write a share for a sentence, never rounded to nothing or all.

    Examples
    --------
    >>> [percent(share) for share in (0.1, 0.0213, 0.0004, -0.5, 0.9999, None)]
    ['10%', '2.1%', '0.04%', '-50%', '>99.9%', '–']
    """
    if share is None:
        return "–"
    if 0.9995 <= share < 1:
        return ">99.9%"
    size = abs(100 * share)
    if 0 < size < 0.1:
        return f"{100 * share:.1g}%"
    digits = 1 if size < 9.95 or 99.5 <= size < 100 else 0
    return f"{100 * share:.{digits}f}".removesuffix(".0") + "%"


def _share(
    value: float | None, low: float | None, high: float | None, is_told: bool | None
) -> Share | None:
    if value is None or not is_told:
        return None
    return Share(min(value, 1), *(None if end is None else min(end, 1) for end in (low, high)))


def _only(share: Share) -> str:
    return "only " if share.value < _LITTLE else ""


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
