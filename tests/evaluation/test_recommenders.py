"""What every recommender promises, and each one's own example or oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from error_assertions import raises
from recveil.evaluation import (
    Ease,
    EaseOnBoth,
    GlobalMean,
    ItemCosine,
    ItemMeans,
    ItemMeansAndBias,
    ItemNeighbours,
    Popularity,
    PureSVD,
    RidgeFactors,
    TrainingTable,
    UserRows,
    default_recommenders,
    fit_all,
    inner_splits,
    rankers,
    rating_predictors,
    split,
)
from recveil.evaluation.rating_predictors import (
    item_cosines,
    multiply_columns,
    multiply_rows,
    regress,
)
from recveil.evaluation.split import enough_for_errors
from recveil.ratings import Ratings, RatingScale

EVERY = default_recommenders()


def fresh(recommender):
    by_name = {other.name: other for other in default_recommenders()}
    return by_name[recommender.name]


@pytest.mark.parametrize("recommender", EVERY, ids=lambda r: r.name)
class TestEveryRecommender:
    def test_users_who_are_not_in_the_table_are_served(self, recommender, invented):
        half = UserRows.from_ratings(invented).take(np.arange(150))
        sizes = np.ones(150, np.int64)
        table = TrainingTable.from_rows(half, sizes, invented.n_items, invented.scale)
        outsiders = UserRows.from_ratings(invented).take(np.arange(150, 300))
        assert np.isfinite(fresh(recommender).fit(table).predict(outsiders)).all()

    def test_users_without_ratings_get_the_averages(self, recommender, invented):
        fitted = fresh(recommender).fit(TrainingTable.from_ratings(invented))
        no_user = UserRows(np.array([0, 0]), np.empty(0, np.int32), np.empty(0))
        assert np.isfinite(fitted.predict(no_user)).all()

    def test_sizes_count_as_if_every_user_had_a_row(self, recommender, invented):
        """Equal rows with a hair's difference stay apart, and teach what one row of two does."""
        rows = UserRows.from_ratings(invented).take(np.arange(60))
        sizes = np.where(np.arange(60) < 20, 2, 1)
        twins = rows.take(np.concatenate([np.arange(60), np.arange(20)]))
        twins.values[rows.values.size :] += 1e-12
        arguments = (invented.n_items, invented.scale)
        merged = TrainingTable.from_rows(rows, sizes, *arguments)
        apart = TrainingTable.from_rows(twins, np.ones(80, np.int64), *arguments)
        assert (merged.rows.n_users, apart.rows.n_users) == (60, 80)
        first, second = fresh(recommender), fresh(recommender)
        for model in (first, second):  # settings come from hold-outs, which cannot be the same
            model.learning_settings = model.learning_settings[:1]
            model.serving_settings = model.serving_settings[:1]
            model._dampings = ((5.0,), (5.0,))
            model._counted = None
        learnt = [
            model._serve(model._learn(table, model.learning_settings[0]), rows, (5.0,))
            for model, table in ((first, merged), (second, apart))
        ]
        assert np.allclose(*learnt, rtol=0, atol=1e-6)

    def test_two_blocks_are_distinguished(self, recommender, two_blocks, fans_of_two_blocks):
        fitted = fresh(recommender).fit(TrainingTable.from_ratings(two_blocks))
        scores = fitted.predict(UserRows.from_ratings(two_blocks))
        loved = (np.arange(10) < 5)[None] == (fans_of_two_blocks == 0)[:, None]
        knows = isinstance(
            recommender, ItemNeighbours | RidgeFactors | ItemCosine | Ease | EaseOnBoth
        )
        assert (scores[loved].min() > scores[~loved].max()) == knows


