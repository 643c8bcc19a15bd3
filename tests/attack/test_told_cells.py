"""What is told of who rated what: no simple fit tells more, on any scale."""

import numpy as np
import pytest

from recveil.anonymize import PredictiveAnonymizer
from recveil.attack import ReleasedTable, find_residuals, tell_cells
from recveil.attack.candidates import Candidates
from recveil.attack.told_cells import _area, _choose, _mark, _share, _truth
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records


def of_noise(low, high, seed):
    """People whose ratings are noise on a continuous scale."""
    rng = np.random.default_rng(seed)
    rated = rng.random((200, 76)) < 0.2
    users, items = np.nonzero(rated)
    values = low + (high - low) * rng.random(users.size)
    return Ratings.from_columns(users, items, values.round(6), scale=RatingScale(low, high, None))


def clipped_svd(labels, rank):
    """The simplest version: ten lines that anybody writes."""
    smooth = labels
    for _ in range(15):
        mean = smooth.mean(axis=0)
        left, strengths, right = np.linalg.svd(smooth - mean, full_matrices=False)
        fitted = (left[:, :rank] * strengths[:rank]) @ right[:rank] + mean
        usual = 2 * np.median(np.abs(labels - fitted))
        smooth = fitted + np.clip(labels - fitted, -usual, usual)
    return np.abs(labels - fitted)


@pytest.mark.parametrize("seed", [1, 2])
def test_on_a_continuous_scale_no_simple_fit_tells_more(seed):
    ratings = of_noise(-10, 10, seed)
    table = ReleasedTable.from_release(PredictiveAnonymizer(3, seed=1).anonymize(ratings), ratings)
    told = tell_cells(ratings, table)
    found = find_residuals(table.candidates, ratings.scale)
    raters, _ = _truth(ratings, table, found.rows, found.items)
    labels = found.cells.labels
    apart = labels - np.median(labels, axis=0)
    simple = [np.abs(apart - np.median(apart, axis=1)[:, None])]
    simple += [clipped_svd(labels, rank) for rank in (1, 2, 3)]
    theirs = [_share(_mark(score, raters > 0), raters > 0).rate for score in simple]
    assert max(theirs) > 0.2
    assert told.recall_at_95.high > max(theirs)
    assert told.recall_at_95.rate > max(theirs) - 0.02


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
    assert np.allclose(found[0].found.nobody, found[1].found.nobody, atol=1e-6)
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
