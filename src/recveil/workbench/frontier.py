"""The answer to a publisher's question about compared settings, and its drawing.

The report has a static chart; this one is interactive. The template writes its geometry as SVG
without inline style, as the security policy requires.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from recveil.charts import Caption, Style, place_captions, places_around
from recveil.comparison import Choice, choose_setting, frontier
from recveil.comparison.choice import (
    ATTRIBUTE,
    AXES,
    REIDENTIFICATION,
    Axis,
    axis_named,
    has_coverage,
    is_candidate,
    is_safe,
)
from recveil.comparison.rows import Purpose, Row, Share, check_purpose, shares_of
from recveil.release.claim import all_claims, is_promise
from recveil.release.coverage import LOW
from recveil.release.exact_ratings import HIGH
from recveil.release.registry import variant_of
from recveil.report.comparison.charts import POPULAR, Upward, popular_share, styles_of
from recveil.report.comparison.marks import (
    POPULAR_MARK,
    format_share,
    format_share_ends,
    reaches_popularity_alone,
    reveals_members,
)
from recveil.report.comparison.retained import format_lists, format_ratings
from recveil.report.comparison.text import (
    caveats_of,
    describe_answer,
    describe_missing,
    describe_rest,
    describe_risk,
    describe_setting,
    describe_uncovered,
    describe_unfinished,
    format_ends,
    format_risk,
    headline_of,
    keeps_little,
    publishes_most,
    risk_warnings,
    shorten_headline,
    strongest_inference,
    takes_public_items,
)
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.number_format import format_bounds, format_number, percent
from recveil.runtime.safe_repr import brief
from recveil.workbench.wording import FIELD_TITLES

_ANY_RISK = 100
_NO_OTHER = "No other finished setting is within your limits and beats popularity or averages."
_MOST_K = 1_000_000


class Question(NamedTuple):
    """A question about the settings that were compared."""

    # The name of a risk axis
    risk: str = REIDENTIFICATION.name
    # The utility to maximize
    utility: Purpose = "both"
    # The highest accepted risk in percent; 100 accepts any
    limit: int = _ANY_RISK
    # The least number of users per row
    min_k: int | None = None
    # The title of the setting to show; None for the answer
    setting: str | None = None

    @classmethod
    def read(cls, form: Mapping[str, str], usual: "Question") -> Self:
        """Parse a question from a form; missing fields are taken from `usual`.

        >>> Question.read({"limit": "20", "min_k": "5"}, Question())
        Question(risk='reidentification', utility='both', limit=20, min_k=5, setting=None)
        """
        risk = form.get("risk", usual.risk)
        axis_named(risk)
        utility: Any = form.get("utility", usual.utility)
        check_purpose(utility)
        limit = _parse_whole("the highest accepted risk", form.get("limit"), 1, _ANY_RISK)
        min_k = _parse_whole("the least k", form.get("min_k"), 2, _MOST_K)
        return cls(
            risk=risk,
            utility=utility,
            limit=usual.limit if limit is None else limit,
            min_k=min_k if "min_k" in form else usual.min_k,
            setting=(form["setting"] or None) if "setting" in form else usual.setting,
        )

    @property
    def axis(self) -> Axis:
        """The measure of risk."""
        return AXES[self.risk]

    @property
    def max_risk(self) -> float | None:
        """The highest accepted risk as a share; None for any."""
        return None if self.limit >= _ANY_RISK else self.limit / 100

    def address(self, **changes: Any) -> str:
        """Return the address of the page with the answer, with these fields changed.

        >>> Question(limit=20).address(setting="sparse, k = 5")
        '/choose?risk=reidentification&utility=both&limit=20&min_k=&setting=sparse%2C+k+%3D+5'
        """
        fields = self._replace(**changes)._asdict()
        values = {name: "" if value is None else value for name, value in fields.items()}
        return f"/choose?{urlencode(values)}"


def _parse_whole(what: str, text: str | None, least: int, most: int) -> int | None:
    """Parse a whole number; None if the text is empty."""
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
    """The answer to a question, from the finished settings."""

    # The best setting within the limits
    choice: Choice
    # The setting to show: the answer, unless the question names another one
    row: Row | None
    # At most 100 characters
    headline: str
    # What it has no room for, or why another setting is not the answer; may be empty
    rest: str
    # At most two sentences
    why: list[str]
    # Those of them that `rest` does not state
    reasons: list[str]
    # Caveats to read before publishing it
    caveats: list[str]
    # Titles of the Pareto-optimal settings, safest first
    best: list[str]
    # Reasons not to rely on any risk
    warnings: list[str]
    # Whether its releases make a claim
    is_publishable: bool


def answer(rows: Iterable[Row], question: Question, n_unfinished: int = 0) -> Answer:
    """Answer a question; while settings are unfinished, none is recommended."""
    rows = list(rows)
    limits = question.max_risk, question.min_k, question.utility, question.risk
    choice = choose_setting(rows, *limits, n_unfinished)
    row = choice.row if question.setting is None else _find_row(rows, question.setting)
    caveats = caveats_of(choice)
    if row is not None and row is not choice.row:
        # Without limits, as it may exceed them.
        alone = choose_setting([row], None, None, *limits[2:])
        caveats = caveats_of(alone) if is_candidate(row, question.axis) else []
    rest = describe_rest(choice, rows) if row is choice.row else ""
    why = reasons = explain_choice(rows, row, choice, question)
    if row is not None and _is_beyond_limits(row, question):
        reason = _explain_violations(row, question)
        rest, reasons = f"{reason[:1].upper()}{reason[1:]}.", why[:-1]
    if row is not None and (difference := describe_catalog(row)):
        rest = f"{rest} {difference}".strip()
    return Answer(
        choice=choice,
        row=row,
        headline=_describe_headline(row, choice, question),
        rest=rest,
        why=why,
        reasons=reasons,
        caveats=caveats,
        best=[each.title for each in frontier(rows, question.utility, question.risk)],
        warnings=risk_warnings(rows, question.axis),
        is_publishable=row is not None and row.problem is None and is_promise(row.promise),
    )


def describe_catalog(row: Row) -> str:
    """Describe how a release differs from a setting compared with public items; may be empty."""
    title = FIELD_TITLES["public_items"]
    same = f"The comparison took the list of items as public: on the page Release, mark “{title}”"
    lost = "if it is; otherwise the release loses rare items, maybe most"
    return f"{same} {lost}." * takes_public_items(row)


def rows_of(plain: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return rows from plain data.

    >>> row = Row("padded", 5, "k-anonymity", None, risk=0.2)
    >>> rows_of([row._asdict() | {"title": row.title, "utility_retained": {}}]) == [row]
    True
    """
    names = Row._fields
    return [Row(**{name: each[name] for name in names if name in each}) for each in plain]


