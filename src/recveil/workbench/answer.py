"""Answer: what a comparison says to a question, and why this setting rather than another one."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from recveil.compare import Choice, cheapest, frontier
from recveil.compare.advice import say_advice
from recveil.compare.caveats import warnings_of
from recveil.compare.risk_axes import Axis, axis_named
from recveil.compare.rows import Row
from recveil.compare.safety import is_candidate, is_safe, was_looked_for
from recveil.compare.worth import percent, say_lists, say_ratings
from recveil.errors import RecveilError, quoted
from recveil.release.claim import is_promise
from recveil.release.registry import variant_of
from recveil.workbench.question import Question


class Answer(NamedTuple):
    """What is to be said of a comparison, as far as it is finished.

    Attributes
    ----------
    choice : Choice
        The answer to the question.
    row : Row or None
        The setting that is looked at: the answer, unless somebody chose another one.
    why : list of str
        Why this one, in at most two sentences.
    caveats : list of str
        What one should know before taking it.
    best : list of str
        Titles of the settings than which none is both safer and better, the safest first.
    warnings : list of str
        What makes all risks unfit to reassure anybody.
    may_be_taken : bool
        Whether releases of the setting promise anything.
    """

    choice: Choice
    row: Row | None
    why: list[str]
    caveats: list[str]
    best: list[str]
    warnings: list[str]
    may_be_taken: bool


def answer(rows: Iterable[Row], question: Question) -> Answer:
    """Answer a question.

    Parameters
    ----------
    rows : iterable of Row
        What is finished of the comparison.
    question : Question

    Raises
    ------
    RecveilError
        If the setting that is looked at is none of them.
    """
    rows = list(rows)
    asked = question.max_risk, question.min_k, question.worth, question.risk
    choice = cheapest(rows, *asked)
    row = choice.row if question.setting is None else _named(rows, question.setting)
    caveats = choice.caveats
    if row is not None and row is not choice.row:
        # Without limits: what there is to know of it, whether it keeps them or not.
        caveats = cheapest([row], None, None, *asked[2:]).caveats if _judged(row, question) else []
    return Answer(
        choice=choice,
        row=row,
        why=say_why(rows, row, choice, question),
        caveats=caveats,
        best=[each.title for each in frontier(rows, question.worth, question.risk)],
        warnings=warnings_of(rows, question.axis),
        may_be_taken=row is not None and row.problem is None and is_promise(row.promise),
    )


def rows_of(plain: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return rows that were kept as plain data.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, risk=0.2)
    >>> rows_of([row._asdict() | {"title": row.title, "kept": {}}]) == [row]
    True
    """
    names = Row._fields
    return [Row(**{name: each[name] for name in names if name in each}) for each in plain]


def warnings_for(comparison: Mapping[str, Any], answered: Answer) -> list[str]:
    """Return what a comparison warns of, with those of its risk replaced by those of this one.

    Parameters
    ----------
    comparison : mapping
        What `recveil.compare.Comparison.to_dict` returns.
    answered : Answer
    """
    own_axis = axis_named(comparison["settings"]["risk"])
    of_axis = warnings_of(rows_of(comparison["rows"]), own_axis)
    others = [sentence for sentence in comparison["warnings"] if sentence not in of_axis]
    return [*others, *answered.warnings]


