"""Gaussian noise rounded exactly to integers, from a cryptographic source.

Textbook noise is a real number. Floating-point samplers reach only some numbers, which depend on
the exact answer, so the last digits of a noisy sum can disclose what noise should hide (Mironov
2012). Holohan & Braghin (2021) hide these gaps; here there are none:

1. The exact answer is an integer s of steps of a grid, a sum of integers without error.
2. The noise is an integer: normal noise X, rounded. As s is an integer,
   ``s + round(X) = round(s + X)``. So the answer is that of an ideal mechanism on real numbers,
   postprocessed by rounding, and has exactly its privacy loss.
3. The rounded noise has exactly the right probabilities, far out in its tails too. A draw is a
   uniform number of which 64 bits are read; they leave an interval of normal numbers, nearly always
   one that rounds to a single integer. If not, or if it is so near a border that the floating-point
   inverse of the normal distribution could err, 128 more bits are drawn, and more if needed, and
   the border is computed with as many digits. So no error of that inverse is ever visible.
4. The answer is the integer times the grid's step; rounding of this product is postprocessing.

The remaining assumption is the source. SHAKE-256 of a secret key and a counter is
indistinguishable from random without the key (NIST FIPS 202); numpy's generators are not, after a
few outputs. The duration of a draw is not hidden: a release is made once, where no adversary
measures time.
"""

import hashlib
import os
from collections.abc import Callable
from decimal import Decimal, getcontext, localcontext
from functools import cache, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from recveil.runtime.errors import RecveilError, quoted

# Noise of more steps of the grid is rejected: too many draws would be near a border.
MOST_STEPS = 2.0**30

# Below this many parts of 2**64, 64 bits leave a long interval in the tail.
_RARE = np.uint64(2**44)
# Bound of a draw's error, in standard deviations. scipy's inverse errs by less than 1e-15 of its
# value (according to its source, and tested), which is 2**-46 where draws are not rare; half of the
# interval that 64 bits leave is 2**-47; each product 2**-50.
_MARGIN = 2.0**-42
_MORE_BITS = 128


class NoiseSource:
    """A key and its streams of noise, no two of them equal."""

    def __init__(self, key: bytes, *, is_secret: bool) -> None:
        self._key = key
        self._n_streams = 0
        self.is_secret = is_secret

    @classmethod
    def secret(cls) -> Self:
        """Return an unpredictable source, with a key from the operating system."""
        return cls(os.urandom(32), is_secret=True)

    @classmethod
    def repeatable(cls, seed: int) -> Self:
        """Return a source for experiments: an adversary who knows the seed can remove the noise."""
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise RecveilError(
                f"seed is {quoted(seed)}, expected a whole number; give none for noise that is to "
                f"be published",
                code="option.value",
            )
        words = f"recveil: noise that everybody can repeat, by the seed {int(seed)}"
        return cls(hashlib.sha256(words.encode()).digest(), is_secret=False)

    def stream(self) -> "NoiseStream":
        """Return the next stream; no two streams of a source are equal."""
        self._n_streams += 1
        return NoiseStream(self._key, self._n_streams)

    def __repr__(self) -> str:
        return f"NoiseSource({'secret' if self.is_secret else 'repeatable'})"


class NoiseStream:
    """The noise of one query, in numbered tiles that can be drawn independently."""

    def __init__(self, key: bytes, number: int) -> None:
        self._start = key + number.to_bytes(8, "little")

    def rounded_normals(self, tile: int, size: int, steps: float) -> NDArray[np.int64]:
        """Return rounded normal numbers of deviation `steps` (0 to 2**30), the same for a tile."""
        words = np.frombuffer(self._bytes(tile, 0, 8 * size), "<u8")
        return round_normals(words, steps, partial(self._finer, tile))

    def _finer(self, tile: int, place: int, times: int) -> int:
        size = _MORE_BITS // 8
        return int.from_bytes(self._bytes(tile, place + 1, times * size)[-size:], "little")

    def _bytes(self, tile: int, part: int, size: int) -> bytes:
        # Each number has its position in the input, so no two inputs are equal.
        source = self._start + tile.to_bytes(8, "little") + part.to_bytes(8, "little")
        return hashlib.shake_256(source).digest(size)


