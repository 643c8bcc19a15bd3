"""Planted users are found again from their exact moments, with correct gradients."""

import numba
import numpy as np
from threadpoolctl import threadpool_limits

from recveil.methods.synthetic import fitting
from recveil.methods.synthetic.fitting import (
    fit_items,
)
from shared.methods_synthetic_fitting import planted


class TestPlanted:
    def test_the_threads_have_no_say(self, monkeypatch):
        monkeypatch.setattr(fitting, "_ROUNDS", 10)
        _, result = planted(n_items=320, noise=1.0)
        found = []
        try:
            for threads in range(1, numba.config.NUMBA_NUM_THREADS + 1):
                numba.set_num_threads(threads)
                with threadpool_limits(threads):
                    found.append(fit_items(result, np.random.default_rng(2)))
        finally:
            numba.set_num_threads(1)
        assert all(
            (one == other).all()
            for last in found
            for one, other in zip(found[0], last, strict=True)
        )
