"""Threshold: how popular an item must be by its noisy sum, that its name may be told.

Where no public catalogue says which items there are, that an item is named at all tells that
somebody rated it. So the name of an item is told only if its noisy sum passes a threshold that an
item of a single person hardly ever passes: set union as of Gopi et al. (2020), with weights and
normal noise.

*Each person* gives to each of their n items ``weight / sqrt(n)`` and nothing to others: a vector no
longer than `weight`. Somebody with more than `most_items` gives to so many of them, chosen without
regard to what other people rated. To the sum of every item that anybody gave to, normal noise of
standard deviation `sigma` is added, and the item is named if that is at least the threshold.

*Proof.* Let a table with a person in it have items to which they alone gave, t of n. Call it an
accident if any of these is named. (1) But for accidents, the t items leave no trace: everything
that is told is what a mechanism tells that knows only the items of the other people, and adds noise
to their sums. That one is a sum of bounded vectors with normal noise, whose price stands in the
ledger: it keeps (epsilon, delta'). (2) The accident depends only on the noise of the t items, of
which that mechanism knows nothing. Let its probability be p.

With the person: whatever is told is told without accident, or with one: at most
``exp(epsilon) * without + delta' + p``. Without the person, no output names any of the t items, and
of the outputs that name none of them the table with the person tells each ``1 - p`` times as often
as that other mechanism: so ``(1 - p) * without <= exp(epsilon) * with + (1 - p) * delta'``, and
``without <= exp(epsilon) * with + delta' + p``. Both ways (epsilon, delta' + p).

*The accident.* One of t sums passes r with probability ``1 - ndtr((r - weight / sqrt(n)) / sigma)
** t``, which is largest for t = n. The threshold is the largest r, over all n that a person can
have, at which that is `delta`.
"""

import math

import numpy as np
from scipy.special import ndtri

from recveil.errors import RecveilError, quoted

_MOST_ITEMS = 10**7
# So much higher, that rounding the formula never makes it lower.
_ROUNDED_UP = 1 + 1e-12


def threshold(
    sigma: float, delta: float, most_items: int, *, weight: float = 1.0, grid: float = 0.0
) -> float:
    """Return how high an item's noisy sum must be, at least, that its name may be told.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise of an item's sum.
    delta : float
        With what probability somebody may be given away by an item that they alone rated: the
        ledger's `threshold_delta`.
    most_items : int
        To how many items one person gives at most; public.
    weight : float
        The length of what one person gives to these sums.
    grid : float
        The step on which sums and noise lie, if on any: rounding moves noise by half of it.

    Raises
    ------
    RecveilError
        If any is no such number.

    Examples
    --------
    With one item a person, an item of one person is named in one of a million cases where it passes
    4.75 standard deviations:

    >>> round(threshold(10.0, 1e-6, 1), 2)
    48.53
    >>> round(threshold(10.0, 1e-6, 500), 2)
    58.89
    """
    _check_above_zero(sigma=sigma, weight=weight)
    if type(grid) is not float or not 0 <= grid < math.inf:
        raise RecveilError(
            f"grid is {quoted(grid)}, expected the step of the sums; 0.0 for none",
            code="argument.value",
        )
    if type(delta) is not float or not 0 < delta < 0.5:
        raise RecveilError(
            f"delta of the threshold is {quoted(delta)}, but it is the probability of an accident; "
            f"give a part of delta, such as 1e-7",
            code="argument.value",
        )
    if type(most_items) is not int or not 1 <= most_items <= _MOST_ITEMS:
        raise RecveilError(
            f"most_items is {quoted(most_items)}, expected to how many items one person gives at "
            f"most; give a whole number from 1 to {_MOST_ITEMS:,}",
            code="argument.value",
        )
    items = np.arange(1, most_items + 1)
    # The probability that one of them passes, where n together may with probability delta.
    each = -np.expm1(np.log1p(-delta) / items)
    highest = (weight / np.sqrt(items) - sigma * ndtri(each)).max()
    return float(highest) * _ROUNDED_UP + grid / 2


def _check_above_zero(**numbers: float) -> None:
    for name, number in numbers.items():
        if type(number) is not float or not 0 < number < math.inf:
            raise RecveilError(
                f"{name} is {quoted(number)}, expected a float above 0 and finite",
                code="argument.value",
            )
