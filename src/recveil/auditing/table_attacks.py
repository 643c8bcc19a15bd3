"""Attacks on a table without names, each with its baseline and control."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import (
    Adversary,
    Candidates,
    Guesses,
    Interval,
    Knowledge,
    Likelihood,
    Mean,
    ScoreboardRH,
    draw_knowledge,
    homogeneity,
    label_based,
    mean_interval,
    structure_based,
    wilson_interval,
)
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.knowledge import know_everything, target_rows
from recveil.attacks.registry import attacks_on_table
from recveil.auditing.decision import Calibration, MatchCounts, calibrate, count_matches
from recveil.ratings import Ratings
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief


@brief
@dataclass(frozen=True)
class Outcome(Reportable):
    """Results of one adversary; every rate but `control` is a share of `requested`.

    Scoreboard-RH is the attack of the paper. `Likelihood` finds most on a table of true ratings.
    `reidentified` is the best of all registered attacks: judge a table by it.

    Parameters
    ----------
    adversary : Adversary
    requested, skipped : int
        Number of targets, and of those with too few ratings, which count as no match.
    success : Interval
        Scoreboard-RH: the best guess is right, with the adversary's eccentricity or more (1.5). If
        the adversary's algorithm is Scoreboard, for this and the next two: a random record of the
        matching set is right, wrong, or there is none.
    wrong_match : Interval
        Scoreboard-RH: the best guess is wrong, with that eccentricity or more.
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
    calibration : Calibration or None
        How the eccentricity was chosen, if the adversary left it to the audit.
    by_attributes : float or None
        Success rate of a random guess among the users with the target's attributes, if they are
        known; None if not.
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
    calibration: Calibration | None = None
    by_attributes: float | None = None

    @property
    def attacked(self) -> int:
        """Targets with enough ratings."""
        return self.requested - self.skipped

    @property
    def among_attacked(self) -> Interval:
        """The re-identification rate of the targets with enough ratings; nan if none has."""
        return self.of_attacked(self.reidentified)

    def of_attacked(self, rate: Interval) -> Interval:
        """Return a share of all targets as one of the attacked targets, as `control` is."""
        found = rate.rate * self.requested if self.attacked else 0.0
        return wilson_interval(found, self.attacked)

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
        return max(reversed(self.by_attack), key=lambda name: self.by_attack[name].ranked)

    @property
    def reidentified(self) -> Interval:
        """Success rate of the strongest attack, without an eccentricity threshold."""
        return self.by_attack[self.strongest]


@brief
class Alike(NamedTuple):
    """Users with the same known attributes, among whom an adversary looks for some targets."""

    targets: NDArray[np.int64]
    # The position of each candidate among all users
    users: NDArray[np.int64]
    candidates: Candidates


def group_alike(
    candidates: Candidates,
    attributes: Mapping[str, Sequence[str | None]],
    targets: NDArray[np.int64],
) -> list[Alike]:
    """Group targets by their attributes; a missing one agrees with all."""
    columns = [np.array(texts, object) for texts in attributes.values()]
    missing = [np.array([text is None for text in column]) for column in columns]
    places: dict[tuple[str | None, ...], list[int]] = {}
    for target in targets.tolist():
        places.setdefault(tuple(column[target] for column in columns), []).append(target)
    groups = []
    for texts, those in places.items():
        agrees = np.ones(candidates.n_records, np.bool_)
        for column, lacks, text in zip(columns, missing, texts, strict=True):
            if text is not None:
                agrees &= lacks | (column == text)
        users = np.flatnonzero(agrees)
        groups.append(Alike(np.array(those), users, candidates.only(users)))
    return groups


