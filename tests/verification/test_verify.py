import hashlib
import itertools
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import independent
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from forging import forge

from error_assertions import raises
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, SparseRows
from recveil.ratings import RatingScale
from recveil.release.manifest import to_bytes
from recveil.runtime.errors import RecveilError
from recveil.verification import published_file, verify

CASES = list(itertools.product(("users", "groups"), ("parquet", "csv")))


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    ratings = make_ratings(n_users=80, n_items=30, n_ratings=700, seed=6)
    release = PredictiveAnonymizer(4, "simple", seed=1).anonymize(ratings)
    for layout, file_format in CASES:
        release.write(folder / f"{layout}-{file_format}", layout=layout, file_format=file_format)
    return folder


@pytest.fixture(params=CASES, ids="-".join)
def copied(request, releases, tmp_path) -> Path:
    """A release that a test may break."""
    return Path(shutil.copytree(releases / "-".join(request.param), tmp_path / "copy"))


def _table(folder: Path) -> tuple[Path, pa.Table]:
    (file,) = folder.glob("ratings.*")
    return file, pq.read_table(file) if file.suffix == ".parquet" else pa_csv.read_csv(file)


def _fix_checksum(folder: Path, file: Path) -> None:
    manifest = json.loads((folder / "release.json").read_text())
    content = file.read_bytes()
    manifest["files"][file.name] = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }
    (folder / "release.json").write_bytes(to_bytes(manifest))


def _change(folder: Path, change, *, fix_checksum: bool = False) -> None:
    """Change the rows (a list of dicts) of the published file in place."""
    file, table = _table(folder)
    rows = change(table.to_pylist())
    changed = pa.Table.from_pylist(rows, schema=table.schema)
    (pq.write_table if file.suffix == ".parquet" else pa_csv.write_csv)(changed, file)
    if fix_checksum:
        _fix_checksum(folder, file)


def test_an_untouched_copy_holds(copied):
    result = verify(copied)
    assert result.holds
    assert not result.violations
    assert (result.k_required, result.users, result.claim) == (4, 80, "identical-rows")
    assert result.k_achieved >= 4
    assert all(result.checksums.values())


def test_classes_and_k_agree_with_a_plain_count(copied):
    _, table = _table(copied)
    rows, sizes = {}, {}
    for row in table.to_pylist():
        rows.setdefault(row["user_id"], []).append((row["item_id"], row["rating"]))
        sizes[row["user_id"]] = row.get("group_size", 1)
    class_sizes = Counter()
    for user, labels in rows.items():
        class_sizes[frozenset(labels)] += sizes[user]
    result = verify(copied)
    assert (result.classes, result.k_achieved) == (len(class_sizes), min(class_sizes.values()))
    assert (result.records, result.users) == (len(rows), sum(class_sizes.values()))


def test_a_larger_k_can_be_asked_for(copied):
    achieved = verify(copied).k_achieved
    assert verify(copied, k=achieved).holds
    claimed = verify(copied).k_required
    stricter = verify(copied, k=achieved + 1)
    assert (stricter.holds, stricter.k_claimed) == (False, claimed)
    assert stricter.to_dict()["k_claimed"] == claimed
    (copied / "README.md").write_text("changed")
    assert verify(copied, k=achieved + 1).k_claimed is None


@pytest.mark.parametrize("fix_checksum", [False, True])
@pytest.mark.parametrize("at", [0, 5, -1])
def test_one_changed_number_is_named(copied, at, fix_checksum):
    _, table = _table(copied)
    user = table["user_id"][at].as_py()
    for column in set(table.column_names) - {"user_id"}:
        broken = Path(shutil.copytree(copied, copied.with_name(column)))

        def change(rows, column=column):
            rows[at][column] += 1000 if column == "item_id" else -1 if rows[at][column] > 1 else 1
            return rows

        _change(broken, change, fix_checksum=fix_checksum)
        result = verify(broken)
        assert not result.holds
        assert user in [violation.user_id for violation in result.violations]
        assert all(result.checksums.values()) == fix_checksum


def test_a_changed_user_id_is_named(copied):
    def change(rows):
        rows[3]["user_id"] = "somebody-new"
        return rows

    _change(copied, change, fix_checksum=True)
    assert "somebody-new" in [violation.user_id for violation in verify(copied).violations]


def test_a_missing_row_and_a_doubled_row_are_found(copied):
    for change in (lambda rows: rows[1:], lambda rows: rows[:1] + rows):
        shutil.copytree(copied, copied.with_name("again"))
        _change(copied.with_name("again"), change, fix_checksum=True)
        assert not verify(copied.with_name("again")).holds
        shutil.rmtree(copied.with_name("again"))


