import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import recveil

SOURCE = Path(recveil.__file__).parent


def test_without_a_place_for_its_cache_everything_still_runs():
    # What numba says in a container where neither package nor home can be written.
    program = """
        from numba.core import caching
        def nowhere(self, *_):
            raise RuntimeError("cannot cache function: no locator available")
        caching.CacheImpl.__init__ = nowhere
        from recveil.datasets import make_ratings
        print(make_ratings(10, 10, 30).n_ratings)
    """
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert finished.stdout == "30\n"


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


def test_no_kernel_lost_its_compiler():
    """Without it the result is the same, and Netflix's size takes hours."""
    plain = []
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and _nested_loops(node):
                names = {getattr(getattr(d, "func", d), "id", "") for d in node.decorator_list}
                if "compiled" not in names:
                    plain.append(f"{file.relative_to(SOURCE)}: {node.name}")
    assert plain == ["attack/closest.py: find_nearest"]  # a step passes over all records
