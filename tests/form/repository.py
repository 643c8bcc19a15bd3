"""The files of the repository, each parsed once."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "recveil"
MODULES = sorted(SOURCE.rglob("*.py"))
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


@functools.cache
def text_of(file: Path) -> str:
    """Return the text of a file."""
    return file.read_text(encoding="utf-8")


@functools.cache
def tree_of(file: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(text_of(file))


@functools.cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    """Return every node of a module, in the order of `ast.walk`."""
    return tuple(ast.walk(tree_of(file)))


def name_of(file: Path) -> str:
    """Return the path of a file as findings write it."""
    return file.relative_to(ROOT).as_posix()
