"""How likely chance explains what ids contain."""

import math

_MOST = 50


def is_no_chance(n: int, n_expected: float, share: float) -> bool:
    """Return whether chance has so many events, or more, in fewer tables than a share.

    Examples
    --------
    >>> is_no_chance(1, 0.01, 0.05), is_no_chance(1, 0.2, 0.05), is_no_chance(6, 1.5, 0.05)
    (True, False, True)
    >>> is_no_chance(2, 0.0, 0.05), is_no_chance(2, 1e300, 0.05)
    (True, False)
    """
    if not n_expected:
        return n > 0
    # By their logarithms, as powers of many expected events are too large.
    log = math.log(n_expected)
    fewer = sum(
        math.exp(at * log - n_expected - math.lgamma(at + 1)) for at in range(min(n, _MOST))
    )
    return n > 0 and 1 - fewer < share


def divergence(n: int, of: int, mean: float) -> float:
    """Return how unlikely n events of so many are, as a negative logarithm (Chernoff's bound).

    Examples
    --------
    >>> round(divergence(4, 4, 1 / 60) / math.log(60), 6), divergence(1, 4, 0.5)
    (4.0, 0.0)
    """
    share = n / of
    if mean >= share:
        return 0.0
    unlikely = share * math.log(share / mean) if mean else math.inf
    if share < 1:
        unlikely += (1 - share) * math.log((1 - share) / (1 - mean))
    return of * unlikely
