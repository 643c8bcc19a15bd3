"""The layers of docs/appendix/architecture.md, and the size of modules."""

import ast
import graphlib
import io
import re
import tokenize
from pathlib import Path

from repository import DOCS, MODULES, SOURCE, name_of, nodes_of, text_of

# A package imports packages of lower layers only; none of the same layer.
LAYERS = {
    "runtime": 0,
    **dict.fromkeys(["charts", "ratings"], 1),
    **dict.fromkeys(["io", "predict", "clustering"], 2),
    "release": 3,
    **dict.fromkeys(["datasets", "inspection", "verification", "attacks"], 4),
    "publish": 5,
    "methods": 6,
    **dict.fromkeys(["auditing", "demo"], 7),
    "evaluation": 8,
    "comparison": 9,
    "report": 10,
    **dict.fromkeys(["precompilation", "spark", "workbench"], 11),
    "cli": 12,
    "__main__": 13,
}
FILES = [file for file in MODULES if file != SOURCE / "__init__.py"]


def _package_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def _packages_imported(file: Path) -> set[str]:
    """Return the packages of recveil that a file imports, wherever in the file."""
    found = set()
    for node in nodes_of(file):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("recveil."):
            found.add(node.module.split(".")[1])
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("recveil.")}
    return found


def _modules_imported(file: Path, names: set[str]) -> set[str]:
    """Return the modules of recveil that a file imports, those for type checking included."""
    found = set()
    for node in nodes_of(file):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{a.name}" for a in node.names} | {node.module}
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
    return found & names


def _lines_of_code(file: Path) -> int:
    """Count the lines that hold code: no docstring, comment or blank line."""
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text_of(file)).readline):
        if token.type not in (*blank, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in nodes_of(file):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def _nested_loops(function: ast.FunctionDef) -> bool:
    """Say whether a function goes through numbers in a loop within a loop."""

    def is_count(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.For)
            and isinstance(node.iter, ast.Call)
            and getattr(node.iter.func, "id", "") in ("range", "prange")
        )

    return any(
        is_count(inner) and inner is not outer
        for outer in ast.walk(function)
        if is_count(outer)
        for inner in ast.walk(outer)
    )


def test_files_import_lower_layers_only():
    assert {_package_of(file) for file in FILES} == set(LAYERS)
    assert LAYERS["verification"] < LAYERS["methods"]
    found = [
        f"{name_of(file)} imports recveil.{other}"
        for file in FILES
        for other in sorted(_packages_imported(file) - {_package_of(file)})
        if LAYERS[other] >= LAYERS[_package_of(file)]
    ]
    # A constructor belongs to its class: `Ratings.from_frame` reads columns when it is called.
    assert found == ["src/recveil/ratings/ratings.py imports recveil.io"]


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


def test_no_module_has_more_than_800_lines_of_code():
    long = [file for file in FILES if text_of(file).count("\n") > 800]
    assert [name_of(file) for file in long if _lines_of_code(file) > 800] == []


def test_no_kernel_lost_its_compiler():
    """Without it the result is the same, and Netflix's size takes hours."""
    plain = []
    for file in MODULES:
        for node in nodes_of(file):
            if isinstance(node, ast.FunctionDef) and _nested_loops(node):
                names = {getattr(getattr(d, "func", d), "id", "") for d in node.decorator_list}
                if "compiled" not in names:
                    plain.append(f"{file.relative_to(SOURCE)}: {node.name}")
    assert plain == [
        "attacks/reidentification/likelihood.py: _find_nearest",  # a step passes over all records
        "io/columns/original_rows.py: _places",  # the words of one id
    ]


def test_the_documentation_lists_the_same_layers():
    page, drawn = text_of(DOCS / "appendix" / "architecture.md"), {}
    for floor, packages in re.findall(r"^\| (\d+) \| ([^|]*) \|", page, re.MULTILINE):
        drawn |= dict.fromkeys(re.findall(r"recveil\.(\w+)", packages), int(floor))
    assert drawn == {name: floor for name, floor in LAYERS.items() if name != "__main__"}
