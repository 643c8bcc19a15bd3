"""Decisions of Narayanan & Shmatikov's attacks: matches, equal error rates and widths.

The paper leaves the parameters to trial and error; half of the targets choose, the others judge
them.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import (
    Adversary,
    Candidates,
    CandidateSets,
    Guesses,
    Interval,
    Knowledge,
    ScoreboardRH,
    draw_knowledge,
    wilson_interval,
)
from recveil.attacks.adversary import ECCENTRICITY
from recveil.attacks.registry import attacks_on_table
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief

# Widths that are tried, as shares of the scale's range and in days.
_RATING_WIDTHS = (1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 1, 2)
_DAY_WIDTHS = (1, 3, 7, 14, 30, 60, 120, 365)
# Fewest users of a half that choose an eccentricity: of 20, each error rate moves by steps of 5 %.
_FEWEST = 20

_Measure = Literal["reidentified", "matched"]


class MatchCounts(NamedTuple):
    """Matches of the paper's attack on the targets."""

    right: float
    wrong: float
    # Matches although the target's record was removed
    of_control: int


class ErrorRates(NamedTuple):
    """Error rates of Scoreboard-RH at an eccentricity."""

    eccentricity: float
    # Share of users not in the table for whom some record is a match
    false_accept: Interval
    # Share of users in the table whose record is not the match
    false_reject: Interval


@dataclass(frozen=True)
class Calibration(Reportable):
    """Equal error rate of an adversary: chosen on half of the targets, judged on the other.

    Parameters
    ----------
    chosen, default : ErrorRates
        At the chosen eccentricity, and at the paper's 1.5; both on the other half.
    """

    chosen: ErrorRates
    default: ErrorRates


@dataclass(frozen=True)
class Tuning(Reportable):
    """Widths that re-identify most targets of one half, judged on the other.

    What decides is the re-identification rate of the adversary's attack (without an eccentricity
    threshold); for an adversary with an eccentricity other than the paper's 1.5, or "auto", it is
    the rate of right matches, which is the paper's measure. The other one decides ties.

    Parameters
    ----------
    adversary : str
    rating_width, day_width : float
        ρ0 in points, and d0 in days; the adversary's own if no others re-identify more targets of
        the first half.
    before, after : Interval
        Re-identification rate of the adversary's attack (without an eccentricity threshold) with
        the adversary's own widths, and with these.
    is_used : bool
        Whether what decides is higher with these widths; otherwise the attacks keep the
        adversary's own.
    first_before, first_after : Interval
        What decides, on the first half, with the adversary's own widths, and with these.
    matched_before, matched_after : Interval
        Rate of right matches (with the eccentricity threshold) on the other half, likewise.
    decided_by : {"reidentified", "matched"}
    accepted_before, accepted_after : Interval
        Share of the users of the other half who are not in the table and for whom some record is a
        match (false accepts), likewise.
    """

    adversary: str
    rating_width: float
    day_width: float
    before: Interval
    after: Interval
    is_used: bool
    first_before: Interval
    first_after: Interval
    matched_before: Interval
    matched_after: Interval
    decided_by: _Measure
    accepted_before: Interval
    accepted_after: Interval


class _Reached(NamedTuple):
    """What widths reach on one half."""

    right: float
    # Right guesses that are a match
    matched: float
    # Negative, so that more is better
    bits: float

    @classmethod
    def of(cls, adversary: Adversary, guesses: Guesses, knowledge: Knowledge) -> Self:
        """Count the right guesses, and those that are a match."""
        right = matched = float(guesses.chance.sum())
        if guesses.eccentricity is not None:
            is_right = guesses.best == knowledge.targets
            is_match = guesses.eccentricity >= float(adversary.eccentricity)
            matched = float((is_right & is_match).sum())
        bits = 0.0 if guesses.bits is None else float(guesses.bits.sum())
        return cls(right, matched, -bits)

    def rank(self, decided_by: str) -> tuple[float, float, float]:
        """Return what decides, what decides ties, and the bits."""
        first, second = self.right, self.matched
        if decided_by == "matched":
            first, second = second, first
        return first, second, self.bits


