from error_assertions import raises
from recveil.comparison.choice import AXES
from recveil.comparison.rows import Row
from recveil.report.comparison.text import caveats_of
from recveil.workbench.frontier import Question, answer, rows_of, tabulate

FOUND = {"targets": 900, "targets_attacked": 900, "most_targets_attacked": 900, "rmse": 0.95}
FOUND |= {"risk_by": "insider", "risk": 0.1, "risk_low": 0.08, "risk_high": 0.12}
KEPT = {
    "is_gain_reliable": True,
    "gain_retained": 0.7,
    "is_ndcg_reliable": True,
    "ndcg_retained": 0.6,
}
SPARSE = Row("sparse", 5, "k-anonymity", None, bound=0.2, **FOUND, **KEPT)
PADDED = SPARSE._replace(method="padded", ndcg_retained=0.4)
RISKY = SPARSE._replace(
    method="simple", k=2, bound=0.5, risk=0.4, risk_high=0.45, ndcg_retained=0.9
)
DRAWN = Row("synthetic-10", None, "differential privacy", None, rmse=0.96, **KEPT)
RAW = SPARSE._replace(method="raw", k=None, promise="nothing", bound=None, risk=0.99, risk_high=1)
FAILED = Row("padded", 99, "k-anonymity", "60 users cannot form a group of k = 99")
ROWS = [RAW, SPARSE, PADDED, RISKY, DRAWN, FAILED]


def why(title, **question):
    found = answer(ROWS, Question(setting=title, **question))
    assert 1 <= len(found.why) <= 2
    return " ".join(found.why)


def test_the_answer_is_what_keeps_most_within_the_limits():
    found = answer(ROWS, Question(limit=20))
    assert found.row == SPARSE
    assert found.is_publishable
    assert found.why[0].startswith("Publish “sparse, k = 5”")
    assert "next is “padded, k = 5”" in found.why[1]
    assert found.caveats == caveats_of(found.choice)


def test_a_setting_that_retains_more_less_clearly_is_named():
    lists = {"ndcg": 0.19, "popularity_ndcg": 0.17, "lists_gain_retained": 0.4}
    clear, more = (row._replace(**lists, lists_gain_retained_low=0.01) for row in (PADDED, SPARSE))
    found = answer([clear, more._replace(lists_gain_retained_low=-0.1)], Question(limit=100))
    assert (found.row, found.choice.unclear[0].title) == (clear, more.title)
    assert "of those that clearly beat a baseline; “sparse, k = 5” retains more" in found.why[1]


def test_with_other_limits_it_is_another_one():
    assert answer(ROWS, Question(limit=100)).row == RISKY
    assert answer(ROWS, Question(limit=100, min_k=5)).row == SPARSE


def test_where_nothing_will_do_it_says_so():
    found = answer(ROWS, Question(limit=1))
    assert found.row is None
    assert not found.is_publishable
    assert "no compared setting qualifies" in found.why[0]
    assert "The safest is" in found.why[1]


def test_no_setting_is_recommended_while_some_are_unfinished():
    found = answer(ROWS, Question(limit=20), 2)
    assert (found.row, found.choice.reason) == (None, "unfinished")
    assert not found.is_publishable
    assert not any(row.title in found.headline for row in ROWS)
    shown = answer(ROWS, Question(limit=20, setting=SPARSE.title), 2)
    assert shown.row == SPARSE  # what is asked for is shown all the same
    assert SPARSE.title in shown.headline


def test_every_setting_has_a_headline_of_one_line():
    for row in ROWS:
        headline = answer(ROWS, Question(limit=20, setting=row.title)).headline
        assert row.title in headline
        assert len(headline) <= 100


def test_nothing_is_answered_before_anything_is_finished():
    found = answer([], Question(limit=10))
    assert found.row is None
    assert found.best == []


