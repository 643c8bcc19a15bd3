"""The notebooks of examples/ run from their top to their end, and print what stands in them."""

import re
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest

from shared.examples import LIBRARIES, printed, run

EXAMPLES = Path(__file__).parents[1] / "examples"


def cells_of(name: str, library: str = "") -> nbformat.NotebookNode:
    """Return a notebook without the sections of other libraries."""
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    others = {f"needs-{other}" for other in LIBRARIES} - {f"needs-{library}"}
    notebook.cells = [
        cell for cell in notebook.cells if not others & set(cell.metadata.get("tags", ()))
    ]
    return notebook


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("library", LIBRARIES)
def test_from_a_release_to_recommenders(library, tmp_path):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed: pip install '.[bench]' runs its section, too")
    run(cells_of("recommenders.ipynb", library), tmp_path)


def test_every_section_of_a_library_is_tagged():
    """A cell that imports a library which is not always there must be left out without it."""
    for cell in nbformat.read(EXAMPLES / "recommenders.ipynb", as_version=4).cells:
        for library in LIBRARIES:
            if re.search(rf"^from {library}\b", cell.source, re.MULTILINE):
                assert cell.metadata.tags == [f"needs-{library}"]


@pytest.mark.parametrize("name", ["release.ipynb", "recommenders.ipynb"])
def test_a_notebook_shows_what_it_printed_and_nothing_of_a_machine(name):
    text = (EXAMPLES / name).read_text("utf-8")
    assert "/tmp/" not in text
    assert "/home/" not in text
    code = [cell for cell in cells_of(name).cells if cell.cell_type == "code"]
    for cell in code:
        assert bool(printed(cell)) == ("print(" in cell.source), cell.source
