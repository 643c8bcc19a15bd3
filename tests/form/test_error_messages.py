"""Every error has a stable code, and its message names what its reader can type.

`error_messages.txt` is the snapshot of all messages, to be read as prose in a review; no other test
compares words. `python tests/form/test_error_messages.py` writes it anew.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from recveil.cli import app
from recveil.methods.components import GROUPINGS, LEVEL_GROUPINGS
from recveil.predict import FunkSVD, ItemMean, UserKNN
from recveil.runtime.errors import MOST_CHARACTERS
from repository import DOCS, MODULES, SOURCE, name_of, nodes_of, text_of

MESSAGES = Path(__file__).with_name("error_messages.txt")
ERRORS = {"RecveilError", "MachineError", "MemoryLimitError"}
# What the command line prints, names its options.
TERMINAL = {"cli", "terminal.py"}
LIBRARY = [file for file in MODULES if TERMINAL.isdisjoint(file.relative_to(SOURCE).parts)]
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
# A flag within a command that is to be typed needs no name in Python.
COMMAND = re.compile(
    r"recveil (audit|anonymize|verify|evaluate|compare|convert|demo) [^.;]*|mysql --batch"
)
# A command of another verb may name that verb's options.
ANY_COMMAND = re.compile(r"recveil [a-z]+ [^;,.]*")


def _errors() -> Iterator[tuple[Path, ast.Call, ast.expr | None]]:
    """Yield each place that makes an error, with the expression of its code."""
    for file in MODULES:
        for node in nodes_of(file):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
                code = [word.value for word in node.keywords if word.arg == "code"]
                yield file, node, code[0] if code else None


def _constants(code: ast.expr) -> list[str]:
    """Return the codes that an expression may have; none if another error's code goes on."""
    if isinstance(code, ast.IfExp):
        return [*_constants(code.body), *_constants(code.orelse)]
    return [str(code.value)] if isinstance(code, ast.Constant) else []


def _handed_on() -> set[str]:
    """Return the codes that functions are given for the error that they raise."""
    return {
        str(word.value.value)
        for file in MODULES
        for node in nodes_of(file)
        for word in getattr(node, "keywords", [])
        if word.arg == "code" and isinstance(getattr(word.value, "value", None), str)
    }


def test_every_error_has_a_code_that_the_reference_lists():
    found, used = [], _handed_on() | {"column.order"}  # of UnknownOrderError
    for file, node, code in _errors():
        of_another = isinstance(code, ast.Attribute | ast.Name | ast.Subscript)
        if code is None or not (of_another or _constants(code)):
            found.append(f"{name_of(file)}:{node.lineno}: no code, or none that is constant")
        else:
            used.update(_constants(code))
    found += [code for code in used if not re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", code)]
    assert found == []
    page = text_of(DOCS / "reference" / "errors.md")
    assert re.findall(r"^- `([^`]*)`: ", page, re.MULTILINE) == sorted(used)


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
        "read the new messages, and write them by: python tests/form/test_error_messages.py"
    )


def test_no_message_of_an_option_or_table_names_a_class():
    """Codes that begin with "argument" are of what Python alone can pass."""
    components = (*GROUPINGS.values(), *LEVEL_GROUPINGS.values(), FunkSVD, ItemMean, UserKNN)
    classes = "|".join([*(each.__name__ for each in components), "TrustKNN", "__name__"])
    found = [
        line
        for line in _messages().splitlines()
        if re.search(rf"\b({classes})\b", line) and not line.startswith("argument.")
    ]
    # The name of an error of the network library
    assert [line for line in found if not line.startswith("machine.network")] == []


def _texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield every text that is no docstring; of what is filled in, a gap."""
    nodes = tuple(nodes)
    docstrings = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    within = {
        id(part)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    # The help of an option is read on the command line alone.
    helps = {
        id(part)
        for node in nodes
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Option"
        for part in ast.walk(node)
    }
    for node in nodes:
        if id(node) in docstrings | within | helps:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _flags_without_a_parameter(text: str) -> list[str]:
    """Return the flags in a text that does not name the parameter, too."""
    said = COMMAND.sub("", text)
    words = FLAG.sub("", said)
    flags = FLAG.findall(said) if " " in text.partition(", ")[0] else []
    names = {flag: flag.removeprefix("--").replace("-", "_") for flag in flags}
    return [flag for flag in flags if not re.search(rf"(?<![\w-]){names[flag]}", words)]


def test_texts_of_the_library_name_the_parameter_next_to_the_flag():
    found = [
        f"{name_of(file)}: {flag} in {text!r}"
        for file in LIBRARY
        for text in _texts(nodes_of(file))
        for flag in _flags_without_a_parameter(text)
    ]
    # What verify says names its own options; tests/cli/test_named_options.py looks at messages.
    options = {
        name for of in typer.main.get_command(app).commands["verify"].params for name in of.opts
    }
    found += [
        f"{name_of(file)}: {flag}"
        for file in sorted((SOURCE / "verification").glob("*.py"))
        for flag in FLAG.findall(ANY_COMMAND.sub("", text_of(file)))
        if flag not in options
    ]
    assert found == []


def test_what_is_always_said_leaves_room_for_what_is_filled_in():
    found = []
    for file, node, _ in _errors():
        if file in LIBRARY and node.args:
            message = "".join(_texts(ast.walk(node.args[0])))
            if len(message) + 10 * message.count("{}") > MOST_CHARACTERS:
                found.append(f"{name_of(file)}:{node.lineno}: {message}")
    assert found == []


if __name__ == "__main__":
    MESSAGES.write_text(_messages(), encoding="utf-8")
