"""Registry of the attacks that an audit tries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.adversary import Adversary
from recveil.attacks.candidates import Candidates
from recveil.attacks.guesses import Guesses
from recveil.attacks.knowledge import Knowledge
from recveil.attacks.reidentification.clusters import ClusterLikelihood
from recveil.attacks.reidentification.likelihood import (
    DateDifferences,
    Likelihood,
    LikelyRated,
    Nearest,
    likelihoods_for_means,
)
from recveil.attacks.reidentification.residuals import ResidualAttack
from recveil.attacks.reidentification.scoreboard import Scoreboard, ScoreboardRH
from recveil.ratings import RatingScale
from recveil.runtime.errors import RecveilError


class Attack(Protocol):
    """An attack with a name, which guesses each target's record."""

    @property
    def name(self) -> str:
        """Name in JSON and on the page."""

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Guesses:
        """Guess every target's record among the candidates.

        Parameters
        ----------
        candidates : Candidates
        knowledge : Knowledge
            Its items are positions in the candidates' list of items.
        record_of : ndarray of int64, shape (n_users,)
            The record of each user, to evaluate the guesses; -1 if they have none. It must not
            influence them.
        """


@dataclass(frozen=True)
class AttackEntry:
    """An attack as an audit registers it.

    Parameters
    ----------
    name : str
        Name in JSON and on the page, and of the attacks it makes.
    description : str
        How it works, in a sentence or two for readers of the report.
    on_table : callable or None
        ``(adversary, scale) -> Attack``: the attack on a raw table; None if not applicable.
    on_release : callable or None
        ``(adversary, scale) -> sequence of Attack``: the attacks on a release, of which the
        strongest is used; None if not applicable.

    Raises
    ------
    RecveilError
        If both are None.
    """

    name: str
    description: str
    on_table: Callable[[Adversary, RatingScale], Attack] | None = None
    on_release: Callable[[Adversary, RatingScale], Sequence[Attack]] | None = None

    def __post_init__(self) -> None:
        if self.on_table is None and self.on_release is None:
            raise RecveilError(
                f"attack {self.name!r} is tried nowhere; give on_table, on_release, or both",
                code="argument.value",
            )


# Attacks in the order in which they are tried. Of equally strong ones, the first is reported.
ATTACKS: dict[str, AttackEntry] = {}
# The first is tried where `attack_release` is given a classifier for the release, the second where
# dates are shifted, the third for adversaries who name it.
_CONDITIONAL = {
    LikelyRated.name: AttackEntry(
        name=LikelyRated.name,
        description="In rows with fills, it picks the record in which the known items are most "
        "likely real ratings, by a classifier that the adversary trained on a shadow release.",
        on_release=lambda _adversary, _scale: [],
    ),
    DateDifferences.name: AttackEntry(
        name=DateDifferences.name,
        description="Where all dates of a user were shifted alike, it picks the record that makes "
        "the adversary’s knowledge most likely after some shift.",
        on_release=lambda _adversary, _scale: [],
    ),
    Scoreboard.name: AttackEntry(
        name=Scoreboard.name,
        description="Narayanan & Shmatikov’s plain Scoreboard (2008): a random one of the records "
        "whose least similar known item reaches the threshold.",
        on_table=lambda adversary, _scale: Scoreboard.of(adversary),
        on_release=lambda adversary, _scale: [Scoreboard.of(adversary)],
    ),
}


def register_attack(entry: AttackEntry) -> None:
    """Add an attack to every audit from now on.

    Raises
    ------
    RecveilError
        If there is an attack of that name.
    """
    if entry.name in (*ATTACKS, *_CONDITIONAL):
        raise RecveilError(
            f"attack {entry.name!r} is registered already; expected a name other than "
            f"{', '.join((*ATTACKS, *_CONDITIONAL))}",
            code="argument.value",
        )
    ATTACKS[entry.name] = entry


def find_attack(name: str) -> AttackEntry:
    """Return the entry of an attack.

    Raises
    ------
    RecveilError
        If there is none of that name.

    Examples
    --------
    >>> find_attack("nearest").on_table is None  # a table of ratings is too long for it
    True
    """
    known = ATTACKS | _CONDITIONAL
    if name not in known:
        raise RecveilError(
            f"attack {name!r}: expected one of {', '.join(known)}", code="option.value"
        )
    return known[name]


def _entries(adversary: Adversary) -> dict[str, AttackEntry]:
    """Return the attacks that an adversary tries."""
    chosen = (adversary.algorithm,) if adversary.algorithm in _CONDITIONAL else ()
    return ATTACKS | {name: _CONDITIONAL[name] for name in chosen}


def attacks_on_table(adversary: Adversary, scale: RatingScale) -> dict[str, Attack]:
    """Return the attacks that an adversary tries on a raw table, by name."""
    return {
        name: entry.on_table(adversary, scale)
        for name, entry in _entries(adversary).items()
        if entry.on_table is not None
    }


def attacks_on_release(adversary: Adversary, scale: RatingScale) -> list[tuple[str, Attack]]:
    """Return the attacks that an adversary tries on a release, with their names."""
    return [
        (name, attack)
        for name, entry in _entries(adversary).items()
        if entry.on_release is not None
        for attack in entry.on_release(adversary, scale)
    ]


register_attack(
    AttackEntry(
        name=ScoreboardRH.name,
        description="Narayanan & Shmatikov’s attack (2008): each known item of a record "
        "counts more the rarer it is, and more the nearer rating and date are.",
        on_table=lambda adversary, _scale: ScoreboardRH.of(adversary),
        on_release=lambda adversary, _scale: [ScoreboardRH.of(adversary)],
    )
)
register_attack(
    AttackEntry(
        name=Nearest.name,
        description="It picks the record whose values are closest to the known ratings; an item "
        "that the record lacks counts as the largest difference.",
        on_release=lambda _adversary, _scale: [Nearest()],
    )
)
register_attack(
    AttackEntry(
        name=Likelihood.name,
        description="It picks the record that makes the adversary’s knowledge most likely, given "
        "the bounds of its errors: one that agrees with more of the entries, and is shorter.",
        on_table=lambda adversary, _scale: Likelihood.of(adversary),
        on_release=lambda adversary, scale: likelihoods_for_means(adversary, scale.range),
    )
)
register_attack(
    AttackEntry(
        name=ResidualAttack.name,
        description="Where every record holds all items, it fits smooth rows to the records, and "
        "picks the record whose residuals the known ratings explain best.",
        on_release=lambda adversary, scale: [ResidualAttack.of(adversary, scale)],
    )
)
register_attack(
    AttackEntry(
        name=ClusterLikelihood.name,
        description="Where users share rows of few items, it infers which rows were sampled from "
        "one cluster of users, and picks the row whose cluster makes the known items and ratings "
        "most likely (a cluster-based language model, Liu & Croft 2004).",
        on_release=lambda adversary, scale: [ClusterLikelihood.of(adversary, scale)],
    )
)
