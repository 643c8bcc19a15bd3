"""Choice of the setting with the highest utility among the safe ones, and its description."""

from collections.abc import Iterable
from typing import NamedTuple

from recveil.attacks import Interval
from recveil.attacks.membership.inference import SHADOWS_OF_ALL, describe_membership
from recveil.comparison.risk_axes import (
    PERSON,
    Axis,
    axis_named,
    is_candidate,
    is_passed_over,
    is_safe,
    was_looked_for,
)
from recveil.comparison.rows import Row
from recveil.comparison.utility import (
    Share,
    Shares,
    Worth,
    check_utility,
    deciding,
    format_figures,
    format_interval,
    format_lists,
    format_ratings,
    format_share,
    is_all_popular,
    judges_lists,
    judges_ratings,
    order_of,
    percent,
    shares_of,
    utility_of,
    wanted,
    what_of,
)
from recveil.evaluation import FEWEST_JUDGED, is_share_reported
from recveil.release.registry import undone_of, variant_of
from recveil.runtime.errors import RecveilError, describe_count


def describe_advice(row: Row, worth: Worth = "both", axis: Axis = PERSON) -> str:
    """Describe what to publish, the retained utility, and the risk."""
    kept = [_lists(row)] if judges_lists(row) else []
    kept += [format_ratings(row)] if judges_ratings(row) else []
    if worth == "ratings":
        kept.reverse()
    bound = axis.bound_of(row)
    proven = "nothing is proven" if bound is None else f"proven: at most {percent(bound)}"
    return (
        f"Publish “{row.title}”: {', '.join(kept)}; the price is that {axis.who(row)} "
        f"{axis.say(row, axis.reach)} ({axis.ends(row)}; {proven}){axis.nothing_new(row)}."
        f"{_published_by(row)}"
    )


def _published_by(row: Row) -> str:
    """Describe what else the release reveals: exact ratings, and membership."""
    told = []
    if row.published_share:
        told.append(f"leaves {percent(row.published_share)} of all ratings exactly as given")
    if row.membership is not None and (row.membership_low or 0.0) > 0.5:
        area = f"{row.membership:.2f} (a coin: 0.50)"
        told.append(f"tells who is in the data, by an AUC of {area}")
    return f" It {', and '.join(told)}." if told else ""


def _lists(row: Row) -> str:
    """Describe the quality of the lists, relative to popular items alone."""
    share = shares_of(row).lists
    if share is None:
        return "how good lists are cannot be told"
    if not share.is_told:
        return "how good lists are is not told by these people"
    if share.value >= 1:
        return "lists are as good as the best on the raw data"
    kept = f"lists are {percent(share.value)} as good as the best on the raw data"
    way = describe_method_choice(row)
    return f"{kept} ({way})" if way else kept


def describe_method_choice(row: Row) -> str:
    """Describe how far lists improve from popular items to the best lists of the raw data."""
    if is_all_popular(row):
        return "which are of popular items alone"
    gain, low, high = row.lists_gain_kept, row.lists_gain_low, row.lists_gain_high
    if gain is None or not row.is_ndcg_told or not is_share_reported(gain, low, high):
        return ""
    if gain >= 1:
        return "as raw"
    if gain <= 0:
        is_worse = high is not None and high < 0
        return f"{'worse' if is_worse else 'no better'} than popular items alone"
    return f"{percent(gain)} of the way to them from popular items alone"


# Attacks that find less than this share in the raw data show little.
_WORKS = 0.5
# Maximum number of settings named in a sentence.
_NAMED = 4
_NAMES: dict[Worth, str] = {"both": "", "ratings": " for ratings", "lists": " for lists"}
_POPULAR = "Lists that are no better than popular items alone count as nothing kept."
_ALL_POPULAR = (
    "On the raw data no lists were better than those of popular items alone, which take no "
    "release: how near lists come to these shows little."
)
_RULES: dict[Worth, str] = {
    "both": "Both lists and ratings count: a setting is worth the smaller of its two shares.",
    "lists": "Only lists count here: what the setting does to ratings was not asked for.",
    "ratings": "Only ratings count here: what the setting does to lists was not asked for.",
}
_WIDE = (
    "A share is not told if its interval is wider than 100 points. Shares that are told of no safe "
    "setting decide nothing."
)


