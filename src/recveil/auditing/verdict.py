"""The verdict of an audit in sentences, reassuring only where there is evidence."""

from typing import NamedTuple

from recveil.attacks import Interval
from recveil.attacks.statistics import no_better
from recveil.auditing._selftest import Check
from recveil.auditing.curves import Sufficient
from recveil.auditing.outcome import Outcome
from recveil.runtime.errors import describe_count

# A low rate may reassure only if this share of the targets was attacked.
COVERAGE = 0.95
# A user found in at most this share of the attempts counts as hard to find.
_RARELY = 0.05
# Minimum number of attacked users for a meaningful rate.
_FEWEST = 20


def write_verdict(
    attacks: list[Outcome], checks: list[Check], sufficient: list[Sufficient]
) -> list[str]:
    """Describe in a few sentences how easily users are re-identified; the first is the headline."""
    looked_for = [outcome for outcome in attacks if outcome.attacked]
    if not looked_for:
        return [
            "Nobody in this table could be looked for, as too few ratings are known of each: how "
            "easily they are found was not measured."
        ]
    worst = max(looked_for, key=lambda outcome: outcome.found.rate)
    sentences = [_headline(worst, may_reassure=not warnings_of(attacks, checks))]
    sentences += [
        f"{_who(outcome)} finds {_percent(outcome.found)} of "
        f"{describe_count(outcome.requested, 'user')}"
        f"{no_better(outcome.found, outcome.baseline, 'a blind guess finds', 'the table')}; by the "
        f"paper's attack {_percent(outcome.success)} stand out."
        for outcome in looked_for
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
    """Return the reasons why the rates may be too low."""
    warnings = [
        f"A check of the attack itself failed, so low rates mean nothing here: {check.name} "
        f"({check.found})."
        for check in checks
        if not check.holds
    ]
    return warnings + not_covered(
        [
            Uncovered(
                outcome.adversary.name, outcome.skipped, outcome.requested, outcome.found.rate
            )
            for outcome in attacks
            if outcome.attacked < COVERAGE * outcome.requested
        ]
    )


class Uncovered(NamedTuple):
    """An adversary who could attack only some of the targets."""

    name: str
    # Number of targets with too few ratings, who count as not found, and of all targets
    skipped: int
    requested: int
    # Share of all targets who were found
    rate: float


def not_covered(rare: list[Uncovered], where: str = "") -> list[str]:
    """Describe which rates cover only some targets, and their values among these."""
    told = [
        f"{where}{_quoted(one.name)}: "
        f"{'the one target has' if one.requested == 1 else f'all {one.requested:,} targets have'} "
        f"too few ratings: nobody was looked for, which shows nothing."
        for one in rare
        if one.skipped == one.requested
    ]
    parts = [
        f"{_quoted(one.name)} could look for {one.requested - one.skipped:,} of {one.requested:,} "
        f"and finds {one.rate * one.requested / (one.requested - one.skipped):.1%} of them"
        for one in rare
        if one.skipped < one.requested
    ]
    if parts:
        who = f"{where}people" if where else "People"
        told.append(
            f"{who} with too few ratings count as not found, so that rates are higher among the "
            f"others: {'; '.join(parts)}."
        )
    return told


def _headline(worst: Outcome, *, may_reassure: bool) -> str:
    rate = worst.found
    who = _who(worst)
    if rate.rate >= 0.5:
        return f"Most people in this table are found again: {_percent(rate)} by {who}."
    if worst.attacked < _FEWEST:
        return (
            f"Too few people can be looked for in this table to say how easily they are found: "
            f"{worst.attacked:,} of {worst.requested:,}; {who} finds {_percent(rate)}."
        )
    if rate.high > _RARELY or not may_reassure:
        return f"People in this table are found again: {_percent(rate)} by {who}."
    return (
        f"Few people are found by the adversaries that were tried: at most {_percent(rate)}, by "
        f"{who}. Somebody who knows more, or a better attack, will find more."
    )


def _who(outcome: Outcome) -> str:
    return _quoted(outcome.adversary.name)


def _quoted(name: str) -> str:
    return f"“{name}”" if name else "this adversary"


def _count(known: int) -> str:
    return "1 known rating suffices" if known == 1 else f"{known} known ratings suffice"


def _percent(interval: Interval) -> str:
    return f"{interval.rate:.1%} ({interval.low:.1%} to {interval.high:.1%})"
