"""Docs are tested: every verb has help, an example, a docs entry, and a library twin."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
import typer

from recveil.cli import app

ROOT = Path(__file__).parents[2]
VERBS = {command.callback.__name__: command.callback for command in app.registered_commands}
TWINS = {
    "anonymize": "recveil.anonymize",
    "audit": "recveil.audit",
    "compare": "recveil.compare",
    "config": "recveil.cli.settings_file",
    "convert": "recveil.publish",
    "demo": "recveil.demo",
    "describe": "recveil.publish",
    "evaluate": "recveil.evaluate",
    "generate": "recveil.datasets",
    "inspect": "recveil.inspect",
    "sample": "recveil.anonymize",
    "selftest": "recveil.audit",
    "verify": "recveil.verify",
    "workbench": "recveil.workbench",
}


def section_of(title: str) -> str:
    """Return a section of docs/cli.md."""
    docs = (ROOT / "docs" / "cli.md").read_text()
    (section,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", docs, re.DOTALL | re.MULTILINE)
    return section


def names_of_options(verb: str) -> list[list[str]]:
    """Return all names of each option of a verb, but for --help."""
    options = typer.main.get_command(app).commands[verb].params
    return [
        [*option.opts, *option.secondary_opts] for option in options if option.opts[0][0] == "-"
    ]


@pytest.mark.parametrize("verb", VERBS)
class TestEveryVerb:
    def test_has_help_and_an_example(self, verb):
        text = inspect.getdoc(VERBS[verb])
        assert len(text.splitlines()[0]) > 20
        assert f"Example: `recveil {verb}" in text

    def test_has_a_section_with_an_example_in_the_docs(self, verb):
        section = section_of(verb)
        assert f"$ recveil {verb}" in section
        assert TWINS[verb] in section

    def test_every_option_stands_in_its_section_or_among_the_shared_ones(self, verb):
        text = section_of(verb) + section_of("Options of several verbs")
        for names in names_of_options(verb):
            assert any(re.search(rf"(?<![\w-]){name}(?![\w-])", text) for name in names), names

    def test_every_option_has_help(self, verb):
        for name, parameter in inspect.signature(VERBS[verb]).parameters.items():
            (info,) = parameter.annotation.__metadata__
            assert info.help, f"{verb} {name}"

    def test_is_the_twin_of_a_library_function(self, verb):
        function = getattr(importlib.import_module(TWINS[verb]), verb)
        assert callable(function)
        assert f"from {TWINS[verb]} import" in inspect.getsource(VERBS[verb])
        assert function.__doc__


def test_options_in_the_docs_exist():
    docs = (ROOT / "docs" / "cli.md").read_text()
    exist = {name for verb in VERBS for names in names_of_options(verb) for name in names}
    of_all = {"--version", "--install-completion", "--show-completion"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", docs)) <= exist | of_all


def test_formats_in_the_docs_are_those_of_the_reader():
    from recveil.cli.options import Format
    from recveil.io import FORMATS

    docs = (ROOT / "docs" / "cli.md").read_text()
    for name in FORMATS:
        assert f"`{name}`" in docs
        assert name in Format.__metadata__[0].help


PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def anchors_of(page: Path) -> set[str]:
    """Return what links may name in a page: its headings, as the site and GitHub write them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s:]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), target
        assert not anchor or anchor in anchors_of(found), target


def test_paths_of_documents_in_code_and_text_exist():
    """What an error, a card, a comment or another page names can be opened."""
    beside = [ROOT / name for name in ("src", "tests", "experiments", "torture", "benchmarks")]
    files = [file for folder in beside for file in folder.rglob("*") if file.suffix != ".pyc"]
    for file in [*PAGES, *filter(Path.is_file, files)]:
        for name in re.findall(r"\bdocs/[\w/-]+\.md", file.read_text("utf-8", "replace")):
            assert (ROOT / name).exists(), f"{file.relative_to(ROOT)}: {name}"


def test_the_python_example_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out == "True 5\n"