class TestMeans:
    RAW = Ratings.from_columns([1, 1, 2, 3], [1, 2, 1, 2], [5, 1, 3, 3], scale=RatingScale(1, 5, 1))

    def test_by_hand(self):
        table, all_users = TrainingTable.from_ratings(self.RAW), UserRows.from_ratings(self.RAW)
        # Item means 4 and 2, overall 3. User 1 lies (1 - 1) / 2 above, user 2 by -1, user 3 by 1.
        assert ItemMeans().fit(table).predict(all_users).tolist() == [[4, 2]] * 3
        assert Popularity().fit(table).predict(all_users).tolist() == [[2, 2]] * 3
        model = ItemMeansAndBias()
        undamped = model._serve(model._learn(table, (0.0,)), all_users, (0.0,))
        assert np.allclose(undamped, [[4, 2], [3, 1], [5, 3]], rtol=0, atol=1e-12)
        damped = model._serve(model._learn(table, (2.0,)), all_users, (1.0,))
        # Means (8 + 6) / 4 = 3.5, (4 + 6) / 4 = 2.5; above: (1.5 - 1.5) / 3, -0.5 / 2, 0.5 / 2.
        expected = [[3.5, 2.5], [3.25, 2.25], [3.75, 2.75]]
        assert np.allclose(damped, expected, rtol=0, atol=1e-12)
        overall = GlobalMean()
        assert np.allclose(
            overall._serve(overall._learn(table, ()), all_users, (1.0,)),
            [[3, 3]] * 3,
            rtol=0,
            atol=1e-12,
        )

    def test_what_was_chosen_is_the_best_of_all_settings(self, invented):
        table = TrainingTable.from_ratings(invented)
        splits = enough_for_errors(inner_splits(table))
        fitted = ItemMeansAndBias().fit(table, splits)
        errors = {}
        for learning in fitted.learning_settings:
            for serving in fitted.serving_settings:
                squares = []
                for inner in splits:
                    held, learnt = inner.held_out, fitted._learn(inner.table, learning)
                    scores = fitted._serve(learnt, inner.known, serving)[held.users, held.items]
                    squares += ((np.clip(scores, 1, 5) - held.values) ** 2).tolist()
                errors[learning + serving] = np.mean(squares) ** 0.5
        assert errors[fitted.setting_] == pytest.approx(min(errors.values()), abs=1e-9)
        assert fitted.inner_rmse_ == pytest.approx(errors[fitted.setting_], abs=1e-12)

    def test_where_nothing_can_be_held_out_the_first_settings_are_taken(self):
        table = TrainingTable.from_ratings(
            Ratings.from_columns([1, 1, 2, 2], [1, 2, 1, 2], [5, 1, 5, 1])
        )
        fitted = ItemMeansAndBias().fit(table)
        assert fitted.setting_ == (0.0, 0.0)
        assert np.isnan([fitted.inner_rmse_, fitted.inner_ndcg_]).all()


class TestRegress:
    @settings(deadline=None, max_examples=50)
    @given(seed=st.integers(0, 9999), rank=st.integers(1, 6), share=st.floats(0, 1))
    def test_against_the_normal_equations(self, seed, rank, share):
        rng = np.random.default_rng(seed)
        factors, weights = rng.normal(size=(9, rank)), rng.integers(1, 5, 9).astype(float)
        present = rng.random((4, 9)) < share
        values = rng.normal(size=(4, 9))
        items = np.nonzero(present)[1]
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        found = regress(indptr, items.astype(np.int32), values[present], weights, factors, 0.7)
        for row in range(4):
            own = factors[present[row]]
            w = np.diag(weights[present[row]])
            left = own.T @ w @ own + 0.7 * np.eye(rank)
            expected = np.linalg.solve(left, own.T @ w @ values[row, present[row]])
            assert np.allclose(found[row], expected, rtol=0, atol=1e-9)


