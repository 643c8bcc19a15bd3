"""The floors of docs/architecture.md: a lower one never imports a higher one."""

import ast
import graphlib
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

import recveil

SOURCE = Path(recveil.__file__).parent
# A package imports packages of lower floors only; none of the same floor.
FLOORS = {
    **dict.fromkeys(["errors", "brief", "compiled", "lifeline", "normal", "threads"], 0),
    **dict.fromkeys(["ahead", "bits", "blas", "charts", "databases", "devices", "folders"], 1),
    **dict.fromkeys(["locks", "memory", "progress"], 1),
    **dict.fromkeys(["beside", "decoding", "ratings"], 2),
    **dict.fromkeys(["io", "predict", "group", "release"], 3),
    **dict.fromkeys(["datasets", "inspect", "verify", "attack"], 4),
    "publish": 5,
    "anonymize": 6,
    "audit": 7,
    "evaluate": 8,
    "compare": 9,
    **dict.fromkeys(["demo", "report"], 10),
    **dict.fromkeys(["spark", "workbench"], 11),
    "cli": 12,
    "__main__": 13,
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
def test_files_import_lower_floors_only(file):
    own = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    for other in _imports(file) - {own}:
        assert FLOORS[other] < FLOORS[own], f"{own} imports {other}"


def test_every_package_stands_on_a_floor():
    assert {file.relative_to(SOURCE).parts[0].removesuffix(".py") for file in FILES} == set(FLOORS)


def _modules_imported(file: Path, names: set[str]) -> set[str]:
    """The modules of recveil that a file imports, those for type checking included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{a.name}" for a in node.names} | {node.module}
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
    return found & names


def test_no_modules_import_each_other_in_a_circle():
    named = {
        ".".join(["recveil", *file.relative_to(SOURCE).with_suffix("").parts]): file
        for file in FILES
        if file.name != "__init__.py"
    }
    order = graphlib.TopologicalSorter(
        {name: _modules_imported(file, set(named)) for name, file in named.items()}
    )
    order.prepare()  # raises an error that names the circle, if there is one


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


def _lines_of_code(file: Path) -> int:
    """Count the lines that hold code: no docstring, comment or blank line."""
    text = file.read_text(encoding="utf-8")
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*blank, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def test_no_module_has_more_than_800_lines_of_code():
    assert [file for file in FILES if _lines_of_code(file) > 800] == []


def test_the_documentation_draws_the_same_floors():
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = {}
    for floor, packages in re.findall(r"^\| (\d+) \| ([^|]*) \|", page, re.MULTILINE):
        drawn |= dict.fromkeys(re.findall(r"recveil\.(\w+)", packages), int(floor))
    assert drawn == {name: floor for name, floor in FLOORS.items() if name != "__main__"}


def test_the_readme_has_the_drawing_of_the_architecture():
    root = Path(__file__).parents[1]
    drawings = [
        re.search(r"```\n( +io ──▶.*?)```", (root / page).read_text(encoding="utf-8"), re.DOTALL)
        for page in ("README.md", "docs/architecture.md")
    ]
    assert drawings[0] is not None
    assert drawings[0].group(1) == drawings[1].group(1)


def test_the_documentation_names_every_module():
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for file in FILES:
        package = ".".join(file.relative_to(SOURCE).parent.parts)  # one in another is named so, too
        if file.name == "__init__.py" or package in ("", "cli"):
            continue
        rows = [line for line in page.splitlines() if f"`recveil.{package}`" in line[:60]]
        assert f"`{file.stem}`" in " ".join(rows), f"{package}/{file.name}"
