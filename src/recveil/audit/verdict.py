"""The verdict: what the numbers say, in plain words; reassuring only where there is evidence."""

from recveil.attack import Interval
from recveil.attack.statistics import no_better
from recveil.audit.controls import Check
from recveil.audit.outcome import Outcome
from recveil.audit.sufficient import Sufficient

# Of the targets asked for, so many must have been attacked before a low rate may reassure.
COVERAGE = 0.95
# Somebody found in this share of the tries or less counts as hard to find.
_RARELY = 0.05


def write_verdict(
    attacks: list[Outcome], checks: list[Check], sufficient: list[Sufficient]
) -> list[str]:
    """Say in a few sentences how easily people are found; the first is the headline.

    Parameters
    ----------
    attacks : list of Outcome
    checks : list of Check
        The positive controls. If one fails, nothing reassuring is said.
    sufficient : list of Sufficient
    """
    worst = max(attacks, key=lambda outcome: outcome.found.rate)
    sentences = [_headline(worst, may_reassure=not warnings_of(attacks, checks))]
    sentences += [
        f"{_who(outcome)} finds {_percent(outcome.found)} of {outcome.requested:,} people"
        f"{no_better(outcome.found, outcome.baseline, 'a blind guess finds', 'the table')}; by the "
        f"paper's attack {_percent(outcome.success)} stand out."
        for outcome in attacks
    ]
    half = [
        (enough.known, enough.adversary)
        for enough in sufficient
        if enough.share == 0.5 and enough.known
    ]
    if half:
        fewest, adversary = min(half, key=lambda pair: pair[0])
        sentences.append(f"{_count(fewest)} to find half of the people (“{adversary}”).")
    return sentences


def warnings_of(attacks: list[Outcome], checks: list[Check]) -> list[str]:
    """Say what makes the rates unfit to reassure anybody."""
    warnings = [
        f"A check of the attack itself failed, so low rates mean nothing here: {check.name} "
        f"({check.found})."
        for check in checks
        if not check.holds
    ]
    warnings += [
        not_covered(_who(outcome), outcome.skipped, outcome.requested)
        for outcome in attacks
        if outcome.attacked < COVERAGE * outcome.requested
    ]
    return warnings


def not_covered(who: str, skipped: int, requested: int) -> str:
    """Say that a rate is about fewer people than were asked for.

    Examples
    --------
    >>> not_covered("“paper”", 3, 3)
    '“paper”: all 3 targets have too few ratings: nobody was looked for, which shows nothing.'
    """
    if skipped == requested:
        return (
            f"{who}: all {requested:,} targets have too few ratings: nobody was looked for, which "
            f"shows nothing."
        )
    return (
        f"{who}: {skipped:,} of {requested:,} targets have too few ratings and count as not found; "
        f"among the others the rate is higher, unless it is 0."
    )


def _headline(worst: Outcome, *, may_reassure: bool) -> str:
    rate = worst.found
    who = _who(worst)
    if rate.rate >= 0.5:
        return f"Most people in this table are found again: {_percent(rate)} by {who}."
    if rate.high > _RARELY or not may_reassure:
        return f"People in this table are found again: {_percent(rate)} by {who}."
    return (
        f"Few people are found by the adversaries that were tried: at most {_percent(rate)}, by "
        f"{who}. Somebody who knows more, or a better attack, will find more."
    )


def _who(outcome: Outcome) -> str:
    return f"“{outcome.adversary.name}”" if outcome.adversary.name else "this adversary"


def _count(known: int) -> str:
    return "1 known rating suffices" if known == 1 else f"{known} known ratings suffice"


def _percent(interval: Interval) -> str:
    return f"{interval.rate:.1%} ({interval.low:.1%} to {interval.high:.1%})"
