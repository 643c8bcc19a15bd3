"""What the package says of itself: its version, and what it needs."""

import ast
import importlib
import pkgutil
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


def required() -> set[str]:
    """Return the packages that a user's install asks for, with all extras that are for users."""
    extras = PROJECT["optional-dependencies"]
    entries = PROJECT["dependencies"] + extras["databases"] + extras["excel"]
    entries += extras["spark"] + extras["workbench"]
    return {re.match(r"[\w-]+", entry).group() for entry in entries}


def declared() -> set[str]:
    return {MODULES.get(name, name.replace("-", "_")) for name in required()}


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


def test_the_oldest_version_of_everything_required_can_be_tested():
    command = [sys.executable, ROOT / ".ci" / "lowest.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    pinned = dict(line.split("==") for line in done.stdout.splitlines())
    assert set(pinned) >= required()
    entries = PROJECT["optional-dependencies"]["spark"]
    assert f"pyspark[sql]>={pinned['pyspark']},<5" in entries  # extras and upper bounds are no part


NAMES = [name for name in recveil.__all__ if name != "__version__"]


def test_a_newcomer_finds_ten_names():
    assert len(NAMES) == 10
    assert set(recveil.__all__) <= set(dir(recveil))
    table = (ROOT / "docs" / "api.md").read_text()
    rows = "".join(row for row in table.splitlines() if row.startswith("| `recveil` |"))
    for name in recveil.__all__:
        assert f"`{name}`" in rows or f"`recveil.{name}`" in rows


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_the_one_that_its_package_offers(name):
    found = getattr(recveil, name)
    package = ".".join(found.__module__.split(".")[:2])
    assert getattr(importlib.import_module(package), name) is found


def test_a_name_never_stands_for_a_package():
    """`import recveil.audit` gives the package, so that no name may hide one."""
    packages = {module.name for module in pkgutil.iter_modules(recveil.__path__)}
    assert packages & set(recveil.__all__) == set()


def test_importing_recveil_loads_nothing_until_it_is_asked():
    program = (
        "import sys, recveil\n"
        "print([name for name in sys.modules if name.startswith('recveil.') or name == 'numpy'])\n"
        "from recveil import RecveilError\n"
        "print([name for name in sys.modules if name.startswith('recveil.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]", "['recveil.errors']"], done.stderr


HEAVY = [
    "numba",
    "pyarrow",
    "scipy",
    "sklearn",
    "altair",
    "vl_convert",
    "pandas",
    "jinja2",
    "pooch",
]


@pytest.mark.parametrize("lines", [[], ["--help"], ["verify", "--help"], ["anonymize", "--help"]])
def test_help_comes_before_any_large_library_is_loaded(lines):
    """Who types half a command waits for what it shows."""
    program = (
        "import contextlib, io, sys, recveil\n"
        f"if {lines}:\n"
        "    from recveil.cli import main\n"
        "    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        f"        main({lines})\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
