"""Every verb that reads a table takes a path, Ratings, or any table in memory."""

from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv
from scipy import sparse

from error_assertions import raises
from recveil.auditing import audit, selftest
from recveil.datasets import make_ratings
from recveil.io import understand, write_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError

pytestmark = pytest.mark.usefixtures("few_recommenders")

STARS = RatingScale(1, 5, 1)

GENERATED = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=4)
# Labels are places, from 0 on, as those of a matrix are.
MADE = Ratings.from_columns(
    GENERATED.user_positions(), GENERATED.indices, GENERATED.values, scale=STARS
)


class OnlyTheInterchangeProtocol:
    """What some libraries have that do not speak Arrow."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, **options):
        return self.table.__dataframe__(**options)


class OnlyTheArray:
    """One batch of Arrow's, as its C interface hands it over."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


def of_surprise(table):
    surprise = pytest.importorskip("surprise", reason="scikit-surprise is not installed")
    frame = table.to_pandas()
    return surprise.Dataset.load_from_df(frame, surprise.Reader(rating_scale=(1, 5)))


def of_cornac(table):
    data = pytest.importorskip("cornac.data", reason="cornac is not installed")
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return data.Dataset.from_uir(rows)


def matrix_of(table, kind=sparse.csr_array):
    users, items, ratings = (column.to_numpy() for column in table.columns)
    return kind(sparse.coo_array((ratings, (users, items))))


# What holds the same ratings: each made of an Arrow table, in a folder that it may use.
KINDS = {
    "path": lambda table, folder: folder / "ratings.csv",
    "text": lambda table, folder: str(folder / "ratings.csv"),
    "ratings": lambda table, folder: MADE,
    "pandas": lambda table, folder: table.to_pandas(),
    "pyarrow table": lambda table, folder: table,
    "pyarrow batch": lambda table, folder: table.combine_chunks().to_batches()[0],
    "pyarrow reader": lambda table, folder: table.to_reader(),
    "arrow array": lambda table, folder: OnlyTheArray(table.combine_chunks().to_batches()[0]),
    "interchange": lambda table, folder: OnlyTheInterchangeProtocol(table),
    "polars": lambda table, folder: pl.from_arrow(table),
    "polars, lazy": lambda table, folder: pl.scan_csv(folder / "ratings.csv"),
    "duckdb": lambda table, folder: duckdb.from_arrow(table),
    "csr array": lambda table, folder: matrix_of(table),
    "csc matrix": lambda table, folder: matrix_of(table, sparse.csc_matrix),
    "coo matrix": lambda table, folder: matrix_of(table, sparse.coo_matrix),
    "dok array": lambda table, folder: matrix_of(table, sparse.dok_array),
    "surprise data set": lambda table, folder: of_surprise(table),
    "surprise training set": lambda table, folder: of_surprise(table).build_full_trainset(),
    "cornac data set": lambda table, folder: of_cornac(table),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A folder with the CSV, and with a release of it."""
    folder = tmp_path_factory.mktemp("plain")
    write_ratings(MADE, folder / "ratings.csv")
    anonymize(folder / "ratings.csv", folder / "out", k=4, seed=1, scale=STARS)
    return folder


def reading_of(kind):
    """Return what has to be said of a source: which way a matrix is to be taken, too."""
    if kind == "ratings":
        return {}
    is_matrix = kind.endswith(("array", "matrix")) and "arrow" not in kind
    return {"scale": STARS} | ({"user": "row", "item": "column"} if is_matrix else {})


class TestEveryKind:
    @pytest.mark.parametrize("kind", KINDS)
    def test_gives_the_same_ratings(self, kind, plain):
        source = KINDS[kind](MADE.to_arrow(), plain)
        assert understand(source, **reading_of(kind)).ratings == MADE


def test_the_same_release_from_each(tmp_path: Path):
    frame = MADE.to_arrow().to_pandas()
    anonymize(frame, tmp_path / "a", k=4, seed=1, scale=STARS)
    anonymize(MADE, tmp_path / "b", k=4, seed=1)
    classes = [(tmp_path / name / "classes.csv").read_text() for name in "ab"]
    assert classes[0] == classes[1]


@pytest.mark.parametrize("option", [{"scale": STARS}, {"user": "user_id"}, {"format": "csv"}])
def test_what_means_nothing_for_finished_ratings_is_refused(option):
    (name,) = option
    with raises("option.unsupported", name):
        understand(MADE, **option)


def test_what_is_no_source_is_refused_by_its_kind():
    with raises("argument.type", "list"):
        understand([1, 2, 3])
    with raises("argument.type", "ndarray", "2"):
        understand(np.eye(3))
    with raises("column.missing", "user"):
        understand(pd.DataFrame({"a": [1], "b": [2]}))


@pytest.mark.parametrize("verb", [understand, selftest, lambda thing: audit(thing, curves=False)])
@pytest.mark.parametrize("thing", [None, 7, object(), {"user": [1]}, np.zeros(3), pa.array([1])])
def test_every_verb_refuses_what_it_does_not_know_in_one_line(verb, thing):
    with pytest.raises(RecveilError) as refused:
        verb(thing)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_relation_that_fails_when_it_is_read_is_told_in_one_line():
    failing = duckdb.sql("SELECT 1 AS user, 2 AS item, error('a boom') AS rating")
    with raises("input.unreadable", "a boom"):
        understand(failing)


class TestLazyFrames:
    def test_what_cannot_be_collected_is_told_in_one_line(self, tmp_path):
        broken = pl.scan_csv(tmp_path / "gone.csv")
        with raises("input.unreadable", "gone.csv"):
            understand(broken)

    def test_a_plan_is_carried_out_once(self, plain):
        runs = []
        lazy = pl.scan_csv(plain / "ratings.csv").map_batches(
            lambda frame: runs.append(1) or frame, streamable=False
        )
        assert understand(lazy, scale=STARS).ratings == MADE
        assert len(runs) == 1


@pytest.mark.parametrize("kind", ["pandas", "polars", "reader", "arrow"])
class TestOutsideKnowledge:
    """What somebody knows may be a frame, too."""

    MAKE = {  # noqa: RUF012
        "pandas": lambda table: table.to_pandas(),
        "polars": pl.from_arrow,
        "reader": lambda table: table.to_reader(),
        "arrow": lambda table: table,
    }

    def test_as_the_file(self, kind, tmp_path):
        rows = MADE.to_arrow().slice(0, 6)
        columns = {"target": ["alice"] * 6, "item": rows["item_id"], "rating": rows["rating"]}
        table = pa.table(columns)
        csv.write_csv(table, tmp_path / "aux.csv")
        options = {"targets": 5, "curves": False, "scale": STARS, "rating": "rating"}
        known = self.MAKE[kind](table)
        ratings = MADE.to_arrow()
        of_file = audit(ratings, aux=tmp_path / "aux.csv", **options)
        of_frame = audit(ratings, aux=known, **options)
        assert of_frame.suspects == of_file.suspects
        assert of_frame.suspects[0].target == "alice"
        assert of_frame.knowledge.ratings == of_file.knowledge.ratings


def test_times_of_frames_are_those_of_the_csv(tmp_path):
    dated = Ratings.from_columns(
        MADE.user_positions(), MADE.indices, MADE.values, MADE.indices * 7 + 9_000, scale=STARS
    )
    write_ratings(dated, tmp_path / "dated.csv")
    for frame in (dated.to_arrow(), pl.scan_csv(tmp_path / "dated.csv")):
        read = understand(frame, scale=STARS)
        assert read.ratings == dated
        assert replace(read, ratings=dated).notes == ()
