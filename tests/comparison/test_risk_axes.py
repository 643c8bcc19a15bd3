"""Each risk chooses by its own strongest adversary, and has a text; another one is an entry."""

import json
from typing import ClassVar

import pytest

from error_assertions import raises
from recveil.comparison import (
    AXES,
    Cell,
    axis_named,
    choose_setting,
    compare,
    frontier,
    register_axis,
)
from recveil.comparison.cells import Setting
from recveil.comparison.rows import Row, to_row
from recveil.datasets import make_ratings
from recveil.evaluation import split_ratings
from recveil.methods.registry import make_variant
from recveil.release.claim import bounds_of
from recveil.report.comparison.text import (
    caveats_of,
    describe_advice,
    describe_answer,
    describe_baseline,
    describe_risk,
    risk_warnings,
)

pytestmark = pytest.mark.usefixtures("rough_fit", "few_recommenders")


def measured(evaluation, method="padded"):
    return to_row(Cell("key", Setting(method, 5), evaluation=evaluation))


def test_each_axis_takes_its_own_strongest(plain_evaluation):
    """The paper finds most users, the bystander most groups, the colleague infers most links."""
    result = plain_evaluation()
    bystander = dict(result["disclosure"]["attacks"][0], name="bystander")
    bystander["class_reidentified"] = {"rate": 0.7, "low": 0.6, "high": 0.8, "trials": 200}
    result["disclosure"]["attacks"][0]["links"] = {
        "rate": 0.4,
        "low": 0.3,
        "high": 0.5,
        "trials": 9,
    }
    result["disclosure"]["attacks"].append(bystander)
    row = measured(result)
    assert (row.risk_by, row.risk) == ("paper", 0.1)
    assert (row.class_risk_by, row.class_risk, row.class_risk_high) == ("bystander", 0.7, 0.8)
    assert (row.links_inferred_by, row.links_inferred, row.links_inferred_low) == (
        "colleague",
        0.4,
        0.3,
    )
    assert (row.membership_tpr_by, row.membership_tpr) == ("adversary with all exact ratings", 0.33)


def test_where_rows_hold_all_items_a_fit_reveals_the_links(plain_evaluation):
    result = plain_evaluation()
    result["disclosure"]["residual"] = {
        "popularity_recall_at_95": 0.03,
        "popularity_auc": 0.8,
        "intervals": {
            "recall_at_95": {"rate": 0.6, "low": 0.5, "high": 0.7, "trials": 40},
            "auc": {"rate": 0.9, "low": 0.88, "high": 0.92, "trials": 40},
        },
    }
    row = measured(result)
    areas = (row.links_auc, row.links_auc_low, row.links_auc_high, row.links_auc_baseline)
    assert areas == (0.9, 0.88, 0.92, 0.8)
    assert (row.links_inferred_by, row.links_inferred, row.links_inferred_high) == (
        "fit of all rows",
        0.6,
        0.7,
    )
    assert row.links_inferred_baseline == 0.03


@pytest.mark.parametrize("name", ["reidentification", "class", "links"])
def test_a_risk_below_its_baseline_is_no_evidence_if_the_second_figure_is_above_its_own(row, name):
    axis = AXES[name]
    reached = {axis.value: 0.1, axis.low: 0.08, axis.high: 0.12, axis.by: "x", axis.baseline: 0.3}
    second = {f"{axis.second}{end}": value for end, value in (("", 0.8), ("_low", 0.7))}
    weak = row._replace(**reached, **second, **{f"{axis.second}_baseline": 0.75})
    assert describe_baseline(weak, axis).endswith("infers nothing beyond the baseline")
    strong = describe_baseline(weak._replace(**{f"{axis.second}_low": 0.78}), axis)
    assert f"below the baseline ({axis.baseline_label}: 30%)" in strong
    assert strong.endswith(f"; however, {axis.second_label}: 80% (baseline 75%)")
    assert describe_baseline(weak._replace(**{axis.baseline: 0.01}), axis) == ""


def test_a_figure_of_fewer_than_twenty_users_is_no_risk(plain_evaluation):
    """Neither low nor high: nothing is reported of too few users."""
    result = plain_evaluation()
    members = result["disclosure"]["membership"]
    members["all"]["is_measured"] = False
    row = measured(result)
    assert (row.membership_tpr_by, row.membership_tpr) == ("adversary with 16 exact ratings", 0.15)
    assert row.membership_auc == 0.62
    for known in (members, members["8"], members["16"]):
        known["is_measured"] = False
    row = measured(result)
    assert (row.membership_tpr, row.membership_auc) == (None, None)
    assert choose_setting([row], 1.0, risk="membership").row is None
    (warning,) = risk_warnings([row], AXES["membership"])
    assert "it takes 20 members and 20 nonmembers" in warning


