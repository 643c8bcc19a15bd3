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

from error_assertions import raises
from recveil.auditing import audit, selftest
from recveil.io import understand, write_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError
from shared.sources import (
    KINDS,
    MADE,
    STARS,
    plain,  # noqa: F401 (fixtures)
    reading_of,
)

pytestmark = pytest.mark.usefixtures("few_recommenders")


class TestEveryKind:
    @pytest.mark.parametrize("kind", KINDS)
    def test_gives_the_same_ratings(self, kind, plain):
        source = KINDS[kind](MADE.to_arrow(), plain)
        assert understand(source, **reading_of(kind)).ratings == MADE


def test_the_same_release_from_each(tmp_path: Path):
    frame = MADE.to_arrow().to_pandas()
    anonymize(frame, tmp_path / "a", k=4, method="predictive", seed=1, scale=STARS)
    anonymize(MADE, tmp_path / "b", k=4, method="predictive", seed=1)
    classes = [(tmp_path / name / "classes.csv").read_text() for name in "ab"]
    assert classes[0] == classes[1]


@pytest.mark.parametrize("option", [{"likes": True}, {"user": "user_id"}, {"format": "csv"}])
def test_what_means_nothing_for_finished_ratings_is_refused(option):
    (name,) = option
    with raises("option.unsupported", name):
        understand(MADE, **option)


def test_what_is_no_source_is_refused_by_its_kind():
    with raises("argument.type", "list"):
        understand([1, 2, 3])
    with raises("argument.type", "ndarray", "3"):
        understand(np.ones((2, 2, 2)))
    with raises("column.missing", "user"):
        understand(pd.DataFrame({"a": [1], "b": [2]}))


@pytest.mark.parametrize("verb", [understand, selftest, lambda thing: audit(thing, curves=False)])
@pytest.mark.parametrize("thing", [None, 7, object(), {"user": [1]}, np.zeros(3), pa.array([1])])
def test_every_verb_refuses_what_it_does_not_know_in_one_line(verb, thing):
    with pytest.raises(RecveilError) as refused:
        verb(thing)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_relation_that_fails_when_it_is_read_is_reported_in_one_line():
    failing = duckdb.sql("SELECT 1 AS user, 2 AS item, error('a boom') AS rating")
    with raises("input.unreadable", "a boom"):
        understand(failing)


class TestLazyFrames:
    def test_what_cannot_be_collected_is_reported_in_one_line(self, tmp_path):
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
    """Auxiliary information may be a frame, too."""

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
        of_file = audit(ratings, auxiliary=tmp_path / "aux.csv", **options)
        of_frame = audit(ratings, auxiliary=known, **options)
        assert of_frame.suspects == of_file.suspects
        assert of_frame.suspects[0].target == "alice"
        assert of_frame.knowledge.ratings == of_file.knowledge.ratings


def test_times_of_frames_are_those_of_the_csv(tmp_path):
    dated = Ratings.from_columns(
        MADE.user_positions(),
        MADE.indices,
        MADE.values,
        MADE.indices * 7 % 100 + 9_000,
        scale=STARS,
    )
    write_ratings(dated, tmp_path / "dated.csv")
    for frame in (dated.to_arrow(), pl.scan_csv(tmp_path / "dated.csv")):
        read = understand(frame, scale=STARS)
        assert read.ratings == dated
        assert replace(read, ratings=dated).notes == ()
