"""The version, the names of the package itself, and what importing it loads."""

import importlib
import pkgutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import recveil

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_that_of_the_installed_package():
    assert recveil.__version__ == metadata.version("recveil") == PROJECT["version"]
    with pytest.raises(AttributeError, match="nothing"):
        recveil.nothing  # noqa: B018


def test_the_command_line_states_the_same_version():
    command = [sys.executable, "-m", "recveil", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == recveil.__version__


NAMES = [name for name in recveil.__all__ if name != "__version__"]


def test_the_top_level_names_are_those_that_their_packages_offer():
    assert len(NAMES) == 21
    assert dir(recveil) == sorted(name for name in NAMES if name.islower())
    offered = {name: importlib.import_module(recveil._HOMES[name]) for name in NAMES}
    assert [n for n in NAMES if getattr(offered[n], n) is not getattr(recveil, n)] == []


def test_a_name_never_stands_for_a_package():
    """`import recveil.auditing` gives the package, so that no name may hide one."""
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
    assert done.stdout.splitlines() == ["[]", "['recveil.runtime', 'recveil.runtime.errors']"], (
        done.stderr
    )


def test_the_verifier_loads_no_anonymizer():
    program = (
        "import sys, recveil.verification\n"
        "print([name for name in sys.modules if name.startswith('recveil.methods')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


HEAVY = [
    "numpy",
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
