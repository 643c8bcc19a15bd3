"""Scoreboard-RH: a matrix worked by hand, a slow dense oracle, edge cases, invariants."""

import math
from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import (
    Adversary,
    Candidates,
    Knowledge,
    ScoreboardRH,
    choose_targets,
    draw_knowledge,
    wilson_interval,
)
from recveil.attacks.reidentification import scoreboard
from recveil.datasets import make_ratings
from recveil.ratings import RatingScale
from shared.attacks_scoreboard_rh import STARS, control, records, table


def knows(*entries, values=True, days=None, activity=None):
    """Knowledge about targets 0, 1, ...: for each a dictionary from item to rating."""
    return Knowledge(
        targets=np.arange(len(entries)),
        indptr=np.cumsum([0] + [len(entry) for entry in entries]),
        items=np.array([item for entry in entries for item in entry], np.int32),
        values=np.array([v for e in entries for v in e.values()], np.float32) if values else None,
        days=None if days is None else np.array(days, np.int32),
        activity=None if activity is None else np.array(activity, float),
        skipped=0,
    )


def attack(candidates, knowledge, record_of=None, **settings):
    if record_of is None:
        record_of = np.arange(candidates.n_records)
    return ScoreboardRH(**settings).attack(candidates, knowledge, np.asarray(record_of))


def test_by_hand():
    #        a  b  c  d  e  f
    matrix = [
        [5, 3, 0, 0, 1, 0],  # user 0, the target
        [5, 0, 2, 0, 0, 0],
        [4, 3, 0, 4, 0, 0],
        [2, 0, 0, 4, 0, 5],
        [0, 3, 2, 0, 0, 0],
        [0, 0, 2, 4, 0, 0],
        [0, 0, 0, 1, 0, 5],
    ]
    # The adversary knows a5, b2 (one point off), e1, and that on which days: 10, 40, 20.
    days = np.full((7, 6), 100)
    days[0, [0, 1, 4]] = 10, 10, 20  # right, 30 days off, right
    days[1, 0] = 40  # 30 days off
    days[2, [0, 1]] = 70, 40  # 60 days off, right
    days[3, 0], days[4, 1] = 10, 100  # right; 60 days off
    # Supports: a 4, b 3, e 1, which counts as 2. In units of 1 / log 2:
    #   wt(a) = 1/log 4 = 1/2, wt(b) = 1/log 3 = log 2 / log 3 = 0.630930, wt(e) = 1/log 2 = 1.
    a, b, e = 1 / math.log(4), 1 / math.log(3), 1 / math.log(2)
    assert [a, b, e] == pytest.approx([0.7213475, 0.9102392, 1.4426950], abs=1e-7)
    # One point off is exp(-1 / 1.5) = 0.5134171, three points exp(-2) = 0.1353353;
    # 30 days off is exp(-1) = 0.3678794, 60 days exp(-2).
    scores = [
        a * (1 + 1) + b * (0.5134171 + 0.3678794) + e * (1 + 1),  # 1.4426950+0.8021907+2.8853901
        a * (1 + 0.3678794),  # a5
        a * (0.5134171 + 0.1353353) + b * (0.5134171 + 1),  # a4, b3
        a * (0.1353353 + 1),  # a2
        b * (0.5134171 + 0.1353353),  # b3
        0,
        0,
    ]
    assert scores == pytest.approx(
        [5.1302758, 0.9867164, 1.8455476, 0.8189713, 0.5905199, 0, 0], abs=3e-7
    )
    # Sum 9.3720310, mean 1.3388616. Squares 26.319730 + 0.973609 + 3.406046 + 0.670714 + 0.348714
    # = 31.718813; variance 31.718813 / 7 - 1.3388616² = 4.531259 - 1.792550; σ = 1.654904.
    assert np.std(scores) == pytest.approx(1.654904, abs=1e-6)
    # Eccentricity (5.1302758 - 1.8455476) / 1.654904 = 1.984845.
    # e^(score/σ): 22.19892, 1.81528, 3.05017, 1.64029, 1.42879, 1, 1; sum 32.13346. The target's
    # share is 0.690835, so that log2(1 / 0.690835) = 0.533587 bits are missing.
    known = knows({0: 5, 1: 2, 4: 1}, days=[10, 40, 20])
    found = Candidates.from_ratings(table(matrix, days))
    guess = attack(found, known)
    assert guess.best.tolist() == [0]
    assert guess.tied_users.tolist() == [1]
    assert guess.target_is_top.tolist() == [True]
    assert guess.eccentricity[0] == pytest.approx(1.984845, abs=1e-6)
    assert guess.bits[0] == pytest.approx(0.533587, abs=1e-6)
    # Without the target, supports are a 3, b 2, e 0: wt(a) = 1/log 3, wt(b) = 1/log 2. Scores:
    # 0.9102392 * 1.3678794 = 1.2450974; 0.9102392 * 0.6487524 + 1.4426950 * 1.5134171 =
    # 2.7739192; 0.9102392 * 1.1353353 = 1.0334267; 1.4426950 * 0.6487524 = 0.9359518; 0; 0.
    # Sum 5.9883951, mean 0.9980659, squares 11.188872; variance 1.864812 - 0.996135;
    # σ = 0.932028; (2.7739192 - 1.2450974) / 0.932028 = 1.640317.
    assert control(found, known)[0] == pytest.approx(1.640317, abs=2e-6)


