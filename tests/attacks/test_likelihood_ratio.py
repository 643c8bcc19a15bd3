"""Who is in a release, by how releases with and without them differ."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks.membership.shadow_models import (
    area_over_clusters,
    check_shadows,
    infer_members,
    likelihood_ratios,
    shuffle_membership,
)
from recveil.attacks.statistics import area_under_curve


def halves(n_people, n_pairs, seed=0):
    """Who is in which release: half of the users, then the other half, again and again."""
    first = np.random.default_rng(seed).permuted(
        np.tile(np.arange(n_people)[:, None] % 2 == 0, n_pairs), axis=0
    )
    return np.stack([first, ~first], axis=-1).reshape(n_people, -1)


class TestRatios:
    def test_they_are_those_of_normal_scores_with_one_spread(self):
        """Where all users are moved alike and nothing is pulled, the ratio is the textbook's."""
        inside = halves(300, 100)
        rng = np.random.default_rng(1)
        own = rng.normal(0, 3, 300)[:, None]  # a user's typical score says nothing
        scores = own + 0.8 * inside + rng.normal(size=inside.shape)
        ratio = likelihood_ratios({"s": scores}, inside).values[..., 1]
        expected = 0.8 * (scores - own - 0.4)
        assert np.corrcoef(ratio.ravel(), expected.ravel())[0, 1] > 0.98
        assert abs(np.polyfit(expected.ravel(), ratio.ravel(), 1)[0] - 1) < 0.1

    def test_a_pair_is_not_held_against_itself(self):
        inside = halves(20, 6)
        scores = np.random.default_rng(1).normal(size=inside.shape)
        moved = scores.copy()
        moved[:, 4] += 100.0  # however far: the other one of the pair does not know of it
        before, after = (likelihood_ratios({"s": s}, inside).values for s in (scores, moved))
        assert np.array_equal(before[:, 5], after[:, 5])
        assert not np.array_equal(before[:, 6], after[:, 6])

    def test_what_is_the_same_in_all_releases_is_left_out(self):
        inside = halves(20, 4)
        scores = {
            "same": np.tile(np.arange(20.0)[:, None] / 3, 8),
            "nothing": np.zeros((20, 8)),
            "other": np.random.default_rng(1).normal(size=(20, 8)),
        }
        assert likelihood_ratios(scores, inside).names == ("other",)

    def test_a_score_that_never_moves_by_chance_is_no_fault(self):
        """Of a small regular table, most scores are the same in all releases."""
        inside = halves(40, 6)
        scores = {"sure": np.zeros(inside.shape), "plain": 1.0 * inside}
        scores["sure"][0] = 5 * inside[0]
        result = infer_members(likelihood_ratios(scores, inside), inside)
        assert 0.9 < result.auc.rate <= 1

    def test_scores_without_differences_reveal_nothing(self):
        inside = halves(20, 4)
        result = infer_members(likelihood_ratios({"same": np.ones((20, 8))}, inside), inside)
        assert result.auc.rate == 0.5
        assert result.tpr_at_5.rate == 0

    @pytest.mark.parametrize("n", [0, 6, 9, -8])
    def test_too_few_are_refused(self, n):
        with raises("option.value") as caught:
            check_shadows(n)
        assert "shadows" in str(caught.value)


class TestMembers:
    def test_planted_scores_reveal_members(self):
        inside = halves(200, 16)
        rng = np.random.default_rng(1)
        scores = {f"{place}": inside + rng.normal(size=inside.shape) for place in range(3)}
        result = infer_members(likelihood_ratios(scores, inside), inside)
        one = infer_members(likelihood_ratios({"0": scores["0"]}, inside), inside)
        assert 0.72 < one.auc.rate < 0.79  # of normal scores one spread apart: 0.76
        assert result.auc.rate > 0.86  # three of them: 0.89
        assert result.tpr_at_1.rate < result.tpr_at_5.rate < 1
        assert result.tpr_at_5.low > 0.2

    @pytest.mark.parametrize("seed", range(3))
    def test_random_scores_reveal_nothing(self, seed):
        inside = halves(200, 16, seed)
        rng = np.random.default_rng(seed)
        scores = {f"{place}": rng.normal(size=inside.shape) for place in range(20)}
        result = infer_members(likelihood_ratios(scores, inside), inside)
        assert abs(result.auc.rate - 0.5) < 0.03
        assert result.tpr_at_5.rate < 0.08

    def test_random_labels_reveal_nothing_of_planted_scores(self):
        inside = halves(200, 16)
        scores = {"s": 4 * inside + np.random.default_rng(1).normal(size=inside.shape)}
        lot = shuffle_membership(inside, 0)
        result = infer_members(likelihood_ratios(scores, lot), lot)
        assert result.auc.low < 0.5 < result.auc.high

    def test_random_labels_put_all_users_into_one_of_each_pair(self):
        inside = halves(50, 4)
        lot = shuffle_membership(inside, 0)
        assert (lot[:, ::2] ^ lot[:, 1::2]).all()
        assert 0.3 < (lot == inside).mean() < 0.7
        assert np.array_equal(lot, shuffle_membership(inside, 0))


class TestArea:
    @settings(max_examples=30, deadline=None)
    @given(st.integers(2, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
    def test_it_is_the_plain_one(self, n_people, n_pairs, seed):
        inside = halves(n_people, n_pairs, seed)
        scores = np.random.default_rng(seed).integers(0, 5, inside.shape).astype(float)
        area = area_over_clusters(scores, inside)
        plain = area_under_curve(scores[inside], scores[~inside])
        assert area.rate == pytest.approx(plain.rate)
        assert area.low <= area.rate <= area.high
        assert area.trials == n_people

    def test_repeated_scores_reveal_no_more(self):
        """Of a hundred pairs, ten times the same ten, the interval is about that of ten."""
        inside = halves(60, 10)
        scores = inside + np.random.default_rng(1).normal(size=inside.shape)
        once = area_over_clusters(scores, inside)
        again = area_over_clusters(np.tile(scores, 10), np.tile(inside, 10))
        assert again.high - again.low > 0.8 * (once.high - once.low)

    def test_it_covers(self):
        """Of 200 tables of noise, the interval holds one half about as often as it says."""
        inside, rng = halves(40, 8), np.random.default_rng(1)
        areas = [area_over_clusters(rng.normal(size=inside.shape), inside) for _ in range(200)]
        assert np.mean([area.low <= 0.5 <= area.high for area in areas]) > 0.9

    def test_without_outsiders_nothing_is_measured(self):
        area = area_over_clusters(np.zeros((2, 2)), np.ones((2, 2), bool))
        assert np.isnan(area.rate)
        assert area.trials == 0
