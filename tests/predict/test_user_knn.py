"""UserKNN and TrustKNN: a table worked by hand, a slow oracle, and what is at the edges."""

import math

import numpy as np
import pytest
from scipy import sparse

from error_assertions import raises
from recveil.predict import TrustKNN, UserKNN
from recveil.ratings import Ratings, RatingScale
from shared.predict_user_knn import (
    SHARED,
    STARS,
    many,  # noqa: F401 (fixtures)
    table,
)

# Means 3, 3, 3, 3. Deviations:
#     item   0   1   2   3   4
#   user 0   2   0  -2   .   .
#   user 1   1  -1   .   2  -2
#   user 2   2   1   .  -1  -2
#   user 3   .   .   .  -1   1
BY_HAND = table(
    [
        [5, 3, 1, None, None],
        [4, 2, None, 5, 1],
        [5, 4, None, 2, 1],
        [None, None, None, 2, 4],
    ]
)

PAPER = {"min_overlap": 1, "significance": 1}


class TestByHand:
    def test_equation_1(self):
        # Users 0 and 1 share items 0 and 1: (2*1 + 0*-1) / (√(4+0) √(1+1)) = 2 / √8.
        # Users 0 and 2: (2*2 + 0*1) / (√4 √(4+1)) = 4 / √20. Users 0 and 3 share nothing.
        predictor = UserKNN(**PAPER).fit(BY_HAND)
        expected = [0, 2 / math.sqrt(8), 4 / math.sqrt(20), 0]
        assert np.allclose(predictor.weights(0), expected, atol=1e-5)
        # User 3 shares items 3 and 4: with user 1 (-1*2 + 1*-2) < 0, with 2 (-1*-1 + 1*-2) < 0.
        assert not predictor.weights(3).any()

    def test_equation_2(self):
        # Item 3: 3 + (0.70711 * 2 + 0.89443 * -1) / (0.70711 + 0.89443) = 3 + 0.51978 / 1.60154.
        # Item 4: both are 2 below their means, so 3 - 2. Item 2: only user 0 rated it.
        predicted = UserKNN(**PAPER).fit(BY_HAND).predict([0, 0, 0], [3, 4, 2])
        assert np.allclose(predicted, [3.32456, 1, 3], atol=1e-4)

    def test_clipped_and_without_neighbours(self):
        predictor = UserKNN(**PAPER).fit(BY_HAND)
        # User 1 by user 0 alone: 3 - 2 for item 2. User 3 has no neighbours: their mean.
        assert predictor.predict([1, 3, 3], [2, 0, 2]).tolist() == [1, 3, 3]
        # A mean of 4.5 and a neighbour 2.5 above theirs: not above 5.
        high = table([[4, 5, None], [1, 2, 5]])
        assert UserKNN(**PAPER).fit(high).predict([0], [2]).tolist() == [5]

    @pytest.mark.parametrize("neighbours", ["item", "global"])
    def test_nearest_only(self, neighbours):
        # User 2 (0.894) is nearer to user 0 than user 1 is (0.707), and rated item 3: 3 - 1.
        predictor = UserKNN(1, neighbours=neighbours, **PAPER).fit(BY_HAND)
        assert predictor.predict([0], [3]).tolist() == [2]

    def test_nearest_at_all_need_not_have_rated_the_item(self):
        rows = [[5, 3, 1, None], [5, 3, 1, None], [5, 3, 2, 5]]
        # User 1 is nearest to user 0 and has not rated item 3; user 2 is less near and has:
        # the mean of (5, 3, 2, 5) is 3.75, so they are 1.25 above it.
        ask = {"item": 4.25, "global": 3}
        for neighbours, expected in ask.items():
            predictor = UserKNN(1, neighbours=neighbours, **PAPER).fit(table(rows))
            assert predictor.predict([0], [3]).tolist() == [expected]

    def test_significance_and_overlap(self):
        # Two shared items of eight halve the weight to a quarter: 2 / 8.
        plain = UserKNN(**PAPER).fit(BY_HAND).weights(0)
        damped = UserKNN(min_overlap=1, significance=8).fit(BY_HAND).weights(0)
        assert np.allclose(damped, plain / 4, atol=1e-5)
        # Users 1 and 2 share four items (1*2 - 1*1 - 2*1 + 2*2 = 3, over √10 √10), capped at 1.
        capped = UserKNN(min_overlap=1, significance=3).fit(BY_HAND).weights(1)
        assert capped[2] == pytest.approx(0.3, abs=1e-5)
        assert not UserKNN(min_overlap=3, significance=1).fit(BY_HAND).weights(0).any()
        assert UserKNN(min_overlap=4, significance=1).fit(BY_HAND).weights(1)[2] > 0

    def test_equations_3_and_4(self):
        # Eq. 4 is off by the difference of the deviations; the range is 4.
        # 0 and 1: (|2-1| + |0+1|) / 2 = 1, 1 - 1/4. 0 and 2: (|2-2| + |0-1|) / 2, 1 - 0.5/4.
        # 1 and 2: (1 + 2 + 3 + 0) / 4, 1 - 1.5/4. 1 and 3: (3 + 3) / 2, 1 - 3/4.
        # 2 and 3: (0 + 3) / 2, 1 - 1.5/4.
        predictor = TrustKNN(steps=0).fit(BY_HAND)
        found = np.array([predictor.weights(user) for user in range(4)])
        expected = np.array(
            [
                [0, 0.75, 0.875, 0],
                [0.75, 0, 0.625, 0.25],
                [0.875, 0.625, 0, 0.625],
                [0, 0.25, 0.625, 0],
            ]
        )
        assert np.allclose(found, expected, atol=1e-5)
        # Item 3: 3 + (0.75 * 2 + 0.875 * -1) / (0.75 + 0.875) = 3 + 0.625 / 1.625.
        assert predictor.predict([0], [3])[0] == pytest.approx(3.384615, abs=1e-4)

    @pytest.mark.parametrize("neighbours", ["item", "global"])
    def test_equations_5_and_6(self, neighbours):
        # All pairs but 1 and 2 share two items. From 0 to 3 by way of 1: (2*0.75 + 2*0.25) / 4
        # = 0.5; by way of 2: (2*0.875 + 2*0.625) / 4 = 0.75; the mean with weights 4 and 4, 0.625.
        predictor = TrustKNN(neighbours=neighbours).fit(BY_HAND)
        assert np.allclose(predictor.weights(0), [0, 0.75, 0.875, 0.625], atol=1e-5)
        # Item 3: 3 + (0.75 * 2 + 0.875 * -1 + 0.625 * -1) / 2.25 = 3.
        # Item 4: 3 + (0.75 * -2 + 0.875 * -2 + 0.625 * 1) / 2.25 = 3 - 2.625 / 2.25.
        predicted = predictor.predict([0, 0], [3, 4])
        assert np.allclose(predicted, [3, 1.833333], atol=1e-4)

    def test_direct_trust_is_not_replaced(self):
        # Users 1 and 3 trust each other directly by 0.25, and by way of 2 it would be more.
        assert TrustKNN().fit(BY_HAND).weights(1)[3] == pytest.approx(0.25, abs=1e-5)

    def test_given_trust(self):
        # 0 trusts 1 by 2 and 1 trusts 3 by 4, the highest: 0.5 and 1. They share two items each:
        # 0 trusts 3 by (2 * 0.5 + 2 * 1) / 4 = 0.75. Distrust and trust in oneself do not count.
        stated = sparse.coo_array(
            ([2.0, 4.0, -3.0, 9.0], ([0, 1, 0, 2], [1, 3, 2, 2])), shape=(4, 4)
        )
        predictor = TrustKNN(links=stated).fit(BY_HAND)
        assert np.allclose(predictor.weights(0), [0, 0.5, 0, 0.75], atol=1e-5)
        # Item 3: 3 + (0.5 * 2 + 0.75 * -1) / 1.25 = 3.2. User 2 trusts no one: their mean.
        assert np.allclose(predictor.predict([0, 2], [3, 2]), [3.2, 3], atol=1e-4)
        direct = TrustKNN(links=stated, steps=0).fit(BY_HAND)
        assert np.allclose(direct.weights(0), [0, 0.5, 0, 0], atol=1e-5)

    def test_given_trust_between_users_who_share_nothing(self):
        # 3 trusts 0, with whom 3 shares nothing; 0 trusts 1, sharing 2: (1 * 1 + 2 * 1) / 3 = 1.
        stated = sparse.csr_array(([1.0, 1.0], ([3, 0], [0, 1])), shape=(4, 4))
        assert TrustKNN(links=stated).fit(BY_HAND).weights(3).tolist() == [1, 1, 0, 0]

    def test_equation_6_with_similarity_where_items_are_shared(self):
        # 0 and 3 share nothing: trust by way of others, 0.625. All others have their similarity.
        found = TrustKNN(direct_weights="similarity").fit(BY_HAND).weights(0)
        alike = UserKNN(min_overlap=1, significance=1).fit(BY_HAND).weights(0)
        assert found.tolist() == [*alike[:3].tolist(), pytest.approx(0.625, abs=1e-5)]
        # Stated trust in 3, with whom 0 shares nothing, counts; in 1, whom 0 is not like, not.
        stated = sparse.csr_array(([1.0, 0.5], ([0, 0], [1, 3])), shape=(4, 4))
        both = TrustKNN(direct_weights="similarity", links=stated).fit(BY_HAND).weights(0)
        assert both.tolist() == [*alike[:3].tolist(), 0.5]

    def test_trust_propagated_twice(self):
        # A chain of users who share no item: 0 trusts 2 by (1 + 0.5) / 2, and 3 by way of 2, by
        # (0.75 + 1) / 2; 4 is three steps away.
        ratings = Ratings.from_columns(range(5), range(5), [1, 2, 3, 4, 5], scale=STARS)
        chain = sparse.csr_array(([1.0, 0.5, 1.0, 1.0], ([0, 1, 2, 3], [1, 2, 3, 4])), (5, 5))
        once, twice = (TrustKNN(links=chain, steps=n).fit(ratings).weights(0) for n in (1, 2))
        assert once.tolist() == [0, 1, 0.75, 0, 0]
        assert twice.tolist() == [0, 1, 0.75, 0.875, 0]

    def test_biases(self):
        # Each rating is the user's level plus the item's: nothing is left for neighbours, and
        # the missing cell (1 + 2 above the middle) is found but for the pull towards the mean.
        users, items = np.divmod(np.arange(60 * 40), 40)
        values = (users % 3) + (items % 3) + 1
        keep = np.arange(values.size) != 2 * 40 + 2
        ratings = Ratings.from_columns(users[keep], items[keep], values[keep], scale=STARS)
        assert UserKNN(centre="biases").fit(ratings).predict([2], [2])[0] > 4.4


