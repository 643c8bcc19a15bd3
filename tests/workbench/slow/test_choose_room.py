"""The room Choose: settings are compared, asked about, and one of them is taken."""

import re
import shutil

import pytest

from recveil.comparison import compare
from recveil.workbench.frontier import Question
from shared.cli_compare import write_table

pytestmark = pytest.mark.usefixtures("few_recommenders")

ASKED = {"method-raw": "on", "method-sparse": "on", "ks": "3, 6"}


@pytest.fixture(scope="module")
def small_table(tmp_path_factory):
    """A table on which recommenders beat the baselines; otherwise no setting is recommended."""
    folder = tmp_path_factory.mktemp("table")
    write_table(folder)
    return (folder / "ratings.csv").read_bytes()


@pytest.fixture(scope="module")
def cells(tmp_path_factory, small_table):
    """The settings that are asked for, finished once for all tests."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "shop.csv").write_bytes(small_table)
    compare(folder / "shop.csv", folder / "out", methods=["raw", "sparse"], k=[3, 6])
    return folder / "out"


@pytest.fixture
def compared(browser, quick, small_table, cells):
    browser.drop("shop.csv", small_table)
    browser.wait("data", "risk")
    shutil.copytree(cells, browser.bench.project.folder_for("comparisons") / "1")
    browser.send("/choose/start", **ASKED)
    (job,) = browser.wait("choose")
    assert (job.state, job.error) == ("done", "")
    return browser


def test_the_settings_are_drawn_and_stated_in_a_table(compared):
    page = compared.get("/choose?limit=100&min_k=3").text
    for title in ("raw", "sparse, k = 3", "sparse, k = 6"):
        assert f"<dt>{title}</dt>" in page
    assert page.count('class="dot') >= 3
    assert '<table class="cards settings">' in page
    assert "Publish “sparse" in page
    assert "style=" not in page


def test_the_key_shows_the_line_of_the_frontier_and_few_items_are_not_red(compared):
    page = compared.get("/choose?limit=100&min_k=3").text
    assert page.count('<polyline class="best"') == page.count('<line class="best"') > 0
    red = re.findall(r'<td class="[^"]*problem[^"]*"(?: colspan="\d+"| data-label="([^"]+)")', page)
    assert {*red} <= {"membership AUC", "ratings published exactly"}


def test_htmx_gets_the_answer_alone(compared):
    answer = compared.client.get("/choose?limit=7", headers={"hx-target": "answer"}).text
    assert "<html" not in answer
    assert "at most 7%" in answer


def test_another_setting_is_stated_next_to_the_answer(compared):
    page = compared.get("/choose?limit=100&min_k=3&setting=raw").text
    assert "makes no claim" in page
    assert 'id="take"' not in page


@pytest.mark.parametrize(
    ("query", "has_answer", "has_selected"),
    [
        ("min_k=3", True, True),
        ("min_k=3&setting=raw", True, True),
        ("min_k=99", False, False),
        ("min_k=99&setting=raw", False, True),
    ],
)
def test_the_marks_of_the_chart_are_those_that_it_states(compared, query, has_answer, has_selected):
    page = compared.get(f"/choose?limit=100&{query}").text
    assert ('class="ring"' in page, "the ring marks the answer" in page) == (has_answer,) * 2
    stated = "the shaded circle marks the setting that is selected" in page
    assert ('class="dot selected' in page, stated) == (has_selected,) * 2


def test_nonsense_ends_in_a_page_without_a_trace(compared):
    for query in ("risk=gold", "limit=0", "min_k=one", "setting=none+such", "utility=%3Cscript%3E"):
        answer = compared.get(f"/choose?{query}")
        assert answer.status_code == 400, query
        assert "Traceback" not in answer.text, query
        assert "<script>" not in answer.text, query


def test_a_setting_is_taken_and_stands_in_the_log_with_its_reason(compared):
    taken = {"risk": "reidentification", "utility": "both", "limit": "100", "min_k": "3"}
    answer = compared.send("/choose/take", setting="sparse, k = 6", **taken)
    assert answer.url.path == "/release"
    assert "Chosen: “sparse, k = 6”" in answer.text
    chosen = answer.text.partition("Chosen:")[2].partition("</p>")[0]
    assert re.search(r"(Items [0-9.]+%, ratings [0-9.]+%|All items and ratings) kept\.", chosen)
    said = [each["what"] for each in compared.bench.project.log()]
    assert any(what.startswith("chose “sparse, k = 6” for shop.csv: ") for what in said)
    assert "min_k" in compared.get("/choose").text
    assert 'value="3"' in compared.get("/choose").text  # the question is kept


def test_a_setting_that_was_taken_and_is_no_longer_there_stops_nothing(compared):
    project = compared.bench.project
    project.save_for(
        project.chosen_input(),
        "question",
        {**Question(min_k=3)._asdict(), "setting": "padded, k = 9"},
    )
    assert "Publish “sparse" in compared.get("/choose").text


def test_a_baseline_cannot_be_taken(compared):
    answer = compared.send("/choose/take", setting="raw", limit="100")
    assert answer.status_code == 400
    assert "cannot be published" in answer.text
    assert compared.bench.project.load_for(compared.bench.project.chosen_input(), "setting") is None


def test_what_was_finished_is_not_computed_again(compared):
    cells = compared.bench.project.folder / "comparisons" / "1" / "cells"
    before = {file.name: file.stat().st_mtime_ns for file in cells.iterdir()}
    compared.send("/choose/start", **ASKED, **{"method-simple": "on"})
    compared.wait("choose")
    after = {file.name: file.stat().st_mtime_ns for file in cells.iterdir()}
    assert before.items() <= after.items()
    assert len(after) == len(before) + 2
    assert "simple, k = 3" in compared.get("/choose").text


def test_the_command_does_the_same(compared):
    job = compared.bench.project.last_job("choose")
    assert "--methods raw,sparse --k 3,6" in job.command
    assert job.command.startswith("recveil compare ")


def test_the_whole_page_can_load_and_send_nothing(compared):
    job = compared.bench.project.last_job("choose")
    answer = compared.get(f"/choose/{job.id}/comparison.html")
    assert "Risk against utility" in answer.text
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "script-src" not in answer.headers["content-security-policy"]


def test_another_job_has_no_such_page(compared):
    job = compared.bench.project.last_job("data")
    assert compared.get(f"/choose/{job.id}/comparison.html").status_code == 400


def test_a_table_that_is_read_otherwise_is_another_comparison(compared):
    compared.send("/data/reading", user="user", item="item", rating="rating", scale="1:5:1")
    compared.wait("data", "risk")
    assert "All settings that are finished" not in compared.get("/choose").text
