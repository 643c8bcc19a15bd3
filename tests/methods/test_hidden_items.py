import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.attacks import AttackTarget
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, anonymize
from recveil.methods.base import anonymize_hidden
from recveil.methods.registry import summarize
from recveil.ratings import Ratings, RatingScale
from recveil.release.data_card import data_card
from recveil.release.earlier_formats import with_names_of
from recveil.release.manifest import FileEntry, Manifest, private_folder, to_bytes
from recveil.release.manifest_reader import known_manifest
from recveil.report.release import describe_summary
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

RATINGS = make_ratings(n_users=60, n_items=25, n_ratings=500, seed=2)

METHODS = {
    "padded": PredictiveAnonymizer(4, seed=1),
    "simple": PredictiveAnonymizer(4, "simple", seed=1),
    "k-corating": KCoRater(3, seed=1),
}


@pytest.fixture(params=METHODS)
def release(request):
    return anonymize_hidden(RATINGS, METHODS[request.param], seed=1)


@pytest.fixture
def folder(tmp_path):
    anonymize_hidden(RATINGS, METHODS["simple"], seed=1).write(tmp_path / "out", file_format="csv")
    return tmp_path / "out"


def sign(folder, **changes):
    """Renew release.json and the card after a change of the ratings."""
    content = json.loads((folder / "release.json").read_text()) | changes
    for name in content["files"]:
        entry = FileEntry.of(folder / name)
        content["files"][name] = {"sha256": entry.sha256, "bytes": entry.bytes}
    (folder / "release.json").write_bytes(to_bytes(content))


def named_problem(verification, words):
    return any(words in violation.problem for violation in verification.violations)


def test_a_hidden_release_holds(release, tmp_path):
    for layout in ("users", "groups"):
        assert release.write(tmp_path / layout, layout=layout).holds


def rarely_rated():
    """Six items for 24 users, and 30 more that one of them rated each."""
    rng = np.random.default_rng(1)
    users, items = np.nonzero(rng.random((24, 6)) < 0.6)
    users, items = [*users, *range(24), *range(6)], [*items, *[0] * 24, *range(6, 12)]
    pairs = np.unique(np.column_stack([users, items]), axis=0)
    values = rng.integers(1, 6, len(pairs))
    return Ratings.from_columns(*pairs.T, values, scale=RatingScale(1, 5, 1))


def test_messages_about_sparse_rows_do_not_depend_on_hiding():
    ratings = make_ratings(n_users=60, n_items=25, n_ratings=500, seed=2)
    release = anonymize_hidden(ratings, SparseRows(4, seed=2), seed=2)
    counts = dict.fromkeys(ratings.items.tolist(), 0)
    for block in release.published.blocks():
        for size, row in zip(block.sizes, np.split(block.indices, block.indptr[1:-1]), strict=True):
            for item in row:
                counts[release.original_items[item]] += size
    published = np.array([*counts.values()])
    off = np.abs(published - ratings.support)[published > 0]
    figures = summarize(release, ratings).figures
    assert (figures.mean_error, figures.max_error) == (off.mean(), off.max())


def test_a_method_may_leave_items_out(tmp_path):
    """Names without a gap for those that are published; each is still its own item."""
    ratings = rarely_rated()
    release = anonymize_hidden(ratings, SparseRows(4, seed=2), seed=2)
    assert release.published.items.size < ratings.n_items
    for layout in ("users", "groups"):
        assert release.write(tmp_path / layout, layout=layout).holds
    table = pq.read_table(tmp_path / "users.private" / "items.parquet").to_pydict()
    assert table["published_id"] == release.published.items.tolist()
    of = dict(zip(table["published_id"], table["item_id"], strict=True))
    assert set(of.values()) < set(ratings.items.tolist())
    assert describe_summary(summarize(release, ratings))
    rows = pq.read_table(tmp_path / "users" / "ratings.parquet")
    assert {of[item] for item in rows["item_id"].to_pylist()} == set(of.values())


def test_items_are_pseudonyms_from_0_on(release):
    prefix = release.published.items[0][:6]
    assert release.published.items.tolist() == [f"{prefix}{at:02d}" for at in range(25)]


def test_the_order_of_items_is_drawn_anew(release):
    assert sorted(release.private.items) == RATINGS.items.tolist()
    assert release.private.items.tolist() != RATINGS.items.tolist()


def test_the_seed_alone_does_not_reveal_the_order():
    others = make_ratings(n_users=60, n_items=25, n_ratings=500, seed=3)
    orders = [
        anonymize_hidden(ratings, METHODS["simple"], seed=1).private.items.tolist()
        for ratings in (RATINGS, others)
    ]
    assert orders[0] != orders[1]


def test_the_same_seed_hides_in_the_same_way():
    orders = [
        anonymize_hidden(RATINGS, METHODS["simple"], seed=1).private.items.tolist()
        for _ in range(2)
    ]
    assert orders[0] == orders[1]


