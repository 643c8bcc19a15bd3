import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.evaluation import (
    DatedRows,
    FactorizedMarkov,
    HeldOut,
    MarkovChain,
    Popularity,
    RecentItemCosine,
    RecentPopularity,
    TrainingTable,
    evaluate,
    next_items,
    split_by_time,
)
from recveil.evaluation.next_items import count_transitions, judge_next_items, ordered_rankers
from recveil.methods import SparseRows
from recveil.ratings import Ratings
from recveil.report.document import plain

pytestmark = pytest.mark.usefixtures("few_recommenders")

POPULAR, RECENT, MARKOV, FACTORIZED, DECAYED = (
    each.name for each in (Popularity(), *ordered_rankers())
)


def dated(users, items, days, values=None) -> Ratings:
    return Ratings.from_columns(users, items, values, days)


def table_of(ratings) -> TrainingTable:
    return TrainingTable.from_ratings(ratings, with_days=True)


def seasons(n_users=150, n_groups=8, size=5, *, shuffled=False, seed=0) -> Ratings:
    """Every user rates all items, a group of them a day: group g + 1 on the day after group g.

    Who rated what reveals nothing, and all items are equally popular: only the order of the
    groups, which start anywhere, predicts the next item. Shuffled, each user has an order of their
    own.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(n_users):
        groups = (rng.integers(n_groups) + np.arange(n_groups)) % n_groups
        items = (groups[:, None] * size + np.arange(size)).ravel()
        items = rng.permutation(items) if shuffled else items
        rows.append(np.column_stack([np.full(items.size, user), items, np.arange(items.size)]))
    users, items, places = np.concatenate(rows).T
    return dated(users, items, places // size)


def judge(ratings, share=0.5):
    found = split_by_time(ratings, share)
    train = found.split.train
    table = TrainingTable.from_ratings(train)
    popularity = [Popularity().fit(table)]
    return judge_next_items(train, found.next_cells, popularity, popularity, table, POPULAR)


class TestSplitByTime:
    def test_the_cut_is_one_day_for_all_and_days_stay_together(self):
        ratings = seasons(20)
        found = split_by_time(ratings, 0.45)  # in the middle of day 4
        train, test = found.split
        assert (found.cut, train.days.max(), train.n_ratings) == (5, 4, 20 * 25)
        assert test.users.size == 20 * 15
        assert (found.left_out, found.unknown_users, found.unknown_items) == (0, 0, 0)
        assert np.bincount(found.next_cells.users).tolist() == [5] * 20

    def test_only_users_and_items_on_both_sides_are_tested(self):
        # Ann and a, b are on both sides; Ben leaves, Cem joins, and c appears.
        users = ["ann", "ann", "ben", "ben", "ann", "ann", "cem"]
        items = ["a", "x", "a", "b", "b", "c", "a"]
        found = split_by_time(dated(users, items, [1, 1, 1, 2, 3, 3, 3]), 0.4)
        train, test = found.split
        assert (train.users.tolist(), train.items.tolist()) == (["ann", "ben"], ["a", "b", "x"])
        assert (test.users.tolist(), test.items.tolist()) == ([0], [1])
        assert (found.left_out, found.unknown_users, found.unknown_items) == (2, 1, 1)

    def test_a_long_last_day_is_tested_as_a_whole(self):
        ratings = dated([1, 1, 1, 1, 2, 2], list("abcdba"), [1, 7, 7, 7, 1, 7])
        found = split_by_time(ratings, 0.2)
        assert (found.cut, found.split.train.n_ratings, found.left_out) == (2, 2, 2)

    @pytest.mark.parametrize(
        ("days", "share", "code"),
        [
            (None, 0.2, "time.missing"),
            ([3, 3, 3], 0.2, "table.too-few-ratings"),
            ([1, 1, 2], 1.5, "option.value"),
            ([1, 2, 3], 0.4, "evaluation.no-test-ratings"),
        ],
    )
    def test_what_cannot_be_split_is_rejected(self, days, share, code):
        with raises(code):
            split_by_time(dated([1, 1, 2], ["a", "b", "c"], days), share)


class TestRecommenders:
    def test_the_markov_chain_by_hand(self):
        # a → b twice and a → c once; a's day with d shares each transition.
        ratings = dated(
            [1, 1, 2, 2, 3, 3, 3], ["a", "b", "a", "b", "a", "d", "c"], [1, 2, 1, 5, 1, 1, 2]
        )
        counts = count_transitions(table_of(ratings)).toarray()
        expected = np.zeros((4, 4))
        expected[0, [1, 2]], expected[3, 2] = (2, 0.5), 0.5
        assert counts.tolist() == expected.tolist()
        model = MarkovChain().fit(table_of(ratings))
        (smoothing,) = model.setting_
        user = DatedRows.from_ratings(dated([1, 1, 2, 2], list("abcd"), [9, 8, 1, 1]))
        popularity = np.array([3, 2, 1, 1]) / 7
        by_hand = (counts[0] + smoothing * popularity) / (2.5 + smoothing)
        assert model.predict(user)[0] == pytest.approx(by_hand, abs=1e-12)  # b was before a

    def test_of_many_items_those_of_most_users_are_counted(self, monkeypatch):
        ratings = dated([1, 1, 1, 2, 2], ["a", "b", "c", "a", "c"], [1, 2, 3, 1, 2])
        monkeypatch.setattr(next_items, "MOST_COMPARED", 2)
        counts = count_transitions(table_of(ratings)).toarray()
        assert counts.tolist() == [[0, 0, 2], [0, 0, 0], [0, 0, 0]]

    def test_a_factorization_of_full_rank_is_the_chain(self):
        table = table_of(seasons(30, 4, 3))
        chain, factorized = MarkovChain().fit(table), FactorizedMarkov().fit(table)
        assert factorized.setting_[0] == chain.setting_[0]
        expected = chain.predict(table.rows)
        assert factorized.predict(table.rows) == pytest.approx(expected, abs=1e-9)

    def test_recent_ratings_weigh_more(self):
        # a and c are liked together, and so are b and d; who rated b last gets d.
        ratings = dated([1, 1, 2, 2, 3, 3], ["a", "c", "b", "d", "a", "b"], [1, 1, 1, 1, 1, 31])
        model = RecentItemCosine().fit(TrainingTable.from_ratings(ratings))
        row = DatedRows.from_ratings(ratings).take(np.array([2]))
        c, d = model.predict(row)[0, 2:]
        assert model.setting_ == (30.0,)  # without days in the table, the first
        assert c == pytest.approx(d / 2, abs=1e-9)  # a's rating is one half-life old

    def test_recent_popularity_forgets(self):
        ratings = dated([1, 2, 3, 4], ["a", "a", "a", "b"], [0, 1, 2, 32])
        scores = RecentPopularity().fit(table_of(ratings)).predict(table_of(ratings).rows)
        assert scores[0].tolist() == [0, 1]

    @pytest.mark.parametrize("ranker", ordered_rankers(), ids=lambda each: each.name)
    def test_rows_without_days_are_rejected_where_days_are_needed(self, ranker):
        plain = TrainingTable.from_ratings(seasons(20))
        if ranker.needs_days:
            with raises("time.missing"):
                ranker.fit(plain)
        if ranker.name != RECENT:
            with raises("time.missing"):
                ranker.fit(table_of(seasons(20))).predict(plain.rows)


class TestNextItems:
    def test_where_the_order_matters_the_chains_win(self):
        result = judge(seasons())
        assert (result.n_users, result.n_cells) == (150, 750)
        for name in (MARKOV, FACTORIZED):
            assert result.raw[name].hit_rate.value == result.raw[name].ndcg.value == 1
        for name in (POPULAR, RECENT):
            assert result.raw[MARKOV].ndcg.low > result.raw[name].ndcg.high
        assert result.best_raw in (MARKOV, FACTORIZED)

    def test_without_an_order_they_do_not_beat_popularity(self):
        result = judge(seasons(shuffled=True))
        by_chance = 10 / 20  # of the 20 items that a user has not rated, 10 are listed
        assert result.raw[POPULAR].ndcg.value == pytest.approx(by_chance, abs=0.15)
        for name in (MARKOV, FACTORIZED, DECAYED):
            assert result.raw[name].ndcg.low < result.raw[POPULAR].ndcg.high

    def test_a_release_without_days_has_no_figure_of_the_order(self):
        result = judge(seasons())
        assert result.without_days == (RECENT, MARKOV, FACTORIZED)
        assert set(result.release) == {POPULAR, DECAYED}
        assert result.release[POPULAR] == result.raw[POPULAR]
        share, low, high, n_users = result.retained
        assert share == result.release[POPULAR].ndcg.value / result.raw[MARKOV].ndcg.value
        assert low < share < high < 1
        assert n_users == 150

    def test_a_release_with_days_has_all(self):
        found = split_by_time(seasons(), 0.5)
        train = found.split.train
        popularity = [Popularity().fit(TrainingTable.from_ratings(train))]
        result = judge_next_items(
            train, found.next_cells, popularity, popularity, table_of(train), POPULAR
        )
        assert result.without_days == ()
        assert result.release == result.raw
        # Its dates allow the recipient to choose by a cut in time.
        assert result.chosen in (MARKOV, FACTORIZED)
        assert result.retained[:3] == (1, 1, 1)

    def test_hits_are_counted_by_hand(self):
        # Users 1 and 2 rated a, so that both are listed b, the most popular item after it.
        train = dated([1, 2, 3, 3, 3, 4, 4], list("aaabcab"), [1] * 7)
        cells = HeldOut(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 1.0]))
        table = TrainingTable.from_ratings(train)
        popularity = [Popularity().fit(table)]
        result = judge_next_items(train, cells, popularity, popularity, table, POPULAR, n=1)
        assert result.raw[POPULAR].hit_rate[:1] == (0.5,)
        assert result.raw[POPULAR].ndcg[:1] == (0.5,)


@pytest.fixture(scope="module")
def generated():
    return make_ratings(n_users=90, n_items=40, n_ratings=1_800, seed=3)


@pytest.fixture(scope="module")
def sparse(generated):
    return SparseRows(k=5, seed=1).anonymize(generated)


class TestEvaluate:
    def run(self, table, release, **options):
        quick = {"targets": 5, "with_membership": False, "split": 0.3}
        return evaluate(table, release, **quick | options)

    def test_the_document_states_the_cut_and_all_figures(self, generated, sparse):
        found = self.run(generated, sparse, split_by="time").to_dict()
        expected = split_by_time(generated, 0.3)
        assert (found["split_by"], found["split"]) == ("time", 0.3)
        assert found["cut"] == str(np.datetime64(expected.cut, "D"))
        assert found["left_out"]["unknown_cells"] == expected.left_out
        assert found["test_cells"] == expected.split.test.users.size
        result = found["next_items"]
        assert result["cells"] == expected.next_cells.users.size
        assert result["without_days"] == [RECENT, MARKOV, FACTORIZED]
        for name in result["without_days"]:
            assert result["recommenders"][name]["release"] is None
            assert result["recommenders"][name]["raw"]["ndcg@10"]["value"] >= 0
        chosen = result["recommenders"][result["chosen"]]["release"]["ndcg@10"]["value"]
        best = result["recommenders"][result["best_raw"]]["raw"]["ndcg@10"]["value"]
        assert result["retained"]["value"] == pytest.approx(chosen / best, abs=1e-12)
        for sides in result["recommenders"].values():
            for side in filter(None, sides.values()):
                for value, low, high, n in (tuple(of.values()) for of in side.values()):
                    assert 0 <= low <= value <= high <= 1
                    assert n == result["users"]

    def test_a_release_with_dates_gives_figures_of_the_order(self, generated):
        release = SparseRows(k=5, seed=1, dates="month").anonymize(generated)
        result = self.run(generated, release, split_by="time").to_dict()["next_items"]
        assert result["without_days"] == []
        for name in (RECENT, MARKOV, FACTORIZED, DECAYED):
            assert result["recommenders"][name]["release"]["ndcg@10"]["value"] >= 0

    def test_any_number_of_threads_gives_the_same(self, generated):
        found = split_by_time(generated, 0.3)
        train = found.split.train
        table = TrainingTable.from_ratings(train)
        fitted = [Popularity().fit(table)]

        def judged(threads):
            with threadpool_limits(threads):
                return judge_next_items(train, found.next_cells, fitted, fitted, table, DECAYED)

        assert plain(judged(1)) == plain(judged(4))

    def test_a_split_by_user_has_none(self, generated, sparse):
        found = self.run(generated, sparse).to_dict()
        assert (found["split_by"], found["cut"], found["next_items"]) == ("user", None, None)

    def test_likes_have_next_items_too(self, generated):
        likes = generated.as_likes()
        release = SparseRows(k=5, seed=1).anonymize(likes)
        found = self.run(likes, release, split_by="time").to_dict()
        expected = split_by_time(likes, 0.3).next_cells
        assert found["next_items"]["cells"] == expected.users.size

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"split_by": "item"}, "option.value"),
            ({"split_by": "time", "train": "a.csv", "test": "b.csv"}, "option.conflict"),
        ],
    )
    def test_what_does_not_fit_is_rejected(self, generated, sparse, options, code):
        source = None if "train" in options else generated
        split = None if "train" in options else 0.3
        with raises(code):
            evaluate(source, sparse, split=split, **options)

    def test_a_table_without_times_is_rejected(self, generated, sparse):
        untimed = generated.to_pandas().drop(columns="timestamp")
        with raises("time.missing"):
            self.run(untimed, sparse, split_by="time")
