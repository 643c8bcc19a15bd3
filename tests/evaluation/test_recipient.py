import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import AttackTarget
from recveil.datasets import make_ratings
from recveil.evaluation import (
    HeldOut,
    ItemMeans,
    ItemMeansAndBias,
    Popularity,
    TrainingTable,
    UserRows,
    default_recommenders,
    fit_all,
    gain_interval,
    recipient,
    serve,
    split_ratings,
)
from recveil.evaluation.rankers import Ranker
from recveil.evaluation.recipient import effort_of_fits
from recveil.evaluation.split import n_inner_splits
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings, RatingScale

stars = RatingScale(1, 5, 1)


@pytest.fixture(scope="module")
def split():
    """Invented users of strong embeddings, so that there is something to gain by filtering."""
    ratings = make_ratings(
        n_users=300, n_items=80, n_ratings=9_000, seed=5, preference=1.0, noise=0.4
    )
    return split_ratings(ratings, 0.2, 1)


@pytest.fixture(scope="module")
def served_raw(split):
    return served_by(TrainingTable.from_ratings(split.train), split)


def served_by(table, split):
    return serve(fit_all(table), UserRows.from_ratings(split.train), split.test)


class TestInvariants:
    def test_one_thread_serves_as_two_do(self, split, served_raw, monkeypatch):
        for n_threads in (1, 2):
            count = lambda n=n_threads: n  # noqa: E731
            monkeypatch.setattr("recveil.runtime.threads.usual_threads", count)
            again = served_by(TrainingTable.from_ratings(split.train), split)
            assert again == served_raw

    def test_one_group_of_all_users_is_the_release_of_item_means(self, split, served_raw):
        train = split.train
        simple = PredictiveAnonymizer(
            k=train.n_users, homogenize="simple", round_values="none", seed=1
        ).anonymize(train)
        one_group = TrainingTable.from_released(
            AttackTarget.from_release(simple, train), train.scale
        )
        rated = np.flatnonzero(train.support).astype(np.int32)
        means = TrainingTable.from_ratings(train).item_means()[rated]
        of_all = UserRows(
            np.arange(train.n_users + 1) * rated.size,
            np.tile(rated, train.n_users),
            np.tile(means, train.n_users),
        )
        item_means = TrainingTable.from_rows(
            of_all, np.ones(train.n_users, np.int64), train.n_items, train.scale
        )
        one, other = served_by(one_group, split), served_by(item_means, split)
        assert one.chosen == other.chosen == "item mean + user bias"
        for name, utility in one.utilities.items():
            assert np.allclose(
                utility[:7], other.utilities[name][:7], rtol=0, atol=1e-9, equal_nan=True
            )
        own = served_raw.utilities["item mean"]
        assert one.utilities["item mean"].rmse == pytest.approx(own.rmse, abs=1e-9)
        # Nothing but averages is left in it for the others to learn, either.
        for name in ("item neighbours", "ridge factors, rank 10", "ridge factors, rank 50"):
            assert one.utilities[name].rmse == pytest.approx(one.of_chosen.rmse, abs=1e-9)


class TestServe:
    def test_by_hand(self):
        # Item means 4, 2, 5; user 0 rated items 0 and 1 and is served item 2.
        train = Ratings.from_columns([0, 0, 1, 2, 2], [0, 1, 0, 1, 2], [5, 1, 3, 3, 5], scale=stars)
        test = HeldOut(np.array([0, 1, 1]), np.array([2, 1, 2]), np.array([4.0, 4.0, 1.0]))
        fitted = fit_all(TrainingTable.from_ratings(train), [ItemMeans(), Popularity()])
        served = serve(fitted, UserRows.from_ratings(train), test, n=1)
        means = served.utilities["item mean"]
        # Differences 1, -2, 4.
        assert means.rmse == pytest.approx((21 / 3) ** 0.5, abs=1e-12)
        assert means.mae == pytest.approx(7 / 3, abs=1e-12)
        # Both get item 2, relevant to user 0 alone; to user 1 it is item 1 that is.
        assert (means.ndcg, means.recall) == (0.5, 0.5)
        assert means.coverage == pytest.approx(1 / 3, abs=1e-12)
        assert (means.n_cells, means.n_ranked, means.n_unranked) == (3, 2, 0)
        popular = served.utilities["popularity"]
        assert np.isnan(popular.rmse)
        # Supports 2, 2, 1: user 0 gets item 2, user 1 item 1.
        assert (popular.ndcg, popular.recall) == (1, 1)
        assert served.chosen == "item mean"

    def test_a_higher_threshold_leaves_users_out(self, split):
        fitted = fit_all(TrainingTable.from_ratings(split.train), [Popularity()])
        all_users = UserRows.from_ratings(split.train)
        found = serve(fitted, all_users, split.test, relevant_from=5).of_chosen
        some = np.unique(split.test.users[split.test.values == 5]).size
        assert (found.n_ranked, found.n_unranked) == (some, np.unique(split.test.users).size - some)

    def test_tiles_change_nothing(self, split, monkeypatch):
        fitted = fit_all(TrainingTable.from_ratings(split.train), [ItemMeansAndBias()])
        all_users = UserRows.from_ratings(split.train)
        whole = serve(fitted, all_users, split.test)
        monkeypatch.setattr(recipient, "_TILE_CELLS", 7 * split.train.n_items)
        assert serve(fitted, all_users, split.test) == whole

    def test_some_of_the_users_are_served_as_among_all(self, split):
        fitted = fit_all(TrainingTable.from_ratings(split.train), [ItemMeansAndBias()])
        all_users = UserRows.from_ratings(split.train)
        chosen = np.arange(300) < 100
        errors = [
            serve(fitted, all_users, split.test.of_users(who)).of_chosen
            for who in (chosen, ~chosen)
        ]
        squares = sum(error.rmse**2 * error.n_cells for error in errors) / split.test.users.size
        whole = serve(fitted, all_users, split.test).of_chosen.rmse
        assert squares**0.5 == pytest.approx(whole, abs=1e-9)

    def test_nothing_held_out_is_refused(self, split):
        fitted = fit_all(TrainingTable.from_ratings(split.train), [Popularity()])
        nothing = split.test.of_users(np.zeros(300, bool))
        with raises("argument.value") as caught:
            serve(fitted, UserRows.from_ratings(split.train), nothing)
        assert "0 test cells" in str(caught.value)


