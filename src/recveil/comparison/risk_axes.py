"""Safety: which settings anybody may take at all, whatever they are worth."""

from collections.abc import Iterable
from typing import NamedTuple

from recveil.attacks import Interval
from recveil.attacks.membership.inference import SHADOWS_OF_ALL
from recveil.attacks.statistics import FEWEST, no_better
from recveil.auditing.verdict import COVERAGE
from recveil.comparison.measures import measure_named
from recveil.comparison.rows import Row
from recveil.comparison.utility import percent
from recveil.release.claim import is_promise
from recveil.runtime.errors import RecveilError


class Axis(NamedTuple):
    """One meaning of risk: a share between 0 and 1, the less the safer.

    Attributes
    ----------
    name : str
        What `compare` and ``--risk`` call it.
    words : str
        What it is, for people.
    value, low, high, by : str
        The measures that hold it, the ends of its 95 % interval, and who reaches it.
    limit : str
        What follows "at most 10%", as in "of the people found".
    reach, reached : str
        What the strongest adversary does and did, with ``{rate}``; ``{people}`` are those looked
        for.
    told : str
        The same as a fact, without anybody who does it.
    column : str
        The head of its column.
    baseline : str
        The measure of what is reached without the attack.
    source : str
        Who reaches that, with a verb.
    bound : str or None
        The measure of what is proven; None where no claim of a release bounds it.
    still, area, area_low, area_baseline : str
        What to say of a rate that is not above its baseline, with ``{area}`` and ``{baseline}``,
        where another figure, such as an area, is above its own; and the measures of the three.
        Empty if there is no other.
    weak : str
        What to say of a rate that is not above its baseline, where it reassures nobody.
    untold : str
        What it takes to tell the risk, said where it is told of no setting.
    is_search : bool
        Whether people are looked for, so that those who could not be looked for are not safe.
    ladder : tuple of float
        The risks for which the page answers, whoever asks.
    usual : float
        The one of them that is the headline if nobody asked for another.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, risk=0.1, risk_high=0.13, bound=0.2)
    >>> person = AXES["person"]
    >>> person.of(row), person.highest(row), person.bound_of(row), person.say(row, person.reach)
    (0.1, 0.13, 0.2, 'finds 10% of the people')
    """

    name: str
    words: str
    value: str
    low: str
    high: str
    by: str
    limit: str
    reach: str
    reached: str
    told: str
    column: str
    baseline: str
    source: str
    bound: str | None = None
    still: str = ""
    area: str = ""
    area_low: str = ""
    area_baseline: str = ""
    weak: str = ""
    untold: str = ""
    is_search: bool = True
    ladder: tuple[float, ...] = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
    usual: float = 0.1

    def of(self, row: Row) -> float | None:
        """Return the measured risk; None if it was not measured."""
        found: float | None = getattr(row, self.value)
        return found

    def highest(self, row: Row) -> float:
        """Return the upper end of the measured risk; 1 if none was measured."""
        high: float | None = getattr(row, self.high)
        return 1.0 if high is None else high

    def bound_of(self, row: Row) -> float | None:
        """Return what is proven that the risk is at most; None where nothing is."""
        bound: float | None = None if self.bound is None else getattr(row, self.bound)
        return bound

    def say(self, row: Row, template: str) -> str:
        """Fill in one of `reach`, `reached` and `told`."""
        return template.format(rate=percent(self.of(row)), people=f"{row.looked_for or 0:,}")

    def nothing_new(self, row: Row) -> str:
        """Say that the risk is not above its baseline; nothing if it is, or if none is known."""
        baseline: float | None = getattr(row, self.baseline)
        rate, low = self.of(row), getattr(row, self.low)
        if None in (baseline, rate, low):
            return ""
        told = Interval(rate or 0.0, low, self.highest(row), row.looked_for or 1)
        still = self._still(row)
        about = "" if still or self.weak else "the release"
        nothing_new = no_better(told, baseline or 0.0, self.source, about)
        return nothing_new and nothing_new + still + self.weak

    def _still(self, row: Row) -> str:
        """Say that another figure tells something all the same; nothing if it does not."""
        if not self.still:
            return ""
        area, low, baseline = (
            getattr(row, name) for name in (self.area, self.area_low, self.area_baseline)
        )
        if None in (area, low, baseline) or low <= baseline:
            return ""
        return self.still.format(area=percent(area), baseline=percent(baseline))

    def ends(self, row: Row) -> str:
        """Write the interval."""
        return f"{percent(getattr(row, self.low))} to {percent(getattr(row, self.high))}"

    def who(self, row: Row) -> str:
        """Name the strongest adversary."""
        return f"“{getattr(row, self.by)}”"


