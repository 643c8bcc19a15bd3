"""Decision parameters of Narayanan & Shmatikov's attacks, against small independent versions."""

from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import (
    Adversary,
    Candidates,
    Knowledge,
    Scoreboard,
    draw_knowledge,
    wilson_interval,
)
from recveil.auditing import audit, run_attack
from recveil.auditing.decision import calibrate, equal_error_rate, tune_adversaries, tune_widths
from recveil.datasets import make_ratings
from recveil.ratings import Ratings
from recveil.report.audit.text import describe_tuning

EVERYONE = np.arange(60)


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)


@pytest.fixture(scope="module")
def candidates(ratings):
    return Candidates.from_ratings(ratings)


def dense(ratings):
    values, days = (np.full((ratings.n_users, ratings.n_items), np.nan) for _ in range(2))
    rows = np.repeat(EVERYONE, np.diff(ratings.indptr))
    values[rows, ratings.indices], days[rows, ratings.indices] = ratings.values, ratings.days
    return values, days


def slow_leads(ratings, adversary, targets, seed=0):
    """Eccentricities of Scoreboard-RH by the formulas of section 5, and whether it is right."""
    values, days = dense(ratings)
    known, inside, outside = draw_knowledge(ratings, adversary, targets, seed), [], []
    for at, target in enumerate(known.targets):
        own = slice(known.indptr[at], known.indptr[at + 1])
        items = known.items[own]
        for leads, kept in ((inside, EVERYONE), (outside, np.delete(EVERYONE, target))):
            support = np.maximum((~np.isnan(values[kept])).sum(axis=0)[items], 2)
            rated = np.exp(
                -abs(values[kept][:, items] - known.values[own]) / adversary.rating_width
            )
            dated = np.exp(-abs(days[kept][:, items] - known.days[own]) / adversary.day_width)
            scores = np.nansum((rated + dated) / np.log(support), axis=1)
            second, first = np.sort(scores)[-2:]
            is_wrong = leads is inside and kept[scores.argmax()] != target
            leads.append(-1 if is_wrong else (first - second) / scores.std())
    return np.array(inside), np.array(outside)


BLURRED = Adversary(known=6, right=4, rating_error=1, date_error=14)


@pytest.mark.parametrize("eccentricity", [0.5, 1.5, 3.0])
def test_every_eccentricity_and_width_decides_as_the_formulas_do(ratings, candidates, eccentricity):
    adversary = Adversary(
        known=6,
        right=4,
        rating_error=1,
        date_error=14,
        eccentricity=eccentricity,
        rating_width=0.7,
        day_width=9,
    )
    outcome = run_attack(ratings, candidates, adversary, EVERYONE)
    inside, outside = slow_leads(ratings, adversary, EVERYONE)
    assert outcome.success.rate == pytest.approx((inside >= eccentricity).sum() / 60)
    assert outcome.control.rate == pytest.approx((outside >= eccentricity).mean())


def test_the_equal_error_rate_by_hand():
    # Right guesses lead by 4, 3 and 1; one guess is wrong. Of four users outside, records lead by
    # 3.5, 2, 1 and 0. At 2: rejects 2 of 4 (1 and the wrong one), accepts 2 of 4. At 3: 2 and 1.
    inside, outside = np.array([4.0, 3, 1, -1]), np.array([3.5, 2, 1, 0])
    assert equal_error_rate(inside, outside) == 2
    assert equal_error_rate(np.array([-1.0]), np.array([0.0])) == 1.5


def test_auto_reports_both_error_rates_on_the_half_that_did_not_choose(ratings, candidates):
    found = calibrate(ratings, candidates, BLURRED, EVERYONE, seed=3)
    shuffled = np.random.default_rng([3, 39]).permutation(EVERYONE)
    learning, judging = np.sort(shuffled[:30]), np.sort(shuffled[30:])
    inside, outside = slow_leads(ratings, BLURRED, learning, 3)
    levels = np.sort(np.concatenate([inside, outside]))
    levels = levels[levels > 0]
    errors = [abs((inside < level).mean() - (outside >= level).mean()) for level in levels]
    chosen = levels[np.argmin(np.round(errors, 9))]
    assert found.chosen.eccentricity == pytest.approx(chosen, rel=1e-4)
    inside, outside = slow_leads(ratings, BLURRED, judging, 3)
    for rates, level in ((found.chosen, chosen * (1 - 1e-5)), (found.default, 1.5)):
        assert rates.false_reject.rate == pytest.approx((inside < level).mean())
        assert rates.false_accept.rate == pytest.approx((outside >= level).mean())


def test_auto_needs_twenty_users_to_choose(ratings, candidates):
    knows_one = replace(BLURRED, known=1, right=1)
    calibrate(ratings, candidates, knows_one, np.arange(39))
    with raises("table.too-few-users"):
        calibrate(ratings, candidates, knows_one, np.arange(38))
    chosen = replace(BLURRED, eccentricity="auto")
    with raises("table.too-few-users"):
        audit(ratings, adversaries=[chosen], targets=3, curves=False)
    # Nobody rated so many items: there is nothing to choose, and no rate either.
    nobody = calibrate(ratings, candidates, replace(BLURRED, known=41), EVERYONE)
    assert nobody.chosen.eccentricity == 1.5
    assert nobody.chosen.false_accept.trials == 0
    result = audit(ratings, adversaries=[replace(chosen, known=41)], curves=False)
    assert result.to_dict()["decisions"] == [
        "this adversary: no target has enough ratings to choose an eccentricity, which stays 1.5."
    ]


