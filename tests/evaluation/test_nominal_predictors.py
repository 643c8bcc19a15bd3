"""Predictors of nominal labels, and what a table keeps of them."""

import numpy as np
import pytest

from recveil.evaluation.nominal import (
    MOST_FREQUENT,
    AgreementWeighted,
    MostFrequentValue,
    NaiveBayes,
    choose_predictor,
    nominal_gain,
    nominal_gain_retained,
    nominal_predictors,
    serve_nominal,
)
from recveil.evaluation.split import TrainingTable, UserRows, split_ratings
from recveil.ratings import Ratings, RatingScale

SCALE = RatingScale.of_labels("up,down", ordered=False)


@pytest.fixture
def three():
    """Ann says up to a and b, Ben down to a, Cy down to a and up to b."""
    return Ratings.from_columns(
        ["ann", "ann", "ben", "cy", "cy"],
        ["a", "b", "a", "a", "b"],
        ["up", "up", "down", "down", "up"],
        scale=SCALE,
    )


def describe(predictor, ratings, user, item):
    all_users = UserRows.from_ratings(ratings)
    table = TrainingTable.from_ratings(ratings)
    return int(predictor.fit(table).predict(all_users, np.array([user]), np.array([item]))[0])


def test_the_commonest_word_by_hand(three):
    assert [describe(MostFrequentValue(), three, 0, item) for item in (0, 1)] == [2, 1]


def test_words_of_item_and_user_by_hand(three):
    """Of all five words three are up: (3 + 1) / (5 + 2) = 4/7. To b up was said twice: 3/4.

    Ben said down once: 1/3 for up. So up counts 3/4 · 1/3 / (4/7) = 0.4375 for Ben, and down
    1/4 · 2/3 / (3/7) = 0.3889.
    """
    all_users = UserRows.from_ratings(three)
    predictor = NaiveBayes().fit(TrainingTable.from_ratings(three))
    likely = predictor._likely(all_users, np.array([1]), np.array([1]))
    assert likely[0] == pytest.approx([0.4375, 0.38889], abs=1e-4)


def test_an_item_that_no_row_holds_has_the_commonest_word_of_all(three):
    wider = Ratings(
        *(three.users, np.array(["a", "b", "c"], object), three.indptr, three.indices),
        *(three.values, None, SCALE),
    )
    for predictor in nominal_predictors():
        assert describe(predictor, wider, 0, 2) == 1


def kinds(n_kinds=2, n_people=30, n_items=60):
    """Users of two kinds: what the ones say up to, the others say down to."""
    kind = np.repeat(np.arange(n_kinds), n_people)
    users, items = np.divmod(np.arange(kind.size * n_items), n_items)
    said = np.array(SCALE.labels, object)[(kind[users] + items) % 2]
    return Ratings.from_columns(users, items, said, scale=SCALE)


@pytest.fixture(scope="module")
def served():
    train, test = split_ratings(kinds(), 0.25, seed=1)
    return serve_nominal(TrainingTable.from_ratings(train), UserRows.from_ratings(train), test)


class TestPlantedKinds:
    def test_similar_rows_predict_them_and_item_and_user_do_not(self, served):
        assert served.chosen == served.best == AgreementWeighted.name
        assert served.mean(AgreementWeighted.name).mean == 1.0
        assert served.mean(NaiveBayes.name).mean < 0.7

    def test_all_is_kept_of_oneself_and_nothing_of_commonest_words(self, served):
        assert nominal_gain_retained(served, served).value == 1.0
        nothing = served._replace(chosen=MOST_FREQUENT)
        assert nominal_gain_retained(served, nothing).value == 0.0
        assert nominal_gain(served, nothing).value == 0.0
        assert nominal_gain(served, served).low > 0.2

    def test_without_a_gain_there_is_no_share(self, served):
        nothing = served._replace(chosen=MOST_FREQUENT)
        assert np.isnan(nominal_gain_retained(nothing, served).value)


def test_a_table_of_one_row_lets_no_user_choose(three):
    rows = UserRows.from_ratings(three).take(np.array([0]))
    table = TrainingTable.from_rows(rows, np.array([3]), three.n_items, SCALE)
    assert choose_predictor(table, nominal_predictors()) == MOST_FREQUENT
