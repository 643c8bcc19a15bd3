"""One of each: a table with one user, item or rating is reported in the singular."""

import re

import pytest

from shared.cli_one_of_each import (
    TABLES,
    said,  # noqa: F401 (fixtures)
)

OPTIONS = {
    "plain": [],
    "named": ["--drop-off-scale", "--scale", "1:5:1", "--duplicates", "last"],
    "likes": ["--likes", "--duplicates", "last"],
}

PLURALS = (
    *("users", "items", "ratings", "rows", "values", "people", "persons", "lines", "files", "days"),
    *("records", "groups", "columns", "likes", "labels", "words", "levels", "cells", "clusters"),
    *("ids", "members", "strangers", "sets", "times", "releases", "settings"),
)

SINGULARS = ("user", "item", "rating", "row", "person", "record", "like", "label", "cell", "word")

WRONG = re.compile(
    rf"\b1 ({'|'.join(PLURALS)})\b|\b(\d{{2,}}|[2-9]|[\d,]+,\d{{3}}) ({'|'.join(SINGULARS)})\b"
    r"|\b(\d+) and (\d+) (person|people) used"
)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("table", TABLES)
def test_what_is_one_is_not_said_to_be_several(tmp_path, said, table, options):
    path, given = tmp_path / "ratings.csv", OPTIONS[options]
    path.write_text("\n".join(["user,item,rating", *TABLES[table], ""]))
    predictive = ("--k", "2", "--method", "predictive")
    runs = [
        ["inspect", path, *given],
        ["audit", path, *given],
        ["convert", path, tmp_path / "r.parquet", *given],
        ["anonymize", path, *predictive, "--dry-run", *given],
        ["anonymize", path, "-o", tmp_path / "padded", *predictive, *given],
        ["anonymize", path, "-o", tmp_path / "s", "--k", "2", *given],
        ["anonymize", path, "-o", tmp_path / "co", "--k", "2", "--method", "k-corating", *given],
        ["anonymize", path, "-o", tmp_path / "drawn", "--epsilon", "9", *given],
        ["verify", path, "--k", "2"],
        ["verify", tmp_path / "padded", "--links"],
        ["verify", tmp_path / "co"],
        ["describe", tmp_path / "co", tmp_path / "card.md"],
    ]
    for words in runs:
        result = said(*words)
        assert "bug in recveil" not in result, result
        wrong = WRONG.search(result)
        assert wrong is None, result[max(0, wrong.start() - 80) : wrong.end() + 40]