@brief
class _Leads(NamedTuple):
    """Eccentricities with and without the target's record, shape (n_targets,) each."""

    # -1 where the best guess is wrong, or there is none
    inside: NDArray[np.float64]
    outside: NDArray[np.float64]


def count_matches(
    adversary: Adversary, guesses: Guesses, candidates: Candidates, knowledge: Knowledge
) -> MatchCounts:
    """Count the matches of the adversary's algorithm among its guesses on a raw table."""
    if isinstance(guesses, CandidateSets):
        right = float(guesses.chance.sum())
        return MatchCounts(
            right=right,
            wrong=float((guesses.records > 0).sum()) - right,
            of_control=int((guesses.records > guesses.target_is_top).sum()),
        )
    if guesses.eccentricity is None:
        raise RecveilError(
            f"attack {ScoreboardRH.name!r} returns no eccentricity, which the audit needs",
            code="argument.result",
        )
    least = float(adversary.eccentricity)
    is_match = (guesses.eccentricity >= least) & (guesses.best >= 0)
    is_right = guesses.best == knowledge.targets
    record_of = np.arange(candidates.n_users)
    leads = ScoreboardRH.of(adversary).control(candidates, knowledge, record_of)
    return MatchCounts(
        right=int((is_match & is_right).sum()),
        wrong=int((is_match & ~is_right).sum()),
        of_control=int((leads >= least).sum()),
    )


