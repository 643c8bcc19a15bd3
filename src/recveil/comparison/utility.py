"""Utility that a setting retains, for lists and for ratings."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

import numpy as np

from recveil.comparison.rows import Row
from recveil.evaluation import TOO_SMALL, is_share_reported
from recveil.evaluation.recipient import POPULARITY
from recveil.runtime.errors import RecveilError

Worth = Literal["both", "ratings", "lists"]
# Below this share, a sentence says "only".
_LITTLE = 0.5


class Share(NamedTuple):
    """A retained share, at most 1: larger values count as being as good as raw.

    Attributes
    ----------
    value : float
        If its interval is too wide to report it, it is never as good as raw: a value measured above
        raw is replaced by the lower end of its interval.
    low, high : float or None
        Its 95 % interval over the evaluated users; None if there is none.
    is_told : bool
        Whether its interval, before it is cut off at raw, is narrow enough to report it; see
        `recveil.evaluation.is_share_reported`.
    """

    value: float
    low: float | None
    high: float | None
    is_told: bool = True


class Shares(NamedTuple):
    """Retained shares of ratings and of lists; None where a share is meaningless."""

    ratings: Share | None
    lists: Share | None


def shares_of(row: Row) -> Shares:
    """Return a setting's retained shares, where a share of the raw gain (or nDCG) is meaningful.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, gain_kept=1.33, gain_low=0.9, gain_high=1.5,
    ...           is_gain_told=True, ndcg_kept=0.18, is_ndcg_told=True)
    >>> shares_of(row).ratings, shares_of(row).lists.value
    (Share(value=1, low=0.9, high=1, is_told=True), 0.18)
    >>> shares_of(row._replace(gain_low=0.02, gain_high=2.66)).ratings
    Share(value=0.02, low=0.02, high=1, is_told=False)
    >>> shares_of(row._replace(is_gain_told=False)).ratings
    """
    return Shares(
        _share(row.gain_kept, row.gain_low, row.gain_high, row.is_gain_told),
        _share(row.ndcg_kept, row.ndcg_low, row.ndcg_high, row.is_ndcg_told),
    )


def utility_of(row: Row, worth: Worth = "both") -> Share | None:
    """Return a setting's utility: with "both", the smaller of its two shares.

    None if a share is meaningless. `deciding` selects the shares that count among several settings.
    Lists that are no better than popular items alone retain nothing, however close they come to the
    raw data's, since popularity needs no release. There the share of the gain, which is 0 or less,
    replaces the share of the nDCG.

    Parameters
    ----------
    row : Row
    worth : {"both", "ratings", "lists"}
        Which share counts.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, gain_kept=1.33, is_gain_told=True,
    ...           ndcg_kept=0.18, is_ndcg_told=True)
    >>> utility_of(row).value, utility_of(row, "ratings").value
    (0.18, 1)
    >>> utility_of(row._replace(lists_gain_kept=-0.3)).value
    -0.3
    """
    counted = [share for share in wanted(row, worth) if share is not None]
    if not counted:
        return None
    lows = [share.value if share.low is None else share.low for share in counted]
    highs = [share.value if share.high is None else share.high for share in counted]
    known = all(share.low is not None for share in counted)
    low, high = (min(lows), min(highs)) if known else (None, None)
    is_told = all(share.is_told for share in counted)
    return Share(min(share.value for share in counted), low, high, is_told)


def wanted(row: Row, worth: Worth) -> tuple[Share | None, ...]:
    """Return the requested shares, as they count; see `utility_of`."""
    shares = shares_of(row)
    lists, gain = shares.lists, row.lists_gain_kept
    if lists is not None and gain is not None and gain <= 0:
        lists = Share(gain, row.lists_gain_low, row.lists_gain_high, lists.is_told)
    counted = shares._replace(lists=lists)
    return counted if worth == "both" else (getattr(counted, worth),)


def deciding(rows: Iterable[Row], worth: Worth) -> Worth | None:
    """Return which shares decide between settings: the requested ones that some setting reports.

    A share that no setting reports decides nothing, whatever was measured.
    """
    shares = [shares_of(row) for row in rows]
    names: list[Worth] = ["ratings", "lists"]
    told = [
        name
        for name in names
        if worth in ("both", name)
        and any(share is not None and share.is_told for share in (getattr(s, name) for s in shares))
    ]
    return "both" if len(told) == len(names) else told[0] if told else None


def order_of(row: Row, decided: Worth | None, high: float) -> tuple[float, ...]:
    """Return a sort key, best first: deciding shares, then lists and ratings, then risk.

    If nothing decides, the risk comes first. No setting comes before another one that is as safe,
    and better in one measured share without being worse in the other.
    """
    shares = shares_of(row)
    lists, ratings = (0.0 if s is None else -s.value for s in (shares.lists, shares.ratings))
    last = high, float(-(row.k or 0))
    if decided is None:
        return (0.0, high, lists, ratings, *last)
    share = utility_of(row, decided)
    return (np.inf if share is None else -share.value, lists, ratings, *last)


def check_utility(worth: str) -> None:
    """Reject any value that is not a `Worth`."""
    if worth not in get_args(Worth):
        raise RecveilError(
            f"worth (--for) is {worth!r}; expected both, ratings or lists", code="option.value"
        )


def format_lists(row: Row) -> str:
    """Describe the retained quality of lists, as part of a sentence."""
    share = shares_of(row).lists
    if share is None:
        why = row.ndcg_not_told or TOO_SMALL
        if why == TOO_SMALL:
            return "lists cannot be told, since those of the raw table itself are too poor to tell"
        return f"lists cannot be told: of those of the raw table, {why}"
    if not share.is_told:
        return f"lists not told ({format_interval(share)} of raw)"
    if share.value >= 1:
        return "lists as good as raw"
    kept = f"lists {_only(share)}{percent(share.value)} of raw"
    if is_all_popular(row):
        return f"{kept}, which is of popular items alone"
    if row.lists_gain_kept is None or row.lists_gain_kept > 0:
        return kept
    return f"{kept}, which is no better than popular items alone"


def format_ratings(row: Row) -> str:
    """Describe the retained gain in predicted ratings, as part of a sentence."""
    share, of = shares_of(row).ratings, what_of(row)
    averages = "each item's commonest word" if of == "words" else "averages"
    worse = f"{of} worse than {averages}"
    if share is None:
        why = row.gain_not_told or TOO_SMALL
        gain = "the gain of the raw table itself is too small to tell"
        told = (
            f"for {of}, {gain if why == TOO_SMALL else f'a share cannot be told, since {why}'} "
            f"({format_figures(row)})"
        )
        return f"{worse}; {told}" if row.is_below_averages else told
    if row.is_below_averages or (share.high is not None and share.high < 0):
        return worse
    if share.value <= 0 and (share.high is None or share.high <= 0):
        return f"{of} no better than {averages}"
    if share.value <= 0:
        return f"{of} not told from {averages} ({format_interval(share)} of the raw gain)"
    if not share.is_told:
        return f"{of} not told ({format_interval(share)} of the raw gain)"
    if share.value >= 1:
        return f"{of} as good as raw"
    return f"{of} {_only(share)}{percent(share.value)} of the raw gain"


def is_all_popular(row: Row) -> bool:
    """Return whether the best lists of the raw data are those of popular items alone.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, ndcg_kept=0.97, raw_ranker="popularity")
    >>> is_all_popular(row), is_all_popular(row._replace(raw_ranker="EASE"))
    (True, False)
    """
    return row.lists_gain_kept is None and row.raw_ranker == POPULARITY


def what_of(row: Row) -> str:
    """Return what is predicted in addition to lists: ratings, or nominal labels.

    Examples
    --------
    >>> what_of(Row("words", 5, "k-anonymity", None, words_right=0.6))
    'words'
    """
    return "ratings" if row.words_right is None else "words"


def format_figures(row: Row) -> str:
    """Describe the error, or the accuracy of predicted words, next to raw and averages.

    Examples
    --------
    >>> print(format_figures(Row("words", 5, "k-anonymity", None, words_right=0.6,
    ...                       raw_words_right=0.62, commonest_right=0.59)))
    60% told rightly; raw 62%, each item's commonest word 59%
    """
    if row.words_right is not None:
        return (
            f"{percent(row.words_right)} told rightly; raw {percent(row.raw_words_right)}, each "
            f"item's commonest word {percent(row.commonest_right)}"
        )
    return (
        f"RMSE {_number(row.rmse)}; raw {_number(row.raw_rmse)}, averages "
        f"{_number(row.averages_rmse)}"
    )


def judges_lists(row: Row) -> bool:
    """Return whether lists were evaluated, which needs liked words in a table of words."""
    return row.words_right is None or row.ndcg is not None


def judges_ratings(row: Row) -> bool:
    """Return whether ratings or words were predicted; likes have none."""
    return row.ndcg is None or any(
        figure is not None for figure in (row.gain_kept, row.rmse, row.words_right)
    )


def format_share(share: Share | None) -> str:
    """Format a share for a table.

    Examples
    --------
    >>> [format_share(share) for share in (Share(1, 0.9, 1), Share(0.5, None, None), None)]
    ['as good as raw', '50%', 'cannot be told']
    """
    if share is None:
        return "cannot be told"
    if not share.is_told:
        return "not told"
    return "as good as raw" if share.value >= 1 else percent(share.value)


def format_interval(share: Share) -> str:
    """Format the interval of a share, if it has one.

    Examples
    --------
    >>> format_interval(Share(1, 0.9, 1)), format_interval(Share(0.5, 0.4, 0.6))
    ('90% to as good as raw', '40% to 60%')
    """
    if share.low is None or share.high is None:
        return ""
    if share.low >= 1:
        return "as good as raw"
    high = "as good as raw" if share.high >= 1 else percent(share.high)
    return f"{percent(share.low)} to {high}"


def percent(share: float | None) -> str:
    """Format a share for a sentence, never rounded to 0 % or 100 %.

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
    told = is_share_reported(value, low, high)
    if not told and value >= 1 and low is not None:
        value = low
    low, high = (None if end is None else min(end, 1) for end in (low, high))
    return Share(min(value, 1), low, high, told)


def _only(share: Share) -> str:
    return "only " if share.value < _LITTLE else ""


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
