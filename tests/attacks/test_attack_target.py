import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.attacks.attack_target import AttackTarget
from recveil.methods import PredictiveAnonymizer
from recveil.methods.predictive.homogenize import homogenize_simple
from recveil.publish.release import Release
from recveil.ratings import Ratings, RatingScale
from recveil.release import reader
from recveil.release.claim import Claim
from recveil.release.records import Groups
from recveil.release.sides import Private, Published
from shared.attacks_release_target import small, with_text_ids, written  # noqa: F401 (fixtures)


def release_in_groups(ratings, labels, k=2):
    """Simple homogenizing with groups that are given."""
    groups = Groups.from_labels(labels)
    published = Published(
        claim=Claim("identical-rows", k),
        items=ratings.items,
        scale=ratings.scale,
        settings={},
        n_users=ratings.n_users,
        prefix="p-",
        blocks=lambda: homogenize_simple(ratings, groups),
        default_layout="users",
    )
    return Release(published, Private(ratings.users, groups, 0))


def same(one, other):
    names = ("indptr", "indices", "values", "record_of", "k")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    for name in ("indptr", "records", "codes", "levels"):
        pairs.append((getattr(one.candidates, name), getattr(other.candidates, name)))
    pairs.append((one.candidates.support, other.candidates.support))
    return all(np.array_equal(first, second) for first, second in pairs)


def test_groups_with_the_same_row_are_one_class():
    ratings = Ratings.from_columns(
        [0, 1, 2, 3, 4, 5], [7, 7, 7, 7, 8, 8], [1, 3, 2, 2, 5, 4], scale=RatingScale(1, 5, 1)
    )
    table = AttackTarget.from_release(release_in_groups(ratings, [0, 0, 2, 2, 1, 1]), ratings)
    assert table.record_of.tolist() == [0, 0, 0, 0, 1, 1]
    assert table.candidates.n_users == 6
    assert table.candidates.support.tolist() == [4, 2]
    assert [row.tolist() for row in table.row(0)] == [[0], [2.0]]
    assert [row.tolist() for row in table.row(1)] == [[1], [4.5]]
    assert table.k == 2


def test_item_means_count_users():
    ratings = Ratings([1, 2, 3, 4, 5], [7, 8], range(6), [0] * 5, [1, 1, 1, 4, 4], None,
                      RatingScale(1, 5, 1))  # fmt: skip
    table = AttackTarget.from_release(release_in_groups(ratings, [0, 0, 0, 1, 1]), ratings)
    means = table.item_means()
    assert means[0] == (3 * 1 + 2 * 4) / 5
    assert np.isnan(means[1])


def test_users_and_items_who_are_not_in_the_release():
    some = Ratings.from_columns([40, 10, 30, 20], [9, 5, 9, 5], [4, 1, 2, 3])
    more = Ratings.from_columns(
        [5, 10, 15, 20, 30, 40], [1, 5, 7, 5, 9, 9], [1, 1, 1, 3, 2, 4], scale=some.scale
    )
    release = release_in_groups(some, [0, 0, 1, 1])
    table = AttackTarget.from_release(release, more)
    assert table.record_of.tolist() == [-1, 0, -1, 0, 1, 1]
    assert table.indices.tolist() == [1, 3]
    assert table.values.tolist() == [2.0, 3.0]
    with raises("release.mismatch", "item 5"):
        AttackTarget.from_release(release, Ratings.from_columns([10, 20, 30, 40], [9] * 4, [1] * 4))
    with raises("release.mismatch", "user 10"):
        AttackTarget.from_release(release, Ratings.from_columns([1, 2], [5, 9], [1, 1]))