def round_normals(
    words: NDArray[np.uint64], steps: float, finer: Callable[[int, int], int]
) -> NDArray[np.int64]:
    """Turn random bits into normal numbers that are rounded to whole ones, without any error.

    The lowest bit of a word is the sign, the others the probability beyond the number, in parts of
    2**64. `steps` is the standard deviation; `finer` returns 128 more bits for a word each time.
    """
    beyond = words >> np.uint64(1)
    far = ndtri((beyond + 0.5) * 2.0**-64)
    far *= -steps
    whole = np.rint(far)
    far -= whole
    unsure = (np.abs(far, out=far) > 0.5 - _MARGIN * steps) | (beyond < _RARE)
    rounded = whole.astype(np.int64)
    for place in np.flatnonzero(unsure).tolist():
        near, more = int(rounded[place]), partial(finer, place)
        rounded[place] = _round_exactly(int(beyond[place]), steps, near, more)
    # The lowest bit is 0 or 1; minus it, as bits, is 0 or all ones: x or -x without a branch.
    signs = -(words & np.uint64(1)).astype(np.int64)
    return (rounded ^ signs) - signs


def _round_exactly(beyond: int, steps: float, near: int, finer: Callable[[int], int]) -> int:
    """Return the integer to which a draw is rounded, with as many bits as needed."""
    bits, times = 64, 0
    while True:
        bits, times = bits + _MORE_BITS, times + 1
        beyond = (beyond << _MORE_BITS) + finer(times)
        with localcontext(prec=20 + bits // 3):
            # The draw lies between beyond and beyond + 1; one more on each side is for borders,
            # which are right to less than that. No border between the two: that is the answer.
            whole = _reached(beyond + 2, bits, steps, near)
            if beyond > 1 and not _reaches(whole + 1, beyond - 1, bits, steps):
                return whole


def _reached(beyond: int, bits: int, steps: float, near: int) -> int:
    """Return the largest integer that a draw reaches."""
    low, high, width = near, near + 1, 1
    while not _reaches(low, beyond, bits, steps):
        low, width = low - width, 2 * width
    while _reaches(high, beyond, bits, steps):
        high, width = high + width, 2 * width
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _reaches(middle, beyond, bits, steps) else (low, middle)
    return max(low, 0)


def _reaches(whole: int, beyond: int, bits: int, steps: float) -> bool:
    """Return whether a draw is rounded to at least an integer."""
    if whole <= 0:
        return True
    border = (whole - Decimal("0.5")) / Decimal(steps)
    if border * border > 2 * bits:  # there is less than exp(-bits) beyond it
        return False
    return Decimal(beyond) <= Decimal(2) ** bits * _tail_beyond(border)


def _tail_beyond(x: Decimal) -> Decimal:
    """Return the normal probability beyond x >= 0, to as many digits as the context has, less 10.

    Between 0 and x lies the density at x times ``x + x**3 / 3 + x**5 / (3 * 5) + ...``, a sum
    without any differences.
    """
    term = total = x
    number = 1
    smallest = Decimal(10) ** -getcontext().prec
    while term > smallest * total:
        number += 2
        term *= x * x / number
        total += term
    density = (-x * x / 2).exp() / _root_of_two_pi(getcontext().prec)
    return Decimal("0.5") - density * total


@cache
def _root_of_two_pi(digits: int) -> Decimal:
    """Return the root of two pi, pi by Machin's formula: 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan_of_one_over(number: int) -> Decimal:
        power = total = Decimal(1) / number
        odd, sign = 1, 1
        while power > Decimal(10) ** -digits:
            power /= number * number
            odd, sign = odd + 2, -sign
            total += sign * power / odd
        return total

    return (2 * (16 * arctan_of_one_over(5) - 4 * arctan_of_one_over(239))).sqrt()
