import numpy as np
import pytest

from recveil.attacks import AttackTarget, Candidates
from recveil.datasets import make_ratings
from recveil.evaluation import (
    TrainingTable,
    UserRows,
    fit_all,
    gain_retained,
    serve,
    split_ratings,
)
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import RatingScale
from recveil.release.records import Records

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
    def test_there_is_a_gain_to_keep(self, served_raw):
        assert served_raw.of_chosen.rmse < served_raw.utilities["item mean + user bias"].rmse - 0.02
        assert gain_retained(served_raw, served_raw) == 1

    def test_raw_data_that_are_published_as_they_are_keep_it_exactly(self, split, served_raw):
        train = split.train
        order = np.random.default_rng(0).permutation(train.n_users)  # as a release has it
        rows = UserRows.from_ratings(train).take(order)
        records = Records(np.ones(order.size, np.int64), *rows)
        released = AttackTarget(
            Candidates.from_records([records], train.n_items, train.scale),
            *(rows.indptr, rows.indices, rows.values, np.argsort(order), 1, records.sizes),
        )
        table = TrainingTable.from_released(released, train.scale)
        served = served_by(table, split)
        assert served.chosen == served_raw.chosen
        assert repr(served.utilities) == repr(served_raw.utilities)  # nan equals nan in it
        assert gain_retained(served_raw, served) == 1

    @pytest.mark.parametrize("seed", range(3))
    def test_random_labels_fall_to_the_item_mean_or_worse(self, split, served_raw, seed):
        rows = UserRows.from_ratings(split.train)
        noise = np.random.default_rng(seed).integers(1, 6, rows.values.size).astype(float)
        sizes = np.ones(rows.n_users, np.int64)
        table = TrainingTable.from_rows(
            rows._replace(values=noise), sizes, split.train.n_items, stars
        )
        served = served_by(table, split)
        assert served.of_chosen.rmse >= served_raw.utilities["item mean + user bias"].rmse
        assert gain_retained(served_raw, served) <= 0

    def test_layouts_of_one_release_serve_alike(self, split):
        release = PredictiveAnonymizer(k=5, seed=1).anonymize(split.train)
        released = AttackTarget.from_release(release, split.train)
        by_group = TrainingTable.from_released(released, stars)
        groups = UserRows(released.indptr, released.indices, released.values)
        all_users = groups.take(np.repeat(np.arange(groups.n_users), released.candidates.sizes))
        by_user = TrainingTable.from_rows(
            all_users, np.ones(all_users.n_users, np.int64), split.train.n_items, stars
        )
        assert repr(served_by(by_user, split)) == repr(served_by(by_group, split))


class TestWhoMakesTheLists:
    def test_identical_rows_do_not_lead_a_recipient_astray(self, split):
        """In a release of few wide groups, the chosen recommenders are nearly the best of all.

        With labels held out of rows that are learnt from, what memorizes rows would be chosen.
        """
        for seed in range(3):
            release = PredictiveAnonymizer(k=25, seed=seed).anonymize(split.train)
            table = TrainingTable.from_released(
                AttackTarget.from_release(release, split.train), stars
            )
            served = served_by(table, split)
            assert served.of_chosen.rmse < served.utilities[served.best].rmse + 0.005
            assert served.of_ranker.ndcg > 0.9 * served.utilities[served.best_ranker].ndcg