def test_ratings_with_their_items_in_another_order():
    ratings = Ratings.from_columns([1, 1, 2, 2], [5, 6, 5, 6], [1, 4, 3, 2])
    turned = Ratings([2, 1], [6, 5], [0, 2, 4], [0, 1, 0, 1], [2, 3, 4, 1], None, ratings.scale)
    table = AttackTarget.from_release(release_in_groups(ratings, [0, 0]), turned)
    assert table.indices.tolist() == [0, 1]
    assert table.values.tolist() == [3.0, 2.0]


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("layout", ["users", "groups"])
@pytest.mark.parametrize("homogenize", ["padded", "simple"])
@pytest.mark.parametrize("text", [False, True])
def test_what_is_read_is_what_was_in_memory(
    small, tmp_path, monkeypatch, file_format, layout, homogenize, text
):
    monkeypatch.setattr(reader, "_ROWS_AT_ONCE", 50)  # tears records apart
    ratings = with_text_ids(small) if text else small
    release = PredictiveAnonymizer(k=4, homogenize=homogenize, seed=1).anonymize(ratings)
    release.write(tmp_path / "out", layout=layout, file_format=file_format)
    table = AttackTarget.from_folder(tmp_path / "out", ratings)
    assert same(table, AttackTarget.from_release(release, ratings))
    assert table.k == 4


def test_all_users_are_in_their_class(small):
    release = PredictiveAnonymizer(k=4, seed=1).anonymize(small)
    table = AttackTarget.from_release(release, small)
    assert (np.bincount(table.record_of) >= 4).all()
    groups = release.private.groups
    blocks = list(release.published.blocks())
    values = np.concatenate([block.values.reshape(len(block), -1) for block in blocks])
    for group, (start, end) in enumerate(zip(groups.starts, groups.starts[1:], strict=False)):
        for user in groups.members[start:end]:
            assert np.array_equal(table.row(table.record_of[user])[1], values[group])


def test_a_folder_without_its_twin(small, written):
    written.with_name("out.private").rename(written.with_name("elsewhere"))
    with raises("private.not-found", "private.json"):
        AttackTarget.from_folder(written, small)


def test_a_twin_of_another_release(small, written, tmp_path):
    PredictiveAnonymizer(k=4, seed=2).anonymize(small).write(tmp_path / "other")
    private = written.with_name("out.private")
    private.rename(tmp_path / "away")
    (tmp_path / "other.private").rename(private)
    with raises("private.mismatch", "out.private"):
        AttackTarget.from_folder(written, small)


@pytest.mark.parametrize("about", [{"release": "x"}, {}])
def test_a_twin_that_names_no_release(small, written, about):
    (written.with_name("out.private") / "private.json").write_text(json.dumps(about))
    with raises("private.mismatch", "out.private"):
        AttackTarget.from_folder(written, small)


def test_no_release_at_all(small, tmp_path):
    with raises("release.not-found", "release.json"):
        AttackTarget.from_folder(tmp_path, small)
    (tmp_path / "release.json").write_text('{"format": "recveil-release-12"}')
    with raises("release.unknown-format", "recveil-release-12"):
        AttackTarget.from_folder(tmp_path, small)


def test_changed_ratings(small, written):
    with (written / "ratings.parquet").open("ab") as stream:
        stream.write(b"x")
    with raises("release.damaged", "ratings.parquet", "SHA-256"):
        AttackTarget.from_folder(written, small)


def _rewrite_manifest(folder, change):
    """Change release.json and let the twin agree."""
    manifest = json.loads((folder / "release.json").read_text())
    change(manifest)
    (folder / "release.json").write_text(json.dumps(manifest))
    private = folder.with_name(f"{folder.name}.private") / "private.json"
    digest = hashlib.sha256((folder / "release.json").read_bytes()).hexdigest()
    private.write_text(json.dumps({"release": {"sha256": digest}}))


def test_a_manifest_that_makes_no_sense(small, written):
    _rewrite_manifest(written, lambda manifest: manifest["files"].pop("ratings.parquet"))
    with raises("release.damaged", "release.json"):
        AttackTarget.from_folder(written, small)
    _rewrite_manifest(written, lambda manifest: manifest.pop("files"))
    with raises("release.damaged", "'files'"):
        AttackTarget.from_folder(written, small)


def test_an_assignment_that_does_not_fit(small, written):
    file = written.with_name("out.private") / "assignment.parquet"
    assignment = pq.read_table(file)
    pq.write_table(assignment.slice(1), file)
    with raises("private.mismatch"):
        AttackTarget.from_folder(written, small)
    outsiders = pa.array(["nobody"] * assignment.num_rows)
    pq.write_table(assignment.set_column(1, "published_id", outsiders), file)
    with raises("private.mismatch") as caught:
        AttackTarget.from_folder(written, small)
    assert "'nobody'" in str(caught.value)
