from dataclasses import replace

import numpy as np
import pytest

from recveil.attacks import (
    PRESETS,
    Adversary,
    Candidates,
    Knowledge,
    ScoreboardRH,
    draw_knowledge,
)
from recveil.attacks.adversary import ECCENTRICITY
from recveil.auditing import run_attack
from recveil.datasets import make_ratings
from recveil.ratings import Ratings


def test_by_hand():
    # Four users; ann and ben share a row, cid and dan are unique. Knowing both ratings of each
    # exactly: ann and ben tie (top score shared by two users: 1/2 each), cid and dan are found.
    rows = {"ann": (5, 1), "ben": (5, 1), "cid": (1, 5), "dan": (3, 3)}
    users, items, values = zip(
        *((user, item, value) for user, row in rows.items() for item, value in enumerate(row)),
        strict=True,
    )
    ratings = Ratings.from_columns(users, items, values)
    outcome = run_attack(
        ratings, Candidates.from_ratings(ratings), Adversary(known=2), np.arange(4)
    )
    assert outcome.top1.rate == (1 / 2 + 1 / 2 + 1 + 1) / 4
    assert outcome.wrong_match.rate == 0
    assert outcome.baseline == 1 / 4
    # A tie never stands out, so at most cid and dan are matched.
    assert outcome.success.rate <= 2 / 4


@pytest.mark.parametrize("known", [2, 9, 40])
def test_rates_are_shares_of_the_targets_asked_for(invented, known):
    candidates, targets = Candidates.from_ratings(invented), np.arange(0, 300, 2)
    outcome = run_attack(invented, candidates, Adversary(known=known), targets, draws=3)
    enough = int((invented.activity[targets] >= known).sum())
    assert (outcome.requested, outcome.attacked) == (150, enough)
    shares = outcome.success.rate + outcome.wrong_match.rate + outcome.no_match.rate
    assert shares == pytest.approx(1)
    assert outcome.no_match.rate >= outcome.skipped / 150 - 1e-12
    for name in ("success", "wrong_match", "no_match", "top1", "control"):
        interval = getattr(outcome, name)
        assert interval.trials == (enough if name == "control" else 150)
        if interval.trials:
            assert 0 <= interval.low <= interval.rate <= interval.high <= 1


def test_more_draws_agree_with_one_and_the_seed_fixes_them(invented):
    candidates, targets = Candidates.from_ratings(invented), np.arange(300)
    one, many, again = (
        run_attack(invented, candidates, Adversary(known=3), targets, draws=draws, seed=4)
        for draws in (1, 8, 8)
    )
    assert many == again
    assert one.top1.low - 0.05 < many.top1.rate < one.top1.high + 0.05


def test_without_an_attacked_target_nothing_is_measured(invented):
    candidates = Candidates.from_ratings(invented)
    outcome = run_attack(invented, candidates, Adversary(known=120), np.arange(5))
    assert outcome.attacked == 0
    assert outcome.to_dict()["entropy_bits"] is None
    plain = outcome.to_dict()
    for name in ("success", "wrong_match", "no_match", "control", "reidentified"):
        assert plain[name] == {"rate": None, "low": 0, "high": 1, "trials": 0}


def test_the_json_contract(invented):
    candidates = Candidates.from_ratings(invented)
    plain = run_attack(invented, candidates, Adversary(known=3), np.arange(9)).to_dict()
    wanted = {
        *("attack", "known", "right", "wrong_kind", "rating_error", "date_error", "pool"),
        *("targets_requested", "targets_attacked", "targets_skipped", "success", "top1"),
        *("wrong_match", "no_match", "entropy_bits", "baseline", "control"),
    }
    assert wanted <= set(plain)
    assert {"rate", "low", "high"} <= set(plain["success"])


def test_random_data_falls_to_the_blind_baseline():
    # Knowledge about users of one table, looked for in another that knows nothing of them.
    here, there = (make_ratings(400, 100, 8_000, seed=seed) for seed in (1, 2))
    knowledge = draw_knowledge(here, Adversary(known=8), np.arange(400), seed=3)
    guesses = ScoreboardRH().attack(Candidates.from_ratings(there), knowledge, np.arange(400))
    found = (guesses.target_is_top / guesses.tied_users).sum()
    assert found <= 6  # one is expected; seven or more happen once in 10,000 times


def without_user(ratings, user):
    """The ratings of all others, copied; all items stay."""
    others = np.arange(ratings.n_users) != user
    kept = np.repeat(others, ratings.activity)
    return Ratings(
        *(ratings.users[others], ratings.items),
        np.concatenate([[0], np.cumsum(ratings.activity[others])]),
        *(ratings.indices[kept], ratings.values[kept], ratings.days[kept], ratings.scale),
    )


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_the_control_is_the_attack_on_a_table_without_the_user(preset):
    # Really without: each user in turn is deleted, and the rest listed and weighed anew.
    ratings = make_ratings(n_users=60, n_items=40, n_ratings=1_100, seed=5)
    adversary = replace(preset, outside_top=min(preset.outside_top, 10))
    known = draw_knowledge(ratings, adversary, np.arange(60), seed=7)
    assert known.targets.size > 15
    leads = []
    for place, target in enumerate(known.targets.tolist()):
        entries = slice(known.indptr[place], known.indptr[place + 1])
        alone = Knowledge(
            targets=np.array([0]),
            indptr=np.array([0, adversary.known]),
            items=known.items[entries],
            values=None if known.values is None else known.values[entries],
            days=None if known.days is None else known.days[entries],
            activity=None if known.activity is None else known.activity[[place]],
            skipped=0,
        )
        rest = Candidates.from_ratings(without_user(ratings, target))
        leads.append(ScoreboardRH().attack(rest, alone, np.array([-1])).eccentricity[0])
    fast = ScoreboardRH().control(Candidates.from_ratings(ratings), known, np.arange(60))
    assert fast == pytest.approx(leads, rel=1e-12, abs=1e-12)
    assert len(set(leads)) > 1
    outcome = run_attack(
        ratings, Candidates.from_ratings(ratings), adversary, np.arange(60), seed=7
    )
    assert outcome.control.rate == np.mean(np.array(leads) >= ECCENTRICITY)
