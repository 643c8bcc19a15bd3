"""Choice: the setting that keeps most, among those that are safe enough."""

from collections.abc import Iterable
from typing import NamedTuple

from recveil.attack import Interval
from recveil.attack.members import describe_membership
from recveil.audit.verdict import COVERAGE
from recveil.compare.rows import Row
from recveil.compare.worth import (
    Share,
    Worth,
    check_worth,
    deciding,
    order_of,
    percent,
    say_interval,
    say_lists,
    say_ratings,
    say_share,
    shares_of,
    wanted,
    worth_of,
)
from recveil.errors import RecveilError
from recveil.evaluate import FEWEST_JUDGED
from recveil.release.claim import is_promise
from recveil.release.registry import undone_of

# If the attacks find fewer than this share in the raw data, they show little.
_WORKS = 0.5
# Risks at which the page answers the question, whoever asks.
LADDER = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
# At most so many settings are named in a sentence.
_NAMED = 4


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
        What one should know before taking it.
    not_told_apart : list of str
        Titles of the other safe settings whose worth has an interval that reaches into that of the
        answer: which of them is best, one split cannot tell.
    """

    max_risk: float | None
    min_k: int | None
    worth: Worth
    row: Row | None
    sentence: str
    caveats: list[str]
    not_told_apart: list[str]


def cheapest(
    rows: Iterable[Row],
    max_risk: float | None = None,
    min_k: int | None = None,
    worth: Worth = "both",
) -> Choice:
    """Return the setting that is worth most among those that are safe enough.

    Parameters
    ----------
    rows : iterable of Row
    max_risk : float, optional
        The upper end of the measured risk's 95 % interval must not be above it, unless it is
        proven that the risk is not.
    min_k : int, optional
        At least so many people must share each row. A shared set of items is not enough.
    worth : {"both", "ratings", "lists"}
        What counts: the share kept of the raw data's gain in predicted ratings, that of the nDCG
        of their lists, or the smaller of the two. A share that is told of no safe setting decides
        nothing; see `deciding`. Of settings worth the same it is the one with the better lists,
        then ratings, then the safest. Where nothing can be told, it is the safest.

    Returns
    -------
    Choice
        Never a baseline: it promises nothing. And without a proof, never a setting for which no
        adversary could look for nearly everybody: who was not looked for is not safe.

    Raises
    ------
    RecveilError
        If the limits make no sense.

    Examples
    --------
    >>> found = {"looked_for": 900, "attacked": 900, "most_attacked": 900, "rmse": 0.95}
    >>> kept = {"is_gain_told": True, "gain_kept": 0.7, "is_ndcg_told": True, "ndcg_kept": 0.4}
    >>> padded = Row("padded", 5, "k-anonymity", None, bound=0.2, risk_high=0.12, **found, **kept)
    >>> raw = padded._replace(method="raw", k=None, promise="nothing", gain_kept=1, ndcg_kept=1)
    >>> print(cheapest([padded, raw], max_risk=0.2).sentence)
    With at most 20% of the people found, “padded, k = 5” keeps most: lists only 40% of raw, \