def test_a_split_record_is_found(copied):
    def move_first_row_to_the_end(rows):
        return rows[1:] + rows[:1]

    _change(copied, move_first_row_to_the_end, fix_checksum=True)
    problems = [violation.problem for violation in verify(copied).violations]
    assert any("not contiguous" in problem for problem in problems)


def test_one_user_with_two_records_is_found_wherever_they_stand(copied):
    def give_one_record_to_another_user(rows):
        ids = list(dict.fromkeys(row["user_id"] for row in rows))
        for row in rows:
            if row["user_id"] == ids[-3]:
                row["user_id"] = ids[0]
        return rows

    _change(copied, give_one_record_to_another_user, fix_checksum=True)
    problems = [violation.problem for violation in verify(copied).violations]
    assert any("not contiguous" in problem for problem in problems)


def test_a_removed_record_is_found_by_the_counts(copied):
    def drop_first_record(rows):
        return [row for row in rows if row["user_id"] != rows[0]["user_id"]]

    _change(copied, drop_first_record, fix_checksum=True)
    assert "release.json" in [violation.where for violation in verify(copied).violations]


def test_ratings_off_the_scale_are_named(copied):
    def change(rows):
        rows[2]["rating"] = 77.0
        return rows

    _change(copied, change)
    (violation,) = [v for v in verify(copied).violations if "outside the scale" in v.problem]
    assert violation.row == 3


def test_an_added_column_is_a_violation(copied):
    file, table = _table(copied)
    table = table.append_column("zip_code", pa.array(range(table.num_rows)))
    (pq.write_table if file.suffix == ".parquet" else pa_csv.write_csv)(table, file)
    problems = [violation.problem for violation in verify(copied).violations]
    assert any("'zip_code' is not a part of a release" in problem for problem in problems)


@pytest.mark.parametrize("name", ["README.md", "classes.csv"])
def test_a_changed_or_missing_file_fails(copied, name):
    (copied / name).write_text((copied / name).read_text() + " ")
    result = verify(copied)
    assert not result.holds
    assert result.checksums[name] is False
    if name == "README.md":
        (copied / name).unlink()
        assert verify(copied).checksums[name] is False


def test_a_file_that_is_not_listed_is_a_violation(copied):
    (copied / "notes.txt").write_text("by the way")
    (copied / "assignment.parquet").write_text("who is who")
    result = verify(copied)
    assert not result.holds
    found = {violation.where: violation.problem for violation in result.violations}
    assert "not a part of a release" in found["notes.txt"]
    assert "re-identifies users" in found["assignment.parquet"]


def test_a_wrong_checksum_fails(copied):
    manifest = json.loads((copied / "release.json").read_text())
    manifest["files"]["README.md"]["sha256"] = "0" * 64
    (copied / "release.json").write_bytes(to_bytes(manifest))
    result = verify(copied)
    assert not result.holds
    assert [violation.where for violation in result.violations] == ["README.md"]


@pytest.mark.parametrize(
    ("content", "reason", "code"),
    [
        (b"", "line 1, column 1", "release.damaged"),
        (b"{\n ", "line 2, column 2", "release.damaged"),
        (b"\xff{}", "UTF-8", "release.damaged"),
        (b"[]", "a part of it", "release.damaged"),
        (b"{}", "'format'", "release.damaged"),
        (b'{"format": "recveil-release-12"}', "'recveil-release-12'", "release.unknown-format"),
        (b'{"format": "recveil-release-1"}', "'claim'", "release.damaged"),
    ],
)
def test_a_broken_manifest_is_bad_input(copied, content, reason, code):
    (copied / "release.json").write_bytes(content)
    with raises(code) as error:
        verify(copied)
    assert "release.json" in str(error.value)
    assert reason in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        {"scale": 5},
        {"scale": {"low": 5, "high": 1}},
        {"k": "4"},
        {"k": True},
        {"k": 0},
        {"files": ["ratings.csv"]},
        {"files": {"classes.csv": "abc"}},
        {"files": {}},
        {"layout": "rows"},
        {"item_type": None},
        {"counts": 3},
        {"claim": "differential privacy"},
    ],
)
def test_a_manifest_that_makes_no_sense_is_bad_input(copied, change):
    manifest = json.loads((copied / "release.json").read_text())
    (copied / "release.json").write_text(json.dumps(manifest | change))
    with raises("claim.unknown" if "claim" in change else "release.damaged") as error:
        verify(copied)
    assert "release.json" in str(error.value)


