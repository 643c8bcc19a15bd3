"""Results of one adversary's attacks on a raw table, with baseline and control."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import (
    Adversary,
    Candidates,
    Guesses,
    Interval,
    Likelihood,
    Mean,
    Membership,
    ReleaseAttack,
    ScoreboardRH,
    draw_knowledge,
    mean_interval,
    wilson_interval,
)
from recveil.attacks.membership.inference import describe_outside_knowledge
from recveil.attacks.registry import attacks_on_table
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

# Narayanan & Shmatikov's threshold for the eccentricity of a match.
ECCENTRICITY = 1.5


@brief
@dataclass(frozen=True)
class Outcome:
    """Results of one adversary; every rate but `control` is a share of `requested`.

    Scoreboard-RH is the attack of the paper. `Likelihood` finds most on a table of true ratings.
    `found` is the best of all registered attacks: judge a table by it.

    Parameters
    ----------
    adversary : Adversary
    requested, skipped : int
        Number of targets, and of those with too few ratings, which count as no match.
    success : Interval
        Scoreboard-RH: the best guess is right, with eccentricity at least 1.5.
    wrong_match : Interval
        Scoreboard-RH: the best guess is wrong, with eccentricity at least 1.5.
    no_match : Interval
        Scoreboard-RH: no guess reaches the eccentricity.
    by_attack : dict of str to Interval
        For each registered attack on raw tables: the record that fits best is the target's; ties
        count 1 / tied users. No eccentricity is required.
    bits_by_attack : dict of str to Mean
        Remaining uncertainty in bits over the attacked targets, for attacks that report it.
    baseline : float
        Success rate of a random guess: 1 / users.
    control : Interval
        The same attack on users who are *not* in the data (their record is removed, and the item
        counts that weigh the items exclude it): how often some record reaches the eccentricity,
        which is then a wrong match. A share of the attacked targets, since a target with too few
        ratings cannot be matched wrongly. nan if none was attacked.
    """

    adversary: Adversary
    requested: int
    skipped: int
    success: Interval
    wrong_match: Interval
    no_match: Interval
    by_attack: dict[str, Interval]
    bits_by_attack: dict[str, Mean]
    baseline: float
    control: Interval

    @property
    def attacked(self) -> int:
        """Targets with enough ratings."""
        return self.requested - self.skipped

    @property
    def top1(self) -> Interval:
        """Success rate of Scoreboard-RH by its top score, without an eccentricity threshold."""
        return self.by_attack[ScoreboardRH.name]

    @property
    def likeliest(self) -> Interval:
        """Success rate of `Likelihood`."""
        return self.by_attack[Likelihood.name]

    @property
    def entropy_bits(self) -> Mean:
        """Remaining uncertainty after Scoreboard-RH, in bits."""
        return self.bits_by_attack[ScoreboardRH.name]

    @property
    def likelihood_bits(self) -> Mean:
        """Remaining uncertainty after `Likelihood`, in bits."""
        return self.bits_by_attack[Likelihood.name]

    @property
    def strongest(self) -> str:
        """The name of the attack that finds most; of equals, the one registered last."""
        return max(reversed(self.by_attack), key=lambda name: self.by_attack[name].rate)

    @property
    def found(self) -> Interval:
        """Success rate of the strongest attack, without an eccentricity threshold."""
        return self.by_attack[self.strongest]

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain data, for JSON."""
        rates = ("success", "top1", "wrong_match", "no_match", "control", "likeliest", "found")
        return {
            "attack": "scoreboard-rh",
            "name": self.adversary.name,
            "description": self.adversary.description,
            "notes": list(self.adversary.notes),
            **self.adversary.settings(),
            "targets_requested": self.requested,
            "targets_attacked": self.attacked,
            "targets_skipped": self.skipped,
            **{name: getattr(self, name)._asdict() for name in rates},
            "entropy_bits": self.entropy_bits.mean if self.attacked else None,
            # A single target has no interval, and JSON has no infinity.
            "entropy_bits_interval": self.entropy_bits._asdict() if self.attacked > 1 else None,
            # JSON has no nan either: without attacked targets there is no rate.
            **({} if self.attacked else {"control": self.control._asdict() | {"rate": None}}),
            "likelihood_bits": self.likelihood_bits.mean if self.attacked else None,
            "baseline": self.baseline,
            "by_attack": {name: found._asdict() for name, found in self.by_attack.items()},
        }

    def _facts(self) -> dict[str, object]:
        return {
            "": self.adversary.name,
            "looked for": self.requested,
            "skipped": self.skipped,
            "found": f"{self.found.rate:.1%}",
            "stands out": f"{self.success.rate:.1%}",
            "control": f"{self.control.rate:.1%}",
        }