class TestWhoMakesTheLists:
    def test_the_inner_ndcg_by_hand(self):
        """Two users like all they rated; of each, the one item held out is left to be listed.

        The second user's item is the more popular one, as the other user carries it.
        """
        train = Ratings.from_columns([0] * 5 + [1] * 5, [0, 1, 2, 3, 4] * 2, [5] * 9 + [4])
        (popular,) = fit_all(TrainingTable.from_ratings(train), [Popularity()])
        assert popular.inner_ndcg_ == 1

    def test_the_best_is_an_oracle_next_to_the_chosen(self, served_raw):
        result = served_raw.utilities
        errors = {name: u.rmse for name, u in result.items() if not np.isnan(u.rmse)}
        gains = {name: u.ndcg for name, u in result.items() if not np.isnan(u.ndcg)}
        assert result[served_raw.best].rmse == min(errors.values()) <= served_raw.of_chosen.rmse
        assert (
            result[served_raw.best_ranker].ndcg == max(gains.values()) >= served_raw.of_ranker.ndcg
        )

    def test_what_makes_clearly_the_best_lists_inside_is_taken(self, served_raw):
        inner = {name: found.inner_ndcg for name, found in served_raw.utilities.items()}
        assert np.isnan(inner["global mean + user bias"])  # it ranks nothing
        assert not np.isnan(inner["popularity"])
        assert served_raw.of_ranker.ndcg == served_raw.utilities[served_raw.ranker].ndcg

    @pytest.mark.parametrize(
        ("lists", "expected"),
        [
            ([0.1, 0.2, 0.1, 0.2], "popularity"),  # worse by 0.4, beyond doubt
            ([0.9, 0.1, 0.9, 0.2], "item mean"),  # not distinguished: the one with an RMSE
            ([0.5, 0.5], "item mean"),  # too few rows to decide
        ],
    )
    def test_lists_that_are_not_distinguished_are_decided_by_rmse(self, lists, expected):
        train = Ratings.from_columns([0, 0, 1, 2, 2], [0, 1, 0, 1, 2], [5, 1, 3, 3, 5], scale=stars)
        test = HeldOut(np.array([0]), np.array([2]), np.array([4.0]))
        means, popular = fit_all(TrainingTable.from_ratings(train), [ItemMeans(), Popularity()])
        means.inner_lists_ = np.array(lists)
        popular.inner_lists_ = np.array([0.5, 0.6, 0.5, 0.6])[: len(lists)]
        means.inner_rmse_ = 1.0
        all_users = UserRows.from_ratings(train)
        assert serve([means, popular], all_users, test).ranker == expected

    def test_where_nothing_is_liked_the_chosen_one_makes_them(self):
        users, items = [0] * 5 + [1] * 5, [0, 1, 2, 3, 4] * 2
        low = Ratings.from_columns(users, items, [1, 2] * 5, scale=stars)
        test = HeldOut(np.array([0]), np.array([1]), np.array([2.0]))
        fitted = fit_all(TrainingTable.from_ratings(low), [ItemMeans()])
        served = serve(fitted, UserRows.from_ratings(low), test)
        assert served.ranker == served.chosen == "item mean"


def test_what_users_add_up_to(split, served_raw):
    all_users = served_raw.per_user
    assert all_users.cells.sum() == split.test.users.size
    for name, squares in all_users.squares.items():
        total = (squares.sum() / all_users.cells.sum()) ** 0.5
        assert total == pytest.approx(served_raw.utilities[name].rmse, rel=1e-12)
    for name, gained in all_users.ndcg.items():
        assert np.nanmean(gained) == pytest.approx(served_raw.utilities[name].ndcg, rel=1e-12)
    assert gain_interval(served_raw, served_raw) == (1, 1)


def test_the_effort_is_of_the_longer_thread():
    """Rankers are fitted next to the others, and `EaseOnBoth` takes tables apart for `Ease`."""
    table = TrainingTable.from_ratings(make_ratings(200, 50, 3_000, seed=1))
    n_inner = n_inner_splits(table)
    of_each = {each.name: each.effort(table, n_inner) for each in default_recommenders()}
    rank = {each.name for each in default_recommenders() if isinstance(each, Ranker)}
    rankers = sum(effort for name, effort in of_each.items() if name in rank)
    assert effort_of_fits(table) == pytest.approx(max(rankers, sum(of_each.values()) - rankers))
    few = (1 + n_inner) * (100 * 3_000 + 1_000 * 50)
    assert of_each["EASE on liked"] == of_each["EASE on values"] == few
    # Two forms of each table, and six lists of 200 rows over 50 items, from 50 directions each.
    apart, lists = 2 * (1 + n_inner) * 0.75 * 50**3, 6 * 200 * 50 * (35 + 0.3 * 2 * 50)
    # Rows are filled by 30%, so that their products are dense ones.
    multiplied = 2 * (1 + n_inner) * 0.2 * 200 * 50**2
    assert of_each["EASE on both"] == pytest.approx(few + apart + lists + multiplied)
