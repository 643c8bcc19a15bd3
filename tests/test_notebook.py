"""What a notebook shows of results: tables and charts, of shares and verdicts alone."""

import json
import re

import pytest
import vl_convert

from error_assertions import raises
from recveil.attacks import Adversary
from recveil.auditing import audit
from recveil.evaluation.results import Evaluated
from recveil.inspection.results import Inspection
from recveil.runtime.number_format import format_bounds, percent
from recveil.runtime.safe_repr import Grid, html_grid
from recveil.verification.results import Verification
from shared.notebook import (
    Cells,
    results,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("few_recommenders")

SECRETS = ("secret-ann", "secret film", "pseudonym")
# What the tables of results must not let through, in a name that its owner chose.
HOSTILE = '<img src=x onerror="alert(1)">'


class TestTables:
    def test_shares_have_intervals_and_a_baseline(self, results):
        found = results["audit"]
        html = found._repr_html_()
        assert "a random guess gives 0.83%" in html
        (outcome,) = [each for each in found.attacks if each.adversary.name == "colleague"]
        interval = outcome.reidentified
        words = f"{percent(interval.rate)} ({format_bounds(interval.low, interval.high)})"
        assert words in html

    def test_nothing_private_and_nothing_from_elsewhere(self, results):
        for result in results.values():
            html = result._repr_html_()
            assert not [secret for secret in SECRETS if secret in html]
            assert len(html) < 2_000
            assert not re.search(r"<(script|link|img|iframe|style)|http|src=|href=", html)

    def test_the_name_of_an_adversary_is_escaped(self, results):
        mine = Adversary(known=4, name=HOSTILE)
        found = audit(results["audit"].ratings, adversaries=[mine], targets=5, curves=False)
        assert "<img" not in found._repr_html_()
        assert HOSTILE in Cells(found._repr_html_()).texts

    def test_a_rate_without_targets_does_not_reassure(self, results):
        """Of users who rated too little, none is found, which shows nothing."""
        found = audit(results["audit"].ratings, targets=5, curves=False, seed=1)
        idle = [outcome.adversary.name for outcome in found.attacks if not outcome.attacked]
        assert idle
        for name in idle:
            assert f"<th>{name}<td>no user attacked<td>–</tr>" in found._repr_html_()

    def test_a_long_grid_is_counted(self):
        rows = [(str(row), "x") for row in range(20)]
        html = html_grid(Grid("settings", ("a", "b"), rows))
        assert "settings (8 more rows are not shown)" in html
        assert html.count("<tr>") == 13


def drawn(chart):
    """Return the texts of a chart, drawn without a network."""
    content = chart.to_dict()
    assert not [secret for secret in SECRETS if secret in json.dumps(content)]
    content.pop("$schema")
    assert "http" not in json.dumps(content)
    svg = vl_convert.vegalite_to_svg(chart.to_dict(), allowed_base_urls=[])
    return set(re.findall(r">([^<>]+)<", svg))


class TestCharts:
    @pytest.mark.parametrize(
        ("name", "texts"),
        [
            ("adversaries", {"colleague", "re-identified: the best guess is right"}),
            ("release", {"colleague", "user re-identified"}),
            ("risk", {"users"}),
            ("4", {"right entries of known ones", "share of re-identified targets"}),
        ],
    )
    def test_of_an_audit(self, results, name, texts):
        assert texts <= drawn(results["audit"].chart(name))

    def test_the_same_numbers_as_on_the_page(self, results):
        found = results["audit"]
        content = json.dumps(found.chart().to_dict())
        attacked = [outcome for outcome in found.attacks if outcome.attacked]
        assert attacked
        for outcome in attacked:
            assert json.dumps(outcome.among_attacked.rate) in content

    def test_of_a_comparison(self, results):
        assert {"as good as the raw data", "padded"} <= drawn(results["comparison"].chart())

    def test_only_results_with_charts_and_a_page_have_their_methods(self):
        for result in Evaluated, Inspection, Verification:
            assert not {"chart", "to_html"} & {*dir(result)}

    def test_without_a_chart_nothing_is_stated(self, results):
        with raises("argument.value", "'ratings'"):
            results["comparison"].chart("ratings")

    def test_what_is_not_there_is_stated_by_name(self, results):
        with raises("argument.value", "'risks'", "adversaries", "release"):
            results["audit"].chart("risks")
        with raises("argument.value", "'risk'"):
            results["audit of a table"].chart("risk")
        with raises("argument.value", "'speed'", "lists", "ratings"):
            results["comparison"].chart("speed")
