"""The lines on a data card: they run, and hold out whole equivalence classes."""

import json
import re

import pandas as pd
import pytest

from recveil import anonymize
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer


def run_card(folder, monkeypatch):
    """Execute the indented lines on how to train and evaluate."""
    monkeypatch.chdir(folder)
    card = (folder / "README.md").read_text().partition("## How to train")[2]
    lines = re.findall(r"(?m)^    (.*)$", card)
    names: dict = {}
    exec("\n".join(lines), names)
    return names


@pytest.mark.parametrize(
    ("anonymizer", "layout"),
    [
        (SparseRows(5, seed=1), "users"),
        (SparseRows(5, seed=1), "groups"),
        (PredictiveAnonymizer(5, homogenize="simple", seed=1), "users"),
        (KCoRater(5, "item-mean", seed=1), "users"),
    ],
)
def test_no_class_is_on_both_sides(invented, tmp_path, monkeypatch, anonymizer, layout):
    made = anonymizer.anonymize(invented)
    made.write(tmp_path / "out", layout=layout)
    names = run_card(tmp_path / "out", monkeypatch)
    key = ["item_id"] if made.claim.about.is_of_items else ["item_id", "rating"]

    def rows_of(table):
        return set(table.groupby("user_id")[key].agg(tuple).itertuples(index=False, name=None))

    train, test = names["train"], names["test"]
    assert len(train) + len(test) == len(pd.read_parquet("ratings.parquet"))
    assert len(train) > len(test) > 0
    assert not rows_of(train) & rows_of(test)


def test_the_card_of_synthetic_users_reads_them(invented, tmp_path, monkeypatch):
    Synthesizer(None, seed=1).anonymize(invented).write(tmp_path / "out")
    assert len(run_card(tmp_path / "out", monkeypatch)["ratings"])


@pytest.mark.parametrize("promise", [{"k": 5}, {"epsilon": 20, "scale": "1:5:1"}])
def test_the_size_of_the_table_is_in_the_private_folder_alone(invented, tmp_path, promise):
    made = anonymize(invented, tmp_path / "out", **promise)
    private = json.loads((tmp_path / "out.private" / "private.json").read_text())
    coverage = made.summary.coverage._asdict()
    assert private["coverage"] == {name: coverage[name] for name in private["coverage"]}
    assert "rating_share" not in (tmp_path / "out" / "release.json").read_text()