def equal_error_rate(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """Return the eccentricity at which false rejects and false accepts are most nearly equal.

    `inside` is that of each right guess, -1 for a wrong one; `outside` that of users not in the
    table. Narayanan & Shmatikov, Definition 3 and footnote 4; the lowest one, 1.5 if none is above
    0.
    """
    levels = np.unique(np.concatenate([inside, outside]))
    levels = levels[levels > 0]
    if not levels.size:
        return ECCENTRICITY
    rejects = np.searchsorted(np.sort(inside), levels) / max(inside.size, 1)
    accepts = 1 - np.searchsorted(np.sort(outside), levels) / max(outside.size, 1)
    return float(levels[np.argmin(np.abs(rejects - accepts))])


def calibrate(
    ratings: Ratings,
    candidates: Candidates,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int = 0,
) -> Calibration:
    """Choose the eccentricity of equal error rates on half of the targets.

    Raises
    ------
    RecveilError
        If the half that chooses has fewer than 20 users.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> found = Candidates.from_ratings(ratings)
    >>> result = calibrate(ratings, found, Adversary(known=3), np.arange(50))
    >>> result.default.eccentricity, result.default.false_accept.trials
    (1.5, 22)
    """
    learning, judging = (
        _measure_leads(ratings, candidates, adversary, half, seed)
        for half in _halves(targets, seed)
    )
    if 0 < learning.inside.size < _FEWEST:
        raise RecveilError(
            f"eccentricity (--eccentricity) is auto, but only {learning.inside.size} users of "
            f"adversary {adversary.name!r} could choose it; expected at least {_FEWEST}. Give "
            f"more targets (--targets), if the table has them, another preset (--preset), or a "
            f"number, such as 1.5",
            code="table.too-few-users",
        )
    chosen = equal_error_rate(learning.inside, learning.outside)
    return Calibration(_errors_at(chosen, judging), _errors_at(ECCENTRICITY, judging))


def tune_widths(
    ratings: Ratings,
    candidates: Candidates,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int = 0,
) -> Tuning:
    """Choose the widths that re-identify most targets of one half, or match most (see `Tuning`).

    Further ties are decided by the remaining bits; widths that tie with the adversary's own in both
    counts are not preferred to them.

    Notes
    -----
    Source: Narayanan & Shmatikov, footnote 6: the widths "must be derived by trial and error for
    each target dataset". One width is varied at a time, until neither improves.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> found = Candidates.from_ratings(ratings)
    >>> tuned = tune_widths(ratings, found, Adversary(known=4, rating_error=1), np.arange(50))
    >>> tuned.rating_width in (0.25, 0.5, 1, 1.5, 2, 4, 8), tuned.day_width
    (True, 30.0)
    """
    decided_by: _Measure = "matched"
    if adversary.eccentricity == ECCENTRICITY:
        decided_by = "reidentified"
    elif adversary.eccentricity == "auto":  # chosen later, for the widths
        adversary = replace(adversary, eccentricity=ECCENTRICITY)
    learning, judging = (
        draw_knowledge(ratings, adversary, half, seed) for half in _halves(targets, seed)
    )

    def guess(tried: Adversary, knowledge: Knowledge) -> Guesses:
        attack = attacks_on_table(tried, ratings.scale)[tried.algorithm]
        return attack.attack(candidates, knowledge, np.arange(ratings.n_users))

    def reach(tried: Adversary) -> tuple[float, float, float]:
        return _Reached.of(tried, guess(tried, learning), learning).rank(decided_by)

    start = reach(adversary)
    best, most, is_better = adversary, start, True
    while is_better:
        is_better = False
        for change in _changes(adversary, ratings.scale.range):
            other = replace(best, **change)
            if (reached := reach(other)) > most:
                best, most, is_better = other, reached, True
    if most[:2] == start[:2]:
        best, most = adversary, start
    counts, accepted = [], []
    for each in (adversary, best):
        guesses = guess(each, judging)
        counts.append(_Reached.of(each, guesses, judging))
        n_accepted = count_matches(each, guesses, candidates, judging).of_control
        accepted.append(wilson_interval(n_accepted, judging.targets.size))
    matched = [judging.rate(each.matched) for each in counts]
    found = [judging.rate(each.right) for each in counts]
    before, after = (
        _Reached(one.rate, other.rate, 0).rank(decided_by)
        for one, other in zip(found, matched, strict=True)
    )
    return Tuning(
        adversary.name,
        best.rating_width,
        best.day_width,
        found[0],
        found[1],
        is_used=after > before,
        first_before=learning.rate(start[0]),
        first_after=learning.rate(most[0]),
        matched_before=matched[0],
        matched_after=matched[1],
        decided_by=decided_by,
        accepted_before=accepted[0],
        accepted_after=accepted[1],
    )


def _changes(adversary: Adversary, value_range: float) -> list[dict[str, Any]]:
    """Return the widths to try, of what the adversary knows, one at a time."""
    changes: list[dict[str, Any]] = []
    if adversary.rating_error is not None and value_range:
        changes += [{"rating_width": value_range * share} for share in _RATING_WIDTHS]
    if adversary.date_error is not None:
        changes += [{"day_width": float(days)} for days in _DAY_WIDTHS]
    return changes


def tune_adversaries(
    ratings: Ratings,
    candidates: Candidates,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int,
    *,
    is_wanted: bool,
) -> tuple[list[Adversary], list[Tuning]]:
    """Return the adversaries, with tuned widths where these help, and how they were chosen."""
    if not is_wanted:
        return adversaries, []
    tunings = [tune_widths(ratings, candidates, each, targets, seed) for each in adversaries]
    return [
        replace(each, rating_width=found.rating_width, day_width=found.day_width)
        if found.is_used
        else each
        for each, found in zip(adversaries, tunings, strict=True)
    ], tunings


def _halves(targets: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the targets at random into two halves, of which the first is no smaller."""
    shuffled = np.random.default_rng([seed, 39]).permutation(targets)
    middle = (targets.size + 1) // 2
    return np.sort(shuffled[:middle]), np.sort(shuffled[middle:])


def _measure_leads(
    ratings: Ratings,
    candidates: Candidates,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int,
) -> _Leads:
    knowledge = draw_knowledge(ratings, adversary, targets, seed)
    attack, record_of = ScoreboardRH.of(adversary), np.arange(ratings.n_users)
    guesses = attack.attack(candidates, knowledge, record_of)
    is_right = guesses.best == knowledge.targets
    return _Leads(
        np.where(is_right, guesses.eccentricity, -1.0),
        attack.control(candidates, knowledge, record_of),
    )


def _errors_at(eccentricity: float, leads: _Leads) -> ErrorRates:
    return ErrorRates(
        eccentricity,
        wilson_interval(int((leads.outside >= eccentricity).sum()), leads.outside.size),
        wilson_interval(int((leads.inside < eccentricity).sum()), leads.inside.size),
    )