def warnings_for(comparison: Mapping[str, Any], answered: Answer) -> list[str]:
    """Return a comparison's own warnings, with those about its risk replaced by the answer's."""
    axis = axis_named(comparison["settings"]["risk"])
    of_axis = risk_warnings(rows_of(comparison["rows"]), axis)
    # The headline states what is unfinished, and the page Data has the notes on the table.
    notes = comparison["data"]["notes"]
    shown = [*of_axis, *notes, describe_unfinished(comparison["unfinished"])]
    others = [sentence for sentence in comparison["warnings"] if sentence not in shown]
    return [*others, *answered.warnings]


def explain_choice(
    rows: list[Row], row: Row | None, choice: Choice, question: Question
) -> list[str]:
    """Explain in at most two sentences why a setting is the answer, or is not."""
    if row is None:
        return [describe_answer(choice), *caveats_of(choice)[:1]]
    if row.problem is not None:
        return [f"“{row.title}” has no result: {row.problem.rstrip('.')}."]
    axis = question.axis
    if row is choice.row:
        return [
            describe_setting(row, question.utility, axis, question.max_risk),
            _describe_next(rows, choice, question),
        ]
    return [_describe_facts(row, question), _explain_rejection(row, choice, question)]


def _describe_headline(row: Row | None, choice: Choice, question: Question) -> str:
    """Describe the answer, or why the shown setting is another one, in at most 100 characters."""
    if row is None or row is choice.row:
        return headline_of(choice)
    if row.problem is not None:
        verdict = "has no result"
    elif not is_promise(row.promise):
        verdict = "is a baseline, which cannot be published"
    elif not is_candidate(row, question.axis):
        verdict = "has no measured risk of this kind"
    elif _is_beyond_limits(row, question):
        verdict = _describe_beyond(row, question)
    else:
        verdict = "is within your limits"
    return shorten_headline(f"“{row.title}” {verdict}.")


