import csv
import hashlib
import json
import re
import stat
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.predictive import homogenize
from recveil.publish import folder
from recveil.publish import folder as tables
from recveil.publish.staging import check_target
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.atomic_writes import temporary_folder_near
from recveil.verification import verify


@pytest.fixture(scope="module")
def release():
    return PredictiveAnonymizer(4, "simple", seed=918_273_645).anonymize(
        make_ratings(n_users=90, n_items=40, n_ratings=900, seed=3)
    )


def _rows(file: Path) -> list[dict]:
    if file.suffix == ".csv":
        with file.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        numbers = {"item_id": int, "rating": float, "group_size": int}
        return [{name: numbers.get(name, str)(v) for name, v in row.items()} for row in rows]
    return pq.read_table(file).to_pylist()


@pytest.mark.parametrize("layout", ["users", "groups"])
@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_the_published_file_holds_the_records(release, tmp_path, layout, file_format):
    result = release.write(tmp_path / "out", layout=layout, file_format=file_format)
    assert result.holds
    assert (result.users, result.layout) == (90, layout)
    rows = _rows(tmp_path / "out" / f"ratings.{file_format}")
    records: dict[str, dict] = {}
    for row in rows:
        records.setdefault(row["user_id"], {})[row["item_id"]] = row["rating"]
    expected = []
    for block in release.published.blocks():
        for record, size in enumerate(block.sizes.tolist()):
            own = slice(block.indptr[record], block.indptr[record + 1])
            items = release.published.items[block.indices[own]].tolist()
            labels = dict(zip(items, block.values[own].tolist(), strict=True))
            expected += [labels] * (size if layout == "users" else 1)
    assert list(records.values()) == expected
    if layout == "groups":
        sizes = {row["user_id"]: row["group_size"] for row in rows}
        assert list(sizes.values()) == release.private.groups.sizes.tolist()


def test_both_formats_and_layouts_have_the_same_classes(release, tmp_path):
    texts = set()
    for number, (layout, file_format) in enumerate(
        [("users", "csv"), ("groups", "csv"), ("users", "parquet"), ("groups", "parquet")]
    ):
        release.write(tmp_path / str(number), layout=layout, file_format=file_format)
        texts.add((tmp_path / str(number) / "classes.csv").read_text())
    assert len(texts) == 1


@pytest.mark.parametrize("layout", ["users", "groups"])
def test_the_private_folder_states_who_is_who(release, tmp_path, layout):
    release.write(tmp_path / "out", layout=layout)
    assignment = pq.read_table(tmp_path / "out.private" / "assignment.parquet").to_pydict()
    assert sorted(assignment["user_id"]) == release.private.users.tolist()
    published = {row["user_id"] for row in _rows(tmp_path / "out" / "ratings.parquet")}
    assert set(assignment["published_id"]) == published
    about = json.loads((tmp_path / "out.private" / "private.json").read_text())
    assert about["seed"] == 918_273_645


def test_the_private_folder_is_its_owners_alone(release, tmp_path):
    release.write(tmp_path / "out")
    private = tmp_path / "out.private"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in private.iterdir())


def test_text_ids_and_awkward_items(tmp_path):
    items = ['he said "7", twice', "comma, comma", "ümlaut", "007"]
    rows = [(f"p{user:02d}", item, 1 + user % 5) for user in range(10) for item in items]
    ratings = Ratings.from_columns(*zip(*rows, strict=True), scale=RatingScale(1, 5, 1))
    release = PredictiveAnonymizer(3, seed=1).anonymize(ratings)
    for file_format in ("csv", "parquet"):
        assert release.write(tmp_path / file_format, file_format=file_format).holds
        found = _rows_of_text(tmp_path / file_format / f"ratings.{file_format}")
        assert {row["item_id"] for row in found} == set(items)
        assert not {row["user_id"] for row in found} & set(ratings.users.tolist())


def test_pieces_of_the_file_say_nothing_about_blocks_of_private_data(tmp_path, monkeypatch):
    ratings = make_ratings(n_users=90, n_items=40, n_ratings=900, seed=3)
    release = PredictiveAnonymizer(4, "simple", seed=1).anonymize(ratings)
    monkeypatch.setattr(homogenize, "_BLOCK_RATINGS", 50)
    monkeypatch.setattr(tables, "_ROWS_AT_ONCE", 100)
    release.write(tmp_path / "out")
    file = pq.ParquetFile(tmp_path / "out" / "ratings.parquet")
    rows = [file.metadata.row_group(piece).num_rows for piece in range(file.num_row_groups)]
    assert set(rows[:-1]) == {100}


@pytest.mark.parametrize("values", [[0.1, 0.3] * 6, np.random.default_rng(2).normal(size=12)])
def test_continuous_ratings_without_rounding_verify(tmp_path, values):
    users, items = np.divmod(np.arange(12), 3)
    scale = RatingScale(min(values), max(values))
    ratings = Ratings.from_columns(users, items, values, scale=scale)
    for homogenize_how in ("simple", "padded"):
        anonymizer = PredictiveAnonymizer(2, homogenize_how, round_values="none", seed=1)
        assert anonymizer.anonymize(ratings).write(tmp_path / homogenize_how).holds


