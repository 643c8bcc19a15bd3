"""The residuals of a smooth fit of full rows reveal cells, users and members."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.attacks import (
    Adversary,
    AttackTarget,
    Knowledge,
    attack_release,
    draw_knowledge,
    find_residuals,
    hold_out,
    infer_attributes,
    infer_cells,
    infer_memberships,
)
from recveil.attacks.candidates import Candidates
from recveil.attacks.inference.rated_cells import _area, _mark, _share
from recveil.attacks.knowledge import know_everything
from recveil.attacks.membership.inference import SCORERS
from recveil.attacks.reidentification import residuals
from recveil.attacks.reidentification.residuals import (
    MOST_CELLS,
    FullCells,
    RaterModel,
    ResidualAttack,
    explain,
    fit_robustly,
    levels_of,
    score_by_residuals,
    weigh_ratings,
)
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, SparseRows
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records
from recveil.report.audit.disclosure import of_fit

SCALE = RatingScale(1, 5, 1)
STARS = np.arange(1.0, 6.0)


def listed(rows, sizes):
    """List full rows as a release."""
    n_rows, n_items = rows.shape
    return Candidates.from_records(
        [
            Records(
                np.asarray(sizes),
                np.arange(n_rows + 1) * n_items,
                np.tile(np.arange(n_items, dtype=np.int32), n_rows),
                rows.ravel(),
            )
        ],
        n_items,
        SCALE,
    )


@pytest.fixture(scope="module")
def planted():
    """Smooth rows of five users each, in which one rating each in a tenth of the cells stands."""
    rng = np.random.default_rng(5)
    smooth = 3 + rng.normal(size=(80, 2)) @ rng.normal(size=(2, 120)) * 0.4
    smooth = np.clip(smooth, 1.4, 4.6)
    rated = rng.random(smooth.shape) < 0.1
    given_ = np.clip(np.rint(smooth + rng.normal(size=smooth.shape)), 1, 5)
    rows = np.round(np.where(rated, smooth + (given_ - smooth) / 5, smooth), 1)
    return rows, rated, given_


def test_planted_ratings_are_found(planted):
    rows, rated, given_ = planted
    found = find_residuals(listed(rows, np.full(80, 5)), SCALE)
    score, alone = found.reported_with(rated.mean(axis=0) / 5)
    marked = _mark(score, rated)
    assert marked[rated].mean() > 0.4
    far = rated & (np.abs(given_ - found.cells.fitted) > 1)
    assert (alone == given_)[far].mean() > 0.9
    assert _area(score, rated).low > 0.8


def test_residuals_reveal_more_than_popularity_and_noise_reveals_nothing_more(planted):
    """The same rows with ratings of popular items, and with none in them: a null release."""
    rows, _, given_ = planted
    rng = np.random.default_rng(6)
    popularity = rng.beta(0.5, 3, 120) / 5
    raters = rng.random((80, 120)) < 5 * popularity
    shares = np.tile(popularity, (80, 1))
    smooth = find_residuals(listed(rows, np.full(80, 5)), SCALE).cells.fitted
    areas = []
    for result in (smooth + raters * (given_ - smooth) / 5, smooth):
        labels = np.round(result + rng.normal(scale=0.02, size=result.shape), 1)
        score, _ = find_residuals(listed(labels, np.full(80, 5)), SCALE).reported_with(popularity)
        areas.append(_area(score, raters))
    by_popularity = _area(shares, raters)
    assert areas[0].low > by_popularity.high
    assert by_popularity.low < areas[1].rate < by_popularity.high
    assert areas[1].rate > by_popularity.rate - 0.02


def test_large_groups_are_marked_as_well_as_by_popularity():
    """Behind sixty users no residual stands out; the popularity of the item still does."""
    ratings = make_ratings(n_users=900, n_items=200, n_ratings=6_000, seed=4)
    release = PredictiveAnonymizer(60, seed=1).anonymize(ratings)
    result = infer_cells(ratings, AttackTarget.from_release(release, ratings))
    assert result.auc.rate > result.popularity_auc - 0.02
    assert result.recall_at_95.high >= result.popularity_recall_at_95 > 0.1


def test_planted_users_are_found_and_outsiders_not(planted):
    rows, rated, given_ = planted
    release = listed(rows, np.full(80, 5))
    items = [np.flatnonzero(own)[:8] for own in rated]
    values = [row[own] for row, own in zip(given_, items, strict=True)]
    indptr = np.concatenate([[0], np.cumsum([own.size for own in items])])
    known = Knowledge(
        np.arange(80),
        indptr,
        np.concatenate(items).astype(np.int32),
        np.concatenate(values).astype(np.float32),
        *(None, None, 0),
    )
    guesses = ResidualAttack(SCALE).attack(release, known, np.arange(80))
    assert guesses.target_is_top.mean() > 0.8
    by_items = ResidualAttack(SCALE, rating_error=None).attack(release, known, np.arange(80))
    assert 0.2 < by_items.target_is_top.mean() < guesses.target_is_top.mean()
    # No user's record: they cannot be found, and their scores stay the same.
    no_user = ResidualAttack(SCALE).attack(release, known, np.full(80, -1))
    assert not no_user.target_is_top.any()
    assert np.array_equal(no_user.best, guesses.best)


def normal(off, sd):
    return math.exp(-0.5 * (off / sd) ** 2) / (sd * math.sqrt(2 * math.pi))


def test_the_model_of_one_cell_by_hand():
    """Five users, fitted 3.0, label 3.4: a lone five moves it by (5 - 3) / 5."""
    one = np.ones(1)
    cells = FullCells(
        *(np.array([[3.4]]), np.array([[3.0]]), 5 * one, one, 0.02**2 * one, one, 0.2 * one)
    )
    model = RaterModel(shrink=0.0, member_spread=0.1, lean=0.0, spread=1.0, half=0.05)
    found = explain(cells, model, STARS)
    # The same without rounding, which blurs a little: three raters and more are left out.
    shares = np.array([normal(star - 3.0, 1.0) for star in STARS])
    shares /= shares.sum()
    none, one_, two = (math.exp(-0.2) * 0.2**n / math.factorial(n) for n in range(3))
    blur = math.hypot(0.02, 0.05 / math.sqrt(3))
    by_one = [
        one_ * share * normal(0.4 - (star - 3) / 5, math.hypot(blur, 0.02))
        for star, share in zip(STARS, shares, strict=True)
    ]
    by_two = sum(
        two * p * q * normal(0.4 - (a + b - 6) / 5, math.hypot(blur, 0.02 * math.sqrt(2)))
        for a, p in zip(STARS, shares, strict=True)
        for b, q in zip(STARS, shares, strict=True)
    )
    total = none * normal(0.4, blur) + sum(by_one) + by_two
    assert found.level[0, 0] == 4
    assert found.unrated[0, 0] < 1e-4
    expected = (sum(by_one) + 2 * by_two) / total
    assert found.raters[0, 0] == pytest.approx(expected, abs=0.1)
    by_fit, by_value = weigh_ratings(cells, model, STARS)
    assert by_fit[0, 0] == pytest.approx(shares, abs=1e-3)
    assert by_value[0, 0].argmax() == 4
    assert by_value[0, 0, 4] > by_fit[0, 0, 4]  # who gave a five fits better than without the label
    assert by_value[0, 0, 0] < by_fit[0, 0, 0]


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 1000), n_users=st.integers(2, 60), half=st.sampled_from([0.0, 0.05, 0.5])
)
def test_probabilities_are_probabilities(seed, n_users, half):
    rng = np.random.default_rng(seed)
    shape = (4, 6)
    cells = FullCells(
        rng.uniform(1, 5, shape),
        rng.uniform(1, 5, shape),
        np.full(4, float(n_users)),
        *(np.ones(4), np.full(6, 1e-3), np.ones(4), rng.uniform(0.01, 30, 6)),
    )
    model = RaterModel(rng.uniform(0, 0.8), 0.2, 0.0, 0.9, half)
    found = explain(cells, model, STARS)
    assert ((found.unrated >= 0) & (found.unrated <= 1)).all()
    assert (found.weights > 0).all()
    assert np.isfinite(found.targets).all()
    assert all(np.isfinite(weights).all() for weights in weigh_ratings(cells, model, STARS))


@pytest.fixture(scope="module")
def few():
    return make_ratings(n_users=120, n_items=40, n_ratings=2400, seed=3)


class TestNullRelease:
    """All users one group: nothing is revealed, and every attack ends on its baseline."""

    def test_no_user_is_found(self, few):
        release = PredictiveAnonymizer(120, seed=1).anonymize(few)
        table = AttackTarget.from_release(release, few)
        assert find_residuals(table.candidates, few.scale) is None
        assert infer_cells(few, table) is None
        found = attack_release(few, table, Adversary(known=8), np.arange(120))
        assert found.by_attack["residual"].rate <= 1 / 120 + 1e-12

    def test_no_member_is_inferred_without_the_means_of_all_others(self, few, monkeypatch):
        monkeypatch.delitem(SCORERS, "values")
        monkeypatch.setattr("recveil.attacks.membership.inference.JOINT", {})
        for result in infer_memberships(
            few, hold_out(few, PredictiveAnonymizer(96, seed=1))
        ).values():
            assert result.auc.low <= 0.5 or not result.auc.trials

    def test_nothing_is_reported_of_members_alone(self, few):
        result = infer_attributes(
            few, hold_out(few, PredictiveAnonymizer(96, seed=1)), Adversary(known=4)
        )
        assert result.excess.low <= 0 <= result.excess.high


def test_records_of_three_reveal_more_of_members_than_of_outsiders():
    ratings = make_ratings(n_users=600, n_items=60, n_ratings=18_000, seed=2)
    held_out = hold_out(ratings, PredictiveAnonymizer(2, "simple", seed=1))
    result = infer_attributes(ratings, held_out, Adversary(known=12))
    assert result.excess.low > 0
    assert result.excess.mean == result.members.mean - result.nonmembers.mean
    few_known = infer_attributes(ratings, held_out, Adversary(known=60))
    assert few_known is None  # no user has rated so much


@pytest.mark.parametrize(("seed", "known"), [(0, 4), (4, 8)])
def test_an_attack_that_does_not_apply_is_not_the_strongest(seed, known):
    """Of sparse rows there are no residuals; the other attacks guess, if not better than chance."""
    ratings = make_ratings(n_users=200, n_items=60, n_ratings=5_000, seed=seed)
    held_out = hold_out(ratings, SparseRows(5, seed=1))
    result = infer_attributes(ratings, held_out, Adversary(known=known))
    assert result.attack != "residual"
    assert result.has_guessed
    assert result.members.low < result.members.high


def test_random_groups_reveal_nothing_and_members_are_inferred(monkeypatch):
    monkeypatch.setattr("recveil.attacks.membership.inference.JOINT", {})
    ratings = make_ratings(n_users=400, n_items=120, n_ratings=16_000, seed=2)
    found = infer_memberships(ratings, hold_out(ratings, PredictiveAnonymizer(5, seed=1)))
    assert list(found) == ["8", "16", "all"]
    for result in found.values():
        assert result.null_auc.low < 0.5 < result.null_auc.high
        assert result.tpr_at_5.trials == result.members
    assert found["all"].auc.low > 0.6
    assert found["all"].scorer == "residual"
    assert found["all"].tpr_at_5.low > 0.05


def test_sparse_rows_are_left_to_others(invented):
    release = PredictiveAnonymizer(5, "simple", seed=1).anonymize(invented)
    table = AttackTarget.from_release(release, invented)
    assert find_residuals(table.candidates, invented.scale) is None
    assert infer_cells(invented, table) is None
    known = draw_knowledge(invented, Adversary(known=4), np.arange(30), seed=1)
    adversary = Adversary(known=4)
    assert score_by_residuals(table.candidates, adversary, known, invented.scale) == []
    blind = ResidualAttack.of(adversary, invented.scale)
    guesses = blind.attack(table.candidates, known, table.record_of)
    assert np.allclose(guesses.chance, 1 / invented.n_users)


@pytest.mark.parametrize(
    "scale", [RatingScale(0, 100, None), RatingScale(0.5, 5, 0.5), RatingScale(0, 1, 1)]
)
@pytest.mark.parametrize("grid", ["tenth", "none"])
def test_any_scale(scale, grid):
    """A fine scale is distinguished by fewer levels; likes are two."""
    stars = make_ratings(n_users=90, n_items=40, n_ratings=1800, seed=4)
    values = (stars.values - 1) / 4 * scale.range + scale.low
    values = np.rint(values / scale.range) if scale.step == 1 else values
    values = scale.round(values.astype(np.float64), scale.step) if scale.step else values
    ratings = Ratings(
        *(stars.users, stars.items, stars.indptr, stars.indices),
        *(values.astype(np.float32), None, scale),
    )
    if grid == "tenth" and scale.step is None:
        grid = "none"
    release = PredictiveAnonymizer(5, round_values=grid, seed=1).anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    result = infer_cells(ratings, table)
    assert result.auc.low > 0.5
    assert levels_of(scale).size <= 11
    found = attack_release(ratings, table, Adversary(known=8, rating_error=0), np.arange(90))
    assert 0 < found.by_attack["residual"].rate <= 1 / 5


@pytest.mark.parametrize(
    "adversary",
    [
        Adversary(known=8, right=6),
        Adversary(known=8, right=6, wrong_kind="item"),
        Adversary(known=8, rating_error=1),
        Adversary(known=8, rating_error=None),
    ],
)
def test_every_kind_of_knowledge_is_scored(invented, adversary):
    release = PredictiveAnonymizer(5, seed=1).anonymize(invented)
    table = AttackTarget.from_release(release, invented)
    known = draw_knowledge(invented, adversary, np.arange(300), seed=1)
    attack = ResidualAttack.of(adversary, invented.scale)
    found = find_residuals(table.candidates, invented.scale)
    hearing, certain = attack._known_likelihoods(found.levels, known)
    assert certain == (0.75 if adversary.wrong_kind == "item" else 1.0)
    if adversary.rating_error is not None:
        heard = np.rint(known.values[:20] - 1).astype(int)
        assert (hearing[np.arange(20), heard] == hearing[:20].max(axis=1)).all()
    guesses = attack.attack(table.candidates, known, table.record_of)
    assert guesses.target_is_top.mean() > 2 * table.candidates.sizes.max() / 300


def test_a_user_without_published_ratings_scores_like_any_user():
    rows = np.round(np.random.default_rng(1).uniform(1, 5, (12, 5)), 1)
    release = listed(rows, np.full(12, 3))
    known = Knowledge(
        np.array([0]), np.array([0, 1]), np.array([9], np.int32), np.ones(1), None, None, 0
    )
    guesses = ResidualAttack(SCALE).attack(release, known, np.arange(12))
    assert (guesses.best[0], guesses.tied_users[0]) == (-1, 36)


def test_beyond_the_limit_rows_are_drawn_and_it_is_said(invented, monkeypatch):
    release = PredictiveAnonymizer(5, seed=1).anonymize(invented)
    table = AttackTarget.from_release(release, invented)
    monkeypatch.setattr(
        "recveil.attacks.reidentification.residuals.MOST_CELLS", 30 * invented.n_items
    )
    result = infer_cells(invented, table)
    assert 30 * invented.n_items < MOST_CELLS
    assert (result.records, result.of_records) == (30, table.candidates.n_records)
    assert (
        f"It used a random sample of 30 of {result.of_records} records" in of_fit(result).sentence
    )
    found = attack_release(invented, table, Adversary(known=8), np.arange(300))
    assert found.by_attack["residual"].rate <= 1 / 5


def test_everything_is_known():
    ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    known = know_everything(ratings, np.array([1, 0]))
    assert known.targets.tolist() == [1, 0]
    assert known.indptr.tolist() == [0, 1, 3]
    assert known.items.tolist() == [1, 0, 1]
    assert known.values.tolist() == [2, 5, 1]


def test_the_robust_fit_ignores_what_stands_out():
    rng = np.random.default_rng(2)
    smooth = rng.normal(size=(40, 1)) @ rng.normal(size=(1, 60)) + 3
    labels = smooth + (rng.random(smooth.shape) < 0.15) * rng.normal(size=smooth.shape)
    fit = fit_robustly(labels, 2, 1e-2, 0.02)
    fitted = fit.of_rows @ fit.of_items.T
    plain = np.median(np.abs(labels - labels.mean()))
    assert np.median(np.abs(fitted - smooth)) < 0.05 * plain


def test_marks_and_shares_by_hand():
    score = np.array([[5.0, 4, 3], [2, 2, 1]])
    truth = np.array([[True, True, False], [True, True, False]])
    # After two marks all are right; with the third, two thirds; the equal ones come together.
    assert _mark(score, truth).sum() == 2
    share = _share(_mark(score, truth), truth)
    assert (share.rate, share.trials) == (0.5, 4)
    # Of eight pairs of a rated cell and one that is not: 3 stands above both 2s.
    assert _area(score, truth).rate == 6 / 8
    assert math.isnan(_share(truth, np.zeros_like(truth)).rate)


def test_cells_are_fitted_once_until_a_fit_of_fewer_factors_is_needed(planted, monkeypatch):
    ranks, learn = [], residuals._learn
    monkeypatch.setattr(
        residuals, "_learn", lambda *given_: ranks.append(given_[-1]) or learn(*given_)
    )
    candidates = listed(planted[0], [5] * 80)
    found = find_residuals(candidates, SCALE)
    assert find_residuals(candidates, SCALE) is found
    assert len(ranks) == 1
    assert found.fewer is not None
    assert found.fewer is found.fewer
    assert ranks[1:] == [rank for rank in ranks[1:] if rank < ranks[0]]
    assert len(ranks) == 2


def test_the_cells_that_a_fit_announces_are_those_that_it_fits(planted, monkeypatch):
    candidates = listed(planted[0], [5] * 80)
    assert residuals.n_fitted_cells(candidates, SCALE) == 80 * 120
    monkeypatch.setattr(residuals, "MOST_CELLS", 3_600)
    assert residuals.n_fitted_cells(candidates, SCALE) == 3_600
    assert find_residuals(candidates, SCALE).rows.size == 30
    alone = listed(planted[0], [1] * 80)
    assert residuals.n_fitted_cells(alone, SCALE) == 0
    assert find_residuals(alone, SCALE) is None
