"""The page stands alone, answers first, hides nothing, and trusts no label."""

import html
import json
import re

from error_assertions import raises
from recveil.report.comparison_page import compare_page, write_compare_page
from shared.report_comparison_page import page, plain, result, rows, text_of  # noqa: F401 (fixtures)


def test_the_page_needs_nothing_else(page):
    without_names = page.replace("http://www.w3.org/", "")
    for reference in ("http:", "https:", "//cdn", "@import", "url(", "<script", "<link", "src="):
        assert reference not in without_names
    assert "default-src 'none'" in page
    assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)"', page))
    assert len(page) < 1_500_000


def test_lists_and_ratings_stand_side_by_side_in_the_headline(page, invented):
    """Padded at 5: ratings 0.85, lists 0.95."""
    (headline,) = re.findall(r"<h1>(.*?)</h1>", page)
    assert html.unescape(headline) == (
        "Publish “padded, k = 5”: lists are 95% as good as the best on the raw data, ratings 85% "
        "of the raw gain; the price is that “insider” finds 12% of the people (9.7% to 15%; "
        "proven: at most 20%)."
    )
    assert "lists 95% of raw, ratings 85% of the raw gain" in text_of(page)
    asked = compare_page(plain(invented, max_risk=0.15, worth="ratings"))
    assert (
        "keeps most for ratings: ratings 85% of the raw gain, lists 95% of raw.</strong>" in asked
    )
    assert "( --for ratings )" in text_of(asked)


def test_a_gain_that_is_too_small_to_tell_is_not_drawn(result):
    small = json.loads(json.dumps(result))
    for row in small["rows"]:
        row["kept"]["ratings"] = None
    small["reference"]["raw_gain"]["is_told"] = False
    text = text_of(compare_page(small))
    assert "what the raw table itself gives for ratings is too small" in text
    assert "0.0400 to 0.0800: too small to tell a share of it" in text
    assert "cannot be told" in text


def test_without_a_question_a_usual_one_is_answered(invented):
    page = compare_page(plain(invented))
    assert "<h1>Publish “" in page
    assert "<strong>With at most 10% of the people found" in page
    assert "Nobody asked for a limit" in page


def test_without_an_answer_it_says_so(invented):
    page = compare_page(plain(invented, max_risk=0.001))
    assert (
        "<h1>With at most 0.1% of the people found, no setting that was tried will do.</h1>" in page
    )
    assert "The safest was “padded, k = 50”" in page


def test_the_ladder_tells_what_it_is_filtered_by(invented, page):
    assert "people on each row are looked at" not in text_of(page)
    told = text_of(compare_page(plain(invented, min_k=50)))
    assert "Only settings with at least 50 people on each row are looked at ( --min-k )." in told


def test_settings_that_are_not_told_apart_are_named(invented):
    """Of those at 50 %, padded at 2 keeps 0.88 (from 0.84), padded at 5 0.85 (up to 0.90).

    Lists would keep more, and have no interval; so ratings are asked for.
    """
    result = plain(invented, worth="ratings")
    assert "padded, k = 5" in result["ladder"][0]["not_told_apart"]
    told = text_of(compare_page(result))
    assert f"not told apart: {'; '.join(result['ladder'][0]['not_told_apart'])}" in told


def test_labels_are_not_trusted(result):
    evil = "<img src=x onerror=alert(1)>\"'&"
    poisoned = json.loads(json.dumps(result))
    poisoned["data"]["source"] = evil
    poisoned["answer"] |= {"sentence": evil, "caveats": [evil]}
    for row in poisoned["rows"]:
        row["adversary"] = evil
        row["problem"] = row["problem"] and evil
    for method in poisoned["methods"].values():
        method |= {"description": evil, "meaning": evil}
    assert "<img" not in compare_page(poisoned)


def test_writing_replaces_the_old_page(tmp_path, result):
    target = tmp_path / "index.html"
    target.write_text("old")
    write_compare_page(result, target)
    assert "keeps most" in target.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [target]
    with raises("output.not-writable"):
        write_compare_page(result, tmp_path / "nowhere" / "index.html")
