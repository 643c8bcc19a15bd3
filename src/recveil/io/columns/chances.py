"""How likely chance explains what ids contain."""

import math

_MOST = 50


def is_no_chance(n: int, n_expected: float, share: float) -> bool:
    """Return whether chance has so many events, or more, in fewer tables than a share.

    Examples
    --------
    >>> is_no_chance(1, 0.01, 0.05), is_no_chance(1, 0.2, 0.05), is_no_chance(6, 1.5, 0.05)
    (True, False, True)
    """
    fewer = sum(n_expected**at / math.factorial(at) for at in range(min(n, _MOST)))
    return n > 0 and 1 - math.exp(-n_expected) * fewer < share
