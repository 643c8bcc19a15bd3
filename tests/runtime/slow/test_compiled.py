import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("cache", [None, ""])
def test_without_a_home_nothing_is_kept_or_run_in_the_current_folder(tmp_path, cache):
    """An unpacked folder called ~ might hold a cache, which is run."""
    (tmp_path / "kernels.py").write_text(
        textwrap.dedent("""
        import os, pwd
        def unknown(number):
            raise KeyError(number)
        pwd.getpwuid = unknown
        from numba.core.caching import CacheImpl, UserWideCacheLocator
        CacheImpl._locator_classes = [UserWideCacheLocator]  # next to it, nothing can be written
        from recveil.runtime.compiled import compiled
        @compiled()
        def next(number):
            return number + 1
        assert next(1) == 2
        """)
    )
    (tmp_path / "here").mkdir()
    homes = ("HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    surroundings = {name: value for name, value in os.environ.items() if name not in homes}
    surroundings |= {} if cache is None else {"XDG_CACHE_HOME": cache}
    subprocess.run(
        [sys.executable, str(tmp_path / "kernels.py")],
        cwd=tmp_path / "here",
        env=surroundings,
        check=True,
    )
    assert list((tmp_path / "here").iterdir()) == []


def test_what_is_kept_can_be_written_by_no_other_user(tmp_path):
    """It is run; the library, too, is used where the umask is 0."""
    module = tmp_path / "kernels.py"
    module.write_text(
        "import os\nos.umask(0)\nfrom recveil.runtime.compiled import compiled\n"
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


def run_with(kept: Path, program: str) -> str:
    """Run lines in a process of its own, which keeps what it compiles in a folder."""
    surroundings = os.environ | {"NUMBA_CACHE_DIR": str(kept), "PYTHONHASHSEED": "0"}
    surroundings["PYTHONPATH"] = os.pathsep.join([str(kept.parent), str(SOURCE.parent)])
    line = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(line, env=surroundings, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def kept_by_two_processes(tmp_path) -> Path:
    """Two kernels, each compiled by another process; numba calls the helpers of both the same."""
    kernels = {
        "sorting": "numbers.sort()\n    return numbers",
        "order": "return np.argsort(numbers)",
    }
    for name, does in kernels.items():
        (tmp_path / f"{name}.py").write_text(
            "import numpy as np\nfrom recveil.runtime.compiled import compiled\n"
            f"@compiled()\ndef kernel(numbers):\n    {does}\n"
        )
        run_with(
            tmp_path / "kept",
            f"import numpy as np; from {name} import kernel; kernel(np.array([5, 3, 9], np.int32))",
        )
    return tmp_path / "kept"


@pytest.mark.parametrize("first", ["sorting", "order"])
def test_kernels_kept_by_two_processes_are_not_mixed_up(kept_by_two_processes, first):
    second = {"sorting": "order", "order": "sorting"}[first]
    shown = run_with(
        kept_by_two_processes,
        f"""
        import importlib, numpy as np
        for name in ("{first}", "{second}"):
            kernel = importlib.import_module(name).kernel
            found = kernel(np.array([5, 3, 9], np.int32)).tolist()
            print(name, found, sum(kernel.dispatcher.stats.cache_hits.values()))
        """,
    )
    result = {"sorting": "sorting [3, 5, 9] 1", "order": "order [1, 0, 2] 1"}
    assert shown.splitlines() == [result[first], result[second]]


def test_what_was_kept_under_counted_names_is_not_used(kept_by_two_processes):
    as_before = """
        import numpy as np
        from recveil.runtime import compiled as module
        module._forget_counted_helpers = lambda kernel: None
        from sorting import kernel
        kernel(np.array([5, 3, 9], np.int32))
        print(sum(kernel.dispatcher.stats.cache_hits.values()))
    """
    assert run_with(kept_by_two_processes, as_before) == "0\n"


def test_variants_saved_at_the_same_moment_are_not_mixed_up(tmp_path):
    """Numba would list both under one file, and read a strided array as if it had no gaps."""
    (tmp_path / "adding.py").write_text(
        "from recveil.runtime.compiled import compiled\n"
        "@compiled()\ndef kernel(numbers):\n    return numbers[0] + 10 * numbers[1]\n"
    )
    begin = "import numpy as np; from adding import kernel; numbers = np.arange(6)"
    # Both read the list of files while it is empty; the second one saves first.
    file = "kernel.dispatcher._cache._cache_file"
    second = f"{begin}; {file}._load_index = dict; kernel(numbers[::2])"
    first = f"""
        {begin}
        import subprocess, sys
        file = {file}
        save = file._save_data
        def wait_and_save(*data):
            subprocess.run([sys.executable, "-c", {second!r}], check=True)
            save(*data)
        file._save_data = wait_and_save
        print(kernel(numbers))
    """
    assert run_with(tmp_path / "kept", first) == "10\n"
    later = f"{begin}; print(kernel(numbers), kernel(numbers[::2]))"
    assert run_with(tmp_path / "kept", later) == "10 20\n"
