"""A measure is one entry: rows, JSON, table and page have it from there."""

import json

import pytest

from error_assertions import raises
from recveil.attacks import choose_targets
from recveil.auditing.release_attacks import attack_published
from recveil.comparison import MEASURES, Cell, Measure, Panel, Row, compare, register_measure
from recveil.comparison.cells import Setting, VerifiedK
from recveil.comparison.choice import REIDENTIFICATION, is_safe
from recveil.comparison.rows import to_row
from recveil.datasets import make_ratings
from recveil.evaluation.disclosure import fitted_presets
from recveil.evaluation.split import split_ratings
from recveil.methods.registry import make_variant
from recveil.report.comparison.text import describe_risk


@pytest.fixture
def clean():
    """Whatever a test registers is gone after it."""
    known = dict(MEASURES)
    yield
    MEASURES.clear()
    MEASURES.update(known)


@pytest.mark.usefixtures("clean")
class TestRefused:
    @pytest.mark.parametrize("name", ["risk", "method", "title", "utility_retained"])
    def test_a_name_that_is_taken(self, name):
        with raises("argument.value") as caught:
            register_measure(Measure(name, "", float, lambda _: None))
        assert f"'{name}'" in str(caught.value)

    @pytest.mark.parametrize("name", ["", "two words", "_asdict", "7up"])
    def test_a_name_that_is_none(self, name):
        with raises("argument.value"):
            Measure(name, "", float, lambda _: None)

    def test_a_kind_that_is_none(self):
        with raises("argument.value") as caught:
            Measure("toy", "", list, lambda _: None)
        assert "kind" in str(caught.value)

    @pytest.mark.parametrize(("kind", "better"), [(float, None), (str, "up"), (bool, "up")])
    def test_a_panel_that_cannot_be_drawn(self, kind, better):
        with raises("argument.value") as caught:
            Measure("toy", "", kind, lambda _: None, "", better, Panel("Toy", ".2f"))
        assert "panel" in str(caught.value)

    def test_a_direction_that_is_none(self):
        with raises("argument.value") as caught:
            Measure("toy", "", float, lambda _: None, "", "left")
        assert "'left'" in str(caught.value)

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            *((float, "1"), (float, float("nan")), (float, float("inf")), (float, True)),
            *((int, 1.0), (int, True), (bool, 1), (str, 5)),
        ],
    )
    def test_a_value_of_another_kind(self, kind, value):
        register_measure(Measure("toy", "", kind, lambda _: value))
        with raises("argument.result") as caught:
            to_row(Cell("key", Setting("raw", None)))
        assert "'toy'" in str(caught.value)
        with raises("argument.result") as caught:
            Row("raw", None, "nothing", None, toy=value)
        assert "'toy'" in str(caught.value)

    def test_an_unknown_measure(self):
        with raises("argument.value") as caught:
            Row("raw", None, "nothing", None, riks=0.5)
        assert "'riks'" in str(caught.value)


class TestRow:
    def test_it_does_not_change(self, row):
        with pytest.raises(AttributeError, match=r"row\._replace\(risk=\.\.\.\)"):
            row.risk = 0.0
        assert row._replace(risk=0.0).risk == 0.0
        assert row.risk == 0.1

    def test_rows_are_equal_by_what_they_say(self, row):
        assert row == row._replace()
        assert hash(row) == hash(row._replace())
        assert row != row._replace(risk=0.0)
        assert row != tuple(row._asdict().values())


def test_all_measures_have_a_text():
    for name, measure in MEASURES.items():
        assert measure.name == name
        assert len(measure.description) > 5
        assert (measure.kind is float) == bool(measure.format), name


class TestCells:
    def test_a_file_holds_all_of_a_cell(self):
        cell = Cell(
            *("key", Setting("simple", 5)),
            evaluation={"recipient": None},
            lone_share=0.5,
            seconds={"anonymize": 1.5},
        )
        assert Cell.from_json(json.loads(json.dumps(cell.to_json()))) == cell

    def test_what_was_not_measured_is_none_and_what_is_unknown_is_refused(self):
        cell = Cell("key", Setting("simple", 5), evaluation={"recipient": None})
        assert cell.figure("recipient", "raw", "rmse") is None
        with pytest.raises(KeyError, match="fidelity"):
            cell.figure("fidelity", "item_mean_rmse")

    def test_it_shows_no_more_than_a_verdict(self):
        cell = Cell("key", Setting("simple", 5), evaluation={"recipient": 0.123})
        assert repr(cell) == "Cell(simple, k = 5: finished)"


def test_a_rate_without_targets_is_none(plain_evaluation):
    """It was 0 % to 1.3 %, which looked like safety."""
    evaluation = plain_evaluation(risk=0.0, attacked=0)
    row = to_row(Cell("key", Setting("padded", 5), evaluation=evaluation))
    assert (row.risk, row.risk_low, row.risk_high, row.class_risk) == (None,) * 4
    assert (row.targets, row.most_targets_attacked) == (200, 0)