def warnings_of(rows: Iterable[Row], axis: Axis = PERSON) -> list[str]:
    """Return the reasons why the measured risks may be too low."""
    rows = list(rows)
    warnings = _no_target(rows, axis)
    attacked = [row for row in rows if axis.of(row) is not None]
    if not attacked:
        is_open = any(row.problem is None and variant_of(row.method).is_attacked for row in rows)
        return [*warnings, axis.untold] if is_open and axis.untold else warnings
    raw = [row for row in attacked if variant_of(row.method).is_control]
    if not raw:
        warnings.append(
            "The raw data were not attacked: add raw to the methods, to see that the attacks work "
            "here."
        )
    elif (axis.of(raw[0]) or 0.0) < _WORKS:
        warnings.append(
            f"Even in the raw data the strongest adversary {axis.say(raw[0], axis.reach)} only, "
            f"so that low risks say little about the methods."
        )
    row = attacked[0]
    if row.looked_for and not was_looked_for(row, axis):
        warnings.append(
            f"No adversary knew enough of more than {row.most_attacked:,} of {row.looked_for:,} "
            f"people; the others count as not found, so that all risks come out too low."
        )
    return warnings


def _no_target(rows: list[Row], axis: Axis) -> list[str]:
    """List settings without targets on an axis that counts users found."""
    drawn = [row for row in rows if not variant_of(row.method).about_claim.contains_users]
    if not axis.is_search or not drawn:
        return []
    names = ", ".join(f"“{row.title}”" for row in drawn[:_NAMED])
    more = f" and {len(drawn) - _NAMED} more" if len(drawn) > _NAMED else ""
    return [
        f"By this risk nothing is told of {names}{more}: no record of theirs is anybody's, so that "
        f"nobody can be looked for in it. That is no low risk; compare by the risk that all "
        f"share: shadows (--shadows 32), or the risk membership (--risk membership)."
    ]


def describe_question(max_risk: float | None, min_k: int | None, axis: Axis = PERSON) -> str:
    """Describe the limits, as the beginning of a sentence.

    Examples
    --------
    >>> describe_question(0.1, 5), describe_question(None, None)
    ('With at most 10% of the people found and at least 5 people on each row', 'Whatever the risk')
    """
    parts = []
    if max_risk is not None:
        parts.append(f"at most {percent(max_risk)} {axis.limit}")
    if min_k is not None:
        parts.append(f"at least {min_k} people on each row")
    return f"With {' and '.join(parts)}" if parts else "Whatever the risk"


def describe_utility_kept(row: Row, worth: Worth, decided: Worth | None) -> str:
    """Describe the retained utility, as the end of a sentence."""
    parts = [format_lists(row)] if judges_lists(row) else []
    parts += [format_ratings(row)] if judges_ratings(row) else []
    told = ", ".join(parts[::-1] if worth == "ratings" else parts)
    if decided is None:
        return f"which setting keeps most cannot be told; “{row.title}” is the safest: {told}"
    if all(share is not None and _is_nothing(share) for share in wanted(row, worth)):
        return f"“{row.title}” is the best, and nothing collaborative is left: {told}"
    if decided != worth or not all(share and share.is_told for share in wanted(row, worth)):
        return f"“{row.title}” keeps most, as far as can be told: {told}"
    return f"“{row.title}” keeps most{_NAMES[worth]}: {told}"


def _is_nothing(share: Share) -> bool:
    return share.value <= 0 and (share.high is None or share.high <= 0)


def describe_nearest(rows: list[Row], axis: Axis = PERSON) -> list[str]:
    """State the lowest risk, where none is low enough."""
    able = [row for row in rows if is_candidate(row, axis)]
    if not able:
        return ["No setting that promises anything could be judged."]
    row = min(able, key=lambda row: (axis.highest(row), -(row.k or 0)))
    if not was_looked_for(row, axis):
        proven = "k-anonymity with a k of at least 1 / risk"
        advice = f"Take what is proven: {proven}." if axis.bound else "Look for more of them."
        return [
            f"No measured risk can be trusted: no adversary knew enough of more than "
            f"{row.most_attacked:,} of "
            f"{describe_count(row.looked_for or 0, 'user')}, and users who were not attacked are "
            f"not safe. {advice}"
        ]
    safest = f"The safest was “{row.title}”: {axis.say(row, axis.told)} ({axis.ends(row)})"
    return [f"{safest}{axis.nothing_new(row)}."]


