"""The frontier as a drawing for a page that changes: what is kept against risk, point by point.

The report's chart is made to be mailed; this one is made to be clicked. It is plain geometry, which
the page's template writes as SVG without any style of its own, as the page's policy asks.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from recveil.charts import Style
from recveil.comparison import Choice, choose_setting, frontier
from recveil.comparison.choice import (
    AXES,
    REIDENTIFICATION,
    Axis,
    axis_named,
    has_coverage,
    is_candidate,
    is_safe,
)
from recveil.comparison.rows import Purpose, Row, check_purpose, shares_of
from recveil.release.claim import all_claims, is_promise
from recveil.release.registry import variant_of
from recveil.report.comparison.charts import Upward, styles_of
from recveil.report.comparison.text import (
    caveats_of,
    describe_answer,
    describe_risk,
    describe_setting,
    format_ends,
    format_interval,
    format_lists,
    format_ratings,
    format_share,
    percent,
    risk_warnings,
)
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.safe_repr import brief

_WHATEVER = 100
_MOST_K = 1_000_000


class Question(NamedTuple):
    """What is asked of the settings that were compared."""

    # Which adversary: the name of an axis of risk
    risk: str = REIDENTIFICATION.name
    # What a setting is chosen for
    worth: Purpose = "both"
    # The risk that one can answer for, in percent; 100 is whatever it be
    limit: int = _WHATEVER
    # So many people at least must share each row
    min_k: int | None = None
    # The title of the one that is looked at; None for the answer
    setting: str | None = None

    @classmethod
    def read(cls, form: Mapping[str, str], usual: "Question") -> Self:
        """Read a question from a form; what does not stand in it is as usual.

        Examples
        --------
        >>> Question.read({"limit": "20", "min_k": "5"}, Question())
        Question(risk='reidentification', worth='both', limit=20, min_k=5, setting=None)
        """
        risk = form.get("risk", usual.risk)
        axis_named(risk)
        worth: Any = form.get("worth", usual.worth)
        check_purpose(worth)
        limit = _whole("the risk that you can answer for", form.get("limit"), 1, _WHATEVER)
        min_k = _whole("the least k", form.get("min_k"), 2, _MOST_K)
        return cls(
            risk=risk,
            worth=worth,
            limit=usual.limit if limit is None else limit,
            min_k=min_k if "min_k" in form else usual.min_k,
            setting=(form["setting"] or None) if "setting" in form else usual.setting,
        )

    @property
    def axis(self) -> Axis:
        """The risk that is meant."""
        return AXES[self.risk]

    @property
    def max_risk(self) -> float | None:
        """The highest risk as a share; None if it may be any."""
        return None if self.limit >= _WHATEVER else self.limit / 100

    def address(self, **changes: Any) -> str:
        """Return the address of the page that answers it, or a similar one.

        Examples
        --------
        >>> Question(limit=20).address(setting="sparse, k = 5")
        '/choose?risk=reidentification&worth=both&limit=20&min_k=&setting=sparse%2C+k+%3D+5'
        """
        told = self._replace(**changes)._asdict()
        shown = {name: "" if value is None else value for name, value in told.items()}
        return f"/choose?{urlencode(shown)}"


def _whole(what: str, text: str | None, least: int, most: int) -> int | None:
    """Read a whole number; None if there is none."""
    if text is None or not text.strip():
        return None
    plain = text.strip()
    number = int(plain) if plain.isdecimal() and len(plain) < 10 else -1
    if not least <= number <= most:
        raise RecveilError(
            f"{what} is {quoted(text, 20)}; expected a whole number from {least} to {most:,}",
            code="option.value",
        )
    return number


class Answer(NamedTuple):
    """What is to be said of a comparison, as far as it is finished."""

    # The answer to the question
    choice: Choice
    # The setting that is looked at: the answer, unless somebody chose another one
    row: Row | None
    # Why this one, in at most two sentences
    why: list[str]
    # What one should know before taking it
    caveats: list[str]
    # Titles of the settings than which none is both safer and better, the safest first
    best: list[str]
    # What makes all risks unfit to reassure anybody
    warnings: list[str]
    # Whether releases of the setting promise anything
    may_be_taken: bool


def answer(rows: Iterable[Row], question: Question) -> Answer:
    """Answer a question."""
    rows = list(rows)
    asked = question.max_risk, question.min_k, question.worth, question.risk
    choice = choose_setting(rows, *asked)
    row = choice.row if question.setting is None else _named(rows, question.setting)
    caveats = caveats_of(choice)
    if row is not None and row is not choice.row:
        # Without limits: what there is to know of it, whether it keeps them or not.
        alone = choose_setting([row], None, None, *asked[2:])
        caveats = caveats_of(alone) if _judged(row, question) else []
    return Answer(
        choice=choice,
        row=row,
        why=explain_choice(rows, row, choice, question),
        caveats=caveats,
        best=[each.title for each in frontier(rows, question.worth, question.risk)],
        warnings=risk_warnings(rows, question.axis),
        may_be_taken=row is not None and row.problem is None and is_promise(row.promise),
    )


def rows_of(plain: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return rows that were kept as plain data.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, risk=0.2)
    >>> rows_of([row._asdict() | {"title": row.title, "utility_retained": {}}]) == [row]
    True
    """
    names = Row._fields
    return [Row(**{name: each[name] for name in names if name in each}) for each in plain]


