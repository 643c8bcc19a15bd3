"""Risk axes, and which settings are safe on them."""

from collections.abc import Iterable
from typing import NamedTuple

from recveil.attacks import Interval
from recveil.attacks.membership.inference import SHADOWS_OF_ALL
from recveil.attacks.statistics import FEWEST, no_better
from recveil.auditing.release_attacks import COVERAGE
from recveil.comparison.measures import measure_named
from recveil.comparison.rows import Row
from recveil.comparison.utility import percent
from recveil.release.claim import is_promise
from recveil.runtime.errors import RecveilError


class Axis(NamedTuple):
    """A definition of risk: a share between 0 and 1, lower is safer.

    Attributes
    ----------
    name : str
        Its name for `compare` and ``--risk``.
    words : str
        Its display name.
    value, low, high, by : str
        Names of the measures of the risk, the ends of its 95 % interval, and its adversary.
    limit : str
        What follows "at most 10%", as in "of the people found".
    reach, reached : str
        Result of the strongest adversary, in the present and past tense, with ``{rate}``;
        ``{people}`` are the targets.
    told : str
        The same without naming the adversary.
    column : str
        The header of its column.
    baseline : str
        The measure of the rate without the attack.
    source : str
        Subject and verb of the baseline.
    bound : str or None
        The measure of the proven bound; None where no claim of a release bounds it.
    still, area, area_low, area_baseline : str
        Sentence for a rate not above its baseline where another figure, such as an AUC, is above
        its own, with ``{area}`` and ``{baseline}``; and the three measures of that figure. Empty if
        there is no other.
    weak : str
        Sentence for a rate not above its baseline that is no evidence of safety.
    untold : str
        What is needed to measure the risk, for comparisons that have no setting with it.
    is_search : bool
        Whether users are targets, so that those who could not be attacked are not safe.
    ladder : tuple of float
        Risks for which the page always gives an answer.
    usual : float
        The default one of them, for the headline.

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
        """Return the proven upper bound of the risk; None without one."""
        bound: float | None = None if self.bound is None else getattr(row, self.bound)
        return bound

    def say(self, row: Row, template: str) -> str:
        """Fill in one of `reach`, `reached` and `told`."""
        return template.format(rate=percent(self.of(row)), people=f"{row.looked_for or 0:,}")

    def nothing_new(self, row: Row) -> str:
        """Describe a risk that is not above its baseline; empty if it is, or unknown."""
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
        """Describe another figure that is above its baseline; empty if it is not."""
        if not self.still:
            return ""
        area, low, baseline = (
            getattr(row, name) for name in (self.area, self.area_low, self.area_baseline)
        )
        if None in (area, low, baseline) or low <= baseline:
            return ""
        return self.still.format(area=percent(area), baseline=percent(baseline))

    def ends(self, row: Row) -> str:
        """Format the interval."""
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
    """Return the default axis: shadow releases, which suit all methods, where they were measured.

    Examples
    --------
    >>> usual_axis([Row("padded", 5, "k-anonymity", None, shadows_told=0.2)]).name
    'shadows'
    """
    return SHADOWS if any(SHADOWS.of(row) is not None for row in rows) else PERSON


def register_axis(axis: Axis) -> None:
    """Register a risk axis for comparisons.

    Raises
    ------
    RecveilError
        If its name is taken, or it names an unregistered measure.

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
    """Return whether a setting is within the limits, as measured or proven.

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
    """Return whether a setting is unsafe only because many users could not be attacked."""
    everybody = row._replace(most_attacked=row.looked_for)
    return not is_safe(row, max_risk, min_k, axis) and is_safe(everybody, max_risk, min_k, axis)


def is_candidate(row: Row, axis: Axis = PERSON) -> bool:
    """Return whether a row has a result, with this risk measured, and a guarantee."""
    utilities = (row.rmse, row.ndcg, row.words_right)  # likes and words have no error
    is_judged = getattr(row, axis.high) is not None and any(u is not None for u in utilities)
    return row.problem is None and is_promise(row.promise) and is_judged


def was_looked_for(row: Row, axis: Axis = PERSON) -> bool:
    """Return whether some adversary could attack nearly all of the targets.

    A risk without targets was measured on the users that its interval counts.
    """
    if not axis.is_search:
        return axis.of(row) is not None
    return (row.most_attacked or 0) >= COVERAGE * (row.looked_for or 1)
