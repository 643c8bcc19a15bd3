import numpy as np

from recveil.methods import PredictiveAnonymizer
from recveil.predict import FunkSVD


def _groups_of(release) -> np.ndarray:
    groups = release.private.groups
    labels = np.empty(groups.members.size, int)
    labels[groups.members] = np.repeat(np.arange(groups.sizes.size), groups.sizes)
    return labels


def test_order_of_records_says_nothing_about_order_of_users(invented):
    # Rank correlation between a user's position and their record's, over many seeds: as by chance.
    correlations = []
    for seed in range(60):
        release = PredictiveAnonymizer(5, "simple", FunkSVD(rank=2, n_epochs=1), seed=seed)
        labels = _groups_of(release.anonymize(invented))
        correlations.append(np.corrcoef(np.arange(300), labels)[0, 1])
    # One correlation of about 45 groups of neighbours has a standard deviation below 0.15.
    assert abs(np.mean(correlations)) < 3 * 0.15 / np.sqrt(60)
    assert np.max(np.abs(correlations)) < 0.6
