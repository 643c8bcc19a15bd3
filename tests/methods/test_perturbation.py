import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.methods import LabelNoise, histogram_recovery, reconstruct_distribution
from recveil.methods.baselines import perturbation

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
        # p = (3 + p) / 5 at p = 3/4: the open one tells nothing.
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
