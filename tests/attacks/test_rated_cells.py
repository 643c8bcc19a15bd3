"""Inference of who rated what: no simple fit reveals more, on any scale."""

import numpy as np
import pytest

from recveil.attacks import Adversary, AttackTarget, attack_release, find_residuals, infer_cells
from recveil.attacks.candidates import Candidates
from recveil.attacks.inference.rated_cells import (
    InferredCells,
    _area,
    _choose,
    _mark,
    _share,
    _truth,
)
from recveil.attacks.statistics import Interval
from recveil.auditing.release_attacks import attack_table
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest import Manifest
from recveil.release.records import Records
from recveil.report.audit.disclosure import of_fit


def of_noise(low, high, seed):
    """Users whose ratings are noise on a continuous scale."""
    rng = np.random.default_rng(seed)
    rated = rng.random((200, 76)) < 0.2
    users, items = np.nonzero(rated)
    values = low + (high - low) * rng.random(users.size)
    return Ratings.from_columns(users, items, values.round(6), scale=RatingScale(low, high, None))


def clipped_svd(labels, rank):
    """The simplest version: ten plain lines."""
    smooth = labels
    for _ in range(15):
        mean = smooth.mean(axis=0)
        left, strengths, right = np.linalg.svd(smooth - mean, full_matrices=False)
        fitted = (left[:, :rank] * strengths[:rank]) @ right[:rank] + mean
        usual = 2 * np.median(np.abs(labels - fitted))
        smooth = fitted + np.clip(labels - fitted, -usual, usual)
    return np.abs(labels - fitted)


@pytest.mark.parametrize("seed", [1, 2])
def test_on_a_continuous_scale_no_simple_fit_reveals_more(seed):
    ratings = of_noise(-10, 10, seed)
    table = AttackTarget.from_release(PredictiveAnonymizer(3, seed=1).anonymize(ratings), ratings)
    stated = infer_cells(ratings, table)
    found = find_residuals(table.candidates, ratings.scale)
    raters, _ = _truth(ratings, table, found.rows, found.items)
    labels = found.cells.values
    apart = labels - np.median(labels, axis=0)
    simple = [np.abs(apart - np.median(apart, axis=1)[:, None])]
    simple += [clipped_svd(labels, rank) for rank in (1, 2, 3)]
    theirs = [_share(_mark(score, raters > 0), raters > 0).rate for score in simple]
    assert max(theirs) > 0.2
    assert stated.recall_at_95.high > max(theirs)
    assert stated.recall_at_95.rate > max(theirs) - 0.02


def test_the_unit_of_a_scale_changes_nothing():
    rng = np.random.default_rng(5)
    rows = (2 + rng.random((40, 1)) + rng.random((1, 30)) + 0.1 * rng.random((40, 30))).round(2)
    found = []
    for per_point in (1, 20):
        records = Records(
            np.full(40, 5),
            np.arange(41) * 30,
            np.tile(np.arange(30, dtype=np.int32), 40),
            rows.ravel() * per_point,
        )
        scale = RatingScale(1 * per_point, 5 * per_point, per_point)
        found.append(find_residuals(Candidates.from_records([records], 30, scale), scale))
    assert np.allclose(found[0].cells.fitted, found[1].cells.fitted)
    assert np.allclose(found[0].found.unrated, found[1].found.unrated, atol=1e-6)
    assert np.allclose(found[1].levels, 20 * found[0].levels)


def test_ways_are_chosen_on_other_rows_than_they_are_judged_on():
    """Of noise no choice makes anything: each half is scored in the way that the other prefers."""
    rng = np.random.default_rng(3)
    rated = rng.random((60, 40)) < 0.5
    ways = [(rng.random(rated.shape), np.zeros(rated.shape)) for _ in range(20)]
    score, _ = _choose(ways, rated, [rated] * 20)
    area = _area(score, rated)
    assert area.low < 0.5 < area.high
    good = (rated + 0.1 * rng.random(rated.shape), np.ones(rated.shape))
    score, alone = _choose([*ways, good], rated, [rated] * 21)
    assert (score == good[0]).all()
    assert (alone == 1).all()


def test_a_rate_that_failed_does_not_reassure_where_the_area_is_high():
    """As of a continuous scale: no marks are 95 % right, and pairs are inferred all the same."""
    none, area = Interval(0.002, 0.0, 0.004, 900), Interval(0.777, 0.75, 0.8, 900)
    no_user = Interval(float("nan"), 0.0, 1.0, 0)
    said = of_fit(InferredCells(area, none, none, no_user, 0.56, 0.001, 0.01, 9, 9)).sentence
    assert "nothing new" not in said
    assert "in 77.7% (75–80) of the cases, popularity alone in 56%" in said
    chance = area._replace(low=0.55)
    said = of_fit(InferredCells(chance, none, none, no_user, 0.56, 0.001, 0.01, 9, 9)).sentence
    assert "reveals nothing new about the release" in said


@pytest.mark.parametrize("homogenize", ["padded", "simple"])
def test_an_attack_that_does_not_apply_was_not_run(invented, homogenize):
    release = PredictiveAnonymizer(5, homogenize, seed=1).anonymize(invented)
    table = AttackTarget.from_release(release, invented)
    found = attack_release(invented, table, Adversary(known=4), np.arange(30))
    # Simple rows lack items; padded rows have all.
    assert found.not_run == (("residual",) if homogenize == "simple" else ("cluster-likelihood",))


def test_of_one_row_it_is_said_why_it_was_not_fitted(invented):
    release = PredictiveAnonymizer(300, seed=1).anonymize(invented)
    table = AttackTarget.from_release(release, invented)
    manifest = Manifest.of(release.published)
    result = attack_table(invented, table, manifest, [Adversary(known=8)], np.arange(20))
    verdict = " ".join(result.to_dict()["verdict"])
    assert "was not tried: 1 row for 300 users" in verdict
    assert "MovieLens 100K" not in verdict
