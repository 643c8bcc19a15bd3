import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from error_assertions import raises
from recveil.evaluation import (
    closeness,
    fidelity_metrics,
    rating_histogram,
    similarity_distributions,
    weighted,
    weighted_squared,
)
from recveil.predict import FunkSVD, ItemMean, Padding
from recveil.ratings import Ratings, RatingScale

stars = RatingScale(1, 5, 1)
rows = arrays(float, 6, elements=st.floats(1, 5))
MEASURES = {
    "close": lambda x, y: closeness(x, y, stars, 0.5),
    "weighted": lambda x, y: weighted(x, y, stars),
    "squared": lambda x, y: weighted_squared(x, y, stars),
}


class TestMeasures:
    def test_by_hand(self):
        # Differences 0, 0.5, 1, 4: as shares of the range of 4: 0, 1/8, 1/4, 1.
        first, second = [3, 3, 3, 1], [3, 3.5, 2, 5]
        assert closeness(first, second, stars, 0.5) == 2 / 4  # 1 and 4 are more than 0.5
        assert closeness(first, second, stars, 1.0) == 1 / 4
        assert weighted(first, second, stars) == (1 / 8 + 1 / 4 + 1) / 4
        # 1 - (1 + (7/8)² + (3/4)² + 0) / 4
        assert weighted_squared(first, second, stars) == 1 - (1 + 49 / 64 + 9 / 16) / 4

    @pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
    @given(first=rows, second=rows)
    def test_they_are_symmetric_and_from_0_to_1(self, measure, first, second):
        assert measure(first, first) == 0
        assert measure(first, second) == measure(second, first)
        assert 0 <= measure(first, second) <= 1

    @pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
    def test_opposite_rows_are_1_apart(self, measure):
        assert measure([1, 5, 1], [5, 1, 5]) == 1

    @given(first=rows, second=rows)
    def test_the_squared_one_is_above_the_plain_one(self, first, second):
        # 1 - (1 - d)² = 2d - d² lies between d and 2d.
        plain, squared = weighted(first, second, stars), weighted_squared(first, second, stars)
        assert plain - 1e-12 <= squared <= 2 * plain + 1e-12

    def test_a_scale_of_one_rating_distinguishes_no_users(self):
        likes = RatingScale(1, 1)
        assert weighted([1, 1], [1, 1], likes) == weighted_squared([1, 1], [1, 1], likes) == 0


def constant_rows(values, n_items: int = 4) -> tuple[Ratings, Padding]:
    """Users who give every item the same; each has rated one item."""
    n_users = len(values)
    ratings = Ratings(
        *(list(range(n_users)), list(range(n_items))),
        *(list(range(n_users + 1)), [u % n_items for u in range(n_users)], values, None, stars),
    )
    padding = Padding(
        np.asarray(values, np.float32)[:, None],
        np.ones((n_items, 1), np.float32),
        np.zeros(n_items, np.float32),
        stars,
    )
    return ratings, padding


class TestDistributions:
    def test_two_groups_of_opposite_users(self):
        # Four users who give 1, four who give 5. Of any two, 4/7 are opposite: 1 apart, in the
        # last bin; 3/7 alike: 0. Within a group, all are alike.
        ratings, padding = constant_rows([1, 5] * 4)
        found = similarity_distributions(ratings, padding, [0, 1] * 4, n_pairs=7_000)
        assert found.before[:, 1:-1].sum() == 0
        assert found.before[:, -1] == pytest.approx([4 / 7] * 4, abs=0.03)
        assert found.mean_before == pytest.approx(found.before[:, -1])
        assert found.after[:, 0].tolist() == [1] * 4
        assert found.mean_after.tolist() == [0] * 4
        assert found.edges == pytest.approx(np.arange(21) * 0.05)
        assert found.n_pairs == 7_000

    def test_which_bin(self):
        # Two users, 1 and 2: more than 0.5 apart, not more than 1; d = 1/4, 1 - (3/4)² = 7/16.
        # Each item's difference is the same. Bins are 0.05 wide: 0.25 opens bin 5, 0.4375 is in 8.
        ratings, padding = constant_rows([1, 2])
        found = similarity_distributions(ratings, padding, [0, 0], n_pairs=3)
        assert found.before.argmax(axis=1).tolist() == [19, 0, 5, 8]
        assert found.after.argmax(axis=1).tolist() == [19, 0, 5, 8]
        assert found.mean_after == pytest.approx([1, 0, 0.25, 0.4375])

    def test_thresholds_follow_the_scale(self):
        # On a scale of 0 to 40, ten times the paper's range, closeness-0.5 is within 5 points.
        ratings = Ratings.from_columns([1, 2], ["a", "a"], [0, 5], scale=RatingScale(0, 40, 1))
        found = similarity_distributions(ratings, ItemMean().fit(ratings).padding(), [0, 0])
        assert found.mean_before.tolist() == pytest.approx([0, 0, 1 / 8, 1 - 49 / 64])

    def test_own_ratings_stand_over_predictions_and_unrated_items_do_not_count(self):
        # Predicted 3 everywhere; user 0 rated item 0 with 5, user 1 item 1 with 3; item 2 unrated.
        # Rows 5 3 and 3 3: d = 1/2 and 0, mean 1/4.
        ratings = Ratings([0, 1], ["a", "b", "c"], [0, 1, 2], [0, 1], [5, 3], None, stars)
        offset = np.array([3, 3, 3], np.float32)
        padding = Padding(np.zeros((2, 0), np.float32), np.zeros((3, 0), np.float32), offset, stars)
        found = similarity_distributions(ratings, padding, [0, 0], n_pairs=2)
        assert found.mean_before[2] == 0.25

    def test_pairs_are_of_two_users_and_of_one_group(self):
        rng = np.random.default_rng(0)
        labels = np.array([3, 7, 3, 9, 7, 3])
        any_two = fidelity_metrics._any_pairs(6, 2_000, rng)
        together = fidelity_metrics._pairs_in_groups(labels, 2_000, rng)
        for pairs in (any_two, together):
            assert pairs.shape == (2_000, 2)
            assert (pairs[:, 0] != pairs[:, 1]).all()
        assert len({tuple(pair) for pair in any_two.tolist()}) == 30
        assert (labels[together[:, 0]] == labels[together[:, 1]]).all()
        # Three users make 6 ordered pairs, two make 2.
        assert len({tuple(pair) for pair in together.tolist()}) == 8

    def test_users_alone_in_their_groups_have_no_pairs(self):
        ratings, padding = constant_rows([1, 2, 3])
        found = similarity_distributions(ratings, padding, [0, 1, 2], n_pairs=5)
        assert np.isnan(found.after).all()
        assert np.isnan(found.mean_after).all()

    def test_tiles_do_not_matter_and_the_seed_does(self, invented, monkeypatch):
        padding = FunkSVD(rank=3).fit(invented).padding()
        labels = np.arange(invented.n_users) // 5
        whole = similarity_distributions(invented, padding, labels, n_pairs=200, seed=1)
        other = similarity_distributions(invented, padding, labels, n_pairs=200, seed=2)
        monkeypatch.setattr(fidelity_metrics, "_TILE_CELLS", 1)
        tiled = similarity_distributions(invented, padding, labels, n_pairs=200, seed=1)
        assert tiled.mean_before == pytest.approx(whole.mean_before, abs=1e-6)
        assert tiled.mean_after == pytest.approx(whole.mean_after, abs=1e-6)
        assert not np.array_equal(other.mean_before, whole.mean_before)

    def test_senseless_arguments_are_refused(self, invented):
        padding = ItemMean().fit(invented).padding()
        with raises("argument.shape") as caught:
            similarity_distributions(invented, padding, [0, 1])
        assert "300 users" in str(caught.value)
        with raises("argument.value") as caught:
            similarity_distributions(invented, padding, np.zeros(300, int), n_pairs=0)
        assert "n_pairs" in str(caught.value)