def test_another_setting_is_stated_next_to_the_answer():
    assert "retains more utility: lists retain 60% of the raw nDCG" in why(
        "padded, k = 5", limit=20
    )


def test_what_breaks_the_limits_is_stated_with_the_end_of_its_interval():
    result = why("simple, k = 2", limit=20)
    assert "It exceeds your limits" in result
    assert "45%" in result
    assert "its k is 2, and you require at least 5" in why("simple, k = 2", min_k=5)


def test_a_baseline_is_never_to_be_published():
    assert "makes no claim" in why("raw")
    assert not answer(ROWS, Question(setting="raw")).is_publishable


def test_a_risk_that_is_not_reported_is_no_low_one():
    result = why("synthetic-10", limit=20)
    assert "this risk does not apply, which is not a low risk" in result
    assert "It cannot be the answer" in result


def test_a_setting_without_a_result_says_why():
    assert why("padded, k = 99") == (
        "“padded, k = 99” has no result: 60 users cannot form a group of k = 99."
    )
    assert not answer(ROWS, Question(setting="padded, k = 99")).is_publishable


def test_a_setting_without_targets_is_not_safe():
    """Adversaries who know all ratings attack all of their targets, and the others few."""
    rare = SPARSE._replace(most_targets_attacked=30, bound=None, risk_by="all ratings")
    result = answer([rare], Question(limit=20, setting=rare.title)).why[1]
    assert "adversaries who know some ratings could attack only 30 of 900 targets" in result
    (line,) = tabulate([rare], Question(limit=20))
    assert "not shown: adversaries who know only some ratings" in line.within


def test_a_low_risk_of_too_few_targets_is_not_shown_to_be_within_the_limits():
    """Of 100 of 900 targets, 2% are re-identified; 1/k = 20% is proven, and 10% accepted."""
    few = {"most_targets_attacked": 100, "risk": 0.02, "risk_low": 0.01, "risk_high": 0.03}
    row = SPARSE._replace(**few)
    found = answer([row], Question(limit=10, setting=row.title))
    assert found.headline == "“sparse, k = 5” is not shown to be within your limits."
    assert "the bound is 20%; you accept 10%" in found.rest
    assert not any("20%; you" in each for each in found.reasons)  # stated once
    assert tabulate([row], Question(limit=10))[0].within.startswith("not shown")
    high = row._replace(risk_high=0.13)
    found = answer([high], Question(limit=10, setting=high.title))
    assert "exceeds your limits" in found.headline
    assert found.rest == "The upper end of its risk is 13%, and you accept 10%."


def test_a_high_membership_auc_of_the_answer_is_stated_below_its_headline():
    known = {"membership_auc": 0.84, "membership_auc_low": 0.8, "membership_auc_high": 0.87}
    row = SPARSE._replace(**known)
    assert "membership: AUC 0.84 (a random guess: 0.50)" in answer([row], Question(limit=20)).rest
    row = SPARSE._replace(**known | {"membership_auc": 0.55, "membership_auc_low": 0.48})
    assert "membership" not in answer([row], Question(limit=20)).rest


def test_a_bound_is_of_the_chosen_risk_alone():
    """1/k = 20% bounds the re-identification rate, and no other risk."""
    measured = {"membership_tpr": 1.0, "membership_tpr_low": 0.977, "membership_tpr_high": 1.0}
    links = {"links_inferred": 0.478, "links_inferred_low": 0.4, "links_inferred_high": 0.5}
    shadows = {"shadow_tpr": 0.9, "shadow_tpr_low": 0.8, "shadow_tpr_high": 1.0}
    classes = {"class_risk": 0.9, "class_risk_low": 0.8, "class_risk_high": 1.0}
    added = {"attribute_added": 0.05, "attribute_added_low": 0.0, "attribute_added_high": 0.1}
    row = SPARSE._replace(**measured, **links, **shadows, **classes, **added)
    for risk in AXES:
        (line,) = tabulate([row], Question(risk=risk))
        is_bounded = risk == "reidentification"
        assert line.proven == ("at most 20%" if is_bounded else "–"), risk
        assert line.reidentified == ("" if is_bounded else "10% (8–12), proven: at most 20%"), risk
    assert line.risk == "0.050"


