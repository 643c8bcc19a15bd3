"""The noise has exactly the probabilities that it should have, and cannot be predicted."""

from collections import Counter
from decimal import Decimal, localcontext
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri

from error_assertions import raises
from recveil.methods.synthetic import gaussian_sampler
from recveil.methods.synthetic.gaussian_sampler import MOST_STEPS, NoiseSource, round_normals

STEPS = [0.05, 0.7, 1.0, 3.3, 1_000.0, 2.0**20, MOST_STEPS]


def slow(word: int, steps: float, finer) -> int:
    """The simplest version: the whole number whose borders a draw of 320 bits lies between."""
    with mpmath.workdps(150):
        bits = ((word >> 1) << 256) + (finer(1) << 128) + finer(2)
        beyond = (mpmath.mpf(bits) + mpmath.mpf("0.5")) / mpmath.mpf(2) ** 320
        # erfc is accurate far out; its inverse is found by Newton's steps from a first guess.
        start = -ndtri(float(beyond))
        far = mpmath.findroot(lambda x: mpmath.log(mpmath.ncdf(-x) / beyond), start, tol=1e-100)
        size = int(mpmath.nint(far * steps))
    return -size if word & 1 else size


def no_more(place: int, times: int) -> int:
    raise AssertionError("a sure draw asked for more bits")


class TestExactly:
    @settings(deadline=None, max_examples=60)
    @given(
        st.integers(0, 2**64 - 1) | st.integers(0, 2**20),
        st.sampled_from(STEPS),
        st.lists(st.integers(1, 2**128 - 1), min_size=3, max_size=3),
    )
    def test_as_the_simplest_version(self, word, steps, more):
        def finer(place, times):
            return more[times - 1]

        found = round_normals(np.array([word], np.uint64), steps, finer)
        assert found[0] == slow(word, steps, partial(finer, 0))

    @pytest.mark.parametrize("steps", STEPS)
    def test_every_draw_on_the_exact_path_is_the_fast_one(self, steps, monkeypatch):
        source = NoiseSource.repeatable(5)
        fast = source.stream()
        expected = fast.rounded_normals(3, 300, steps)
        monkeypatch.setattr(gaussian_sampler, "_RARE", np.uint64(2**63))
        assert (fast.rounded_normals(3, 300, steps) == expected).all()

    @pytest.mark.parametrize(("whole", "steps"), [(1, 1.0), (2, 1.0), (1_707, 1_000.0)])
    def test_a_draw_across_a_border_is_settled_by_more_bits(self, whole, steps):
        with mpmath.workdps(100):
            border = mpmath.ncdf(-(mpmath.mpf(whole) - mpmath.mpf("0.5")) / steps)
            parts = int(mpmath.floor(border * 2**64))
            rest = int(mpmath.floor((border * 2**64 - parts) * mpmath.mpf(2) ** 128))
        word = np.array([2 * parts], np.uint64)
        for more, expected in ((0, whole), (rest - 9, whole), (rest + 9, whole - 1)):
            assert round_normals(word, steps, lambda place, times, more=more: more) == expected

    def test_a_draw_that_stays_at_the_border_asks_again(self):
        with mpmath.workdps(150):
            border = mpmath.ncdf(mpmath.mpf("-0.5"))
            bits = int(mpmath.floor(border * mpmath.mpf(2) ** 320))
        asked = []

        def finer(place, times):
            asked.append(times)
            return (bits >> (256 - 128 * times)) % 2**128 if times < 3 else 2**127

        words = np.array([2 * (bits >> 256)], np.uint64)
        assert round_normals(words, 1.0, finer)[0] in (0, 1)
        assert asked == [1, 2, 3]

    def test_no_probability_beyond_at_all_asks_again(self):
        answers = iter([0, 0, 5])
        found = round_normals(np.zeros(1, np.uint64), 10.0, lambda place, times: next(answers))
        with mpmath.workdps(200):
            far = mpmath.ncdf(-(mpmath.mpf(int(found[0])) - mpmath.mpf("0.5")) / 10)
            assert far > mpmath.mpf(5) / mpmath.mpf(2) ** (64 + 3 * 128)
        assert found[0] > 200

    def test_most_draws_need_no_more_bits(self):
        words = np.random.default_rng(1).integers(2**46, 2**64, 10_000, np.uint64)
        assert round_normals(words, 1_000.0, no_more).size == 10_000

    def test_the_inverse_errs_less_than_it_may(self):
        """scipy says 1e-15 of the value; what is allowed for is 2**-42 in all."""
        rng = np.random.default_rng(2)
        tails = np.concatenate([2.0 ** -rng.uniform(1, 20, 1_000), 0.5 - 2.0 ** -np.arange(3, 40)])
        with mpmath.workdps(40):
            off = [
                abs((mpmath.ncdf(float(x)) - float(p)) / mpmath.npdf(float(x)))
                for p, x in zip(tails, ndtri(tails), strict=True)
            ]
        assert max(off) < 2**-46

    @pytest.mark.parametrize("x", ["0", "0.001", "1", "5", "17"])
    def test_the_tail_by_its_series(self, x):
        with localcontext(prec=84), mpmath.workdps(100):
            found = mpmath.mpf(str(gaussian_sampler._tail_beyond(Decimal(x))))
            assert abs(found - mpmath.ncdf(-mpmath.mpf(x))) < mpmath.mpf(10) ** -75


