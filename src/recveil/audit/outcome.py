"""Outcome: how often one adversary succeeds, with everything that is needed to believe it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.attack import (
    Adversary,
    Candidates,
    Interval,
    Likelihood,
    Mean,
    ScoreboardRH,
    draw_knowledge,
    mean_interval,
    wilson_interval,
)
from recveil.brief import brief
from recveil.ratings import Ratings

# Narayanan & Shmatikov's threshold for the eccentricity of a match.
ECCENTRICITY = 1.5


@brief
@dataclass(frozen=True)
class Outcome:
    """What one adversary achieves; every rate but `control` is a share of `requested`.

    Scoreboard-RH is the attack of the paper. `Likelihood` is the one that finds most on a table of
    true ratings. `found` is the better of the two: by it data should be judged.

    Parameters
    ----------
    adversary : Adversary
    requested, skipped : int
        Targets asked for, and those among them with too few ratings (they count as no match).
    success : Interval
        Scoreboard-RH: the best guess is right and stands out (eccentricity at least 1.5).
    wrong_match : Interval
        Scoreboard-RH: the best guess stands out and is wrong.
    no_match : Interval
        Scoreboard-RH: no guess stands out.
    top1 : Interval
        Scoreboard-RH: the top score is the target's; ties count 1 / people tied. No eccentricity
        is asked.
    likeliest : Interval
        `Likelihood`: the likeliest record is the target's; ties count as in `top1`.
    entropy_bits : Mean
        Scoreboard-RH: bits that the adversary still needs, over the targets that were attacked.
    likelihood_bits : Mean
        The same for `Likelihood`.
    baseline : float
        What a blind guess achieves: 1 / people.
    control : Interval
        The same attack on people who are *not* in the data (their record was taken out, and the
        supports that weigh the items counted without it): how often some record stands out, which
        then is a wrong match. A share of the targets who were
        attacked: nobody was spared a wrong match by having too few ratings. nan if none was.
    """

    adversary: Adversary
    requested: int
    skipped: int
    success: Interval
    wrong_match: Interval
    no_match: Interval
    top1: Interval
    likeliest: Interval
    entropy_bits: Mean
    likelihood_bits: Mean
    baseline: float
    control: Interval

    @property
    def attacked(self) -> int:
        """Targets with enough ratings."""
        return self.requested - self.skipped

    @property
    def found(self) -> Interval:
        """How many the better of the two attacks finds; no eccentricity is asked."""
        return max(self.top1, self.likeliest, key=lambda interval: interval.rate)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain data, for JSON."""
        rates = ("success", "top1", "wrong_match", "no_match", "control", "likeliest", "found")
        return {
            "attack": "scoreboard-rh",
            "name": self.adversary.name,
            "description": self.adversary.description,
            **self.adversary.settings(),
            "targets_requested": self.requested,
            "targets_attacked": self.attacked,
            "targets_skipped": self.skipped,
            **{name: getattr(self, name)._asdict() for name in rates},
            "entropy_bits": self.entropy_bits.mean if self.attacked else None,
            # One target alone has no interval, and JSON knows no infinity.
            "entropy_bits_interval": self.entropy_bits._asdict() if self.attacked > 1 else None,
            # JSON knows no nan either: of nobody there is no rate.
            **({} if self.attacked else {"control": self.control._asdict() | {"rate": None}}),
            "likelihood_bits": self.likelihood_bits.mean if self.attacked else None,
            "baseline": self.baseline,
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
    """Attack the raw table, as if it had been published with the names removed.

    Parameters
    ----------
    ratings : Ratings
    candidates : Candidates
        The same ratings, listed by item.
    adversary : Adversary
    targets : ndarray of int64
        User positions; the denominator of every rate is their number.
    draws : int
        How often knowledge is drawn for each target; the rates are means over the draws.
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
    record_of = np.arange(ratings.n_users)
    sums = np.zeros(5)
    bits, likelihood_bits = [], []
    for draw in range(draws):
        # A sequence of seeds, so that no draw repeats another run's.
        knowledge = draw_knowledge(ratings, adversary, targets, seed=_seed(seed, draw))
        guesses = ScoreboardRH().attack(candidates, knowledge, record_of)
        without = ScoreboardRH().control(candidates, knowledge, record_of)
        likeliest = Likelihood.of(adversary).attack(candidates, knowledge, record_of)
        stands_out = (guesses.eccentricity >= ECCENTRICITY) & (guesses.best >= 0)
        right = guesses.best == record_of[knowledge.targets]
        sums += [
            float((stands_out & right).sum()),
            float((stands_out & ~right).sum()),
            float((guesses.own_is_top / guesses.tied_people).sum()),
            float((likeliest.own_is_top / likeliest.tied_people).sum()),
            float((without >= ECCENTRICITY).sum()),
        ]
        bits.append(guesses.bits)
        likelihood_bits.append(likeliest.bits)
    success, wrong, top1, likely, control = (float(total) / draws for total in sums)
    n = targets.size
    return Outcome(
        adversary=adversary,
        requested=n,
        skipped=knowledge.skipped,
        success=wilson_interval(success, n),
        wrong_match=wilson_interval(wrong, n),
        no_match=wilson_interval(max(0.0, n - success - wrong), n),
        top1=wilson_interval(top1, n),
        likeliest=wilson_interval(likely, n),
        entropy_bits=mean_interval(np.mean(bits, axis=0)),
        likelihood_bits=mean_interval(np.mean(likelihood_bits, axis=0)),
        baseline=1 / candidates.n_people,
        control=wilson_interval(control, knowledge.targets.size),
    )


def _seed(seed: int, draw: int) -> int:
    return seed if draw == 0 else int(np.random.default_rng([seed, draw]).integers(2**62))
