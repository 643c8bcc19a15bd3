import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import AttackTarget, Candidates
from recveil.evaluation import (
    HeldOut,
    SimilarUsers,
    find_similar_users,
    mae,
    rmse,
    self_rank,
    similar_user_deviation,
    split_ratings,
    target_deviation,
)
from recveil.evaluation.fidelity_metrics import values_at
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records

stars = RatingScale(1, 5, 1)


def released_of(lists, sizes, record_of, n_items=4) -> AttackTarget:
    """A release whose records are given as lists of {item: label}."""
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64)
    indices = np.array([item for row in lists for item in row], np.int32)
    values = np.array([value for row in lists for value in row.values()], np.float64)
    records = Records(np.array(sizes, np.int64), indptr, indices, values)
    candidates = Candidates.from_records([records], n_items, stars)
    all_users = np.array(record_of, np.int64)
    return AttackTarget(candidates, indptr, indices, values, all_users, 2, records.sizes)


# Users 0 and 1 in record 0, user 2 to 4 in record 1, user 5 is absent.
RELEASED = released_of([{0: 2.0, 1: 4.0}, {1: 5.0, 2: 3.0}], [2, 3], [0, 0, 1, 1, 1, -1])
# Labels 2, none, 3, none; the last cell belongs to the absent one.
TEST = HeldOut(np.array([0, 1, 2, 3, 5]), np.array([0, 2, 2, 3, 0]), np.array([4.0, 3, 4, 5, 1]))


def test_errors_by_hand():
    # Differences 1, -3: √((1 + 9) / 2), 2; with weights 3 and 1: √((3 + 9) / 4), 6 / 4.
    assert rmse([2, 1], [1, 4]) == pytest.approx(5**0.5, abs=1e-12)
    assert mae([2, 1], [1, 4]) == 2
    assert rmse([2, 1], [1, 4], [3, 1]) == pytest.approx(3**0.5, abs=1e-12)
    assert mae([2, 1], [1, 4], [3, 1]) == 1.5
    assert np.isnan(rmse([], []))
    assert np.isnan(mae([], []))


class TestTargetDeviation:
    @pytest.mark.parametrize(
        ("rule", "differences"),
        [
            ("zero", [2, 3, 1, 5]),
            ("lowest", [2, 2, 1, 4]),
            ("skip", [2, 1]),
            # Item 2 has mean 3; no user carries item 3: (2·2 + 2·4 + 3·5 + 3·3) / 10 = 3.6.
            ("item_mean", [2, 0, 1, 1.4]),
        ],
    )
    def test_by_hand(self, rule, differences):
        found = target_deviation(RELEASED, TEST, stars, rule)
        differences = np.array(differences)
        assert found.rmse == pytest.approx(np.sqrt(np.mean(differences**2)), abs=1e-12)
        assert found.mae == pytest.approx(differences.mean(), abs=1e-12)
        assert (found.null_rule, found.null_share) == (rule, 0.5)
        assert (found.n_cells, found.n_absent) == (differences.size, 1)

    @pytest.mark.parametrize("rule", ["zero", "lowest", "skip", "item_mean"])
    def test_labels_present_stand_apart_whatever_the_rule(self, rule):
        """Labels 2 and 3 for 4 and 4; the two that are absent change nothing."""
        found = target_deviation(RELEASED, TEST, stars, rule)
        assert found.rmse_present == pytest.approx(2.5**0.5, abs=1e-12)
        assert found.mae_present == 1.5
        assert found.null_share == 0.5

    def test_an_unknown_rule_is_refused(self):
        with raises("option.value") as caught:
            target_deviation(RELEASED, TEST, stars, "nought")
        assert "'nought'" in str(caught.value)

    def test_nothing_left_is_not_a_number(self):
        only_null = HeldOut(np.array([0]), np.array([3]), np.array([4.0]))
        found = target_deviation(RELEASED, only_null, stars, "skip")
        assert np.isnan([found.rmse, found.rmse_present, found.mae_present]).all()
        assert (found.null_share, found.n_cells) == (1, 0)

    def test_a_label_of_zero_is_no_null(self):
        released = released_of([{0: 0.0}], [2], [0, 0])
        test = HeldOut(np.array([0]), np.array([0]), np.array([1.0]))
        found = target_deviation(released, test, RatingScale(-10, 10), "skip")
        assert (found.rmse, found.null_share) == (1, 0)


def test_labels_are_those_of_the_rows(invented):
    release = PredictiveAnonymizer(k=3, homogenize="simple", seed=2).anonymize(invented)
    released = AttackTarget.from_release(release, invented)
    n = released.candidates.n_records
    dense = np.full((n, invented.n_items), np.nan)
    for record in range(n):
        items, labels = released.row(record)
        dense[record, items] = labels
    records, items = (grid.ravel() for grid in np.indices(dense.shape))
    assert np.array_equal(values_at(released, records, items), dense.ravel(), equal_nan=True)


