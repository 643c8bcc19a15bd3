"""Detected fills do not depend on how many labels are judged at a time."""

import numpy as np

from recveil.attacks.inference.fills import judge


def test_blocks_are_judged_as_the_whole(monkeypatch):
    rng = np.random.default_rng(3)
    taught, asked = rng.normal(size=(200, 4)), rng.normal(size=(1001, 4))
    is_real = taught[:, 0] + rng.normal(size=200) > 0
    whole = judge(taught.astype(np.float32), is_real, asked.astype(np.float32))
    monkeypatch.setattr("recveil.attacks.inference.fills._BLOCK", 100)
    parts = judge(taught.astype(np.float32), is_real, asked.astype(np.float32))
    assert np.array_equal(whole, parts)
    assert parts.shape == (1001,)
