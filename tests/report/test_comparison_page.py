"""The page stands alone, draws first, hides nothing, and trusts no label."""

import dataclasses
import html
import itertools
import math
import re

import numpy as np
import pytest

from recveil.charts import width_of
from recveil.comparison.rows import Row
from recveil.release.coverage import NOISE
from recveil.report.comparison.charts import draw_frontier, styles_of, utilities_of
from recveil.report.comparison.document import tables
from recveil.report.comparison.terminal import show_comparison
from recveil.report.comparison.text import commands_of
from recveil.runtime.number_format import estimate, percent
from shared.report_comparison_page import VARIANTS, comparison, page, result, rows, text_of  # noqa: F401 (fixtures)

SECTIONS = ("frontier", "answer", "all", "ladder", "measures", "promises", "notes")


def test_the_answer_comes_first(page, result):
    """Padded at 5: 0.6 / 5 + 0.0012 = 0.1212, up to 0.1454. Simple at 5: up to 0.169, too much."""
    assert result["answer"]["row"] == "padded, k = 5"
    (headline,) = re.findall(r"<h1>(.*?)</h1>", page)
    assert html.unescape(headline) == result["answer"]["headline"]
    assert len(result["answer"]["headline"]) <= 100
    assert result["answer"]["sentence"] in text_of(page)
    folded = text_of(page[: page.index("</details>")].replace("<details", "<body><details"))
    for text in (result["answer"]["advice"], *result["answer"]["caveats"]):
        assert text in folded
    assert "For the publisher only." in text_of(page)


def test_without_a_question_the_terminal_begins_with_the_headline_of_the_page(
    comparison, monkeypatch, capsys
):
    monkeypatch.setenv("COLUMNS", "200")
    asked = dataclasses.replace(comparison, max_risk=None, min_k=None)
    show_comparison(asked)
    (headline,) = re.findall(r"<h1>(.*?)</h1>", asked.to_html())
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == html.unescape(headline)
    assert asked.to_dict()["answer"]["headline"] == html.unescape(headline)
    default = "The limit is the default, at most 10% of users re-identified; max_risk (--max-risk)"
    assert default in " ".join(printed.split())
    assert default in text_of(asked.to_html())
    show_comparison(comparison)
    assert "the default" not in capsys.readouterr().out


def test_the_command_makes_the_answer(page, comparison, capsys):
    ((purpose, command),) = commands_of(comparison, comparison.choice())
    options = "--k 5 --method predictive --homogenize padded"
    assert command == f"recveil anonymize RATINGS -o out {options}"
    assert f"{purpose} {command}" in " ".join(text_of(page).split())
    show_comparison(comparison)
    assert f"  {command}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [50, 60, 80, 120])
