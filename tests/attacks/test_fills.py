from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import Adversary, AttackTarget, Candidates, draw_knowledge
from recveil.attacks.inference.fills import (
    MOST_CELLS,
    Cells,
    features_of,
    infer_fills,
    infer_fills_by_shadow,
    judge_fills,
    mark_real,
    measure_fills,
    too_large,
)
from recveil.attacks.reidentification.likelihood import LikelyRated
from recveil.datasets import make_ratings
from recveil.methods import KCoRater
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError


def release(ratings, **settings):
    return AttackTarget.from_release(KCoRater(k=5, seed=1, **settings).anonymize(ratings), ratings)


@pytest.fixture(scope="module")
def habits():
    """Users with habits: the pattern of fills by item means can be learned."""
    return make_ratings(n_users=200, n_items=60, n_ratings=3000, seed=3)


class TestPlanted:
    def test_nearly_all_fills_off_the_scale_are_detected(self, habits):
        table = release(habits, round_fills=False)
        result = measure_fills(habits, table, np.arange(200), known_share=0.1, seed=1)
        assert result.precision[0.5].low > 0.95
        assert result.reidentified.low > result.reidentified_by_items.high


class TestShadow:
    def test_item_means_are_detected_without_known_users(self, habits):
        table = release(habits)
        cells = Cells(table.candidates, habits.scale)
        likely = infer_fills_by_shadow(cells, KCoRater(k=5, seed=9), seed=3)
        no_user = np.empty(0, np.int64)
        result = judge_fills(habits, table, np.arange(200), cells, likely, no_user)
        assert result.users_known == result.known_share == 0
        assert result.precision[0.1].low > result.by_popularity[0.1].high
        assert result.reidentified.trials == 200

    def test_too_few_labels_are_refused_by_the_method(self, habits):
        few = Candidates.from_ratings(
            Ratings.from_columns([1, 2], ["a", "a"], [5, 1], scale=RatingScale(1, 5, 1))
        )
        with pytest.raises(RecveilError):
            infer_fills_by_shadow(Cells(few, RatingScale(1, 5, 1)), KCoRater(k=5, seed=1))


def test_real_labels_by_hand():
    stars = RatingScale(1, 5, 1)
    ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 2], scale=stars)
    table = AttackTarget.from_release(KCoRater(k=2, seed=1).anonymize(ratings), ratings)
    cells, marked = Cells(table.candidates, stars), mark_real(ratings, table)
    (fill,) = np.flatnonzero(~marked)  # item b, which the second user did not rate
    assert (cells.items[fill], cells.records[fill]) == (1, table.record_of[1])


def test_real_labels_as_one_by_one(habits):
    table = release(habits)
    marked = mark_real(habits, table)
    cells = Cells(table.candidates, habits.scale)
    one_user = {int(record): user for user, record in enumerate(table.record_of)}
    for place in range(0, marked.size, 97):
        own = habits.row(one_user[int(cells.records[place])])[0]
        assert marked[place] == (cells.items[place] in own)


def test_who_is_known_must_teach_something(habits):
    cells = Cells(Candidates.from_ratings(habits), habits.scale)
    everything = np.ones(habits.n_ratings, bool)
    with raises("table.too-few-users") as caught:
        infer_fills(cells, np.arange(3), everything)
    assert "3 known users" in str(caught.value)
    with raises("table.too-few-users") as caught:
        infer_fills(cells, np.zeros(4, np.int64), ~everything)
    assert "1 known users" in str(caught.value)


def test_without_the_private_folder_nothing_is_measured(habits):
    no_user = replace(release(habits), record_of=np.full(200, -1))
    with raises("argument.value"):
        measure_fills(habits, no_user, np.arange(200))


def test_too_large_tables_are_refused(habits, monkeypatch):
    assert MOST_CELLS >= 1 << 24  # MovieLens 1M fits
    monkeypatch.setattr("recveil.attacks.inference.fills.MOST_CELLS", 100)
    table = release(habits)
    assert too_large(table.candidates)
    with raises("table.too-large"):
        measure_fills(habits, table, np.arange(200))


def test_features_by_hand(habits):
    cells = Cells(Candidates.from_ratings(habits), habits.scale)
    features = features_of(cells)
    assert np.isfinite(features).all()
    by_hand = (
        cells.values
        - np.array(
            [cells.values[cells.items == item].mean() for item in range(cells.candidates.n_items)]
        )[cells.items]
    )
    assert np.allclose(features[:, 2], by_hand, atol=1e-5)


class TestLikelyRated:
    def test_as_plain_loops(self, habits):
        candidates = Candidates.from_ratings(habits)
        likely = np.random.default_rng(0).random(habits.n_ratings)
        known = draw_knowledge(habits, Adversary(known=4, rating_error=None), np.arange(200))
        found = LikelyRated(likely).attack(candidates, known, np.arange(200))
        of_cell = dict(
            zip(
                zip(Cells(candidates, habits.scale).items, candidates.records, strict=True),
                likely,
                strict=True,
            )
        )
        total = np.bincount(candidates.records, likely)
        for target in range(0, known.targets.size, 23):
            named = known.items[known.indptr[target] : known.indptr[target + 1]]
            scores = [
                sum(np.log(of_cell.get((item, record), 0) + 1e-3) for item in named)
                - len(named) * np.log(max(total[record], 1))
                for record in range(200)
            ]
            assert found.best[target] == int(np.argmax(scores))

    @given(st.integers(2, 6), st.integers(0, 1000))
    @settings(max_examples=20, deadline=None)
    def test_on_equal_rows_all_users_tie(self, n_people, seed):
        """One group of all users: the pick is blind."""
        stars = RatingScale(1, 5, 1)
        users, items = np.repeat(np.arange(n_people), 3), np.tile(np.arange(3), n_people)
        ratings = Ratings.from_columns(users, items, np.tile([5, 1, 3], n_people), scale=stars)
        known = draw_knowledge(ratings, Adversary(known=2), np.arange(n_people), seed)
        likely = np.tile(np.random.default_rng(seed).random(3)[:, None], n_people).ravel()
        found = LikelyRated(likely).attack(
            Candidates.from_ratings(ratings), known, np.arange(n_people)
        )
        assert np.allclose(found.chance, 1 / n_people)

    def test_one_probability_a_label(self, habits):
        candidates = Candidates.from_ratings(habits)
        known = draw_knowledge(habits, Adversary(known=4), np.arange(3))
        with raises("argument.shape"):
            LikelyRated(np.ones(3)).attack(candidates, known, np.arange(200))
