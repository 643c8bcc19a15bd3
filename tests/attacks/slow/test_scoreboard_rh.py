"""Scoreboard-RH: a matrix worked by hand, a slow dense oracle, edge cases, invariants."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.attacks import (
    Adversary,
    Candidates,
    Knowledge,
    ScoreboardRH,
    draw_knowledge,
)
from recveil.attacks.reidentification import scoreboard
from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale
from shared.attacks_scoreboard_rh import records, table


def slow_scores(found, known, target, attacker):
    """One dense vector of scores, in single precision like the fast one."""
    scores = np.zeros(found.n_records, np.float32)
    by_value, by_day = known.values is not None, known.days is not None and found.days is not None
    for entry in range(known.indptr[target], known.indptr[target + 1]):
        item = known.items[entry]
        carriers = slice(found.indptr[item], found.indptr[item + 1])
        all_users = found.sizes[found.records[carriers]].sum()
        weight = np.float32(1 / np.log(max(all_users, 2)))
        points = np.full(found.records[carriers].size, 0 if by_value or by_day else weight)
        if by_value:
            apart = abs(found.levels[found.codes[carriers]] - known.values[entry])
            points = weight * np.exp(-apart / attacker.rating_width)
        if by_day:
            apart = abs(found.days[carriers].astype(float) - known.days[entry])
            by_date = np.exp(-apart / attacker.day_width).astype(np.float32)
            points = points.astype(np.float32) + weight * by_date
        scores[found.records[carriers]] += points.astype(np.float32)
    if known.activity is not None:
        low, high = known.activity[target]
        scores[(found.activity < low) | (found.activity > high)] = 0
    return scores.astype(np.float64)


def eccentricity(scores, sizes):
    if scores.size < 2:
        return 0.0
    all_users = np.repeat(scores, sizes)
    second, top = np.sort(scores)[-2:]
    equal = np.ptp(all_users) <= 1e-6 * all_users.max()
    return 0.0 if equal else (top - second) / all_users.std()


def without_record(found, own):
    """List the other records anew, as if this one had never been there; their order stays."""
    if own < 0:
        return found
    kept = found.records != own
    item_of = np.repeat(np.arange(found.indptr.size - 1), np.diff(found.indptr))[kept]
    records = found.records[kept]
    others = np.arange(found.n_records) != own
    return Candidates(
        indptr=np.searchsorted(item_of, np.arange(found.indptr.size)),
        records=(records - (records > own)).astype(np.int32),
        codes=found.codes[kept],
        levels=found.levels,
        days=None if found.days is None else found.days[kept],
        sizes=found.sizes[others],
        activity=found.activity[others],
    )


def slow_control(found, known, target, own, attacker):
    rest = without_record(found, own)
    return eccentricity(slow_scores(rest, known, target, attacker), rest.sizes)


def slow_guess(found, known, target, own, attacker):
    """Guess from the dense vector of all scores."""
    scores = slow_scores(found, known, target, attacker)
    winners = np.flatnonzero(scores == scores.max())
    bits = np.nan
    if own >= 0:
        all_users = np.repeat(scores, found.sizes)
        sigma = all_users.std() if np.ptp(all_users) > 1e-6 * all_users.max() else np.inf
        odds = np.exp((all_users - scores.max()) / sigma)
        bits = -math.log2(math.exp((scores[own] - scores.max()) / sigma) / odds.sum())
    return SimpleNamespace(
        best=winners[0] if winners.size == 1 else -1,
        tied_users=found.sizes[winners].sum(),
        eccentricity=eccentricity(scores, found.sizes),
        target_is_top=own in winners,
        bits=bits,
        control=slow_control(found, known, target, own, attacker),
    )


def compare(found, known, record_of):
    attacker = ScoreboardRH()
    fast = attacker.attack(found, known, record_of)
    slow = [
        slow_guess(found, known, target, record_of[user], attacker)
        for target, user in enumerate(known.targets)
    ]
    for name in ("best", "tied_users", "target_is_top"):
        assert getattr(fast, name).tolist() == [getattr(guess, name) for guess in slow], name
    for name in ("eccentricity", "bits"):
        expected = [getattr(guess, name) for guess in slow]
        assert getattr(fast, name) == pytest.approx(expected, rel=1e-6, abs=1e-6, nan_ok=True)
    control = attacker.control(found, known, record_of)
    assert control == pytest.approx([guess.control for guess in slow], rel=1e-6, abs=1e-6)


def invent_candidates(rng, n_records, n_items, labels, kind):
    density = rng.choice([0.2, 0.6, 1.0])
    matrix = rng.choice(labels, (n_records, n_items))
    matrix[rng.random(matrix.shape) > density] = 0
    if kind == "groups":
        sizes = rng.integers(1, 4, n_records)
        blocks = [records(matrix[:2], sizes[:2]), records(matrix[2:], sizes[2:])]
        return Candidates.from_records(blocks, n_items, RatingScale(1, 5))
    days = rng.integers(0, 50, matrix.shape) if kind == "dated" else None
    return Candidates.from_ratings(table(matrix, days, RatingScale(1, 5)))


@pytest.mark.parametrize("kind", ["undated", "dated", "groups"])
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 9), st.integers(1, 6)),
    known_values=st.booleans(),
    known_days=st.booleans(),
    known_activity=st.booleans(),
    continuous=st.booleans(),
)
@settings(deadline=None)
def test_like_the_slow_one(kind, seed, shape, known_values, known_days, known_activity, continuous):
    rng = np.random.default_rng(seed)
    labels = rng.uniform(1, 5, 400).astype(np.float32) if continuous else np.arange(1.0, 6)
    found = invent_candidates(rng, *shape, labels, kind)
    n_records, n_items = shape
    n_targets, n_known = 5, rng.integers(1, n_items + 1)
    n_entries = n_targets * n_known
    fewest = rng.integers(0, n_items + 1, n_targets)
    known = Knowledge(
        targets=rng.integers(0, n_records, n_targets),
        indptr=np.arange(n_targets + 1) * n_known,
        items=np.stack([rng.permutation(n_items)[:n_known] for _ in range(n_targets)])
        .ravel()
        .astype(np.int32),
        values=rng.choice(labels, n_entries).astype(np.float32) if known_values else None,
        days=rng.integers(0, 50, n_entries).astype(np.int32) if known_days else None,
        activity=np.stack([fewest, fewest + 2.0], axis=1) if known_activity else None,
        skipped=0,
    )
    compare(found, known, rng.integers(-1, n_records, n_records))


@pytest.mark.parametrize("n_labels", [5, 4_000])
def test_like_the_slow_one_over_several_blocks_of_records(n_labels):
    rng = np.random.default_rng(3)
    n_users, n_items = 3 * scoreboard._BLOCK + 5, 20
    ratings = make_ratings(n_users, n_items, 4 * n_users, seed=2)
    values = rng.choice(np.linspace(1, 5, n_labels), ratings.n_ratings)
    ratings = Ratings(
        *(ratings.users, ratings.items, ratings.indptr, ratings.indices),
        *(values, ratings.days, RatingScale(1, 5)),
    )
    adversary = Adversary(known=4, rating_error=1, date_error=14, activity_error=0.5)
    targets = np.array([0, 5, scoreboard._BLOCK, n_users // 2, n_users - 1])
    known = draw_knowledge(ratings, adversary, np.repeat(targets, 10))
    compare(Candidates.from_ratings(ratings), known, np.arange(n_users))
