"""Figures: whom their shares are of."""

import numpy as np
import pytest

from recveil.attacks import Candidates
from recveil.auditing import draw_figures
from recveil.datasets import make_ratings
from recveil.ratings import Ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """A hundred and fifty users, of whom 85 have fewer than eight ratings."""
    return make_ratings(n_users=150, n_items=60, n_ratings=1_500, seed=2)


@pytest.fixture(scope="module")
def candidates(ratings):
    return Candidates.from_ratings(ratings)


def points_of(figures, number):
    (figure,) = (figure for figure in figures if figure.number == number)
    return {(point["series"], point["x"]): point for point in figure.to_dict()["points"]}, figure


def test_in_or_out_is_a_share_of_those_attacked(ratings, candidates):
    able = np.flatnonzero(ratings.activity >= 8)
    assert 0 < able.size < ratings.n_users
    all_users, figure = points_of(draw_figures(ratings, candidates, np.arange(150)), "5")
    # A user with fewer ratings uses no random numbers: without them the same knowledge is drawn.
    only_able, _ = points_of(draw_figures(ratings, candidates, able), "5")
    for (series, x), point in all_users.items():
        if x in ("8 of 8", "6 of 8"):
            assert point == only_able[series, x]
            assert point["attacked"] == able.size
    fewest, most = (int((ratings.activity >= known).sum()) for known in (8, 2))
    assert f"Of 150 requested targets, {fewest} to {most} had enough ratings" in figure.note
    assert "the shares are of these" in figure.note
