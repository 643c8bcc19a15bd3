"""All attacks on a table look among the candidates that they are given, wherever these lie."""

import math
from dataclasses import replace

import numpy as np
import pytest

from recveil.attacks import PRESETS, Adversary, Candidates
from recveil.auditing import audit
from recveil.auditing._audit import attack_table, fit_adversary
from recveil.auditing.request import AuditRequest
from recveil.auditing.table_attacks import attack_graphs, group_alike, run_attack
from recveil.auditing.three_risks import BY_ALL, risks_of_table
from recveil.datasets import make_ratings
from recveil.ratings import Ratings
from recveil.report.audit.terminal import show_audit


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(80, 40, 900, seed=1)


def attacked(ratings, candidates, *, curves):
    one, targets = [Adversary(known=4, name="one")], np.arange(20)
    request = AuditRequest(source=ratings, adversaries=one, curves=curves)
    return attack_table(request, ratings, candidates, one, targets, str)


def test_without_curves_the_table_is_not_listed_again(ratings, monkeypatch):
    whole = Candidates.from_ratings(ratings)
    monkeypatch.delattr(Candidates, "from_ratings")
    assert attacked(ratings, whole, curves=False).attacks


def test_no_adversary_knows_what_a_table_does_not_contain():
    likes = Ratings.from_columns([1, 1, 2], ["a", "b", "a"])
    paper = fit_adversary(likes, PRESETS["paper"])
    assert (paper.date_error, paper.rating_error, paper.wrong_kind) == (None, None, "item")


def test_known_attributes_by_hand():
    """All rated alike: of four users, two, three, three and all four have a target's attributes."""
    ratings = Ratings.from_columns([1, 1, 2, 2, 3, 3, 4, 4], list("abababab"), [5, 1] * 4)
    candidates, targets = Candidates.from_ratings(ratings), np.arange(4)
    groups = group_alike(candidates, {"gender": ["F", "M", "M", None]}, targets)
    assert [each.users.tolist() for each in groups] == [[0, 3], [1, 2, 3], [0, 1, 2, 3]]
    for draws in (1, 3):
        found = run_attack(
            *(ratings, candidates, Adversary(known=2), targets), draws=draws, alike=groups
        )
        assert found.baseline == 1 / 4
        assert found.by_attributes == pytest.approx((1 / 2 + 1 / 3 + 1 / 3 + 1 / 4) / 4)
        assert found.reidentified.rate == pytest.approx(found.by_attributes)
        assert found.likelihood_bits.mean == pytest.approx((1 + 2 * math.log2(3) + 2) / 4)
        assert found.reidentified.trials == 4
    nobody = run_attack(ratings, candidates, Adversary(known=3), targets, alike=groups)
    assert (nobody.attacked, nobody.control.trials) == (0, 0)


def test_attributes_re_identify_more_and_equal_ones_alike(ratings, tmp_path):
    candidates, targets = Candidates.from_ratings(ratings), np.arange(80)
    adversary = Adversary(known=2, rating_error=1)

    def attack(texts):
        groups = group_alike(candidates, {"group": texts}, targets)
        return run_attack(ratings, candidates, adversary, targets, alike=groups)

    plain = run_attack(ratings, candidates, adversary, targets)
    assert attack(["g"] * 80) == replace(plain, by_attributes=1 / 80)
    known = attack([f"g{user % 5}" for user in range(80)])
    assert known.reidentified.low > plain.reidentified.high
    assert (known.baseline, known.by_attributes) == (1 / 80, pytest.approx(1 / 16))
    assert known.control.trials == plain.control.trials == 80 - plain.skipped
    assert attack([f"g{user}" for user in range(80)]).reidentified.rate > 0.9

    file = tmp_path / "users.csv"
    lines = [f"{user},g{at % 5}" for at, user in enumerate(ratings.users.tolist())]
    file.write_text("\n".join(["user_id,group", *lines]))
    options = {"adversaries": [adversary], "targets": None, "curves": False}
    found = audit(ratings, users=file, attribute="group", **options)
    assert [each.reidentified for each in found.attacks] == [plain.reidentified, known.reidentified]
    assert "'group'" in found.attacks[1].adversary.description
    figures = found.risks.singling_out.figures
    assert known.reidentified in [each.rate for each in figures if each.baseline == 1 / 80]


def test_without_users_of_enough_items_the_graph_attacks_have_no_rate():
    ratings = Ratings.from_columns([1, 1, 2, 3], ["a", "b", "a", "b"], [5, 1, 5, 1])
    *partial, everything = attack_graphs(ratings, None, np.arange(3))
    assert (everything.known, everything.unique.rate) == (None, 1.0)
    for attack in partial:
        assert math.isnan(attack.unique.rate)
        assert math.isnan(attack.expected.rate)
        assert attack.unique.trials == 0


def test_whoever_knows_all_ratings_of_a_user_counts_in_the_audit_of_a_table():
    """Users 3 and 4 have the same ratings; those of user 2 are among user 1's."""
    ratings = Ratings.from_columns([1, 1, 2, 3, 4], list("abaaa"), [5, 1, 5, 4, 4])
    everything = attack_graphs(ratings, None, np.arange(4))[-1]
    assert (everything.attack, everything.known, everything.baseline) == ("label-based", None, 0.25)
    assert (everything.unique.rate, everything.expected.rate) == (0.5, 0.75)
    risks = risks_of_table([], [everything], [], [])
    best = risks.singling_out.strongest
    assert (best.name, best.adversary, best.rate.rate) == ("user re-identified", BY_ALL, 0.75)


def test_the_lead_of_a_raw_audit_is_about_users_with_enough_ratings(capsys):
    """Of 300 users, 60 have a rating each, and the others 12."""
    made = make_ratings(n_users=240, n_items=80, n_ratings=2_880, seed=1)
    users = np.concatenate([made.user_positions(), 240 + np.arange(60)])
    items = np.concatenate([made.indices, np.arange(60) % 80])
    values = np.concatenate([made.values, np.ones(60)])
    found = audit(Ratings.from_columns(users, items, values, scale=(1, 5, 1)), targets=300)
    capsys.readouterr()
    show_audit(found)
    first = " ".join(capsys.readouterr().out.split()).split(" Singling out: ")[0]
    assert first == found.to_dict()["verdict"][0]
    by_all = found.risks.singling_out.strongest
    assert by_all.adversary == BY_ALL
    assert by_all.rate.rate > max(each.reidentified.rate for each in found.attacks)
