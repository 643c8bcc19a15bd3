"""normal: the tails of the normal distribution to nearly all digits of a number, by Python alone.

Whoever checks a promise of differential privacy needs these three, and no further library for them.
"""

import math
from statistics import NormalDist

_STANDARD = NormalDist()
# From here on the series is as exact as a number holds, and the function itself near its smallest.
_FAR = 10.0
_TERMS = 15


def share_below(x: float) -> float:
    """Return the share of the normal distribution that lies below x.

    Examples
    --------
    >>> share_below(0.0), f"{share_below(-10.0):.6e}"
    (0.5, '7.619853e-24')
    """
    return math.erfc(-x / math.sqrt(2)) / 2


def point_at(share: float) -> float:
    """Return the point below which such a share of the normal distribution lies.

    Parameters
    ----------
    share : float
        Between 0 and 1, both left out.

    Examples
    --------
    >>> point_at(0.5), round(point_at(1e-6), 6)
    (0.0, -4.753424)
    """
    return _STANDARD.inv_cdf(share)


def tail_over_density(x: float) -> float:
    """Return the share that lies above x over the density at x, which never becomes small.

    Parameters
    ----------
    x : float
        0 or more.

    Examples
    --------
    >>> round(tail_over_density(0.0), 6), round(tail_over_density(1e6) * 1e6, 6)
    (1.253314, 1.0)
    """
    scaled = x / math.sqrt(2)
    if scaled < _FAR:
        # The square is taken in two parts, the first of them exact: rounding it would cost digits.
        coarse = math.floor(scaled * 1024) / 1024
        rest = (scaled - coarse) * (scaled + coarse)
        whole = math.exp(coarse * coarse) * math.exp(rest) * math.erfc(scaled)
        return math.sqrt(math.pi / 2) * whole
    # Abramowitz & Stegun (1964), 7.1.23; the terms fall until long after they stop to count.
    term = total = 1.0
    for n in range(1, _TERMS):
        term *= -(2 * n - 1) / (2 * scaled * scaled)
        total += term
    return total / x
