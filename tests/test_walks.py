"""The tutorials and how-to pages are walked: each command runs, and prints what the page shows.

A page is walked from its top to its end in one empty folder. Left-out output is `...`, and the
width of the terminal does not matter. `$ recveil` is called here, all else by a shell.
"""

from pathlib import Path

from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.ratings import RatingScale
from shared.walks import (
    FOLDERS,
    OTHERS,
    Walk,
    blocks,
    here,  # noqa: F401 (fixtures)
)

DOCS = Path(__file__).parents[1] / "docs"


PAGES = [page for folder in FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]

PAGES = [page for page in PAGES if str(page.relative_to(DOCS)) not in OTHERS]


def names_of(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(DOCS)) for page in pages]


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
        "how-to/forget.md",
        "how-to/dates.md",
        "how-to/attributes.md",
    } <= set(names_of(PAGES))
