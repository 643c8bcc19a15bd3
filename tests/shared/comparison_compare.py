"""What the fast and the slow tests of `test_compare.py` share."""

import pytest

from recveil.comparison import compare


@pytest.fixture
def run(invented, tmp_path, evaluator):
    """Compares two ks of two methods, and a baseline: five settings."""
    assert not evaluator.judged

    def run(**changes):
        settings = {"methods": ["simple", "padded", "raw"], "k": [3, 5], "targets": 50}
        return compare(invented, tmp_path / "out", **{**settings, **changes})

    return run


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))
