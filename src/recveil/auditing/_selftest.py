"""Positive controls: checks that the attack itself works on a table."""

import dataclasses
from collections.abc import Callable
from os import PathLike
from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy import stats

from recveil.attacks import (
    Adversary,
    Candidates,
    Knowledge,
    Likelihood,
    Scoreboard,
    ScoreboardRH,
    choose_targets,
    draw_knowledge,
)
from recveil.attacks.attack_target import pairs_of
from recveil.attacks.knowledge import target_rows
from recveil.io import understand
from recveil.io.ingestion import reject_unknown_keywords, warn_of_reading
from recveil.io.options import ReadingOptions
from recveil.ratings import Ratings
from recveil.runtime.progress import THE_REST, parts
from recveil.runtime.safe_repr import brief

# Targets of each check: enough to detect a wrong rate, and fast.
_TARGETS = 1_000
_GROUP = 5
# Probability of each tail; several attacks and many users share this check.
_RARE = 1e-5
_ATTACKS = (ScoreboardRH(), Likelihood())


@brief
class Check(NamedTuple):
    """One invariant.

    Attributes
    ----------
    code : str
        "unique-users", "random-knowledge", "denominator" or "groups".
    holds : bool
    figures : dict of str to float
        The measured values.
    """

    code: str
    holds: bool
    figures: dict[str, float]


def selftest(
    source: str | PathLike[str] | Ratings | Any, *, seed: int = 0, **reading: Unpack[ReadingOptions]
) -> list[Check]:
    """Check that the attack re-identifies every unique user of a table, and no user by chance.

    Parameters
    ----------
    source : path, Ratings, or data frame
    seed : int
    **reading
        Passed to `understand`.

    Returns
    -------
    list of Check
        Full exact knowledge re-identifies every unique user; random knowledge falls to the
        baseline of a random guess; the denominator is the number of targets; a target among s
        identical records is re-identified with probability 1/s.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.datasets import generate
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ratings.csv")
    ...     _ = generate(file, users=80, items=40, ratings=900)
    ...     [check.holds for check in selftest(file)]
    [True, True, True, True]
    """
    reject_unknown_keywords(selftest, reading, "k", "user_files")
    with parts("Checking the attack", {"Reading ratings": 1, THE_REST: 3}) as begin:
        begin("Reading ratings")
        read = understand(source, **reading)
        warn_of_reading(read)
        ratings = read.ratings
        begin(THE_REST)
        return check_attack(ratings if ratings.scale.ordered else pairs_of(ratings), seed)


def check_attack(
    ratings: Ratings, seed: int = 0, candidates: Candidates | None = None
) -> list[Check]:
    """Run the checks of `selftest` on ratings; `candidates` indexes the same ratings."""
    candidates = Candidates.from_ratings(ratings) if candidates is None else candidates
    checks: dict[str, Callable[[], Check]] = {
        "Unique users": lambda: _full_knowledge(ratings, candidates, seed),
        "Random knowledge": lambda: _random_knowledge(ratings, candidates, seed),
        "The denominator": lambda: _denominator(ratings, seed),
        "Groups": lambda: _groups(ratings, candidates, seed),
    }
    results = []
    with parts("Checking the attack", dict(zip(checks, (5, 2, 1, 2), strict=True))) as begin:
        for name, check in checks.items():
            begin(name)
            results.append(check())
    return results


def _full_knowledge(ratings: Ratings, candidates: Candidates, seed: int) -> Check:
    """Check that attacks that share no code agree on who is unique."""
    targets = choose_targets(ratings.n_users, _TARGETS, seed)
    targets = targets[ratings.activity[targets] > 0]
    own = target_rows(ratings, targets)
    values = ratings.values[own.places]
    knowledge = Knowledge(targets, own.indptr, own.items, values, None, None, 0)
    record_of = np.arange(ratings.n_users)
    lineups = Scoreboard(rating_error=0).attack(candidates, knowledge, record_of)
    unique = lineups.tied_users == 1
    missed = 0
    for attack in _ATTACKS:
        guesses = attack.attack(candidates, knowledge, record_of)
        missed += int((unique & ~(guesses.target_is_top & (guesses.tied_users == 1))).sum())
    return Check(
        "unique-users",
        missed == 0 and bool(lineups.target_is_top.all()),
        {"targets": targets.size, "unique": int(unique.sum()), "missed": missed},
    )


def _random_knowledge(ratings: Ratings, candidates: Candidates, seed: int) -> Check:
    rng = np.random.default_rng(seed)
    # Items drawn by item count, with labels of other ratings: knowledge about no user.
    n, known = _TARGETS, min(8, ratings.n_items)
    items = ratings.indices[rng.integers(ratings.n_ratings, size=n * known)]
    values = ratings.values[rng.integers(ratings.n_ratings, size=n * known)]
    targets = rng.integers(ratings.n_users, size=n)
    knowledge = Knowledge(targets, np.arange(n + 1) * known, items, values, None, None, 0)
    blind = 1 / ratings.n_users
    rates = []
    for attack in _ATTACKS:
        guesses = attack.attack(candidates, knowledge, np.arange(ratings.n_users))
        rates.append(float(guesses.chance.sum()) / n)
    worst = max(rates, key=lambda rate: abs(rate - blind))
    return Check(
        "random-knowledge",
        all(_by_chance(rate * n, n, blind) for rate in rates),
        {"rate": worst, "baseline": blind},
    )


def _by_chance(hits: float, n: int, blind: float) -> bool:
    """Return whether random guesses do as well; Wilson's interval errs where few are expected."""
    at_most = stats.binom.cdf(np.ceil(hits), n, blind)
    at_least = stats.binom.sf(np.floor(hits) - 1, n, blind)
    return bool(min(at_most, at_least) > _RARE)


def _denominator(ratings: Ratings, seed: int) -> Check:
    # More known items than half of the users have, so that many targets must be skipped.
    known = int(np.median(ratings.activity)) + 1
    targets = choose_targets(ratings.n_users, _TARGETS, seed)
    knowledge = draw_knowledge(ratings, Adversary(known=known), targets, seed)
    return Check(
        "denominator",
        knowledge.requested == targets.size and knowledge.skipped > 0,
        {
            "targets": targets.size,
            "skipped": knowledge.skipped,
            "denominator": knowledge.requested,
        },
    )


def _groups(ratings: Ratings, candidates: Candidates, seed: int) -> Check:
    """Let each record represent several users: each guess gets a share of the weight."""
    targets = choose_targets(ratings.n_users, _TARGETS, seed)
    known = max(1, min(4, int(np.median(ratings.activity))))
    knowledge = draw_knowledge(ratings, Adversary(known=known), targets, seed)
    record_of = np.arange(ratings.n_users)
    copies = dataclasses.replace(candidates, sizes=np.full(ratings.n_users, _GROUP, dtype=np.int64))
    single, shared = (
        np.array(
            [
                float(attack.attack(table, knowledge, record_of).chance.sum()) / targets.size
                for attack in _ATTACKS
            ]
        )
        for table in (candidates, copies)
    )
    return Check(
        "groups",
        bool(np.allclose(single, _GROUP * shared) and (shared <= 1 / _GROUP + 1e-9).all()),
        {"size": _GROUP, "single": float(single.max()), "shared": float(shared.max())},
    )
