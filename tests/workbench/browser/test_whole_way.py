"""From a table that is dropped to a release that is downloaded, in a real browser."""

import os
import sqlite3
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest

from recveil.auditing import audit
from recveil.methods import anonymize
from recveil.report.assessment import report
from recveil.verification import verify

# A table of one's own instead of invented users, such as u.data of MovieLens 100K.
TABLE = os.environ.get("RECVEIL_BROWSER_TABLE")
ROOMS = ("data", "risk", "choose", "release", "check", "log")
# Pages that a room links to
LINKED = {"dossier": "release", "audit.html": "risk", "comparison.html": "choose"}
VIEWS = {
    "light": (420, {"color_scheme": "light"}),
    "dark": (420, {"color_scheme": "dark"}),
    "print": (694, {"media": "print"}),
}
# The width of a page, and the boxes that scroll sideways without a word of it
MEASURE_WIDTH = """() => [document.documentElement.scrollWidth,
  [...document.querySelectorAll(".scroll")].filter(box => box.scrollWidth > box.clientWidth + 1
    && parseFloat(getComputedStyle(box, "::before").height) < 10).map(box => box.ariaLabel)]"""

# Numbers, dates and intervals in cells of numbers that are split over lines
FIND_SPLIT = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), split = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.parentElement.closest("td.number, td.whole")) continue;
    for (const match of node.textContent.matchAll(/[(\\d][\\d.,/%–-]*[\\d)]/g)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      if (new Set([...range.getClientRects()].map(each => Math.round(each.top))).size > 1)
        split.push(match[0]);
    }
  }
  return split;
}"""


class Done(NamedTuple):
    """What a user saw from the file to the release."""

    verdict: str
    why: str
    checked: str
    private: str
    rows: list[str]
    zip: Path


@pytest.fixture(scope="module")
def done(open_tab, table, tmp_path_factory):
    with open_tab() as page:
        page.set_input_files("#file", TABLE or str(table))
        page.wait_for_selector("#statistics")
        page.click("nav >> text=Risk")
        page.wait_for_selector("table.cards")
        verdict = page.inner_text("h1")
        page.click("nav >> text=Choose")
        _compare(page, "raw", "sparse")
        why = page.inner_text(".why")
        page.click("#take")
        page.wait_for_url("**/release")
        page.click("button:has-text('Make the release')")
        page.wait_for_selector("#download")
        page.fill("#card-publisher", "Public Library")
        page.click("#describe")
        page.wait_for_selector("summary:has-text('croissant.json')")
        with page.expect_download() as download:
            page.click("#download")
        target = tmp_path_factory.mktemp("download") / "release.zip"
        download.value.save_as(target)
        return Done(
            verdict=verdict,
            why=why,
            checked=page.inner_text(".verdict-line"),
            private=page.inner_text(".private"),
            rows=[row.inner_text() for row in page.query_selector_all(".preview tbody tr")],
            zip=target,
        )


def _compare(page, *methods, k="4", wait=True):
    page.wait_for_selector("#ks")
    page.evaluate("document.querySelector('.methods details').open = true")
    for box in page.query_selector_all(".methods input"):
        box.set_checked(box.get_attribute("name") in {f"method-{name}" for name in methods})
    page.fill("#ks", k)
    page.click("button:has-text('Compare these')")
    page.wait_for_selector(".job")
    if wait:
        page.wait_for_selector(".job", state="detached")
        page.fill("#min_k", k)
        page.locator("#min_k").blur()
        _answer_for(page, 100)
        # A click is lost if an answer replaces its button between press and release.
        page.wait_for_timeout(300)
        page.wait_for_function("!document.querySelector('.htmx-request, .htmx-settling')")
        page.wait_for_selector("#take")


def _answer_for(page, percent):
    page.evaluate(
        "n => { const slider = document.getElementById('limit'); slider.value = n;"
        "slider.dispatchEvent(new Event('input', {bubbles: true})); }",
        percent,
    )


def test_the_verdict_on_the_table_comes_first(done):
    assert "re-identified" in done.verdict


def test_the_release_holds(done, tmp_path):
    assert "holds" in done.checked
    with ZipFile(done.zip) as archive:
        archive.extractall(tmp_path)
    (folder,) = (each for each in tmp_path.iterdir() if each.is_dir())
    found = verify(folder)
    assert found.holds
    assert found.k_achieved >= 4
    assert "Public Library" in (tmp_path / "croissant.json").read_text()


def test_nothing_private_is_downloaded(done):
    names = ZipFile(done.zip).namelist()
    assert {Path(name).name for name in names} == {
        *("ratings.parquet", "classes.csv", "README.md", "release.json", "croissant.json")
    }
    assert ".private" in done.private


def test_the_reason_of_the_choice_is_stated(done):
    assert "sparse, k = 4" in done.why
    assert "Publish" in done.why


def test_twenty_rows_are_shown_next_to_what_is_seen_in_them(done):
    assert len(done.rows) == 20
    assert any("The same row for " in row for row in done.rows)  # once per size


@pytest.mark.parametrize("room", ROOMS)
def test_no_page_has_serious_findings(page, served, done, room):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{served.base}/{room}")
        for folded in page.query_selector_all("details:not([open]) > summary"):
            folded.click()
        # The policy of our pages lets no other script in, and axe comes from elsewhere.
        found = axe.Axe().run(page).response["violations"]
        result = [
            (each["id"], node["html"][:200], node["failureSummary"])
            for each in found
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"][:3]
        ]
        assert result == [], scheme


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("room", [*ROOMS, *LINKED])
def test_on_a_narrow_screen_and_on_paper_nothing_sticks_out(open_tab, served, done, room, view):
    width, media = VIEWS[view]
    with open_tab(viewport={"width": width, "height": 800}) as page:
        page.emulate_media(**media)
        page.goto(f"{served.base}/{LINKED.get(room, room)}")
        if room in LINKED:
            page.goto(served.base + page.get_attribute(f"a[href$='/{room}']", "href"))
        if view == "print":
            assert not any(button.is_visible() for button in page.query_selector_all("button"))
        else:
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            page.wait_for_timeout(100)
        measured, silent = page.evaluate(MEASURE_WIDTH)
        assert measured <= width
        assert silent == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_hostile_name_is_text(page, served, done, room):
    page.goto(f"{served.base}/{room}")
    assert "recveil workbench" in page.title()
    assert page.query_selector("img") is None
    assert "\u202e" not in page.content()


def test_on_paper_a_verdict_has_its_limits_and_a_page_its_command(page, served, done):
    page.goto(f"{served.base}/release")
    page.emulate_media(media="print")
    shown = page.inner_text("main")
    assert "What the verdict does not cover" in shown
    assert page.evaluate("document.querySelector('.limits li').checkVisibility()")
    assert "recveil anonymize" in shown
    assert page.is_hidden("#describe")


@pytest.mark.parametrize("room", [*ROOMS, *LINKED])
def test_on_paper_no_number_interval_or_date_is_split(open_tab, served, done, room):
    with open_tab(viewport={"width": 694, "height": 800}) as page:
        page.emulate_media(media="print")
        page.goto(f"{served.base}/{LINKED.get(room, room)}")
        if room in LINKED:
            page.goto(served.base + page.get_attribute(f"a[href$='/{room}']", "href"))
        assert page.evaluate(FIND_SPLIT) == []


def test_the_keyboard_alone_takes_a_setting(page, served, done):
    page.goto(f"{served.base}/choose")
    page.focus("#limit")
    page.keyboard.press("Home")
    page.wait_for_function("document.getElementById('limit-value').textContent == '1'")
    page.wait_for_selector("text=With at most 1%")
    page.keyboard.press("End")
    page.wait_for_url("**limit=100**")
    page.wait_for_selector(".why >> text=Publish")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id").startswith("dot-"):
            break
    assert page.is_visible(".panel dl:not([hidden])")
    page.keyboard.press("Enter")
    page.wait_for_url("**setting=**")


def test_the_slider_moves_the_limit_and_the_answer(page, served, done):
    page.goto(f"{served.base}/choose?limit=100&min_k=")
    assert page.query_selector(".limit") is None
    _answer_for(page, 3)
    page.wait_for_selector("line.limit", state="attached")
    assert page.inner_text("#limit-value") == "3"


def test_two_tabs_are_one_project(open_tab, served, done, table, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(table.read_text(encoding="utf-8"), encoding="utf-8")
    with open_tab() as one, open_tab() as two:
        one.set_input_files("#file", str(other))
        one.wait_for_selector(".eyebrow >> text=other.csv")
        one.wait_for_selector("#statistics")
        two.goto(f"{served.base}/data")
        two.wait_for_selector("text=other.csv")
        two.click("button:has-text('ratings.csv')" if not TABLE else "ul.inputs button >> nth=-1")
        two.wait_for_selector("#statistics")
        one.reload()
        one.wait_for_selector("#statistics")
        assert one.inner_text(".eyebrow") == two.inner_text(".eyebrow")
        # A page that was loaded before is still one of ours.
        one.goto(f"{served.base}/choose")
        one.wait_for_selector("#take")


def test_a_wrong_file_ends_in_one_line(page, tmp_path):
    wrong = tmp_path / "photo.jpg"
    wrong.write_bytes(b"\xff\xd8\xff\xe0" + os.urandom(3_000))
    page.set_input_files("#file", str(wrong))
    page.wait_for_selector("[data-state=failed]")
    result = page.inner_text(".notice p")
    assert "photo.jpg" in result
    assert len(result) < 300
    assert "Traceback" not in page.content()


def test_work_can_be_cancelled_in_the_middle(page, served, done, table):
    _take_table(page, served, Path(TABLE or table).name)
    page.goto(f"{served.base}/choose")
    page.click("summary:has-text('Compare other settings')")
    many = ",".join(map(str, range(4, 13)))  # it must not end before it is cancelled
    _compare(page, "raw", "sparse", "padded", "k-corating-similarity", k=many, wait=False)
    page.goto(f"{served.base}/log")  # pages answer while work runs
    assert page.is_visible("text=compare")
    page.goto(f"{served.base}/choose")
    page.click("button:has-text('Cancel')")
    page.wait_for_selector("[data-state=cancelled]")
    assert page.query_selector(".dot")  # what was finished before is still there
    assert _state_of_last(served, "compare") == "cancelled"


def _take_table(page, served, name):
    page.goto(f"{served.base}/data")
    own = page.query_selector(f"ul.inputs button:has-text('{name}')")
    if own is not None:
        own.click()
        page.wait_for_selector("#statistics")


def _state_of_last(served, task):
    with sqlite3.connect(f"file:{served.folder / 'project.sqlite'}?mode=ro", uri=True) as project:
        return project.execute(
            "SELECT state FROM jobs WHERE task = ? ORDER BY id DESC", (task,)
        ).fetchone()[0]


VISIBLE = "each => each.map(part => part.checkVisibility())"


def test_folded_parts_of_a_report_are_open_in_print(browser, table, tmp_path):
    anonymize(table, tmp_path / "out", k=5)
    found = audit(table, release=tmp_path / "out", targets=50)
    (tmp_path / "audit.html").write_text(found.to_html(), encoding="utf-8")
    report(tmp_path / "out", tmp_path / "report.html", ratings=table)
    page = browser.new_page()
    for name, least in (("audit.html", 10), ("report.html", 1)):
        page.goto((tmp_path / name).as_uri())
        page.emulate_media(media="screen")
        folded = page.locator("details > :not(summary)")
        assert folded.count() >= least
        assert not any(folded.evaluate_all(VISIBLE))
        page.emulate_media(media="print")
        assert all(folded.evaluate_all(VISIBLE))
    page.close()


def test_folded_parts_of_the_workbench_are_open_in_print_unless_they_are_forms(page):
    folded = "<details><summary>more</summary>{}</details>"
    parts = [folded.format(part) for part in ("<p>limits</p>", "<form class=reading>fields</form>")]
    append = "text => document.querySelector('main').insertAdjacentHTML('beforeend', text)"
    page.evaluate(append, "".join(parts))
    last = page.locator("main > details > :not(summary)")
    assert last.evaluate_all(VISIBLE)[-2:] == [False, False]
    page.emulate_media(media="print")
    assert last.evaluate_all(VISIBLE)[-2:] == [True, False]