ratings 70% of the raw gain.
    >>> cheapest([padded, raw], max_risk=0.1).row
    """
    _check(max_risk, min_k)
    check_worth(worth)
    rows = list(rows)
    safe = [row for row in rows if _is_safe(row, max_risk, min_k)]
    question = _question(max_risk, min_k)
    if not safe:
        sentence = f"{question}, no setting that was tried will do."
        return Choice(max_risk, min_k, worth, None, sentence, _nearest(rows), [])
    decided = deciding(safe, worth)
    safe.sort(key=lambda row: order_of(row, decided, _high(row)))
    row = safe[0]
    sentence = f"{question}, {_kept(row, worth, decided)}."
    tied = [other.title for other in safe[1:] if _overlap(row, other, decided)]
    caveats = [*_uncertainty(row, tied, worth, decided), *_caveats(row, max_risk)]
    return Choice(max_risk, min_k, worth, row, sentence, caveats, tied)


def frontier(rows: Iterable[Row], worth: Worth = "both") -> list[Row]:
    """Return the settings than which none is both safer and better, the safest first.

    Baselines are left out: nobody may take them. So is what nothing can be told of.

    Examples
    --------
    >>> def row(k, risk, kept):
    ...     return Row("padded", k, "k-anonymity", None, risk=risk, risk_high=risk, rmse=0.9,
    ...                is_ndcg_told=True, ndcg_kept=kept)
    >>> [row.k for row in frontier([row(2, 0.4, 0.9), row(5, 0.2, 0.8), row(9, 0.3, 0.7)])]
    [5, 2]
    """
    able = [row for row in rows if _is_candidate(row)]
    decided = deciding(able, worth)
    if decided is None:
        return []

    def order(row: Row) -> tuple[float, ...]:
        return order_of(row, decided, _high(row))

    best: list[Row] = []
    for row in sorted(able, key=lambda row: (_high(row), order(row))):
        if worth_of(row, decided) and (not best or order(row)[0] < order(best[-1])[0]):
            best.append(row)
    return best


def warnings_of(rows: Iterable[Row]) -> list[str]:
    """Say what makes the measured risks unfit to reassure anybody.

    Parameters
    ----------
    rows : iterable of Row
        The raw data among them are the control: there the attacks must find people.

    Examples
    --------
    >>> warnings_of([Row("raw", None, "nothing", None, risk=0.9)])
    []
    >>> print(*warnings_of([Row("padded", 5, "k-anonymity", None, risk=0.1)]))
    The raw data were not attacked: add raw to the methods, to see that the attacks work here.
    """
    attacked = [row for row in rows if row.risk is not None]
    if not attacked:
        return []
    warnings = []
    raw = [row.risk for row in attacked if row.method == "raw" and row.risk is not None]
    if not raw:
        warnings.append(
            "The raw data were not attacked: add raw to the methods, to see that the attacks work "
            "here."
        )
    elif raw[0] < _WORKS:
        warnings.append(
            f"Even in the raw data the strongest adversary finds {percent(raw[0])} of the people "
            f"only, so that low risks say little about the methods."
        )
    row = attacked[0]
    if row.looked_for and not was_looked_for(row):
        warnings.append(
            f"No adversary knew enough of more than {row.most_attacked:,} of {row.looked_for:,} "
            f"people; the others count as not found, so that all risks come out too low."
        )
    return warnings


def _check(max_risk: float | None, min_k: int | None) -> None:
    if max_risk is not None and not 0 < max_risk <= 1:
        raise RecveilError(
            f"max_risk (--max-risk) is {max_risk}; expected a share above 0, up to 1"
        )
    if min_k is not None and min_k < 2:
        raise RecveilError(f"min_k (--min-k) is {min_k}; expected at least 2")


def _is_safe(row: Row, max_risk: float | None, min_k: int | None) -> bool:
    if not _is_candidate(row):
        return False
    if min_k is not None and (row.bound is None or (row.k or 0) < min_k):
        return False
    if max_risk is None:
        return min_k is not None or was_looked_for(row)
    is_proven = row.bound is not None and row.bound <= max_risk
    return is_proven or (_high(row) <= max_risk and was_looked_for(row))


def _is_candidate(row: Row) -> bool:
    """Tell whether a row has a result, and promises something."""
    is_judged = row.risk_high is not None and row.rmse is not None
    return row.problem is None and is_promise(row.promise) and is_judged


def _high(row: Row) -> float:
    return 1.0 if row.risk_high is None else row.risk_high


def was_looked_for(row: Row) -> bool:
    """Tell whether some adversary could look for nearly everybody whom they were asked for."""
    return (row.most_attacked or 0) >= COVERAGE * (row.looked_for or 1)


def _question(max_risk: float | None, min_k: int | None) -> str:
    parts = []
    if max_risk is not None:
        parts.append(f"at most {percent(max_risk)} of the people found")
    if min_k is not None:
        parts.append(f"at least {min_k} people on each row")
    return f"With {' and '.join(parts)}" if parts else "Whatever the risk"


def _kept(row: Row, worth: Worth, decided: Worth | None) -> str:
    lists, ratings = say_lists(row), say_ratings(row)
    told = f"{ratings}, {lists}" if worth == "ratings" else f"{lists}, {ratings}"
    if decided is None:
        return f"which setting keeps most cannot be told; “{row.title}” is the safest: {told}"
    if all(share is not None and _is_nothing(share) for share in wanted(row, worth)):
        return f"“{row.title}” is the best, and nothing collaborative is left: {told}"
    if decided != worth or not all(share and share.is_told for share in wanted(row, worth)):
        return f"“{row.title}” keeps most, as far as can be told: {told}"
    return f"“{row.title}” keeps most{_NAMES[worth]}: {told}"


def _is_nothing(share: Share) -> bool:
    return share.value <= 0 and (share.high is None or share.high <= 0)


_NAMES: dict[Worth, str] = {"both": "", "ratings": " for ratings", "lists": " for lists"}


def _overlap(best: Row, other: Row, decided: Worth | None) -> bool:
    """Tell whether the intervals of what two settings are worth overlap."""
    one, two = (decided and worth_of(row, decided) for row in (best, other))
    if one is None or two is None or one.low is None or two.high is None:
        return False
    return two.high >= one.low


def _nearest(rows: list[Row]) -> list[str]:
    """Say what the lowest risk was, where none is low enough."""
    able = [row for row in rows if _is_candidate(row)]
    if not able:
        return ["No setting that promises anything could be judged."]
    row = min(able, key=lambda row: (_high(row), -(row.k or 0)))
    if not was_looked_for(row):
        return [
            f"No measured risk can be trusted: no adversary knew enough of more than "
            f"{row.most_attacked:,} of {row.looked_for:,} people, and who was not looked for is "
            f"not safe. Take what is proven: k-anonymity with a k of at least 1 / risk."
        ]
    return [
        f"The safest was “{row.title}”: {percent(row.risk)} of {row.looked_for:,} people found "
        f"({percent(row.risk_low)} to {percent(row.risk_high)})."
    ]


def _caveats(row: Row, max_risk: float | None) -> list[str]:
    caveats = [
        f"“{row.adversary}” found {percent(row.risk)} of {row.looked_for:,} people "
        f"({percent(row.risk_low)} to {percent(row.risk_high)}), more than any other adversary."
    ]
    if row.bound is None:
        caveats.append(
            "That is measured, and no promise: only the sets of rated items are shared, and "
            "somebody who knows more ratings finds more."
        )
    elif max_risk is not None and row.bound > max_risk:
        caveats.append(
            f"That is measured. What is proven is at most {percent(row.bound)}: better attacks may "
            f"find so many. For a proof of at most {percent(max_risk)}, ask for k = "
            f"{_least_k(max_risk)} or more."
        )
    else:
        caveats.append(
            f"That is measured, by attacks that better ones may beat; proven is that no attack on "
            f"this release alone finds more than {percent(row.bound)}."
        )
    if row.published_share:
        why = ""
        if row.lone_share:
            why = f"; {percent(row.lone_share)} because nobody else in the group rated the item"
        caveats.append(
            f"{percent(row.published_share)} of all ratings stand in it exactly as they were given"
            f"{why}."
        )
    caveats += undone_of(row.method)
    if row.membership is not None:
        low, high = row.membership_low or 0.0, row.membership_high or 1.0
        caveats.append(describe_membership(Interval(row.membership, low, high, 0), "An adversary"))
    return caveats


def _uncertainty(row: Row, tied: list[str], worth: Worth, decided: Worth | None) -> list[str]:
    """Say how far the shares can be trusted, and which settings may be as good."""
    caveats = [_RULES[worth]]
    shares = shares_of(row)
    if not all(share is None or share.is_told for share in shares):
        caveats.append(_WIDE)
    if decided != worth and decided is not None:
        caveats.append(f"So only {decided} decide here.")
    intervals = [
        f"{name} {say_interval(share)}"
        for name, share in (("lists", shares.lists), ("ratings", shares.ratings))
        if share is not None and say_interval(share)
    ]
    if intervals:
        caveats.append(
            f"Measured on one split, {', '.join(intervals)} (95 %) over the people judged; "
            f"another split or seed may move it further."
        )
    if shares.ratings is None and row.raw_gain is not None:
        caveats.append(
            f"A share of a gain is told only if at least {FEWEST_JUDGED} people are judged, and "
            f"the gain's own 95 % interval lies above 0 and is not wider than the gain. In RMSE, "
            f"that of the raw table is {row.raw_gain:.4f}"
            f"{_ends(row.raw_gain_low, row.raw_gain_high)}."
        )
    if tied:
        names = ", ".join(f"“{title}”" for title in tied[:_NAMED])
        more = f" and {len(tied) - _NAMED} more" if len(tied) > _NAMED else ""
        caveats.append(f"Not told apart from it: {names}{more}. Take the safest of them.")
    return [*caveats, *_by_whom(row)]


_WIDE = (
    "A share is not told if its interval is wider than 100 points. Shares that are told of no safe "
    "setting decide nothing."
)
_RULES: dict[Worth, str] = {
    "both": "Both lists and ratings count: a setting is worth the smaller of its two shares.",
    "lists": "Only lists count here: what the setting does to ratings was not asked for.",
    "ratings": "Only ratings count here: what the setting does to lists was not asked for.",
}


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({low:.4f} to {high:.4f})"


def _by_whom(row: Row) -> list[str]:
    """Say whose shares these are, and what the best recommender would have kept."""
    told = []
    if row.ndcg is not None:
        told.append(f"lists by “{row.ranker}” (nDCG {row.ndcg:.3f}; raw by “{row.raw_ranker}”)")
    if row.rmse is not None:
        told.append(f"ratings by “{row.recommender}” (RMSE {row.rmse:.4f})")
    best = [
        f"{name} {say_share(Share(share, None, None))}"
        for name, share in (
            ("lists", row.best_ndcg_kept if row.is_ndcg_told else None),
            ("ratings", row.best_gain_kept if row.is_gain_told else None),
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
