"""The page stands alone, answers first, hides nothing, and trusts no label."""

import html
import json
import re

import pytest

from error_assertions import raises
from recveil.comparison import Row
from recveil.comparison.results import Comparison
from recveil.io import Reading
from recveil.release.registry import all_variants
from recveil.report.comparison_page import compare_page, write_compare_page

VARIANTS = all_variants()


def rows():
    """Three methods of k, two baselines, a failure, and one that the attacks cannot undo."""
    made = []
    for place, name in enumerate(("padded", "simple", "k-corating-item-mean")):
        promise = VARIANTS[name][1].about_claim.promise
        for k in (2, 5, 50):
            risk = (0.9 if promise == "co-rated" else (0.6 + place / 10) / k) + 0.0012
            made.append(finished(name, k, promise, risk, 0.9 - k / 100 + place / 50))
    made.append(finished("raw", None, "nothing", 0.987, 1.0))
    made.append(finished("random-values", None, "nothing", 0.4, -7.35))
    made.append(finished("rotation", None, "nothing", None, 0.2))
    made.append(Row("simple", 999, "k-anonymity", "300 users <cannot> form a group of k = 999"))
    return made


def finished(method, k, promise, risk, gain):
    row = Row(method, k, promise, None, looked_for=300, attacked=300, most_attacked=300)
    row = row._replace(gain_kept=gain, gain_low=gain - 0.04, gain_high=gain + 0.05)
    row = row._replace(is_gain_told=True, is_ndcg_told=True, ndcg_kept=gain + 0.1)
    row = row._replace(best_rmse=0.95 - 0.06 * gain, best_ndcg=0.11, best_gain_kept=gain + 0.1)
    row = row._replace(target_rmse_present=1.17, target_rmse=2.74, target_absent=0.54)
    row = row._replace(rmse=0.96 - 0.06 * gain, ndcg=0.1, recall=0.05, seconds=1.5)
    row = row._replace(order_kept=0.8, popularity_correlation=0.7, item_mean_rmse=0.1, mae=0.7)
    if promise == "k-anonymity":
        row = row._replace(bound=1 / k, verified_k=k)
    if risk is None:
        return row
    return row._replace(
        **{"adversary": "insider", "attack": "nearest", "group_found": risk, "membership": 0.6},
        **{"risk": risk, "risk_low": 0.8 * risk, "risk_high": min(1.0, 1.2 * risk)},
    )


def plain(invented, **question):
    raw = {"rmse": 0.9, "ndcg@10": 0.12, "ranker": "popularity"}
    gain = {"value": 0.06, "low": 0.04, "high": 0.08, "is_told": True}
    reference = {"raw": raw, "averages": {"rmse": 0.96}, "raw_gain": gain, "raw_lists": gain}
    shared = {"split": 0.2, "seed": 3, "targets": 1000, "computed": 0, "reference": reference}
    found = Comparison(reading=Reading(invented, "u.data"), rows=rows(), **shared, **question)
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


@pytest.fixture(scope="module")
def result(invented):
    return plain(invented, max_risk=0.15)


@pytest.fixture(scope="module")
def page(result):
    return compare_page(result)


def text_of(page):
    body = page[page.index("<body>") :]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


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
