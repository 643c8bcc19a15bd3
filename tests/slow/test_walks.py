"""The tutorials and how-to pages are walked: each command runs, and prints what the page shows.

A page is walked from its top to its end in one empty folder. Left-out output is `...`, and the
width of the terminal does not matter. `$ recveil` is called here, all else by a shell.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from recveil.cli import main
from recveil.datasets import make_ratings

DOCS = Path(__file__).parents[2] / "docs"
# Walked elsewhere (tests/cli/test_inputs.py, test_extending.py, test_verify_alone.py), or opens a
# browser.
OTHERS = {
    *("how-to/inputs.md", "how-to/extending.md", "how-to/install.md", "how-to/workbench.md"),
}

FOLDERS = ("tutorial", "how-to")

PAGES = [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]

PAGES = [page for page in PAGES if str(page.relative_to(DOCS)) not in OTHERS]

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Where recveil comes from; everybody who runs these tests has done it.
INSTALLING = ("git clone", "make demo", "export PATH", "mkdir ~/")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and content of each block of code."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def steps(block: str) -> list[tuple[str, str]]:
    """Return each command of a console, with what is shown below it.

    >>> steps("$ recveil verify out\\nholds ...\\n$ echo $?\\n0\\n")
    [('recveil verify out', 'holds ...\\n'), ('echo $?', '0\\n')]
    """
    parts = re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)
    return [tuple(part.partition("\n")[::2]) for part in parts[1:]]


def assert_shown(shown: str, printed: str, what: str) -> None:
    alike = doctest.OutputChecker().check_output(shown, printed, FLAGS)
    assert alike, f"{what}\nthe page shows:\n{shown}\nprinted was:\n{printed}"


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


@pytest.fixture
def cinema(here, postgresql_server, monkeypatch):
    """A database of ratings, and how its owner asks it."""
    from adbc_driver_postgresql import dbapi

    def ask(statements: str, name: str = "cinema", table: pa.Table | None = None) -> None:
        address = re.sub(r"/\w+\?", f"/{name}?", postgresql_server)
        connection = dbapi.connect(address, autocommit=True)
        with connection, connection.cursor() as cursor:
            for statement in filter(str.strip, statements.split(";")):
                cursor.execute(statement)
            if table is not None:
                cursor.adbc_ingest("ratings", table)

    owned = re.search(r"/(\w+)\?", postgresql_server).group(1)
    ask("CREATE DATABASE cinema", owned)
    ask("", table=make_ratings(300, 100, 9_000, seed=0).to_arrow())
    monkeypatch.setenv("PGHOST", postgresql_server.partition("host=")[2])
    yield ask
    ask("DROP DATABASE cinema WITH (FORCE); DROP ROLE publisher", owned)


@pytest.mark.parametrize("page", PAGES, ids=names_of(PAGES))
def test_a_page_is_walked(page, here, request):
    ask = request.getfixturevalue("cinema") if page.name == "postgresql.md" else None
    walk, printed = Walk(), ""
    for language, content in blocks(page):
        if language == "console":
            for command, shown in steps(content):
                if command.startswith(INSTALLING):
                    continue
                printed = walk.run(command)
                if shown.strip():
                    assert_shown(shown, printed, command)
        elif language == "python":
            printed = walk.execute(content, page.name)
        elif language == "sql":
            ask(content)
        elif language == "text":
            assert_shown(content, printed, f"{page.name}: the block of Python before")
