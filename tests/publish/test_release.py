"""A release read again: its published side, as a table of whatever kind."""

import builtins
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import recveil as rv
from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io import read_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, Release
from recveil.publish import convert
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.memory import memory_limited

RATINGS = make_ratings(n_users=40, n_items=20, n_ratings=400, seed=2, scale=RatingScale(1, 5, 1))

MAKERS = {
    "padded": lambda: PredictiveAnonymizer(4, seed=1),
    "simple": lambda: PredictiveAnonymizer(4, "simple", seed=1),
    "levels": lambda: PredictiveAnonymizer(
        4, "simple", grouping="level-gather", privacy_levels=np.full(40, 4), seed=1
    ),
    "k-corated": lambda: KCoRater(4, seed=1),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Each release in either layout and file format: (maker, layout, format) -> folder."""
    folder = tmp_path_factory.mktemp("written")
    found = {}
    for name, make in MAKERS.items():
        release = make().anonymize(RATINGS)
        for layout in ("users", "groups"):
            for file_format in ("parquet", "csv"):
                place = folder / f"{name}-{layout}-{file_format}"
                release.write(place, layout=layout, file_format=file_format)
                found[name, layout, file_format] = place
    return found


def as_published(folder):
    """What stands in the file, read by others."""
    file = next(folder.glob("ratings.*"))
    return pq.read_table(file).to_pandas() if file.suffix == ".parquet" else pd.read_csv(file)


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("maker", MAKERS)
class TestRows:
    @pytest.mark.parametrize("layout", ["users", "groups"])
    def test_as_they_stand(self, written, maker, layout, file_format):
        folder = written[maker, layout, file_format]
        table = Release.read(folder).to_arrow().to_pandas()
        pd.testing.assert_frame_equal(table, as_published(folder), check_dtype=False)

    def test_one_for_each_user_as_the_other_layout_has_them(self, written, maker, file_format):
        """To the byte: the ids, too, are those that the layout `users` would have."""
        in_groups = Release.read(written[maker, "groups", file_format])
        of_users = Release.read(written[maker, "users", file_format])
        assert in_groups.to_arrow(per_user=True).equals(of_users.to_arrow())
        assert of_users.to_arrow(per_user=True).equals(of_users.to_arrow())
        assert in_groups.ids(per_user=True) == of_users.ids()

    def test_all_kinds_hold_the_same(self, written, maker, file_format):
        release = Release.read(written[maker, "groups", file_format])
        table = release.to_arrow()
        assert pa.table(release).equals(table)
        assert pa.Table.from_pandas(release.to_pandas()).to_pylist() == table.to_pylist()
        assert release.to_polars().equals(pl.from_arrow(table))
        assert pl.DataFrame(release).equals(pl.from_arrow(table))

    @pytest.mark.parametrize("per_user", [False, True])
    def test_the_matrix(self, written, maker, file_format, per_user):
        release = Release.read(written[maker, "groups", file_format])
        matrix, table = (
            release.to_csr(per_user=per_user),
            release.to_arrow(per_user=per_user).to_pandas(),
        )
        assert matrix.has_canonical_format
        pivot = table.pivot_table(index="user_id", columns="item_id", values="rating")
        assert matrix.shape == pivot.shape
        assert release.ids(per_user=per_user) == list(dict.fromkeys(table["user_id"]))
        assert release.items.tolist() == pivot.columns.tolist()
        dense = np.full(matrix.shape, np.nan)
        entries = matrix.tocoo()
        dense[entries.row, entries.col] = entries.data
        by_id = pivot.loc[release.ids(per_user=per_user)]
        assert np.array_equal(dense, by_id.to_numpy(), equal_nan=True)


def test_a_label_of_zero_is_stored(tmp_path):
    scale = RatingScale(0, 5)
    ratings = Ratings.from_columns([1, 2, 1, 2], [5, 5, 6, 6], [0, 0, 4, 4], scale=scale)
    PredictiveAnonymizer(2, "simple", seed=1).anonymize(ratings).write(tmp_path / "out")
    matrix = Release.read(tmp_path / "out").to_csr()
    assert (matrix.nnz, sorted(matrix.data)) == (4, [0, 0, 4, 4])


class TestPrivate:
    """The private folder is not looked at: not even if nothing else is there to be read."""

    def test_what_is_read_without_it_is_the_same(self, written, tmp_path):
        folder = written["padded", "groups", "parquet"]
        shutil.copytree(folder, tmp_path / "alone")
        assert Release.read(tmp_path / "alone").to_arrow().equals(Release.read(folder).to_arrow())
        convert(tmp_path / "alone", tmp_path / "alone.csv")
        convert(folder, tmp_path / "beside.csv")
        assert (tmp_path / "alone.csv").read_bytes() == (tmp_path / "beside.csv").read_bytes()

    def test_no_file_of_it_is_opened(self, written, monkeypatch, tmp_path):
        folder = written["padded", "groups", "parquet"]
        opened = []
        for owner, name in ((Path, "open"), (Path, "read_bytes"), (Path, "read_text")):
            original = getattr(owner, name)

            def noted(self, *given, original=original, **named):
                opened.append(str(self))
                return original(self, *given, **named)

            monkeypatch.setattr(owner, name, noted)
        plainly = builtins.open

        def noted_plainly(path, *given, **named):
            opened.append(str(path))
            return plainly(path, *given, **named)

        monkeypatch.setattr(builtins, "open", noted_plainly)
        convert(folder, tmp_path / "rows.csv")
        Release.read(folder).to_csr()
        assert any(folder.name in path for path in opened)
        assert not [path for path in opened if ".private" in path]

    def test_no_own_id_comes_out(self, tmp_path):
        names = [f"secret-{user}" for user in RATINGS.user_positions()]
        ratings = Ratings.from_columns(names, RATINGS.indices, RATINGS.values, scale=RATINGS.scale)
        PredictiveAnonymizer(4, seed=1).anonymize(ratings).write(tmp_path / "out")
        release = Release.read(tmp_path / "out")
        for text in (repr(release), release._repr_html_(), str(release.to_arrow().to_pylist())):
            assert "secret" not in text
        assert repr(release).startswith("ReleaseFolder(predictive anonymization, claim: ")


class TestWhatIsRefused:
    def test_no_release(self, tmp_path):
        with raises("release.not-found") as error:
            Release.read(tmp_path)
        assert "release.json" in str(error.value)
        with raises("argument.type", "Ratings"):
            Release.read(RATINGS)

    def test_changed_ratings(self, written, tmp_path):
        shutil.copytree(written["padded", "groups", "csv"], tmp_path / "out")
        with (tmp_path / "out" / "ratings.csv").open("a") as file:
            file.write('"p0000-1",1,5,1\n')
        release = Release.read(tmp_path / "out")
        with raises("release.damaged"):
            release.to_arrow()

    @pytest.mark.parametrize("users", [1, 39, 41, 10**15])
    def test_another_number_of_users(self, written, tmp_path, users):
        shutil.copytree(written["padded", "groups", "csv"], tmp_path / "out")
        manifest = json.loads((tmp_path / "out" / "release.json").read_text())
        manifest["counts"]["users"] = users
        (tmp_path / "out" / "release.json").write_text(json.dumps(manifest))
        with raises("release.damaged"):
            Release.read(tmp_path / "out").to_arrow(per_user=True)

    def test_too_much_memory(self, written, monkeypatch):
        monkeypatch.setattr("recveil.publish.release._COPIES", 10**6)
        release = Release.read(written["padded", "groups", "csv"])
        with memory_limited("10MB"), raises("machine.memory"):
            release.to_arrow(per_user=True)
        with memory_limited("10MB"), raises("machine.memory"):
            release.to_arrow()

    @pytest.mark.parametrize("package", ["pandas", "polars"])
    def test_a_package_that_is_not_there(self, written, package, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, package, None)
        release = Release.read(written["padded", "groups", "parquet"])
        with raises("dependency.missing") as error:
            getattr(release, f"to_{package}")()
        assert package in str(error.value)

    def test_rows_of_groups_are_no_ratings(self, written):
        """Each stands for several users, which plain ratings cannot say."""
        release = Release.read(written["padded", "groups", "parquet"])
        with raises("table.kind"):
            Ratings.from_frame(release.to_arrow())

    def test_a_release_is_no_raw_table(self, written):
        """An audit of it would attack the published rows as if they were the users' own."""
        release = Release.read(written["padded", "groups", "parquet"])
        for verb in (rv.read, rv.inspect, rv.audit, rv.compare, Ratings.from_frame):
            with raises("input.not-a-table"):
                verb(release)
        with raises("input.not-a-table"):
            rv.anonymize(release, k=5)


class TestConvert:
    def test_one_row_a_user_on_the_scale_of_the_release(self, written, tmp_path):
        for layout in ("users", "groups"):
            found = convert(written["padded", layout, "csv"], tmp_path / f"{layout}.csv")
            assert found.ratings.n_users == 40
            assert (found.ratings.scale.low, found.ratings.scale.high) == (1, 5)
            assert "published rows, one for each of 40 users" in found.notes[0]
        assert (tmp_path / "users.csv").read_bytes() == (tmp_path / "groups.csv").read_bytes()

    def test_it_is_read_as_it_was_published(self, written, tmp_path):
        folder = written["simple", "users", "csv"]
        convert(folder, tmp_path / "rows.parquet")
        wide = RatingScale(1, 5)
        assert read_ratings(tmp_path / "rows.parquet", scale=wide) == read_ratings(
            folder / "ratings.csv", scale=wide
        )

    def test_a_release_that_was_read_already(self, written, tmp_path):
        folder = written["padded", "groups", "csv"]
        assert convert(Release.read(folder), tmp_path / "a.csv") == convert(
            folder, tmp_path / "b.csv"
        )

    @pytest.mark.parametrize(
        "option", [{"format": "csv"}, {"user": "user_id"}, {"wide": True}, {"null": 0}]
    )
    def test_how_its_files_are_is_not_said(self, written, tmp_path, option):
        (name,) = option
        with raises("option.unsupported") as error:
            convert(written["padded", "groups", "csv"], tmp_path / "x.csv", **option)
        assert name in str(error.value)

    def test_nothing_is_written_into_it(self, written):
        folder = written["padded", "groups", "csv"]
        before = sorted(file.name for file in folder.iterdir())
        for target in ("x.csv", "x"):
            options = {"target_format": "recbole"} if target == "x" else {}
            with raises("output.place"):
                convert(folder, folder / target, **options)
        assert sorted(file.name for file in folder.iterdir()) == before


def test_items_with_names(tmp_path):
    names = np.array([f"film {item}" for item in range(20)], dtype=object)
    ratings = Ratings.from_columns(
        RATINGS.user_positions(), names[RATINGS.indices], RATINGS.values, scale=RATINGS.scale
    )
    PredictiveAnonymizer(4, "simple", seed=1).anonymize(ratings).write(tmp_path / "out")
    release = Release.read(tmp_path / "out")
    table, matrix = release.to_arrow().to_pandas(), release.to_csr()
    assert release.items.tolist() == sorted(table["item_id"].unique())
    first = table[table["user_id"] == release.ids()[0]]
    row = dict(zip(release.items[matrix[[0]].indices], matrix[[0]].data, strict=True))
    assert row == dict(zip(first["item_id"], first["rating"], strict=True))
    convert(tmp_path / "out", tmp_path / "rows.csv")
    read = read_ratings(tmp_path / "rows.csv", scale=RatingScale(1, 5))
    assert read.items.tolist() == release.items.tolist()


def test_a_path_is_read_by_another_call():
    with raises("argument.value", "Release.read('out')"):
        Release("out")
