"""Advice: what to publish, what it keeps and what it costs, in one sentence."""

from recveil.compare.risk_axes import PERSON, Axis
from recveil.compare.rows import Row
from recveil.compare.worth import (
    Worth,
    is_all_popular,
    judges_lists,
    judges_ratings,
    percent,
    say_ratings,
    shares_of,
)
from recveil.evaluate import is_share_told


def say_advice(row: Row, worth: Worth = "both", axis: Axis = PERSON) -> str:
    """Say what to publish, what it keeps, and whom it costs what.

    Parameters
    ----------
    row : Row
        The answer.
    worth : {"both", "ratings", "lists"}
        What was asked for comes first.
    axis : Axis
        What the risk is.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, bound=0.2, adversary="insider", risk=0.12,
    ...           risk_low=0.1, risk_high=0.14, ndcg_kept=0.62, is_ndcg_told=True,
    ...           lists_gain_kept=0.4, gain_kept=0.9, is_gain_told=True)
    >>> print(say_advice(row))
    Publish “padded, k = 5”: lists are 62% as good as the best on the raw data (40% of the way to \
them from popular items alone), ratings 90% of the raw gain; the price is that “insider” finds 12% \
of the people (10% to 14%; proven: at most 20%).
    >>> row = row._replace(published_share=0.57, membership=0.9, membership_low=0.8)
    >>> print(say_advice(row).split("). ")[1])
    It leaves 57% of all ratings exactly as given, and tells who is in the data, by an AUC of 0.90 \
(a coin: 0.50).
    """
    kept = [_lists(row)] if judges_lists(row) else []
    kept += [say_ratings(row)] if judges_ratings(row) else []
    if worth == "ratings":
        kept.reverse()
    bound = axis.bound_of(row)
    proven = "nothing is proven" if bound is None else f"proven: at most {percent(bound)}"
    return (
        f"Publish “{row.title}”: {', '.join(kept)}; the price is that {axis.who(row)} "
        f"{axis.say(row, axis.reach)} ({axis.ends(row)}; {proven}){axis.nothing_new(row)}."
        f"{_given_away(row)}"
    )


def _given_away(row: Row) -> str:
    """Say what else it gives away, whatever is found: ratings, and who is in the data."""
    told = []
    if row.published_share:
        told.append(f"leaves {percent(row.published_share)} of all ratings exactly as given")
    if row.membership is not None and (row.membership_low or 0.0) > 0.5:
        area = f"{row.membership:.2f} (a coin: 0.50)"
        told.append(f"tells who is in the data, by an AUC of {area}")
    return f" It {', and '.join(told)}." if told else ""


def _lists(row: Row) -> str:
    """Say how good the lists are, with what popularity alone would give as the other end."""
    share = shares_of(row).lists
    if share is None:
        return "how good lists are cannot be told"
    if not share.is_told:
        return "how good lists are is not told by these people"
    if share.value >= 1:
        return "lists are as good as the best on the raw data"
    kept = f"lists are {percent(share.value)} as good as the best on the raw data"
    way = say_way(row)
    return f"{kept} ({way})" if way else kept


def say_way(row: Row) -> str:
    """Say how far the lists come on the way from popular items to the best lists of the raw data.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, lists_gain_kept=-0.2, is_ndcg_told=True)
    >>> say_way(row), say_way(row._replace(lists_gain_kept=1.2))
    ('no better than popular items alone', 'as raw')
    >>> say_way(row._replace(lists_gain_low=-1.0, lists_gain_high=0.6))
    ''
    """
    if is_all_popular(row):
        return "which are of popular items alone"
    gain, low, high = row.lists_gain_kept, row.lists_gain_low, row.lists_gain_high
    if gain is None or not row.is_ndcg_told or not is_share_told(gain, low, high):
        return ""
    if gain >= 1:
        return "as raw"
    if gain <= 0:
        is_worse = high is not None and high < 0
        return f"{'worse' if is_worse else 'no better'} than popular items alone"
    return f"{percent(gain)} of the way to them from popular items alone"
