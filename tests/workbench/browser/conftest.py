"""A workbench as its user has it: a process that serves it, and a real browser without a window."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from recveil.datasets import make_ratings

# Another one can be named, such as the one of a distribution that calls it otherwise.
CHROMIUM = os.environ.get("RECVEIL_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# A busy machine is no failure.
PATIENCE = 60_000
EXPECTED = ("400 (Bad Request)", "404 (Not Found)")
HOSTILE = "<img src=x onerror=document.title='hacked'>\u202e"


class Served:
    """A workbench that runs.

    Attributes
    ----------
    folder : Path
    address : str
        With its token.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "recveil", "workbench", str(self.folder), "--no-open-browser"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = re.search(r"http://\S+", self.process.stdout.readline())[0]

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]

    def end(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait(60)
        self.process.stdout.close()


@contextmanager
def serving(folder: Path):
    served = Served(folder)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.end()


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install it, or name one in RECVEIL_CHROMIUM")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory, browser):
    with serving(tmp_path_factory.mktemp("workbench") / "project") as served:
        yield served


@pytest.fixture(scope="module")
def open_tab(browser, served):
    return partial(_tab, browser, served)


@pytest.fixture
def page(open_tab):
    with open_tab() as page:
        yield page


@contextmanager
def _tab(browser, served, **options):
    """Open a tab that is let in, and that fails the test if anything goes wrong within it."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda result: result.type == "error" and wrong.append(result.text))
    page.goto(served.address)
    page.wait_for_url("**/data")
    yield page
    context.close()
    # What is refused on purpose is reported on the console, too.
    assert [each for each in wrong if not any(word in each for word in EXPECTED)] == []


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """Some ratings of invented users, of which one item has a name that would be a script."""
    # Recommenders beat the baselines here; otherwise no setting is recommended.
    shape = {"n_users": 150, "n_items": 60, "n_ratings": 4_000, "preference": 1.0, "noise": 0.4}
    ratings = make_ratings(seed=4, **shape)
    names = {0: HOSTILE}
    lines = ["user,item,rating"]
    for user in range(ratings.n_users):
        for at in range(ratings.indptr[user], ratings.indptr[user + 1]):
            item = int(ratings.indices[at])
            name = names.get(item, f"film {ratings.items[item]}")
            lines.append(f"{ratings.users[user]},{name},{ratings.values[at]:g}")
    file = tmp_path_factory.mktemp("table") / "ratings.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