def describe_passed_over(
    better: list[Row], max_risk: float | None, axis: Axis = PERSON
) -> list[str]:
    """List the settings with more utility than the answer, and why they were rejected."""
    if not better:
        return []
    first, *others = better
    also = f", with {len(others)} more that would come before the answer" if others else ""
    unproven = f"; nor is it proven to be at most {percent(max_risk)}" if max_risk else ""
    return [
        f"“{first.title}” keeps more, and is passed over{also}: measured is "
        f"{axis.say(first, axis.told)} ({axis.ends(first)}), but no adversary knew enough of more "
        f"than {first.most_attacked or 0:,} of them, and users who were not attacked are not safe"
        f"{unproven}. Whoever can answer for those may take it."
    ]


def describe_safety(row: Row, max_risk: float | None, axis: Axis = PERSON) -> list[str]:
    """Describe the safety of the answer, what is proven, and what else it reveals."""
    caveats = [_strongest(row, axis), _proven(row, max_risk, axis)]
    if axis is not PERSON and row.risk is not None:
        caveats += [f"Whom it gives away besides: {_strongest(row, PERSON)}"]
    if row.published_share:
        caveats.append(_published(row.published_share, row.lone_share))
    caveats += undone_of(row.method)
    return caveats + _members(row)


def _members(row: Row) -> list[str]:
    """Describe membership inference by the strongest attack that was run."""
    shadows = None
    if row.shadows_auc is not None:
        low, high = row.shadows_auc_low or 0.0, row.shadows_auc_high or 1.0
        shadows = Interval(row.shadows_auc, low, high, 0)
    if row.membership is not None:
        low, high = row.membership_low or 0.0, row.membership_high or 1.0
        area = Interval(row.membership, low, high, 0)
        return [describe_membership(area, "An adversary", shadows)]
    if shadows is not None:
        return []
    return [
        f"Whether an adversary can tell who is in the data was not measured: {SHADOWS_OF_ALL} does "
        f"that, by releases made for comparison."
    ]


def _strongest(row: Row, axis: Axis) -> str:
    """Describe the rate of the strongest adversary."""
    reached = axis.say(row, axis.reached)
    return (
        f"{axis.who(row)} {reached} ({axis.ends(row)}), more than any other adversary"
        f"{axis.nothing_new(row)}."
    )


def _proven(row: Row, max_risk: float | None, axis: Axis) -> str:
    if axis.bound is None:
        return (
            "That is measured, and no promise: nothing that is proven of a release bounds this "
            "risk, and better attacks may reach more."
        )
    if row.bound is None:
        unpromised = variant_of(row.method).about_claim.unpromised
        return (
            f"That is measured, and no promise: {unpromised}, and somebody who knows more ratings "
            f"finds more."
        )
    if max_risk is not None and row.bound > max_risk:
        return (
            f"That is measured. What is proven is at most {percent(row.bound)}: better attacks may "
            f"find so many. For a proof of at most {percent(max_risk)}, ask for k = "
            f"{_least_k(max_risk)} or more."
        )
    return (
        f"That is measured, by attacks that better ones may beat; proven is that no attack on "
        f"this release alone finds more than {percent(row.bound)}."
    )


def _published(share: float, lone: float | None) -> str:
    why = f"; {percent(lone)} because nobody else in the group rated the item" if lone else ""
    return f"{percent(share)} of all ratings stand in it exactly as they were given{why}."


def describe_uncertainty(
    row: Row, tied: list[str], worth: Worth, decided: Worth | None
) -> list[str]:
    """Describe the precision of the shares, and which settings may be as good."""
    caveats = [_RULES[worth]]
    if worth != "ratings":
        caveats[0] += f" {_ALL_POPULAR if is_all_popular(row) else _POPULAR}"
    shares = shares_of(row)
    if not all(share is None or share.is_told for share in shares):
        caveats.append(_WIDE)
    if decided != worth and decided is not None:
        caveats.append(f"So only {decided} decide here.")
    caveats += _measured_on_one_split(row, shares)
    if shares.ratings is None and row.raw_gain is not None:
        caveats.append(
            f"A share of a gain is told only if at least {FEWEST_JUDGED} people are judged, and "
            f"the gain's own 95 % interval lies above 0 and is not wider than the gain. In "
            f"{'RMSE' if what_of(row) == 'ratings' else 'the share of words told rightly'}, "
            f"that of the raw table is {row.raw_gain:.4f}"
            f"{_ends(row.raw_gain_low, row.raw_gain_high)}."
        )
    if tied:
        names = ", ".join(f"“{title}”" for title in tied[:_NAMED])
        more = f" and {len(tied) - _NAMED} more" if len(tied) > _NAMED else ""
        caveats.append(f"Not told apart from it: {names}{more}. Take the safest of them.")
    return [*caveats, *_by_whom(row)]