class TestItemNeighbours:
    @pytest.mark.parametrize("bound", [0.0, 1.0])
    def test_cosines_against_plain_loops(self, invented, monkeypatch, bound):
        monkeypatch.setattr(rating_predictors, "_SPARSE", bound)
        rows = UserRows.from_ratings(invented).take(np.arange(40))
        sizes = np.random.default_rng(0).integers(1, 4, 40)
        table = TrainingTable.from_rows(rows, sizes, invented.n_items, invented.scale)
        values = table.rows.values - 3.1
        cosines, all_users = item_cosines(table, values)
        dense = np.full((table.rows.n_users, table.n_items), np.nan)
        dense[table.rows.row_of(), table.rows.indices] = values
        for one in range(0, 120, 7):
            for two in range(120):
                both = ~np.isnan(dense[:, one]) & ~np.isnan(dense[:, two])
                x, y, s = dense[both, one], dense[both, two], table.sizes[both]
                assert all_users[one, two] == s.sum()
                if one == two or not both.any():
                    assert cosines[one, two] == 0
                else:
                    expected = (s * x * y).sum() / np.sqrt((s * x * x).sum() * (s * y * y).sum())
                    assert cosines[one, two] == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("block", [1 << 23, 100, 1])
    def test_columns_are_multiplied_as_by_scipy(self, invented, monkeypatch, block):
        monkeypatch.setattr(split, "_BLOCK_CELLS", block)
        rows, rng = UserRows.from_ratings(invented), np.random.default_rng(3)
        left, right = rng.normal(size=(2, rows.values.size))
        (sums,) = multiply_columns(rows, invented.n_items, [(left, right)])
        matrices = [rows.matrix(invented.n_items, values) for values in (left, right)]
        assert np.array_equal(sums, (matrices[0].T @ matrices[1]).toarray())
        (same,) = multiply_columns(rows, invented.n_items, [(left, left)], symmetric=True)
        assert np.array_equal(same, (matrices[0].T @ matrices[0]).toarray())

    def test_rows_are_multiplied_as_by_scipy(self, invented, monkeypatch):
        """To the bit: with tiles of 128 columns, four cells at a time, and without zeros."""
        monkeypatch.setattr(rating_predictors, "_SPARSE", 1.0)
        rows, rng = UserRows.from_ratings(invented), np.random.default_rng(3)
        matrix = rows.matrix(invented.n_items, rng.normal(size=rows.values.size))
        numbers = rng.normal(size=(invented.n_items, 300))
        assert np.array_equal(multiply_rows(matrix, numbers), matrix @ numbers)
        numbers[rng.random(numbers.shape) < 0.9] = 0
        few = sparse.csr_array(numbers)
        assert np.array_equal(multiply_rows(matrix, few), matrix @ numbers)

    def test_tiles_change_nothing_that_matters(self, invented, monkeypatch):
        table = TrainingTable.from_ratings(invented)
        whole = item_cosines(table, table.rows.values)
        monkeypatch.setattr(rating_predictors, "_TILE_CELLS", 700)
        tiled = item_cosines(table, table.rows.values)
        assert np.allclose(whole[0], tiled[0], rtol=0, atol=1e-12)
        assert (whole[1] == tiled[1]).all()

    def test_sparse_and_dense_rows_are_served_alike(self, invented, monkeypatch):
        table, all_users = TrainingTable.from_ratings(invented), UserRows.from_ratings(invented)
        fitted = ItemNeighbours().fit(table)
        served = []
        for bound in (0.0, 1.0):
            monkeypatch.setattr(rating_predictors, "_SPARSE", bound)
            served.append(fitted.predict(all_users))
        assert np.allclose(*served, rtol=0, atol=1e-9)

    def test_too_many_items_are_refused(self, monkeypatch, invented):
        monkeypatch.setattr(rating_predictors, "_MOST_CELLS", 100)
        table = TrainingTable.from_ratings(invented)
        with raises("table.too-large") as caught:
            item_cosines(table, table.rows.values)
        assert "120 items" in str(caught.value)

    def test_of_many_items_those_with_most_ratings_are_compared(self, monkeypatch, invented):
        table, all_users = TrainingTable.from_ratings(invented), UserRows.from_ratings(invented)
        monkeypatch.setattr(rating_predictors, "MOST_COMPARED", 30)
        fitted = ItemNeighbours().fit(table)
        averages, compared, similar = fitted._learnt
        assert similar.shape == (30, 30)
        others = np.setdiff1d(np.arange(table.n_items), compared)
        assert table.support[compared].min() >= table.support[others].max()
        scores, bias = fitted.predict(all_users), averages.rest(all_users)[0]
        on_average = averages.item_means + bias[:, None]
        assert np.allclose(scores[:, others], on_average[:, others], rtol=0, atol=1e-12)
        assert not np.allclose(scores[:, compared], on_average[:, compared], atol=0.01)

    def test_sparse_and_dense_rows_of_many_items_are_served_alike(self, monkeypatch, invented):
        monkeypatch.setattr(rating_predictors, "MOST_COMPARED", 30)
        self.test_sparse_and_dense_rows_are_served_alike(invented, monkeypatch)

    def test_as_many_items_as_are_compared_change_nothing(self, monkeypatch, invented):
        table, all_users = TrainingTable.from_ratings(invented), UserRows.from_ratings(invented)
        scores = []
        for most in (120, 5_000):
            monkeypatch.setattr(rating_predictors, "MOST_COMPARED", most)
            scores.append(ItemNeighbours().fit(table).predict(all_users))
        assert np.array_equal(*scores)


