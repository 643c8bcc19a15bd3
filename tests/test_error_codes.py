"""Every error has a stable code, and the reference lists every code."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "recveil"
ERRORS = {"RecveilError", "MachineError", "MemoryLimitError"}
# How many errors of each package have no code yet. The numbers may only fall.
WITHOUT_CODE = {
    "anonymize": 120,
    "attack": 40,
    "audit": 25,
    "beside": 5,
    "compare": 31,
    "databases": 11,
    "datasets": 7,
    "decoding": 9,
    "devices": 2,
    "evaluate": 31,
    "group": 12,
    "io": 156,
    "memory": 2,
    "predict": 10,
    "publish": 60,
    "ratings": 103,
    "release": 32,
    "verify": 40,
}


def _errors() -> Iterator[tuple[Path, ast.Call, ast.expr | None]]:
    """Yield each place that makes an error, with the expression of its code."""
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
                code = [word.value for word in node.keywords if word.arg == "code"]
                yield file.relative_to(SOURCE), node, code[0] if code else None


def _constants(code: ast.expr) -> list[str]:
    """Return the codes that an expression may have; none if another error's code goes on."""
    if isinstance(code, ast.IfExp):
        return [*_constants(code.body), *_constants(code.orelse)]
    return [str(code.value)] if isinstance(code, ast.Constant) else []


def _package(file: Path) -> str:
    return file.parts[0].removesuffix(".py")


def test_every_error_has_a_code():
    missing = Counter(_package(file) for file, _, code in _errors() if code is None)
    assert missing == WITHOUT_CODE


def test_a_code_is_a_constant_or_that_of_another_error():
    for file, node, code in _errors():
        of_another = isinstance(code, ast.Attribute | ast.Name | ast.Subscript)
        assert code is None or of_another or _constants(code), f"{file}:{node.lineno}"


def test_the_reference_lists_every_code():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([^`]*)` \|", page, re.MULTILINE)
    used = {each for *_, code in _errors() if code is not None for each in _constants(code)}
    used |= {"column.order"}  # of UnknownOrderError
    assert listed == sorted(used)
    assert all(re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", code) for code in used)
