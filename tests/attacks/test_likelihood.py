"""Likelihood: a worked example, a plain oracle, and that it never finds less than others do."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import (
    Adversary,
    Candidates,
    Knowledge,
    Likelihood,
    ScoreboardRH,
    choose_targets,
    draw_knowledge,
)
from recveil.attacks.reidentification.likelihood import DateDifferences
from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale


def found(guesses):
    return float((guesses.target_is_top / guesses.tied_users).sum())


def test_a_worked_example():
    # Four items in all; the records of a: 1 2 3 4, of b: 1 2, of c: 1 3 with one label each.
    # Known: items 1 and 2, both rated 5. q = 8.5 / 9; five levels, exact: certainty 5.
    # A record gains log(q * 5 / 0.001) + log(4 / n) for an item with that label, and
    # log((1 - q) / 0.001) + log(4 / n) for one with another label.
    ratings = Ratings.from_columns(
        list("aaaabbcc"), [1, 2, 3, 4, 1, 2, 1, 3], [5, 5, 1, 2, 5, 5, 3, 4]
    )
    known = Knowledge(
        *(np.array([0, 1, 2]), np.array([0, 2, 4, 6]), np.array([0, 1] * 3, np.int32)),
        *(np.full(6, 5, np.float32), None, None, 0),
    )
    guesses = Likelihood().attack(Candidates.from_ratings(ratings), known, np.arange(3))
    q = 8.5 / 9
    agree, beyond = math.log(q * 5 / 0.001), math.log((1 - q) / 0.001)
    scores = [2 * agree + 0, 2 * (agree + math.log(2)), beyond + math.log(2)]
    assert guesses.best.tolist() == [1, 1, 1]
    assert guesses.score == pytest.approx([scores[1]] * 3, rel=1e-6)
    assert guesses.eccentricity[1] == pytest.approx(2 * math.log(2), rel=1e-5)
    mass = sum(math.exp(score) for score in scores)
    bits = [-math.log2(math.exp(score) / mass) for score in scores]
    assert guesses.bits == pytest.approx(bits, rel=1e-4)


def test_date_differences_by_hand():
    # All rated three items alike; the third user is the second one, 100 days later.
    # Known: days 10, 12 and 20 of the first user, differences of 2 and 8 (the others': 3 and 7).
    days = [510, 512, 520, 10, 13, 20, 110, 113, 120]
    ratings = Ratings.from_columns(list("aaabbbccc"), list("xyz") * 3, [4, 5, 3] * 3, days)
    known = Knowledge(
        *(np.array([0]), np.array([0, 3]), np.arange(3, dtype=np.int32)),
        *(np.array([4, 5, 3], np.float32), np.array([10, 12, 20], np.int32), None, 0),
    )
    candidates = Candidates.from_ratings(ratings)

    def attack(error, most_days):
        attack = DateDifferences(Likelihood(date_error=error), most_days)
        return attack.attack(candidates, known, np.arange(3))

    # Of the second and third user, two dates agree by each of their shifts, of the first all.
    assert attack(0, 500).best.tolist() == [0]
    # One day of error on each side spans the three shifts of 0, 1 and 0 days.
    assert attack(1, 500).tied_users.tolist() == [3]
    # The first user's dates would be shifted by more than 499 days, the third's are not.
    assert attack(0, 499).best.tolist() == [-1]
    assert attack(0, 499).tied_users.tolist() == [2]
    assert attack(0, 99).best.tolist() == [1]
    with raises("time.missing"):
        DateDifferences(Likelihood(), 9).attack(candidates, replace(known, days=None), np.arange(3))


def oracle(ratings, known, target, attack, kind):
    """Score every record by the formula, with dictionaries."""
    q = (8 * attack.right + 0.5) / 9
    absent, beyond = (1e-3, 1 - q) if kind == "value" else (1 - q, (1 - q) * 1e-3)
    levels = np.unique(ratings.values)
    certainty = 1.0
    if known.values is not None:
        step = np.diff(levels).min()
        within = 2 * math.floor(attack.rating_error / step + 1e-6) + 1
        certainty = max(1.0, (round(np.ptp(levels) / step) + 1) / within)
    scores = []
    for user in range(ratings.n_users):
        row = dict(zip(*(part.tolist() for part in ratings.row(user)), strict=True))
        score = 0.0
        for at in range(known.indptr[target], known.indptr[target + 1]):
            if known.items[at] not in row:
                continue
            off = 0 if known.values is None else abs(row[known.items[at]] - known.values[at])
            agrees = off <= (attack.rating_error or 0) + 1e-6
            gain = math.log(q * certainty / absent) if agrees else math.log(beyond / absent)
            score += max(gain + math.log(ratings.n_items / len(row)), 0.0)
        scores.append(score)
    return np.array(scores)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 1000),
    right=st.integers(1, 4),
    rating_error=st.sampled_from([0, 1, None]),
    kind=st.sampled_from(["value", "item"]),
)
def test_scores_against_the_oracle(seed, right, rating_error, kind):
    if rating_error is None:
        kind = "item"
    ratings = make_ratings(n_users=20, n_items=15, n_ratings=120, seed=seed)
    adversary = Adversary(known=4, right=right, rating_error=rating_error, wrong_kind=kind)
    known = draw_knowledge(ratings, adversary, np.arange(20), seed)
    attack = Likelihood.of(adversary)
    guesses = attack.attack(Candidates.from_ratings(ratings), known, np.arange(20))
    for target in range(known.targets.size):
        scores = oracle(ratings, known, target, attack, kind)
        top = scores.max()
        assert guesses.score[target] == pytest.approx(top, abs=1e-4)
        clear = np.sort(scores)[-2] < top - 1e-3
        if clear:
            assert guesses.best[target] == scores.argmax()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "adversary",
    [
        Adversary(known=8, rating_error=None),
        Adversary(known=4, rating_error=1, date_error=14),
        Adversary(known=4, rating_error=1),
        Adversary(known=6, right=4, wrong_kind="item"),
    ],
)
def test_it_finds_no_fewer_than_scoreboard_rh(adversary, threads):
    ratings = make_ratings(n_users=2000, n_items=300, n_ratings=60_000, seed=3)
    targets = choose_targets(2000, 500, seed=1)
    known = draw_knowledge(ratings, adversary, targets, seed=2)
    table = Candidates.from_ratings(ratings)
    attack = Likelihood.of(adversary)
    ours = Likelihood(**{**vars(attack), "threads": threads}).attack(table, known, np.arange(2000))
    assert found(ours) >= found(ScoreboardRH().attack(table, known, np.arange(2000)))


def test_bits_are_those_of_a_calibrated_posterior():
    # An adversary who believes p should be right in about p of the cases: bits of 1 mean even odds.
    ratings = make_ratings(n_users=3000, n_items=200, n_ratings=60_000, seed=3)
    adversary = Adversary(known=5, rating_error=1)
    known = draw_knowledge(ratings, adversary, np.arange(3000), seed=2)
    table = Candidates.from_ratings(ratings)
    guesses = Likelihood.of(adversary).attack(table, known, np.arange(3000))
    # E[posterior of the truth] = E[sum of squared posteriors] <= E[highest posterior].
    assert (2.0**-guesses.bits).mean() <= found(guesses) / known.targets.size


def test_lengths_count_the_items_of_the_pool_only():
    # b's record is longer, but not outside the most rated item.
    ratings = Ratings.from_columns(
        list("aabbbcd"), [1, 2, 1, 2, 9, 9, 9], [5, 5, 5, 5, 5, 5, 5], scale=RatingScale(1, 5, 1)
    )
    known = Knowledge(
        *(np.array([0]), np.array([0, 2]), np.array([0, 1], np.int32)),
        *(np.full(2, 5, np.float32), None, None, 0),
    )
    table = Candidates.from_ratings(ratings)
    assert Likelihood().attack(table, known, np.arange(4)).best.tolist() == [0]
    # With item 9 out of the pool both have two items, and nothing distinguishes them.
    assert Likelihood(outside_top=1).attack(table, known, np.arange(4)).best.tolist() == [-1]


@pytest.mark.parametrize(
    "wrong",
    [{"right": 1.5}, {"rating_error": -1}, {"date_error": -1}, {"value_spread": math.nan}],
)
def test_senseless_numbers_are_named(wrong):
    (name,) = wrong
    with raises("argument.value") as caught:
        Likelihood(**wrong)
    assert name in str(caught.value)
