"""Each risk chooses by its own strongest adversary, and has a text; another one is an entry."""

import html
import re
from typing import ClassVar

import pytest

from recveil.comparison import (
    AXES,
    compare,
)
from recveil.report.comparison.marks import AXIS_NOTES

pytestmark = pytest.mark.usefixtures("rough_fit", "few_recommenders")


@pytest.mark.parametrize("name", list(AXES))
def test_every_risk_is_answered_and_drawn(name, evaluator, tmp_path, invented):
    shadows = 8 if name == "shadows" else None
    asked = {"methods": ["simple", "raw"], "k": [5]}
    if name == "attribute":
        asked |= {"users": tmp_path / "users.csv", "attribute": "plan"}
        lines = [f"{user},{'ab'[place % 2]}\n" for place, user in enumerate(invented.users)]
        asked["users"].write_text("user_id,plan\n" + "".join(lines))
    found = compare(invented, tmp_path / "out", **asked, risk=name, shadows=shadows)
    again = compare(invented, tmp_path / "out", **asked, risk="reidentification")
    assert (found.computed, again.computed) == (2, 0)
    plain = found.to_dict()
    assert plain["settings"]["risk"] == name
    assert [choice["max_risk"] for choice in plain["ladder"]] == list(AXES[name].ladder)
    page = found.to_html()
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    assert f"share of {AXES[name].label} (log scale)" in page.replace("&#39;", "'")
    assert name == "reidentification" or AXIS_NOTES[name] in text


class TestShadows:
    """Membership by shadow releases: what all methods share."""

    ASKED: ClassVar = {"methods": ["simple", "raw"], "k": [5]}

    def test_it_is_the_risk_where_it_was_measured(self, evaluator, tmp_path, invented):
        out = tmp_path / "out"
        plain = compare(invented, out, **self.ASKED)
        assert (plain.risk, plain.computed) == ("reidentification", 2)
        assert all(row.shadow_tpr is None for row in plain.rows)
        found = compare(invented, out, **self.ASKED, shadows=8)
        # What was judged is kept, and the shadows are added to it.
        assert (found.risk, found.computed) == ("shadows", 2)
        raw = found.rows[1]
        assert raw.shadow_tpr_low > 0.5
        assert raw.shadow_tpr_baseline == 0.05
        assert raw.shadow_auc > raw.shadow_auc_baseline > 0.5
        assert compare(invented, out, **self.ASKED, shadows=8).computed == 0
        later = compare(invented, out, **self.ASKED)
        assert (later.risk, later.computed) == ("shadows", 0)

    def test_the_page_shows_it(self, evaluator, tmp_path, invented):
        found = compare(invented, tmp_path / "out", **self.ASKED, shadows=8)
        assert "Membership inference with shadow releases (AUC)" in html.unescape(found.to_html())
