"""What the fast and the slow tests of `test_pipes.py` share."""

import io
import sys

import pytest


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files that is empty again at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def standard_input(monkeypatch):
    def give(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return "-"

    return give
