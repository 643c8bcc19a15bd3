"""Tables in which no value can be wrong: likes, thumbs, and errors as wide as the scale."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import PRESETS, Adversary, draw_knowledge
from recveil.attacks.knowledge import (
    why_never_wrong,
    with_wrong_items,
    without_dates,
)
from recveil.auditing import audit
from recveil.ratings import Ratings, RatingScale
from shared.auditing_likes import NEVER_LIKED, by_name, found, likes, table, write  # noqa: F401 (fixtures)


@pytest.mark.parametrize("levels", [2, 3])
def test_figures_where_one_step_covers_the_scale(tmp_path, levels):
    # ±1 of 2 on a scale of 1 to 3 is everything; of 1 it is not, but one such rating suffices.
    ratings = table(lambda values: 1 + values.astype(int) % levels)
    assert ratings.scale == RatingScale(1, levels, 1)
    found = audit(write(ratings, tmp_path / "few.csv"), targets=20)
    figures = {figure.number: figure for figure in found.figures}
    assert f"scale 1:{levels}:1 is within 1 of some true one" in figures["10"].note
    assert NEVER_LIKED not in figures["4"].note  # exact ratings can be wrong
    assert by_name(found)["paper"].wrong_kind == "value"


def test_stars_are_wrong_about_values(tmp_path):
    found = audit(write(table(lambda values: values), tmp_path / "stars.csv"), targets=20)
    assert all(adversary.wrong_kind == "value" for adversary in by_name(found).values())
    assert not any("Here the wrong" in figure.note for figure in found.figures)
    (figure,) = (figure for figure in found.figures if figure.number == "10")
    assert any(point.series.startswith("wrong value") for point in figure.points)


class TestWhoIsTakenAtHisWord:
    def test_a_changed_preset_falls_back(self, likes):
        from dataclasses import replace

        guesser = replace(PRESETS["film-buff"], rating_error=None, outside_top=0)
        (outcome,) = audit(likes, adversaries=[guesser], targets=9, curves=False).attacks
        assert "they know neither ratings nor dates" in outcome.adversary.description
        assert outcome.attacked > 0

    def test_what_was_possible_with_dates_falls_back(self, likes):
        own = Adversary(known=4, right=3, rating_error=None, date_error=14, name="given")
        (outcome,) = audit(likes, adversaries=[own], targets=9, curves=False).attacks
        assert outcome.adversary.wrong_kind == "item"
        begin = "Here no dates are known: no column of dates was recognized."
        assert outcome.adversary.description.startswith(begin)

    @pytest.mark.parametrize("rating_error", [0, None])
    def test_what_was_impossible_as_given_is_refused(self, likes, rating_error):
        own = Adversary(known=4, right=3, rating_error=rating_error, name="given")
        with raises("option.conflict"):
            audit(likes, adversaries=[own], targets=9, curves=False)


# Four scales with true ratings on them; the last is continuous, and its thousand steps are 0.004.
SCALES = [RatingScale(1, 1), RatingScale(0, 1, 1), RatingScale(0.5, 5, 0.5), RatingScale(1, 5)]


@given(
    scale=st.sampled_from(SCALES),
    error=st.floats(0, 5) | st.sampled_from([0.5, 1, 2, 2.25, 2.5, 4, 4.5]),
    right=st.integers(0, 2),
    seed=st.integers(0, 50),
)
@settings(deadline=None, max_examples=150)
def test_a_value_can_be_wrong_if_a_label_lies_beyond_the_error_of_each(scale, error, right, seed):
    rng = np.random.default_rng(seed)
    grid = np.linspace(scale.low, scale.high, 1_001) if scale.step is None else scale.levels
    truth = rng.choice(grid, 6).astype(np.float32)
    ratings = Ratings.from_columns([1, 1, 1, 2, 2, 2], [1, 2, 3] * 2, truth, scale=scale)
    own = Adversary(known=2, right=right, rating_error=error)
    reason = why_never_wrong(ratings, own)
    slack = 1e-3 * (scale.step or scale.range / 1_000 or 1.0)  # float32 lies next to the labels
    beyond = [np.abs(grid - value).max() - error for value in truth.astype(float)]
    if min(np.abs(beyond)) > 2 * slack:  # at the very edge either answer is right
        assert (reason is not None) == (right < 2 and min(beyond) < 0)
    if reason is None:
        assert with_wrong_items(ratings, own) is own
    fitted = with_wrong_items(ratings, own)
    draw_knowledge(ratings, fitted, np.arange(2), seed)  # never raises
    assert with_wrong_items(ratings, fitted) is fitted


def test_without_dates_states_why():
    ratings = table(lambda values: values, dated=True)
    paper = without_dates(ratings, PRESETS["paper"], "releases have none")
    assert (paper.date_error, paper.wrong_kind) == (None, "value")
    assert paper.description.endswith("Here no dates are known: releases have none.")
    assert without_dates(ratings, PRESETS["film-buff"], "whatever") is PRESETS["film-buff"]
    vague = Adversary(known=4, right=2, rating_error=4, date_error=14)
    assert without_dates(ratings, vague, "whatever").wrong_kind == "item"
