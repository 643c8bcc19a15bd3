"""The page stands alone, hides nothing that it was given, and trusts no label."""

import json
import re

from recveil.report import audit_page
from shared.report_audit_page import _text, page, result  # noqa: F401 (fixtures)


def test_the_page_needs_nothing_else(page):
    without_names = page.replace("http://www.w3.org/", "")
    for reference in (
        "http://",
        "https://",
        "//cdn",
        "@import",
        "url(",
        "<script",
        "<link",
        "src=",
    ):
        assert reference not in without_names
    assert "default-src 'none'" in page
    assert len(page) < 1_500_000


def test_without_a_release_the_table_is_the_headline(result):
    page = audit_page({**result, "release": None})
    (headline,) = re.findall(r"<h1>(.*?)</h1>", page)
    assert headline == result["verdict"][0]
    assert "Before:" not in _text(page)
    assert 'id="release"' not in page


def test_labels_are_not_trusted(result):
    evil = "<img src=x onerror=alert(1)>\"'&"
    poisoned = json.loads(json.dumps(result))
    poisoned["data"]["source"] = evil
    poisoned["risk"]["users_by_adversary"] = {evil: 3}
    poisoned["verdict"] = poisoned["warnings"] = [evil, evil]
    poisoned["release"] |= {"name": evil, "claim": evil}
    for entry in (*poisoned["attacks"], *poisoned["release"]["attacks"]):
        entry |= {"name": evil, "description": evil}
    for figure in poisoned["figures"]:
        figure |= {"title": evil, "x": evil, "y": evil}
        for point in figure["points"]:
            point["series"] = evil
    for check in poisoned["checks"]:
        check |= {"name": evil, "measured": evil}
    assert "<img" not in audit_page(poisoned)