def _is_beyond_limits(row: Row, question: Question) -> bool:
    """Return whether a setting that could be the answer is not within the limits."""
    is_answer = row.problem is None and is_candidate(row, question.axis)
    return is_answer and not is_safe(row, question.max_risk, question.min_k, question.axis)


def _is_unattacked(row: Row, question: Question) -> bool:
    """Return whether a setting lacks attacks alone to be within the limits."""
    least, most = question.min_k, question.max_risk
    has_k = least is None or (row.bound is not None and (row.k or 0) >= least)
    high: float | None = getattr(row, question.axis.high)
    is_low = most is None or high is None or high <= most
    return has_k and is_low and not has_coverage(row, question.axis)


def _describe_beyond(row: Row, question: Question) -> str:
    if not _is_unattacked(row, question):
        return "exceeds your limits"
    return "is not shown to be within your limits"


def _describe_next(rows: list[Row], choice: Choice, question: Question) -> str:
    """Describe the runner-up within the limits."""
    axis, limits = question.axis, (question.max_risk, question.min_k)
    safe = [row for row in rows if is_safe(row, *limits, axis)]
    if len(safe) == 1:
        return _NO_OTHER
    others = [row for row in safe if row is not choice.row]
    second = choose_setting(others, *limits, question.utility, question.risk).row
    if second is None:
        return _NO_OTHER
    description = f"“{second.title}”: {format_lists(second)}, {format_ratings(second)}"
    if second in choice.tied:
        return f"This split does not distinguish it from {description}; take the safer of them."
    if choice.more_disclosing:
        return caveats_of(choice)[0]
    start = f"Of {len(safe)} settings within your limits it retains most utility"
    if choice.unclear:
        more = choice.unclear[0]
        figures = f"“{more.title}” retains more, less clearly: {format_lists(more)}"
        return f"{start} of those that clearly beat a baseline; {figures}, {format_ratings(more)}."
    return f"{start}; next is {description}."


def _describe_facts(row: Row, question: Question) -> str:
    """Describe the utility that a setting retains, and its measured risk."""
    axis = question.axis
    utility = f"“{row.title}”: {format_lists(row)}, {format_ratings(row)}"
    if not variant_of(row.method).is_attacked:
        return f"{utility}; no attack here inverts this method, so that its risk was not measured."
    if axis.of(row) is None:
        return f"{utility}; this risk {describe_missing(row, axis)}, which is not a low risk."
    return f"{utility}; {describe_risk(row, axis, question.max_risk)}."


def _explain_rejection(row: Row, choice: Choice, question: Question) -> str:
    """Explain why a setting is not the answer."""
    axis = question.axis
    if not is_promise(row.promise):
        return "It makes no claim and is a baseline; it cannot be published."
    if not is_candidate(row, axis):
        missing = describe_missing(row, axis)
        return f"It cannot be the answer, as this risk {missing}; choose another risk."
    if not is_safe(row, question.max_risk, question.min_k, axis):
        return f"It {_describe_beyond(row, question)}: {_explain_violations(row, question)}."
    if choice.row is None:
        return f"It is within your limits. {headline_of(choice)}"
    best = choice.row
    description = (
        f"“{best.title}” retains more utility: {format_lists(best)}, {format_ratings(best)}"
    )
    if row in choice.tied:
        description = (
            f"“{best.title}” retained more here, though this split does not distinguish them"
        )
    if row in choice.more_disclosing:
        description = f"“{best.title}” discloses far less at the same utility"
    elif row in choice.unclear:
        description = f"“{best.title}” beats a baseline clearly that it does not"
    return f"It is within your limits, but {description}."


