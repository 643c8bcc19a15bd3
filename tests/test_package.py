"""What the package says of itself: its version, and what it needs."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import recveil

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Packages whose modules have another name.
MODULES = {"scikit-learn": "sklearn", "vl-convert-python": "vl_convert"}


def third_party(file: Path) -> set[str]:
    """Return the packages that a file imports, wherever in it, but for Python's own and ours."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found - sys.stdlib_module_names - {"recveil"}


def declared() -> set[str]:
    names = [re.match(r"[\w-]+", entry).group() for entry in PROJECT["dependencies"]]
    return {MODULES.get(name, name) for name in names}


def test_the_version_is_that_of_the_installed_package():
    assert recveil.__version__ == metadata.version("recveil") == PROJECT["version"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        recveil.nothing  # noqa: B018


def test_the_command_line_tells_the_same_version():
    command = [sys.executable, "-m", "recveil", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == recveil.__version__


def test_the_docs_name_the_version():
    assert "`recveil.__version__`" in (ROOT / "docs" / "api.md").read_text()
    assert "`recveil.__version__`" in (ROOT / "README.md").read_text()


def test_what_is_imported_is_declared_and_the_other_way_round():
    imported = set()
    for file in (ROOT / "src").rglob("*.py"):
        missing = third_party(file) - declared()
        assert not missing, f"{file.name} imports {missing}, which pyproject.toml does not declare"
        imported |= third_party(file)
    assert imported == declared()
