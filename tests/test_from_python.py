"""The Python of docs/inputs.md runs."""

import re
from pathlib import Path

from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.ratings import RatingScale

PAGE = (Path(__file__).parents[1] / "docs" / "inputs.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made = make_ratings(
        n_users=40, n_items=20, n_ratings=400, seed=1, scale=RatingScale(0.5, 4.5, 0.5)
    )
    write_ratings(made, "ratings.csv")
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, "docs/inputs.md", "exec"), {})
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "40"
    assert second.startswith("Ratings(2 users × 3 items, 4 ratings")