def test_equal_top_scores_name_no_user():
    guess = attack(Candidates.from_ratings(table([[5, 1], [5, 1], [2, 0]])), knows({0: 5}))
    assert (guess.best[0], guess.tied_users[0], guess.eccentricity[0]) == (-1, 2, 0)
    assert guess.target_is_top[0]


def test_no_deviation_leaves_all_users():
    guess = attack(Candidates.from_ratings(table([[5, 1], [5, 2], [5, 3], [5, 4]])), knows({0: 5}))
    assert (guess.best[0], guess.tied_users[0], guess.eccentricity[0]) == (-1, 4, 0)
    assert guess.bits[0] == 2


def test_an_item_that_no_user_carries_leaves_all_users():
    guess = attack(Candidates.from_ratings(table([[5, 0], [4, 0]])), knows({1: 5}))
    assert (guess.best[0], guess.tied_users[0], guess.eccentricity[0]) == (-1, 2, 0)
    assert guess.target_is_top[0]
    assert guess.bits[0] == 1


def test_support_one_counts_as_two():
    # 1/log(2) for the item of one, the same for the item of two.
    guess = attack(Candidates.from_ratings(table([[5, 0], [0, 5], [0, 1]])), knows({0: 5, 1: 5}))
    assert (guess.best[0], guess.tied_users[0]) == (-1, 2)


def test_one_candidate_is_no_match():
    found = Candidates.from_ratings(table([[5, 3]]))
    guess = attack(found, knows({0: 5}))
    assert (guess.best[0], guess.tied_users[0], guess.eccentricity[0]) == (0, 1, 0)
    assert guess.bits[0] == 0
    assert control(found, knows({0: 5})) == [0]


def test_no_targets():
    guess = attack(Candidates.from_ratings(table([[5, 3]])), knows())
    assert [column.size for column in guess] == [0] * 6


def test_a_target_without_a_record_has_no_bits():
    found = Candidates.from_ratings(table([[5, 1], [1, 1]]))
    guess = attack(found, knows({0: 5}), record_of=[-1, 0])
    assert (guess.best[0], guess.target_is_top[0]) == (0, False)
    assert np.isnan(guess.bits[0])
    assert guess.eccentricity[0] == control(found, knows({0: 5}), [-1, 0])[0] > 0


def test_similarities_too_small_for_single_precision_still_count():
    # Labels 10,000 widths away: every item counts next to nothing, but a user who has one is
    # touched, and a long list of such records does not overflow.
    matrix = np.zeros((50, 4))
    matrix[:40] = 1
    ratings = table(matrix, matrix.astype(int), RatingScale(1, 20_000))
    entry = dict.fromkeys(range(4), 20_000)
    for values, days in ((True, None), (False, [400_000] * 4), (True, [400_000] * 4)):
        guess = attack(Candidates.from_ratings(ratings), knows(entry, values=values, days=days))
        assert guess.tied_users[0] == 40


@pytest.mark.parametrize(
    ("items", "record", "names"),
    [({9: 5}, 0, ["item", 9]), ({0: 5}, 2, ["record", 2])],
)
def test_positions_outside_the_table_are_named(items, record, names):
    with raises("argument.value", *names):
        attack(Candidates.from_ratings(table([[5], [4]])), knows(items), record_of=[record])


