"""Small files that were made to take much time or memory are judged, or refused, quickly."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.io.columns.frames import frame_of
from recveil.io.databases.queries import DatabaseColumn, sample_of
from recveil.io.source import Selection
from recveil.release.manifest_reader import read_manifest
from recveil.runtime.errors import named_twice
from recveil.runtime.memory import memory_limited
from recveil.verification import verify
from recveil.verification.results import MOST_KEPT
from shared.small_and_hostile import (
    MANY,
    _repeat,
    quick,  # noqa: F401 (fixtures)
)

RELEASES = Path(__file__).parent / "verification" / "format_3"


def _release(tmp_path, name) -> Path:
    return Path(shutil.copytree(RELEASES / name, tmp_path / name))


@pytest.mark.usefixtures("quick")
class TestNamesAreCountedOnce:
    def test_as_one_by_one(self):
        for names in ([], ["a"], ["a", "b", "a"], ["", "", "b"], list("abcabca")):
            assert named_twice(names) == [n for n in dict.fromkeys(names) if names.count(n) > 1]

    def test_keys_of_a_release(self, tmp_path):
        folder = _release(tmp_path, "predictive-padded")
        file = folder / "release.json"
        manifest = json.loads(file.read_text()) | {f"{n:x}": 0 for n in range(95_000)}
        file.write_text(json.dumps(manifest, separators=(",", ":"))[:-1] + ',"0":0}')
        _, problems = read_manifest(file)
        assert problems[0].startswith("the key '0' ")
        assert len(problems) > 95_000

    def test_names_of_an_object(self, tmp_path):
        path = tmp_path / "r.jsonl"
        others = ",".join(f'"{n}":0' for n in range(100_000))
        path.write_text(f'{{"user":1,"item":2,"rating":3,{others},"99999":1}}\n')
        with raises("input.json", "'99999'"):
            read_ratings(path, format="json")

    def test_items_of_a_matrix(self, tmp_path):
        path = tmp_path / "wide.csv"
        items = [f"i{n}" for n in range(MANY)]
        rows = ["a" + ",3" * MANY, "b" + ",4" * MANY]
        path.write_text("\n".join(["user," + ",".join(items), *rows]))
        assert read_ratings(path, wide=True).n_ratings == 2 * MANY
        items[-1] = "i7"
        path.write_text("\n".join(["user," + ",".join(items), *rows]))
        with raises("column.duplicate", "'i7'"):
            read_ratings(path, wide=True)

    def test_columns_of_frames_and_databases(self):
        names = ["user", "item", "rating", *(f"x{n}" for n in range(MANY)), "x7"]
        frame = pd.DataFrame([[0] * len(names)] * 2, columns=names)
        with raises("column.duplicate", "'x7'"):
            frame_of(frame)
        columns = [DatabaseColumn(name, "INTEGER", "number") for name in names]
        assert sample_of("SELECT 1", columns, 9).count(' AS "x') == MANY - 1


class TestNumbersOfThousandsOfDigits:
    LONG = "9" * 5_000  # more than Python reads as a number

    @pytest.mark.parametrize("header", ["", "user,item,rating\n"])
    @pytest.mark.parametrize("options", [{}, {"wide": True}])
    def test_a_place(self, tmp_path, header, options):
        path = tmp_path / "r.csv"
        path.write_text(header + "1,7,4\n2,8,5\n")
        with raises("column.missing", "9999"):
            read_ratings(path, user=self.LONG, **options)

    @pytest.mark.parametrize("digits", [LONG, "1" * 19])
    def test_ids_of_a_matrix(self, tmp_path, digits):
        path = tmp_path / "r.csv"
        path.write_text("".join(f"{digits}{n},3,3,5\n" for n in range(9)))
        with raises("column.ambiguous", "--user"):
            read_ratings(path, wide=True)


class TestWhatBecomesManyRows:
    def test_of_many_violations_the_first_are_kept(self, tmp_path):
        folder = _release(tmp_path, "predictive-padded")
        _repeat(folder, "ratings.parquet", 40_000)
        found = verify(folder)
        assert not found.holds
        assert len(found.violations) == MOST_KEPT + 1
        result = re.search("([0-9,]+) more violations", found.violations[-1].problem)
        assert int(result[1].replace(",", "")) > 60_000

    def test_items_of_a_model_take_no_more_than_they_may(self, tmp_path):
        folder = _release(tmp_path, "synthetic-model")
        _repeat(folder, "model.parquet", 600_000)
        with (
            memory_limited("50MB"),
            raises("machine.memory", "model.parquet", "items"),
        ):
            verify(folder)


class TestWhatBecomesManyColumns:
    """In a megabyte that few bytes of packed data expand to."""

    def _refused(self, path, what):
        with (
            memory_limited("50MB"),
            raises("machine.memory", path.name, what),
        ):
            understand(path, **({"wide": True} if what == "first rows" else {}))

    def test_of_a_header(self, tmp_path):
        path = tmp_path / "r.csv"
        n_names = 400_000
        path.write_text(f"user,item,rating{',ab' * n_names}\n1,2,3{',1' * n_names}\n")
        self._refused(path, "columns")

    def test_of_a_matrix(self, tmp_path):
        path = tmp_path / "wide.csv"
        path.write_text(("12," * 600_000 + "\n") * 4)
        self._refused(path, "first rows")

    def test_of_objects(self, tmp_path):
        path = tmp_path / "r.jsonl"
        with path.open("w") as file:
            for row in range(8):
                names = ",".join(f'"{row}_{n}":0' for n in range(10_000))
                file.write(f'{{"user":{row},"item":2,"rating":3,{names}}}\n')
        self._refused(path, "fields")


def test_the_date_of_a_folder_counts_for_each_row(tmp_path):
    folder = tmp_path / ("date=2020-01-15T" + "0" * 200)
    folder.mkdir()
    n_rows = 400_000
    columns = {
        "user": np.arange(n_rows) % 600,
        "item": np.arange(n_rows) // 600,
        "rating": np.ones(n_rows),
    }
    pq.write_table(pa.table(columns), folder / "part-0.parquet")
    with memory_limited("60MB"), raises("machine.memory", "times"):
        understand(tmp_path)


class TestMoreColumnsThanAnyTableHas:
    MANY = 120_000

    @pytest.mark.parametrize("read", [understand, lambda path: verify(path, k=1)])
    def test_of_text(self, tmp_path, read):
        names = ",".join(["user,item,rating", *(f"c{at}" for at in range(self.MANY))])
        path = tmp_path / "r.csv"
        path.write_text(f"{names}\n{'1,' * (self.MANY + 2)}1\n")
        with raises("table.too-large", "r.csv", "120,003"):
            read(path)

    def test_of_an_object(self, tmp_path):
        fields = ",".join(f'"k{at}":1' for at in range(self.MANY))
        (tmp_path / "r.jsonl").write_text(f'{{"user":1,"item":2,"rating":3,{fields}}}\n')
        with raises("table.too-large", "line 1", "120,003"):
            understand(tmp_path / "r.jsonl")

    def test_what_all_columns_take_is_counted_before_they_are_read(self):
        names = ["user", "item", "rating", *(f"c{at}" for at in range(60_000))]
        with memory_limited(300 * 10**6), raises("machine.memory", "columns"):
            Selection(extras=True).choose(names, "r.csv")