def _explain_violations(row: Row, question: Question) -> str:
    """Name the limit that a setting exceeds."""
    axis, least = question.axis, question.min_k
    if least is not None and row.bound is None:
        return f"it does not claim that at least {least} users share each row"
    if least is not None and (row.k or 0) < least:
        return f"its k is {row.k}, and you require at least {least}"
    if _is_unattacked(row, question):
        bound, limit = axis.bound_of(row), question.max_risk
        proven = "no bound is proven" if bound is None else f"the bound is {percent(bound, limit)}"
        accepted = "" if question.max_risk is None else f"; you accept {percent(question.max_risk)}"
        return f"{describe_uncovered(row)}, and {proven}{accepted}"
    return (
        f"the upper end of its risk is {percent(axis.highest(row), question.max_risk)}, and you "
        f"accept {percent(question.max_risk)}"
    )


def _find_row(rows: list[Row], title: str) -> Row:
    for row in rows:
        if row.title == title:
            return row
    raise RecveilError(
        f"setting {quoted(title)}: is not finished; choose one in the drawing",
        code="workbench.not-found",
    )


_UNKNOWN = "–"


class SettingLine(NamedTuple):
    """A setting as text."""

    title: str
    description: str
    # The claim of its releases
    promise: str
    # The measured risk, its interval, and the adversary
    risk: str
    ends: str
    by: str
    # The re-identification rate, if the question is about another risk; else empty
    reidentified: str
    # The bound of this very risk
    proven: str
    # AUC of the strongest membership inference, and the share of exactly published ratings; each
    # empty if no setting has one
    membership: str
    membership_ends: str
    published: str
    # Whether the AUC is far above another setting's, and whether most ratings are exact
    reveals_members: bool
    publishes_most: bool
    # Utility retained
    lists: str
    lists_ends: str
    ratings: str
    ratings_ends: str
    # Shares of the items and ratings that the release keeps, and whether one is below half
    items_kept: str
    ratings_kept: str
    short_users: str
    keeps_little: bool
    # Whether it keeps these items only if the list of rated items is public
    has_public_items: bool
    # Why it has no result
    problem: str
    # Whether it is within the limits, and why not where no limit is named
    within: str


def tabulate(rows: Iterable[Row], question: Question) -> list[SettingLine]:
    """Describe the risk and the utility of each setting."""
    labels, rows = {kind.promise: kind.label for kind in all_claims()}, list(rows)
    lines = [_describe_setting(row, rows, question, labels) for row in rows]
    membership, published = (
        _UNKNOWN * any(getattr(line, name) for line in lines)
        for name in ("membership", "published")
    )
    return [
        line._replace(
            membership=line.membership or membership, published=line.published or published
        )
        for line in lines
    ]


def _describe_setting(
    row: Row, rows: list[Row], question: Question, labels: dict[str, str]
) -> SettingLine:
    axis, retained = question.axis, shares_of(row)
    bound = axis.bound_of(row)
    is_measured, inference = axis.of(row) is not None, strongest_inference(row)
    return SettingLine(
        title=row.title,
        description=variant_of(row.method).description,
        promise=labels[row.promise].partition(":")[0],
        risk=format_risk(axis.of(row), axis) if is_measured else _UNKNOWN,
        ends=format_ends(row, axis, question.max_risk) if is_measured else "",
        by=f"“{getattr(row, axis.by)}”" if is_measured else "",
        reidentified=""
        if axis is REIDENTIFICATION or row.risk is None
        else f"{percent(row.risk)} ({format_ends(row, REIDENTIFICATION)})"
        f"{'' if row.bound is None else f', proven: at most {percent(row.bound)}'}",
        proven=_UNKNOWN if bound is None else f"at most {percent(bound, question.max_risk)}",
        membership="" if inference is None else f"{inference.rate:.2f}",
        membership_ends=""
        if inference is None
        else format_bounds(inference.low, inference.high, 2),
        published="" if row.published_share is None else percent(row.published_share, HIGH),
        reveals_members=reveals_members(row, rows),
        publishes_most=publishes_most(row),
        lists=_UNKNOWN
        if row.problem
        else f"{format_share(retained.lists)}{f' {POPULAR_MARK}' * reaches_popularity_alone(row)}",
        lists_ends=format_share_ends(retained.lists),
        ratings=_UNKNOWN if row.problem else format_share(retained.ratings),
        ratings_ends=format_share_ends(retained.ratings),
        items_kept=percent(row.items_kept, LOW),
        ratings_kept=percent(row.ratings_kept, LOW),
        short_users=format_number(row.short_users),
        keeps_little=keeps_little(row),
        has_public_items=takes_public_items(row) and row.items_kept is not None,
        problem=row.problem or "",
        within=_describe_limits(row, question),
    )


