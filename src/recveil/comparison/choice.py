"""Risk axes, and the choice of the setting with the highest utility among the safe ones."""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Literal, NamedTuple

from recveil.auditing.release_attacks import COVERAGE
from recveil.comparison.measures import measure_named
from recveil.comparison.rows import (
    Purpose,
    Row,
    Utility,
    check_purpose,
    deciding,
    order_of,
    shares_of,
    utilities_in,
    utility_of,
)
from recveil.release.claim import is_promise
from recveil.release.exact_ratings import HIGH
from recveil.release.registry import variant_of
from recveil.runtime.errors import RecveilError


class Axis(NamedTuple):
    """A definition of risk: a share between 0 and 1, lower is safer.

    Attributes
    ----------
    name : str
        Its name for `compare` and ``--risk``.
    value : str
        The measure of the risk. The ends of its 95% interval, its adversary and its baseline are
        the measures of the same name with ``_low``, ``_high``, ``_by`` and ``_baseline``.
    label : str
        What is counted, as in "at most 10% of users re-identified".
    column : str
        The header of its column.
    baseline_label : str
        The baseline, as a noun phrase.
    bound : str or None
        The measure of the proven bound; None where no claim of a release bounds it.
    second, second_label : str
        The measure of another figure that matters where the risk is not above its baseline, such as
        an AUC, and its name; empty if there is none.
    is_search : bool
        Whether users are targets, so that those who could not be attacked are not safe.
    ladder : tuple of float
        Risks for which the page always gives an answer.
    usual : float
        The default one of them, for the headline.
    least_in_raw : float
        If the raw data have a lower risk, low risks are little evidence for the methods.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, risk=0.1, risk_high=0.13, bound=0.2)
    >>> axis = AXES["reidentification"]
    >>> axis.of(row), axis.highest(row), axis.bound_of(row)
    (0.1, 0.13, 0.2)
    """

    name: str
    value: str
    label: str
    column: str
    baseline_label: str
    bound: str | None = None
    second: str = ""
    second_label: str = ""
    is_search: bool = True
    ladder: tuple[float, ...] = (0.9, 0.5, 0.3, 0.2, 0.1)
    usual: float = 0.2
    least_in_raw: float = 0.5

    @property
    def low(self) -> str:
        """The measure of the lower end of the interval."""
        return f"{self.value}_low"

    @property
    def high(self) -> str:
        """The measure of the upper end of the interval."""
        return f"{self.value}_high"

    @property
    def by(self) -> str:
        """The measure of the adversary."""
        return f"{self.value}_by"

    @property
    def baseline(self) -> str:
        """The measure of the baseline."""
        return f"{self.value}_baseline"

    def of(self, row: Row) -> float | None:
        """Return the measured risk; None if it was not measured."""
        risk: float | None = getattr(row, self.value)
        return risk

    def highest(self, row: Row) -> float:
        """Return the upper end of the measured risk; if none was, the proven bound, or 1."""
        high: float | None = getattr(row, self.high)
        if high is None:
            high = self.bound_of(row)
        return 1.0 if high is None else high

    def bound_of(self, row: Row) -> float | None:
        """Return the proven upper bound of the risk; None without one."""
        bound: float | None = None if self.bound is None else getattr(row, self.bound)
        return bound


