"""How likely chance explains what ids contain."""

from scipy import special


def is_no_chance(n: int, n_expected: float, share: float) -> bool:
    """Return whether chance has so many events, or more, in fewer tables than a share.

    Examples
    --------
    >>> is_no_chance(1, 0.01, 0.05), is_no_chance(1, 0.2, 0.05), is_no_chance(6, 1.5, 0.05)
    (True, False, True)
    """
    return n > 0 and bool(special.pdtrc(n - 1, n_expected) < share)
