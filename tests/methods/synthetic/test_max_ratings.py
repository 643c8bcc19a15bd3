"""`--max-ratings`: how many ratings of a user count, whatever others rated."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.methods.synthetic.options import counted_ratings, in_public_order, with_most
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings, RatingScale
from recveil.verification import verify

RATINGS = make_ratings(400, 60, 8_000, seed=1)
STARS = RatingScale(1, 5, 1)


def test_by_hand():
    """Of five ratings two count: those whose rank times two passes a multiple of five."""
    assert counted_ratings(np.array([0, 5, 7]), 2).nonzero()[0].tolist() == [2, 4, 5, 6]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(2, 50))
def test_so_many_of_each_user_count(lengths, most):
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    counted = np.add.reduceat(counted_ratings(indptr, most).astype(int), indptr[:-1])
    assert counted.tolist() == [min(length, most) for length in lengths]


@pytest.mark.parametrize("new", [["0", "00", "5b"], ["zz"], ["1"]])
def test_ratings_of_others_do_not_change_which_count(new):
    """A neighbouring table may have other items, which move all positions and the type of ids."""
    items = [str(item) for item in range(2, 40, 2)]
    users = ["ann"] * len(items)
    alone = Ratings.from_columns(users, items, np.ones(len(items)), scale=STARS)
    both = Ratings.from_columns(
        [*users, *["bob"] * len(new)], [*items, *new], np.ones(len(items) + len(new)), scale=STARS
    )
    kept = []
    for table in (alone, both):
        counted = in_public_order(table, 7)
        ann = counted.users.tolist().index("ann")
        kept.append(counted.items[counted.row(ann)[0]].astype(str).tolist())
    assert kept[0] == kept[1]
    assert len(kept[0]) == 7


def test_a_release_states_the_bound_and_holds(tmp_path):
    options = {"epsilon": 20.0, "item_catalog": "as-rated", "ledger": "none"}
    for name, table in (("ratings", RATINGS), ("likes", RATINGS.as_likes())):
        anonymize(table, tmp_path / name, max_ratings=10, **options)
        manifest = json.loads((tmp_path / name / "release.json").read_text())
        assert manifest["settings"]["max_ratings"] == 10
        assert max(manifest["settings"]["user_counts"]) <= 10
        assert verify(tmp_path / name).violations == []


def test_the_bound_without_a_catalog(tmp_path):
    table = make_ratings(3_000, 60, 60_000, seed=1)
    anonymize(table, tmp_path / "out", epsilon=50.0, ledger="none", max_ratings=20)
    assert verify(tmp_path / "out").violations == []


def test_a_bound_above_all_user_counts_changes_nothing():
    options = {"item_catalog": "as-rated", "seed": 1}
    one, other = (
        Synthesizer(20.0, max_ratings=most, **options).anonymize(RATINGS) for most in (None, 60)
    )
    assert one.published.settings["user_counts"] == other.published.settings["user_counts"]
    assert with_most(RATINGS, 60) is RATINGS


@pytest.mark.parametrize("most", [1, 0, 100_001, 2.0, True, "9"])
def test_other_bounds_are_rejected(most):
    with raises("option.value"):
        Synthesizer(3.0, max_ratings=most)
