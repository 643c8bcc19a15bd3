"""The site: what website/conf.py makes of the code, and that every page has its place.

`make docs` builds it, and fails on every link that leads nowhere.
"""

import re
import runpy
from pathlib import Path

import pytest
import typer

import recveil
from recveil.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILT = ROOT / "site"


@pytest.fixture(scope="module")
def conf():
    return runpy.run_path(str(ROOT / "website" / "conf.py"))


def test_every_page_has_its_place_and_no_other(conf):
    placed = [name for chapter in conf["CHAPTERS"].values() for name in chapter]
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")}
    assert sorted(placed) == sorted(pages - {"index"})


def test_every_option_of_every_verb_is_told(conf):
    page = conf["options_page"]()
    for name, command in typer.main.get_command(app).commands.items():
        (section,) = re.findall(rf"^## recveil {name}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
        for option in command.params:
            for spelled in option.opts:
                is_told = not spelled.startswith("-") or f"`{spelled}`" in section
                assert is_told or option.name == "help", f"{name} {spelled}"
        rows = [line for line in section.splitlines() if line.startswith("|")]
        assert all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows)


def test_help_has_no_full_stop_in_the_middle_of_a_sentence(conf):
    """What several methods say of one option is joined by semicolons."""
    page = conf["options_page"]()
    assert "; for words, " in page
    assert not re.findall(r"\w\w\.;", page)


def test_two_hyphens_stay_two_hyphens(conf):
    """An option that a page shows is one that can be copied."""
    assert conf["smartquotes"] is False


def test_every_package_that_the_library_page_names_is_told(conf):
    named = set(re.findall(r"^\| `recveil\.(\w+)` \|", (DOCS / "api.md").read_text("utf-8"), re.M))
    small = {"progress", "memory"}  # one function or two, told on the library's page
    assert named - small <= set(conf["PACKAGES"])
    for package in conf["PACKAGES"]:
        assert f".. automodule:: recveil.{package}\n" in conf["functions_page"]()


def test_links_of_pages_from_outside_lead_somewhere(conf):
    for target in re.findall(r"\]\(([^)#:]+)\)", conf["security_page"]()):
        assert (DOCS / "explanation" / target).exists(), target


def test_the_version_is_told(conf):
    assert conf["release"] == recveil.__version__


def test_nothing_is_loaded_from_elsewhere():
    """Whoever reads of privacy tells nobody that they do."""
    if not (BUILT / "index.html").exists():
        pytest.skip("the site was not built here; make docs builds it")
    for page in BUILT.rglob("*.html"):
        loads = re.findall(
            r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]*",
            page.read_text("utf-8"),
        )
        assert not loads, f"{page.name}: {loads}"
    for sheet in BUILT.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", sheet.read_text("utf-8")), sheet.name