def say_why(rows: list[Row], row: Row | None, choice: Choice, question: Question) -> list[str]:
    r"""Say in at most two sentences why a setting is the answer, or why it is not.

    Parameters
    ----------
    rows : list of Row
    row : Row or None
        The setting; None if none keeps the limits.
    choice : Choice
    question : Question

    Examples
    --------
    >>> found = {"looked_for": 900, "attacked": 900, "most_attacked": 900, "rmse": 0.95,
    ...          "adversary": "insider", "risk": 0.1, "risk_low": 0.08, "risk_high": 0.12}
    >>> kept = {"is_gain_told": True, "gain_kept": 0.7, "is_ndcg_told": True, "ndcg_kept": 0.6}
    >>> sparse = Row("sparse", 5, "k-anonymity", None, bound=0.2, **found, **kept)
    >>> padded = sparse._replace(method="padded", ndcg_kept=0.4)
    >>> question = Question(limit=20)
    >>> choice = cheapest([sparse, padded], 0.2)
    >>> print(say_why([sparse, padded], sparse, choice, question)[1])
    Of the 2 settings that keep your limits it keeps most; next comes “padded, k = 5”: lists only
    40% of raw, ratings 70% of the raw gain.
    >>> print(*say_why([sparse, padded], padded, choice, question), sep="\n")
    “padded, k = 5”: lists only 40% of raw, ratings 70% of the raw gain; “insider” found 10% of
    900 people (8% to 12%).
    It keeps your limits, but “sparse, k = 5” keeps more: lists 60% of raw, ratings 70% of the
    raw gain.
    """
    if row is None:
        return [choice.sentence, *choice.caveats[:1]]
    if row.problem is not None:
        return [f"“{row.title}” has no result: {row.problem.rstrip('.')}."]
    axis = question.axis
    if row is choice.row:
        return [say_advice(row, question.worth, axis), _say_next(rows, choice, question)]
    return [_say_facts(row, axis), _say_why_not(row, choice, question)]


def _say_next(rows: list[Row], choice: Choice, question: Question) -> str:
    """Say what the other settings within the limits keep."""
    axis, limits = question.axis, (question.max_risk, question.min_k)
    safe = [row for row in rows if is_safe(row, *limits, axis)]
    if len(safe) == 1:
        return "No other setting that is finished keeps your limits."
    others = [row for row in safe if row is not choice.row]
    second = cheapest(others, *limits, question.worth, question.risk).row
    if second is None:
        return "No other setting that is finished keeps your limits."
    told = f"“{second.title}”: {say_lists(second)}, {say_ratings(second)}"
    if second.title in choice.not_told_apart:
        return f"It is not told apart from {told}; take the safer of them."
    return f"Of the {len(safe)} settings that keep your limits it keeps most; next comes {told}."


def _say_facts(row: Row, axis: Axis) -> str:
    """Say what a setting keeps, and what its adversary reached."""
    kept = f"“{row.title}”: {say_lists(row)}, {say_ratings(row)}"
    if not variant_of(row.method).is_attacked:
        return f"{kept}; no attack here knows what to undo of it, so that its risk is not told."
    if axis.of(row) is None:
        return f"{kept}; by this risk nothing is told of it, which is no low risk."
    reached = f"{axis.who(row)} {axis.say(row, axis.reached)} ({axis.ends(row)})"
    return f"{kept}; {reached}{axis.nothing_new(row)}."


def _say_why_not(row: Row, choice: Choice, question: Question) -> str:
    """Say why a setting is not the answer."""
    axis = question.axis
    if not is_promise(row.promise):
        return "It promises nothing, and stands here to be compared with; it cannot be published."
    if not is_candidate(row, axis):
        return "It is no answer, as this risk is not told of it; ask by another risk."
    if not is_safe(row, question.max_risk, question.min_k, axis):
        return f"It does not keep your limits: {_say_what_breaks(row, question)}."
    if choice.row is None:
        return "It keeps your limits."
    best = choice.row
    told = f"“{best.title}” keeps more: {say_lists(best)}, {say_ratings(best)}"
    if row.title in choice.not_told_apart:
        told = f"“{best.title}” kept more here, though this split does not tell them apart"
    return f"It keeps your limits, but {told}."


def _say_what_breaks(row: Row, question: Question) -> str:
    """Say which limit a setting does not keep."""
    axis, least = question.axis, question.min_k
    if least is not None and row.bound is None:
        return f"it does not promise that at least {least} people share each row"
    if least is not None and (row.k or 0) < least:
        return f"its k is {row.k}, and you ask for at least {least}"
    if not was_looked_for(row, axis):
        return (
            "no adversary knew enough to look for nearly everybody, and who was not looked for is "
            "not safe"
        )
    return (
        f"the upper end of its risk is {percent(axis.highest(row))}, and you can answer for "
        f"{percent(question.max_risk)}"
    )


def _judged(row: Row, question: Question) -> bool:
    return is_candidate(row, question.axis)


def _named(rows: list[Row], title: str) -> Row:
    for row in rows:
        if row.title == title:
            return row
    raise RecveilError(
        f"setting {quoted(title)}: is not finished; choose one of the drawing",
        code="workbench.not-found",
    )