def _describe_limits(row: Row, question: Question) -> str:
    if not is_promise(row.promise):
        return "no: it has no guarantee"
    if is_safe(row, question.max_risk, question.min_k, question.axis):
        return "yes"
    if question.axis.of(row) is None:
        return f"no: {describe_missing(row, question.axis).removeprefix('was ')}"
    if _is_unattacked(row, question):
        return "not shown: adversaries who know only some ratings could attack too few targets"
    return "no"


WIDTH, HEIGHT = 640, 414
_FONT = 15.0  # on narrow screens; 12.5 on others
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 26, 30, 46
# Lower risks and shares are drawn at the edge.
_LEAST_RISK, _LEAST_SHARE = 0.001, -0.5
_RISKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_SHARES = (-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)


class Tick(NamedTuple):
    """A tick of an axis."""

    at: float
    label: str


class Text(NamedTuple):
    """A text in the drawing, by the middle of its baseline."""

    x: float
    y: float
    text: str


@brief
class Dot(NamedTuple):
    """A setting in the drawing."""

    x: float
    y: float
    # Ends of the interval of the risk
    low: float
    high: float
    look: Style
    # Its measurements
    row: Row
    # Whether its releases make a claim; others are baselines
    has_claim: bool


@brief
class Drawing(NamedTuple):
    """The frontier as geometry for SVG."""

    # Size of the whole, and edges of the plot
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
    # A line per method with several points
    lines: list[tuple[Style, str]]
    # The line through the Pareto-optimal settings; empty for fewer than two
    frontier: str
    # The position of the highest accepted risk
    limit: float | None
    # The height of lists of popular items; None if it is not known
    popular: float | None
    # Names of the chosen, the raw and the Pareto-optimal settings, where there is room
    texts: list[Text]
    # The name of the line of popular items, where the plot has no room for it; else empty
    popular_key: str
    # Titles of the settings that are not drawn, by the reason
    not_drawn: dict[str, list[str]]


