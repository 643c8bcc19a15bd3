"""What the fast and the slow tests of `test_examples.py` share."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

# Sections that need a library of `pip install '.[bench]'`; its cells are tagged with its name.
LIBRARIES = ("surprise", "implicit", "cornac")

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def printed(cell: nbformat.NotebookNode) -> str:
    return "".join(one["text"] for one in cell.outputs if one.get("name") == "stdout")


def assert_alike(found: str, shown: str) -> None:
    """The same words; numbers may differ as far as libraries of linear algebra do."""
    assert NUMBER.sub("#", found) == NUMBER.sub("#", shown), found
    numbers = [float(number) for number in NUMBER.findall(shown)]
    assert [float(number) for number in NUMBER.findall(found)] == pytest.approx(numbers, rel=0.05)


def run(notebook: nbformat.NotebookNode, folder: Path) -> None:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = [printed(cell) for cell in code]
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    for cell, text in zip(code, shown, strict=True):
        assert_alike(printed(cell), text)