class TestDistribution:
    @pytest.mark.parametrize("steps", [0.3, 1.0, 4.0])
    def test_each_number_as_often_as_it_should_be(self, steps):
        draws = NoiseSource.repeatable(11).stream().rounded_normals(0, 200_000, steps)
        reach = int(2.5 * steps)
        seen = np.bincount(
            np.clip(draws, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3
        )
        borders = (np.arange(-reach - 1, reach + 1) + 0.5) / steps
        share = np.diff(stats.norm.cdf(borders), prepend=0, append=1)
        assert stats.chisquare(seen, share * 200_000).pvalue > 1e-3

    def test_as_opendp_draws(self):
        """Its discrete normal noise is another one, which nothing distinguishes at eight steps."""
        import opendp.prelude as dp

        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        theirs = dp.m.make_gaussian(*space, scale=8.0)([0] * 20_000)
        ours = NoiseSource.repeatable(12).stream().rounded_normals(0, 20_000, 8.0)
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-4

    def test_finely_it_is_the_normal_distribution(self):
        draws = NoiseSource.repeatable(13).stream().rounded_normals(0, 200_000, 2.0**20) / 2.0**20
        assert stats.kstest(draws, "norm").pvalue > 1e-3


class TestSource:
    def test_what_is_secret_is_another_each_time(self):
        one, other = (
            NoiseSource.secret().stream().rounded_normals(0, 99, 1e6).tolist() for _ in range(2)
        )
        assert one != other

    def test_a_seed_repeats_it(self):
        for seed in (0, 7, -1, 2**70, np.int64(7)):
            one, other = (
                NoiseSource.repeatable(seed).stream().rounded_normals(4, 99, 1e6) for _ in range(2)
            )
            assert (one == other).all()

    def test_published_bytes_for_a_seed_stay(self):
        draws = NoiseSource.repeatable(7).stream().rounded_normals(0, 4, 100.0)
        assert draws.tolist() == [-82, -84, -121, -122]

    def test_streams_tiles_and_seeds_have_nothing_in_common(self):
        draws = []
        for seed in (7, 8):
            source = NoiseSource.repeatable(seed)
            streams = [source.stream(), source.stream()]
            draws += [s.rounded_normals(tile, 1_000, 1e6) for s in streams for tile in (0, 1)]
        common = np.corrcoef(draws)[np.triu_indices(len(draws), 1)]
        assert np.abs(common).max() < 0.15
        values = Counter(np.concatenate(draws).tolist())
        assert max(values.values()) < 5

    @pytest.mark.parametrize("seed", [None, 1.0, "7", True])
    def test_a_seed_that_is_none_is_refused(self, seed):
        with raises("option.value") as caught:
            NoiseSource.repeatable(seed)
        assert "seed" in str(caught.value)

    def test_it_shows_no_key(self):
        source = NoiseSource.secret()
        assert repr(source) == "NoiseSource(secret)"
        assert source._key.hex() not in repr(source.stream())
