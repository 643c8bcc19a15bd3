import numpy as np
import pytest
from scipy import stats

from error_assertions import raises
from recveil.attacks import AttackTarget
from recveil.evaluation import TrainingTable, UserRows, fidelity, item_correlations
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import RatingScale

stars = RatingScale(1, 5, 1)


def table_of(lists, sizes, n_items=3) -> TrainingTable:
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64)
    items = np.array([item for row in lists for item in row], np.int32)
    values = np.array([value for row in lists for value in row.values()], np.float64)
    rows = UserRows(indptr, items, values)
    return TrainingTable.from_rows(rows, np.array(sizes), n_items, stars)


# Four users. Raw support 4, 2, 1; release (two records) 4, 4, 0.
RAW = table_of([{0: 1.0}, {0: 2.0}, {0: 5.0, 1: 4.0}, {0: 4.0, 1: 2.0, 2: 3.0}], [1, 1, 1, 1])
RELEASE = table_of([{0: 1.6, 1: 4.0}, {0: 4.4, 1: 3.0}], [2, 2])


class TestFidelity:
    def test_by_hand(self):
        found = fidelity(RAW, RELEASE)
        # Ranks 3, 2, 1 and 2.5, 2.5, 1.
        ranks = stats.pearsonr([3, 2, 1], [2.5, 2.5, 1]).statistic
        assert found.popularity_correlation == pytest.approx(ranks, abs=1e-9)
        # P = 4/7, 2/7, 1/7; Q = 1/2, 1/2, 0; each against the middle.
        p, q = np.array([4, 2, 1]) / 7, np.array([1, 1, 0]) / 2
        middle = (p + q) / 2
        left = (p * np.log2(p / middle)).sum()
        right = (q[:2] * np.log2(q[:2] / middle[:2])).sum()
        assert found.popularity_divergence == pytest.approx((left + right) / 2, abs=1e-9)
        # Shares 1, 1/2, 1/4 against 1, 1, 0.
        assert found.rated_share_error == pytest.approx((0 + 1 / 2 + 1 / 4) / 3, abs=1e-9)
        # Ratings 1 to 5: raw 1, 2, 1, 2, 1 of 7; release 1.6 is a 2, 4.4 a 4: 0, 2, 2, 4, 0 of 8.
        raw, release = np.array([1, 2, 1, 2, 1]) / 7, np.array([0, 2, 2, 4, 0]) / 8
        distance = np.abs(raw - release).sum() / 2
        assert found.rating_distance == pytest.approx(distance, abs=1e-9)
        # Labels a user: 1, 1, 2, 3 against 2, 2, 2, 2; up to 1: half against no user.
        assert found.activity_distance == pytest.approx(0.5, abs=1e-9)
        assert found.density_raw == pytest.approx(7 / 12, abs=1e-9)
        assert found.density_release == pytest.approx(8 / 12, abs=1e-9)
        # Means 3, 3 against 3, 3.5 on the two items that both carry.
        assert found.item_mean_rmse == pytest.approx((0.5**2 / 2) ** 0.5, abs=1e-9)
        assert np.isnan(found.item_mean_correlation)
        assert found.n_items_compared == 2
        # No five users have rated any two items.
        assert np.isnan(found.similarity_correlation)
        assert found.n_pairs == 0

    def test_the_same_table_is_faithful_in_everything(self, invented):
        raw = TrainingTable.from_ratings(invented)
        found = fidelity(raw, raw)
        assert found.popularity_correlation == pytest.approx(1, abs=1e-9)
        assert found.item_mean_correlation == pytest.approx(1, abs=1e-9)
        assert found.similarity_correlation == pytest.approx(1, abs=1e-9)
        assert found.density_raw == found.density_release == invented.density
        zeros = (*found[1:5], found.item_mean_rmse)
        assert zeros == (0, 0, 0, 0, 0)

    def test_padding_makes_every_item_equally_popular(self, invented):
        release = PredictiveAnonymizer(k=5, seed=1).anonymize(invented)
        released = AttackTarget.from_release(release, invented)
        raw = TrainingTable.from_ratings(invented)
        found = fidelity(raw, TrainingTable.from_released(released, invented.scale))
        share, published = invented.support / invented.n_users, invented.support > 0
        assert found.rated_share_error == pytest.approx(np.mean(published - share), abs=1e-9)
        # Only the items that no user rated can still be distinguished from the others.
        expected = stats.spearmanr(share, published).statistic
        assert found.popularity_correlation == pytest.approx(expected, abs=1e-9)
        assert found.activity_distance == 1

    def test_equally_popular_items_have_no_order(self):
        everything = table_of([{0: 1.0, 1: 2.0, 2: 3.0}, {0: 2.0, 1: 2.0, 2: 5.0}], [2, 2])
        assert np.isnan(fidelity(RAW, everything).popularity_correlation)

    def test_pairs_are_the_same_for_every_release(self, invented):
        raw = TrainingTable.from_ratings(invented)
        assert fidelity(raw, raw, n_pairs=500, seed=3) == fidelity(raw, raw, n_pairs=500, seed=3)
        assert fidelity(raw, raw, n_pairs=500, seed=3).n_pairs <= 500

    def test_other_catalogues_are_refused(self):
        with raises("argument.shape") as caught:
            fidelity(RAW, table_of([{0: 1.0}], [4], n_items=4))
        assert "3 items" in str(caught.value)


def test_item_correlations_are_those_of_numpy(invented):
    table = TrainingTable.from_ratings(invented)
    pairs = np.random.default_rng(0).integers(invented.n_items, size=(200, 2))
    dense = invented.csr.toarray().astype(float)
    found = item_correlations(table, pairs)
    for (one, two), value in zip(pairs, found, strict=True):
        both = (dense[:, one] > 0) & (dense[:, two] > 0)
        x, y = dense[both, one], dense[both, two]
        if both.sum() < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)


def test_a_row_counts_for_its_users():
    lists = [{0: 1.0, 1: 2.0}, {0: 3.0, 1: 5.0}, {0: 4.0, 1: 1.0}]
    # As if three, one and two users had rated: 1, 1, 1, 3, 4, 4 and 2, 2, 2, 5, 1, 1.
    expected = np.corrcoef([1, 1, 1, 3, 4, 4], [2, 2, 2, 5, 1, 1])[0, 1]
    found = item_correlations(table_of(lists, [3, 1, 2]), np.array([[0, 1]]))
    assert found[0] == pytest.approx(expected, abs=1e-9)
