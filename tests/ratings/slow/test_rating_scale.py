import numpy as np

from recveil.ratings import RatingScale


def test_infer_gives_up_on_millions_of_levels():
    assert RatingScale.infer(np.linspace(0, 1, 2_000_000)).step is None