def warnings_for(comparison: Mapping[str, Any], answered: Answer) -> list[str]:
    """Return what a comparison warns of, with those of its risk replaced by those of this one."""
    own_axis = axis_named(comparison["settings"]["risk"])
    of_axis = risk_warnings(rows_of(comparison["rows"]), own_axis)
    others = [sentence for sentence in comparison["warnings"] if sentence not in of_axis]
    return [*others, *answered.warnings]


def explain_choice(
    rows: list[Row], row: Row | None, choice: Choice, question: Question
) -> list[str]:
    r"""Say in at most two sentences why a setting is the answer, or why it is not."""
    if row is None:
        return [describe_answer(choice), *caveats_of(choice)[:1]]
    if row.problem is not None:
        return [f"“{row.title}” has no result: {row.problem.rstrip('.')}."]
    axis = question.axis
    if row is choice.row:
        return [describe_setting(row, question.worth, axis), _describe_next(rows, choice, question)]
    return [_describe_facts(row, axis), _explain_rejection(row, choice, question)]


def _describe_next(rows: list[Row], choice: Choice, question: Question) -> str:
    """Say what the other settings within the limits keep."""
    axis, limits = question.axis, (question.max_risk, question.min_k)
    safe = [row for row in rows if is_safe(row, *limits, axis)]
    if len(safe) == 1:
        return "No other setting that is finished keeps your limits."
    others = [row for row in safe if row is not choice.row]
    second = choose_setting(others, *limits, question.worth, question.risk).row
    if second is None:
        return "No other setting that is finished keeps your limits."
    told = f"“{second.title}”: {format_lists(second)}, {format_ratings(second)}"
    if second in choice.tied:
        return f"It is not told apart from {told}; take the safer of them."
    return f"Of the {len(safe)} settings that keep your limits it keeps most; next comes {told}."


def _describe_facts(row: Row, axis: Axis) -> str:
    """Say what a setting keeps, and what its adversary reached."""
    kept = f"“{row.title}”: {format_lists(row)}, {format_ratings(row)}"
    if not variant_of(row.method).is_attacked:
        return f"{kept}; no attack here knows what to undo of it, so that its risk is not told."
    if axis.of(row) is None:
        return f"{kept}; by this risk nothing is told of it, which is no low risk."
    return f"{kept}; {describe_risk(row, axis)}."