def found_share(ratings, known, candidates=None):
    """Share of the targets that were asked for whose own record wins, ties counting 1/s."""
    found = Candidates.from_ratings(candidates or ratings)
    guess = attack(found, known, np.arange(ratings.n_users))
    return (guess.target_is_top / guess.tied_users).sum(), known.requested


def test_full_exact_knowledge_finds_everyone_who_is_unique():
    ratings = make_ratings(n_users=80, n_items=25, n_ratings=500, seed=3)
    found = Candidates.from_ratings(ratings)
    rows = [tuple(map(tuple, ratings.row(user))) for user in range(80)]
    for user, (items, values) in enumerate(rows):
        known = replace(knows(dict(zip(items, values, strict=True))), targets=np.array([user]))
        guess = attack(found, known)
        mine = set(zip(items, values, strict=True))
        holders = sum(mine <= set(zip(*other, strict=True)) for other in rows)
        assert guess.target_is_top[0]
        assert guess.tied_users[0] == holders


def test_random_ratings_are_found_no_better_than_by_a_blind_guess():
    # Many tables, since a user who rated much wins again and again within one.
    successes, trials = 0, 0
    for seed in range(100):
        truth, other = (make_ratings(80, 40, 1_200, seed=s) for s in (seed, 1_000 + seed))
        known = draw_knowledge(truth, Adversary(known=6), np.arange(80), seed)
        found, requested = found_share(truth, known, other)
        successes, trials = successes + found, trials + requested - known.skipped
    interval = wilson_interval(successes, trials)
    assert interval.low <= 1 / 80 <= interval.high


@pytest.mark.parametrize("grouped", [False, True])
def test_a_group_of_identical_records_is_found_with_one_by_its_size(grouped):
    rows = np.array([[5, 3, 1, 2], [4, 3, 0, 0], [1, 0, 2, 2]])
    sizes = np.array([4, 2, 3])
    record_of = np.repeat(np.arange(3), sizes)
    if grouped:
        found = Candidates.from_records([records(rows, sizes)], 4, STARS)
    else:
        found, record_of = Candidates.from_ratings(table(rows[record_of])), np.arange(9)
    known = knows({0: 5, 1: 3}, {2: 1, 0: 5})
    guess = attack(found, known, record_of)
    assert guess.target_is_top.all()
    assert guess.tied_users.tolist() == [4, 4]
    assert (guess.bits >= 2).all()


def test_skipped_targets_stay_in_the_denominator():
    ratings = make_ratings(n_users=100, n_items=50, n_ratings=800, seed=1)
    known = draw_knowledge(ratings, Adversary(known=8), np.arange(100))
    assert known.skipped == (ratings.activity < 8).sum() > 0
    assert found_share(ratings, known)[1] == known.requested == 100


def test_identical_records_score_bit_equal():
    # Copies stand before and behind all others, so that each copy is met in another place.
    ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=4)
    matrix = ratings.csr.toarray()
    twice = table(np.concatenate([matrix, matrix]))
    adversary = Adversary(known=7, rating_error=1)
    known = draw_knowledge(ratings, adversary, np.tile(np.arange(60), 10))
    guess = attack(Candidates.from_ratings(twice), known)
    assert (guess.best == -1).all()
    assert (guess.tied_users % 2 == 0).all()


@pytest.mark.parametrize("preset", [{}, {"date_error": 14, "activity_error": 0.5}])
def test_threads_and_chunks_do_not_matter(preset, monkeypatch):
    ratings = make_ratings(n_users=700, n_items=100, n_ratings=20_000, seed=1)
    known = draw_knowledge(ratings, Adversary(known=6, **preset), choose_targets(700, None, 0))
    found = Candidates.from_ratings(ratings)
    one, two = attack(found, known, threads=1), attack(found, known, threads=2)
    monkeypatch.setattr(scoreboard, "_CHUNK", 7)
    for guesses in (two, attack(found, known, threads=2)):
        for column, other in zip(one, guesses, strict=True):
            assert column.tobytes() == other.tobytes()
    monkeypatch.undo()
    alone = control(found, known, threads=1)
    monkeypatch.setattr(scoreboard, "_CHUNK", 7)
    assert alone.tobytes() == control(found, known, threads=2).tobytes()
