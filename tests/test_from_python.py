"""The Python of README.md, docs/how-to/inputs.md and docs/api.md runs."""

import re
from pathlib import Path

from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.ratings import RatingScale

DOCS = Path(__file__).parents[1] / "docs"


def run(page):
    """Run each example of a page by itself."""
    examples = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, page, "exec"), {})


def test_the_examples_of_inputs_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made = make_ratings(
        n_users=40, n_items=20, n_ratings=400, seed=1, scale=RatingScale(0.5, 4.5, 0.5)
    )
    write_ratings(made, "ratings.csv")
    run("how-to/inputs.md")
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "40"
    assert second.startswith("Ratings(2 users × 3 items, 4 ratings")


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run("../README.md")
    assert capsys.readouterr().out == "True 5\n"