def test_the_ends_of_a_continuous_scale_are_nobodys_ratings(tmp_path):
    values = np.random.default_rng(2).uniform(0, 1, size=120)
    users, items = np.divmod(np.arange(120), 3)
    release = PredictiveAnonymizer(2, seed=1).anonymize(Ratings.from_columns(users, items, values))
    release.write(tmp_path / "out")
    scale = json.loads((tmp_path / "out" / "release.json").read_text())["scale"]
    assert scale["low"] < values.min() - 1e-4
    assert scale["high"] > values.max() + 1e-4


def _rows_of_text(file: Path) -> list[dict]:
    if file.suffix == ".parquet":
        return pq.read_table(file).to_pylist()
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


class TestNothingPrivateIsPublished:
    """No original id, no seed, no path, no clue to the order of the input."""

    def test_no_published_user_is_an_original_one(self, release, tmp_path):
        for layout in ("users", "groups"):
            release.write(tmp_path / layout, layout=layout)
            published = {row["user_id"] for row in _rows(tmp_path / layout / "ratings.parquet")}
            assert not published & {str(user) for user in release.private.users}

    def test_neither_seed_nor_path_stands_anywhere(self, release, tmp_path):
        hidden = tmp_path / "a-folder-nobody-should-read-about"
        hidden.mkdir()
        for file_format in ("csv", "parquet"):
            release.write(hidden / file_format, file_format=file_format)
            for file in (hidden / file_format).iterdir():
                content = file.read_bytes()
                for secret in (b"918273645", b"918_273_645", b"nobody-should", b"/tmp", b"seed"):
                    assert secret not in content, (file.name, secret)
                # As binary numbers too.
                assert (918_273_645).to_bytes(8, "little") not in content

    def test_published_files_do_not_depend_on_input_order(self, tmp_path):
        ratings = make_ratings(n_users=60, n_items=30, n_ratings=500, seed=4)
        table = ratings.to_arrow()
        backwards = table.take(list(range(table.num_rows))[::-1])
        for name, frame in (("forth", table), ("back", backwards)):
            again = Ratings.from_frame(frame, scale=ratings.scale)
            PredictiveAnonymizer(3, seed=5).anonymize(again).write(tmp_path / name)
        for file in (tmp_path / "forth").iterdir():
            assert file.read_bytes() == (tmp_path / "back" / file.name).read_bytes()

    def test_file_times_and_manifest_reveal_no_clock(self, release, tmp_path):
        release.write(tmp_path / "out")
        text = (tmp_path / "out" / "release.json").read_text()
        assert not re.search(r"\d{4}-\d\d-\d\d", text)


class TestTargets:
    def test_an_existing_target_is_left_alone(self, release, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "precious.txt").write_text("mine")
        for force in (False, True):
            with raises("output.exists"):
                release.write(tmp_path / "out", force=force)
        assert [file.name for file in tmp_path.iterdir()] == ["out"]
        assert (tmp_path / "out" / "precious.txt").read_text() == "mine"

    def test_a_private_twin_is_not_overwritten_when_its_release_was_moved(self, release, tmp_path):
        release.write(tmp_path / "out")
        (tmp_path / "out").rename(tmp_path / "published-elsewhere")
        with raises("output.exists") as error:
            release.write(tmp_path / "out")
        assert "out.private" in str(error.value)

    def test_force_replaces_a_release(self, release, tmp_path):
        release.write(tmp_path / "out", file_format="csv")
        release.write(tmp_path / "out", force=True)
        assert not (tmp_path / "out" / "ratings.csv").exists()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]

    def test_force_replaces_no_release_that_holds_other_files(self, release, tmp_path):
        release.write(tmp_path / "out")
        for place in ("out", "out.private"):
            (tmp_path / place / "important.txt").write_text("mine")
            with raises("output.exists") as error:
                release.write(tmp_path / "out", force=True)
            assert "important" in str(error.value)
            (tmp_path / place / "important.txt").unlink()

    def test_no_release_within_a_release(self, release, tmp_path):
        release.write(tmp_path / "out")
        with raises("output.place"):
            release.write(tmp_path / "out" / "inner")

    def test_a_name_too_long_is_refused_before_the_work(self, tmp_path):
        with raises("output.place") as error:
            check_target(tmp_path / ("x" * 201), force=False)
        assert "200 bytes" in str(error.value)

    def test_a_folder_that_came_first_is_not_replaced(self, release, tmp_path, monkeypatch):
        check = check_target

        def overtaken(target, *, force):
            check(target, force=force)
            monkeypatch.setattr("recveil.publish.staging.check_target", check)
            release.write(target, file_format="csv")

        monkeypatch.setattr("recveil.publish.staging.check_target", overtaken)
        with raises("output.exists"):
            release.write(tmp_path / "out")
        assert (tmp_path / "out" / "ratings.csv").exists()
        assert verify(tmp_path / "out").holds
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]

    def test_a_missing_parent_is_an_error(self, release, tmp_path):
        with raises("output.not-writable"):
            release.write(tmp_path / "no" / "out")

    def test_unknown_layout_or_format(self, release, tmp_path):
        with raises("option.value") as error:
            release.write(tmp_path / "out", layout="rows")
        assert "'rows'" in str(error.value)
        with raises("option.value") as error:
            release.write(tmp_path / "out", file_format="xlsx")
        assert "'xlsx'" in str(error.value)
        assert not list(tmp_path.iterdir())


