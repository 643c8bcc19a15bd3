import subprocess
import sys
import textwrap


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
