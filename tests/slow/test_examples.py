"""The notebooks of examples/ run from their top to their end, and print what stands in them."""

from pathlib import Path

import nbformat
import pytest

from shared.examples import LIBRARIES, run

EXAMPLES = Path(__file__).parents[2] / "examples"


def cells_of(name: str, library: str = "") -> nbformat.NotebookNode:
    """Return a notebook without the sections of other libraries."""
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    others = {f"needs-{other}" for other in LIBRARIES} - {f"needs-{library}"}
    notebook.cells = [
        cell for cell in notebook.cells if not others & set(cell.metadata.get("tags", ()))
    ]
    return notebook


@pytest.mark.filterwarnings("default")  # what Jupyter warns of is not ours
def test_from_ratings_to_a_release(tmp_path):
    run(cells_of("release.ipynb"), tmp_path)