class TestSimilarUsers:
    def test_by_hand(self):
        train = Ratings.from_columns(
            [0, 0, 1, 2, 2, 3, 4, 5],
            [0, 1, 1, 1, 2, 3, 0, 0],
            [2, 4, 5, 4, 1, 3, 2, 2],
            scale=stars,
        )
        found = find_similar_users(RELEASED, train)
        assert found.users.tolist() == [0, 1, 2, 3, 4]  # 5 is absent
        # Sums of (1 - d)² over own items, record 0 against 1:
        # 0: 1 + 1 | (3/4)²; 1: (3/4)² | 1; 2: 1 | (3/4)² + (1/2)²; 3: 0 | 0; 4: 1 | 0.
        assert found.nearest.tolist() == [0, 1, 0, 0, 0]
        # 1's own record 0 comes after the 3 users of record 1; 2's own after 2; 3 ties; 4 after 2.
        assert found.self_rank.tolist() == [1, 4, 3, 1, 3]
        assert found.n_users == 5
        ranks = self_rank(found)
        assert ranks.first_share == 2 / 5
        # (rank - 1) / 5 = 0, 0.6, 0.4, 0, 0.4
        assert ranks.counts[[0, 8, 12]].tolist() == [2, 2, 1]
        assert ranks.counts.sum() == ranks.n_users == 5

    def test_against_plain_loops(self, invented):
        release = PredictiveAnonymizer(k=4, homogenize="simple", seed=2).anonymize(invented)
        released = AttackTarget.from_release(release, invented)
        found = find_similar_users(released, invented)
        some = find_similar_users(released, invented, found.users[::3])
        assert some.users.tolist() == found.users[::3].tolist()
        assert some.nearest.tolist() == found.nearest[::3].tolist()
        assert some.self_rank.tolist() == found.self_rank[::3].tolist()
        for user in range(0, 60):
            items, values = invented.row(user)
            distance = []
            for record in range(released.candidates.n_records):
                labels = values_at(released, np.full(items.size, record), items)
                d = np.where(np.isnan(labels), 1, np.abs(labels - values) / invented.scale.range)
                distance.append(np.mean(2 * d - d**2))
            distance = np.array(distance)
            own = distance[released.record_of[user]]
            assert distance[found.nearest[user]] == pytest.approx(distance.min(), abs=1e-9)
            closer = released.candidates.sizes[distance < own - 1e-9].sum()
            assert found.self_rank[user] == 1 + closer

    def test_common_items_alone_by_hand(self):
        train = Ratings.from_columns(
            [0, 0, 1, 2, 2, 3, 4, 5],
            [0, 1, 1, 1, 2, 3, 0, 0],
            [2, 4, 5, 4, 1, 3, 2, 2],
            scale=stars,
        )
        found = find_similar_users(RELEASED, train, missing="skip")
        # Means of (1 - d)² over common items, record 0 against 1:
        # 0: 1 | (3/4)²; 1: (3/4)² | 1; 2: 1 | ((3/4)² + (1/2)²) / 2; 3: nothing common; 4: 1 | 0.
        assert found.nearest.tolist() == [0, 1, 0, 0, 0]
        assert found.self_rank.tolist() == [1, 4, 3, 1, 3]
        # Of whom a record lacks most: equal in what it has, it is as near as can be.
        both = released_of([{0: 2.0}, {0: 2.0, 1: 3.0}], [2, 3], [0, 1])
        one = Ratings.from_columns([0, 0, 1, 1], [0, 1, 0, 1], [2, 4, 2, 4], scale=stars)
        assert find_similar_users(both, one).self_rank.tolist() == [4, 1]
        assert find_similar_users(both, one, missing="skip").self_rank.tolist() == [1, 3]

    def test_common_items_alone_against_plain_loops(self, invented):
        release = PredictiveAnonymizer(k=4, homogenize="simple", seed=2).anonymize(invented)
        released = AttackTarget.from_release(release, invented)
        found = find_similar_users(released, invented, missing="skip")
        for user in range(0, 60):
            items, values = invented.row(user)
            distance = np.ones(released.candidates.n_records)
            for record in range(distance.size):
                labels = values_at(released, np.full(items.size, record), items)
                common = ~np.isnan(labels)
                d = np.abs(labels - values)[common] / invented.scale.range
                distance[record] = np.mean(2 * d - d**2) if common.any() else 1
            own = distance[released.record_of[user]]
            assert distance[found.nearest[user]] == pytest.approx(distance.min(), abs=1e-9)
            closer = released.candidates.sizes[distance < own - 1e-9].sum()
            assert found.self_rank[user] == 1 + closer

    def test_what_missing_is_must_be_known(self, invented):
        with raises("argument.value") as caught:
            find_similar_users(RELEASED, invented, missing="zero")
        assert "'zero'" in str(caught.value)

    def test_the_deviation_takes_the_row_of_the_nearest(self):
        similar = SimilarUsers(np.array([0, 1, 2]), np.array([1, 1, 1]), np.ones(3, int), 5)
        found = similar_user_deviation(RELEASED, similar, TEST, stars, "lowest")
        # Record 1 lacks item 0 (counts 1) and has 3 for item 2; 3 and 5 are no user's.
        assert found.mae == pytest.approx((3 + 0 + 1) / 3, abs=1e-12)
        assert found.null_share == pytest.approx(1 / 3, abs=1e-12)
        assert (found.n_cells, found.n_absent) == (3, 2)

    def test_users_who_are_nearest_to_themselves_deviate_alike(self, invented):
        train, test = split_ratings(invented, 0.2, 1)
        release = PredictiveAnonymizer(k=5, seed=1).anonymize(train)
        released = AttackTarget.from_release(release, train)
        similar = find_similar_users(released, train)
        itself = similar._replace(nearest=released.record_of[similar.users])
        assert similar_user_deviation(released, itself, test, train.scale) == target_deviation(
            released, test, train.scale
        )
