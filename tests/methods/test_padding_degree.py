import numpy as np
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods.predictive.anonymizer import PredictiveAnonymizer, choose_items
from recveil.methods.registry import same_again
from recveil.ratings import Ratings
from recveil.release.manifest import Manifest
from recveil.release.records import Groups
from recveil.release.specs.predictive import PREDICTIVE
from recveil.verification import verify

RATINGS = make_ratings(80, 30, 500, seed=1)


def content_of(folder):
    """Return the bytes of all files."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def rows_with(release, n_items):
    """Return in how many rows each item is."""
    items = np.concatenate([block.indices for block in release.published.blocks()])
    return np.bincount(items, minlength=n_items)


def cells_of(block):
    row_of = np.repeat(np.arange(len(block)), np.diff(block.indptr))
    return list(zip(row_of.tolist(), block.indices.tolist(), strict=True))


@pytest.mark.parametrize("padding", [0, 1, 0.0, 1.0])
def test_the_ends_are_simple_and_padded_rows_byte_for_byte(tmp_path, padding):
    homogenize = "padded" if padding else "simple"
    PredictiveAnonymizer(4, padding=padding, seed=1).anonymize(RATINGS).write(tmp_path / "a")
    PredictiveAnonymizer(4, homogenize, seed=1).anonymize(RATINGS).write(tmp_path / "b")
    assert content_of(tmp_path / "a") == content_of(tmp_path / "b")


@pytest.mark.parametrize("padding", [0.1, 0.5, 0.99])
def test_an_item_is_added_to_a_share_of_the_groups_without_a_rater(padding):
    simple = rows_with(PredictiveAnonymizer(4, "simple", seed=1).anonymize(RATINGS), 30)
    release = PredictiveAnonymizer(4, padding=padding, seed=1).anonymize(RATINGS)
    n_groups = release.private.groups.sizes.size
    added = np.floor(padding * (n_groups - simple)).astype(int) * (simple > 0)
    assert added.max() > 0
    assert np.array_equal(rows_with(release, 30), simple + added)


def test_values_are_those_of_padded_rows():
    full = PredictiveAnonymizer(4, seed=1).anonymize(RATINGS)
    partly = PredictiveAnonymizer(4, padding=0.3, seed=1).anonymize(RATINGS)
    (rows,), (kept,) = full.published.blocks(), partly.published.blocks()
    table = dict(zip(cells_of(rows), rows.values.tolist(), strict=True))
    assert [table[cell] for cell in cells_of(kept)] == kept.values.tolist()
    assert kept.values.size < rows.values.size


def test_the_most_likely_groups_come_first():
    # Items 0 and 1 draw two kinds of users, in groups 0 to 5 and 6 to 11. Five groups of the first
    # kind hold item 2, so that of all groups without it, that of the same kind is the most likely.
    users = np.repeat(np.arange(24), 2)
    items = np.tile([0, 3], 24)
    items[24 * 1 :: 2] = 1
    is_third = (users < 10) & (items == 3)
    items[is_third] = 2
    ratings = Ratings.from_columns(users, items, np.tile([1, 5], 24))
    places = np.where(np.arange(24) < 12, 0.0, 9.0)[:, np.newaxis]
    places = places + np.arange(24)[:, np.newaxis] / 100
    groups = Groups.from_labels(np.arange(24) // 2)
    chosen = choose_items(ratings, places, groups, 0.15).toarray()
    assert chosen[:5, 2].all()
    assert chosen[5, 2]  # floor(0.15 * 7) = 1
    assert chosen[:, 2].sum() == 6


@pytest.mark.parametrize("layout", ["groups", "users"])
def test_it_is_claimed_verified_and_made_again(tmp_path, layout):
    release = PredictiveAnonymizer(4, padding=0.3, seed=1).anonymize(RATINGS)
    release.write(tmp_path / "out", layout=layout)
    verified = verify(tmp_path / "out")
    assert verified.holds
    assert verified.k_achieved >= 4
    assert release.published.settings["padding"] == 0.3
    again = same_again(Manifest.of(release.published), seed=1)
    assert (again.padding, again.homogenize) == (0.3, "padded")


@pytest.mark.parametrize(
    ("users", "records", "values", "is_wrong"),
    [
        # Each of 3 items is in at least one of four rows, and in floor(0.5 * 3) = 1 of the others.
        (40, 4, 6, False),
        (40, 4, 5, True),
        # The same rows for each of their ten users, at least k = 5.
        (40, 40, 30, False),
        (40, 40, 29, True),
    ],
)
def test_too_few_values_refute_the_degree(users, records, values, is_wrong):
    counts = {"users": users, "records": records, "values": values, "items": 3, "classes": 4}
    settings = {"homogenize": "padded", "padding": 0.5}
    assert bool(list(PREDICTIVE.problems_of_rows(settings, 5, counts))) == is_wrong


@pytest.mark.parametrize("layout", ["groups", "users"])
def test_an_item_in_too_few_rows_refutes_the_degree(tmp_path, layout):
    PredictiveAnonymizer(4, padding=0.5, seed=1).anonymize(RATINGS).write(
        tmp_path / "out", layout=layout
    )
    path = tmp_path / "out" / "ratings.parquet"
    table = pq.read_table(path)
    items = table["item_id"].to_numpy()
    rarest = np.unique(items)[np.unique(items, return_counts=True)[1].argmin()]
    assert verify(tmp_path / "out").holds
    # All rows but one lose the item, whose values are few of all.
    pq.write_table(table.filter((items != rarest) | (np.cumsum(items == rarest) == 1)), path)
    problems = [each.problem for each in verify(tmp_path / "out").violations]
    assert any(problem.startswith("settings: padding is 0.5") for problem in problems)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"padding": 1.1}, "option.value"),
        ({"padding": -0.1}, "option.value"),
        ({"padding": float("nan")}, "option.value"),
        ({"padding": True}, "option.value"),
        ({"padding": "half"}, "option.value"),
        ({"padding": 0.5, "homogenize": "simple"}, "option.conflict"),
        ({"padding": 0.5, "values": "predicted"}, "option.conflict"),
        ({"padding": 0.5, "l": 2}, "option.conflict"),
    ],
)
def test_what_has_no_degree_of_padding_is_refused(options, code):
    with raises(code, "padding"):
        PredictiveAnonymizer(4, **options)
