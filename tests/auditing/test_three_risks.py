"""Each figure of an audit is evidence of singling out, linkability or inference."""

import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from recveil.attacks import Interval, Mean, wilson_interval
from recveil.attacks.linkage import Intersection, JointReidentification
from recveil.attacks.statistics import area_under_curve
from recveil.auditing import RiskFigure, RiskLine, audit
from recveil.auditing.release_attacks import AttackedSynthetic, Linkage
from recveil.auditing.three_risks import BY_ALL, NO_RECORD, NOT_REPEATED, _line, risks_of_release
from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings
from recveil.report.audit.disclosure import limited_to_one
from recveil.report.audit.risks import (
    _PHRASES,
    describe_highest,
    describe_line,
    lines_of,
    reference_of,
)
from recveil.report.audit.terminal import show_audit
from recveil.report.audit.text import headline_of, verdict_of
from shared.report_audit_page import audited  # noqa: F401 (a fixture)

RISKS = ("singling_out", "linkability", "inference")


def figure(name, rate, baseline, *, low=None, **more):
    low = rate - 0.05 if low is None else low
    return RiskFigure(name, Interval(rate, low, rate + 0.05, 100), baseline, **more)


class TestRule:
    @pytest.mark.parametrize(
        ("rate", "baseline", "control", "excess"),
        [
            (0.6, 0.2, None, 0.5),
            (0.75, 0.5, None, 0.5),  # an area: twice what is above 0.5
            (0.6, 0.1, 0.2, 0.5),  # the higher of baseline and control counts
            (0.1, 0.2, None, -0.125),
        ],
    )
    def test_excess_by_hand(self, rate, baseline, control, excess):
        control = None if control is None else wilson_interval(100 * control, 100)
        assert figure("x", rate, baseline, control=control).excess == pytest.approx(excess)

    def test_a_figure_above_its_reference_comes_before_a_larger_uncertain_one(self):
        uncertain = figure("x", 0.6, 0.2, low=0.1)
        certain = figure("y", 0.3, 0.2, low=0.25)
        line = _line("inference", [uncertain, certain], "")
        assert line.strongest == certain
        assert line.figures == (certain, uncertain)

    def test_of_few_trials_the_lower_end_counts(self):
        few = RiskFigure("x", wilson_interval(19, 19), 0.1)  # 83 to 100%
        one = RiskFigure("x", wilson_interval(1, 1), 0.1)  # 21 to 100%
        high, low = figure("y", 0.9, 0.1), figure("y", 0.5, 0.1)
        assert few.is_shown
        assert _line("inference", [low, one, few, high], "").figures == (high, few, low, one)
        assert _line("inference", [few], "").strongest == few

    def test_of_equal_figures_the_first_counts(self):
        first, second = figure("x", 0.3, 0.2), figure("y", 0.3, 0.2)
        assert _line("inference", [first, second], "").strongest == first

    def test_the_interval_of_a_difference_decides(self):
        none = figure("preferences", 0.6, 0.2, difference=Mean(0.4, -0.1, 0.9, 90))
        assert none.rate.low > none.reference
        assert not none.is_shown
        assert describe_line(RiskLine("inference", (none,))).endswith("no evidence of safety.")

    def test_a_rate_of_no_trials_is_no_figure(self):
        line = _line("linkability", [RiskFigure("x", wilson_interval(0, 0), 0.1)], NOT_REPEATED)
        assert line.strongest is None
        assert line.unmeasured == NOT_REPEATED


def printed(result, capsys):
    show_audit(result)
    return " ".join(capsys.readouterr().out.split())


