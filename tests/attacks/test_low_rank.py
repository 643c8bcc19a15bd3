"""How many factors a smooth fit has."""

import numpy as np

from recveil.attacks.reidentification.residuals import choose_rank


def test_factors_are_chosen_without_the_truth():
    rng = np.random.default_rng(4)
    smooth = 3 + rng.normal(size=(60, 3)) @ rng.normal(size=(3, 80))
    noise = rng.normal(scale=0.02, size=smooth.shape)
    ratings = (rng.random(smooth.shape) < 0.2) * rng.normal(size=smooth.shape)
    assert choose_rank(smooth + noise + ratings, 6, 0.01, 0.02) in (2, 3)
    assert choose_rank(3 + noise, 6, 0.01, 0.02) == 0
