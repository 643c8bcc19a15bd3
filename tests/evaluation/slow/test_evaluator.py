import json
from itertools import pairwise

import numpy as np
import pytest

from recveil.attacks import AttackTarget, choose_targets
from recveil.auditing.release_attacks import attack_published
from recveil.evaluation import (
    Evaluator,
    HeldOut,
    Split,
    TrainingTable,
    UserRows,
    evaluator,
    recipient,
)
from recveil.evaluation.disclosure import fitted_presets
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings
from shared.evaluation_evaluator import judge, padded, released_of, split, stars  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("few_recommenders")


@pytest.fixture(scope="module")
def folder(padded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases") / "out"
    padded.write(folder, layout="users")
    return folder


def without_name(found: dict) -> dict:
    return {name: part for name, part in found.items() if name not in ("disclosure", "notes")}


def attacks_of(found: dict) -> list:
    return found["disclosure"]["attacks"]


class TestInvariants:
    def test_the_same_again(self, split, judge, padded):
        again = Evaluator(split, n_targets=60, with_membership=False)
        assert again.evaluate(padded).to_dict() == judge.evaluate(padded).to_dict()


class TestForms:
    def test_memory_table_and_folder_are_judged_alike(self, split, judge, padded, folder):
        table = AttackTarget.from_release(padded, split.train)
        found = [judge.evaluate(given).to_dict() for given in (padded, table, folder, str(folder))]
        for other in found[1:]:
            assert without_name(other) == without_name(found[0])
            assert attacks_of(other) == attacks_of(found[0])
        assert found[2]["disclosure"]["name"] == "out"

    def test_without_the_private_folder_only_public_figures(
        self, judge, padded, folder, tmp_path, split
    ):
        alone = tmp_path / "alone"
        alone.mkdir()
        for file in folder.iterdir():
            (alone / file.name).write_bytes(file.read_bytes())
        whole = judge.evaluate(padded).to_dict()
        table = TrainingTable.from_released(AttackTarget.from_folder(folder, split.train), stars)
        for given, why in (
            (alone, "alone.private does not exist"),
            (table, "without the map of users to rows"),
        ):
            found = judge.evaluate(given).to_dict()
            for name in ("recipient", "fidelity", "carry_over", "users", "test_cells"):
                assert found[name] == whole[name]
            for name in (
                *("target_deviation", "similar_user_deviation", "self_rank", "self_rank_first"),
                *("self_rank_common", "self_rank_common_first"),
                *("disclosure", "absent", "filled_share"),
            ):
                assert found[name] is None
            assert why in found["notes"][0]

    def test_the_attacks_are_those_of_the_audit(self, split, judge, folder):
        targets = choose_targets(split.train.n_users, 60, 0)
        audited = attack_published(split.train, folder, fitted_presets(split.train), targets)
        found = judge.evaluate(folder).to_dict()["disclosure"]
        assert found["attacks"] == json.loads(json.dumps(audited.to_dict()["attacks"]))
        worst = max(found["attacks"], key=lambda attack: attack["reidentified"]["rate"] or 0)
        assert found["worst"]["adversary"] == worst["name"]
        assert found["worst"]["reidentified"] == worst["reidentified"]
        assert found["worst"]["bound"] == 0.2


class TestMeasures:
    def test_deviations_by_hand(self):
        # Two users share a row (item 0: 2, item 1: 4), the third is alone (item 2: 5).
        train = Ratings.from_columns([0, 0, 1, 2], [0, 1, 1, 2], [2, 4, 4, 5], scale=stars)
        rows = UserRows(
            np.array([0, 2, 3]), np.array([0, 1, 2], np.int32), np.array([2.0, 4.0, 5.0])
        )
        # Labels: none, 2, none; ratings 3, 4, 1. With 0 for none: 3, 2, 1.
        test = HeldOut(np.array([0, 1, 2]), np.array([2, 0, 0]), np.array([3.0, 4.0, 1.0]))
        table = released_of(rows, [2, 1], [0, 0, 1], train)
        found = Evaluator(Split(train, test), "zero").evaluate(table).to_dict()
        result = found["target_deviation"]
        assert result["rmse"] == pytest.approx(((9 + 4 + 1) / 3) ** 0.5, abs=1e-9)
        assert (result["rmse_present"], result["mae_present"]) == (2, 2)
        assert result["mae"] == pytest.approx(2, abs=1e-9)
        assert result["null_share"] == pytest.approx(2 / 3, abs=1e-9)
        assert found["filled_share"] == pytest.approx(1 / 3, abs=1e-9)
        assert (result["null_rule"], result["n_cells"], found["users"]) == ("zero", 3, 3)
        # Left are 4 - 2 alone; by the rule "lowest": 3 - 1, 4 - 2, 1 - 1.
        skipped = Evaluator(Split(train, test), "skip").evaluate(table).target_deviation
        lowest = Evaluator(Split(train, test), "lowest").evaluate(table).target_deviation
        assert (skipped.rmse, skipped.n_cells) == (2, 1)
        assert lowest.rmse == pytest.approx((8 / 3) ** 0.5, abs=1e-9)


class TestEvaluator:
    def test_the_raw_side_is_learnt_once(self, split, padded, monkeypatch):
        calls = []
        real = evaluator.fit_all
        monkeypatch.setattr(evaluator, "fit_all", lambda *a, **b: calls.append(a) or real(*a, **b))
        judge = Evaluator(split, n_targets=10, with_membership=False)
        assert not calls
        first, second = judge.evaluate(padded), judge.evaluate(padded)
        assert len(calls) == 3
        assert first.raw is second.raw

    def test_membership_is_measured_on_another_release_of_that_kind(self, split, padded):
        judge = Evaluator(split, n_targets=60)
        result = judge.evaluate(padded).to_dict()["disclosure"]["membership"]
        assert 0 <= result["auc"]["low"] <= result["auc"]["rate"] <= result["auc"]["high"] <= 1
        given = PredictiveAnonymizer(k=5, seed=0)
        same = judge.evaluate(padded, anonymizer=given).to_dict()["disclosure"]["membership"]
        assert same == result
        all_users = PredictiveAnonymizer(k=200, seed=1).anonymize(split.train)
        found = judge.evaluate(all_users).to_dict()
        assert found["disclosure"]["membership"] is None
        assert found["notes"]
        bare = judge.evaluate(AttackTarget.from_release(padded, split.train)).to_dict()
        assert bare["disclosure"]["membership"] is None
        assert bare["notes"]


class TestProgress:
    @pytest.fixture
    def evaluated(self, split, padded, reports):
        Evaluator(split, n_targets=20).evaluate(padded)
        return reports

    def test_every_loop_does_the_steps_that_it_announced(self, evaluated):
        last = {
            (count.loop, count.total): count.done for _, _, count in evaluated if count is not None
        }
        announced = {total for _, total in last if total is not None}
        assert len(announced) > 5
        for (_, total), done in last.items():
            assert total is None or done == pytest.approx(total)

    @pytest.mark.parametrize("part", ["Learning from it", "Learning from the raw ratings"])
    def test_learning_reports_more_often_than_once_a_recommender(self, evaluated, part):
        reached = {round(fraction, 9) for fraction, path, _ in evaluated if path[:1] == (part,)}
        assert len(reached) > 2 * len(recipient.default_recommenders())

    def test_the_fit_of_all_rows_reports_its_rounds(self, evaluated):
        rounds = {
            round(fraction, 9) for fraction, path, _ in evaluated if "Fitting all rows" in path
        }
        assert len(rounds) > 10

    def test_what_is_done_never_falls(self, evaluated):
        reached = [fraction for fraction, _, _ in evaluated]
        assert all(after >= before - 1e-9 for before, after in pairwise(reached))