class TestHistogram:
    def test_by_hand(self):
        # Two users, three items, of which no user rated the last; predictions 1.4, 4.5, 3.
        # Own ratings: 5 for item 0 and 2 for item 1. Rows 5, 4.5 and 1.4, 2; 4.5 counts as 5.
        ratings = Ratings([0, 1], ["a", "b", "c"], [0, 1, 2], [0, 1], [5, 2], None, stars)
        offset = np.array([1.4, 4.5, 3], np.float32)
        padding = Padding(np.zeros((2, 0), np.float32), np.zeros((3, 0), np.float32), offset, stars)
        found = rating_histogram(ratings, padding)
        assert found.ratings.tolist() == [1, 2, 3, 4, 5]
        assert found.original == pytest.approx([0, 1 / 6, 0, 0, 1 / 6])
        assert found.padded == pytest.approx([1 / 6, 1 / 6, 0, 0, 2 / 6])
        assert (found.null_original, found.null_padded) == pytest.approx((4 / 6, 2 / 6))
        assert found.n_users == 2

    def test_a_continuous_scale_has_five_bars(self):
        # Bars end at -6, -2, 2, 6: ratings -10 and -6 are in the first two.
        ratings = Ratings.from_columns([1, 2], ["a", "a"], [-10, -6], scale=RatingScale(-10, 10))
        found = rating_histogram(ratings, ItemMean().fit(ratings).padding())
        assert found.ratings.tolist() == [-8, -4, 0, 4, 8]
        assert found.original.tolist() == [0.5, 0.5, 0, 0, 0]

    @pytest.mark.parametrize("tile", [1, 500, 1 << 24])
    def test_it_counts_the_fully_built_matrix_for_any_tile(self, invented, tile, monkeypatch):
        monkeypatch.setattr(fidelity_metrics, "_TILE_CELLS", tile)
        padding = FunkSVD(rank=3).fit(invented).padding()
        full = padding.rows(slice(None)).astype(float)
        full[invented.user_positions(), invented.indices] = invented.values
        full = full[:, invented.support > 0]
        levels = invented.scale.levels
        nearest = np.abs(full[:, :, None] - levels).argmin(axis=2)
        cells = invented.n_users * invented.n_items
        found = rating_histogram(invented, padding)
        assert found.padded == pytest.approx(np.bincount(nearest.ravel(), minlength=5) / cells)
        assert found.original.sum() + found.null_original == pytest.approx(1)
        assert found.padded.sum() + found.null_padded == pytest.approx(1)
        assert found.original.sum() == pytest.approx(invented.density)

    def test_a_sample_of_users(self, invented):
        padding = ItemMean().fit(invented).padding()
        some = rating_histogram(invented, padding, n_users=50, seed=3)
        again = rating_histogram(invented, padding, n_users=50, seed=3)
        other = rating_histogram(invented, padding, n_users=50, seed=4)
        assert some.n_users == 50
        assert np.array_equal(some.original, again.original)
        assert not np.array_equal(some.original, other.original)
        assert rating_histogram(invented, padding, n_users=10_000).n_users == 300

    def test_an_empty_sample_is_refused(self, invented):
        with raises("argument.shape") as caught:
            rating_histogram(invented, ItemMean().fit(invented).padding(), n_users=0)
        assert "0 users and 120 items" in str(caught.value)
