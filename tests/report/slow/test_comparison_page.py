"""The page stands alone, answers first, hides nothing, and trusts no label."""

import dataclasses
import html
import re

from error_assertions import raises
from shared.report_comparison_page import compared, comparison, page, result, rows, text_of  # noqa: F401 (fixtures)


def test_the_page_needs_nothing_else(page):
    without_names = page.replace("http://www.w3.org/", "")
    for reference in ("http:", "https:", "//cdn", "@import", "url(", "<script", "<link", "src="):
        assert reference not in without_names
    assert "default-src 'none'" in page
    assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)"', page))
    assert len(page) < 1_500_000


def test_lists_and_ratings_are_both_in_the_headline(page, invented):
    """Padded at 5: ratings 0.85, lists 0.95."""
    (headline,) = re.findall(r"<h1>(.*?)</h1>", page)
    assert "lists 95%, ratings 85% retained" in html.unescape(headline)
    text = text_of(page)
    assert "Publish “padded, k = 5”: lists retain 95% of the best nDCG" in text
    assert "ratings retain 85% of the raw gain. Risk: 12.1% of users re-identified" in text
    assert "(9.7–14.5, 300 targets); proven: at most 20%." in text
    assert "lists retain 95% of the raw nDCG, ratings retain 85% of the raw gain" in text_of(page)
    ratings = compared(invented, max_risk=0.15, utility="ratings").to_html()
    assert (
        "ratings retain 85% of the raw gain, lists retain 95% of the raw nDCG.</strong>" in ratings
    )
    assert "( --utility ratings )" in text_of(ratings)


def test_a_gain_that_is_too_small_is_not_drawn(comparison):
    rows = [row._replace(is_gain_reliable=False) for row in comparison.rows]
    reference = dict(comparison.reference)
    reference["raw_gain"] = reference["raw_gain"] | {"is_reliable": False}
    text = text_of(dataclasses.replace(comparison, rows=rows, reference=reference).to_html())
    assert "Nothing to draw: the gain of the raw table for ratings is too small" in text
    assert "0.0400–0.0800: too small for a share of it" in text
    assert "not reported" in text


def test_without_a_question_a_usual_one_is_answered(invented):
    page = compared(invented).to_html()
    assert "<h1>Publish “" in page
    assert "<strong>With at most 10% of users re-identified" in page
    assert "The limit is the default, at most" in page


def test_without_an_answer_it_says_so(invented):
    page = compared(invented, max_risk=0.001).to_html()
    assert "<h1>With at most 0.1% of users re-identified, no compared setting" in page
    assert "The safest is “padded, k = 50”" in page


def test_the_ladder_states_its_filter(invented, page):
    assert "users per row are considered" not in text_of(page)
    text = text_of(compared(invented, min_k=50).to_html())
    assert "Only settings with at least 50 users per row are considered ( --min-k )." in text


def test_settings_that_are_not_distinguished_are_named(invented):
    """Of those at 50 %, padded at 2 retains 0.88 (from 0.84), padded at 5 0.85 (up to 0.90).

    Lists would retain more, and have no interval; so ratings are chosen.
    """
    comparison = compared(invented, utility="ratings")
    titles = comparison.to_dict()["ladder"][0]["indistinguishable"]
    assert "padded, k = 5" in titles
    assert f"not distinguished: {'; '.join(titles)}" in text_of(comparison.to_html())


def test_settings_that_retain_more_less_clearly_are_named(comparison):
    lists = {"ndcg": 0.19, "popularity_ndcg": 0.17, "lists_gain_retained": 0.4}
    lists |= {"is_gain_reliable": False, "is_ndcg_reliable": True}
    one = next(row for row in comparison.rows if row.title == "padded, k = 5")
    clear = one._replace(**lists, lists_gain_retained_low=0.01, ndcg_retained=0.6)
    more = clear._replace(method="sparse", lists_gain_retained_low=-0.1, ndcg_retained=0.7)
    text = text_of(dataclasses.replace(comparison, rows=[clear, more]).to_html())
    assert "retains more, but does not clearly beat a baseline: sparse, k = 5" in text


def test_a_far_higher_auc_is_marked_before_the_utility(comparison):
    rows = [row for row in comparison.rows if row.problem is None and row.promise != "nothing"][:2]
    unknown = {"membership_auc_low": None, "membership_auc_high": None}
    aucs = zip(rows, (0.61, 0.92), strict=True)
    rows = [row._replace(membership_auc=auc, **unknown) for row, auc in aucs]
    page = dataclasses.replace(comparison, rows=rows).to_html()
    table = page.partition('<table class="all">')[2].partition("</table>")[0]
    assert table.index("membership (AUC)") < table.index("lists retained")
    assert '<td class="number">0.61<' in table
    assert '<td class="number bad">0.92 !<' in table
    assert f"more than 0.1 above another setting&#39;s (“{rows[1].title}”)" in page


def test_labels_are_not_trusted(comparison):
    evil = "<img src=x onerror=alert(1)>\"'&"
    rows = [
        row._replace(risk_by=evil, ranker=evil, problem=row.problem and evil)
        for row in comparison.rows
    ]
    reading = dataclasses.replace(comparison.reading, name=evil, notes=(evil,))
    poisoned = dataclasses.replace(comparison, rows=rows, reading=reading).to_html()
    assert "onerror" in poisoned
    assert "<img" not in poisoned


def test_writing_replaces_the_old_page(tmp_path, comparison):
    target = tmp_path / "index.html"
    target.write_text("old")
    comparison.to_html(target)
    assert "retains most" in target.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [target]
    with raises("output.not-writable"):
        comparison.to_html(tmp_path / "nowhere" / "index.html")
