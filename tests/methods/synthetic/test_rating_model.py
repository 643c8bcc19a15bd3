"""How people who are drawn rate: cuts, worth and spreads from sums alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from recveil.methods.synthetic.bounded_sums import moved
from recveil.methods.synthetic.rating_model import (
    Labels,
    LabelSides,
    expected_labels,
    learn_labels,
)
from recveil.ratings import RatingScale
from recveil.release.synthetic_form import MOST_LEVELS, rating_levels

STARS = RatingScale(1, 5, 1)
SCALES = [STARS, RatingScale(0, 1, 1), RatingScale(0.5, 5, 0.5), RatingScale(0, 100, 1)]
SCALES += [RatingScale(-10, 10)]


def learnt(shares, means, scale=STARS, spread=0.05) -> Labels:
    shares, means = np.array(shares, float), np.array(means, float)
    return learn_labels(shares, rating_levels(scale), scale, means, np.ones(means.size), spread)


class TestCuts:
    def test_by_hand(self):
        """An eighth, a quarter, a quarter, a quarter, an eighth: at the normal quantiles."""
        found = learnt([1, 2, 2, 2, 1], [0.0, 0.1]).cuts
        assert ndtr(found) == pytest.approx([1 / 8, 3 / 8, 5 / 8, 7 / 8])

    @pytest.mark.parametrize("factor", [0.1, 1, 300])
    def test_shares_need_not_add_up_to_one(self, factor):
        shares = np.array([1.0, 2, 4, 8, 2])
        assert learnt(factor * shares, [0.0, 0.3]).cuts == pytest.approx(
            learnt(shares, [0.0, 0.3]).cuts
        )

    @pytest.mark.parametrize("shares", [[0, 0, 0, 0, 1], [-3, 5, -1, 9, 2], [-1, -2, -3, -4, -5]])
    def test_noise_below_nothing_leaves_finite_cuts_in_order(self, shares):
        found = learnt(shares, [0.0, 0.3])
        assert np.isfinite(found.cuts).all()
        assert (np.diff(found.cuts) > 0).all()
        assert np.isfinite(found.worth).all()


class TestWorth:
    @given(
        st.lists(st.floats(0.02, 1), min_size=5, max_size=5),
        st.lists(st.floats(-0.9, 0.9), min_size=2, max_size=6),
        st.floats(0, 0.3),
    )
    def test_an_item_is_expected_to_have_its_mean(self, shares, means, spread):
        """Worth inverts `expected_labels`, where labels are not all at the scale's ends."""
        found = learnt(shares, means, spread=spread)
        at = moved(STARS.levels, STARS)
        told = expected_labels(
            at, found.cuts, np.hypot(found.strictness, found.chance), found.worth
        )
        inside = np.abs(found.worth) < 7.9
        assert told[inside] == pytest.approx(np.array(means)[inside], abs=2e-3)

    def test_expected_labels_against_draws(self):
        rng = np.random.default_rng(1)
        cuts, worth = np.array([-1.0, 0.2]), np.array([-0.5, 0.7])
        hidden = worth[:, None] + 0.8 * rng.normal(size=(2, 200_000))
        drawn = np.array([1.0, 2, 5])[np.searchsorted(cuts, hidden)].mean(axis=1)
        told = expected_labels(np.array([1.0, 2, 5]), cuts, 0.8, worth)
        assert told == pytest.approx(drawn, abs=0.02)


class TestSpreads:
    def test_all_parts_make_one(self):
        found = learnt([1, 2, 2, 2, 1], [-0.2, 0.2], spread=0.06)
        of_items = 0.2**2 / np.average(np.array([1, 0.5, 0, 0.5, 1]) ** 2, weights=[1, 2, 2, 2, 1])
        assert 1 - found.strictness**2 - found.chance**2 == pytest.approx(of_items)

    @pytest.mark.parametrize("spread", [-1.0, 0.0, 0.1, 5.0])
    def test_no_part_is_nothing_or_everything(self, spread):
        found = learnt([1, 2, 2, 2, 1], [-1.0, 1.0], spread=max(spread, 0.0))
        assert 0.1 < found.strictness < 0.6
        assert 0.3 < found.chance < 1


@pytest.mark.parametrize("scale", SCALES, ids=str)
class TestScales:
    def test_levels_from_end_to_end(self, scale):
        levels = rating_levels(scale)
        assert (levels[0], levels[-1]) == (scale.low, scale.high)
        assert levels.size <= MOST_LEVELS

    def test_liked_are_the_high_ones_and_some_are_not(self, scale):
        levels = rating_levels(scale)
        assert levels[0] < scale.liked_from <= levels[-1]

    def test_shares_of_likes(self, scale):
        levels = rating_levels(scale)
        found = learnt(np.ones(levels.size), [-0.8, 0.0, 0.8], scale)
        shares = found.liked_share(levels, scale)
        assert (np.diff(shares) > 0).all()
        assert (shares > 0).all()
        assert (shares < 1).all()

    def test_both_sides_together_are_the_mean(self, scale):
        levels = rating_levels(scale)
        found = learnt(np.arange(1.0, levels.size + 1), [-0.2, 0.3], scale)
        sides = LabelSides.of(found.cuts, found.chance, levels, scale)
        told = sides.liked * sides.if_liked + (1 - sides.liked) * sides.if_not
        mean = expected_labels(levels, found.cuts, found.chance, sides.places)
        assert told == pytest.approx(mean, abs=1e-6 * scale.range)

    def test_who_liked_it_is_on_the_liked_side(self, scale):
        levels = rating_levels(scale)
        found = learnt(np.ones(levels.size), [-0.2, 0.3], scale)
        sides = LabelSides.of(found.cuts, found.chance, levels, scale)
        slack = 1e-9 * scale.range
        assert sides.if_liked.min() >= levels[levels >= scale.liked_from][0] - slack
        assert sides.if_not.max() <= levels[levels < scale.liked_from][-1] + slack