def test_a_manifest_that_points_elsewhere_is_bad_input(copied):
    manifest = json.loads((copied / "release.json").read_text())
    manifest["files"]["../secret"] = {"sha256": "0"}
    (copied / "release.json").write_text(json.dumps(manifest))
    with raises("release.damaged"):
        verify(copied)


def test_an_unreadable_ratings_file_is_bad_input(copied):
    file, _ = _table(copied)
    file.write_bytes(b"\x00\xffnothing" * 20)
    _fix_checksum(copied, file)
    with raises("release.damaged"):
        verify(copied)
    file.unlink()
    with raises("release.damaged"):
        verify(copied)


def _other_bytes(file: Path, way: str) -> bytes:
    """Return contents of a changed file that is no ratings file."""
    content = file.read_bytes()
    if way == "cut":
        return content[: len(content) // 2].rpartition(b",")[0]
    if way == "empty":
        return b""
    if way == "noise":
        return b"\x00\xffnothing" * 20
    if file.suffix == ".csv":  # an item id that is no whole number
        head, line, rest = content.split(b"\n", 2)
        fields = line.split(b",")
        return b"\n".join([head, b",".join([fields[0], b"2.7", *fields[2:]]), rest])
    table = pq.read_table(file)
    pq.write_table(table.set_column(1, "item_id", table["item_id"].cast(pa.string())), file)
    return file.read_bytes()


@pytest.mark.parametrize("way", ["cut", "empty", "noise", "another type"])
def test_a_changed_file_fails_even_if_it_cannot_be_read_any_more(copied, way):
    file, _ = _table(copied)
    file.write_bytes(_other_bytes(file, way))
    result = verify(copied)
    assert not result.holds
    assert (result.k_achieved, result.users, result.compared) == (0, 0, [])  # nothing was shown
    stated = [(violation.where, violation.problem) for violation in result.violations]
    assert stated[0] == (file.name, "not the file that was written (SHA-256)")
    assert stated[-1][0] == file.name
    assert stated[-1][1].startswith("changed, and ")
    assert "write the release again" not in stated[-1][1]
    assert verify(copied, links=True).no_links.code == "unread"


def test_the_ratings_of_another_release_fail(copied, releases):
    """In the other layout they lack a column, or have one too many."""
    file, _ = _table(copied)
    other = "users" if "group_size" in _table(copied)[1].column_names else "groups"
    shutil.copy(releases / f"{other}-{file.suffix[1:]}" / file.name, file)
    result = verify(copied)
    assert not result.holds
    assert result.violations[0].problem == "not the file that was written (SHA-256)"
    assert any("group_size" in violation.problem for violation in result.violations)


def test_records_across_many_small_batches(copied, monkeypatch):
    whole = verify(copied)
    monkeypatch.setattr(published_file, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(published_file, "_BLOCK_BYTES", 200)
    assert verify(copied) == whole


class TestFingerprints:
    """A publisher could distinguish users by how equal numbers are stored; the checker must see."""

    @pytest.fixture
    def as_csv(self, releases, tmp_path) -> Path:
        return Path(shutil.copytree(releases / "users-csv", tmp_path / "csv"))

    @pytest.fixture
    def as_parquet(self, releases, tmp_path) -> Path:
        return Path(shutil.copytree(releases / "users-parquet", tmp_path / "parquet"))

    @pytest.mark.parametrize("spelling", ["{}.0", "{}e0", "+{}", " {}", "{}.00000000000000000001"])
    @pytest.mark.parametrize("column", ["item_id", "rating"])
    def test_a_number_written_unusually_is_named(self, as_csv, column, spelling):
        file = as_csv / "ratings.csv"
        lines = file.read_text().splitlines()
        at = next(n for n, line in enumerate(lines) if re.search(r",[1-5]$", line))
        user, item, rating = lines[at].split(",")
        changed = spelling.format(item if column == "item_id" else rating)
        fields = [user, changed, rating] if column == "item_id" else [user, item, changed]
        lines[at] = ",".join(fields)
        file.write_text("\n".join([*lines, ""]))
        _fix_checksum(as_csv, file)
        try:
            result = verify(as_csv)
        except RecveilError:
            return  # a spelling that no reader takes for a whole number
        assert not result.holds
        assert (at, f"its {column} is not in canonical form: {changed!r}") in [
            (violation.row, violation.problem) for violation in result.violations
        ]

    @pytest.mark.parametrize(
        ("column", "kind"),
        [
            ("rating", pa.string()),
            ("rating", pa.decimal128(20, 15)),
            ("rating", pa.float32()),
            ("item_id", pa.string()),
            ("item_id", pa.float64()),
            ("item_id", pa.timestamp("s")),
        ],
    )
    def test_columns_of_other_types_are_refused(self, as_parquet, column, kind):
        file, table = _table(as_parquet)
        at = table.column_names.index(column)
        table = table.set_column(at, column, table[column].cast(kind, safe=False))
        pq.write_table(table, file, store_schema=kind != pa.string())
        _fix_checksum(as_parquet, file)
        with raises("release.damaged") as error:
            verify(as_parquet)
        assert f"'{column}'" in str(error.value)

    def test_metadata_in_the_file_is_a_violation(self, as_parquet):
        file, table = _table(as_parquet)
        pq.write_table(table.replace_schema_metadata({"who": "p1 is alice"}), file)
        _fix_checksum(as_parquet, file)
        problems = [violation.problem for violation in verify(as_parquet).violations]
        assert any(
            "it contains metadata in addition to the ratings" in problem for problem in problems
        )

    def test_a_second_ratings_file_is_a_violation_even_if_listed(self, as_csv):
        (as_csv / "ratings.parquet").write_bytes(b"who is who")
        manifest = json.loads((as_csv / "release.json").read_text())
        manifest["files"]["ratings.parquet"] = {"sha256": hashlib.sha256(b"who is who").hexdigest()}
        manifest["files"] = dict(sorted(manifest["files"].items()))
        (as_csv / "release.json").write_text(json.dumps(manifest))
        assert not verify(as_csv).holds

    def test_missing_and_doubled_columns_are_bad_input(self, as_parquet):
        file, table = _table(as_parquet)
        pq.write_table(table.drop_columns("rating"), file)
        _fix_checksum(as_parquet, file)
        with raises("release.damaged") as error:
            verify(as_parquet)
        assert "'rating', found 0" in str(error.value)
        pq.write_table(table.append_column("rating", table["rating"]), file)
        _fix_checksum(as_parquet, file)
        with raises("release.damaged") as error:
            verify(as_parquet)
        assert "'rating', found 2" in str(error.value)


class TestSettingsThatTheRowsRefute:
    """What the card says of how rows were made is compared with the rows."""

    @pytest.fixture
    def table(self):
        return make_ratings(250, 60, 6_000, seed=1, scale=RatingScale(1, 5, 1))

    def forged(self, release, folder, name, value):
        release.write(folder / "out", file_format="csv")
        assert verify(folder / "out").holds
        forge(folder / "out", lambda stated: stated["settings"].update({name: value}))
        assert list(independent.problems(folder / "out"))
        return [each.problem for each in verify(folder / "out").violations]

    @pytest.mark.parametrize("cluster", [21, 25, 30, 200])
    def test_clusters_that_are_larger_than_values_allow(self, table, tmp_path, cluster):
        release = SparseRows(5, seed=1).anonymize(table)
        (problem,) = self.forged(release, tmp_path, "cluster_size", cluster)
        assert f"cluster_size is {cluster}" in problem

    def test_padded_rows_that_lack_items(self, table, tmp_path):
        release = PredictiveAnonymizer(5, "simple", seed=1).anonymize(table)
        (problem,) = self.forged(release, tmp_path, "homogenize", "padded")
        assert "each holds all 60 items" in problem

    @pytest.mark.parametrize("cluster", [20, 50, 83])
    def test_clusters_as_they_are_hold(self, table, tmp_path, cluster):
        SparseRows(20, cluster, seed=1).anonymize(table).write(tmp_path / "out")
        assert verify(tmp_path / "out").holds


@pytest.mark.parametrize("address", ["sqlite:///w.db", "s3://bucket/out", "http://host/out"])
def test_an_address_is_named_as_it_was_given(address):
    with raises("input.address", address):
        verify(address, k=2)
    with raises("input.address", "host/shop") as refused:
        verify("postgresql://ann:geheim@host/shop", k=2)
    assert "geheim" not in str(refused.value)
    with raises("input.address", "sqlite:///"):
        verify(Path("sqlite:///w.db"), k=2)


def test_the_address_of_a_folder_is_verified(releases):
    folder = releases / "users-csv"
    assert verify(folder.as_uri()).holds


def test_the_command_names_an_address_as_it_was_given(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["verify", "sqlite:///w.db"])
    assert ended.value.code == 2
    assert "sqlite:///w.db" in capsys.readouterr().err