def test_adversaries_without_targets_are_those_who_attacked_no_user(plain_evaluation):
    cell = Cell("key", Setting("padded", 5), evaluation=plain_evaluation(attacked=0))
    row, names = to_row(cell), [attack["name"] for attack in cell.attacks]
    assert names
    assert row.adversaries_without_targets == "; ".join(names)
    attacked = Cell("key", Setting("padded", 5), evaluation=plain_evaluation())
    assert to_row(attacked).adversaries_without_targets is None


class TestAllRatings:
    """Who knows all ratings of a target, or the rows of others, counts as in the audit."""

    @pytest.fixture
    def evaluation(self, plain_evaluation):
        plain = plain_evaluation(risk=0.1)
        plain["disclosure"]["by_all_ratings"] = [
            {
                **{"name": name, "attack": "conditional-logit", "baseline": 1 / 200},
                **{"targets_requested": 40, "targets_attacked": 40, "class_baseline": 0.025},
                "reidentified": {"rate": rate, "low": 0.08, "high": 0.3, "trials": 40},
                "class_reidentified": {"rate": 4 * rate, "low": 0.5, "high": 0.9, "trials": 40},
            }
            for name, rate in (("all", 0.05), ("all and rows", 0.18))
        ]
        return plain

    def row(self, evaluation, method="sparse"):
        verified = VerifiedK("identical-rows", 5, 5)
        return to_row(Cell("key", Setting(method, 5), verified=verified, evaluation=evaluation))

    def test_the_strongest_of_all_is_the_risk(self, evaluation):
        row = self.row(evaluation)
        assert (row.risk, row.risk_low, row.risk_high) == (0.18, 0.08, 0.2)  # 1 / k
        assert (row.class_risk, row.class_risk_high, row.class_reidentified) == (0.72, 0.9, 0.72)
        assert row.risk_by == row.class_risk_by == "all and rows"
        assert row.risk_targets == row.class_risk_targets == 40
        assert row.attack == "conditional-logit"
        assert "all and rows" in describe_risk(row, REIDENTIFICATION)
        assert "40 targets" in describe_risk(row, REIDENTIFICATION)

    def test_where_no_other_adversary_has_a_target_they_are_the_risk(
        self, evaluation, plain_evaluation
    ):
        idle = plain_evaluation(risk=0.0, attacked=0)["disclosure"]["attacks"]
        evaluation["disclosure"]["attacks"] = idle
        row = self.row(evaluation)
        assert (row.risk, row.risk_by, row.risk_targets) == (0.18, "all and rows", 40)
        assert row.most_targets_attacked == 0

    def test_coverage_and_links_are_of_those_who_know_a_number(self, evaluation):
        row = self.row(evaluation)
        assert (row.targets, row.targets_attacked, row.most_targets_attacked) == (200, 200, 200)
        assert (row.link_precision, row.exact_share) == (0.3, 0.2)

    def test_the_limit_is_compared_with_the_strongest(self, evaluation):
        row = self.row(evaluation)
        assert not is_safe(row, 0.16, None)
        for each in evaluation["disclosure"]["by_all_ratings"]:
            each["reidentified"] |= {"rate": 0.05, "high": 0.12}
        weaker = self.row(evaluation)
        assert (weaker.risk, weaker.risk_by, weaker.risk_targets) == (0.1, "paper", 200)
        assert is_safe(weaker, 0.16, None)

    def test_what_is_not_undone_has_no_risk_by_them_either(self, evaluation):
        assert self.row(evaluation, "rotation").risk is None


@pytest.mark.usefixtures("few_recommenders")
def test_the_risk_of_sparse_rows_is_that_of_the_audit(tmp_path):
    """It was 0.75 %, by sixteen ratings, where the audit of that release stated 4.6 %."""
    ratings = make_ratings(n_users=480, n_items=60, n_ratings=12_000, seed=4)
    (row,) = compare(ratings, methods=["sparse"], k=5).rows
    train = split_ratings(ratings, 0.2, 0).train
    make_variant("sparse", 5, 0).anonymize(train).write(tmp_path / "out")
    targets = choose_targets(train.n_users, 1_000, 0)
    audited = attack_published(train, tmp_path / "out", fitted_presets(train), targets)
    fitted = audited.clusters
    assert (row.risk, row.class_risk) == (fitted.reidentified.rate, fitted.class_inferred.rate)
    assert (row.risk_low, row.risk_high) == (fitted.reidentified.low, fitted.reidentified.high)
    assert row.risk_targets == fitted.reidentified.trials == 240
    assert row.risk_low > audited.strongest[1].reidentified.high
