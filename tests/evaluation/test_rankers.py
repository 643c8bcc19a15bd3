import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.attacks import AttackTarget, Candidates, find_residuals
from recveil.datasets import make_ratings
from recveil.evaluation import (
    Ease,
    EaseOnLikely,
    Popularity,
    TrainingTable,
    UserRows,
    fit_all,
    serve,
    split_ratings,
)
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import RatingScale
from recveil.release.records import Records


def padded(ratings, k) -> TrainingTable:
    """What a recipient sees of a padded release."""
    release = PredictiveAnonymizer(k=k, seed=0).anonymize(ratings)
    released = AttackTarget.from_release(release, ratings)
    return TrainingTable.from_released(released, ratings.scale)


def null_table(ratings, n_rows, rng) -> TrainingTable:
    """Full rows without a trace of who rated what: the items' means, and noise."""
    table = TrainingTable.from_ratings(ratings)
    rated = np.flatnonzero(table.support).astype(np.int32)
    labels = table.item_means(5.0)[rated] + rng.normal(scale=0.05, size=(n_rows, rated.size))
    indptr = np.arange(n_rows + 1) * rated.size
    rows = UserRows(indptr, np.tile(rated, n_rows), np.clip(labels, 1, 5).round(2).ravel())
    return TrainingTable.from_rows(rows, np.full(n_rows, 5), ratings.n_items, ratings.scale)


@pytest.fixture(scope="module")
def planted():
    """Users of strong embeddings, who rate what they like: groups of five reveal their members."""
    rng = np.random.default_rng(4)
    ratings = make_ratings(
        n_users=400, n_items=120, n_ratings=9000, seed=4, preference=1.2, noise=0.3
    )
    split = split_ratings(ratings, 0.2, seed=int(rng.integers(9)))
    return split, padded(split.train, 5)


def test_it_is_ease_by_a_plain_inverse(invented):
    table = padded(invented, 5)
    model = EaseOnLikely().fit(table)
    users = UserRows.from_ratings(invented)
    rows = table.rows
    listed = Records(table.sizes, rows.indptr, rows.indices, rows.values)
    candidates = Candidates.from_records([listed], table.n_items, table.scale)
    found = find_residuals(candidates, table.scale)
    labels = rows.matrix(table.n_items).toarray()
    squares = np.where(labels > 0, (labels - 1) / 4, 0) ** 2
    likely = squares.copy()
    likely[:, found.items] *= np.sqrt(1 - found.found.unrated)
    sizes = table.sizes[:, None]
    products = (likely * sizes).T @ likely + (squares * sizes).T @ squares / 4
    (strength,) = model.setting_
    assert strength == pytest.approx(5000 / table.sizes.mean() ** 2)
    inverse = np.linalg.inv(products + strength * np.eye(table.n_items))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0)
    own = users.matrix(table.n_items).toarray() / 5
    assert np.allclose(model.predict(users), own @ weights, rtol=0, atol=1e-7)


def test_planted_ratings_make_better_lists_than_labels_alone(planted):
    split, table = planted
    makers = [Popularity(), Ease("values"), EaseOnLikely()]
    served = serve(fit_all(table, makers), UserRows.from_ratings(split.train), split.test)
    gained = {name: utility.ndcg for name, utility in served.utilities.items()}
    assert gained["EASE on likely ratings"] > 1.1 * gained["EASE on values"]
    assert served.ranker == "EASE on likely ratings"


def test_nothing_comes_of_rows_that_hold_no_ratings(invented):
    """Lists from noise are no better than popular items, however sure the fit is of itself."""
    split = split_ratings(invented, 0.2, seed=1)
    users = UserRows.from_ratings(split.train)
    raw = serve(fit_all(TrainingTable.from_ratings(split.train), [Popularity()]), users, split.test)
    table = null_table(split.train, 40, np.random.default_rng(1))
    served = serve(fit_all(table, [EaseOnLikely()]), users, split.test)
    assert served.per_user is not None
    apart = served.per_user.ndcg["EASE on likely ratings"] - raw.per_user.ndcg["popularity"]
    apart = apart[~np.isnan(apart)]
    assert apart.mean() < 2 * apart.std(ddof=1) / np.sqrt(apart.size)


class TestWhereItMakesNoLists:
    def test_all_users_in_one_row(self, invented):
        self.check(padded(invented, invented.n_users), invented, "EASE on values")

    def test_raw_ratings(self, invented):
        self.check(TrainingTable.from_ratings(invented), invented)

    def test_full_rows_of_one_user_each(self, invented):
        table = null_table(invented, 30, np.random.default_rng(0))
        alone = TrainingTable.from_rows(
            table.rows, np.ones(30, np.int64), table.n_items, table.scale
        )
        self.check(alone, invented, "EASE on values")

    def test_likes_alone(self):
        items = np.tile(np.arange(4, dtype=np.int32), 5)
        rows = UserRows(np.arange(6) * 4, items, np.ones(20))
        table = TrainingTable.from_rows(rows, np.full(5, 2), 4, RatingScale(1, 1, 1))
        assert not EaseOnLikely().fit(table).ranks

    def check(self, table, ratings, expected=None):
        split = split_ratings(ratings, 0.2, seed=1)
        users = UserRows.from_ratings(split.train)
        served = serve(fit_all(table, [Ease("values"), EaseOnLikely()]), users, split.test)
        result = served.utilities["EASE on likely ratings"]
        assert np.isnan([result.ndcg, result.recall, result.coverage, result.inner_ndcg]).all()
        assert (served.ranker, served.best_ranker) == ("EASE on values",) * 2
        assert result.setting == ()
        assert expected in (None, served.ranker)


@settings(deadline=None, max_examples=5)
@given(seed=st.integers(0, 1000))
def test_the_order_of_the_rows_changes_nothing(seed):
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=700, seed=seed)
    table = padded(ratings, 4)
    order = np.random.default_rng(seed).permutation(table.rows.n_users)
    other = TrainingTable.from_rows(
        table.rows.take(order), table.sizes[order], table.n_items, table.scale
    )
    users = UserRows.from_ratings(ratings)
    scores = [EaseOnLikely().fit(one).predict(users) for one in (table, other)]
    assert np.array_equal(*scores)