def _explain_rejection(row: Row, choice: Choice, question: Question) -> str:
    """Say why a setting is not the answer."""
    axis = question.axis
    if not is_promise(row.promise):
        return "It promises nothing, and stands here to be compared with; it cannot be published."
    if not is_candidate(row, axis):
        return "It is no answer, as this risk is not told of it; ask by another risk."
    if not is_safe(row, question.max_risk, question.min_k, axis):
        return f"It does not keep your limits: {_explain_violations(row, question)}."
    if choice.row is None:
        return "It keeps your limits."
    best = choice.row
    told = f"“{best.title}” keeps more: {format_lists(best)}, {format_ratings(best)}"
    if row in choice.tied:
        told = f"“{best.title}” kept more here, though this split does not tell them apart"
    return f"It keeps your limits, but {told}."


def _explain_violations(row: Row, question: Question) -> str:
    """Say which limit a setting does not keep."""
    axis, least = question.axis, question.min_k
    if least is not None and row.bound is None:
        return f"it does not promise that at least {least} people share each row"
    if least is not None and (row.k or 0) < least:
        return f"its k is {row.k}, and you ask for at least {least}"
    if not has_coverage(row, axis):
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


_UNKNOWN = "–"


class SettingLine(NamedTuple):
    """A setting in words."""

    title: str
    description: str
    # What its releases promise
    promise: str
    # The measured risk, its interval, and who reaches it
    risk: str
    ends: str
    by: str
    # How many people are found besides, where another risk was asked for; else empty
    found: str
    proven: str
    # What is kept
    lists: str
    lists_ends: str
    ratings: str
    ratings_ends: str
    # Why there is no result
    problem: str
    keeps_limits: bool


def tabulate(rows: Iterable[Row], question: Question) -> list[SettingLine]:
    """Say of each setting what it costs and what it keeps."""
    labels = {kind.promise: kind.label for kind in all_claims()}
    return [_line(row, question, labels) for row in rows]


def _line(row: Row, question: Question, labels: dict[str, str]) -> SettingLine:
    axis, kept = question.axis, shares_of(row)
    bound = REIDENTIFICATION.bound_of(row)
    is_told = axis.of(row) is not None
    return SettingLine(
        title=row.title,
        description=variant_of(row.method).description,
        promise=labels[row.promise],
        risk=percent(axis.of(row)) if is_told else _UNKNOWN,
        ends=format_ends(row, axis) if is_told else "",
        by=f"“{getattr(row, axis.by)}”" if is_told else "",
        found=_found(row, axis),
        proven=_UNKNOWN if bound is None else f"at most {percent(bound)}",
        lists=_UNKNOWN if row.problem else format_share(kept.lists),
        lists_ends="" if kept.lists is None else format_interval(kept.lists),
        ratings=_UNKNOWN if row.problem else format_share(kept.ratings),
        ratings_ends="" if kept.ratings is None else format_interval(kept.ratings),
        problem=row.problem or "",
        keeps_limits=is_promise(row.promise)
        and is_safe(row, question.max_risk, question.min_k, axis),
    )


def _found(row: Row, axis: Axis) -> str:
    if axis is REIDENTIFICATION or row.risk is None:
        return ""
    return f"{percent(row.risk)} ({format_ends(row, REIDENTIFICATION)})"


WIDTH, HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 18, 16, 46
# Lower risks and shares are drawn at the edge; the page says so.
_LEAST_RISK, _LEAST_SHARE = 0.001, -0.5
_RISKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_SHARES = (-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)


class Tick(NamedTuple):
    """A place on an axis, and what stands there."""

    at: float
    label: str


@brief
class Dot(NamedTuple):
    """A setting in the drawing."""

    x: float
    y: float
    # Where the interval of the risk begins and ends
    low: float
    high: float
    look: Style
    # What was measured of it
    row: Mapping[str, Any]
    # Whether its releases promise anything; what does not is there to be compared with
    promises: bool