class TestFailures:
    def test_a_release_that_does_not_verify_is_not_written(self, release, tmp_path, monkeypatch):
        written = folder._write_published

        def sabotage(published, target, *arguments, **options):
            written(published, target, *arguments, **options)
            with (target / "README.md").open("a") as card:
                card.write("something else")

        monkeypatch.setattr(folder, "_write_published", sabotage)
        with raises("claim.false"):
            release.write(tmp_path / "out")
        assert not list(tmp_path.iterdir())

    def test_a_failure_leaves_the_old_release(self, release, tmp_path, monkeypatch):
        release.write(tmp_path / "out")
        before = (tmp_path / "out" / "release.json").read_bytes()

        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(folder, "_write_private", full)
        with raises("machine.disk"):
            release.write(tmp_path / "out", force=True)
        assert (tmp_path / "out" / "release.json").read_bytes() == before
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]

    def test_a_failure_while_renaming_puts_everything_back(self, release, tmp_path, monkeypatch):
        release.write(tmp_path / "out")
        before = (tmp_path / "out" / "release.json").read_bytes()
        rename = Path.rename

        def stuck(self, target):
            if self.name == "published":
                raise OSError(5, "Input/output error")
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", stuck)
        with raises("output.not-writable") as error:
            release.write(tmp_path / "out", force=True)
        assert "Input/output error" in str(error.value)
        assert (tmp_path / "out" / "release.json").read_bytes() == before
        assert verify(tmp_path / "out").holds
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]

    @pytest.mark.parametrize("interrupted_at", ["out", "out.private", "private", "published"])
    def test_ctrl_c_while_renaming_puts_everything_back(
        self, release, tmp_path, monkeypatch, interrupted_at
    ):
        release.write(tmp_path / "out")
        before = (tmp_path / "out" / "release.json").read_bytes()
        rename = Path.rename

        def interrupted(self, target):
            if self.name == interrupted_at:
                monkeypatch.setattr(Path, "rename", rename)
                raise KeyboardInterrupt
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            release.write(tmp_path / "out", force=True, file_format="csv")
        assert (tmp_path / "out" / "release.json").read_bytes() == before
        assert verify(tmp_path / "out").holds
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]

    def test_leftovers_of_killed_runs_are_swept(self, release, tmp_path):
        left = tmp_path / ".out.partial-0123abcd"
        names = (".out.partial-x", ".out.partial-2024-backup", ".out.partial-1.partial-0123abcd")
        others = [tmp_path / name for name in names]
        for folder_left in [left, *others]:
            (folder_left / "private").mkdir(parents=True)
            (folder_left / "lock").write_text("locked")
        release.write(tmp_path / "out")
        assert not left.exists()
        assert all((path / "private").exists() for path in others)

    def test_what_another_run_is_writing_stays(self, release, tmp_path):
        with temporary_folder_near(tmp_path, ".out.partial-") as staging:
            (staging / "private").mkdir()
            release.write(tmp_path / "out")
            assert (staging / "private").exists()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.private"]

    @pytest.mark.parametrize("n_renames", [0, 1, 2, 3, 4])
    @pytest.mark.parametrize("replacing", [False, True])
    def test_a_run_killed_between_renames_is_settled_by_the_next(
        self, release, tmp_path, n_renames, replacing
    ):
        # The state after the first renames of `_put_into_place`, made by hand.
        staging = tmp_path / ".out.partial-0123abcd"
        if replacing:
            release.write(tmp_path / "out", file_format="csv")
        staging.mkdir()
        (staging / "lock").write_text("locked")
        (staging / "renaming").touch()
        release.write(staging / "new")
        (staging / "new.private").rename(staging / "private")
        (staging / "new").rename(staging / "published")
        renames = [
            (tmp_path / "out", staging / "old-published"),
            (tmp_path / "out.private", staging / "old-private"),
            (staging / "private", tmp_path / "out.private"),
            (staging / "published", tmp_path / "out"),
        ]
        for source, target in renames[:n_renames]:
            if source.exists():
                source.rename(target)
        check_target(tmp_path / "another", force=False)
        if replacing or n_renames > 2:
            with raises("output.exists"):
                check_target(tmp_path / "out", force=False)
            assert verify(tmp_path / "out").holds
            about = json.loads((tmp_path / "out.private" / "private.json").read_text())
            manifest = (tmp_path / "out" / "release.json").read_bytes()
            assert about["release"]["sha256"] == hashlib.sha256(manifest).hexdigest()
        else:
            check_target(tmp_path / "out", force=False)
        assert not staging.exists()