@pytest.mark.parametrize("sizes", [[1], [1, 2, 7]])
def test_blocks_of_rows_change_nothing(monkeypatch, invented, sizes):
    monkeypatch.setattr(rating_predictors, "MOST_COMPARED", 30)
    monkeypatch.setattr(rankers, "MOST_COMPARED", 30)
    monkeypatch.setattr(rankers, "MOST_MODELLED", 40)
    all_users = UserRows.from_ratings(invented)
    of_rows = np.resize(sizes, all_users.n_users)
    found = []
    for cells in (1 << 23, 100):
        monkeypatch.setattr(split, "_BLOCK_CELLS", cells)
        table = TrainingTable.from_rows(all_users, of_rows, invented.n_items, invented.scale)
        makers = ItemNeighbours(), RidgeFactors(rank=3), Ease("liked"), PureSVD(), ItemCosine()
        scores = [maker.fit(table).predict(all_users) for maker in makers]
        found.append([table.support, table.item_means(2.0), *scores])
    for whole, in_blocks in zip(*found, strict=True):
        assert np.array_equal(whole, in_blocks)
    counted = np.bincount(table.rows.indices, table.weights, invented.n_items)
    assert np.array_equal(found[0][0], counted)


def test_of_many_items_cosines_are_of_those_that_most_users_liked(monkeypatch, invented):
    monkeypatch.setattr(rankers, "MOST_COMPARED", 30)
    table = TrainingTable.from_ratings(invented)
    _, compared, similar = ItemCosine().fit(table)._learnt
    likes = np.bincount(
        table.rows.indices, rankers.liked(table.rows, table.scale), minlength=table.n_items
    )
    assert similar.shape == (30, 30)
    assert likes[compared].min() >= np.delete(likes, compared).max()


def dense(ratings):
    return UserRows.from_ratings(ratings).matrix(ratings.n_items).toarray()