_AXES = (
    Axis(
        "person",
        "The share of the people looked for who are found; among the s people of the group that "
        "is found, the right one is picked with a chance of 1/s.",
        *("risk", "risk_low", "risk_high", "adversary"),
        limit="of the people found",
        reach="finds {rate} of the people",
        reached="found {rate} of {people} people",
        told="{rate} of {people} people found",
        column="found",
        baseline="risk_baseline",
        source="a blind guess finds",
        bound="bound",
        still="; still, the groups of {area} of the people are found, by always naming the largest "
        "{baseline}, and who finds one learns what its row says",
        area="group_risk",
        area_low="group_risk_low",
        area_baseline="group_risk_baseline",
    ),
    Axis(
        "group",
        "The share of the people looked for whose group is found, by the adversary who finds most "
        "groups. Whoever finds it learns what the group's row says. Large groups are few, and "
        "easier to find: if everybody is one group, everybody finds it.",
        *("group_risk", "group_risk_low", "group_risk_high", "group_risk_by"),
        limit="of the people's groups found",
        reach="finds the groups of {rate} of the people",
        reached="found the groups of {rate} of {people} people",
        told="the groups of {rate} of {people} people found",
        column="group found",
        baseline="group_risk_baseline",
        source="always naming the largest group finds",
        still="; still, {area} of the people are found, by a blind guess {baseline}",
        area="risk",
        area_low="risk_low",
        area_baseline="risk_baseline",
        ladder=(0.9, 0.5, 0.2, 0.1, 0.05, 0.02),
        usual=0.5,
    ),
    Axis(
        "membership",
        "The share of the people in the data who are recognized as being in it, when 5 % of the "
        "people outside are taken for members, too. A blind guess recognizes 5 %, so that nothing "
        "is lower. Of those who know 8, 16 or all ratings, the one counts who recognizes most. "
        "They look at one release only: who makes others for comparison usually tells more, which "
        f"{SHADOWS_OF_ALL} measures.",
        *("members_told", "members_told_low", "members_told_high", "members_told_by"),
        limit="of the members recognized",
        reach="recognizes {rate} of the members",
        reached="recognized {rate} of the members, with 5 % of the others taken for members",
        told="{rate} of the members recognized",
        column="members recognized",
        untold=f"Of no setting is it told how many members are recognized: it takes {FEWEST} "
        f"people in the data and {FEWEST} outside of whom enough ratings are known. A figure of "
        f"fewer is none, which reassures nobody.",
        baseline="members_told_baseline",
        source="a blind guess recognizes",
        weak=f", by scores that look at one release only: {SHADOWS_OF_ALL} usually tells more",
        is_search=False,
        ladder=(0.9, 0.5, 0.3, 0.2, 0.1),
        usual=0.2,
    ),
    Axis(
        "shadows",
        "The share of the people in a release of one half of all people who are recognized as "
        "being in it, when 5 % of the other half are taken for members, too, by who learns from "
        "many such releases of other halves how a release differs by one person. A blind guess "
        "recognizes 5 %. Of those who know 8 or all ratings, the one counts who recognizes more.",
        *("shadows_told", "shadows_told_low", "shadows_told_high", "shadows_told_by"),
        limit="of the members recognized with shadow releases",
        reach="recognizes {rate} of the members with shadow releases",
        reached="recognized {rate} of the members with shadow releases, with 5 % of the others "
        "taken for members",
        told="{rate} of the members recognized with shadow releases",
        column="recognized by shadows",
        untold=f"Of no setting is it told how many members are recognized with shadow releases: it "
        f"takes {2 * FEWEST} people of whom enough ratings are known. A figure of fewer is none, "
        f"which reassures nobody.",
        baseline="shadows_told_baseline",
        source="a blind guess recognizes",
        is_search=False,
        ladder=(0.9, 0.5, 0.3, 0.2, 0.1),
        usual=0.2,
    ),
    Axis(
        "links",
        "Who rated what: the share of the found row's other items that the person rated; or, where "
        "rows hold all items, the share of the pairs of a row and an item rated by somebody behind "
        "it that a fit of all rows marks, with 95 % of the marks right. The higher of both; "
        "popularity alone tells some of them, too.",
        *("links_told", "links_told_low", "links_told_high", "links_told_by"),
        limit="of the links between people and items told",
        reach="tells {rate} of the links between people and items",
        reached="told {rate} of the links between people and items",
        told="{rate} of the links between people and items told",
        column="links told",
        baseline="links_told_baseline",
        source="popularity alone gives",
        still="; still, of two pairs one of which was rated, a fit of all rows takes the right one "
        "for it in {area} of the cases, popularity alone in {baseline}",
        area="links_auc",
        area_low="links_auc_low",
        area_baseline="links_auc_baseline",
        ladder=(0.9, 0.5, 0.3, 0.2, 0.1),
        usual=0.5,
    ),
)
AXES: dict[str, Axis] = {axis.name: axis for axis in _AXES}
PERSON, SHADOWS = AXES["person"], AXES["shadows"]


