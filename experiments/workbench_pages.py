"""Pictures of the workbench's rooms, for docs/how-to/workbench.md and the README.

    python experiments/workbench_pages.py docs/how-to/workbench

The users are invented. It starts a workbench, goes from a file to a release in a browser without a
window (Chromium, driven by playwright), and takes a picture of each room; with --look, of each at
420 pixels, in the dark and on paper, too.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from arguments import parser_of
from playwright.sync_api import Page, sync_playwright

from recveil.datasets import make_ratings

_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
_ROOMS = ("data", "risk", "choose", "release", "check")
_MINUTES = 60_000
_WIDE = {"width": 1120, "height": 760}
_TALL = {"width": 1120, "height": 1230}  # for the drawing
_METHODS = ("raw", "sparse", "simple", "padded", "synthetic-10")
_LEAST_K, _LIMIT = 5, 30


def main() -> None:
    """Take the pictures."""
    parser = parser_of(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--look", action="store_true", help="narrow, dark and on paper, too")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    project = Path(gettempdir(), "film-club-project")  # its place is seen on the pages
    if project.exists():
        parser.error(f"{project} exists; remove it first")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        table = _table(Path(folder, "film-club.csv"))
        command = ["-m", "recveil", "workbench", str(project), "--no-open-browser"]
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, *command],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            address = re.search(r"http://\S+", process.stdout.readline())[0]
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=list(_ARGUMENTS)
            )
            page = browser.new_page(viewport=_WIDE)
            page.set_default_timeout(10 * _MINUTES)
            page.goto(address)
            page.wait_for_url("**/data")
            release = _go_the_way(page, table, Path(folder))
            _check(page, address, release)
            _take(page, address, given.out, look=given.look)
        finally:
            process.terminate()
            process.wait()
            shutil.rmtree(project, ignore_errors=True)


def _table(file: Path) -> Path:
    """Write ratings of users who are invented."""
    columns = make_ratings(n_users=600, n_items=160, n_ratings=42_000, seed=7).to_arrow()
    names = columns.column_names[:3]
    rows = zip(*(columns[name].to_pylist() for name in names), strict=True)
    lines = [f"member-{user},film-{item},{rating:g}" for user, item, rating in rows]
    file.write_text("\n".join(["user,item,rating", *lines, ""]))
    return file


def _go_the_way(page: Page, table: Path, folder: Path) -> Path:
    """Drop the table, audit it, compare settings, make a release and take it away."""
    page.set_input_files("#file", str(table))
    page.wait_for_selector("#statistics")
    page.click("nav >> text=Risk")
    page.wait_for_selector("table.cards")
    page.click("nav >> text=Choose")
    page.wait_for_selector("#ks")
    page.evaluate("document.querySelector('.methods details').open = true")
    for box in page.query_selector_all(".methods input"):
        box.set_checked(box.get_attribute("name").removeprefix("method-") in _METHODS)
    page.fill("#ks", "5,20")
    page.click("button:has-text('Compare these')")
    page.wait_for_selector(".job")
    page.wait_for_selector(".job", state="detached")
    page.fill("#min_k", str(_LEAST_K))
    page.evaluate(
        "n => { const slider = document.getElementById('limit'); slider.value = n;"
        "slider.dispatchEvent(new Event('input', {bubbles: true})); }",
        _LIMIT,
    )
    page.wait_for_url(f"**limit={_LIMIT}**")
    page.wait_for_selector("#take")
    page.click("#take")
    page.wait_for_url("**/release")
    page.fill("#name", "film-club-2026")
    page.click("button:has-text('Make the release')")
    page.wait_for_selector("#download")
    with page.expect_download() as download:
        page.click("#download")
    target = folder / "film-club-2026.zip"
    download.value.save_as(target)
    return target


def _check(page: Page, address: str, release: Path) -> None:
    page.goto(f"{address.partition('/?')[0]}/check")
    page.set_input_files("#file", str(release))
    page.wait_for_selector(".badge")


def _take(page: Page, address: str, out: Path, *, look: bool) -> None:
    for room in _ROOMS:
        page.goto(f"{address.partition('/?')[0]}/{room}")
        page.wait_for_load_state()
        page.wait_for_selector(".job", state="detached")
        page.set_viewport_size(_TALL if room == "choose" else _WIDE)
        page.screenshot(path=out / f"{room}.png")
        if look:
            _look(page, out, room)


def _look(page: Page, out: Path, room: str) -> None:
    """Take the same page whole, narrow, dark and as it is printed."""
    page.screenshot(path=out / f"{room}-whole.png", full_page=True)
    page.set_viewport_size({"width": 420, "height": 860})
    page.screenshot(path=out / f"{room}-narrow.png", full_page=True)
    page.set_viewport_size(_WIDE)
    page.emulate_media(color_scheme="dark")
    page.screenshot(path=out / f"{room}-dark.png", full_page=True)
    page.emulate_media(color_scheme="light", media="print")
    page.screenshot(path=out / f"{room}-print.png", full_page=True)
    page.emulate_media(media="screen")


if __name__ == "__main__":
    main()
