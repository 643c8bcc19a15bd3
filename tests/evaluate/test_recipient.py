import numpy as np
import pytest

from recveil.anonymize import PredictiveAnonymizer
from recveil.attack import Candidates, ReleasedTable
from recveil.datasets import make_ratings
from recveil.errors import RecveilError
from recveil.evaluate import (
    HeldOut,
    ItemMeans,
    ItemMeansAndBias,
    Popularity,
    TrainingTable,
    UserRows,
    fit_all,
    gain_interval,
    gain_kept,
    recipient,
    serve,
    split_ratings,
)
from recveil.evaluate.recipient import AVERAGES, PersonErrors, Served, Utility
from recveil.ratings import Ratings, RatingScale
from recveil.records import Records

stars = RatingScale(1, 5, 1)


@pytest.fixture(scope="module")
def split():
    """Invented people of strong tastes, so that there is something to gain by filtering."""
    ratings = make_ratings(n_users=300, n_items=80, n_ratings=9_000, seed=5, taste=1.0, noise=0.4)
    return split_ratings(ratings, 0.2, 1)


@pytest.fixture(scope="module")
def served_raw(split):
    return served_by(TrainingTable.from_ratings(split.train), split)


def served_by(table, split):
    return serve(fit_all(table), UserRows.from_ratings(split.train), split.test)


