"""Both checkers say the same of releases of users' rows."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forging import forge
from release_in_parts import InParts

from error_assertions import raises
from recveil import anonymize
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows
from recveil.publish.folder import write_release
from recveil.ratings import RatingScale
from recveil.release.claim import claim_kind
from recveil.release.manifest import FileEntry, Manifest, part_name, to_bytes
from recveil.release.manifest_reader import read_manifest
from recveil.report.verification import describe_limit
from recveil.spark import verify
from recveil.spark.verification import _limits_of_clusters, _note, is_written_in_order
from recveil.verification import verify as verify_here
from recveil.verification.means import MeansOfLevels
from recveil.verification.published_file import Block, PublishedFile

RATINGS = make_ratings(90, 40, 900, seed=3, scale=RatingScale(1, 5, 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Releases, one a folder."""
    folder = tmp_path_factory.mktemp("people")
    simple = PredictiveAnonymizer(4, "simple", seed=7).anonymize(RATINGS)
    write_release(simple, folder / "simple", by=InParts())
    simple.write(folder / "text", file_format="csv", layout="groups")
    levels = np.where(np.arange(90) % 2, 3, 6)
    leveled = PredictiveAnonymizer(3, seed=7, privacy_levels=levels).anonymize(RATINGS)
    write_release(leveled, folder / "levels", by=InParts())
    write_release(KCoRater(4, seed=7).anonymize(RATINGS), folder / "corated", by=InParts())
    return folder


@pytest.fixture
def simple(folder, tmp_path):
    """A copy of one, to be changed."""
    shutil.copytree(folder / "simple", tmp_path / "simple")
    return tmp_path / "simple"


@pytest.mark.parametrize("name", ["simple", "text", "levels", "corated"])
def test_verdicts_are_the_same(spark, folder, name):
    here, there = verify_here(folder / name), verify(folder / name)
    assert here.holds
    assert there.to_dict() == here.to_dict()


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_clusters_that_are_larger_than_rows_allow(spark, tmp_path, file_format):
    ratings = make_ratings(250, 60, 6_000, seed=1, scale=RatingScale(1, 5, 1))
    SparseRows(5, seed=1).anonymize(ratings).write(tmp_path / "out", file_format=file_format)
    assert verify(tmp_path / "out").holds
    forge(tmp_path / "out", lambda result: result["settings"].update(cluster_size=21))
    here, there = verify_here(tmp_path / "out"), verify(tmp_path / "out")
    assert not here.holds
    assert there.violations == here.violations


def test_item_tables_are_compared_alike(spark, tmp_path):
    (tmp_path / "items.csv").write_text("item_id,title\n7,Heat\n8,Alien\n")
    anonymize(RATINGS, tmp_path / "out", k=5, seed=1, item_table=tmp_path / "items.csv")
    here, there = verify_here(tmp_path / "out"), verify(tmp_path / "out")
    assert there.holds
    assert there.to_dict() == here.to_dict()
    lines = (tmp_path / "out" / "items.csv").read_text().splitlines()
    (tmp_path / "out" / "items.csv").write_text("\n".join([*lines[:-1], ""]))
    resigned(tmp_path / "out", "items.csv")
    here, there = verify_here(tmp_path / "out"), verify(tmp_path / "out")
    assert not there.holds
    assert there.violations == here.violations


@pytest.mark.parametrize("limits", [{"diversity": 2}, {"diversity": 2, "closeness": 0.5}])
@pytest.mark.parametrize("kind", [PredictiveAnonymizer, KCoRater])
def test_limits_of_values_are_counted_by_executors(spark, tmp_path, kind, limits):
    """As many cells are outside them as one machine counts, in all parts together."""
    options = {"homogenize": "simple"} if kind is PredictiveAnonymizer else {}
    release = kind(4, seed=7, **options, **limits).anonymize(RATINGS)
    write_release(release, tmp_path / "out", by=InParts())
    here, there = verify_here(tmp_path / "out"), verify(tmp_path / "out")
    assert here.holds
    assert there.to_dict() == here.to_dict()
    forge(tmp_path / "out", lambda result: result["settings"].update(diversity=4, closeness=0.01))
    here, there = verify_here(tmp_path / "out"), verify(tmp_path / "out")
    assert any("outside diversity 4, closeness 0.01" in each.problem for each in here.violations)
    assert there.violations == here.violations