def test_auto_is_resolved_where_the_attack_runs(ratings, candidates):
    adversary = Adversary(known=6, right=4, rating_error=1, date_error=14, eccentricity="auto")
    outcome = run_attack(ratings, candidates, adversary, EVERYONE)
    assert outcome.calibration.chosen.eccentricity == outcome.adversary.eccentricity
    assert outcome.to_dict()["calibration"]["default"]["eccentricity"] == 1.5


@pytest.mark.parametrize("threshold", [0.3, 0.6, 1.0])
def test_the_plain_scoreboard_scores_by_the_least_similar_entry(ratings, candidates, threshold):
    adversary = Adversary(
        known=3, rating_error=0, date_error=10, algorithm="scoreboard", threshold=threshold
    )
    outcome = run_attack(ratings, candidates, adversary, EVERYONE)
    values, days = dense(ratings)
    known, right, of_control = draw_knowledge(ratings, adversary, EVERYONE), 0.0, 0
    for at, target in enumerate(known.targets):
        own = slice(known.indptr[at], known.indptr[at + 1])
        rated = np.exp(-abs(values[:, known.items[own]] - known.values[own]) / 1.5)
        late = np.maximum(abs(days[:, known.items[own]] - known.days[own]) - 10, 0)
        scores = np.nan_to_num((rated + np.exp(-late / 30)) / 2).min(axis=1)
        matching = scores >= threshold
        right += matching[target] / max(matching.sum(), 1)
        of_control += np.delete(matching, target).any()
    assert outcome.success.rate == pytest.approx(right / 60)
    assert outcome.control.rate == pytest.approx(of_control / known.targets.size)
    assert outcome.by_attack["scoreboard"] == outcome.success
    total = outcome.success.rate + outcome.wrong_match.rate + outcome.no_match.rate
    assert total == pytest.approx(1)


def test_a_threshold_of_one_is_agreement_within_the_errors(ratings, candidates):
    known = draw_knowledge(ratings, BLURRED, EVERYONE)
    exact, graded = (
        Scoreboard(1, 14, threshold=threshold).attack(candidates, known, EVERYONE)
        for threshold in (1, 0.2)
    )
    assert (exact.records <= graded.records).all()
    assert exact.records.sum() < graded.records.sum()
    with raises("argument.value"):
        Scoreboard(threshold=0)


def test_tuned_widths_find_most_on_their_half(ratings, candidates):
    tuned = tune_widths(ratings, candidates, BLURRED, EVERYONE, seed=2)
    half = np.sort(np.random.default_rng([2, 39]).permutation(EVERYONE)[:30])

    def rate(rating_width, day_width):
        adversary = Adversary(
            known=6,
            right=4,
            rating_error=1,
            date_error=14,
            rating_width=rating_width,
            day_width=day_width,
        )
        return run_attack(ratings, candidates, adversary, half, seed=2).top1.rate

    best = rate(tuned.rating_width, tuned.day_width)
    assert best >= rate(1.5, 30)
    assert all(best >= rate(width, tuned.day_width) for width in (0.25, 0.5, 1, 1.5, 2, 4, 8))
    assert all(best >= rate(tuned.rating_width, width) for width in (1, 3, 7, 14, 30, 60, 120, 365))
    assert tuned.before.trials == tuned.after.trials == 30
    assert tuned.decided_by == "reidentified"


@pytest.mark.parametrize("eccentricity", [0.7, "auto"])
def test_with_an_eccentricity_the_matches_decide(ratings, candidates, eccentricity):
    adversary = replace(BLURRED, eccentricity=eccentricity)
    tuned = tune_widths(ratings, candidates, adversary, EVERYONE, seed=2)
    shuffled = np.random.default_rng([2, 39]).permutation(EVERYONE)
    learning, judging = np.sort(shuffled[:30]), np.sort(shuffled[30:])
    level = 1.5 if eccentricity == "auto" else eccentricity

    def outcome(half, **widths):
        tried = replace(BLURRED, eccentricity=level, **widths)
        return run_attack(ratings, candidates, tried, half, seed=2)

    chosen = {"rating_width": tuned.rating_width, "day_width": tuned.day_width}
    assert tuned.decided_by == "matched"
    assert tuned.first_before == outcome(learning).success
    assert tuned.first_after == outcome(learning, **chosen).success
    for width in (1, 3, 7, 14, 30, 60, 120, 365):
        one = outcome(learning, **{**chosen, "day_width": width})
        assert tuned.first_after.rate >= one.success.rate
    before, after = outcome(judging), outcome(judging, **chosen)
    assert (tuned.matched_before, tuned.matched_after) == (before.success, after.success)
    assert (tuned.before, tuned.after) == (before.top1, after.top1)
    assert (tuned.accepted_before, tuned.accepted_after) == (before.control, after.control)
    keys = [(each.success.rate, each.top1.rate) for each in (before, after)]
    assert tuned.is_used == (keys[1] > keys[0])