REIDENTIFICATION = Axis(
    "reidentification",
    "risk",
    "users re-identified",
    "re-identified",
    "a random guess",
    bound="bound",
    second="class_risk",
    second_label="equivalence classes re-identified",
    ladder=(0.5, 0.2, 0.1, 0.05, 0.02, 0.01),
    usual=0.1,
)
SHADOWS = Axis(
    "shadows",
    "shadow_tpr",
    "members recognized with shadow releases",
    "recognized by shadows",
    "a random guess",
    bound="membership_bound",
    is_search=False,
)
ATTRIBUTE = Axis(
    "attribute",
    "attribute_added",
    "AUC added to attribute inference",
    "AUC added to attributes",
    "a random row",
    is_search=False,
    ladder=(0.2, 0.1, 0.05, 0.02, 0.01),
    usual=0.05,
    least_in_raw=0.01,
)
AXES: dict[str, Axis] = {
    axis.name: axis
    for axis in (
        REIDENTIFICATION,
        Axis(
            "class",
            "class_risk",
            "equivalence classes re-identified",
            "class re-identified",
            "always choosing the largest class",
            second="risk",
            second_label="users re-identified",
            ladder=(0.9, 0.5, 0.2, 0.1, 0.05, 0.02),
            usual=0.5,
        ),
        Axis(
            "membership",
            "membership_tpr",
            "members recognized",
            "members recognized",
            "a random guess",
            bound="membership_bound",
            is_search=False,
        ),
        SHADOWS,
        Axis(
            "links",
            "links_inferred",
            "user-item links inferred",
            "links inferred",
            "item popularity alone",
            second="links_auc",
            second_label="AUC of a fit of all rows",
            usual=0.5,
        ),
        ATTRIBUTE,
    )
}


def usual_axis(rows: Iterable[Row]) -> Axis:
    """Return the default axis: shadow releases, which suit all methods, where they were measured.

    >>> usual_axis([Row("padded", 5, "k-anonymity", None, shadow_tpr=0.2)]).name
    'shadows'
    """
    return SHADOWS if any(SHADOWS.of(row) is not None for row in rows) else REIDENTIFICATION


