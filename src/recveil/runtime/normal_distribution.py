"""Tails of the normal distribution to nearly full precision, in plain Python.

Checking a guarantee of differential privacy needs these three functions, and no library for them.
"""

import math
from statistics import NormalDist

_STANDARD = NormalDist()
# From here on the series is exact to machine precision, while the function itself nears its
# minimum.
_FAR = 10.0
_TERMS = 15


def share_below(x: float) -> float:
    """Return the cumulative distribution function of the normal distribution at x.

    Examples
    --------
    >>> share_below(0.0), f"{share_below(-10.0):.6e}"
    (0.5, '7.619853e-24')
    """
    return math.erfc(-x / math.sqrt(2)) / 2


def point_at(share: float) -> float:
    """Return the quantile of the normal distribution for a share.

    Examples
    --------
    >>> point_at(0.5), round(point_at(1e-6), 6)
    (0.0, -4.753424)
    """
    return _STANDARD.inv_cdf(share)


def tail_over_density(x: float) -> float:
    """Return the upper tail at x divided by the density at x, which does not underflow.

    Examples
    --------
    >>> round(tail_over_density(0.0), 6), round(tail_over_density(1e6) * 1e6, 6)
    (1.253314, 1.0)
    """
    scaled = x / math.sqrt(2)
    if scaled < _FAR:
        # The square is split in two parts, the first exact, since rounding it would cost digits.
        coarse = math.floor(scaled * 1024) / 1024
        rest = (scaled - coarse) * (scaled + coarse)
        whole = math.exp(coarse * coarse) * math.exp(rest) * math.erfc(scaled)
        return math.sqrt(math.pi / 2) * whole
    # Abramowitz & Stegun (1964), 7.1.23; the terms decrease until long after they are negligible.
    term = total = 1.0
    for n in range(1, _TERMS):
        term *= -(2 * n - 1) / (2 * scaled * scaled)
        total += term
    return total / x
