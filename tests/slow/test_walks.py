"""The tutorials and how-to pages are walked: each command runs, and prints what the page shows.

A page is walked from its top to its end in one empty folder. Left-out output is `...`, and the
width of the terminal does not matter. `$ recveil` is called here, all else by a shell.
"""

import doctest
import re
from pathlib import Path

import pyarrow as pa
import pytest

from recveil.datasets import make_ratings
from shared.walks import (
    FOLDERS,
    OTHERS,
    Walk,
    blocks,
    here,  # noqa: F401 (fixtures)
)

DOCS = Path(__file__).parents[2] / "docs"


PAGES = [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]

PAGES = [page for page in PAGES if str(page.relative_to(DOCS)) not in OTHERS]

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Where recveil comes from; as everyone who runs these tests has done.
INSTALLING = ("git clone", "python3 -m venv", "export PATH", "mkdir ~/")


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


def names_of(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(DOCS)) for page in pages]


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
