"""Normal noise rounded to whole numbers: exactly so, and from a source that nobody can foresee.

Textbook noise is a real number; a computer's is not, and its gaps have told what it should have
hidden (Mironov 2012). Only a few of all floating-point numbers can come out of a sampler, which
ones depends on what the noise is added to, and the last digits of a sum give it away. The repair of
Holohan & Braghin (2021) hides the gaps; here there are none:

1. The exact answer is a whole number s of steps of a grid, summed up as integers, without error.
2. Added is a whole number: normal noise X, rounded. As s is whole, ``s + round(X) = round(s + X)``.
   So what is told is what an ideal mechanism on real numbers tells, rounded afterwards, and nothing
   that is done afterwards tells more: it costs what the ideal mechanism costs, not a bit more.
3. The rounded noise has exactly the probabilities that it should have, far out in its tails, too.
   A draw is a uniform number of which 64 bits are looked at; they leave an interval of normal
   numbers, nearly always one that rounds to a single whole number. Where it does not, or is so near
   the border that the computer's inverse of the normal distribution could err, 128 more bits are
   drawn, and more if need be, and the border is worked out with as many digits. So no error of that
   inverse is ever seen.
4. Told is the whole number times the grid's step: whatever that multiplication rounds comes after.

What is left is the source. SHAKE-256 of a secret key and a counter cannot be told from chance by
anybody who does not know the key (NIST FIPS 202); numpy's generators can be, from a few outputs.
How long a draw takes is not hidden: a release is made once, where nobody else holds a stopwatch.
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

# Noise of more steps of the grid than that is refused: too many draws would be too near a border.
MOST_STEPS = 2.0**30

# Below so many of 2**64 parts, 64 bits leave an interval in the tail that is not short.
_RARE = np.uint64(2**44)
# By so much at most the normal number of a draw is wrong, in standard deviations. scipy's inverse
# errs by less than 1e-15 of its value (its source says so, and a test looks), which is 2**-46 where
# draws are not rare; half of the interval that 64 bits leave is 2**-47; each product 2**-50.
_MARGIN = 2.0**-42
_MORE_BITS = 128


class NoiseSource:
    """A key, and as many streams of noise as are asked of it, no two of them the same.

    See Also
    --------
    secret, repeatable : the two ways to make one.

    Examples
    --------
    >>> source = NoiseSource.repeatable(7)
    >>> source, source.is_secret
    (NoiseSource(repeatable), False)
    >>> source.stream().rounded_normals(0, 4, 100.0)
    array([ -82,  -84, -121, -122])
    """

    def __init__(self, key: bytes, *, is_secret: bool) -> None:
        self._key = key
        self._n_streams = 0
        self.is_secret = is_secret

    @classmethod
    def secret(cls) -> Self:
        """Return a source that nobody can foresee: its key comes from the operating system."""
        return cls(os.urandom(32), is_secret=True)

    @classmethod
    def repeatable(cls, seed: int) -> Self:
        """Return a source for experiments: who knows the seed can take the noise off again.

        Parameters
        ----------
        seed : int

        Raises
        ------
        RecveilError
            If it is no whole number.
        """
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise RecveilError(
                f"seed is {quoted(seed)}, expected a whole number; give none for noise that is to "
                f"be published",
                code="option.value",
            )
        words = f"recveil: noise that everybody can repeat, by the seed {int(seed)}"
        return cls(hashlib.sha256(words.encode()).digest(), is_secret=False)

    def stream(self) -> "NoiseStream":
        """Return the next stream; the same noise never comes twice out of a source."""
        self._n_streams += 1
        return NoiseStream(self._key, self._n_streams)

    def __repr__(self) -> str:
        return f"NoiseSource({'secret' if self.is_secret else 'repeatable'})"


class NoiseStream:
    """The noise of one query, in numbered tiles, each of which can be drawn on its own.

    Parameters
    ----------
    key : bytes
        Of 32 bytes.
    number : int
        One of its own for each query.
    """

    def __init__(self, key: bytes, number: int) -> None:
        self._start = key + number.to_bytes(8, "little")

    def rounded_normals(self, tile: int, size: int, steps: float) -> NDArray[np.int64]:
        """Return normal numbers, each rounded to the nearest whole one.

        Parameters
        ----------
        tile : int
            Which tile; asking twice gives the same.
        size : int
            How many numbers.
        steps : float
            Their standard deviation before rounding; above 0, and at most 2**30.

        Returns
        -------
        ndarray of int64, shape (size,)
        """
        words = np.frombuffer(self._bytes(tile, 0, 8 * size), "<u8")
        return round_normals(words, steps, partial(self._finer, tile))

    def _finer(self, tile: int, place: int, times: int) -> int:
        size = _MORE_BITS // 8
        return int.from_bytes(self._bytes(tile, place + 1, times * size)[-size:], "little")

    def _bytes(self, tile: int, part: int, size: int) -> bytes:
        # Each number has its place in the input, so that no two inputs are the same.
        source = self._start + tile.to_bytes(8, "little") + part.to_bytes(8, "little")
        return hashlib.shake_256(source).digest(size)


def round_normals(
    words: NDArray[np.uint64], steps: float, finer: Callable[[int, int], int]
) -> NDArray[np.int64]:
    """Turn random bits into normal numbers that are rounded to whole ones, without any error.

    Parameters
    ----------
    words : ndarray of uint64, shape (n,)
        Random bits: the lowest is the sign, the others how much probability lies beyond the
        number, in parts of 2**64.
    steps : float
        Standard deviation before rounding.
    finer : callable
        Takes the place of a word, and 1, 2, ..., and returns 128 more bits for it each time.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    The median of the upper half lies .6745 standard deviations out:

    >>> round_normals(np.array([2**63, 2**63 + 1], np.uint64), 1000.0, lambda place, times: 0)
    array([ 674, -674])
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
    """Return the whole number of steps to which a draw is rounded, with as many bits as it takes.

    Parameters
    ----------
    beyond : int
        How much probability lies beyond the draw, in parts of 2**64, cut off.
    steps : float
    near : int
        Where to look first.
    finer : callable
        Takes 1, 2, ... and returns 128 more bits each time.
    """
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
    """Return the largest whole number that a draw reaches."""
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
    """Say whether a draw is rounded to a whole number or a larger one."""
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