def register_axis(axis: Axis) -> None:
    """Register a risk axis for comparisons.

    Raises
    ------
    RecveilError
        If its name is taken, or it names an unregistered measure.

    Examples
    --------
    >>> register_axis(REIDENTIFICATION)
    Traceback (most recent call last):
        ...
    recveil.RecveilError: risk 'reidentification': the name is taken; choose another one
    """
    if axis.name in AXES:
        raise RecveilError(
            f"risk {axis.name!r}: the name is taken; choose another one", code="argument.value"
        )
    names = [axis.value, axis.low, axis.high, axis.by, axis.baseline, axis.bound, axis.second]
    if axis.second:
        names += [f"{axis.second}_low", f"{axis.second}_baseline"]
    for name in filter(None, names):
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
    >>> axis_named("class").value
    'class_risk'
    """
    if name not in AXES:
        raise RecveilError(
            f"risk (--risk) is {name!r}; expected {', '.join(AXES)}", code="option.value"
        )
    return AXES[name]


def is_safe(
    row: Row, max_risk: float | None, min_k: int | None, axis: Axis = REIDENTIFICATION
) -> bool:
    """Return whether a setting is within the limits, as measured or proven."""
    if not is_candidate(row, axis):
        return False
    if min_k is not None and (row.bound is None or (row.k or 0) < min_k):
        return False
    if max_risk is None and min_k is not None:
        return True
    limit, bound = 1.0 if max_risk is None else max_risk, axis.bound_of(row)
    is_proven = bound is not None and bound <= limit
    return is_proven or (axis.highest(row) <= limit and has_coverage(row, axis))


def is_candidate(row: Row, axis: Axis = REIDENTIFICATION) -> bool:
    """Return whether a row has a result, a guarantee and this risk.

    Where no target could be attacked, its proven bound counts. A method without fitting attacks has
    no targets, and is no candidate.
    """
    utilities = (row.rmse, row.ndcg, row.nominal_accuracy)
    is_proven = row.most_targets_attacked == 0 and axis.bound_of(row) is not None
    has_risk = getattr(row, axis.high) is not None or is_proven
    has_utility = any(utility is not None for utility in utilities)
    return row.problem is None and is_promise(row.promise) and has_risk and has_utility


def has_coverage(row: Row, axis: Axis = REIDENTIFICATION) -> bool:
    """Return whether an adversary who knows only some ratings could attack nearly all targets."""
    if not axis.is_search:
        return axis.of(row) is not None
    return bool((row.most_targets_attacked or 0) >= COVERAGE * (row.targets or 1))


# Why no setting is recommended.
NoChoice = Literal["unfinished", "not-distinguishable", "no-safe-setting", "below-baseline"]
# From these differences on, a setting discloses far more than another of the same utility: of the
# AUC of membership inference, where the intervals are disjoint, and of the share of ratings that
# are published exactly.
FAR_AUC, FAR_PUBLISHED = 0.1, 0.1
# From this AUC of membership inference on, a setting is not recommended without stating that first.
HIGH_AUC = 0.95
# A setting whose share of kept items or ratings is lower by more has not the same utility.
FAR_KEPT = 0.1


class Choice(NamedTuple):
    """The answer to one question.

    Attributes
    ----------
    max_risk : float or None
    min_k : int or None
    utility : {"both", "ratings", "lists"}
    risk : str
        The question.
    row : Row or None
        The setting, or None if there is none.
    tied : list of Row
        The other safe settings whose utility intervals overlap those of the answer, so that one
        split cannot rank them.
    decided_by : {"both", "ratings", "lists"} or None
        The shares that decided; None if no safe setting reports one, so that the safest won.
    rejected : list of Row
        Settings with more utility than the answer, the best first, that were rejected because too
        many users could not be attacked.
    beaten : list of Row
        Without an answer, the settings within the limits, if none of them beats a baseline.
    safest : Row or None
        Without an answer, the setting with the lowest risk; None if no setting is a candidate.
    less_disclosing : list of Row
        Settings of the same utility that disclose far less than the answer, the best first: their
        AUC of membership inference or their share of exactly published ratings is lower by more
        than `FAR_AUC` or `FAR_PUBLISHED`. Their risk does not apply, or they disclose more of the
        other of the two.
    reason : {"unfinished", "not-distinguishable", "no-safe-setting", "below-baseline"} or None
        Why there is no answer: the comparison is unfinished; the raw table itself does not beat a
        baseline by more than its interval, so that no share decides; no setting is within the
        limits; or none of those beats popularity or averages in what decides.
    unbeaten : tuple of {"lists", "ratings"}
        Where the raw table does not beat its baseline, popularity or averages.
    n_unfinished : int
        Number of settings that are not finished.
    is_nominal : bool
        Whether nominal labels are predicted, so that the baseline is the most frequent label.
    more_disclosing : list of Row
        Settings that retain more than the answer, not distinguishably so, and disclose far more.
    unclear : list of Row
        Settings that retain more than the answer as measured, the best first, and beat fewer
        baselines by more than their interval.
    least_disclosing : list of Row
        Where its AUC is at least `HIGH_AUC`, or most ratings are exact: those with far less of it.
    """

    max_risk: float | None
    min_k: int | None
    utility: Purpose
    risk: str
    row: Row | None = None
    tied: list[Row] = []  # noqa: RUF012
    decided_by: Purpose | None = None
    rejected: list[Row] = []  # noqa: RUF012
    beaten: list[Row] = []  # noqa: RUF012
    safest: Row | None = None
    less_disclosing: list[Row] = []  # noqa: RUF012
    reason: NoChoice | None = None
    unbeaten: tuple[Utility, ...] = ()
    n_unfinished: int = 0
    is_nominal: bool = False
    more_disclosing: list[Row] = []  # noqa: RUF012
    unclear: list[Row] = []  # noqa: RUF012
    least_disclosing: list[Row] = []  # noqa: RUF012

    @property
    def axis(self) -> Axis:
        """The risk."""
        return axis_named(self.risk)

    @property
    def is_unanswerable(self) -> bool:
        """Whether no limits would give an answer."""
        return self.reason in ("unfinished", "not-distinguishable")


def choose_setting(
    rows: Iterable[Row],
    max_risk: float | None = None,
    min_k: int | None = None,
    utility: Purpose = "both",
    risk: str = REIDENTIFICATION.name,
    unfinished: int = 0,
) -> Choice:
    """Return the setting with the highest utility among those that are safe enough.

    Parameters
    ----------
    rows : iterable of Row
    max_risk : float, optional
        Limit of the upper end of the measured risk's 95% interval, or of its proven bound.
    min_k : int, optional
        Minimum number of users on each row. A shared set of items is not enough.
    utility : {"both", "ratings", "lists"}
        The retained share of the raw data's gain in predicted ratings, that of the nDCG of their
        lists, or the smaller of the two. A share that no safe setting reports decides nothing; see
        `deciding`. Ties go to the better lists, then ratings, then to the safest. Without any
        share, the safest wins, unless the raw table does not beat its baselines.
    risk : {"reidentification", "class", "membership", "links", "shadows"}
        The risk, each by the adversary who is strongest there; see `recveil.comparison.AXES`.
    unfinished : int
        Number of settings that are not finished. With any, no setting is chosen.

    Returns
    -------
    Choice
        Never a baseline, which has no guarantee. Never a setting that discloses far more than
        another one of the same utility within the limits; one that keeps far fewer items or ratings
        (`FAR_KEPT`) has not the same utility. Never a setting that beats neither of the baselines
        that count, popularity in lists and averages in ratings, nor one that beats fewer of them by
        more than its 95% interval than another setting does. And without a proof, never a setting
        for which no adversary who knows only some ratings could attack at least 95% of the
        targets: a user who was not attacked is not safe.

    Raises
    ------
    RecveilError
        If a limit is out of range.

    Examples
    --------
    >>> figures = {"targets": 900, "most_targets_attacked": 900, "rmse": 0.95}
    >>> figures |= {"is_gain_reliable": True, "gain_retained": 0.7}
    >>> padded = Row("padded", 5, "k-anonymity", None, bound=0.2, risk_high=0.12, **figures)
    >>> raw = padded._replace(method="raw", k=None, promise="nothing", gain_retained=1)
    >>> choose_setting([padded, raw], max_risk=0.2).row.title
    'padded, k = 5'
    >>> choose_setting([padded, raw], max_risk=0.1).reason
    'no-safe-setting'
    >>> choose_setting([padded, raw], unfinished=3).reason
    'unfinished'
    """
    _check_limits(max_risk, min_k)
    check_purpose(utility)
    axis = axis_named(risk)
    rows = list(rows)
    unbeaten = tuple(
        name for name in utilities_in(utility) if any(row.is_unbeaten(name) for row in rows)
    )
    is_nominal = any(row.is_nominal for row in rows)
    question = Choice(max_risk, min_k, utility, risk, unbeaten=unbeaten, is_nominal=is_nominal)
    if unfinished:
        return question._replace(reason="unfinished", n_unfinished=unfinished)
    safe = [row for row in rows if is_safe(row, max_risk, min_k, axis)]
    candidates = [row for row in rows if is_candidate(row, axis)]
    counted = set(utilities_in(utility)).difference(unbeaten)
    decided = _deciding(safe or candidates, utility)
    decided = decided or _find_lost(safe or candidates, counted if unbeaten else ())
    if decided is None and unbeaten:
        return question._replace(reason="not-distinguishable")
    if not safe:
        safest = min(candidates, key=lambda row: (axis.highest(row), -(row.k or 0)), default=None)
        return question._replace(safest=safest, reason="no-safe-setting")

    def order(row: Row) -> tuple[float, ...]:
        return order_of(row, decided, axis.highest(row))

    is_useful = partial(_is_useful, names=utilities_in(decided or utility))

    def is_equal(row: Row) -> bool:
        """Return whether a setting has the utility of the best, and beats the same baselines."""
        is_clear = _cleared(best, counted) <= _cleared(row, counted)
        return is_clear and not _keeps_far_less(row, best) and _has_same_utility(best, row, decided)

    def is_unclear(row: Row) -> bool:
        """Return whether a setting comes first, and would have been the answer were it clear."""
        return is_useful(row) and row not in useful and order(row) < order(best)

    def is_rejected(row: Row) -> bool:
        """Return whether a better setting is unsafe only because users could not be attacked."""
        covered = row._replace(most_targets_attacked=row.targets)
        limits = max_risk, min_k, axis
        is_better = order(row) < order(best) or not is_useful(best)
        return (
            is_useful(row) and is_better and not is_safe(row, *limits) and is_safe(covered, *limits)
        )

    def is_alternative(row: Row) -> bool:
        """Return whether a setting could be published instead, or its risk does not apply."""
        is_open = min_k is None and axis.of(row) is None and is_promise(row.promise)
        is_other = row is not best and row.problem is None and is_useful(row)
        return is_other and (row in safe or is_open)

    useful = _clearest([row for row in safe if is_useful(row)], counted)
    best = (sorted(useful, key=order) or safe)[0]
    rejected = sorted(filter(is_rejected, rows), key=order)
    if not is_useful(best):
        return question._replace(
            reason="below-baseline", beaten=safe, decided_by=decided, rejected=rejected
        )
    alternatives = list(filter(is_equal, sorted(filter(is_alternative, rows), key=order)))
    best, more_disclosing = _least_disclosing([best, *(row for row in alternatives if row in safe)])
    others = [row for row in useful if row is not best and row not in more_disclosing]
    return question._replace(
        row=best,
        tied=[
            row
            for row in sorted(others, key=order)
            if is_equal(row) and _reaches(row, best, decided) and _reaches(best, row, decided)
        ],
        decided_by=decided,
        rejected=rejected,
        less_disclosing=[
            row
            for row in alternatives
            if row not in (best, *more_disclosing) and discloses_far_less(row, best)
        ],
        more_disclosing=more_disclosing,
        unclear=sorted(filter(is_unclear, safe), key=order),
        least_disclosing=_find_least_disclosing(rows, best, order),
    )


def _deciding(rows: list[Row], utility: Purpose) -> Purpose | None:
    """Return which shares decide; of two, one alone if no setting beats the other's baseline."""
    decided = deciding(rows, utility)
    beating = [n for n in utilities_in(decided) if any(row.is_above_baseline(n) for row in rows)]
    return beating[0] if len(beating) == 1 else decided