class TestAudit:
    def test_the_release_leads_and_all_three_forms_agree(self, audited, capsys, monkeypatch):
        monkeypatch.setattr(Console, "width", 100_000)
        document, out = audited.to_dict(), printed(audited, capsys)
        assert list(document)[:2] == ["risks", "risks_before"]
        sentences = [document["risks"][risk]["sentence"] for risk in RISKS]
        assert sentences == lines_of(audited.risks)
        places = [out.index(sentence) for sentence in sentences]
        assert places == sorted(places)
        assert places[0] == 0
        found = document["risks"]["singling_out"]
        assert found["rate"]["rate"] == 0.0617
        assert (found["baseline"], found["bound"]) == (pytest.approx(1 / 300), 0.1)
        assert document["risks"]["linkability"]["rate"]["rate"] == 0.1234
        assert document["risks"]["highest"] == "linkability"

    def test_without_a_release_the_table_leads(self, audited, capsys, monkeypatch):
        monkeypatch.setattr(Console, "width", 100_000)
        before = replace(audited, published=None)
        document, out = before.to_dict(), printed(before, capsys)
        assert document["risks"] == audited.to_dict()["risks_before"]
        strongest = max(before.attacks, key=lambda each: each.reidentified.ranked)
        assert document["risks"]["singling_out"]["rate"]["rate"] == strongest.reidentified.rate
        sentence = document["risks"]["singling_out"]["sentence"]
        assert out.startswith(f"{verdict_of(before)[0]} {sentence}")

    def test_every_figure_has_words(self, audited):
        for risks in (audited.risks, audited.risks_before):
            for line in risks.lines:
                assert {each.name for each in line.figures} <= set(_PHRASES)


class TestSecondRelease:
    def test_users_alone_in_both_are_singled_out(self, audited):
        both = JointReidentification(
            *(100, 0, *[wilson_interval(50, 100)] * 3),
            *(wilson_interval(20, 100), wilson_interval(60, 100), wilson_interval(5, 100)),
        )
        shared = Intersection(
            wilson_interval(70, 100), 0.1, wilson_interval(90, 100), Mean(2.0, 1.0, 3.0, 100), 100
        )
        linkage = Linkage("later", 10, shared, [("insider", both)], None)
        risks = risks_of_release(replace(audited.published, linkage=linkage), [], [])
        line = risks.singling_out
        # Two releases share rows with fewer than k: the guarantee of one is not stated.
        assert risks.singling_out.strongest.bound is None
        assert risks.linkability.strongest.name == "fewer than k in both releases"
        assert line.strongest.name == "alone in both releases"
        assert line.strongest.baseline == 0.1
        excess = {each.name: each.excess for each in line.figures}
        assert excess["alone in both releases"] == pytest.approx(0.6 / 0.9)
        # by both, above by one: (0.6 - 0.2) / 0.8
        assert excess["user re-identified by both releases"] == pytest.approx(0.5)
        assert "later" in describe_line(line)
        headline = headline_of(replace(audited.published, linkage=linkage))
        assert limited_to_one(replace(audited.published, linkage=linkage)) in headline
        assert limited_to_one(audited.published) == ""


class TestReference:
    def test_a_measured_control_is_named_even_below_a_random_guess(self):
        control = Interval(0.48, 0.41, 0.54, 90)
        found = RiskFigure("membership", Interval(0.54, 0.5, 0.6, 90), 0.5, control, is_area=True)
        assert reference_of("membership", 0.5, control, digits=2)[0] == "0.48 (0.41–0.54)"
        assert "0.48 (0.41–0.54)" in describe_line(RiskLine("linkability", (found,)))
        # The baseline remains what the figure must exceed.
        assert found.reference == 0.5

    def test_without_a_control_the_baseline_has_its_own_words(self):
        unmeasured = area_under_curve([], [])
        value, words = reference_of("membership", 0.5, unmeasured, digits=2)
        assert value == "0.50"
        assert words != _PHRASES["membership"][1]

    def test_of_a_reference_with_two_meanings_the_higher_counts(self):
        value, words = reference_of(
            "user re-identified by both releases", 0.2, wilson_interval(5, 100)
        )
        assert (value, words) == ("20%", _PHRASES["user re-identified by both releases"][1])