def test_disclosures_are_next_to_each_risk_where_any_setting_has_them():
    known = {"membership_auc": 0.84, "membership_auc_low": 0.8, "membership_auc_high": 0.87}
    lines = tabulate([SPARSE._replace(**known), PADDED._replace(published_share=0.609)], Question())
    assert [line.membership for line in lines] == ["0.84", "–"]
    assert [line.membership_ends for line in lines] == ["0.80–0.87", ""]
    assert [line.published for line in lines] == ["–", "60.9%"]
    assert [line.publishes_most for line in lines] == [False, True]
    lower = PADDED._replace(membership_auc=0.6, membership_auc_low=0.55, membership_auc_high=0.65)
    lines = tabulate([SPARSE._replace(**known), lower], Question())
    assert [line.reveals_members for line in lines] == [True, False]
    (line,) = tabulate([SPARSE], Question())
    assert (line.membership, line.published) == ("", "")


def test_without_a_limit_a_proven_bound_is_enough():
    """Too few targets were attacked, but 1/k = 20% is proven."""
    row = SPARSE._replace(most_targets_attacked=30)
    assert answer([row], Question(limit=100)).row == row
    assert answer([row], Question(limit=20)).row == row
    assert answer([row._replace(bound=None)], Question(limit=100)).row is None


def test_items_that_are_kept_only_if_they_are_public_are_marked():
    rows = [SPARSE._replace(items_kept=0.3), DRAWN._replace(items_kept=1.0), DRAWN]
    assert [line.has_public_items for line in tabulate(rows, Question())] == [False, True, False]


def test_a_public_list_of_items_is_named_before_a_release_is_made():
    for row in (DRAWN, SPARSE):
        rest = answer(ROWS, Question(limit=20, setting=row.title)).rest
        assert ("mark “The list of items is public”" in rest) == (row == DRAWN)


def test_settings_that_are_not_distinguished_are_named():
    near = {"ndcg_retained_low": 0.3, "ndcg_retained_high": 0.8}
    found = answer(
        [SPARSE._replace(**near), PADDED._replace(**near)], Question(limit=20, utility="lists")
    )
    assert found.why[1].startswith("This split does not distinguish it from “padded, k = 5”")


def test_what_is_not_finished_cannot_be_looked_at():
    with raises("workbench.not-found"):
        answer(ROWS, Question(setting="padded, k = 1000"))


def test_rows_come_back_from_plain_data():
    plain = [row._asdict() | {"title": row.title, "utility_retained": {}} for row in ROWS]
    assert rows_of(plain) == ROWS


def test_a_figure_is_not_rounded_to_the_limit_that_it_is_compared_with():
    """The risk of at most 10.032% exceeds a limit of 10%; 49.98% of the items is below half."""
    high = SPARSE._replace(risk_high=0.10032, items_kept=0.4998, ratings_kept=0.5)
    (line,) = tabulate([high], Question(limit=10))
    assert (line.ends, line.within) == ("8–10.03", "no")
    assert (line.items_kept, line.ratings_kept, line.keeps_little) == ("49.98%", "50%", True)
    assert tabulate([high], Question(limit=11))[0].ends == "8–10"
    assert tabulate([high._replace(risk_high=0.09968)], Question(limit=10))[0].ends == "8–9.97"
    assert tabulate([high._replace(risk_high=0.1)], Question(limit=10))[0].within == "yes"
    found = answer([high], Question(limit=10, setting=high.title))
    assert found.rest == "The upper end of its risk is 10.03%, and you accept 10%."
    safest = answer([high], Question(limit=10)).why[1]
    assert "(8–10.03, 900 targets)" in safest