@pytest.mark.parametrize("n_neighbours", [3, 60, 5_000])
def test_nearest_of_each_item_against_sorting_all(many, n_neighbours):
    predictor = UserKNN(n_neighbours).fit(many)
    means = np.array([many.row(user)[1].mean(dtype=float) for user in range(many.n_users)])
    rated = many.csr.toarray() > 0
    apart = many.csr.toarray() - means[:, None]
    for user in (0, 700):
        weights = predictor.weights(user).astype(float)
        order = np.argsort(-weights, kind="stable")
        expected = []
        for item in range(many.n_items):
            asked = order[rated[order, item] & (weights[order] > 0)][:n_neighbours]
            pull = weights[asked] @ apart[asked, item] / max(weights[asked].sum(), 1e-9)
            expected.append(np.clip(means[user] + pull, 1, 5))
        items = np.arange(many.n_items)
        assert np.allclose(predictor.predict(np.full(items.size, user), items), expected, atol=1e-4)


@SHARED
@pytest.mark.parametrize("neighbours", ["item", "global"])
def test_a_cell_does_not_depend_on_what_else_is_asked(many, predictor, neighbours):
    # All items at once are mostly settled by walking, a single one by searching.
    fitted = predictor(20, neighbours=neighbours).fit(many)
    items = np.arange(many.n_items)
    together = fitted.predict(np.full(items.size, 5), items)
    alone = [fitted.predict([5], [item])[0] for item in items]
    assert together.tolist() == alone
    twice = fitted.predict([9, 5, 9, 5, 9], [3, 8, 1, 8, 3])
    assert twice[[0, 1]].tolist() == twice[[4, 3]].tolist()
    assert twice[1] == together[8]


