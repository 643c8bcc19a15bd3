import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.methods import (
    LabelNoise,
    RandomizedResponse,
    estimate_shares,
    histogram_recovery,
    inherent_privacy,
    privacy_loss,
    reconstruct_distribution,
)
from recveil.methods.baselines import perturbation
from recveil.ratings import Ratings, RatingScale

FROM_MINUS_ONE_TO_ONE = LabelNoise("uniform", scale=1 / 3**0.5)


def slow_round(noisy, noise, grid, shares):
    """One round, value by value, as Bayes' rule says it."""
    following = [0.0] * len(grid)
    for value in noisy:
        likely = [float(noise.density(value - x)) * f for x, f in zip(grid, shares, strict=True)]
        for place, part in enumerate(likely):
            following[place] += part / sum(likely) / len(noisy)
    return following


def log_likelihood(noisy, noise, grid, shares):
    return float(
        np.log(noise.density(np.asarray(noisy)[:, None] - np.asarray(grid)) @ shares).sum()
    )


class TestByHand:
    # Noise from -1 to 1 around 0 and 1: below 0 only 0 explains a value, above 1 only 1 does, and
    # between them both do, equally well. Three can only be 0, one can only be 1, one is open.
    noisy, grid = [-0.5, -0.25, -0.1, 0.5, 1.5], [0, 1]

    def test_one_round(self):
        # From equal shares, the open one counts half for each: (3 + 1/2) / 5.
        found = reconstruct_distribution(
            self.noisy, FROM_MINUS_ONE_TO_ONE, self.grid, max_iterations=1
        )
        assert found.tolist() == pytest.approx([0.7, 0.3])

    def test_two_rounds(self):
        # The open one now counts 0.7 for 0: (3 + 0.7) / 5.
        found = reconstruct_distribution(
            self.noisy, FROM_MINUS_ONE_TO_ONE, self.grid, max_iterations=2
        )
        assert found.tolist() == pytest.approx([0.74, 0.26])

    def test_the_end(self):
        # p = (3 + p) / 5 at p = 3/4: the open one reveals nothing.
        found = reconstruct_distribution(self.noisy, FROM_MINUS_ONE_TO_ONE, self.grid)
        assert found.tolist() == pytest.approx([0.75, 0.25], abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(
    kind=st.sampled_from(["gaussian", "uniform"]),
    scale=st.floats(0.3, 2),
    n=st.integers(1, 40),
    seed=st.integers(0, 1000),
)
def test_each_round_is_bayes_rule_and_makes_the_values_likelier(kind, scale, n, seed):
    rng, grid, noise = np.random.default_rng(seed), np.arange(1, 6), LabelNoise(kind, scale)
    noisy = rng.integers(1, 6, n) + noise.draw(n, rng)
    shares = np.full(5, 0.2)
    for done in range(1, 4):
        expected = slow_round(noisy, noise, grid, shares)
        found = reconstruct_distribution(noisy, noise, grid, max_iterations=done, tolerance=0)
        assert found == pytest.approx(expected, abs=1e-9)
        assert found.sum() == pytest.approx(1)
        assert (
            log_likelihood(noisy, noise, grid, found)
            >= log_likelihood(noisy, noise, grid, shares) - 1e-9
        )
        shares = found


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
@pytest.mark.parametrize("n", [20_000, 100_000])  # the latter are gathered into intervals
def test_recovers_a_known_distribution(kind, n):
    rng, noise = np.random.default_rng(3), LabelNoise(kind, 0.8)
    original = np.repeat(np.arange(1, 6), np.array([5, 10, 25, 40, 20]) * n // 100)
    found = histogram_recovery(original, original + noise.draw(n, rng), noise, np.arange(1, 6))
    assert found.original.tolist() == [0.05, 0.1, 0.25, 0.4, 0.2]
    assert found.reconstructed_distance < 0.03 < 0.09 < found.noisy_distance


def test_intervals_hardly_change_the_result(monkeypatch):
    rng, noise = np.random.default_rng(3), LabelNoise("uniform", 0.8)
    noisy = rng.integers(1, 6, 30_000) + noise.draw(30_000, rng)
    exact = reconstruct_distribution(noisy, noise, np.arange(1, 6))
    monkeypatch.setattr(perturbation, "_MOST_VALUES", 1000)
    assert reconstruct_distribution(noisy, noise, np.arange(1, 6)) == pytest.approx(exact, abs=1e-3)


def test_the_histogram_of_no_noise_is_kept():
    original = np.repeat([1.0, 2.0, 3.0], [6, 1, 3])
    found = histogram_recovery(original, original[::-1], LabelNoise("gaussian", 0.01), [1, 2, 3])
    assert found.noisy_distance == 0
    assert found.reconstructed_distance == pytest.approx(0, abs=1e-12)


def test_what_the_noise_cannot_have_made():
    with raises("argument.value") as caught:
        reconstruct_distribution([0.5, 2.5], FROM_MINUS_ONE_TO_ONE, [0, 1])
    assert "2.5" in str(caught.value)
    with raises("argument.shape"):
        reconstruct_distribution([], FROM_MINUS_ONE_TO_ONE, [0, 1])
    with raises("argument.shape"):
        reconstruct_distribution([0.5], FROM_MINUS_ONE_TO_ONE, [])


def published_by(truth_probability, values, scale):
    ratings = Ratings.from_columns(
        np.arange(len(values)), np.zeros(len(values)), values, scale=scale
    )
    release = RandomizedResponse(truth_probability, seed=1).anonymize(ratings)
    (block,) = release.published.blocks()
    return block.values, np.asarray(values)[release.private.groups.members]


class TestRandomizedResponse:
    def test_warners_estimate_by_hand(self):
        # Warner 1965, p = 0.75: 60 of 100 say yes, so 0.6 = 0.75 s + 0.25 (1 - s), and s = 0.7.
        assert estimate_shares([0.6, 0.4], 0.75).tolist() == pytest.approx([0.7, 0.3])

    @pytest.mark.parametrize("scale", [RatingScale(1, 5, 1), RatingScale(0, 0.4, 0.1)])
    def test_ratings_stay_with_the_probability_and_else_become_another_level(self, scale):
        raw = np.repeat(scale.levels, [4000, 1000, 1000, 2000, 2000])
        published, before = published_by(0.6, raw, scale)
        assert np.isin(published, scale.levels).all()
        # 10,000 draws: standard errors of at most 0.005; those of an estimate are twice as large.
        assert np.mean(published == before) == pytest.approx(0.6, abs=0.025)
        counts = np.array([np.sum(published == level) for level in scale.levels])
        of_lowest = np.array(
            [np.sum(published[before == raw[0]] == level) for level in scale.levels]
        )
        assert of_lowest[1:] / 4000 == pytest.approx([0.1] * 4, abs=0.025)
        shares = estimate_shares(counts / counts.sum(), 0.6)
        assert shares == pytest.approx([0.4, 0.1, 0.1, 0.2, 0.2], abs=0.05)

    def test_a_continuous_scale(self):
        published, before = published_by(0.6, np.full(500, 2.0), RatingScale(-10, 10))
        assert np.mean(published == before) == pytest.approx(0.6, abs=0.11)
        assert -10 <= published.min() < -9
        assert 9 < published.max() <= 10

    @pytest.mark.parametrize("probability", [0, 1, -0.2, float("nan"), "often"])
    def test_what_is_no_probability_is_refused(self, probability):
        with raises("argument.value"):
            published_by(probability, [1.0, 5.0], RatingScale(1, 5, 1))
        with raises("argument.value"):
            estimate_shares([0.5, 0.5], probability)

    def test_what_cannot_be_estimated_is_refused(self):
        with raises("argument.value"):
            estimate_shares([0.5, 0.5], 0.5)
        with raises("argument.shape"):
            estimate_shares([1.0], 0.7)


class TestPrivacyByEntropy:
    """Agrawal & Aggarwal 2001."""

    @pytest.mark.parametrize("width", [0.5, 1, 7])
    def test_uniform_noise_has_the_privacy_of_its_width(self, width):
        assert LabelNoise("uniform", width / 12**0.5).privacy == pytest.approx(width)

    def test_gaussian_noise_in_closed_form(self):
        noise = LabelNoise("gaussian", 0.7)
        assert noise.privacy == pytest.approx(0.7 * (2 * np.pi * np.e) ** 0.5)

    def test_the_example_of_the_paper(self):
        # Equally likely from 0 to 1 and from 4 to 5: h = 1 bit. With noise from -1 to 1, the
        # published value reveals the interval, 1 bit, and more: the sum of a value from 0 to 1 and
        # the noise has a density of 1/2 in the middle half, and two ramps of a quarter each, so
        # that its entropy is 1 + 1 / (4 ln 2), of which 1 is that of the noise.
        assert inherent_privacy([0.5, 0, 0, 0, 0.5]) == pytest.approx(2)
        middles = (np.arange(100) + 0.5) / 100
        grid = np.append(middles, 4 + middles)
        loss = privacy_loss(FROM_MINUS_ONE_TO_ONE, grid, np.full(200, 1 / 200))
        assert loss == pytest.approx(1 - 2 ** -(1 + 1 / (4 * np.log(2))), abs=2e-3)

    @pytest.mark.parametrize("scale", [0.3, 1, 4])
    def test_a_gaussian_with_gaussian_noise_in_closed_form(self, scale):
        # I = ln(1 + s²) / 2 for a signal-to-noise ratio of s, so the loss is 1 - 1 / √(1 + s²).
        grid = np.linspace(-6, 6, 241)
        shares = np.exp(-(grid**2) / 2)
        loss = privacy_loss(LabelNoise("gaussian", scale), grid, shares / shares.sum())
        assert loss == pytest.approx(1 - (1 + 1 / scale**2) ** -0.5, abs=1e-4)

    @pytest.mark.parametrize("kind", ["gaussian", "uniform"])
    def test_the_ends(self, kind):
        levels, shares = [1, 2, 3, 4, 5], [0.1, 0.1, 0.2, 0.4, 0.2]
        assert privacy_loss(LabelNoise(kind, 1e-3), levels, shares) == pytest.approx(
            1 - 1 / inherent_privacy(shares)
        )
        assert privacy_loss(LabelNoise(kind, 1e3), levels, shares) < 0.01
        assert privacy_loss(LabelNoise(kind, 1), levels, [0, 0, 1, 0, 0]) == pytest.approx(0)

    def test_what_is_refused(self):
        noise = LabelNoise("gaussian", 1)
        with raises("argument.shape"):
            privacy_loss(noise, [1, 2], [1.0])
        for shares in ([0.5, 0.6], [1.5, -0.5], [[1.0]]):
            with raises("argument.value"):
                inherent_privacy(shares)
