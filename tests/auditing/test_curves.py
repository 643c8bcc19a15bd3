"""Figures: whom their shares are of."""

import numpy as np
import pytest

from recveil.attacks import Adversary, Candidates, draw_knowledge, wilson_interval
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


def test_found_is_a_share_of_those_asked_for(ratings, candidates):
    points, figure = points_of(draw_figures(ratings, candidates, np.arange(150)), "4")
    attacked = int((ratings.activity >= 8).sum())
    for x in ("8 of 8", "6 of 8"):
        point = points["dates ±3 days, eccentricity ≥ 1.5", x]
        assert point["y"] <= attacked / 150
        assert point["attacked"] == attacked
        # As many were found as a whole number, or ties, of 150 say.
        assert point["low"] == wilson_interval(point["y"] * 150, 150).low
    assert "the others count as not re-identified" in figure.note


def test_all_attacked_needs_no_other_denominator():
    ratings = make_ratings(n_users=40, n_items=60, n_ratings=900, seed=3)
    able = np.flatnonzero(ratings.activity >= 8)
    figures = draw_figures(ratings, Candidates.from_ratings(ratings), able)
    _, figure = points_of(figures, "5")
    assert figure.note == f"All {able.size} targets had enough ratings to be attacked."


def test_without_targets_there_is_no_point():
    # Three users with two ratings each: three cannot be known of any.
    ratings = Ratings.from_columns([1, 1, 2, 2, 3, 3], [1, 2, 2, 3, 3, 4], [1, 5, 3, 3, 4, 2])
    candidates = Candidates.from_ratings(ratings)
    assert draw_knowledge(ratings, Adversary(known=3), np.arange(3)).skipped == 3
    for number in ("4", "5", "6", "8", "9", "11", "12"):
        points, _ = points_of(draw_figures(ratings, candidates, np.arange(3)), number)
        assert {x for _, x in points} == {"2 of 2"}


def test_the_error_in_the_titles_is_the_error_of_the_attack():
    ratings = Ratings.from_columns([1, 1, 2, 2], [1, 2, 2, 3], [1, 10, 3, 7])  # 1:10:1, ±9/4
    figures = draw_figures(ratings, Candidates.from_ratings(ratings), np.arange(2))
    assert [figure.number for figure in figures if "±2.25" in figure.title] == ["9", "10"]


def test_curves_of_likes_are_not_called_by_ratings(ratings):
    likes = ratings.as_likes()
    figures = draw_figures(likes, Candidates.from_ratings(likes), np.arange(20))
    for figure in figures:
        assert "rating" not in figure.title.lower()
        assert "rated" not in figure.title
        assert not any("rating" in point.series for point in figure.points)
    assert {point.series for point in figures[0].points} == {"items", "items and dates ±14 days"}
