"""Caveats: what is said of a choice, and what one should know before taking it."""

from collections.abc import Iterable

from recveil.attack import Interval
from recveil.attack.members import describe_membership
from recveil.attack.stronger import SHADOWS_OF_ALL
from recveil.compare.risk_axes import PERSON, Axis
from recveil.compare.rows import Row
from recveil.compare.safety import is_candidate, was_looked_for
from recveil.compare.worth import (
    Share,
    Shares,
    Worth,
    is_all_popular,
    judges_lists,
    judges_ratings,
    percent,
    say_figures,
    say_interval,
    say_lists,
    say_ratings,
    say_share,
    shares_of,
    wanted,
    what_of,
)
from recveil.errors import describe_count
from recveil.evaluate import FEWEST_JUDGED
from recveil.release.registry import undone_of, variant_of

# If the attacks find fewer than this share in the raw data, they show little.
_WORKS = 0.5
# At most so many settings are named in a sentence.
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
    """Say what makes the measured risks unfit to reassure anybody.

    Parameters
    ----------
    rows : iterable of Row
        The raw data among them are the control: there the attacks must find people.
    axis : Axis
        What the risk is.

    Examples
    --------
    >>> warnings_of([Row("raw", None, "nothing", None, risk=0.9)])
    []
    >>> print(*warnings_of([Row("padded", 5, "k-anonymity", None, risk=0.1)]))
    The raw data were not attacked: add raw to the methods, to see that the attacks work here.
    """
    rows = list(rows)
    warnings = _nobody_to_be_found(rows, axis)
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


def _nobody_to_be_found(rows: list[Row], axis: Axis) -> list[str]:
    """Say whose risk is not told on an axis that looks for people, as it has none to be found."""
    drawn = [row for row in rows if not variant_of(row.method).about_claim.holds_people]
    if not axis.is_search or not drawn:
        return []
    names = ", ".join(f"“{row.title}”" for row in drawn[:_NAMED])
    more = f" and {len(drawn) - _NAMED} more" if len(drawn) > _NAMED else ""
    return [
        f"By this risk nothing is told of {names}{more}: no record of theirs is anybody's, so that "
        f"nobody can be looked for in it. That is no low risk; compare by the risk that all "
        f"share: shadows (--shadows 32), or the risk membership (--risk membership)."
    ]


def say_question(max_risk: float | None, min_k: int | None, axis: Axis = PERSON) -> str:
    """Say what was asked for, as the beginning of a sentence.

    Examples
    --------
    >>> say_question(0.1, 5), say_question(None, None)
    ('With at most 10% of the people found and at least 5 people on each row', 'Whatever the risk')
    """
    parts = []
    if max_risk is not None:
        parts.append(f"at most {percent(max_risk)} {axis.limit}")
    if min_k is not None:
        parts.append(f"at least {min_k} people on each row")
    return f"With {' and '.join(parts)}" if parts else "Whatever the risk"


def say_kept(row: Row, worth: Worth, decided: Worth | None) -> str:
    """Say what the answer keeps, as the end of a sentence.

    Parameters
    ----------
    row : Row
        The answer.
    worth : {"both", "ratings", "lists"}
        What was asked for.
    decided : {"both", "ratings", "lists"} or None
        Which shares decided; see `recveil.compare.worth.deciding`.
    """
    parts = [say_lists(row)] if judges_lists(row) else []
    parts += [say_ratings(row)] if judges_ratings(row) else []
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


def say_nearest(rows: list[Row], axis: Axis = PERSON) -> list[str]:
    """Say what the lowest risk was, where none is low enough."""
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
            f"{describe_count(row.looked_for or 0, 'person', 'people')}, and who was not looked "
            f"for is not safe. {advice}"
        ]
    safest = f"The safest was “{row.title}”: {axis.say(row, axis.told)} ({axis.ends(row)})"
    return [f"{safest}{axis.nothing_new(row)}."]


def say_passed_over(better: list[Row], max_risk: float | None, axis: Axis = PERSON) -> list[str]:
    """Say which settings keep more than the answer, and why they are not it.

    Parameters
    ----------
    better : list of Row
        Settings that would be the answer, if everybody could have been looked for; the best first.
    max_risk : float or None
    axis : Axis
    """
    if not better:
        return []
    first, *others = better
    also = f", with {len(others)} more that would come before the answer" if others else ""
    unproven = f"; nor is it proven to be at most {percent(max_risk)}" if max_risk else ""
    return [
        f"“{first.title}” keeps more, and is passed over{also}: measured is "
        f"{axis.say(first, axis.told)} ({axis.ends(first)}), but no adversary knew enough of more "
        f"than {first.most_attacked or 0:,} of them, and who was not looked for is not safe"
        f"{unproven}. Whoever can answer for those may take it."
    ]


def say_safety(row: Row, max_risk: float | None, axis: Axis = PERSON) -> list[str]:
    """Say how safe the answer is, what of that is proven, and what else it gives away."""
    caveats = [_strongest(row, axis), _proven(row, max_risk, axis)]
    if axis is not PERSON and row.risk is not None:
        caveats += [f"Whom it gives away besides: {_strongest(row, PERSON)}"]
    if row.published_share:
        caveats.append(_published(row.published_share, row.lone_share))
    caveats += undone_of(row.method)
    return caveats + _members(row)


def _members(row: Row) -> list[str]:
    """Say how well one can tell who is in the data, by the strongest test that was made."""
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
    """Say what the strongest adversary reached."""
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


def say_uncertainty(row: Row, tied: list[str], worth: Worth, decided: Worth | None) -> list[str]:
    """Say how far the shares can be trusted, and which settings may be as good.

    Parameters
    ----------
    row : Row
        The answer.
    tied : list of str
        Titles of the settings that are not told apart from it.
    worth, decided
        As in `say_kept`.
    """
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
        f"{name} {say_interval(share)}"
        for name, share in (("lists", shares.lists), (what_of(row), shares.ratings))
        if share is not None and say_interval(share)
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
    """Say whose shares these are, and what the best recommender would have kept."""
    told = []
    if row.ndcg is not None:
        told.append(
            f"lists by “{row.ranker}” (nDCG {row.ndcg:.3f}; best on raw: “{row.raw_ranker}”)"
        )
    if row.rmse is not None:
        told.append(f"ratings by “{row.recommender}” (RMSE {row.rmse:.4f})")
    if row.words_right is not None:
        told.append(f"words by “{row.recommender}” ({say_figures(row)})")
    best = [
        f"{name} {say_share(Share(share, None, None))}"
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