def test_shadows_of_fewer_than_forty_users_are_no_risk(plain_evaluation):
    area = {"rate": 0.9, "low": 0.8, "high": 1.0, "trials": 39}
    by_known = dict.fromkeys(("auc", "tpr_at_5", "counts_auc"), area)
    for users, expected in ((39, None), (40, 0.9)):
        shadows = {"n": 8, "all": by_known | {"users": users}}
        cell = Cell("key", Setting("padded", 5), evaluation=plain_evaluation(), shadows=shadows)
        row = to_row(cell)
        assert (row.shadow_tpr, row.shadow_auc) == (expected, expected)


@pytest.mark.parametrize("name", ["membership", "shadows"])
def test_differential_privacy_bounds_the_recognition_of_members(name):
    axis = AXES[name]
    figures = {axis.value: 0.092, axis.low: 0.039, axis.high: 0.136, axis.by: "x"}
    figures |= {axis.baseline: 0.05, "rmse": 0.9, "gain_retained": 0.5, "is_gain_reliable": True}
    row = Row("synthetic-1", None, "differential privacy", None, membership_bound=0.08, **figures)
    assert axis.bound_of(row) == 0.08
    assert choose_setting([row], 0.1, risk=name).row == row
    assert choose_setting([row], 0.07, risk=name).row is None
    unbounded = row._replace(membership_bound=None)
    assert choose_setting([unbounded], 0.1, risk=name).row is None
    proofs = [caveats_of(choose_setting([each], risk=name)) for each in (row, unbounded)]
    assert ["above 8% at an FPR of 5%" in " ".join(proof) for proof in proofs] == [True, False]


def test_the_bound_of_a_setting_is_that_of_its_card(tmp_path):
    ratings = make_ratings(n_users=400, n_items=12, n_ratings=2000, seed=2)
    options = {"targets": 20, "risk": "membership"}
    result = compare(ratings, tmp_path / "out", methods=["synthetic-1"], **options)
    stored = json.loads((tmp_path / "out" / "cells" / "synthetic-1.json").read_text("utf-8"))
    release = make_variant("synthetic-1", None, 0).anonymize(split_ratings(ratings, 0.2, 0).train)
    expected = bounds_of(release.published.claim)["most_recognized"]
    assert 0.07 < expected < 0.09
    bounds = [to_row(Cell.from_json(stored)).membership_bound, result.rows[0].membership_bound]
    assert bounds == [expected, expected]
    page = result.to_html()
    assert "≤ 8%" in page
    assert "no proof bounds it" not in page


@pytest.mark.parametrize("axis", AXES.values(), ids=list(AXES))
@pytest.mark.parametrize(
    ("baseline", "words"),
    [(0.66, "below"), (0.1, "not significantly above"), (0.01, ""), (None, "")],
)
def test_a_risk_that_is_not_above_its_baseline_is_stated_everywhere(axis, baseline, words):
    """Of each risk: in the advice, in the caveats, and of the safest where nothing will do."""
    reached = {axis.value: 0.1, axis.low: 0.08, axis.high: 0.12, axis.by: "x"}
    figures = {"targets": 900, "most_targets_attacked": 900, "rmse": 0.95}
    figures |= {"is_gain_reliable": True, "gain_retained": 0.7}
    row = Row(*("padded", 5, "k-anonymity", None), **figures | reached | {axis.baseline: baseline})
    answer = choose_setting([row], max_risk=0.5, risk=axis.name)
    unanswered = choose_setting([row], max_risk=0.02, risk=axis.name)
    for text in (describe_advice(answer), *map(" ".join, map(caveats_of, (answer, unanswered)))):
        stated = f"{words} the baseline ({axis.baseline_label}: "
        assert (stated in text) == bool(words) or not words
        # Of membership, scores of one release are no evidence that nothing is inferred.
        is_weak = axis.name == "membership"
        assert ("--shadows 32”) usually recognize" in text) == (is_weak and bool(words))
        assert ("nothing beyond the baseline" in text) == (not is_weak and bool(words))


def test_what_is_not_undone_or_measured_is_no_risk(plain_evaluation):
    row = measured(plain_evaluation(), "rotation")
    assert [axis.of(row) for axis in AXES.values()] == [None] * len(AXES)
    result = plain_evaluation()
    result["disclosure"]["membership"] = None
    row = measured(result)
    assert (row.membership_tpr, row.membership_auc) == (None, None)
    assert choose_setting([row], 1.0, risk="membership").row is None


@pytest.fixture
def two_rows(row):
    """One is safer by users found, the other by everything else, which is far less proven."""
    names = ("class_risk", "membership_tpr", "links_inferred")

    def risks(value):
        rates = dict.fromkeys(names, value) | {f"{name}_high": value + 0.02 for name in names}
        return (
            rates
            | {f"{name}_low": value - 0.02 for name in names}
            | {f"{name}_by": "insider" for name in names}
        )

    quiet = row._replace(method="simple", risk=0.15, risk_high=0.19, **risks(0.1))
    return [row._replace(**risks(0.6), ndcg_retained=0.8, gain_retained=0.8), quiet]


