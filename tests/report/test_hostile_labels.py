"""Pages of data whose every label is hostile: nothing runs, and nothing is loaded."""

import pytest
from markupsafe import Markup

from recveil.report.audit.page import page_environment
from recveil.report.terminal import escape
from shared.report_hostile_labels import EVIL, Page


def test_the_search_finds_what_it_looks_for():
    assert Page("<img src=x>").problems == ["img", "img src=x"]
    assert Page("<a href='http://x'>").problems == ["a href=http://x"]
    assert Page("<svg onload=x><a href='#there'>").problems == ["svg onload=x"]
    assert Page(f"<p>{EVIL}").problems != []


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\u200b", "\ufeff", "\x1b"])
def test_what_turns_or_hides_text_is_escaped(hidden):
    """On pages and terminals alike; markup of charts is not a name."""
    shown = repr(hidden)[1:-1]
    page = page_environment().from_string("{{ name }} {{ chart }}")
    text = page.render(name=f"a{hidden}<b>\nc", chart=Markup("<svg>"))
    assert text == f"a{shown}&lt;b&gt;\nc <svg>"
    assert escape(f"[b]a{hidden}\nb") == f"\\[b]a{shown}\nb"