def _find_lost(rows: list[Row], names: Iterable[Utility]) -> Utility | None:
    """Return a utility in which the baseline beats all settings, though not the raw table."""
    for name in names:
        has_gain = any(getattr(shares_of(row), name) is not None for row in rows)
        if has_gain and not any(row.is_above_baseline(name) for row in rows):
            return name
    return None


def _is_useful(row: Row, names: Iterable[Utility]) -> bool:
    """Return whether a setting beats one of the baselines."""
    return any(row.is_above_baseline(name) for name in names)


def _cleared(row: Row, names: Collection[Utility]) -> set[Utility]:
    """Return the utilities in which a setting beats the baseline by more than its interval."""
    return {name for name in names if row.is_clearly_above_baseline(name)}


def _clearest(rows: list[Row], names: Collection[Utility]) -> list[Row]:
    """Return the rows that no other one surpasses in the baselines that are beaten clearly."""
    cleared = [_cleared(row, names) for row in rows]
    return [
        row
        for row, one in zip(rows, cleared, strict=True)
        if not any(one < other for other in cleared)
    ]


def _keeps_far_less(one: Row, other: Row) -> bool:
    """Return whether a setting keeps far fewer items, or far fewer ratings."""
    pairs = (one.items_kept, other.items_kept), (one.ratings_kept, other.ratings_kept)
    return any(None not in pair and pair[1] - pair[0] > FAR_KEPT for pair in pairs)