@SHARED
def test_predictions_move_with_the_scale(many, predictor):
    # The same ratings on -10 to 10, with a 0 among them: the same predictions, stretched.
    jester = Ratings(
        *(many.users, many.items, many.indptr, many.indices),
        *((many.values - 3) * 5, None, RatingScale(-10, 10, 5)),
    )
    users, items = np.divmod(np.arange(2_000), many.n_items)
    plain = predictor().fit(many).predict(users, items)
    assert np.allclose(predictor().fit(jester).predict(users, items), (plain - 3) * 5, atol=1e-3)


class TestEdges:
    @SHARED
    def test_a_rated_cell_is_predicted_by_others_alone(self, predictor):
        # Were user 0 their own neighbour, their rating of item 2 would show in its prediction.
        assert predictor().fit(BY_HAND).weights(0)[0] == 0
        assert predictor().fit(BY_HAND).predict([0], [2]).tolist() == [3]

    @pytest.mark.parametrize("values", [[3, 3, 3], [3.7, 3.7, 3.7]])
    def test_constant_users_are_like_no_user(self, values):
        scale = RatingScale(1, 5)
        ratings = table([[*values, None], [1, 2, 3, 5], values[:2] + [None] * 2], scale)
        predictor = UserKNN(**PAPER).fit(ratings)
        assert not any(predictor.weights(user).any() for user in range(3))
        assert predictor.predict([0], [3])[0] == pytest.approx(values[0])
        # Trust counts them: both constant users predict each other without an error.
        assert TrustKNN().fit(ratings).weights(0)[2] == 1

    def test_a_rating_that_equals_its_mean_but_for_rounding_is_no_opinion(self):
        # 0.1, 0.2, 0.3 have the mean 0.2 but for float32; one shared item says nothing then.
        scale = RatingScale(0.1, 0.5, 0.1)
        ratings = table([[0.1, 0.2, 0.3, None], [None, 0.5, None, 0.1]], scale)
        assert not UserKNN(**PAPER).fit(ratings).weights(0).any()

    def test_one_shared_item(self):
        # Both above their means there: 1, if one shared item is enough.
        ratings = table([[5, 1, None], [4, None, 2]])
        assert UserKNN(**PAPER).fit(ratings).weights(0).tolist() == [0, 1]
        assert not UserKNN().fit(ratings).weights(0).any()

    @SHARED
    def test_users_and_items_without_ratings(self, predictor):
        ratings = table([[5, 3, None], [None] * 3, [4, 2, None], [1, 2, None]])
        fitted = predictor(min_overlap=1).fit(ratings)
        # The mean of all is 17 / 6; no user rated item 2, so user 0 gets their own mean.
        predicted = fitted.predict([1, 1, 0], [0, 2, 2])
        assert np.allclose(predicted, [17 / 6, 17 / 6, 4])

    @SHARED
    @pytest.mark.parametrize("centre", ["user", "biases"])
    def test_no_ratings_at_all(self, predictor, centre):
        empty = Ratings([1, 2], [1], [0, 0, 0], [], [], None, STARS)
        assert predictor(centre=centre).fit(empty).predict([0], [0]).tolist() == [1]

    @SHARED
    @pytest.mark.parametrize("neighbours", ["item", "global"])
    def test_a_single_user(self, predictor, neighbours):
        alone = table([[5, 3, None]])
        fitted = predictor(neighbours=neighbours).fit(alone)
        assert fitted.predict([0, 0], [2, 0]).tolist() == [4, 4]

    @SHARED
    def test_of_equals_the_lower_position_is_asked(self, predictor):
        rows = [[5, 1, None], [5, 1, 3], [5, 1, 3], [5, 1, 4.5]]
        scale = RatingScale(1, 5, 0.5)
        for order in ([1, 2, 3], [3, 1, 2]):
            ratings = table([rows[0], *(rows[at] for at in order)], scale)
            fitted = predictor(1, min_overlap=1, significance=1).fit(ratings)
            weights = fitted.weights(0)
            best = int(np.argmax(weights))  # the first of those with the highest weight
            mean = np.mean(rows[order[best - 1]])
            expected = min(3 + rows[order[best - 1]][2] - mean, 5)
            assert fitted.predict([0], [2])[0] == pytest.approx(expected, abs=1e-4)

    @SHARED
    def test_no_cells(self, predictor):
        assert predictor().fit(BY_HAND).predict([], []).shape == (0,)


