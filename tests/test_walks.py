"""The tutorials and how-to pages are walked: each command runs, and prints what the page shows.

A page is walked from its top to its end in one empty folder. Left-out output is `...`, and the
width of the terminal does not matter. `$ recveil` is called here, all else by a shell.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.ratings import RatingScale

DOCS = Path(__file__).parents[1] / "docs"
# Walked elsewhere (tests/cli/test_inputs.py, test_extending.py, test_verify_alone.py), or opens a
# browser.
OTHERS = {
    *("how-to/inputs.md", "how-to/extending.md", "how-to/install.md", "how-to/workbench.md"),
}

FOLDERS = ("tutorial", "how-to")

PAGES = [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]

PAGES = [page for page in PAGES if str(page.relative_to(DOCS)) not in OTHERS]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and content of each block of code."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


class Walk:
    """One reader in one folder, who remembers the last exit code and the names in Python."""

    def __init__(self):
        self.code, self.names = 0, {}

    def run(self, command: str) -> str:
        """Do one line of a console, and return what it prints."""
        if command == "echo $?":
            return f"{self.code}\n"
        if command.startswith("export "):
            os.environ.update([command.removeprefix("export ").split("=")])
            return ""
        words = shlex.split(command.removesuffix(" > /dev/null"))
        if words[0] != "recveil":
            done = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, timeout=60
            )
            self.code = done.returncode
            return done.stdout + done.stderr
        out = io.StringIO()
        told = (contextlib.redirect_stdout(out), contextlib.redirect_stderr(out))
        with told[0], told[1], pytest.raises(SystemExit) as ended:
            main(words[1:])
        self.code = ended.value.code or 0
        assert self.code in (0, 1), out.getvalue()
        return out.getvalue()

    def execute(self, code: str, page: str) -> str:
        """Do a block of Python, and return what it prints."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, page, "exec"), self.names)
        return out.getvalue()


def names_of(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(DOCS)) for page in pages]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PGUSER", "shop")  # so that it is put back, whatever a page exports


def test_a_researcher_reads_items_of_any_name(here):
    """Rows are compared by what they hold, also where items are text."""
    invented = make_ratings(300, 100, 9_000, seed=0).to_arrow().to_pandas()
    invented["item_id"] = "ART-" + invented["item_id"].astype(str)
    anonymize(invented, "out", k=5, method="sparse", scale=RatingScale(1, 5, 1), seed=0)
    walk, printed = Walk(), ""
    for language, content in blocks(DOCS / "tutorial" / "researcher.md"):
        if language == "python":
            printed = walk.execute(content, "researcher.md")
    assert printed == "True\n"


def test_commands_that_fail_are_those_whose_code_is_shown():
    """A page never shows a failing command as if all were well."""
    for page in PAGES:
        for language, content in blocks(page):
            if language == "console" and "does not hold" in content:
                assert "$ echo $?\n1\n" in content, page.name


def test_the_pages_of_the_issue_are_there():
    assert {"tutorial/owner.md", "tutorial/researcher.md", "tutorial/officer.md"} <= set(
        names_of(PAGES)
    )
    assert {
        *("how-to/choose.md", "how-to/postgresql.md", "how-to/monthly.md", "how-to/check.md"),
        "how-to/cite.md",
    } <= set(names_of(PAGES))
