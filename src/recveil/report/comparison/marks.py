"""Marks and notes on settings that a table of figures alone does not explain."""

from collections.abc import Iterable
from itertools import pairwise

from recveil.comparison.choice import FAR_AUC, has_far_lower_auc
from recveil.comparison.rows import Row, Share
from recveil.release.registry import variant_of
from recveil.runtime.number_format import format_bounds, percent


def explain_larger_epsilons(rows: Iterable[Row]) -> list[str]:
    """Explain lists of synthetic users that are worse at a larger epsilon."""
    found = [
        (float(variant_of(row.method).options["epsilon"]), row)
        for row in rows
        if row.problem is None
        and row.ndcg_retained is not None
        and isinstance(variant_of(row.method).options.get("epsilon"), int | float)
    ]
    ordered = [row for _, row in sorted(found, key=lambda each: each[0])]
    explained = (_explain_pair(one, other) for one, other in pairwise(ordered))
    return [text for text in explained if text]


def _explain_pair(less: Row, more: Row) -> str:
    if (more.ndcg_retained or 0.0) >= (less.ndcg_retained or 0.0):
        return ""
    text = f"Lists of “{more.title}” are no better than those of “{less.title}”, with less noise"
    high, low = more.ndcg_retained_high, less.ndcg_retained_low
    if high is None or low is None:
        return f"{text}."
    if high >= low:
        return f"{text}: the intervals overlap."
    chosen = f"“{more.ranker}”" + f", not “{less.ranker}”," * (more.ranker != less.ranker)
    best = [
        "not known" if each is None else percent(min(1.0, each))
        for each in (more.best_ndcg_retained, less.best_ndcg_retained)
    ]
    return (
        f"{text}: by hold-outs of the release, a recipient chooses {chosen} and serves real "
        f"users worse. With the best recommender of each, lists retain {' and '.join(best)}."
    )


def reveals_members(row: Row, rows: Iterable[Row]) -> bool:
    """Return whether membership inference has a far higher AUC than in another setting."""
    return not (row.problem or variant_of(row.method).is_control) and any(
        has_far_lower_auc(other, row)
        for other in rows
        if other.problem is None and not variant_of(other.method).is_control
    )


def describe_revealing(rows: Iterable[Row]) -> str:
    """Name all settings whose membership inference is far better; empty if there are none."""
    rows = list(rows)
    named = [f"“{row.title}”" for row in rows if reveals_members(row, rows)]
    if not named:
        return ""
    return f"! after an AUC: more than {FAR_AUC:g} above another setting's ({', '.join(named)})."


def format_share(share: Share | None) -> str:
    """Format a retained share, which is at most that of the raw data.

    >>> [format_share(share) for share in (Share(1, 0.9, 1), Share(0.5, None, None), None)]
    ['100%', '50%', 'not reported']
    >>> format_share(Share(-56.2, -80, -20)), format_share(Share(0.5, 0, 1, is_reliable=False))
    ('below -100%', 'not reliable')
    """
    if share is None or not share.is_reliable:
        return "not reported" if share is None else "not reliable"
    if share.value <= -1:
        return "below -100%"
    return percent(min(1, share.value))


def format_share_ends(share: Share | None) -> str:
    """Format the interval of a share for a table; empty if it has none or is not reported.

    >>> format_share_ends(Share(1, 0.9, 1)), format_share_ends(Share(0.5, 0, 1, is_reliable=False))
    ('90–100', '')
    """
    return (
        ""
        if share is None or not share.is_reliable or share.value <= -1
        else format_interval(share)
    )


def format_of_raw(share: Share, of: str) -> str:
    ends = format_interval(share)
    return f" ({ends}% of {of})" if ends else ""


def format_interval(share: Share) -> str:
    if share.low is None or share.high is None or share.low == share.high:
        return ""
    return format_bounds(share.low, share.high)
