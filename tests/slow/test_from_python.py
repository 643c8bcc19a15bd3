"""The Python of README.md, docs/how-to/inputs.md and docs/api.md runs."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def run(page):
    """Run each example of a page by itself."""
    examples = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, page, "exec"), {})


def test_the_examples_of_the_library_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("api.md")
    assert (tmp_path / "frontier.svg").read_text().startswith("<svg")
