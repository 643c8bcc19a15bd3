"""Marks and notes on settings that a table of figures alone does not explain."""

from collections.abc import Iterable
from itertools import pairwise

from recveil.comparison.choice import FAR_AUC, has_far_lower_auc
from recveil.comparison.rows import Row, Share, shares_of
from recveil.release.registry import variant_of
from recveil.report.audit.disclosure import SHADOWS_OF_ALL
from recveil.report.evaluation.text import WORSE
from recveil.runtime.number_format import format_bounds, percent

# What the adversaries know of whom the strongest counts.
KNOWLEDGE = (
    "Targets are users in the release. Adversaries know up to sixteen ratings of a target; where "
    "rows have few items, others know all ratings, or the rows of other targets, too."
)
# How each risk is defined.
AXIS_NOTES = {
    "reidentification": "The share of the targets who are re-identified; among the s users of the "
    "best equivalence class, the right one is picked with probability 1/s.",
    "class": "The share of the targets whose equivalence class is re-identified, by the adversary "
    "with the highest share. This adversary learns what the row of the class states. Large classes "
    "are few and easier to identify: if all users are one class, every adversary identifies it. "
    f"{KNOWLEDGE}",
    "membership": "The share of members who are recognized (TPR) when 5% of the nonmembers are "
    "mistaken for members (FPR). A random guess recognizes 5%, so no risk is lower. The strongest "
    "of the adversaries counts who know 8, 16 or all ratings of a user. They use one release only; "
    f"an adversary with shadow releases ({SHADOWS_OF_ALL}) usually recognizes more.",
    "attribute": "How much the row that best fits eight known ratings of a user adds to the AUC of "
    "inferring a declared attribute from these, of the attribute to which it adds most.",
    "shadows": "The share of the members of a release of one half of the users who are recognized "
    "(TPR) when 5% of the other half are mistaken for members (FPR), by an adversary who learns "
    "from many such releases of other halves how one user changes a release. A random guess "
    "recognizes 5%. The stronger of the adversaries counts who know 8 or all ratings of a user.",
    "links": "Who rated what: the share of the best row's other items that the target rated; or, "
    "where rows have all items, the share of the pairs of a row and an item rated by one of its "
    "users that a fit of all rows marks, with 95% precision. The higher of both; popularity alone "
    "infers some of them, too.",
}


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
    return not row.problem and any(
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
    >>> format_share(Share(-3.9, -8, -2.4, is_reliable=False))
    'worse than averages'
    """
    if share is None:
        return "not reported"
    if not share.is_reliable:
        return WORSE if share.is_worse else "not reliable"
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
    """Format the interval of a share of something; empty without one."""
    ends = format_interval(share)
    return f" ({ends}% of {of})" if ends else ""


def format_interval(share: Share) -> str:
    """Format the interval of a share in percent; empty without one."""
    if share.low is None or share.high is None or share.low == share.high:
        return ""
    return format_bounds(share.low, share.high)


# The mark after lists retained that popularity reaches, too, and its meaning.
POPULAR_MARK = "†"
POPULAR_LISTS = (
    "†: lists that do not beat popular items by more than the 95% interval; these need no release."
)


def reaches_popularity_alone(row: Row) -> bool:
    """Return whether a retained share of lists is one that popularity reaches, too.

    >>> row = Row("sparse", 20, "k-anonymity", None, ndcg=0.3, popularity_ndcg=0.2,
    ...           is_ndcg_reliable=True, ndcg_retained=1.0, lists_gain_retained_low=-0.1)
    >>> reaches_popularity_alone(row)
    True
    >>> reaches_popularity_alone(row._replace(lists_gain_retained_low=0.1))
    False
    """
    if row.problem or shares_of(row).lists is None or row.popularity_ndcg is None:
        return False
    return row.is_unbeaten("lists") or not row.is_clearly_above_baseline("lists")


def legend_of_lists(rows: Iterable[Row]) -> str:
    """Return the meaning of the mark of lists; empty if no row has it."""
    return POPULAR_LISTS if any(map(reaches_popularity_alone, rows)) else ""
