"""The settings of a comparison as a table: what hovering tells, for whoever cannot hover."""

from collections.abc import Iterable
from typing import NamedTuple

from recveil.compare.risk_axes import PERSON, Axis
from recveil.compare.rows import Row
from recveil.compare.safety import is_safe
from recveil.compare.worth import percent, say_interval, say_share, shares_of
from recveil.release.claim import all_claims, is_promise
from recveil.release.registry import variant_of
from recveil.workbench.question import Question

_UNKNOWN = "–"


class SettingLine(NamedTuple):
    """A setting in words.

    Attributes
    ----------
    title, description : str
    promise : str
        What its releases promise.
    risk, ends, by : str
        The measured risk, its interval, and who reaches it.
    found : str
        How many people are found besides, where another risk was asked for; else empty.
    proven : str
    lists, lists_ends, ratings, ratings_ends : str
        What is kept.
    problem : str
        Why there is no result.
    keeps_limits : bool
    """

    title: str
    description: str
    promise: str
    risk: str
    ends: str
    by: str
    found: str
    proven: str
    lists: str
    lists_ends: str
    ratings: str
    ratings_ends: str
    problem: str
    keeps_limits: bool


def tabulate(rows: Iterable[Row], question: Question) -> list[SettingLine]:
    """Say of each setting what it costs and what it keeps.

    Examples
    --------
    >>> row = Row("sparse", 5, "k-anonymity", None, bound=0.2, risk=0.1, risk_low=0.08,
    ...           risk_high=0.12, adversary="insider", ndcg_kept=0.6, is_ndcg_told=True)
    >>> (line,) = tabulate([row], Question())
    >>> line.risk, line.ends, line.proven, line.lists, line.ratings
    ('10%', '8% to 12%', 'at most 20%', '60%', 'cannot be told')
    """
    labels = {kind.promise: kind.label for kind in all_claims()}
    return [_line(row, question, labels) for row in rows]


def _line(row: Row, question: Question, labels: dict[str, str]) -> SettingLine:
    axis, kept = question.axis, shares_of(row)
    bound = PERSON.bound_of(row)
    is_told = axis.of(row) is not None
    return SettingLine(
        title=row.title,
        description=variant_of(row.method).description,
        promise=labels[row.promise],
        risk=percent(axis.of(row)) if is_told else _UNKNOWN,
        ends=axis.ends(row) if is_told else "",
        by=axis.who(row) if is_told else "",
        found=_found(row, axis),
        proven=_UNKNOWN if bound is None else f"at most {percent(bound)}",
        lists=_UNKNOWN if row.problem else say_share(kept.lists),
        lists_ends="" if kept.lists is None else say_interval(kept.lists),
        ratings=_UNKNOWN if row.problem else say_share(kept.ratings),
        ratings_ends="" if kept.ratings is None else say_interval(kept.ratings),
        problem=row.problem or "",
        keeps_limits=is_promise(row.promise)
        and is_safe(row, question.max_risk, question.min_k, axis),
    )


def _found(row: Row, axis: Axis) -> str:
    if axis is PERSON or row.risk is None:
        return ""
    return f"{percent(row.risk)} ({PERSON.ends(row)})"