def test_no_number_or_name_is_cut_on_a_narrow_terminal(comparison, monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    published = [
        row._replace(published_share=0.7 if row.method == "simple" else 0.1, items_kept=0.3)
        for row in comparison.rows
        if row.problem is None
    ]
    narrow = dataclasses.replace(comparison, rows=published)
    show_comparison(narrow)
    lines = capsys.readouterr().out.splitlines()
    table = [line for line in lines if "│" in line or "┃" in line]
    assert max(map(len, table)) <= width
    assert not [line for line in table if "…" in line]
    words = {word for line in table for word in line.replace("│", " ").split()}
    for row in published:
        assert row.method in {word.strip(",") for word in words}
        assert row.risk is None or percent(row.risk) in words
    assert words & {"re-identified", "identified"}
    marked = [line for line in table if "!" in line.split("│")[0]]
    assert len(marked) == 3


def test_what_is_kept_is_in_headline_table_and_warning(comparison, monkeypatch, capsys):
    """Less than half of the items: a warning, in words and by a mark that needs no color."""
    kept = {"items_kept": 0.243, "ratings_kept": 0.747, "short_users": 1_152}
    rows = [row if row.problem else row._replace(**kept) for row in comparison.rows]
    changed = dataclasses.replace(comparison, rows=rows)
    answer, page = changed.to_dict()["answer"], text_of(changed.to_html())
    for text in (answer["headline"], answer["sentence"]):
        assert "items 24.3%, ratings 74.7% kept" in text
    assert len(answer["headline"]) <= 100
    assert "24.3% ! ratings: 74.7% 1,152" in page
    monkeypatch.setenv("COLUMNS", "120")
    show_comparison(changed)
    out = capsys.readouterr().out
    assert out.startswith(answer["headline"])
    assert out.count(answer["headline"].split(":")[1]) == 1
    assert "74.7% !" in out
    assert " 1,152 " in out
    (warning,) = [line for line in out.splitlines() if "keeps 24.3% of the items" in line]
    assert warning.startswith("warning: ")
    # Without a question, the answers for the usual limits come first, and the warning follows.
    show_comparison(dataclasses.replace(changed, max_risk=None))
    assert "warning: “" in capsys.readouterr().out


def test_a_wide_share_below_zero_is_worse_than_averages(comparison, monkeypatch, capsys):
    """The interval of MovieLens 100K with epsilon 1; the next one, wide too, reaches 0."""
    wide = {"is_gain_reliable": True, "gain_retained": -3.5, "gain_retained_low": -4.3}
    row = next(row for row in comparison.rows if row.problem is None)
    below, around = (row._replace(**wide, gain_retained_high=high) for high in (-2.9, 0.1))
    monkeypatch.setenv("COLUMNS", "200")
    for one, shown, other in (
        (below, "worse than averages", "ot reliable"),
        (around, "not reliable", "worse than averages"),
    ):
        changed = dataclasses.replace(comparison, rows=[one])
        show_comparison(changed)
        for text in (capsys.readouterr().out, *map(str, tables(changed)[0].rows)):
            assert shown in text
            assert other not in text.split("RMSE:")[0]
        assert shown in text_of(changed.to_html())


def test_the_chart_comes_first_and_caveats_are_folded_after_the_table(page):
    assert re.findall(r'<section id="([^"]*)">', page) == list(SECTIONS)
    places = [page.index(f'id="{name}"') for name in ("frontier", "answer", "all", "caveats")]
    assert sorted(places) == places
    assert '<details id="caveats" class="expert">' in page


def test_no_setting_is_recommended_below_a_list_of_popular_items(comparison):
    beaten = [row if row.problem else row._replace(popularity_ndcg=0.2) for row in rows()]
    below = dataclasses.replace(comparison, rows=beaten, utility="lists")
    answer, page = below.to_dict()["answer"], below.to_html()
    assert (answer["row"], answer["reason"]) == (None, "below-baseline")
    assert re.search("“.*, k = .*”: nDCG 0.100 against 0.200", answer["headline"])
    instead = f"Publish a list of popular items instead, {NOISE}"
    assert instead in answer["rest"]
    assert instead in text_of(page)
    assert answer["headline"] in text_of(page)
    assert answer["sentence"] in text_of(page)
    assert 'class="chosen' not in page


def test_the_chart_of_lists_has_a_line_for_popular_items():
    """Raw lists have 0.4, so 0.2 is half of them; the chart of ratings has no such line."""
    row = rows()[0]._replace(ndcg=0.1, ndcg_retained=0.25, popularity_ndcg=0.2)
    drawn = [draw_frontier([row], utility, None)[0] for utility in utilities_of([row])]
    specs = [chart.layers.to_dict(validate=False) for chart in drawn]
    edges = [spec["datasets"][spec["layer"][0]["data"]["name"]] for spec in specs]
    heights = [[edge["y"] for edge in each] for each in edges]
    assert heights == [[0.5, 1, 0], [1, 0]]


@pytest.mark.parametrize("n", [7, 14, 36])
def test_texts_in_the_chart_overlap_neither_each_other_nor_points(n):
    """All settings are within a few points of each other."""
    rng = np.random.default_rng(n)
    methods = [name for name in ("sparse", "simple", "padded", "padded-mdav") for _ in range(9)]
    settings = [
        Row(
            *(methods[at], 2 + at % 9, "k-anonymity", None),
            **{"risk": rng.uniform(0.02, 0.1), "is_ndcg_reliable": True},
            **{"ndcg_retained": rng.uniform(0.7, 1), "ndcg": 0.1, "popularity_ndcg": 0.09},
        )
        for at in range(n)
    ]
    lists = utilities_of(settings)[0]
    drawn, _ = draw_frontier(settings, lists, settings[0].title)
    spec = drawn.layers.to_dict(validate=False)
    texts = spec["datasets"][spec["layer"][-3]["data"]["name"]]
    (low, high), (width, height) = spec["layer"][0]["encoding"]["y"]["scale"]["domain"], (370, 330)
    placed = [
        (
            text["text"],
            width * (1 + math.log10(text["x"]) / 3),
            height * (high - text["y"]) / (high - low),
        )
        for text in texts
    ]
    assert [text for text, _, _ in placed].count(str(settings[0].k))
    assert len(placed) > 5
    for (text, x, y), (other, left, top) in itertools.combinations(placed, 2):
        apart = (width_of(text, 11) + width_of(other, 11)) / 2
        assert abs(x - left) > apart - 0.01 or abs(y - top) > 11 - 0.01


def test_an_unfinished_comparison_recommends_nothing(comparison):
    part = dataclasses.replace(comparison, unfinished=3)
    result, page = part.to_dict(), part.to_html()
    assert result["unfinished"] == 3
    for choice in (result["answer"], *result["ladder"]):
        assert (choice["row"], choice["reason"]) == (None, "unfinished")
    assert "Publish" not in page.replace("Before you publish", "")
    assert 'class="chosen' not in page
    assert '<section id="ladder">' not in page
    assert re.findall(r'<section id="all">', page)


def test_numbers_are_those_of_the_comparison(page, result):
    text = text_of(page)
    for row in result["rows"]:
        assert row["title"] in text
        if row["problem"]:
            assert f"no result: {row['problem']}" in text
            continue
        for name in ("lists", "ratings"):
            share = row["utility_retained"][name]
            assert (percent(share["value"]) if share["value"] > -1 else "below -100%") in text
        numbers = f"{row['ndcg']:.3f} best: 0.110 {row['rmse']:.4f} best: {row['best_rmse']:.4f}"
        assert f"{numbers} 1.17 54% absent" in text
        if row["risk"] is not None:
            assert estimate((row["risk"], row["risk_low"], row["risk_high"])) in text
    assert "rotation not attacked" in text
    assert "whole gain over averages is 0.0600 in RMSE, 0.0400–0.0800" in text
    assert "Not drawn: rotation." in text
    assert "the best recommender on the raw data (“popularity”)" in text


def test_every_setting_with_a_risk_answers_the_mouse_where_it_is_drawn(page, result):
    attacked = [row for row in result["rows"] if row["risk"] is not None]
    names = [f"{row['title']}, {name}" for name in ("lists", "ratings") for row in attacked]
    links = re.findall(
        r'<a class="spot[^"]*" style="[^"]*" href="#([^"]*)" aria-label="([^"]*)"', page
    )
    assert [title for _, title in links] == names
    identifiers = re.findall(r'<tr id="([^"]*)"', page)
    assert len(set(identifiers)) == len(result["rows"])
    assert {target for target, _ in links} <= set(identifiers)


@pytest.mark.parametrize("utility", utilities_of([]), ids=lambda utility: utility.name)
def test_spots_stand_upon_the_points_of_the_drawing(comparison, utility):
    """The drawing moves each mark to its place; all groups around it add their own moves."""
    chart, spots = draw_frontier(comparison.rows, utility, None)
    width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', chart.svg).groups())
    left, top = map(float, re.search(r"translate\(([^,]*),([^)]*)\)", chart.svg).groups())
    marks = re.findall(r'<g class="mark-symbol[^>]*>(.*?)</g>', chart.svg, re.DOTALL)
    places = [
        (float(x), float(y))
        for x, y in re.findall(r'<path[^>]*transform="translate\(([^,]*),([^)]*)\)"', marks[0])
    ]
    expected = [(left + x, top + y) for x, y in places]
    found = [(spot.left * width / 100, spot.top * height / 100) for spot in spots]
    assert np.allclose(sorted(found), sorted(expected), atol=0.6)


def test_methods_are_named_next_to_the_drawing(page, result):
    drawing = page[page.index('id="frontier"') : page.index('id="ladder"')]
    for name in result["methods"]:
        assert (f">{name}" in drawing) == (name != "rotation")
    assert ">random-values (-735%)<" in drawing
    assert ">random-values (-725%)<" in drawing
    assert drawing.index("<h3>Lists retained") < drawing.index("<h3>Ratings retained")


def test_methods_differ_without_colours(result):
    assert len(styles_of(VARIANTS)) == len(VARIANTS)
    drawn = styles_of(row["method"] for row in result["rows"]).values()
    assert len({(look.colour, look.shape, tuple(look.dash)) for look in drawn}) == len(drawn)


def test_if_all_failed_there_is_a_page(comparison):
    failed = [row for row in comparison.rows if row.problem]
    page = dataclasses.replace(comparison, rows=failed, reference=None).to_html()
    assert "no result" in page
    assert '<section id="frontier">' not in page


def test_degrees_of_padding_are_points_of_a_line():
    """Of each k one line, from simple to padded rows; other methods are not on it."""
    methods = ("simple", "padded-0.25", "padded-0.75", "padded", "padded-mdav", "raw")
    rows = [
        Row(
            *(method, 5 if method != "raw" else None, "k-anonymity", None),
            risk=risk,
            ndcg=0.3,
            ndcg_retained=retained,
            is_ndcg_reliable=True,
            ndcg_retained_low=retained - 0.01,
            ndcg_retained_high=retained + 0.01,
        )
        for method, risk, retained in zip(
            methods,
            (0.18, 0.15, 0.16, 0.2, 0.1, 1.0),
            (0.8, 0.7, 0.6, 0.5, 0.4, 1.0),
            strict=True,
        )
    ]
    (lists,) = [each for each in utilities_of([]) if each.name == "lists"]
    chart, _ = draw_frontier(rows[::-1], lists, None)
    (curve,) = [
        data
        for data in chart.layers.to_dict(validate=False)["datasets"].values()
        if data and "degree" in data[0]
    ]
    assert [point["degree"] for point in curve] == [0, 0.25, 0.75, 1]
    assert [(point["x"], point["y"]) for point in curve] == [
        (row.risk, row.ndcg_retained) for row in rows[:4]
    ]
    assert {point["k"] for point in curve} == {5}
    # Without a degree in between there is nothing new to join.
    chart, _ = draw_frontier([rows[0], rows[3]], lists, None)
    assert "degree" not in str(chart.layers.to_dict(validate=False))
