"""Every error has a stable code, and the reference lists every code.

`error_messages.txt` is the snapshot of all messages, to be read as prose in a review; no other test
compares words. `python tests/test_error_codes.py` writes it anew.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "recveil"
MESSAGES = Path(__file__).with_name("error_messages.txt")
ERRORS = {"RecveilError", "MachineError", "MemoryLimitError"}


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


def _handed_on() -> set[str]:
    """Return the codes that functions are given for the error that they raise."""
    return {
        str(word.value.value)
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for word in getattr(node, "keywords", [])
        if word.arg == "code" and isinstance(getattr(word.value, "value", None), str)
    }


def test_every_error_has_a_code():
    assert [f"{file}:{node.lineno}" for file, node, code in _errors() if code is None] == []


def test_a_code_is_a_constant_or_that_of_another_error():
    for file, node, code in _errors():
        of_another = isinstance(code, ast.Attribute | ast.Name | ast.Subscript)
        assert code is None or of_another or _constants(code), f"{file}:{node.lineno}"


def test_the_reference_lists_every_code():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([^`]*)` \|", page, re.MULTILINE)
    used = {each for *_, code in _errors() if code is not None for each in _constants(code)}
    used |= _handed_on() | {"column.order"}  # of UnknownOrderError
    assert listed == sorted(used)
    assert all(re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", code) for code in used)


def _template(message: ast.expr) -> str:
    """Write a message with the expressions in it in braces."""
    if isinstance(message, ast.Constant):
        return str(message.value)
    if isinstance(message, ast.JoinedStr):
        return "".join(map(_template, message.values))
    if isinstance(message, ast.BinOp):
        return _template(message.left) + _template(message.right)
    if isinstance(message, ast.FormattedValue):
        return f"{{{ast.unparse(message.value)}}}"
    return f"{{{ast.unparse(message)}}}"


def _messages() -> str:
    lines = []
    for _, node, code in _errors():
        if code is not None and node.args:
            text = " ".join(_template(node.args[0]).split())
            lines.append(f"{'/'.join(_constants(code)) or ast.unparse(code)}: {text}\n")
    return "".join(sorted(lines))


def test_messages_are_those_that_were_reviewed():
    assert MESSAGES.read_text(encoding="utf-8").splitlines() == _messages().splitlines(), (
        "read the new messages, and write them by: python tests/test_error_codes.py"
    )


if __name__ == "__main__":
    MESSAGES.write_text(_messages(), encoding="utf-8")