def run_attack(
    ratings: Ratings,
    candidates: Candidates,
    adversary: Adversary,
    targets: NDArray[np.int64],
    *,
    draws: int = 1,
    seed: int = 0,
    alike: Sequence[Alike] = (),
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
    alike : sequence of Alike
        Groups of all targets by their attributes, if the adversary knows these.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> outcome = run_attack(
    ...     ratings, Candidates.from_ratings(ratings), Adversary(known=4), np.arange(5)
    ... )
    >>> outcome.requested, outcome.skipped, outcome.top1.rate, outcome.reidentified.rate
    (5, 1, 0.7, 0.8)
    """
    calibration = None
    if adversary.eccentricity == "auto":
        calibration = calibrate(ratings, candidates, adversary, targets, seed)
        adversary = replace(adversary, eccentricity=calibration.chosen.eccentricity)
    attacks = attacks_on_table(adversary, ratings.scale)
    tallies = []
    for draw in range(draws):
        # A sequence of seeds, so that no draw repeats another run's.
        knowledge = draw_knowledge(ratings, adversary, targets, seed=_seed(seed, draw))
        found = []
        for some, about in _among(candidates, knowledge, alike):
            guesses = {
                name: attack.attack(some, about, np.arange(some.n_records))
                for name, attack in attacks.items()
            }
            matches = count_matches(adversary, guesses[adversary.algorithm], some, about)
            found.append(_count(guesses, matches))
        tallies.append(_joined(found))
    success = sum(tally.matches.right for tally in tallies) / draws
    wrong = sum(tally.matches.wrong for tally in tallies) / draws
    control = sum(tally.matches.of_control for tally in tallies) / draws
    hits = {name: sum(tally.hits[name] for tally in tallies) / draws for name in attacks}
    bits = {name: np.mean([t.bits[name] for t in tallies], axis=0) for name in tallies[0].bits}
    n, rate = targets.size, knowledge.rate
    # Skipped targets are no match, unless no target could be attacked at all.
    attempts = n if knowledge.targets.size else 0
    return Outcome(
        adversary=adversary,
        requested=n,
        skipped=knowledge.skipped,
        success=rate(success),
        wrong_match=rate(wrong),
        no_match=rate(max(0.0, attempts - success - wrong)),
        by_attack={name: rate(n_hits) for name, n_hits in hits.items()},
        bits_by_attack={name: mean_interval(needed) for name, needed in bits.items()},
        baseline=1 / candidates.n_users,
        control=wilson_interval(control, knowledge.targets.size),
        calibration=calibration,
        by_attributes=sum(each.targets.size / each.users.size for each in alike) / n
        if alike
        else None,
    )


@brief
class _Tally(NamedTuple):
    """Success counts of the attacks for one draw of knowledge."""

    matches: MatchCounts  # of the adversary's algorithm
    hits: dict[str, float]  # by attack: expected number of re-identified targets
    bits: dict[str, NDArray[np.float64]]  # by attack that reports it: remaining bits of each target


def _count(guesses: dict[str, Guesses], matches: MatchCounts) -> _Tally:
    """Count the re-identified targets; a user's own record has the user's position."""
    return _Tally(
        matches=matches,
        hits={name: float(guess.chance.sum()) for name, guess in guesses.items()},
        bits={name: guess.bits for name, guess in guesses.items() if guess.bits is not None},
    )


def _among(
    candidates: Candidates, knowledge: Knowledge, alike: Sequence[Alike]
) -> Iterator[tuple[Candidates, Knowledge]]:
    """Yield the candidates, and what is known of the targets that are searched among them."""
    if not alike or not knowledge.targets.size:
        yield candidates, knowledge
        return
    for each in alike:
        places = np.flatnonzero(np.isin(knowledge.targets, each.targets))
        if places.size:
            about = knowledge.only(places)
            records = np.searchsorted(each.users, about.targets)
            yield each.candidates, replace(about, targets=records)


def _joined(tallies: Sequence[_Tally]) -> _Tally:
    """Add the counts of several groups of targets."""
    first = tallies[0]
    return _Tally(
        matches=MatchCounts(*map(sum, zip(*(each.matches for each in tallies), strict=True))),
        hits={name: sum(each.hits[name] for each in tallies) for name in first.hits},
        bits={name: np.concatenate([each.bits[name] for each in tallies]) for name in first.bits},
    )


def _seed(seed: int, draw: int) -> int:
    return seed if draw == 0 else int(np.random.default_rng([seed, draw]).integers(2**62))


# Number of ratings that the graph attacks know.
_KNOWN = (4, 8)
# Thresholds of similarity between the guessed record and the target's.
_THETAS = (1.0, 0.9, 0.5)


class GraphAttack(NamedTuple):
    """Results of one of Chang et al.'s attacks."""

    # "structure-based" (items known), "label-based" (exact labels, too), or "homogeneity" (all
    # matches share their data, so that a profile is inferred without a unique match)
    attack: str
    # Number of known items; None if all ratings are known, as for the raw table alone
    known: int | None
    # Share of the targets that are the only match; for homogeneity, whose profile is inferred
    unique: Interval
    # Expected share of targets hit by a random pick among the matches; for homogeneity, the same as
    # `unique`
    expected: Interval
    # Hit rate of a random pick among all users
    baseline: float


class Deanonymized(NamedTuple):
    """Share of users that one adversary (theta, omega)-de-anonymizes, as measured."""

    adversary: str
    # Required similarity of the guessed record to the target's
    theta: float
    # Share of the targets whose guessed record is that similar; no guess counts as a miss
    omega: Interval
    # Share of the targets for whom another user's random record is that similar
    control: float


def attack_graphs(
    ratings: Ratings,
    table: AttackTarget | None,
    targets: NDArray[np.int64],
    seed: int = 0,
    candidates: Candidates | None = None,
) -> list[GraphAttack]:
    """Run Chang et al.'s attacks (Definitions 3.1, 3.2 and 5.1) on a raw table or a release.

    They require exact agreement: published means resist the label-based one, not stronger attacks.
    """
    if table is not None:
        candidates = table.candidates
    elif candidates is None:
        candidates = Candidates.from_ratings(ratings)
    record_of = np.arange(ratings.n_users) if table is None else table.record_of
    attacks, class_of = [], candidates.classes()
    for known in _KNOWN:
        knowledge = draw_knowledge(ratings, Adversary(known=known), targets, seed)
        for name, attack in (("structure-based", structure_based), ("label-based", label_based)):
            matches = attack(candidates, knowledge, record_of)
            # On a raw table each user is a record; in a release, users share records.
            attacks.append(
                _as_graph_attack(name, known, matches.probability, knowledge, candidates)
            )
        profiles = homogeneity(candidates, knowledge, record_of, class_of)
        of_profile = profiles.found.astype(np.float64)
        attacks.append(_as_graph_attack("homogeneity", known, of_profile, knowledge, candidates))
    if table is None:
        # A record with further ratings is another user's.
        everything = know_everything(ratings, targets)
        n_alike = np.bincount(class_of, weights=candidates.sizes)[class_of]
        chances = 1 / n_alike[everything.targets]
        attacks.append(_as_graph_attack("label-based", None, chances, everything, candidates))
    return attacks


def measure_deanonymized(
    ratings: Ratings,
    candidates: Candidates,
    outcomes: list[Outcome],
    targets: NDArray[np.int64],
    seed: int = 0,
) -> list[Deanonymized]:
    """Measure Narayanan & Shmatikov's Definition 3 for each adversary, by its strongest attack.

    Similarity (Definition 1) is the share of the items of either record that are in both with the
    same rating. A tie counts as no guess, so that omega is a lower bound.
    """
    measured = []
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
            measured.append(
                Deanonymized(
                    outcome.adversary.name,
                    theta,
                    knowledge.rate(int((similar >= theta).sum())),
                    knowledge.rate(int((by_chance >= theta).sum())).rate,
                )
            )
    return measured


def similarity(ratings: Ratings, first: int, second: int) -> float:
    """Return the share of two users' items that both rated alike."""
    (items, values), (other_items, other_values) = ratings.row(first), ratings.row(second)
    common, own, other = np.intersect1d(items, other_items, assume_unique=True, return_indices=True)
    alike = int((values[own] == other_values[other]).sum())
    return alike / max(items.size + other_items.size - common.size, 1)


def _as_graph_attack(
    name: str,
    known: int | None,
    chances: NDArray[np.float64],
    knowledge: Knowledge,
    candidates: Candidates,
) -> GraphAttack:
    unique, expected = (knowledge.rate(float(n)) for n in ((chances == 1).sum(), chances.sum()))
    return GraphAttack(name, known, unique, expected, 1 / candidates.n_users)


def _similarities(
    ratings: Ratings, knowledge: Knowledge, guessed: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return each target record's similarity to the guessed one; -1 without a guess."""
    users, position = np.unique(np.append(knowledge.targets, guessed), return_inverse=True)
    users, position = users[users >= 0], position - np.count_nonzero(users < 0)
    rows = target_rows(ratings, users)
    those = Ratings(
        np.arange(users.size),
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
