"""What the baselines are worth to a recipient, whose answers are known beforehand."""

import numpy as np
import pytest

from recveil.attacks import AttackTarget
from recveil.datasets import make_ratings
from recveil.evaluation import (
    ItemMeans,
    ItemMeansAndBias,
    ItemNeighbours,
    RidgeFactors,
    TrainingTable,
    UserRows,
    fidelity,
    find_similar_users,
    fit_all,
    gain_retained,
    serve,
    similar_user_deviation,
    split_ratings,
    target_deviation,
)
from recveil.methods import BASELINES, PredictiveAnonymizer


@pytest.fixture(scope="module")
def split():
    """Invented users of strong embeddings, so that there is something to gain by filtering."""
    ratings = make_ratings(
        n_users=300, n_items=80, n_ratings=9_000, seed=5, preference=1.0, noise=0.4
    )
    return split_ratings(ratings, 0.2, 1)


def opened(anonymizer, split):
    released = AttackTarget.from_release(anonymizer.anonymize(split.train), split.train)
    return released, TrainingTable.from_released(released, split.train.scale)


def served_by(table, split):
    recommenders = (ItemMeansAndBias(), ItemMeans(), ItemNeighbours(), RidgeFactors(rank=10))
    users = UserRows.from_ratings(split.train)
    return serve(fit_all(table, recommenders), users, split.test)


@pytest.fixture(scope="module")
def raw(split):
    return served_by(TrainingTable.from_ratings(split.train), split)


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_is_measured(name, split):
    released, table = opened(BASELINES[name](1), split)
    served = served_by(table, split)
    assert all(np.isfinite(utility.rmse) for utility in served.utilities.values())
    similar = find_similar_users(released, split.train)
    for found in (
        target_deviation(released, split.test, split.train.scale),
        similar_user_deviation(released, similar, split.test, split.train.scale),
    ):
        assert np.isfinite(found.rmse)
    # Held-out ratings are none of the cells that were published, unless cells are added.
    adds_cells = "item-means", "netflix-perturbation", "rotation", "geometric"
    kept_cells = name not in (*adds_cells, "geometric-noise-first")
    share = target_deviation(released, split.test, split.train.scale).null_share
    assert (share == 1) == kept_cells


def test_raw_keeps_all(split, raw):
    _, table = opened(BASELINES["raw"](1), split)
    served = served_by(table, split)
    assert served == raw
    assert gain_retained(raw, served) == 1
    same = fidelity(TrainingTable.from_ratings(split.train), table)
    assert (same.rating_distance, same.item_mean_rmse) == (0, 0)


def test_random_ratings_are_worth_no_more_than_averages(split, raw):
    _, table = opened(BASELINES["random-values"](1), split)
    assert gain_retained(raw, served_by(table, split)) <= 0


def test_item_means_are_worth_averages(split, raw):
    _, table = opened(BASELINES["item-means"](1), split)
    served = served_by(table, split)
    # But for the tenth to which labels are rounded.
    averages = raw.utilities["item mean"].rmse
    assert served.utilities["item mean"].rmse == pytest.approx(averages, abs=0.005)
    assert gain_retained(raw, served) < 0.1


def test_one_group_of_all_users_serves_as_item_means_do(split):
    _, means = opened(BASELINES["item-means"](1), split)
    _, group = opened(PredictiveAnonymizer(split.train.n_users, "simple", seed=3), split)
    assert served_by(group, split) == served_by(means, split)


def test_noise_lies_between_raw_and_averages(split, raw):
    _, table = opened(BASELINES["gaussian-noise"](1), split)
    served = served_by(table, split)
    assert raw.of_chosen.rmse < served.of_chosen.rmse
    result = fidelity(TrainingTable.from_ratings(split.train), table)
    assert result.popularity_divergence == 0  # who rated what is all there
    assert result.rating_distance > 0.05