class TestListMakers:
    @pytest.mark.parametrize("form", ["liked", "labels"])
    @pytest.mark.parametrize("n_rows", [20, 200])
    def test_ease_is_its_closed_form(self, invented, form, n_rows):
        """By a plain inverse: with fewer rows than items, too, where the other side is taken."""
        rows = UserRows.from_ratings(invented).take(np.arange(n_rows))
        sizes = np.arange(1, n_rows + 1)
        table = TrainingTable.from_rows(rows, sizes, invented.n_items, invented.scale)
        model = Ease(form)
        got = model._serve(model._learn(table, ()), rows, (20.0,))
        labels = rows.matrix(invented.n_items).toarray()
        x = (labels >= 4) * 1.0 if form == "liked" else labels / 5
        inverse = np.linalg.inv((x * sizes[:, None]).T @ x + 20 * np.eye(invented.n_items))
        weights = -inverse / np.diag(inverse)
        np.fill_diagonal(weights, 0)
        assert np.allclose(got, x @ weights, rtol=0, atol=1e-8)

    def test_ease_on_both_is_the_mean_of_two_whose_scores_spread_alike(self, invented):
        table, all_users = TrainingTable.from_ratings(invented), UserRows.from_ratings(invented)
        both = EaseOnBoth()
        got = both._serve(both._learn(table, ()), all_users, (20.0, 80.0))
        expected = 0
        for form, strength in (("liked", 20.0), ("labels", 80.0)):
            one = Ease(form)
            scores = one._serve(one._learn(table, ()), all_users, (strength,))
            spread = scores.std(axis=1)[:, None]
            assert ((spread > 0.001) | (spread < 1e-12)).all()  # users without likes have none
            expected = expected + scores / np.where(spread < 1e-12, np.inf, spread)
        assert np.allclose(got, expected, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("well_conditioned", [1e5, 0.0], ids=["single", "double"])
    def test_large_tables_give_what_their_spectrum_gives(
        self, invented, monkeypatch, well_conditioned
    ):
        """Inverted for each strength, or by the longest directions alone."""
        monkeypatch.setattr(rankers, "_WELL_CONDITIONED", well_conditioned)
        all_users, fitted = UserRows.from_ratings(invented), {}
        for few in (1, 1_000):
            monkeypatch.setattr(rankers, "_FEW", few)
            table = TrainingTable.from_ratings(invented)
            assert table.rows.n_users >= table.n_items
            makers = [PureSVD(), Ease("liked"), Ease("values"), EaseOnBoth()]
            fitted[few] = fit_all(table, makers)
            if few == 1:
                assert isinstance(makers[1]._learn(table, ()), rankers._Summed)
        for large, small in zip(*fitted.values(), strict=True):
            assert large.setting_ == small.setting_
            assert np.array_equal(large.inner_lists_, small.inner_lists_, equal_nan=True)
            scores = [maker.predict(all_users) for maker in (large, small)]
            assert np.allclose(*scores, rtol=0, atol=1e-9), large.name
        longest = fitted[1][0]._learnt.vectors.shape[1]
        assert longest == fitted[1][0].setting_[0]

    def test_shared_scores_cannot_be_changed(self, invented):
        table, all_users = TrainingTable.from_ratings(invented), UserRows.from_ratings(invented)
        maker = Ease("liked").fit(table)
        first = maker.predict(all_users)
        expected = first.copy()
        first[:] = 7
        assert np.array_equal(maker.predict(all_users), expected)

    def test_nothing_liked_leaves_the_order_to_the_labels(self):
        """What only rounding distinguishes counts nothing, however it is spread."""
        ratings = Ratings.from_columns(
            [0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 0, 2], [1, 2, 3, 1, 2, 2], scale=RatingScale(1, 5, 1)
        )
        table, all_users = TrainingTable.from_ratings(ratings), UserRows.from_ratings(ratings)
        both, labels = EaseOnBoth(), Ease("values")
        got = both._serve(both._learn(table, ()), all_users, (20.0,))
        alone = labels._serve(labels._learn(table, ()), all_users, (20.0,))
        assert (np.argsort(got, axis=1) == np.argsort(alone, axis=1)).all()

    def test_pure_svd_is_a_projection(self, invented):
        table, all_users = TrainingTable.from_ratings(invented), UserRows.from_ratings(invented)
        model = PureSVD()
        got = model._serve(model._learn(table, ()), all_users, (10.0,))
        x = dense(invented) / 5
        longest = np.linalg.svd(x, full_matrices=False)[2][:10]
        assert np.allclose(got, x @ longest.T @ longest, rtol=0, atol=1e-8)

    def test_item_cosine_adds_up_the_nearest(self, invented):
        table, all_users = TrainingTable.from_ratings(invented), UserRows.from_ratings(invented)
        model = ItemCosine(kept=7)
        got = model._serve(model._learn(table, ()), all_users, ())
        x = (dense(invented) >= 4) * 1.0
        lengths = np.sqrt(np.maximum((x**2).sum(axis=0), 1))
        similar = np.round(x.T @ x / np.outer(lengths, lengths), 9)
        np.fill_diagonal(similar, 0)
        for column in similar.T:
            column[column < np.sort(column)[-7]] = 0
        assert np.allclose(got, x @ similar, rtol=0, atol=1e-6)

    def test_of_many_items_those_with_most_are_distinguished(self, invented, monkeypatch):
        monkeypatch.setattr(rankers, "MOST_MODELLED", 30)
        table, all_users = TrainingTable.from_ratings(invented), UserRows.from_ratings(invented)
        for maker in (Ease("liked"), PureSVD(), ItemCosine()):
            scores = maker.fit(table).predict(all_users)
            result = maker._learn(table, ()) if maker.name != ItemCosine().name else None
            spectrum = result or maker._learn(table, ())[0]
            others = np.setdiff1d(np.arange(invented.n_items), spectrum.modelled)
            assert (spectrum.modelled.size, scores.shape[1]) == (30, invented.n_items)
            assert (scores[:, others].max(axis=1) < scores[:, spectrum.modelled].min(axis=1)).all()

    def test_a_null_release_gives_no_user_a_list_of_their_own(self, invented):
        """All users in one row: what is left is the order of the items, the same for all users."""
        table = TrainingTable.from_ratings(invented)
        rated = np.flatnonzero(table.support).astype(np.int32)
        one = UserRows(np.array([0, rated.size]), rated, table.item_means()[rated])
        null = TrainingTable.from_rows(one, np.array([300]), invented.n_items, invented.scale)
        scores = PureSVD().fit(null).predict(UserRows.from_ratings(invented))
        assert np.linalg.matrix_rank(scores, tol=1e-6) == 1
