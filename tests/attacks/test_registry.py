"""The registry of attacks: all its attacks run, and no others can be named."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import (
    ATTACKS,
    PRESETS,
    Adversary,
    AttackEntry,
    AttackTarget,
    Candidates,
    Guesses,
    Scoreboard,
    attack_release,
    choose_targets,
    draw_knowledge,
    find_attack,
    register_attack,
)
from recveil.attacks.registry import attacks_on_release, attacks_on_table
from recveil.auditing import measure_risk, run_attack
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import RatingScale

SCALE = RatingScale(1, 5, 1)


class Insider:
    """Knows who is who: no attack finds more."""

    name = "insider"

    def attack(self, candidates, knowledge, record_of):
        own = record_of[knowledge.targets]
        return Guesses(best=own, tied_users=candidates.sizes[own], target_is_top=own >= 0)


@pytest.fixture
def insider():
    entry = AttackEntry(
        Insider.name, "Knows who is who.", lambda *_: Insider(), lambda *_: [Insider(), Insider()]
    )
    register_attack(entry)
    yield entry
    del ATTACKS[entry.name]


@pytest.mark.parametrize("adversary", PRESETS.values(), ids=list(PRESETS))
def test_attacks_are_called_what_their_entries_are_called(adversary):
    pairs = [*attacks_on_table(adversary, SCALE).items(), *attacks_on_release(adversary, SCALE)]
    assert {name for name, _ in pairs} == set(ATTACKS)
    assert all(attack.name == name for name, attack in pairs)
    assert all(entry.name == name for name, entry in ATTACKS.items())


def test_unknown_names_are_refused_by_name():
    with raises("option.value") as caught:
        find_attack("psychic")
    assert "'psychic'" in str(caught.value)


def test_a_name_is_taken_once(insider):
    with raises("argument.value") as caught:
        register_attack(insider)
    assert "'insider'" in str(caught.value)


def test_an_attack_is_tried_somewhere():
    with raises("argument.value") as caught:
        AttackEntry("idle", "Does nothing.")
    assert "'idle'" in str(caught.value)


@pytest.mark.usefixtures("insider")
def test_the_best_of_all_attacks_judges_a_table(invented):
    candidates = Candidates.from_ratings(invented)
    outcome = run_attack(invented, candidates, Adversary(known=1), np.arange(40), draws=2)
    assert outcome.strongest == "insider"
    assert outcome.reidentified.rate == outcome.attacked / 40 > outcome.top1.rate
    assert list(outcome.by_attack) == ["scoreboard-rh", "likelihood", "insider"]
    assert list(outcome.bits_by_attack) == ["scoreboard-rh", "likelihood"]
    risk = measure_risk(invented, candidates, [outcome], seed=1)
    assert set(risk.rates[~np.isnan(risk.rates)]) == {1.0}


@pytest.mark.usefixtures("insider")
def test_the_best_of_all_attacks_judges_a_release(invented):
    release = PredictiveAnonymizer(5, seed=1).anonymize(invented)
    table = AttackTarget.from_release(release, invented)
    result = attack_release(invented, table, Adversary(known=1), np.arange(40))
    assert result.attack == "insider"
    assert result.by_attack["insider"] == result.reidentified
    assert result.by_attack["nearest"].rate < result.reidentified.rate <= result.bound


def test_the_attack_reported_is_one_of_those_by_name(invented):
    table = AttackTarget.from_release(
        PredictiveAnonymizer(5, "simple", seed=1).anonymize(invented), invented
    )
    result = attack_release(invented, table, Adversary(known=4), np.arange(60))
    assert list(result.by_attack) == list(ATTACKS)
    assert result.by_attack[result.attack] == result.reidentified
    assert result.reidentified.rate == max(found.rate for found in result.by_attack.values())


def test_a_lineup_is_a_kind_of_guesses(invented):
    found = Candidates.from_ratings(invented)
    known = draw_knowledge(invented, Adversary(known=2), choose_targets(300, 60, 0), seed=1)
    lineups = Scoreboard().attack(found, known, np.arange(300))
    assert isinstance(lineups, Guesses)
    alone = lineups.records == 1
    assert 0 < alone.sum() < alone.size
    assert (lineups.best[~alone] == -1).all()
    assert (lineups.best[alone] == known.targets[alone]).all()
    assert lineups.chance.tolist() == (1 / lineups.tied_users).tolist()


def test_what_an_attack_does_not_infer_is_left_out():
    one = np.ones(1, np.int64)
    assert len(list(Guesses(best=one, tied_users=one, target_is_top=one == 1))) == 3