def test_plain_scoreboard_is_tuned_by_its_matches(ratings, candidates):
    plain = Adversary(known=3, rating_error=1, date_error=10, algorithm="scoreboard", threshold=0.6)
    tuned = tune_widths(ratings, candidates, plain, EVERYONE, seed=2)
    judging = np.sort(np.random.default_rng([2, 39]).permutation(EVERYONE)[30:])
    before = run_attack(ratings, candidates, plain, judging, seed=2)
    assert tuned.matched_before == tuned.before == before.success
    assert tuned.accepted_before == before.control


@pytest.mark.parametrize("width", [{"rating_width": 2}, {"day_width": 5}])
def test_tuned_widths_are_not_given(ratings, width):
    with raises("option.conflict"):
        audit(ratings, adversaries=[replace(BLURRED, **width)], curves=False, tune=True)


def test_what_the_adversary_does_not_know_is_not_tuned(ratings, candidates):
    blind = Adversary(known=3, rating_error=None)
    tuned = tune_widths(ratings, candidates, blind, EVERYONE)
    assert (tuned.rating_width, tuned.day_width) == (1.5, 30)
    assert tuned.before == tuned.after
    assert not tuned.is_used
    assert tuned.first_before == tuned.first_after


def test_widths_stay_where_none_re_identify_more():
    """Three users, each with two items of their own: any width scores the target's record alone."""
    alone = Ratings.from_columns([1, 1, 2, 2, 3, 3], [*"abcdef"], [5, 1, 4, 2, 3, 1])
    knows = Adversary(known=2, rating_error=0)
    tuned = tune_widths(alone, Candidates.from_ratings(alone), knows, np.arange(3))
    assert tuned.first_before == tuned.first_after == wilson_interval(2, 2)
    assert (tuned.rating_width, tuned.day_width, tuned.is_used) == (1.5, 30, False)
    assert tuned.before == tuned.after == wilson_interval(1, 1)
    assert "re-identify 100%" in describe_tuning(tuned)
    assert "--known" in describe_tuning(tuned)


@pytest.mark.parametrize("days_apart", [2, 0])
def test_tuning_finds_the_planted_width(days_apart):
    """Users rated the same items, each on a day of their own, and only ratings are blurred.

    At d0 = 30, a neighbour 2 days away loses 0.06 per item, and a rating 1 point away 0.49: the
    ratings mislead. At d0 = 1 the neighbour loses 0.86. Without days, no width helps.
    """
    n_users, n_items = 120, 6
    users, items = np.divmod(np.arange(n_users * n_items), n_items)
    values = np.random.default_rng(5).integers(1, 6, users.size)
    days = 10_000 + days_apart * users
    planted = Ratings.from_columns(users, items, values, days)
    knows = Adversary(known=4, rating_error=1, date_error=0)
    found = tune_widths(planted, Candidates.from_ratings(planted), knows, np.arange(n_users))
    assert found.before.rate < 0.9
    if days_apart:
        assert found.day_width <= 3
        assert found.is_used
        assert found.after == wilson_interval(60, 60)
    else:
        assert found.day_width == 30
        assert found.after.rate < found.before.high


@pytest.mark.parametrize("rise", [-0.1, 0, 0.1])
def test_an_audit_uses_tuned_widths_where_they_help(ratings, monkeypatch, rise):
    rates = iter(wilson_interval(15 + 30 * more, 30) for more in (0, 0, 0, rise, 0, 0.2))
    # Matches before and after, re-identified before and after, and both on the first half
    monkeypatch.setattr(Knowledge, "rate", lambda *_: next(rates))
    known = Adversary(known=3, right=2, rating_error=1, date_error=30, rating_width=7)
    targets, candidates = np.arange(60), Candidates.from_ratings(ratings)
    (used,), (tuned,) = tune_adversaries(
        ratings, candidates, [known], targets, seed=0, is_wanted=True
    )
    assert tuned.is_used == (rise > 0)
    assert tuned.rating_width != 7
    assert used.rating_width == (tuned.rating_width if rise > 0 else 7)


def test_an_audit_reports_what_it_tuned(ratings):
    result = audit(ratings, adversaries=[BLURRED], targets=40, curves=False, tune=True)
    (tuned,) = result.to_dict()["tunings"]
    attack = result.to_dict()["attacks"][0]
    widths = (tuned["rating_width"], tuned["day_width"]) if tuned["is_used"] else (1.5, 30)
    assert (attack["rating_width"], attack["day_width"]) == widths
    reached = [(tuned[of]["rate"], tuned[f"matched_{of}"]["rate"]) for of in ("before", "after")]
    assert tuned["is_used"] == (reached[1] > reached[0])
    assert result.to_dict()["decisions"]
    assert not audit(ratings, adversaries=[BLURRED], targets=9, curves=False).to_dict()["decisions"]