def _least_disclosing(rows: list[Row]) -> tuple[Row, list[Row]]:
    """Return the first row that none discloses far less than, and those before it, first first."""
    best, *others = rows
    passed = []
    for row in others:
        if discloses_far_less(row, best) and not discloses_far_less(best, row):
            passed.append(best)
            best = row
    return best, passed


def _check_limits(max_risk: float | None, min_k: int | None) -> None:
    """Reject limits that are out of range."""
    if max_risk is not None and not 0 < max_risk <= 1:
        raise RecveilError(
            f"max_risk (--max-risk) is {max_risk}; expected a share above 0, up to 1",
            code="option.value",
        )
    if min_k is not None and min_k < 2:
        raise RecveilError(f"min_k (--min-k) is {min_k}; expected at least 2", code="option.value")


def discloses_far_less(one: Row, other: Row) -> bool:
    """Return whether a setting discloses far less membership, or far fewer exact ratings.

    >>> row = Row("simple", 5, "k-anonymity", None, membership_auc=0.9, published_share=0.6)
    >>> discloses_far_less(row._replace(membership_auc=0.7), row), discloses_far_less(row, row)
    (True, False)
    >>> discloses_far_less(row._replace(published_share=0.55), row)
    False
    """
    return has_far_lower_auc(one, other) or _published(other) - _published(one) > FAR_PUBLISHED


