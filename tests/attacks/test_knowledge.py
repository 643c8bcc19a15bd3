"""Knowledge: within the errors where it is right, beyond them where it is wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from error_assertions import raises
from recveil.attacks import (
    Adversary,
    Candidates,
    Scoreboard,
    ScoreboardRH,
    choose_targets,
    draw_knowledge,
)
from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=400, n_items=60, n_ratings=8_000, seed=1)


def truth_of(ratings, knowledge):
    """The true rating and day of each known entry; nan where the target did not rate the item."""
    known = knowledge.indptr[1] if knowledge.targets.size else 0
    values, days = np.full((2, knowledge.items.size), np.nan)
    dense = ratings.csr.toarray()
    dense_days = np.zeros_like(dense)
    dense_days[ratings.user_positions(), ratings.indices] = ratings.days
    users = np.repeat(knowledge.targets, known)
    rated = dense[users, knowledge.items] != 0
    values[rated] = dense[users, knowledge.items][rated]
    days[rated] = dense_days[users, knowledge.items][rated]
    return values.reshape(-1, known), days.reshape(-1, known)


def everyone(ratings, adversary, repeats=1, seed=0):
    """Draw knowledge about all; entries one row a target."""
    targets = np.repeat(np.arange(ratings.n_users), repeats)
    knowledge = draw_knowledge(ratings, adversary, targets, seed)
    shape = (knowledge.targets.size, adversary.known)
    values = None if knowledge.values is None else knowledge.values.reshape(shape)
    days = None if knowledge.days is None else knowledge.days.reshape(shape)
    return knowledge, values, days


def test_exact_knowledge_is_the_truth(ratings):
    knowledge, values, days = everyone(ratings, Adversary(known=5, rating_error=0, date_error=0))
    true_values, true_days = truth_of(ratings, knowledge)
    assert (values == true_values).all()
    assert (days == true_days).all()
    assert knowledge.targets.tolist() == np.flatnonzero(ratings.activity >= 5).tolist()


def test_known_items_are_distinct_and_drawn_evenly(ratings):
    user = int(np.argmax(ratings.activity))
    knowledge = draw_knowledge(ratings, Adversary(known=4), np.full(5_000, user), seed=2)
    items = knowledge.items.reshape(-1, 4)
    assert all(np.unique(row).size == 4 for row in items)
    for column in items.T:  # each place alike
        counts = np.bincount(column, minlength=ratings.n_items)[ratings.row(user)[0]]
        assert stats.chisquare(counts).pvalue > 1e-4


def test_ratings_are_uniform_over_the_values_of_the_scale_within_the_error(ratings):
    knowledge, values, _ = everyone(ratings, Adversary(known=5, rating_error=1), repeats=20)
    truth, _ = truth_of(ratings, knowledge)
    for level in (1, 2, 3, 4, 5):  # at its ends the scale has two such values, not three
        possible = [v for v in (level - 1, level, level + 1) if 1 <= v <= 5]
        drawn = values[truth == level]
        assert set(drawn) == set(possible)
        counts = [(drawn == value).sum() for value in possible]
        assert stats.chisquare(counts).pvalue > 1e-4


def test_days_are_uniform_within_the_error(ratings):
    knowledge, _, days = everyone(ratings, Adversary(known=5, date_error=3), repeats=20)
    off = days - truth_of(ratings, knowledge)[1]
    assert stats.chisquare(np.bincount((off + 3).astype(int).ravel(), minlength=7)).pvalue > 1e-4
    assert abs(off).max() == 3


def test_wrong_values_are_beyond_the_errors(ratings):
    adversary = Adversary(known=6, right=4, rating_error=1, date_error=14)
    knowledge, values, days = everyone(ratings, adversary, repeats=20)
    truth, true_days = truth_of(ratings, knowledge)
    assert (abs(values - truth)[:, :4] <= 1).all()
    assert (abs(values - truth)[:, 4:] > 1).all()
    assert (abs(days - true_days)[:, :4] <= 14).all()
    assert (abs(days - true_days)[:, 4:] > 14).all()
    drawn = values[:, 4:][truth[:, 4:] == 2]  # 4 or 5
    assert stats.chisquare([(drawn == 4).sum(), (drawn == 5).sum()]).pvalue > 1e-4


def test_wrong_dates_where_no_ratings_are_known(ratings):
    adversary = Adversary(known=4, right=1, rating_error=None, date_error=7)
    knowledge, values, days = everyone(ratings, adversary)
    assert values is None
    off = abs(days - truth_of(ratings, knowledge)[1])
    assert (off[:, :1] <= 7).all()
    assert (off[:, 1:] > 7).all()


@pytest.mark.parametrize("right", [0, 2])
def test_wrong_items_are_such_as_the_target_did_not_rate(ratings, right):
    adversary = Adversary(known=5, right=right, wrong_kind="item", date_error=0)
    knowledge, values, days = everyone(ratings, adversary)
    truth, _ = truth_of(ratings, knowledge)
    assert np.isfinite(truth[:, :right]).all()
    assert np.isnan(truth[:, right:]).all()
    assert np.isin(values, ratings.scale.levels).all()
    assert np.isin(days, ratings.days).all()
    assert all(np.unique(row).size == 5 for row in knowledge.items.reshape(-1, 5))


def test_wrong_items_end_where_the_pool_is_nearly_exhausted():
    # Two users, eight items: the first rated all but two.
    ratings = Ratings.from_columns([1] * 6 + [2] * 2, [*range(6), 6, 7], [3] * 8)
    adversary = Adversary(known=3, right=1, wrong_kind="item")
    knowledge = draw_knowledge(ratings, adversary, np.array([0]))
    assert set(knowledge.items[1:]) == {6, 7}
    too_many = Adversary(known=4, right=1, wrong_kind="item")
    assert draw_knowledge(ratings, too_many, np.array([0])).skipped == 1


@pytest.mark.parametrize("wrong_kind", ["value", "item"])
def test_only_items_outside_the_top(ratings, wrong_kind):
    adversary = Adversary(known=4, right=2, wrong_kind=wrong_kind, outside_top=20)
    knowledge, _, _ = everyone(ratings, adversary)
    top = np.argsort(-ratings.support, kind="stable")[:20]
    assert not np.isin(knowledge.items, top).any()
    in_pool = ~np.isin(ratings.indices, top)
    n_rated = np.bincount(ratings.user_positions()[in_pool], minlength=ratings.n_users)
    n_true = 4 if wrong_kind == "value" else 2
    assert knowledge.skipped == (n_rated < n_true).sum()
    assert knowledge.requested == ratings.n_users


def test_a_pool_without_items_skips_everyone(ratings):
    knowledge, _, _ = everyone(ratings, Adversary(known=1, outside_top=60))
    assert (knowledge.skipped, knowledge.targets.size, knowledge.items.size) == (400, 0, 0)


def test_users_without_ratings_are_skipped_wherever_they_stand():
    indptr = [0, 0, 3, 3, 3, 5, 5]
    ratings = Ratings(
        *(range(6), range(3), indptr, [0, 1, 2, 0, 2], [1, 2, 3, 4, 5], None),
        RatingScale(1, 5, 1),
    )
    knowledge = draw_knowledge(ratings, Adversary(known=2), np.arange(6))
    assert knowledge.targets.tolist() == [1, 4]
    nothing_right = Adversary(known=1, right=0, wrong_kind="item")
    assert draw_knowledge(ratings, nothing_right, np.arange(6)).targets.tolist() == [0, 2, 3, 4, 5]


def test_a_table_without_ratings_skips_everyone():
    empty = Ratings([1, 2], [1, 2], [0, 0, 0], [], [], None, RatingScale(1, 5, 1))
    nothing_right = Adversary(known=1, right=0, wrong_kind="item")
    assert draw_knowledge(empty, nothing_right, np.arange(2)).skipped == 2


@given(
    error=st.floats(0, 30),
    right=st.integers(0, 3),
    scale=st.sampled_from([(-10, 10), (0, 1), (1, 5)]),
)
@settings(deadline=None)
def test_continuous_scales(error, right, scale):
    low, high = scale
    rng = np.random.default_rng(1)
    truth = rng.uniform(low, high, (20, 3)).astype(np.float32)
    truth[0] = low, high, (low + high) / 2
    users, items = np.indices(truth.shape)
    ratings = Ratings.from_columns(
        users.ravel(), items.ravel(), truth.ravel(), scale=RatingScale(low, high)
    )
    adversary = Adversary(known=3, right=right, rating_error=error)
    if right < 3 and error >= (high - low) / 2:
        with raises("option.conflict"):
            draw_knowledge(ratings, adversary, np.arange(20))
        return
    knowledge = draw_knowledge(ratings, adversary, np.arange(20))
    values = knowledge.values.reshape(20, 3)
    true = truth[np.arange(20)[:, None], knowledge.items.reshape(20, 3)]
    slack = 2e-6 * (high - low)  # a thousandth of the step, which is a thousandth of the range
    assert (abs(values - true)[:, :right] <= error + slack).all()
    assert (abs(values - true)[:, right:] > error - slack).all()
    assert ((low <= values) & (values <= high)).all()
    if error == 0:
        assert (values == true)[:, :right].all()


def test_a_scale_with_one_level_cannot_be_wrong():
    ratings = Ratings.from_columns([1, 1, 2], [1, 2, 1], [1, 1, 1], [5, 6, 900])
    assert draw_knowledge(ratings, Adversary(known=2), np.array([0])).values.tolist() == [1, 1]
    with raises("option.conflict"):
        draw_knowledge(ratings, Adversary(known=2, right=1), np.array([0]))
    dated = Adversary(known=2, right=1, date_error=3)  # here the date can
    knowledge = draw_knowledge(ratings, dated, np.array([0]))
    assert knowledge.values.tolist() == [1, 1]
    assert abs(knowledge.days - (5 + knowledge.items))[1] > 3


def test_half_stars():
    ratings = make_ratings(200, 50, 3_000, seed=3, scale=RatingScale(0.5, 5, 0.5))
    knowledge, values, _ = everyone(ratings, Adversary(known=4, right=3, rating_error=1))
    off = abs(values - truth_of(ratings, knowledge)[0])
    assert set(off[:, :3].ravel()) == {0, 0.5, 1}
    assert (off[:, 3] >= 1.5).all()
    assert np.isin(values, ratings.scale.levels).all()


@pytest.mark.parametrize("error", [0.0, 0.2, 0.5, 0.99, 1.0, 3.0])
def test_the_activity_interval_contains_the_truth(ratings, error):
    adversary = Adversary(known=1, activity_error=error)
    knowledge, _, _ = everyone(ratings, adversary, repeats=10)
    low, high = knowledge.activity.T
    true = ratings.activity[knowledge.targets]
    assert ((low <= true) & (true <= high)).all()
    if error == 0:
        assert high == pytest.approx(true)


def test_the_activity_of_a_target_without_ratings():
    ratings = Ratings([1, 2], [1, 2], [0, 0, 1], [0], [3], None, RatingScale(1, 5, 1))
    adversary = Adversary(known=1, right=0, wrong_kind="item", activity_error=2.0)
    knowledge = draw_knowledge(ratings, adversary, np.array([0]))
    assert knowledge.activity.tolist() == [[0, np.inf]]


def test_the_seed_fixes_all_draws(ratings):
    adversary = Adversary(known=5, right=3, rating_error=1, date_error=14, activity_error=0.5)
    targets = np.arange(400)
    first, again = (draw_knowledge(ratings, adversary, targets, seed=7) for _ in range(2))
    other = draw_knowledge(ratings, adversary, targets, seed=8)
    for name in ("items", "values", "days", "activity"):
        assert getattr(first, name).tobytes() == getattr(again, name).tobytes()
        assert getattr(first, name).tobytes() != getattr(other, name).tobytes()


def test_dates_need_times():
    undated = Ratings.from_columns([1], [1], [3])
    with raises("time.missing"):
        draw_knowledge(undated, Adversary(known=1, date_error=14), np.array([0]))


def test_knowledge_of_items_only_cannot_be_wrong_about_values(ratings):
    bystander = Adversary(known=2, right=1, rating_error=None)
    with raises("option.conflict"):
        draw_knowledge(ratings, bystander, np.arange(400))


def test_choose_targets():
    assert choose_targets(4, None, 0).tolist() == choose_targets(4, 9, 0).tolist() == [0, 1, 2, 3]
    chosen = choose_targets(100, 20, 5)
    assert np.unique(chosen).size == 20
    assert chosen.tolist() == choose_targets(100, 20, 5).tolist()
    assert chosen.tolist() != choose_targets(100, 20, 6).tolist()
    assert choose_targets(4, 0, 0).size == 0
    with raises("option.value") as caught:
        choose_targets(4, -1, 0)
    assert "n_targets" in str(caught.value)


@pytest.mark.parametrize("error", [0, 30])
def test_the_first_date_interval_contains_the_truth(error):
    dated = make_ratings(n_users=40, n_items=30, n_ratings=500, seed=1)
    knowledge = draw_knowledge(dated, Adversary(known=2, first_date_error=error), np.arange(40))
    earliest, latest = knowledge.first_days.T
    first = [dated.days[slice(*dated.indptr[user : user + 2])].min() for user in knowledge.targets]
    assert (latest - earliest == 2 * error).all()
    assert ((earliest <= first) & (first <= latest)).all()


def test_the_first_date_leaves_only_records_that_began_then():
    dated = make_ratings(n_users=40, n_items=30, n_ratings=500, seed=1)
    found, everyone = Candidates.from_ratings(dated), np.arange(40)
    known = draw_knowledge(dated, Adversary(known=2, first_date_error=200), everyone)
    values = np.full((40, 30), np.nan)
    values[np.repeat(everyone, np.diff(dated.indptr)), dated.indices] = dated.values
    first = np.minimum.reduceat(dated.days, dated.indptr[:-1])
    guesses = ScoreboardRH().attack(found, known, everyone)
    sets = Scoreboard().attack(found, known, everyone)
    weights = 1 / np.log(np.maximum(dated.support, 2))
    for at, (earliest, latest) in enumerate(known.first_days):
        items, ratings = known.items[2 * at : 2 * at + 2], known.values[2 * at : 2 * at + 2]
        fits = (earliest <= first) & (first <= latest)
        scores = np.nansum(np.exp(-abs(values[:, items] - ratings) / 1.5) * weights[items], axis=1)
        scores[~fits] = 0
        assert guesses.score[at] == pytest.approx(scores.max(), rel=1e-5)
        assert guesses.tied_users[at] == np.isclose(scores, scores.max()).sum()
        assert sets.records[at] == ((values[:, items] == ratings).all(axis=1) & fits).sum()
    unbounded = ScoreboardRH().attack(found, replace(known, first_days=None), everyone)
    assert guesses.chance.sum() > unbounded.chance.sum()


def test_noise_of_the_publisher_and_of_the_adversary_acts_as_one_noise():
    """Section 3: publishing with noise Z_S against knowledge with noise Z_A is as Z_S + Z_A.

    Of dates it holds within the interval. The publisher's noise of ratings protects slightly more:
    it is drawn for each record anew, while an error of the adversary is the same for all of them.
    """
    exact = make_ratings(n_users=400, n_items=40, n_ratings=6_000, seed=1)
    rng, everyone = np.random.default_rng(5), np.arange(400)
    low, high = np.maximum(exact.values - 1, 1), np.minimum(exact.values + 1, 5)
    noisy = rng.integers(low.astype(int), high.astype(int) + 1).astype(np.float32)
    shifted = exact.days + rng.integers(-14, 15, exact.n_ratings, dtype=np.int32)

    def rate(rating_error, date_error, values=exact.values, days=exact.days):
        published = Ratings(
            *(exact.users, exact.items, exact.indptr, exact.indices, values, days, exact.scale)
        )
        adversary = Adversary(known=2, rating_error=rating_error, date_error=date_error)
        known = draw_knowledge(exact, adversary, np.tile(everyone, 4), seed=7)
        guesses = ScoreboardRH().attack(Candidates.from_ratings(published), known, everyone)
        return known.rate(guesses.chance.sum())

    by_adversary, without = rate(1, 14), rate(0, 0)
    by_both, by_publisher = rate(1, 0, days=shifted), rate(0, 0, noisy, shifted)
    assert without.low > 0.9
    assert by_adversary.low <= by_both.rate <= by_adversary.high < 0.7
    assert by_adversary.rate - 0.06 < by_publisher.rate < by_adversary.high