def usual_axis(rows: Iterable[Row]) -> Axis:
    """Return what the risk is if nobody says: what all methods share, where it was measured.

    Examples
    --------
    >>> usual_axis([Row("padded", 5, "k-anonymity", None, shadows_told=0.2)]).name
    'shadows'
    """
    return SHADOWS if any(SHADOWS.of(row) is not None for row in rows) else PERSON


def register_axis(axis: Axis) -> None:
    """Let comparisons be asked by another risk.

    Raises
    ------
    RecveilError
        If its name is taken, or it names a measure that nobody registered.

    Examples
    --------
    >>> register_axis(PERSON)
    Traceback (most recent call last):
        ...
    recveil.RecveilError: risk 'person': the name is taken; choose another one
    """
    if axis.name in AXES:
        raise RecveilError(
            f"risk {axis.name!r}: the name is taken; choose another one", code="argument.value"
        )
    names = (axis.value, axis.low, axis.high, axis.by, axis.baseline, axis.bound)
    for name in filter(None, (*names, axis.area, axis.area_low, axis.area_baseline)):
        measure_named(name)
    AXES[axis.name] = axis


def axis_named(name: str) -> Axis:
    """Return an axis.

    Raises
    ------
    RecveilError
        If there is none of this name.

    Examples
    --------
    >>> axis_named("group").value
    'group_risk'
    """
    if name not in AXES:
        raise RecveilError(
            f"risk (--risk) is {name!r}; expected {', '.join(AXES)}", code="option.value"
        )
    return AXES[name]


def is_safe(row: Row, max_risk: float | None, min_k: int | None, axis: Axis = PERSON) -> bool:
    """Tell whether a setting may be taken: what is measured or proven of it keeps the limits.

    Parameters
    ----------
    row : Row
    max_risk : float or None
        The upper end of the measured interval must not be above it, unless it is proven that the
        risk is not. Without a proof, some adversary must have looked for nearly everybody.
    min_k : int or None
        At least so many people must share each row.
    axis : Axis
        What the risk is.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, bound=0.2, risk_high=0.12, rmse=0.9)
    >>> is_safe(row, 0.2, None), is_safe(row, 0.15, None), is_safe(row, None, 6)
    (True, False, False)
    """
    if not is_candidate(row, axis):
        return False
    if min_k is not None and (row.bound is None or (row.k or 0) < min_k):
        return False
    if max_risk is None:
        return min_k is not None or was_looked_for(row, axis)
    bound = axis.bound_of(row)
    is_proven = bound is not None and bound <= max_risk
    return is_proven or (axis.highest(row) <= max_risk and was_looked_for(row, axis))


def is_passed_over(
    row: Row, max_risk: float | None, min_k: int | None, axis: Axis = PERSON
) -> bool:
    """Tell whether a setting is not safe for one reason: many people could not be looked for.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, bound=0.2, risk_high=0.05, rmse=0.9,
    ...           looked_for=900, most_attacked=700)
    >>> is_passed_over(row, 0.1, None), is_passed_over(row, 0.01, None)
    (True, False)
    """
    everybody = row._replace(most_attacked=row.looked_for)
    return not is_safe(row, max_risk, min_k, axis) and is_safe(everybody, max_risk, min_k, axis)


def is_candidate(row: Row, axis: Axis = PERSON) -> bool:
    """Tell whether a row has a result, with this risk measured, and promises something."""
    utilities = (row.rmse, row.ndcg, row.words_right)  # of likes there is no error, nor of words
    is_judged = getattr(row, axis.high) is not None and any(u is not None for u in utilities)
    return row.problem is None and is_promise(row.promise) and is_judged


def was_looked_for(row: Row, axis: Axis = PERSON) -> bool:
    """Tell whether some adversary could look for nearly everybody whom they were asked for.

    Where a risk needs no search, it was measured on those whom its interval counts.
    """
    if not axis.is_search:
        return axis.of(row) is not None
    return (row.most_attacked or 0) >= COVERAGE * (row.looked_for or 1)