def test_rows_that_are_not_compared_for_clusters_are_noted(tmp_path):
    ratings = make_ratings(60, 20, 600, seed=1, scale=RatingScale(1, 5, 1))
    SparseRows(5, seed=1).anonymize(ratings).write(tmp_path / "out")
    manifest, _ = read_manifest(tmp_path / "out" / "release.json")
    assert not _limits_of_clusters(manifest, 8_192)
    (limit,) = _limits_of_clusters(manifest, 8_193)
    assert "8,192 longest of 8,193 different rows" in describe_limit(limit)


def test_padded_rows_are_no_simple_ones(spark, tmp_path):
    PredictiveAnonymizer(5, seed=1).anonymize(RATINGS).write(tmp_path / "out")
    forge(tmp_path / "out", lambda result: result["settings"].update(homogenize="simple"))
    here, there = verify_here(tmp_path / "out"), verify(tmp_path / "out")
    assert not here.holds
    assert there.violations == here.violations


def test_items_in_too_few_rows_for_a_degree_of_padding_are_found(spark, tmp_path):
    """The rarest item is counted in all parts together: 0.5 of the classes have it, 0.6 do not."""
    release = PredictiveAnonymizer(4, padding=0.5, seed=7).anonymize(RATINGS)
    write_release(release, tmp_path / "out", by=InParts())
    here, there = verify_here(tmp_path / "out"), verify(tmp_path / "out")
    assert here.holds
    assert there.to_dict() == here.to_dict()
    forge(tmp_path / "out", lambda result: result["settings"].update(padding=0.6))
    here, there = verify_here(tmp_path / "out"), verify(tmp_path / "out")
    assert any("so that each item is in at least" in each.problem for each in here.violations)
    assert there.violations == here.violations


@pytest.mark.parametrize("fill", ["item-mean", "random"])
def test_values_of_another_fill_are_found(spark, tmp_path, fill):
    other = {"item-mean": "similarity", "random": "item-mean"}[fill]
    release = KCoRater(4, fill=other, round_fills=False, seed=7).anonymize(RATINGS)
    write_release(release, tmp_path / "out", by=InParts())
    assert verify(tmp_path / "out").holds
    forge(tmp_path / "out", lambda result: result["settings"].update(fill=fill))
    here, there = verify_here(tmp_path / "out"), verify(tmp_path / "out")
    assert any(f"fill is {fill}" in each.problem for each in here.violations)
    assert there.violations == here.violations


@pytest.mark.parametrize("number", [None, 1.0, 30.0])
def test_user_counts_are_those_of_the_records(spark, tmp_path, number):
    ratings = make_ratings(200, 30, 2_500, seed=1)
    anonymize(ratings, tmp_path / "out", epsilon=20.0, item_catalog="as-rated")
    if number is not None:
        forge(
            tmp_path / "out", lambda result: result["settings"].update(user_counts=[number] * 128)
        )
    here, there = verify_here(tmp_path / "out"), verify(tmp_path / "out")
    assert here.holds == (number is None)
    assert there.to_dict() == here.to_dict()


def test_classes_below_k_are_named_once(spark, folder):
    here, there = verify_here(folder / "text", k=6), verify(folder / "text", k=6)
    assert (there.holds, there.k_required, there.k_achieved) == (False, 6, here.k_achieved)
    assert there.k_claimed == here.k_claimed < 6
    assert set(there.violations) == set(here.violations)
    of_users = verify(folder / "simple", k=6)
    assert not of_users.holds
    assert len(of_users.violations) == len(there.violations)


