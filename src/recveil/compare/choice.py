"""Choice: the setting that keeps most, among those that are safe enough."""

from collections.abc import Iterable
from typing import NamedTuple

from recveil.compare.advice import say_advice
from recveil.compare.caveats import (
    say_kept,
    say_nearest,
    say_passed_over,
    say_question,
    say_safety,
    say_uncertainty,
)
from recveil.compare.risk_axes import PERSON, axis_named
from recveil.compare.rows import Row
from recveil.compare.safety import is_candidate, is_passed_over, is_safe
from recveil.compare.worth import Worth, check_worth, deciding, order_of, worth_of
from recveil.errors import RecveilError


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
    risk : str
        What the risk is; see `recveil.compare.AXES`.
    advice : str
        What to publish, what it keeps, and what it costs, in one sentence; the same as `sentence`
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
    risk : {"person", "group", "membership", "links", "shadows"}
        What the risk is: each is that of the adversary who is strongest there; see
        `recveil.compare.AXES`.

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
    axis = axis_named(risk)
    rows = list(rows)
    safe = [row for row in rows if is_safe(row, max_risk, min_k, axis)]
    question = say_question(max_risk, min_k, axis)
    if not safe:
        sentence = f"{question}, no setting that was tried will do."
        nearest = say_nearest(rows, axis)
        return Choice(max_risk, min_k, worth, None, sentence, nearest, [], risk, sentence)
    decided = deciding(safe, worth)

    def order(row: Row) -> tuple[float, ...]:
        return order_of(row, decided, axis.highest(row))

    row, *others = sorted(safe, key=order)
    passed = [other for other in rows if is_passed_over(other, max_risk, min_k, axis)]
    better = sorted((other for other in passed if order(other) < order(row)), key=order)
    sentence = f"{question}, {say_kept(row, worth, decided)}."
    tied = [other.title for other in others if _overlap(row, other, decided)]
    caveats = [
        *say_passed_over(better, max_risk, axis),
        *say_uncertainty(row, tied, worth, decided),
        *say_safety(row, max_risk, axis),
    ]
    advice = say_advice(row, worth, axis)
    return Choice(max_risk, min_k, worth, row, sentence, caveats, tied, risk, advice)


def frontier(rows: Iterable[Row], worth: Worth = "both", risk: str = PERSON.name) -> list[Row]:
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
    axis = axis_named(risk)
    able = [row for row in rows if is_candidate(row, axis)]
    decided = deciding(able, worth)
    if decided is None:
        return []

    def order(row: Row) -> tuple[float, ...]:
        return order_of(row, decided, axis.highest(row))

    best: list[Row] = []
    for row in sorted(able, key=lambda row: (axis.highest(row), order(row))):
        if worth_of(row, decided) and (not best or order(row)[0] < order(best[-1])[0]):
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
    """Tell whether the intervals of what two settings are worth overlap."""
    one, two = (decided and worth_of(row, decided) for row in (best, other))
    if one is None or two is None or one.low is None or two.high is None:
        return False
    return two.high >= one.low
