"""Each risk chooses by its own strongest adversary, and can be told of; another one is an entry."""

from typing import ClassVar

import pytest

from error_assertions import raises
from recveil.comparison import (
    AXES,
    Cell,
    axis_named,
    cheapest,
    compare,
    frontier,
    register_axis,
)
from recveil.comparison.cells import Setting
from recveil.comparison.choice import warnings_of
from recveil.comparison.rows import Row, to_row

pytestmark = pytest.mark.usefixtures("rough_fit", "few_recommenders")


def measured(evaluation, method="padded"):
    return to_row(Cell("key", Setting(method, 5), evaluation=evaluation))


def test_each_axis_takes_its_own_strongest(plain_evaluation):
    """The paper finds most people, the bystander most groups, the colleague tells most links."""
    told = plain_evaluation()
    bystander = dict(told["disclosure"]["attacks"][0], name="bystander")
    bystander["class_reidentified"] = {"rate": 0.7, "low": 0.6, "high": 0.8, "trials": 200}
    told["disclosure"]["attacks"][0]["links"] = {"rate": 0.4, "low": 0.3, "high": 0.5, "trials": 9}
    told["disclosure"]["attacks"].append(bystander)
    row = measured(told)
    assert (row.adversary, row.risk) == ("paper", 0.1)
    assert (row.group_risk_by, row.group_risk, row.group_risk_high) == ("bystander", 0.7, 0.8)
    assert (row.links_told_by, row.links_told, row.links_told_low) == ("colleague", 0.4, 0.3)
    assert (row.members_told_by, row.members_told) == ("adversary with all exact ratings", 0.33)


def test_where_rows_hold_all_items_a_fit_tells_the_links(plain_evaluation):
    told = plain_evaluation()
    told["disclosure"]["residual"] = {
        "popularity_recall_at_95": 0.03,
        "popularity_auc": 0.8,
        "intervals": {
            "recall_at_95": {"rate": 0.6, "low": 0.5, "high": 0.7, "trials": 40},
            "auc": {"rate": 0.9, "low": 0.88, "high": 0.92, "trials": 40},
        },
    }
    row = measured(told)
    areas = (row.links_auc, row.links_auc_low, row.links_auc_high, row.links_auc_baseline)
    assert areas == (0.9, 0.88, 0.92, 0.8)
    assert (row.links_told_by, row.links_told, row.links_told_high) == ("fit of all rows", 0.6, 0.7)
    assert row.links_told_baseline == 0.03


def test_marks_below_popularity_do_not_reassure_where_pairs_are_ranked_better(row):
    """The area tells what marks that are nearly all right do not show."""
    axis = AXES["links"]
    reached = {axis.value: 0.1, axis.low: 0.08, axis.high: 0.12, axis.by: "x", axis.baseline: 0.3}
    weak = row._replace(**reached, links_auc=0.8, links_auc_low=0.7, links_auc_baseline=0.75)
    assert axis.nothing_new(weak).endswith("tells nothing new about the release")
    strong = axis.nothing_new(weak._replace(links_auc_low=0.78))
    assert "which is less than popularity alone gives (30.0%); still, of two pairs" in strong
    assert "takes the right one for it in 80% of the cases, popularity alone in 75%" in strong
    assert "nothing new" not in strong
    assert axis.nothing_new(weak._replace(**{axis.baseline: 0.01})) == ""


@pytest.mark.parametrize(
    ("name", "other", "says"),
    [
        ("person", "group", "still, the groups of 93% of the people are found, by always naming"),
        ("group", "person", "still, 93% of the people are found, by a blind guess 33%"),
    ],
)
def test_neither_people_nor_groups_reassure_where_the_other_are_found(row, name, other, says):
    axis, found = AXES[name], AXES[other]
    reached = {axis.value: 0.047, axis.low: 0.01, axis.high: 0.14, axis.by: "x", axis.baseline: 0.1}
    both = row._replace(**reached, **{found.value: 0.1, found.low: 0.05, found.baseline: 0.33})
    assert axis.nothing_new(both).endswith("tells nothing new about the release")
    told = axis.nothing_new(both._replace(**{found.value: 0.93, found.low: 0.84}))
    assert "not clearly more than" in told
    assert says in told
    assert "nothing new" not in told


def test_a_figure_of_fewer_than_twenty_people_is_no_risk(plain_evaluation):
    """Neither low nor high: who is too few to tell is told nothing of."""
    told = plain_evaluation()
    members = told["disclosure"]["membership"]
    members["all"]["is_measured"] = False
    row = measured(told)
    assert (row.members_told_by, row.members_told) == ("adversary with 16 exact ratings", 0.15)
    assert row.membership == 0.62
    for known in (members, members["8"], members["16"]):
        known["is_measured"] = False
    row = measured(told)
    assert (row.members_told, row.membership) == (None, None)
    axis = AXES["membership"]
    assert cheapest([row], 1.0, risk="membership").row is None
    assert warnings_of([row], axis) == [axis.untold]
    assert "it takes 20 people in the data and 20 outside" in axis.untold


def test_shadows_of_fewer_than_forty_people_are_no_risk(plain_evaluation):
    area = {"rate": 0.9, "low": 0.8, "high": 1.0, "trials": 39}
    by_known = dict.fromkeys(("auc", "tpr_at_5", "counts_auc"), area)
    for people, expected in ((39, None), (40, 0.9)):
        shadows = {"n": 8, "all": by_known | {"people": people}}
        cell = Cell("key", Setting("padded", 5), evaluation=plain_evaluation(), shadows=shadows)
        row = to_row(cell)
        assert (row.shadows_told, row.shadows_auc) == (expected, expected)


