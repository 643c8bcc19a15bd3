"""The files around the code agree with it and with each other, and name no machine."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from repository import DOCS, MODULES, ROOT, nodes_of, text_of

PROJECT = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
HOUSE = [
    *("Dockerfile", ".dockerignore", "CITATION.cff", "CODE_OF_CONDUCT.md", "SECURITY.md"),
    *(".pre-commit-config.yaml", ".github/workflows/checks.yml", "Makefile", "constraints.txt"),
    *(path.relative_to(ROOT).as_posix() for path in (ROOT / ".github").glob("ISSUE_TEMPLATE/*")),
]
# Packages whose modules have another name.
MODULES_OF = {"scikit-learn": "sklearn", "vl-convert-python": "vl_convert"}


def test_no_registry_and_no_place_on_a_machine_is_named():
    place = re.compile(r"https?://|index-url|/home/|/work/|/Users/|/root/")
    found = [
        f"{name}: {at.group()}" for name in HOUSE for at in place.finditer(text_of(ROOT / name))
    ]
    assert found == []


def test_versions_and_licences_are_those_of_the_project():
    (tried,) = re.findall(r"python: \[(.*)\]", text_of(ROOT / ".github/workflows/checks.yml"))
    promised = [
        found.group(1)
        for line in PROJECT["classifiers"]
        if (found := re.search(r":: (3\.\d+)$", line))
    ]
    assert re.findall(r"[\d.]+", tried) == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"
    citation, version = text_of(ROOT / "CITATION.cff"), PROJECT["version"]
    licences = re.findall(r"^  - (\S+)$", citation.split("license:")[1], re.M)[:2]
    assert " AND ".join(licences) == PROJECT["license"]
    assert f"\nversion: {version}\n" in citation
    assert f"{{Version {version};" in text_of(DOCS / "how-to/cite.md")
    assert f"\n## {version}" in text_of(ROOT / "CHANGELOG.md")
    assert "`recveil.__version__`" in text_of(ROOT / "README.md")


def test_the_image_and_the_makefile_name_what_is_there():
    copied = re.findall(r"^COPY (.*) \S+$", text_of(ROOT / "Dockerfile"), re.MULTILINE)
    needed = {name for line in copied for name in line.split()}
    assert needed == set(re.findall(r"^!(\S+)$", text_of(ROOT / ".dockerignore"), re.MULTILINE))
    assert [name for name in needed if not (ROOT / name).exists()] == []
    phony = re.findall(r"^\.PHONY: (.*)$", text_of(ROOT / "Makefile"), re.MULTILINE)
    command = ["make", "--no-print-directory", "help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert {line.split()[0] for line in done.stdout.splitlines()} == set(" ".join(phony).split())


def third_party(file: Path) -> set[str]:
    """Return the packages that a file imports, wherever in it, but for Python's own and ours."""
    found = set()
    for node in nodes_of(file):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found - sys.stdlib_module_names - {"recveil"}


def test_what_is_imported_is_declared_and_can_be_tested_with_its_oldest_version():
    extras = PROJECT["optional-dependencies"]
    entries = [
        *PROJECT["dependencies"],
        *(entry for of in ("databases", "excel", "spark", "workbench") for entry in extras[of]),
    ]
    required = {re.match(r"[\w-]+", entry).group() for entry in entries}
    declared = {MODULES_OF.get(name, name.replace("-", "_")) for name in required}
    assert set().union(*map(third_party, MODULES)) == declared
    command = [sys.executable, ROOT / ".ci" / "lowest.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    pinned = dict(line.split("==") for line in done.stdout.splitlines())
    assert required - set(pinned) == set()
    assert f"pyspark[sql]>={pinned['pyspark']},<5" in extras["spark"]  # no extra, no upper bound
