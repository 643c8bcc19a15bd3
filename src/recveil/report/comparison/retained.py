"""Sentences about the utility that a setting retains, and what reached it."""

from recveil.comparison.results import Reference
from recveil.comparison.rows import Row, Share, Shares, shares_of
from recveil.report.comparison.marks import format_interval, format_of_raw, format_share
from recveil.report.evaluation.text import explain_unreliable
from recveil.runtime.number_format import percent

# Below this share, a sentence says "only".
_LITTLE = 0.5


def describe_split(row: Row, shares: Shares) -> list[str]:
    """Describe the intervals of both shares on one split; nothing if there are none."""
    named = (("lists", shares.lists), (predicted_of(row), shares.ratings))
    intervals = [
        f"{name} {interval}%"
        for name, share in named
        if share is not None and (interval := format_interval(share))
    ]
    if not intervals:
        return []
    return [
        f"95% intervals over the evaluated users, on one split: {', '.join(intervals)}; another "
        f"split or seed may differ by more."
    ]


def describe_recommenders(row: Row) -> list[str]:
    """Name the recommenders of the shares, and what the best recommenders would have retained."""
    chosen = []
    if row.ndcg is not None:
        chosen.append(
            f"lists by “{row.ranker}” (nDCG {row.ndcg:.3f}; best on raw data: “{row.raw_ranker}”)"
        )
    if row.rmse is not None:
        chosen.append(f"ratings by “{row.recommender}” (RMSE {row.rmse:.4f})")
    if row.is_nominal:
        chosen.append(f"labels by “{row.recommender}” ({format_figures(row)})")
    best = [
        f"{name} {format_share(Share(share, None, None))}"
        for name, share in (
            ("lists", row.best_ndcg_retained if row.is_ndcg_reliable else None),
            (predicted_of(row), row.best_gain_retained if row.is_gain_reliable else None),
        )
        if share is not None
    ]
    if not best:
        return []
    return [
        f"These are shares of the recommenders that a recipient would choose: {', '.join(chosen)}. "
        f"By the best on either side, which a recipient cannot know in advance: {', '.join(best)}."
    ]


def predicted_of(row: Row) -> str:
    """Return what is predicted in addition to lists: ratings, or nominal labels."""
    return "labels" if row.is_nominal else "ratings"


def format_lists(row: Row) -> str:
    """Describe the retained quality of lists, as part of a sentence."""
    share = shares_of(row).lists
    if share is None:
        reason = explain_unreliable(row.ndcg_unreliable_reason, row.n_ranked)
        return f"no share is reported for lists (of the raw nDCG, {reason})"
    if not share.is_reliable:
        return f"the share of lists is not reliable{format_of_raw(share, 'the raw nDCG')}"
    if share.value >= 1:
        return "lists are as good as from raw data"
    retained = f"lists retain {_only(share)}{percent(share.value)} of the raw nDCG"
    if row.is_all_popular:
        return f"{retained}, which popular items alone reach"
    if row.lists_gain_retained is None or row.lists_gain_retained > 0:
        return retained
    return f"{retained}, which is no better than popular items alone"


def format_ratings(row: Row) -> str:
    """Describe the retained gain in predicted ratings, as part of a sentence."""
    share, name = shares_of(row).ratings, predicted_of(row)
    averages = "the most frequent labels" if row.is_nominal else "averages"
    worse = f"{name} are worse than {averages}"
    if share is None:
        reason = explain_unreliable(row.gain_unreliable_reason, row.n_judged)
        text = f"no share is reported for {name} (of the raw gain, {reason}; {format_figures(row)})"
        return f"{worse}; {text}" if row.is_below_averages else text
    if row.is_below_averages or share.is_worse:
        return worse
    if share.is_nothing:
        return f"{name} are no better than {averages}"
    interval = format_of_raw(share, "the raw gain")
    if share.value <= 0:
        return f"{name} are not significantly better than {averages}{interval}"
    if not share.is_reliable:
        return f"the share of {name} is not reliable{interval}"
    if share.value >= 1:
        return f"{name} are as good as from raw data"
    return f"{name} retain {_only(share)}{percent(share.value)} of the raw gain"


def format_figures(row: Row) -> str:
    """Describe the error, or the accuracy of predicted labels, next to raw and baseline.

    >>> print(format_figures(Row("nominal", 5, "k-anonymity", None, nominal_accuracy=0.6,
    ...                       raw_nominal_accuracy=0.62, baseline_nominal_accuracy=0.59)))
    accuracy 60%; raw 62%, most frequent labels 59%
    """
    if row.is_nominal:
        return (
            f"accuracy {percent(row.nominal_accuracy)}; raw {percent(row.raw_nominal_accuracy)}, "
            f"most frequent labels {percent(row.baseline_nominal_accuracy)}"
        )
    rmse, raw, averages = (
        "–" if value is None else f"{value:.4f}"
        for value in (row.rmse, row.raw_rmse, row.averages_rmse)
    )
    return f"RMSE {rmse}; raw {raw}, averages {averages}"


def describe_popularity(reference: Reference | None) -> str:
    """Describe what popular items alone reach; empty if that was not evaluated."""
    popular = reference and reference.get("popularity", {}).get("ndcg@10")
    raw = reference and reference["raw"].get("ndcg@10")
    if popular is None or raw is None:
        return ""
    return (
        f"Popular items alone, the same list for every user: nDCG {popular:.3f} (raw: {raw:.3f})."
    )


def _only(share: Share) -> str:
    return "only " if share.value < _LITTLE else ""