@pytest.mark.parametrize("axis", AXES.values(), ids=list(AXES))
@pytest.mark.parametrize(
    ("baseline", "words"),
    [(0.66, "less than"), (0.1, "not clearly more than"), (0.01, ""), (None, "")],
)
def test_a_risk_that_is_not_above_its_baseline_is_said_to_tell_nothing(axis, baseline, words):
    """Of each risk: in the advice, in the caveats, and of the safest where nothing will do."""
    reached = {axis.value: 0.1, axis.low: 0.08, axis.high: 0.12, axis.by: "x"}
    judged = {"looked_for": 900, "attacked": 900, "most_attacked": 900, "rmse": 0.95}
    row = Row(
        *("padded", 5, "k-anonymity", None),
        **judged | reached | {axis.baseline: baseline},
        **{"is_gain_told": True, "gain_kept": 0.7, "is_ndcg_told": True, "ndcg_kept": 0.4},
    )
    answer = cheapest([row], max_risk=0.5, risk=axis.name)
    refused = cheapest([row], max_risk=0.02, risk=axis.name)
    for text in (answer.advice, " ".join(answer.caveats), " ".join(refused.caveats)):
        # Of membership, scores of one release are no evidence that nothing is told.
        nothing_new = "tells nothing new about the release"
        nothing_new = "--shadows 32” usually tells" if axis.weak else nothing_new
        assert (nothing_new in text) == bool(words)
        assert not (axis.weak and "nothing new" in text)
        if words:
            assert f"which is {words} {axis.source} ({baseline:.1%})" in text


def test_what_is_not_undone_or_measured_is_no_risk(plain_evaluation):
    row = measured(plain_evaluation(), "rotation")
    assert [axis.of(row) for axis in AXES.values()] == [None] * len(AXES)
    told = plain_evaluation()
    told["disclosure"]["membership"] = None
    row = measured(told)
    assert (row.members_told, row.membership) == (None, None)
    assert cheapest([row], 1.0, risk="membership").row is None


@pytest.fixture
def two_rows(row):
    """One is safer by people found, the other by everything else, which is far less proven."""
    names = ("group_risk", "members_told", "links_told")

    def risks(value):
        rates = dict.fromkeys(names, value) | {f"{name}_high": value + 0.02 for name in names}
        return (
            rates
            | {f"{name}_low": value - 0.02 for name in names}
            | {f"{name}_by": "insider" for name in names}
        )

    quiet = row._replace(method="simple", risk=0.15, risk_high=0.19, **risks(0.1))
    return [row._replace(**risks(0.6), ndcg_kept=0.8, gain_kept=0.8), quiet]


@pytest.mark.parametrize("name", ["group", "membership", "links"])
def test_a_risk_decides_the_answer_the_frontier_and_the_words(name, two_rows):
    assert cheapest(two_rows, 0.13).row.method == "padded"
    choice = cheapest(two_rows, 0.13, risk=name)
    assert (choice.row.method, choice.risk) == ("simple", name)
    assert choice.sentence.startswith(f"With at most 13% {AXES[name].limit}, “simple, k = 5”")
    assert "“insider”" in choice.advice
    assert choice.advice.endswith("(8% to 12%; nothing is proven).")
    told = " ".join(choice.caveats)
    assert "nothing that is proven of a release bounds this risk" in told
    assert "Whom it gives away besides: “paper” found 15% of 900 people" in told
    assert [row.method for row in frontier(two_rows, risk=name)] == ["simple", "padded"]
    assert [row.method for row in frontier(two_rows)] == ["padded"]
    # 1 / k is proven of people found, and of nothing else.
    assert cheapest(two_rows[:1], 0.3).row is not None
    assert cheapest(two_rows[:1], 0.3, risk=name).row is None


def test_an_unknown_risk_is_refused_before_any_work(tmp_path, invented):
    with raises("option.value") as caught:
        compare(invented, tmp_path / "out", risk="fun")
    assert "'fun'" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_another_risk_is_one_entry(two_rows):
    copied = AXES["person"]._replace(
        name="published", value="published_share", high="published_share", bound=None
    )
    register_axis(copied)
    try:
        rows = [row._replace(published_share=0.2) for row in two_rows]
        assert cheapest(rows, 0.25, risk="published").row is not None
        assert cheapest(rows, 0.15, risk="published").row is None
    finally:
        del AXES["published"]
    with raises("argument.value") as caught:
        register_axis(copied._replace(value="nothing"))
    assert "'nothing'" in str(caught.value)
    with raises("option.value"):
        axis_named("published")


def test_the_usual_risk_is_a_rung_of_the_ladder():
    assert all(axis.usual in axis.ladder for axis in AXES.values())


class TestShadows:
    """Membership by shadow releases: what all methods share."""

    ASKED: ClassVar = {"methods": ["simple", "raw"], "ks": [5]}

    def test_a_setting_without_halves_has_none(self, evaluator, tmp_path, invented):
        k = invented.n_users // 2 + 3
        found = compare(invented, tmp_path / "out", methods=["simple"], ks=[k], shadows=8)
        assert found.rows[0].problem is None
        assert found.rows[0].shadows_told is None
        again = compare(invented, tmp_path / "out", methods=["simple"], ks=[k], shadows=8)
        assert again.computed == 0

    def test_it_is_refused_without_a_number(self, tmp_path, invented):
        with raises("option.required"):
            compare(invented, tmp_path / "out", risk="shadows")
        with raises("option.value") as caught:
            compare(invented, tmp_path / "out", shadows=7)
        assert "is 7" in str(caught.value)