def _measured_on_one_split(row: Row, shares: Shares) -> list[str]:
    intervals = [
        f"{name} {format_interval(share)}"
        for name, share in (("lists", shares.lists), (what_of(row), shares.ratings))
        if share is not None and format_interval(share)
    ]
    if not intervals:
        return []
    return [
        f"Measured on one split, {', '.join(intervals)} (95 %) over the people judged; "
        f"another split or seed may move it further."
    ]


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({low:.4f} to {high:.4f})"


def _by_whom(row: Row) -> list[str]:
    """Name the recommenders of the shares, and what the best recommender would have retained."""
    told = []
    if row.ndcg is not None:
        told.append(
            f"lists by “{row.ranker}” (nDCG {row.ndcg:.3f}; best on raw: “{row.raw_ranker}”)"
        )
    if row.rmse is not None:
        told.append(f"ratings by “{row.recommender}” (RMSE {row.rmse:.4f})")
    if row.words_right is not None:
        told.append(f"words by “{row.recommender}” ({format_figures(row)})")
    best = [
        f"{name} {format_share(Share(share, None, None))}"
        for name, share in (
            ("lists", row.best_ndcg_kept if row.is_ndcg_told else None),
            (what_of(row), row.best_gain_kept if row.is_gain_told else None),
        )
        if share is not None
    ]
    if not best:
        return []
    return [
        f"These are the shares of the recommenders that a recipient would choose: "
        f"{', '.join(told)}. By the best of those run on either side, which nobody could know: "
        f"{', '.join(best)}."
    ]


def _least_k(max_risk: float) -> int:
    """Return the lowest k with 1 / k at most the risk.

    Examples
    --------
    >>> _least_k(0.1), _least_k(0.3)
    (10, 4)
    """
    k = max(2, int(1 / max_risk))
    return k if 1 / k <= max_risk else k + 1


class Choice(NamedTuple):
    """The answer to one question.

    Attributes
    ----------
    max_risk : float or None
    min_k : int or None
    worth : {"both", "ratings", "lists"}
        The question.
    row : Row or None
        The setting, or None if there is none.
    sentence : str
        The answer in words.
    caveats : list of str
        Caveats of the answer.
    not_told_apart : list of str
        Titles of the other safe settings whose utility interval overlaps that of the answer, so
        that one split cannot rank them.
    risk : str
        The risk; see `recveil.comparison.AXES`.
    advice : str
        What to publish, the retained utility and the risk, in one sentence; the same as `sentence`
        if there is no answer.
    """

    max_risk: float | None
    min_k: int | None
    worth: Worth
    row: Row | None
    sentence: str
    caveats: list[str]
    not_told_apart: list[str]
    risk: str = PERSON.name
    advice: str = ""


