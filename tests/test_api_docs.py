"""The signatures in the docs are those of the code."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import recveil

ROOT = Path(__file__).parents[1]
PACKAGES = [module.name for module in pkgutil.iter_modules(recveil.__path__) if module.ispkg]
# A name, what stands between its brackets, and perhaps what it returns.
CALL = re.compile(r"([A-Za-z_][\w.]*)\((.*)\)(?: -> (\w+))?")
# docs/api.md says once that all groupings take it.
UNLISTED = {"random_state"}


def spans(text: str) -> list[str]:
    """Return what stands between backticks, but for blocks of code."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def find(name: str, package: str):
    """Return what a package of recveil calls by a name, dotted or not; None if nothing."""
    *modules, own = name.split(".")
    try:
        module = importlib.import_module(".".join(["recveil", package, *modules]))
    except ImportError:
        return None
    return getattr(module, own, None)


def signatures_of(package: str) -> list[str]:
    """Return the signatures in the first column of a package's section of docs/api.md."""
    text = (ROOT / "docs" / "api.md").read_text()
    section = re.search(rf"^## recveil\.{package}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    rows = section.group(1).splitlines() if section else []
    cells = [row.split(" | ")[0] for row in rows if row.startswith("|")]
    return [span for cell in cells for span in spans(cell) if CALL.fullmatch(span)]


def words_of_docs(arguments: str) -> list[str]:
    """Split what stands between the brackets; `*` and `...` are words, too."""
    # As the parameters of a function, but that it cannot have a "..." among them.
    marked = re.sub(r"\.\.\.", "*, etc_=..." if "*" not in arguments else "etc_=...", arguments)
    parsed = ast.parse(f"lambda {marked}: 0", mode="eval").body.args
    defaults = [None] * (len(parsed.args) - len(parsed.defaults)) + parsed.defaults
    words = [_word(*pair) for pair in zip(parsed.args, defaults, strict=True)]
    named = [_word(*pair) for pair in zip(parsed.kwonlyargs, parsed.kw_defaults, strict=True)]
    star = ["*"] if re.search(r"\*", arguments) else []
    return words + star + named


def _word(argument: ast.arg, default: ast.expr | None) -> str:
    if argument.arg == "etc_":
        return "..."
    return argument.arg if default is None else f"{argument.arg}={ast.literal_eval(default)!r}"


def words_of_code(function) -> list[str]:
    """Return the same for a function: its parameters with their defaults, and a `*`."""
    words = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in UNLISTED:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        if parameter.kind is parameter.VAR_KEYWORD:
            words.append("...")
        elif parameter.default is parameter.empty:
            words.append(name)
        else:
            words.append(f"{name}={parameter.default!r}")
    return words


def agree(docs: list[str], code: list[str]) -> bool:
    """Tell whether all words are the same, up to those that `...` stands for."""
    if "..." not in docs:
        return docs == code
    place = docs.index("...")
    before, after = docs[:place], docs[place + 1 :]
    enough = len(code) > len(before) + len(after)
    return enough and code[:place] == before and code[len(code) - len(after) :] == after


@pytest.mark.parametrize(
    ("package", "signature"),
    [(package, signature) for package in PACKAGES for signature in signatures_of(package)],
)
def test_a_signature_in_api_md_is_that_of_the_code(package, signature):
    name, arguments, returned = CALL.fullmatch(signature).groups()
    function = find(name, package)
    assert function is not None, f"recveil.{package} has no {name}"
    assert agree(words_of_docs(arguments), words_of_code(function)), words_of_code(function)
    if returned:
        annotation = inspect.signature(function).return_annotation
        assert returned in (annotation, getattr(annotation, "__name__", None))


def test_every_package_that_others_import_has_signatures_in_api_md():
    listed = {package for package in PACKAGES if signatures_of(package)}
    assert listed == {
        *("anonymize", "compare", "evaluate", "group", "inspect", "predict", "spark", "verify"),
        "workbench",
    }


@pytest.mark.parametrize(
    "page",
    [page for page in sorted(ROOT.glob("docs/**/*.md")) if page.name != "api.md"],
    ids=lambda page: page.name,
)
def test_calls_in_other_documents_name_parameters_that_exist(page):
    for span in spans(page.read_text()):
        match = CALL.fullmatch(span)
        named = [find(match.group(1), package) for package in PACKAGES] if match else []
        for function in filter(callable, named):
            parameters = inspect.signature(function).parameters
            for keyword in re.findall(r"(\w+)=", match.group(2)):
                assert keyword in parameters, span


@pytest.mark.parametrize(
    ("docs", "code", "same"),
    [
        ("X, n=24, anneal=0.6", ["X", "n=24", "anneal=0.6"], True),
        ("X, n=20, anneal=1.0", ["X", "n=24", "anneal=0.6"], False),
        ("X", ["X", "n=24"], False),
        ("X, *, b='a', ...", ["X", "*", "b='a'", "c=1", "..."], True),
        ("X, ..., c=1", ["X", "*", "b='a'", "c=1"], True),
        ("X, ..., c=2", ["X", "*", "b='a'", "c=1"], False),
        ("X, b='a'", ["X", "*", "b='a'"], False),
        ("X, ...", ["X"], False),
    ],
)
def test_the_comparison_itself(docs, code, same):
    assert agree(words_of_docs(docs), code) == same
