"""All attacks of an audit on a table without names."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import PRESETS, Adversary, Candidates
from recveil.attacks.knowledge import (
    with_likes,
    with_wrong_items,
    without_dates,
    without_ratings,
)
from recveil.auditing import work_estimates
from recveil.auditing._selftest import Check, check_attack
from recveil.auditing.curves import Figure, Sufficient, draw_figures, find_sufficient
from recveil.auditing.outcome import Outcome, run_attack
from recveil.auditing.paper_measures import (
    Deanonymized,
    GraphAttack,
    attack_graphs,
    measure_deanonymized,
)
from recveil.auditing.risk import Risk, measure_risk
from recveil.ratings import Ratings
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief


@brief
class TableAttacks(NamedTuple):
    """Results of attacks on a table; the attributes are those of `Audit`."""

    attacks: list[Outcome]
    figures: list[Figure]
    checks: list[Check]
    sufficient: list[Sufficient]
    risk: Risk | None
    graphs: list[GraphAttack]
    deanonymized: list[Deanonymized]


def attack_table(
    ratings: Ratings,
    candidates: Candidates,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    begin: Callable[[str], object],
    *,
    draws: int,
    seed: int,
    curves: bool,
) -> TableAttacks:
    """Run all attacks on a table."""
    begin(work_estimates.PEOPLE)
    attacks = [
        run_attack(ratings, candidates, adversary, targets, draws=draws, seed=seed)
        for adversary in track(adversaries, "Adversaries", share=1)
    ]
    begin(work_estimates.CURVES)
    figures = draw_figures(ratings, candidates, targets, seed) if curves else []
    begin(work_estimates.SUFFICIENT)
    sufficient: list[Sufficient] = []
    if curves:
        sufficient = find_sufficient(ratings, candidates, adversaries, targets, seed)
    begin(work_estimates.RISK)
    risk = measure_risk(ratings, candidates, attacks, seed) if curves else None
    begin(work_estimates.CHECKS)
    checks = check_attack(ratings, seed, candidates)
    begin(work_estimates.GRAPHS)
    graphs = attack_graphs(ratings, None, targets, seed, candidates)
    begin(work_estimates.LINKS)
    deanonymized = measure_deanonymized(ratings, candidates, attacks, targets, seed)
    return TableAttacks(attacks, figures, checks, sufficient, risk, graphs, deanonymized)


def fitted(ratings: Ratings, adversary: Adversary) -> Adversary:
    """Remove knowledge and errors that cannot exist in this table.

    Examples
    --------
    >>> likes = Ratings.from_columns([1, 1, 2], ["a", "b", "a"])
    >>> fitted(likes, PRESETS["paper"]).date_error
    """
    if ratings.days is None:
        adversary = without_dates(ratings, adversary, "no column of dates was recognized")
    adversary = with_likes(ratings, adversary)
    # A preset is adapted to any table; a custom adversary is used as given.
    if adversary.name not in PRESETS:
        return adversary
    return without_ratings(ratings, with_wrong_items(ratings, adversary))