def run_attack(
    ratings: Ratings,
    candidates: Candidates,
    adversary: Adversary,
    targets: NDArray[np.int64],
    *,
    draws: int = 1,
    seed: int = 0,
) -> Outcome:
    """Attack the raw table as if it had been published without names.

    Parameters
    ----------
    ratings : Ratings
    candidates : Candidates
        The same ratings, indexed by item.
    adversary : Adversary
    targets : ndarray of int64
        User positions; their number is the denominator of every rate.
    draws : int
        Number of draws of knowledge per target; the rates are means over the draws.
    seed : int

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> outcome = run_attack(
    ...     ratings, Candidates.from_ratings(ratings), Adversary(known=4), np.arange(5)
    ... )
    >>> outcome.requested, outcome.skipped, outcome.top1.rate, outcome.found.rate
    (5, 1, 0.7, 0.8)
    """
    attacks = attacks_on_table(adversary, ratings.scale)
    record_of = np.arange(ratings.n_users)
    tallies = []
    for draw in range(draws):
        # A sequence of seeds, so that no draw repeats another run's.
        knowledge = draw_knowledge(ratings, adversary, targets, seed=_seed(seed, draw))
        guesses = {
            name: attack.attack(candidates, knowledge, record_of)
            for name, attack in attacks.items()
        }
        leads = ScoreboardRH().control(candidates, knowledge, record_of)
        tallies.append(_count(guesses, leads, knowledge.targets))
    success = sum(tally.right for tally in tallies) / draws
    wrong = sum(tally.wrong for tally in tallies) / draws
    control = sum(tally.of_control for tally in tallies) / draws
    hits = {name: sum(tally.hits[name] for tally in tallies) / draws for name in attacks}
    bits = {name: np.mean([t.bits[name] for t in tallies], axis=0) for name in tallies[0].bits}
    n = targets.size
    return Outcome(
        adversary=adversary,
        requested=n,
        skipped=knowledge.skipped,
        success=wilson_interval(success, n),
        wrong_match=wilson_interval(wrong, n),
        no_match=wilson_interval(max(0.0, n - success - wrong), n),
        by_attack={name: wilson_interval(found, n) for name, found in hits.items()},
        bits_by_attack={name: mean_interval(needed) for name, needed in bits.items()},
        baseline=1 / candidates.n_people,
        control=wilson_interval(control, knowledge.targets.size),
    )


@brief
class _Tally(NamedTuple):
    """Success counts of the attacks for one draw of knowledge."""

    right: int  # Scoreboard-RH: eccentric enough, and the target
    wrong: int  # Scoreboard-RH: eccentric enough, and another user
    of_control: int  # Scoreboard-RH: eccentric enough although the target's record was removed
    hits: dict[str, float]  # by attack: expected number of targets found
    bits: dict[str, NDArray[np.float64]]  # by attack that reports it: remaining bits of each target


