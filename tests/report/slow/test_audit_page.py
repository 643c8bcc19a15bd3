"""The page stands alone, hides nothing that it was given, and trusts no label."""

import html
import re
from dataclasses import replace

import numpy as np

from error_assertions import raises
from recveil.attacks import Adversary
from shared.report_audit_page import ATTACK, _text, audited, page, result  # noqa: F401 (fixtures)


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


def test_without_a_release_the_table_is_the_headline(audited, result):
    page = replace(audited, published=None).to_html()
    (headline,) = re.findall(r"<h1>(.*?)</h1>", page)
    assert html.unescape(headline) == result["risks_before"]["headline"]
    assert "Before:" not in _text(page)
    assert 'id="release"' not in page


def test_labels_are_not_trusted(audited):
    evil = "<img src=x onerror=alert(1)>\"'&"
    reading = replace(audited.reading, name=evil, notes=(evil,))
    adversary = Adversary(name=evil, description=evil)
    figures = [
        replace(
            figure,
            **dict.fromkeys(("title", "x", "y"), evil),
            points=[replace(point, series=evil) for point in figure.points],
        )
        for figure in audited.figures
    ]
    names = np.full(audited.risk.adversary.size, evil, object)
    poisoned = replace(
        audited,
        reading=reading,
        attacks=[replace(outcome, adversary=adversary) for outcome in audited.attacks],
        figures=figures,
        risk=replace(audited.risk, adversary=names),
        published=replace(audited.published, name=evil, attacks=[(adversary, ATTACK)]),
    )
    page = poisoned.to_html()
    assert "onerror" in page
    assert "<img" not in page


def test_writing_replaces_the_old_page(tmp_path, audited):
    target = tmp_path / "audit.html"
    target.write_text("old")
    audited.to_html(target)
    assert "invented.csv" in target.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [target]
    with raises("output.not-writable") as caught:
        audited.to_html(tmp_path / "nowhere" / "audit.html")
    assert "audit.html" in str(caught.value)