class TestSyntheticUsers:
    def test_no_record_is_no_reassuring_line(self, audited):
        release = audited.published
        synthetic = AttackedSynthetic("drawn", release.manifest, [], None, None)
        risks = risks_of_release(synthetic, [], [])
        assert [line.unmeasured for line in risks.lines] == [NO_RECORD, NOT_REPEATED, NOT_REPEATED]
        assert risks.highest is risks.largest is None
        absences = ("does not apply", "not measured", "not measured")
        for sentence, absence in zip(lines_of(risks), absences, strict=True):
            assert absence in sentence
            assert "no evidence of safety" in sentence

    def test_the_largest_is_named_where_none_is_shown(self, audited):
        uncertain = RiskLine("inference", (figure("preferences", 0.6, 0.5, low=0.4),))
        risks = replace(
            audited.risks,
            singling_out=RiskLine("singling out", (), NO_RECORD),
            linkability=RiskLine("linkability", (figure("membership", 0.5, 0.5),)),
            inference=uncertain,
        )
        assert risks.highest is None
        assert risks.largest is uncertain
        assert describe_highest(risks).endswith("inference")


class TestLabels:
    def test_no_line_speaks_of_ratings_or_likes(self, tmp_path):
        made = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
        words = np.array(["blue", "green", "red"])[made.values.astype(int) % 3]
        rows = zip(made.user_positions(), made.indices, words, strict=True)
        lines = [",".join(map(str, row)) for row in rows]
        table = tmp_path / "labels.csv"
        table.write_text("\n".join(["user_id,item_id,rating", *lines]) + "\n")
        anonymize(table, tmp_path / "out", k=4, method="nominal", words="all")
        found = audit(table, release=tmp_path / "out", targets=20, curves=False, words="all")
        for risks in (found.risks, found.risks_before):
            assert risks.is_nominal
            for sentence in lines_of(risks):
                assert not re.search("rating|rated|like", sentence)
        assert "label" in " ".join(lines_of(found.risks))


class TestLikes:
    def test_no_line_speaks_of_ratings(self):
        made = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
        ones = np.ones_like(made.values)
        likes = Ratings.from_columns(made.user_positions(), made.indices, ones)
        found = audit(likes, targets=20, curves=False).to_dict()["risks"]
        assert found["singling_out"]["rate"]["trials"] == 20
        assert not any("rating" in found[risk]["sentence"] for risk in RISKS)

    @pytest.mark.parametrize("method", ["sparse", "k-corating"])
    def test_figures_of_a_release_are_of_what_they_name(self, method, tmp_path):
        """Who knows all items infers no other, and homogeneity finds no user."""
        made = make_ratings(n_users=80, n_items=40, n_ratings=1600, seed=1)
        ones = np.ones_like(made.values)
        likes = Ratings.from_columns(made.user_positions(), made.indices, ones)
        anonymize(likes, tmp_path / "out", k=5, method=method, seed=1)
        risks = audit(likes, release=tmp_path / "out", targets=40, curves=False).risks
        for figure in risks.singling_out.figures:
            assert "homogeneity" not in (figure.adversary or "")
            assert figure.bound is None or figure.rate.rate <= figure.bound
        inferred = [each for each in risks.inference.figures if each.name == "items in the row"]
        assert len(inferred) > 1
        assert not any(each.adversary == BY_ALL for each in inferred)
        assert any(each.rate.rate > 0 for each in inferred)


@pytest.mark.parametrize(("trials", "is_shown"), [(7, True), (29, True), (30, False), (900, False)])
def test_a_figure_of_few_cases_has_their_number(trials, is_shown):
    figure = RiskFigure("items in the row", Interval(0.0, 0.0, 0.354, trials), 0.1, None, "insider")
    text = describe_line(RiskLine("inference", (figure,)))
    assert (f"n = {trials}" in text) == is_shown
