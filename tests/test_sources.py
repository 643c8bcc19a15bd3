"""Every verb that reads a table takes a path, Ratings, or a data frame."""

from pathlib import Path

import pandas as pd
import pytest

from recveil.anonymize import anonymize
from recveil.audit import audit, selftest
from recveil.compare import compare
from recveil.datasets import make_ratings
from recveil.errors import RecveilError
from recveil.evaluate import evaluate
from recveil.io import convert, understand, write_ratings
from recveil.ratings import Ratings, RatingScale

STARS = RatingScale(1, 5, 1)
MADE = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=4)


@pytest.fixture(params=["path", "text", "ratings", "pandas", "arrow"])
def source(request, tmp_path: Path):
    """The same ratings in every shape."""
    table = MADE.to_arrow()
    if request.param in ("path", "text"):
        write_ratings(MADE, tmp_path / "ratings.parquet")
        path = tmp_path / "ratings.parquet"
        return path if request.param == "path" else str(path)
    return {"ratings": MADE, "pandas": table.to_pandas(), "arrow": table}[request.param]


def test_every_verb_takes_it(source, tmp_path: Path):
    scale = {} if isinstance(source, Ratings) else {"scale": STARS}
    made = anonymize(source, tmp_path / "out", k=4, seed=1, **scale)
    assert made.ratings.n_ratings == MADE.n_ratings
    assert made.verification.holds
    found = audit(source, targets=5, curves=False, release=tmp_path / "out", **scale)
    assert found.ratings.n_users == 60
    assert len(selftest(source, **scale)) == 4
    quick = {"targets": 5, "with_membership": False}
    judged = evaluate(tmp_path / "out", source, split=0.3, **quick, **scale)
    assert judged.readings[0].ratings.n_ratings == MADE.n_ratings
    compared = compare(source, tmp_path / "comparison", methods=["raw"], targets=5, **scale)
    assert compared.ratings.n_users == 60
    assert convert(source, tmp_path / "other.csv", **scale).ratings.n_users == 60


def test_the_same_release_from_each(tmp_path: Path):
    frame = MADE.to_arrow().to_pandas()
    anonymize(frame, tmp_path / "a", k=4, seed=1, scale=STARS)
    anonymize(MADE, tmp_path / "b", k=4, seed=1)
    classes = [(tmp_path / name / "classes.csv").read_text() for name in "ab"]
    assert classes[0] == classes[1]


@pytest.mark.parametrize("option", [{"scale": STARS}, {"user": "user_id"}, {"format": "csv"}])
def test_what_means_nothing_for_finished_ratings_is_refused(option):
    (name,) = option
    with pytest.raises(RecveilError, match=f"{name}: given for ratings that were read already"):
        understand(MADE, **option)


def test_what_is_no_source_is_refused_by_its_kind():
    with pytest.raises(RecveilError, match="got list"):
        understand([1, 2, 3])
    with pytest.raises(RecveilError, match="no user column"):
        understand(pd.DataFrame({"a": [1], "b": [2]}))
