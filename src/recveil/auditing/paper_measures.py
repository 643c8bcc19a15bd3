"""Metrics as the papers define them, measured on a table or a release."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import (
    Adversary,
    Candidates,
    Interval,
    Knowledge,
    draw_knowledge,
    homogeneity,
    label_based,
    structure_based,
    wilson_interval,
)
from recveil.attacks.knowledge import target_rows
from recveil.attacks.registry import attacks_on_table
from recveil.attacks.release_target import ReleasedTable
from recveil.auditing.outcome import Outcome
from recveil.ratings import Ratings

# Number of ratings that the graph attacks know.
_KNOWN = (4, 8)
# Thresholds of similarity between the guessed record and the target's.
_THETAS = (1.0, 0.9, 0.5)


class GraphAttack(NamedTuple):
    """Results of one of Chang et al.'s attacks."""

    # "structure-based" (items known), "label-based" (exact labels, too), or "homogeneity" (all
    # matches share their data, so that a profile is found although no single user is)
    attack: str
    # Number of known items
    known: int
    # Share of the targets that are the only match; for homogeneity, whose profile is found
    alone: Interval
    # Expected share of targets hit by a random pick among the matches; for homogeneity, the same as
    # `alone`
    expected: Interval
    # Hit rate of a random pick among all users
    baseline: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON and the HTML page."""
        return {
            "attack": self.attack,
            "known": self.known,
            "alone": self.alone._asdict(),
            "expected": self.expected._asdict(),
            "baseline": self.baseline,
        }


class Deanonymized(NamedTuple):
    """Share of users that one adversary (theta, omega)-de-anonymizes, as measured."""

    adversary: str
    # Required similarity of the guessed record to the target's
    theta: float
    # Share of the targets whose guessed record is that similar; no guess counts as a miss
    omega: Interval
    # Share of the targets for whom another user's random record is that similar
    control: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON and the HTML page."""
        return self._asdict() | {"omega": self.omega._asdict()}


def attack_graphs(
    ratings: Ratings,
    table: ReleasedTable | None,
    targets: NDArray[np.int64],
    seed: int = 0,
    candidates: Candidates | None = None,
) -> list[GraphAttack]:
    """Run Chang et al.'s attacks on a raw table or a release.

    Notes
    -----
    Source: Chang et al., Definitions 3.1, 3.2 and 5.1. Their attacks require exact agreement, so
    that published means resist the label-based one, but not the stronger attacks.
    """
    if table is not None:
        candidates = table.candidates
    elif candidates is None:
        candidates = Candidates.from_ratings(ratings)
    record_of = np.arange(ratings.n_users) if table is None else table.record_of
    found = []
    for known in _KNOWN:
        knowledge = draw_knowledge(ratings, Adversary(known=known), targets, seed)
        for name, attack in (("structure-based", structure_based), ("label-based", label_based)):
            matches = attack(candidates, knowledge, record_of)
            # On a raw table each user is a record; in a release, users share records.
            found.append(_as_graph_attack(name, known, matches.probability, targets, candidates))
        profiles = homogeneity(candidates, knowledge, record_of)
        of_profile = profiles.found.astype(np.float64)
        found.append(_as_graph_attack("homogeneity", known, of_profile, targets, candidates))
    return found


def measure_deanonymized(
    ratings: Ratings,
    candidates: Candidates,
    outcomes: list[Outcome],
    targets: NDArray[np.int64],
    seed: int = 0,
) -> list[Deanonymized]:
    """Measure Narayanan & Shmatikov's Definition 3 for each adversary, by its strongest attack.

    Notes
    -----
    Source: Narayanan & Shmatikov, Definitions 1 and 3: an adversary (theta, omega)-de-anonymizes a
    table if they output, with probability omega, a record that is at least theta similar to the
    target's. Similarity is the share of the items of either record that are in both with the same
    rating. A tie for the best guess counts as no guess, so that omega is a lower bound.
    """
    told = []
    record_of, rng = np.arange(ratings.n_users), np.random.default_rng([seed, 7])
    for outcome in outcomes:
        knowledge = draw_knowledge(ratings, outcome.adversary, targets, seed)
        attack = attacks_on_table(outcome.adversary, ratings.scale)[outcome.strongest]
        best = attack.attack(candidates, knowledge, record_of).best
        similar = _similarities(ratings, knowledge, best)
        others = rng.integers(max(ratings.n_users - 1, 1), size=knowledge.targets.size)
        others += others >= knowledge.targets
        others[others >= ratings.n_users] = -1  # a single user has no other users
        by_chance = _similarities(ratings, knowledge, others)
        for theta in _THETAS:
            told.append(
                Deanonymized(
                    outcome.adversary.name,
                    theta,
                    wilson_interval(int((similar >= theta).sum()), knowledge.requested),
                    float((by_chance >= theta).sum()) / max(knowledge.requested, 1),
                )
            )
    return told


def similarity(ratings: Ratings, first: int, second: int) -> float:
    """Return the share of two users' items that both rated alike.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 2, 2], list("ababc"), [5, 3, 5, 4, 1])
    >>> round(similarity(ratings, 0, 1), 3)  # a, of a, b and c
    0.333
    """
    (items, values), (others, their_values) = ratings.row(first), ratings.row(second)
    common, own, theirs = np.intersect1d(items, others, assume_unique=True, return_indices=True)
    alike = int((values[own] == their_values[theirs]).sum())
    return alike / max(items.size + others.size - common.size, 1)


def _as_graph_attack(
    name: str,
    known: int,
    chances: NDArray[np.float64],
    targets: NDArray[np.int64],
    candidates: Candidates,
) -> GraphAttack:
    alone = wilson_interval(int((chances == 1).sum()), targets.size)
    expected = wilson_interval(float(chances.sum()), targets.size)
    return GraphAttack(name, known, alone, expected, 1 / candidates.n_people)


def _similarities(
    ratings: Ratings, knowledge: Knowledge, guessed: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return each target record's similarity to the guessed one; -1 without a guess."""
    people, position = np.unique(np.append(knowledge.targets, guessed), return_inverse=True)
    people, position = people[people >= 0], position - np.count_nonzero(people < 0)
    rows = target_rows(ratings, people)
    those = Ratings(
        np.arange(people.size),
        np.arange(ratings.n_items),
        rows.indptr,
        rows.items,
        ratings.values[rows.places],
        None,
        ratings.scale,
    )
    own, others = np.split(position, 2)
    return np.array(
        [
            similarity(those, first, second) if second >= 0 else -1.0
            for first, second in zip(own.tolist(), others.tolist(), strict=True)
        ],
        np.float64,
    )