@pytest.mark.parametrize("name", ["class", "membership", "links"])
def test_a_risk_decides_the_answer_the_frontier_and_the_words(name, two_rows):
    assert choose_setting(two_rows, 0.13).row.method == "padded"
    choice = choose_setting(two_rows, 0.13, risk=name)
    assert (choice.row.method, choice.risk) == ("simple", name)
    answer = f"With at most 13% of {AXES[name].label}, “simple, k = 5”"
    assert describe_answer(choice).startswith(answer)
    assert "“insider” (8–12" in describe_advice(choice)
    assert describe_advice(choice).endswith("; nothing is proven.")
    result = " ".join(caveats_of(choice))
    assert "no guarantee of a release bounds this risk" in result
    assert "Re-identification: 15% of users re-identified by “paper”" in result
    assert [row.method for row in frontier(two_rows, risk=name)] == ["simple", "padded"]
    assert [row.method for row in frontier(two_rows)] == ["padded"]
    # 1 / k is proven of users found, and of nothing else.
    assert choose_setting(two_rows[:1], 0.3).row is not None
    assert choose_setting(two_rows[:1], 0.3, risk=name).row is None


def test_an_unknown_risk_is_refused_before_any_work(tmp_path, invented):
    with raises("option.value") as caught:
        compare(invented, tmp_path / "out", risk="fun")
    assert "'fun'" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_another_risk_is_one_entry(two_rows):
    copied = AXES["reidentification"]._replace(name="another", value="class_risk", bound=None)
    register_axis(copied)
    try:
        assert choose_setting(two_rows, 0.7, risk="another").row is not None
        assert choose_setting(two_rows, 0.05, risk="another").row is None
    finally:
        del AXES["another"]
    with raises("argument.value") as caught:
        register_axis(copied._replace(value="nothing"))
    assert "'nothing'" in str(caught.value)
    with raises("option.value"):
        axis_named("another")


def test_the_usual_risk_is_a_rung_of_the_ladder():
    assert all(axis.usual in axis.ladder for axis in AXES.values())


class TestShadows:
    """Membership by shadow releases: what all methods share."""

    ASKED: ClassVar = {"methods": ["simple", "raw"], "k": [5]}

    def test_a_setting_without_halves_has_none(self, evaluator, tmp_path, invented):
        k = invented.n_users // 2 + 3
        found = compare(invented, tmp_path / "out", methods=["simple"], k=[k], shadows=8)
        assert found.rows[0].problem is None
        assert found.rows[0].shadow_tpr is None
        again = compare(invented, tmp_path / "out", methods=["simple"], k=[k], shadows=8)
        assert again.computed == 0

    def test_it_is_refused_without_a_number(self, tmp_path, invented):
        with raises("option.required"):
            compare(invented, tmp_path / "out", risk="shadows")
        with raises("option.value") as caught:
            compare(invented, tmp_path / "out", shadows=7)
        assert "is 7" in str(caught.value)


class TestAttributes:
    def test_the_attribute_that_gains_most_counts(self):
        def adds(mean, control):
            return {
                "adds": {"mean": mean, "low": mean - 0.01, "high": mean + 0.02, "targets": 90},
                "control": {"mean": control, "low": -0.1, "high": 0.1, "targets": 90},
            }

        found = {"age": adds(0.02, 0.01), "gender": adds(0.06, -0.01)}
        cell = Cell("key", Setting("sparse", 5), evaluation=None, attributes=found)
        row = to_row(cell)
        axis = axis_named("attribute")
        assert axis.of(row) == 0.06
        assert (axis.highest(row), row.attribute_added_by) == (pytest.approx(0.08), "gender")
        assert row.attribute_added_baseline == -0.01
        # It is no share of an AUC, which has no percent.
        text = describe_risk(row, axis)
        assert text.startswith("0.060 AUC added to attribute inference by “gender” (0.050–0.080)")

    def test_without_declared_attributes_it_is_refused(self, tmp_path):
        with raises("option.required"):
            compare("ratings.csv", tmp_path / "out", risk="attribute")
        with raises("option.required"):
            compare("ratings.csv", tmp_path / "out", users="users.csv")

    def test_other_attributes_are_measured_anew(self, tmp_path):
        ratings = make_ratings(n_users=120, n_items=40, n_ratings=2_400, seed=1)
        users = tmp_path / "users.csv"
        shared = {"methods": ["raw"], "targets": 20, "users": users, "attribute": "plan"}

        def write(letters):
            lines = [f"{user},{letters[place % 2]}" for place, user in enumerate(ratings.users)]
            users.write_text("\n".join(["user_id,plan", *lines]) + "\n")

        write("ab")
        first = compare(ratings, tmp_path / "out", **shared)
        again = compare(ratings, tmp_path / "out", **shared, risk="attribute", max_risk=0.5)
        assert (first.computed, again.computed) == (1, 0)
        row = again.rows[0]
        assert row.attribute_added_low <= row.attribute_added <= row.attribute_added_high
        assert row.lists_gap_added is not None
        names = [each["name"] for each in again.divisions["raw"]]
        assert names == ["user count", "taste", "item count", "plan"]
        assert "Who loses utility" in again.to_html()
        write("ba")
        assert compare(ratings, tmp_path / "out", **shared).computed == 1