def cheapest(
    rows: Iterable[Row],
    max_risk: float | None = None,
    min_k: int | None = None,
    worth: Worth = "both",
    risk: str = PERSON.name,
) -> Choice:
    """Return the setting with the highest utility among those that are safe enough.

    Parameters
    ----------
    rows : iterable of Row
    max_risk : float, optional
        Limit of the upper end of the measured risk's 95 % interval, or of its proven bound.
    min_k : int, optional
        Minimum number of users on each row. A shared set of items is not enough.
    worth : {"both", "ratings", "lists"}
        The utility: the retained share of the raw data's gain in predicted ratings, that of the
        nDCG of their lists, or the smaller of the two. A share that no safe setting reports decides
        nothing; see `deciding`. Ties go to the better lists, then ratings, then to the safest.
        Without any share, the safest wins.
    risk : {"person", "group", "membership", "links", "shadows"}
        The risk, each by the adversary who is strongest there; see `recveil.comparison.AXES`.

    Returns
    -------
    Choice
        Never a baseline, which has no guarantee. And without a proof, never a setting for which no
        adversary could attack nearly all users: a user who was not attacked is not safe.

    Raises
    ------
    RecveilError
        If a limit is out of range.

    Examples
    --------
    >>> found = {"looked_for": 900, "attacked": 900, "most_attacked": 900, "rmse": 0.95}
    >>> kept = {"is_gain_told": True, "gain_kept": 0.7, "is_ndcg_told": True, "ndcg_kept": 0.4}
    >>> padded = Row("padded", 5, "k-anonymity", None, bound=0.2, risk_high=0.12, **found, **kept)
    >>> raw = padded._replace(method="raw", k=None, promise="nothing", gain_kept=1, ndcg_kept=1)
    >>> print(cheapest([padded, raw], max_risk=0.2).sentence)
    With at most 20% of the people found, “padded, k = 5” keeps most: lists only 40% of raw, ratings
    70% of the raw gain.
    >>> cheapest([padded, raw], max_risk=0.1).row
    """
    _check(max_risk, min_k)
    check_utility(worth)
    axis = axis_named(risk)
    rows = list(rows)
    safe = [row for row in rows if is_safe(row, max_risk, min_k, axis)]
    question = describe_question(max_risk, min_k, axis)
    if not safe:
        sentence = f"{question}, no setting that was tried will do."
        nearest = describe_nearest(rows, axis)
        return Choice(max_risk, min_k, worth, None, sentence, nearest, [], risk, sentence)
    decided = deciding(safe, worth)

    def order(row: Row) -> tuple[float, ...]:
        return order_of(row, decided, axis.highest(row))

    row, *others = sorted(safe, key=order)
    passed = [other for other in rows if is_passed_over(other, max_risk, min_k, axis)]
    better = sorted((other for other in passed if order(other) < order(row)), key=order)
    sentence = f"{question}, {describe_utility_kept(row, worth, decided)}."
    tied = [other.title for other in others if _overlap(row, other, decided)]
    caveats = [
        *describe_passed_over(better, max_risk, axis),
        *describe_uncertainty(row, tied, worth, decided),
        *describe_safety(row, max_risk, axis),
    ]
    advice = describe_advice(row, worth, axis)
    return Choice(max_risk, min_k, worth, row, sentence, caveats, tied, risk, advice)


def frontier(rows: Iterable[Row], worth: Worth = "both", risk: str = PERSON.name) -> list[Row]:
    """Return the settings on the Pareto frontier of risk and utility, the safest first.

    Baselines are left out, since they are no candidates, as are settings without reported shares.

    Examples
    --------
    >>> def row(k, risk, kept):
    ...     return Row("padded", k, "k-anonymity", None, risk=risk, risk_high=risk, rmse=0.9,
    ...                is_ndcg_told=True, ndcg_kept=kept)
    >>> [row.k for row in frontier([row(2, 0.4, 0.9), row(5, 0.2, 0.8), row(9, 0.3, 0.7)])]
    [5, 2]
    """
    axis = axis_named(risk)
    able = [row for row in rows if is_candidate(row, axis)]
    decided = deciding(able, worth)
    if decided is None:
        return []

    def order(row: Row) -> tuple[float, ...]:
        return order_of(row, decided, axis.highest(row))

    best: list[Row] = []
    for row in sorted(able, key=lambda row: (axis.highest(row), order(row))):
        if utility_of(row, decided) and (not best or order(row)[0] < order(best[-1])[0]):
            best.append(row)
    return best


def _check(max_risk: float | None, min_k: int | None) -> None:
    if max_risk is not None and not 0 < max_risk <= 1:
        raise RecveilError(
            f"max_risk (--max-risk) is {max_risk}; expected a share above 0, up to 1",
            code="option.value",
        )
    if min_k is not None and min_k < 2:
        raise RecveilError(f"min_k (--min-k) is {min_k}; expected at least 2", code="option.value")


def _overlap(best: Row, other: Row, decided: Worth | None) -> bool:
    """Return whether the utility intervals of two settings overlap."""
    one, two = (decided and utility_of(row, decided) for row in (best, other))
    if one is None or two is None or one.low is None or two.high is None:
        return False
    return two.high >= one.low