class TestInvariants:
    def test_there_is_a_gain_to_keep(self, served_raw):
        assert served_raw.best.rmse < served_raw.utilities["item mean + user bias"].rmse - 0.02
        assert gain_kept(served_raw, served_raw) == 1

    def test_raw_data_that_are_published_as_they_are_keep_it_exactly(self, split, served_raw):
        train = split.train
        order = np.random.default_rng(0).permutation(train.n_users)  # as a release has it
        rows = UserRows.from_ratings(train).take(order)
        records = Records(np.ones(order.size, np.int64), *rows)
        released = ReleasedTable(
            Candidates.from_records([records], train.n_items, train.scale),
            *(rows.indptr, rows.indices, rows.values, np.argsort(order), 1, records.sizes),
        )
        table = TrainingTable.from_released(released, train.scale)
        served = served_by(table, split)
        assert served.chosen == served_raw.chosen
        assert repr(served.utilities) == repr(served_raw.utilities)  # nan equals nan in it
        assert gain_kept(served_raw, served) == 1

    @pytest.mark.parametrize("seed", range(3))
    def test_random_labels_fall_to_the_item_mean_or_worse(self, split, served_raw, seed):
        rows = UserRows.from_ratings(split.train)
        noise = np.random.default_rng(seed).integers(1, 6, rows.values.size).astype(float)
        sizes = np.ones(rows.n_users, np.int64)
        table = TrainingTable.from_rows(
            rows._replace(values=noise), sizes, split.train.n_items, stars
        )
        served = served_by(table, split)
        assert served.best.rmse >= served_raw.utilities["item mean + user bias"].rmse
        assert gain_kept(served_raw, served) <= 0

    def test_one_group_of_everybody_is_the_release_of_item_means(self, split, served_raw):
        train = split.train
        simple = PredictiveAnonymizer(
            k=train.n_users, homogenize="simple", round_labels="none", seed=1
        ).anonymize(train)
        one_group = TrainingTable.from_released(
            ReleasedTable.from_release(simple, train), train.scale
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
            assert one.utilities[name].rmse == pytest.approx(one.best.rmse, abs=1e-9)

    def test_layouts_of_one_release_serve_alike(self, split):
        release = PredictiveAnonymizer(k=5, seed=1).anonymize(split.train)
        released = ReleasedTable.from_release(release, split.train)
        by_group = TrainingTable.from_released(released, stars)
        groups = UserRows(released.indptr, released.indices, released.values)
        everybody = groups.take(np.repeat(np.arange(groups.n_users), released.candidates.sizes))
        by_user = TrainingTable.from_rows(
            everybody, np.ones(everybody.n_users, np.int64), split.train.n_items, stars
        )
        assert repr(served_by(by_user, split)) == repr(served_by(by_group, split))


class TestServe:
    def test_by_hand(self):
        # Item means 4, 2, 5; person 0 rated items 0 and 1 and is served item 2.
        train = Ratings.from_columns([0, 0, 1, 2, 2], [0, 1, 0, 1, 2], [5, 1, 3, 3, 5], scale=stars)
        test = HeldOut(np.array([0, 1, 1]), np.array([2, 1, 2]), np.array([4.0, 4.0, 1.0]))
        fitted = fit_all(TrainingTable.from_ratings(train), [ItemMeans(), Popularity()])
        served = serve(fitted, UserRows.from_ratings(train), test, n=1)
        means = served.utilities["item mean"]
        # Differences 1, -2, 4.
        assert means.rmse == pytest.approx((21 / 3) ** 0.5, abs=1e-12)
        assert means.mae == pytest.approx(7 / 3, abs=1e-12)
        # Both get item 2, relevant to person 0 alone; to person 1 it is item 1 that is.
        assert (means.ndcg, means.recall) == (0.5, 0.5)
        assert means.coverage == pytest.approx(1 / 3, abs=1e-12)
        assert (means.n_cells, means.n_ranked, means.n_unranked) == (3, 2, 0)
        popular = served.utilities["popularity"]
        assert np.isnan(popular.rmse)
        # Supports 2, 2, 1: person 0 gets item 2, person 1 item 1.
        assert (popular.ndcg, popular.recall) == (1, 1)
        assert served.chosen == "item mean"

    def test_a_higher_threshold_leaves_people_out(self, split):
        fitted = fit_all(TrainingTable.from_ratings(split.train), [Popularity()])
        people = UserRows.from_ratings(split.train)
        found = serve(fitted, people, split.test, relevant_from=5).best
        some = np.unique(split.test.users[split.test.values == 5]).size
        assert (found.n_ranked, found.n_unranked) == (some, np.unique(split.test.users).size - some)

    def test_tiles_change_nothing(self, split, monkeypatch):
        fitted = fit_all(TrainingTable.from_ratings(split.train), [ItemMeansAndBias()])
        people = UserRows.from_ratings(split.train)
        whole = serve(fitted, people, split.test)
        monkeypatch.setattr(recipient, "_TILE_CELLS", 7 * split.train.n_items)
        assert serve(fitted, people, split.test) == whole

    def test_some_of_the_people_are_served_as_among_all(self, split):
        fitted = fit_all(TrainingTable.from_ratings(split.train), [ItemMeansAndBias()])
        people = UserRows.from_ratings(split.train)
        chosen = np.arange(300) < 100
        errors = [serve(fitted, people, split.test.of_users(who)).best for who in (chosen, ~chosen)]
        squares = sum(error.rmse**2 * error.n_cells for error in errors) / split.test.users.size
        whole = serve(fitted, people, split.test).best.rmse
        assert squares**0.5 == pytest.approx(whole, abs=1e-9)

    def test_nothing_held_out_is_refused(self, split):
        fitted = fit_all(TrainingTable.from_ratings(split.train), [Popularity()])
        nothing = split.test.of_users(np.zeros(300, bool))
        with pytest.raises(RecveilError, match="0 test cells for 300 people"):
            serve(fitted, UserRows.from_ratings(split.train), nothing)


class TestWhoMakesTheLists:
    def test_the_inner_ndcg_by_hand(self):
        """One row of five items, all liked: one is held out, and it alone is left to be listed."""
        train = Ratings.from_columns([0] * 5, [0, 1, 2, 3, 4], [5, 5, 5, 5, 5], scale=stars)
        (popular,) = fit_all(TrainingTable.from_ratings(train), [Popularity()])
        assert popular.inner_ndcg_ == 1

    def test_the_best_inside_is_taken_and_not_the_best_by_rmse(self, split, served_raw):
        inner = {name: found.inner_ndcg for name, found in served_raw.utilities.items()}
        known = {name: value for name, value in inner.items() if not np.isnan(value)}
        assert served_raw.ranker == max(known, key=known.__getitem__)
        assert np.isnan(inner["global mean + user bias"])  # it ranks nothing
        assert not np.isnan(inner["popularity"])
        assert served_raw.best_lists.ndcg == served_raw.utilities[served_raw.ranker].ndcg

    def test_where_nothing_is_liked_the_chosen_one_makes_them(self):
        users, items = [0] * 5 + [1] * 5, [0, 1, 2, 3, 4] * 2
        low = Ratings.from_columns(users, items, [1, 2] * 5, scale=stars)
        test = HeldOut(np.array([0]), np.array([1]), np.array([2.0]))
        fitted = fit_all(TrainingTable.from_ratings(low), [ItemMeans()])
        served = serve(fitted, UserRows.from_ratings(low), test)
        assert served.ranker == served.chosen == "item mean"


class TestGainInterval:
    def plain(self, averages, best, cells):
        """Make what is served of each person's squared errors."""
        errors = PersonErrors(
            np.asarray(cells),
            {name: np.asarray(e, float) for name, e in ((AVERAGES, averages), ("kNN", best))},
        )
        rest = (0.0, 0.0, 0.0, 0.0, 10, 1, 1, 0, (), 0.0)

        def utility(squares):
            return Utility(float(np.sqrt(np.sum(squares) / np.sum(cells))), *rest)

        utilities = {AVERAGES: utility(averages), "kNN": utility(best)}
        return Served(utilities, "kNN", errors=errors)

    def test_people_who_are_all_alike_leave_no_doubt(self):
        """Errors 1.0, 0.8 and 0.9 of everybody: half of the gain is kept, whoever is drawn."""
        raw = self.plain([1.0] * 9, [0.64] * 9, [1] * 9)
        release = self.plain([1.0] * 9, [0.81] * 9, [1] * 9)
        assert gain_interval(raw, release) == pytest.approx((0.5, 0.5))

    def test_against_a_plain_oracle(self):
        rng = np.random.default_rng(3)
        cells = rng.integers(1, 6, 40)
        averages, best, released = cells * rng.uniform(
            [[1.0], [0.4], [0.6]], [[1.6], [0.9], [1.2]], (3, 40)
        )
        raw, release = self.plain(averages, best, cells), self.plain(averages, released, cells)
        draw, shares = np.random.default_rng(7), []
        for _ in range(1000):
            people = draw.integers(40, size=40)
            n = sum(cells[p] for p in people)
            a, b, c = (
                (sum(errors[p] for p in people) / n) ** 0.5 for errors in (averages, best, released)
            )
            shares.append((a - c) / (a - b))
        shares.sort()
        # The 2.5 % point of 1,000 numbers lies between the 25th and 26th, the 97.5 % point between
        # the 975th and 976th; each end takes the outer one.
        found = gain_interval(raw, release, seed=7)
        assert found == pytest.approx((shares[24], shares[975]), abs=1e-12)
        assert found[0] < gain_kept(raw, release) < found[1]
        assert gain_interval(raw, release, seed=7) == found
        assert gain_interval(raw, release, seed=8) != found

    def test_a_gain_that_may_be_none_has_no_interval(self):
        """The raw data serve one of two people badly: a quarter of the draws is of him alone."""
        raw = self.plain([1.0, 1.0], [0.1, 1.2], [1, 1])
        assert gain_kept(raw, raw) == 1
        assert np.isnan(gain_interval(raw, raw)).all()

    def test_without_a_gain_there_is_none(self):
        raw = self.plain([1.0, 1.0], [1.0, 1.0], [1, 1])
        assert np.isnan(gain_interval(raw, raw)).all()

    def test_others_were_served(self):
        raw = self.plain([1.0, 1.0], [0.5, 0.5], [1, 1])
        with pytest.raises(RecveilError, match="served 2 people, the release 3"):
            gain_interval(raw, self.plain([1.0] * 3, [0.5] * 3, [1] * 3))

    def test_the_errors_of_people_add_up(self, split, served_raw):
        errors = served_raw.errors
        assert errors.cells.sum() == split.test.users.size
        for name, squares in errors.squares.items():
            total = (squares.sum() / errors.cells.sum()) ** 0.5
            assert total == pytest.approx(served_raw.utilities[name].rmse, rel=1e-12)
        low, high = gain_interval(served_raw, served_raw)
        assert low == high == 1