class TestRefused:
    @SHARED
    @pytest.mark.parametrize(
        "setting",
        [
            {"n_neighbours": 0},
            {"min_overlap": 1.5},
            {"threads": True},
            {"significance": 0.5},
            {"significance": math.nan},
            {"neighbours": "all"},
            {"centre": "mean"},
        ],
    )
    def test_senseless_settings(self, predictor, setting):
        (name,) = setting
        with raises("argument.value") as caught:
            predictor(**setting).fit(BY_HAND)
        assert name in str(caught.value)

    @SHARED
    @pytest.mark.parametrize(("user", "item"), [(4, 0), (-1, 0), (0, 5), (0.5, 0)])
    def test_positions_that_are_not_there(self, predictor, user, item):
        with raises("argument.value") as caught:
            predictor().fit(BY_HAND).predict([user], [item])
        assert "positions" in str(caught.value)

    @SHARED
    def test_columns_of_different_lengths(self, predictor):
        with raises("argument.shape") as caught:
            predictor().fit(BY_HAND).predict([0, 1], [0, 1, 2])
        assert "got 2 and 3" in str(caught.value)

    def test_links_of_another_table(self):
        with raises("argument.shape") as caught:
            TrustKNN(links=sparse.eye_array(3)).fit(BY_HAND)
        assert "(3, 3)" in str(caught.value)

    def test_links_that_are_not_numbers(self):
        with raises("argument.value"):
            TrustKNN(links=sparse.csr_array(np.full((4, 4), np.nan))).fit(BY_HAND)
