"""Choice: the setting that keeps most, among those that are safe enough."""

from collections.abc import Iterable
from typing import NamedTuple

from recveil.attack import Interval
from recveil.attack.membership import describe_membership
from recveil.attack.stronger import PADDED
from recveil.audit.verdict import COVERAGE
from recveil.compare.rows import Row
from recveil.errors import RecveilError

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
        The question.
    row : Row or None
        The setting, or None if there is none.
    sentence : str
        The answer in words.
    caveats : list of str
        What one should know before taking it.
    not_told_apart : list of str
        Titles of the other safe settings whose gain has an interval that reaches into that of the
        answer: which of them is best, one split cannot tell.
    """

    max_risk: float | None
    min_k: int | None
    row: Row | None
    sentence: str
    caveats: list[str]
    not_told_apart: list[str]


def cheapest(
    rows: Iterable[Row], max_risk: float | None = None, min_k: int | None = None
) -> Choice:
    """Return the setting that keeps most of the gain among those that are safe enough.

    Parameters
    ----------
    rows : iterable of Row
    max_risk : float, optional
        The upper end of the measured risk's 95 % interval must not be above it, unless it is
        proven that the risk is not.
    min_k : int, optional
        At least so many people must share each row. A shared set of items is not enough.

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
    >>> found = {"looked_for": 900, "attacked": 900, "most_attacked": 900}
    >>> padded = Row("padded", 5, "k-anonymity", None, bound=0.2, risk_high=0.12, **found)
    >>> raw = Row("raw", None, "nothing", None, risk_high=0.02, gain_kept=1, rmse=0.9, **found)
    >>> rows = [padded._replace(gain_kept=0.5, rmse=0.95), raw]
    >>> print(cheapest(rows, max_risk=0.2).sentence)
    With at most 20% of the people found, “padded, k = 5” keeps most: 50% of the collaborative gain.
    >>> cheapest(rows, max_risk=0.1).row
    """
    _check(max_risk, min_k)
    rows = list(rows)
    safe = [row for row in rows if _is_safe(row, max_risk, min_k)]
    question = _question(max_risk, min_k)
    if not safe:
        sentence = f"{question}, no setting that was tried will do."
        return Choice(max_risk, min_k, None, sentence, _nearest(rows), [])
    row = min(safe, key=_order)
    sentence = f"{question}, “{row.title}” {_kept(row)}."
    tied = [other.title for other in sorted(safe, key=_order) if _overlap(row, other)]
    return Choice(max_risk, min_k, row, sentence, _caveats(row, max_risk, tied), tied)


def frontier(rows: Iterable[Row]) -> list[Row]:
    """Return the settings than which none is both safer and better, the safest first.

    Baselines are left out: nobody may take them.

    Examples
    --------
    >>> def row(k, risk, rmse):
    ...     return Row("padded", k, "k-anonymity", None, risk=risk, risk_high=risk, rmse=rmse,
    ...                looked_for=9, attacked=9, most_attacked=9)
    >>> [row.k for row in frontier([row(2, 0.4, 0.90), row(5, 0.2, 0.92), row(9, 0.3, 0.93)])]
    [5, 2]
    """
    able = [row for row in rows if _is_candidate(row)]
    best: list[Row] = []
    for row in sorted(able, key=lambda row: (_high(row), _order(row))):
        if not best or _order(row)[0] < _order(best[-1])[0]:
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
    return row.problem is None and row.promise != "nothing" and is_judged


def _high(row: Row) -> float:
    return 1.0 if row.risk_high is None else row.risk_high


def was_looked_for(row: Row) -> bool:
    """Tell whether some adversary could look for nearly everybody whom he was asked for."""
    return (row.most_attacked or 0) >= COVERAGE * (row.looked_for or 1)


def _order(row: Row) -> tuple[float, float, int]:
    """Sort the best first: by RMSE, which is the gain kept, and exists where there is no gain."""
    return row.rmse or 0.0, _high(row), -(row.k or 0)


def _question(max_risk: float | None, min_k: int | None) -> str:
    parts = []
    if max_risk is not None:
        parts.append(f"at most {percent(max_risk)} of the people found")
    if min_k is not None:
        parts.append(f"at least {min_k} people on each row")
    return f"With {' and '.join(parts)}" if parts else "Whatever the risk"


def _kept(row: Row) -> str:
    if row.gain_kept is None:
        return f"serves best: RMSE {row.rmse:.4f} (the raw data give no collaborative gain)"
    if row.gain_kept <= 0:
        return "serves best, and no better than averages would: nothing collaborative is left"
    return f"keeps most: {percent(row.gain_kept)} of the collaborative gain"


def _overlap(best: Row, other: Row) -> bool:
    """Tell whether the intervals of two gains overlap."""
    if other == best or best.gain_low is None or other.gain_high is None:
        return False
    return other.gain_high >= best.gain_low


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


def _caveats(row: Row, max_risk: float | None, tied: list[str]) -> list[str]:
    caveats = _uncertainty(row, tied)
    caveats += [
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
    if row.ndcg_kept is not None:
        caveats.append(
            f"Lists of ten keep {percent(row.ndcg_kept)} of the nDCG that the raw data give "
            f"({row.ndcg:.3f} by “{row.ranker}”, raw by “{row.raw_ranker}”)."
        )
    if row.published_share:
        why = ""
        if row.lone_share:
            why = f"; {percent(row.lone_share)} because nobody else in the group rated the item"
        caveats.append(
            f"{percent(row.published_share)} of all ratings stand in it exactly as they were given"
            f"{why}."
        )
    if row.method.startswith("padded"):
        caveats.append(PADDED)
    if row.membership is not None:
        low, high = row.membership_low or 0.0, row.membership_high or 1.0
        caveats.append(describe_membership(Interval(row.membership, low, high, 0), "An adversary"))
    return caveats


def _uncertainty(row: Row, tied: list[str]) -> list[str]:
    """Say how far the gain can be trusted, and which settings may be as good."""
    if row.gain_kept is None:
        return []
    if row.gain_low is None:
        return [
            "The gain was measured on one split, and has no interval: among others, the raw data "
            "might give none."
        ]
    told = (
        f"The gain was measured on one split: {percent(row.gain_low)} to {percent(row.gain_high)} "
        f"(95 %) over the people judged; another split or seed may move it further."
    )
    if not tied:
        return [told]
    names = ", ".join(f"“{title}”" for title in tied[:_NAMED])
    more = f" and {len(tied) - _NAMED} more" if len(tied) > _NAMED else ""
    return [f"{told} Not told apart from it: {names}{more}. Take the safest of them."]


def _least_k(max_risk: float) -> int:
    """Return the lowest k with 1 / k at most the risk.

    Examples
    --------
    >>> _least_k(0.1), _least_k(0.3)
    (10, 4)
    """
    k = max(2, int(1 / max_risk))
    return k if 1 / k <= max_risk else k + 1


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