def draw(
    rows: list[Row],
    utility: Upward,
    axis: Axis,
    best: Iterable[str] = (),
    max_risk: float | None = None,
    chosen: Iterable[str] = (),
) -> Drawing:
    """Place settings by their risk and the utility they retain.

    Only the chosen settings, the raw table and the Pareto-optimal settings get their names.
    """
    looks = styles_of(row.method for row in rows)
    placed = [
        (row, risk, share.value)
        for row in rows
        if (risk := axis.of(row)) is not None and (share := _share(row, utility)) is not None
    ]
    lowest = max(_LEAST_SHARE, min([0.0, *(share for _, _, share in placed)]))
    dots = [
        Dot(
            x=_x(risk),
            y=_y(share, lowest),
            low=_x(getattr(row, axis.low) or 0.0),
            high=_x(axis.highest(row)),  # an unknown end is as wide as possible
            look=looks[row.method],
            row=row,
            has_claim=is_promise(row.promise),
        )
        for row, risk, share in placed
    ]
    by_title = {dot.row.title: dot for dot in dots}
    best_dots = [by_title[title] for title in best if title in by_title]
    level = popular_share(rows) if utility.name == "lists" else None
    popular = None if level is None else _y(level, lowest)
    titles = dict.fromkeys((*chosen, "raw", *best))
    named = [by_title[title] for title in titles if title in by_title]
    texts = _place_texts(named, dots, popular)
    is_named = popular is None or any(text.text == POPULAR for text in texts)
    return Drawing(
        *(WIDTH, HEIGHT, _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM),
        across=[Tick(_x(risk), percent(risk)) for risk in _RISKS],
        up=[Tick(_y(share, lowest), percent(share)) for share in _SHARES if share >= lowest],
        across_title=f"← safer: {'share of ' * (axis != ATTRIBUTE)}{axis.label} (log scale)",
        up_title=f"{utility.title.lower()}: share of {utility.whole} →",
        dots=dots,
        lines=_lines(dots),
        frontier=_polyline(best_dots) if len(best_dots) > 1 else "",
        limit=None if max_risk is None else _x(max_risk),
        popular=popular,
        texts=texts,
        popular_key="" if is_named else POPULAR,
        not_drawn=_group_undrawn(rows, utility, axis),
    )


def _group_undrawn(rows: list[Row], utility: Upward, axis: Axis) -> dict[str, list[str]]:
    """Return the titles of the settings that are not drawn, by the reason."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        share: Share | None = getattr(shares_of(row), utility.name)
        if row.problem is not None:
            reason = "no result"
        elif axis.of(row) is None:
            reason = f"this risk {describe_missing(row, axis)}, which is not a low risk"
        elif share is None or not share.is_reliable:
            noun = utility.title.lower()
            what = f"{noun} are" if share and share.is_worse else f"the retained share of {noun} is"
            reason = f"{what} {format_share(share)}"
        else:
            continue
        reasons.setdefault(reason, []).append(row.title)
    return reasons


def _place_texts(named: list[Dot], dots: list[Dot], popular: float | None) -> list[Text]:
    """Place the name of the line of popular items, then those of settings."""
    captions = []
    if popular is not None:
        captions.append(
            Caption(POPULAR, [(x, popular + dy) for x in range(160, 525, 14) for dy in (-9, 11)])
        )
    captions += [
        Caption(dot.row.title, places_around(dot.x, dot.y, dot.row.title, _FONT, gap=12))
        for dot in named
    ]
    marks = [(dot.x, dot.y) for dot in dots]
    edges = _LEFT, 0, WIDTH, HEIGHT - _BOTTOM
    heights = [] if popular is None else [popular]
    places = place_captions(captions, marks, edges, _FONT, lines=heights)
    return [
        Text(round(place[0], 1), round(place[1] + 5, 1), caption.text)
        for caption, place in zip(captions, places, strict=True)
        if place is not None
    ]


def _share(row: Row, utility: Upward) -> Share | None:
    """Return the share to draw; None if it cannot be reported."""
    share: Share | None = getattr(shares_of(row), utility.name)
    return share if share is not None and share.is_reliable else None


def _lines(dots: list[Dot]) -> list[tuple[Style, str]]:
    """Return a line through the points of each method, safest first."""
    lines = []
    for look in dict.fromkeys(dot.look.series for dot in dots):
        line = sorted((dot for dot in dots if dot.look.series == look), key=lambda dot: dot.x)
        if len(line) > 1:
            lines.append((line[0].look, _polyline(line)))
    return lines


def _polyline(dots: Iterable[Dot]) -> str:
    return " ".join(f"{dot.x:g},{dot.y:g}" for dot in dots)


def _x(risk: float) -> float:
    along = 1 - math.log10(max(risk, _LEAST_RISK)) / math.log10(_LEAST_RISK)
    return round(_LEFT + along * (WIDTH - _RIGHT - _LEFT), 1)


def _y(share: float, lowest: float) -> float:
    along = (max(lowest, min(share, 1.0)) - lowest) / (1 - lowest)
    return round(HEIGHT - _BOTTOM - along * (HEIGHT - _BOTTOM - _TOP), 1)