def resigned(out, name):
    """Let release.json describe a changed file as if it were the one that was written."""
    result = json.loads((out / "release.json").read_text())
    entry = FileEntry.of(out / name)
    result["files"][name] = {"sha256": entry.sha256, "bytes": entry.bytes}
    (out / "release.json").write_bytes(to_bytes(result))


def test_a_changed_label_is_found_though_checksums_are_right(spark, simple):
    name = part_name(1)
    table = pq.read_table(simple / name)
    labels = table["rating"].to_numpy().copy()
    labels[0] = 1.0 if labels[0] != 1.0 else 5.0
    pq.write_table(table.set_column(2, "rating", pa.array(labels)), simple / name)
    resigned(simple, name)
    here, there = verify_here(simple), verify(simple)
    assert there.k_achieved == here.k_achieved == 1
    assert any("values are shared by 1 user" in each.problem for each in there.violations)


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [*lines[:2], *lines[3:]],
        lambda lines: [lines[0], *lines[1:][::-1]],
        lambda lines: [*lines, "f" * 32 + ",4\n"],
        lambda lines: [*lines[:-1], lines[-1].replace(",", ",0")],
        lambda lines: [*lines[:-1], lines[-1].rstrip("\n") + "0\n"],
    ],
    ids=["a line less", "order", "a line more", "notation", "people"],
)
def test_another_list_of_classes_is_found(spark, simple, change):
    lines = (simple / "classes.csv").read_text().splitlines(keepends=True)
    (simple / "classes.csv").write_text("".join(change(lines)))
    resigned(simple, "classes.csv")
    for verdict in (verify_here(simple), verify(simple)):
        result = [each.problem for each in verdict.violations]
        assert "not the list of the classes of these ratings, line for line" in result


def test_wrong_counts_are_found(spark, simple):
    result = json.loads((simple / "release.json").read_text())
    result["counts"]["singletons"] = 1
    (simple / "release.json").write_bytes(to_bytes(result))
    assert any("counts 1 singletons" in each.problem for each in verify(simple).violations)


def test_what_is_not_checked_is_refused(spark, folder):
    with raises("option.unsupported"):
        verify(folder / "simple", private=folder / "simple.private")
    with raises("release.not-found"):
        verify(folder)


def test_two_rows_that_meet_in_a_digest_are_two_classes(folder):
    """No collision hides that a user shares a row with no other."""
    manifest = Manifest.from_json(json.loads((folder / "simple" / "release.json").read_text()))
    file = PublishedFile(folder / "simple" / "x.parquet", manifest, claim_kind("identical-rows"))
    file.items = [7, 8]
    block = Block(
        digests=[b"same"] * 3,
        stated_digests=[b"same"] * 3,
        sizes=[1, 1, 1],
        user_ids=["a", "b", "c"],
        rows=[1, 3, 5],
        promised=None,
        indptr=np.array([0, 2, 4, 6]),
        items=np.array([0, 1] * 3, np.int32),
        values=np.array([4.0, 2.0, 4.0, 2.0, 4.0, 3.0]),
    )
    found = {}
    _note(block, file, MeansOfLevels(manifest), found)
    assert sorted(users for users, *_ in found.values()) == [1, 2]


def test_lists_in_order(tmp_path):
    file = tmp_path / "classes.csv"
    for text, is_right in {
        "": False,
        "digest,users\n": True,
        f"digest,users\n{'0' * 32},1\n{'1' * 32},12\n": True,
        f"digest,users\n{'1' * 32},1\n{'0' * 32},1\n": False,
        f"digest,users\n{'1' * 32},1\n{'1' * 32},1\n": False,
        f"digest,users\r\n{'1' * 32},1\n": False,
        f"digest,users\n{'A' * 32},1\n": False,
        f"digest,users\n{'1' * 32},1": False,
    }.items():
        file.write_text(text, newline="")
        assert is_written_in_order(file, 9) == is_right, text
        before = text.replace("users", "people")
        file.write_text(before, newline="")
        assert is_written_in_order(file, 8) == is_right, before
