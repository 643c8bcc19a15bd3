"""The tables of what a release reveals, each with its control and its text."""

import json
import re

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.ratings import RatingScale
from recveil.report.audit.page import to_html
from recveil.report.audit.terminal import show_adversaries, show_audit, show_statements
from shared.report_audit_disclosure import padded, ratings  # noqa: F401 (fixtures)


def test_members_stand_next_to_the_lot(padded):
    text, release = padded
    for known, words in (("8", "8 exact ratings"), ("all", "all their ratings")):
        result = release["membership"][known]
        assert f"{words} {result['auc']['rate']:.2f}" in text
        assert f"{result['null_auc']['rate']:.2f}" in text
    assert "0.5 is a random guess" in text


def test_attributes_stand_next_to_outsiders(padded):
    text, release = padded
    result = release["attributes"]
    assert f"{100 * result['excess']['rate']:.1f} points" in text
    assert f"{result['nonmembers']['rate']:.1%}" in text


def test_nominal_labels_are_no_likes(tmp_path, capsys):
    labels = RatingScale.of_labels("up,down,left", ordered=False)
    words = make_ratings(60, 24, 700, seed=2, scale=RatingScale(1, 3, 1)).with_scale(labels)
    anonymize(words, tmp_path / "out", k=4, method="nominal", seed=1)
    found = audit(words, release=tmp_path / "out", shadows=8, targets=40, seed=0)
    show_audit(found)
    show_adversaries(found)
    show_statements(found.published, words)
    printed = capsys.readouterr().out
    page = re.sub("<style.*?</style>", "", to_html(found), flags=re.DOTALL)
    for text in (printed, json.dumps(found.to_dict()), page):
        assert re.search(r"\b[0-9]+ labels\b", text)
        assert not re.findall(r".{60}\b(?:[Ll]ikes?|liked)\b.{20}", text)