class Drawing(NamedTuple):
    """The frontier, ready to be written as SVG."""

    # Of the whole, and where the plot itself ends on each side
    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    across: list[Tick]
    up: list[Tick]
    across_title: str
    up_title: str
    dots: list[Dot]
    # One a method that has several points, through them
    lines: list[tuple[Style, str]]
    # The points of the line through the best settings; empty if there are fewer than two
    frontier: str
    # Where the risk stands that one can answer for
    limit: float | None
    # Titles of settings that have no place in it
    left_out: list[str]


def draw(
    rows: list[dict[str, Any]],
    utility: Upward,
    axis: Axis,
    best: Iterable[str] = (),
    max_risk: float | None = None,
) -> Drawing:
    """Place settings by their risk and by what they keep."""
    placed = [row for row in rows if _has_place(row, utility, axis)]
    looks = styles_of(row["method"] for row in rows)
    lowest = max(_LEAST_SHARE, min([0.0, *(_share(row, utility) for row in placed)]))
    dots = [_dot(row, utility, axis, looks[row["method"]], lowest) for row in placed]
    by_title = {dot.row["title"]: dot for dot in dots}
    through = [by_title[title] for title in best if title in by_title]
    shown = {dot.row["title"] for dot in dots}
    return Drawing(
        *(WIDTH, HEIGHT, _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM),
        across=[Tick(_x(risk), _percent(risk)) for risk in _RISKS],
        up=[Tick(_y(share, lowest), f"{share:.0%}") for share in _SHARES if share >= lowest],
        across_title=f"← safer: share of {axis.label} (log scale)",
        up_title=f"{utility.title.lower()}: share of {utility.whole} →",
        dots=dots,
        lines=_lines(dots),
        frontier=_through(through) if len(through) > 1 else "",
        limit=None if max_risk is None else _x(max_risk),
        left_out=[row["title"] for row in rows if row["title"] not in shown],
    )


def _has_place(row: Mapping[str, Any], utility: Upward, axis: Axis) -> bool:
    """Tell whether both its risk and what it keeps were measured, and can be told."""
    kept = (row.get("utility_retained") or {}).get(utility.name)
    return row[axis.value] is not None and kept is not None and bool(kept.get("is_reliable", True))


def _share(row: Mapping[str, Any], utility: Upward) -> float:
    return float(row["utility_retained"][utility.name]["value"])


def _dot(row: Mapping[str, Any], utility: Upward, axis: Axis, look: Style, lowest: float) -> Dot:
    # An end that is not known is the widest that it can be.
    low = 0.0 if row[axis.low] is None else row[axis.low]
    high = 1.0 if row[axis.high] is None else row[axis.high]
    return Dot(
        x=_x(row[axis.value]),
        y=_y(_share(row, utility), lowest),
        low=_x(low),
        high=_x(high),
        look=look,
        row=row,
        promises=is_promise(row["promise"]),
    )


def _lines(dots: list[Dot]) -> list[tuple[Style, str]]:
    """Return the line through the points of each method, from the safest on."""
    lines = []
    for look in dict.fromkeys(dot.look.series for dot in dots):
        own = sorted((dot for dot in dots if dot.look.series == look), key=lambda dot: dot.x)
        if len(own) > 1:
            lines.append((own[0].look, _through(own)))
    return lines


def _through(dots: Iterable[Dot]) -> str:
    return " ".join(f"{dot.x:g},{dot.y:g}" for dot in dots)


def _x(risk: float) -> float:
    along = 1 - math.log10(max(risk, _LEAST_RISK)) / math.log10(_LEAST_RISK)
    return round(_LEFT + along * (WIDTH - _RIGHT - _LEFT), 1)


def _y(share: float, lowest: float) -> float:
    along = (max(lowest, min(share, 1.0)) - lowest) / (1 - lowest)
    return round(HEIGHT - _BOTTOM - along * (HEIGHT - _BOTTOM - _TOP), 1)


def _percent(risk: float) -> str:
    return f"{risk:.1%}" if risk < 0.01 else f"{risk:.0%}"
