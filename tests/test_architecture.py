"""The floors of docs/architecture.md: a lower one never imports a higher one."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import recveil

SOURCE = Path(recveil.__file__).parent
FLOORS = {
    "errors": 0,
    "ahead": 0,
    "beside": 0,
    "brief": 0,
    "bits": 0,
    "compiled": 0,
    "progress": 0,
    "ratings": 0,
    "records": 0,
    "io": 1,
    "datasets": 1,
    "predict": 1,
    "release": 1,
    "group": 1,
    "anonymize": 2,
    "attack": 2,
    "verify": 2,
    "audit": 3,
    "compare": 3,
    "evaluate": 3,
    "demo": 3,
    "report": 4,
    "cli": 4,
    "__main__": 4,
}


def _imports(file: Path) -> set[str]:
    """The packages of recveil that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("recveil."):
            found.add(node.module.split(".")[1])
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("recveil.")}
    return found


FILES = [file for file in SOURCE.rglob("*.py") if file != SOURCE / "__init__.py"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_no_file_imports_a_higher_floor(file):
    own = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    for other in _imports(file):
        assert FLOORS[other] <= FLOORS[own], f"{own} imports {other}"


def test_the_verifier_knows_nothing_of_the_anonymizers():
    for file in (SOURCE / "verify").rglob("*.py"):
        assert "anonymize" not in _imports(file)
    program = (
        "import sys, recveil.verify\n"
        "print([name for name in sys.modules if name.startswith('recveil.anonymize')])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_modules_stay_readable():
    for file in FILES:
        assert len(file.read_text().splitlines()) <= 400, file