def has_far_lower_auc(one: Row, other: Row) -> bool:
    """Compare the strongest membership inference that was measured in both settings."""
    for name in ("shadow_auc", "membership_auc"):
        low, high = getattr(one, name), getattr(other, name)
        if low is not None and high is not None:
            ends = getattr(one, f"{name}_high"), getattr(other, f"{name}_low")
            is_disjoint = None in ends or ends[0] < ends[1]
            return bool(high - low > FAR_AUC and is_disjoint)
    return False


def _published(row: Row) -> float:
    """Return the share of exactly published ratings; a synthetic user has none."""
    if not variant_of(row.method).about_claim.contains_users:
        return 0.0
    return 0.0 if row.published_share is None else float(row.published_share)


def inference_of(row: Row) -> str:
    """Return the measure of the strongest membership inference that was run on a setting."""
    return "membership_auc" if row.shadow_auc is None else "shadow_auc"


def high_disclosure_of(row: Row) -> str:
    """Return the measure of a disclosure that has to be stated first; empty if there is none."""
    name = inference_of(row)
    if (getattr(row, name) or 0.0) >= HIGH_AUC:
        return name
    return "published_share" if _published(row) > HIGH else ""


def _find_least_disclosing(
    rows: list[Row], best: Row, order: Callable[[Row], tuple[float, ...]]
) -> list[Row]:
    name = high_disclosure_of(best)
    far = FAR_PUBLISHED if name == "published_share" else FAR_AUC
    lower = [
        row
        for row in rows
        if name and row.problem is None and is_promise(row.promise)
        if getattr(row, name) is not None and getattr(best, name) - getattr(row, name) > far
    ]
    return sorted(lower, key=lambda row: (getattr(row, name), order(row)))


def frontier(
    rows: Iterable[Row], utility: Purpose = "both", risk: str = REIDENTIFICATION.name
) -> list[Row]:
    """Return the settings on the Pareto frontier of risk and utility, the safest first.

    Baselines are left out, since they are no candidates, as are settings without
    reported shares or a measured risk.

    Examples
    --------
    >>> def row(k, risk, retained):
    ...     return Row("padded", k, "k-anonymity", None, risk=risk, risk_high=risk, rmse=0.9,
    ...                is_ndcg_reliable=True, ndcg_retained=retained)
    >>> [row.k for row in frontier([row(2, 0.4, 0.9), row(5, 0.2, 0.8), row(9, 0.3, 0.7)])]
    [5, 2]
    """
    axis = axis_named(risk)
    candidates = [row for row in rows if is_candidate(row, axis) and axis.of(row) is not None]
    decided = deciding(candidates, utility)
    if decided is None:
        return []

    def order(row: Row) -> tuple[float, ...]:
        return order_of(row, decided, axis.highest(row))

    best: list[Row] = []
    for row in sorted(candidates, key=lambda row: (axis.highest(row), order(row))):
        if utility_of(row, decided) and (not best or order(row)[0] < order(best[-1])[0]):
            best.append(row)
    return best


def _reaches(one: Row, other: Row, decided: Purpose | None) -> bool:
    """Return whether the intervals of one setting reach those of another in all deciding shares."""
    pairs = [
        (getattr(shares_of(one), name), getattr(shares_of(other), name))
        for name in utilities_in(decided)
    ]
    known = [(high.high, low.low) for high, low in pairs if high is not None and low is not None]
    return bool(known) and all(None not in ends and ends[0] >= ends[1] for ends in known)


def _has_same_utility(best: Row, other: Row, decided: Purpose | None) -> bool:
    """Return whether a setting has at least the utility of the best, as far as one split shows."""
    if decided is None:
        return True
    one, two = utility_of(best, decided), utility_of(other, decided)
    if one is None or two is None:
        return False
    return two.value >= one.value or _reaches(other, best, decided)
