"""An unknown keyword is rejected in the name of the verb that was called."""

import pyarrow as pa
import pytest
from pyarrow import csv

from recveil.auditing import audit, selftest
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.io import understand
from recveil.methods import anonymize
from recveil.publish import convert

RATINGS = make_ratings(n_users=30, n_items=20, n_ratings=300, seed=1)
CALLS = {
    "audit": lambda folder, **given: audit(RATINGS, **given),
    "selftest": lambda folder, **given: selftest(RATINGS, **given),
    "anonymize": lambda folder, **given: anonymize(RATINGS, folder / "out", k=3, **given),
    "compare": lambda folder, **given: compare(RATINGS, folder / "out", **given),
    "evaluate": lambda folder, **given: evaluate(folder, RATINGS, split=0.2, **given),
    "convert": lambda folder, **given: convert(RATINGS, folder / "out.csv", **given),
}


@pytest.mark.parametrize("verb", CALLS)
@pytest.mark.parametrize("keyword", ["colour", "user_files"])
def test_the_error_names_the_verb_and_the_keyword(verb, keyword, tmp_path):
    result = rf"^{verb}\(\) got an unexpected keyword argument '{keyword}'$"
    with pytest.raises(TypeError, match=result):
        CALLS[verb](tmp_path, **{keyword: 7})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ["file", "frame"])
def test_columns_that_are_not_read_are_named_and_lost_dates_noted(source, tmp_path):
    rows = [
        (f"u{u}", f"i{i}", 1 + (u + i) % 5, "2020-01-02", "x") for u in range(30) for i in range(6)
    ]
    names = ["user", "item", "rating", "created_at", "shop"]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)})
    if source == "file":
        csv.write_csv(table, tmp_path / "r.csv")
        table = tmp_path / "r.csv"
    reading = anonymize(table, tmp_path / "out", k=5, method="k-corating", seed=1).reading
    assert sorted(reading.unread) == ["shop"]
    assert "'created_at'" in reading.notes[-1]
    assert "'shop'" not in reading.notes[-1]
    assert understand(table).unread == ("shop",)