def test_real_ratings_stand_under_the_pseudonyms_of_their_items():
    release = anonymize_hidden(RATINGS, METHODS["k-corating"], seed=1)
    table = AttackTarget.from_release(release, RATINGS)
    for user in range(RATINGS.n_users):
        labels = dict(
            zip(*(part.tolist() for part in table.row(table.record_of[user])), strict=True)
        )
        items, values = RATINGS.row(user)
        assert [labels[item] for item in items.tolist()] == values.tolist()


def test_items_that_no_user_rated_are_left_out():
    ratings = Ratings(
        *(RATINGS.users, [*RATINGS.items, 10_000], RATINGS.indptr, RATINGS.indices),
        *(RATINGS.values, None, RATINGS.scale),
    )
    release = anonymize_hidden(ratings, METHODS["simple"], seed=1)
    assert 10_000 not in release.private.items
    assert release.published.items.size == 25


def test_the_published_folder_does_not_hold_the_original_ids(tmp_path):
    names = [f"secret film {at}" for at in range(25)]
    items = np.array(names, object)[RATINGS.indices]
    ratings = Ratings.from_columns(
        RATINGS.users[RATINGS.user_positions()], items, RATINGS.values, scale=RATINGS.scale
    )
    anonymize_hidden(ratings, METHODS["simple"], seed=1).write(tmp_path / "out", file_format="csv")
    assert all(b"secret" not in file.read_bytes() for file in (tmp_path / "out").iterdir())
    twin = pq.read_table(tmp_path / "out.private" / "items.parquet")
    assert sorted(twin["item_id"].to_pylist()) == sorted(names)


def test_the_twin_is_for_its_owner_alone(folder):
    file = private_folder(folder) / "items.parquet"
    assert file.stat().st_mode & 0o077 == 0


def test_a_folder_is_read_through_its_twin(folder):
    release = anonymize_hidden(RATINGS, METHODS["simple"], seed=1)
    here, there = (
        AttackTarget.from_release(release, RATINGS),
        AttackTarget.from_folder(folder, RATINGS),
    )
    for user in range(RATINGS.n_users):
        for one, other in zip(
            here.row(here.record_of[user]), there.row(there.record_of[user]), strict=True
        ):
            assert np.array_equal(one, other)


def test_without_the_twin_it_is_refused(folder):
    (private_folder(folder) / "items.parquet").unlink()
    for read in (AttackTarget.from_folder, AttackTarget.from_published):
        with raises("private.not-found", "items.parquet"):
            read(folder, RATINGS)


def test_without_hiding_nothing_changes(tmp_path):
    METHODS["simple"].anonymize(RATINGS).write(tmp_path / "plain")
    anonymize(
        RATINGS,
        tmp_path / "asked",
        k=4,
        method="predictive",
        homogenize="simple",
        seed=1,
        hide_items=False,
    )
    for file in (tmp_path / "plain").iterdir():
        assert file.read_bytes() == (tmp_path / "asked" / file.name).read_bytes()


def test_the_card_says_so(folder):
    manifest = known_manifest(folder)
    assert manifest.settings["items"] == "pseudonyms"
    card = data_card(manifest, "ratings.csv")
    assert "a pseudonym of an item" in card
    assert "Items can be re-identified" in card


def test_other_names_do_not_pass(folder):
    file = folder / "ratings.csv"
    prefix = anonymize_hidden(RATINGS, METHODS["simple"], seed=1).published.items[0][:6]
    file.write_text(file.read_text().replace(f'"{prefix}24"', '"z-heat"'))
    sign(folder)
    assert named_problem(verify(folder), "are not the pseudonyms of hidden items")


def test_a_gap_in_the_numbers_does_not_pass(folder):
    file = folder / "ratings.csv"
    prefix = anonymize_hidden(RATINGS, METHODS["simple"], seed=1).published.items[0][:6]
    file.write_text(file.read_text().replace(f'"{prefix}24"', f'"{prefix}25"'))
    sign(folder)
    assert named_problem(verify(folder), "numbered from 0 on without a gap")


def test_numbers_are_no_pseudonyms(folder):
    sign(folder, item_type="integer")
    with pytest.raises(RecveilError):
        verify(folder)


def test_the_first_format_does_not_know_it(folder):
    content = json.loads((folder / "release.json").read_text())
    del content["counts"]["duplicates_dropped"]
    older = with_names_of(1, content)
    parts = {name: older[name] for name in ("counts", "settings")}
    sign(folder, format="recveil-release-1", **parts)
    assert named_problem(verify(folder), "which this format does not have")


def test_the_private_file_must_not_be_published(folder):
    (private_folder(folder) / "items.parquet").rename(folder / "items.parquet")
    assert named_problem(verify(folder), "re-identifies items")


def test_the_manifest_in_memory_says_so(release):
    assert Manifest.of(release.published).settings["items"] == "pseudonyms"
    assert Manifest.of(release.published).item_type == "text"
