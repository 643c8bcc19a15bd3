"""What stands around the code says of it what is so, and nothing of any machine."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOUSE = [
    *("Dockerfile", ".dockerignore", "CITATION.cff", "CODE_OF_CONDUCT.md", "SECURITY.md"),
    *(".pre-commit-config.yaml", ".github/workflows/checks.yml", "Makefile", "constraints.txt"),
    *(path.relative_to(ROOT).as_posix() for path in (ROOT / ".github").glob("ISSUE_TEMPLATE/*")),
]


@pytest.mark.parametrize("name", HOUSE)
def test_no_registry_and_no_place_on_a_machine_is_named(name):
    text = (ROOT / name).read_text()
    assert not re.search(r"https?://|index-url|/home/|/work/|/Users/|/root/", text)


def test_the_pythons_that_are_tried_are_those_that_are_promised():
    (tried,) = re.findall(r"python: \[(.*)\]", (ROOT / ".github/workflows/checks.yml").read_text())
    promised = [
        found.group(1)
        for line in PROJECT["classifiers"]
        if (found := re.search(r":: (3\.\d+)$", line))
    ]
    assert re.findall(r"[\d.]+", tried) == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_the_citation_names_the_licences_of_the_package():
    text = (ROOT / "CITATION.cff").read_text()
    assert (
        " AND ".join(re.findall(r"^  - (\S+)$", text.split("license:")[1], re.M)[:2])
        == (PROJECT["license"])
    )


def test_whoever_cites_it_names_its_version():
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"{{Version {version};" in (ROOT / "docs/how-to/cite.md").read_text()
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_an_image_is_built_from_files_that_are_there():
    copied = re.findall(r"^COPY (.*) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    needed = {name for line in copied for name in line.split()}
    allowed = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert needed == allowed
    assert all((ROOT / name).exists() for name in needed)


def test_help_of_make_lists_every_target():
    text = (ROOT / "Makefile").read_text()
    targets = set(" ".join(re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)).split())
    command = ["make", "--no-print-directory", "help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    listed = {line.split()[0] for line in done.stdout.splitlines()}
    assert listed == targets