def _count(
    guesses: dict[str, Guesses], leads: NDArray[np.float64], targets: NDArray[np.int64]
) -> _Tally:
    """Count the targets found; a user's own record has the user's position."""
    paper = guesses[ScoreboardRH.name]
    if paper.eccentricity is None:
        raise RecveilError(
            f"attack {ScoreboardRH.name!r} tells no eccentricity; expected it to",
            code="argument.result",
        )
    stands_out = (paper.eccentricity >= ECCENTRICITY) & (paper.best >= 0)
    right = paper.best == targets
    return _Tally(
        right=int((stands_out & right).sum()),
        wrong=int((stands_out & ~right).sum()),
        of_control=int((leads >= ECCENTRICITY).sum()),
        hits={name: float(found.chance.sum()) for name, found in guesses.items()},
        bits={name: found.bits for name, found in guesses.items() if found.bits is not None},
    )


def _seed(seed: int, draw: int) -> int:
    return seed if draw == 0 else int(np.random.default_rng([seed, draw]).integers(2**62))


def plain_attack(adversary: Adversary, attack: ReleaseAttack) -> dict[str, Any]:
    """Return one adversary's results as plain data."""
    errors = attack.rating_errors
    return {
        "name": adversary.name,
        "description": adversary.description,
        "notes": list(adversary.notes),
        "attack": attack.attack,
        "targets_requested": attack.requested,
        "targets_attacked": attack.requested - attack.skipped,
        "targets_skipped": attack.skipped,
        "group_found": attack.group_found._asdict(),
        "person_found": attack.person_found._asdict(),
        "baseline": attack.baseline,
        "group_baseline": attack.group_baseline,
        "bound": attack.bound,
        "link_precision": _plain_number(attack.link_precision.mean),
        "link_baseline": _plain_number(attack.link_baseline.mean),
        "links": _plain_mean(attack.link_precision),
        "rating_rmse": _plain_number(errors.rmse),
        "item_mean_rmse": _plain_number(errors.item_mean_rmse),
        "exact_share": _plain_number(attack.exact.rate),
        "by_attack": {name: found._asdict() for name, found in attack.by_attack.items()},
        "not_run": list(attack.not_run),
    }


def best_member(
    strongest: Membership, by_known: dict[str, Membership]
) -> tuple[str | None, Membership]:
    """Return who infers membership best: an adversary with exact ratings, or the strongest."""
    who: list[tuple[str | None, Membership]] = [(None, strongest), *by_known.items()]
    told = [each for each in who if each[1].is_told] or who[:1]
    return max(told, key=lambda each: each[1].auc.rate)


def plain_membership(
    strongest: Membership, by_known: dict[str, Membership], *, likes: bool = False
) -> dict[str, Any]:
    """Return the best AUC, and the AUC by number of known ratings, as plain data."""
    known_best, best = best_member(strongest, by_known)
    plain: dict[str, Any] = {
        known: {
            "auc": _plain_interval(told.auc),
            "tpr_at_5": _plain_interval(told.tpr_at_5),
            "null_auc": _plain_interval(told.null_auc),
            "members": told.members,
            "outsiders": told.outsiders,
            "skipped": told.skipped,
            "scorer": told.scorer,
            "outside_knowledge": describe_outside_knowledge(told.scorer, is_unary=likes),
            "is_told": told.is_told,
        }
        for known, told in by_known.items()
    }
    return {
        "auc": best.auc._asdict(),
        "null_auc": _plain_interval(best.null_auc),
        "members": best.members,
        "outsiders": best.outsiders,
        "is_told": best.is_told,
        "known": known_best,
        "scorer": best.scorer,
        "outside_knowledge": describe_outside_knowledge(best.scorer, is_unary=likes),
    } | plain


def _plain_interval(interval: Interval) -> dict[str, Any]:
    """Return an interval as plain data; its rate is None if no user was scored."""
    return interval._asdict() | {"rate": _plain_number(interval.rate)}


def _plain_mean(found: Mean) -> dict[str, Any]:
    """Return a mean with its interval as a rate; None if it was not measured."""
    ends = {"rate": found.mean, "low": found.low, "high": found.high}
    return {name: _plain_number(value) for name, value in ends.items()} | {"trials": found.trials}


def _plain_number(value: float) -> float | None:
    """Return None for nan, which JSON does not have."""
    return None if np.isnan(value) else float(value)
