import ast
import os
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


def test_what_is_kept_can_be_written_by_nobody_else(tmp_path):
    """It is run; the library, too, is used where the umask is 0."""
    module = tmp_path / "kernels.py"
    module.write_text(
        "import os\nos.umask(0)\nfrom recveil.compiled import compiled\n"
        "@compiled()\ndef twice(number):\n    return 2 * number\n"
        "assert twice(4) == 8\nassert os.umask(0) == 0\n"
    )
    kept = tmp_path / "cache" / "deep"
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(kept)}
    subprocess.run([sys.executable, str(module)], env=surroundings, check=True)
    made = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert {path.suffix for path in made} == {".nbi", ".nbc"}
    for path in (tmp_path / "cache", *(tmp_path / "cache").rglob("*")):
        assert path.stat().st_mode & 0o022 == 0, path


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
