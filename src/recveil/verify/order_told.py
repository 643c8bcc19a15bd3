"""Order told: whether rows stand in an order that tells something of the private side."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A random order is taken for one that tells something once in so many times, with all tests.
FALSE_ALARMS = 1e-6
_TESTS = 3
_FAR = -NormalDist().inv_cdf(FALSE_ALARMS / _TESTS / 2)
# In fewer places not even the numbers from 1 on in a row are that unlikely.
FEWEST = math.ceil(_FAR**2) + 1


def ranks_of(labels: Sequence[Any]) -> NDArray[np.float64]:
    """Return the rank of each label: of numbers, also if they are written as text, or of text.

    Examples
    --------
    >>> ranks_of(["10", "9", "8"]), ranks_of(["10", "9", "b"])
    (array([3., 2., 1.]), array([1., 2., 3.]))
    """
    texts = [str(label) for label in labels]
    if all(text.isascii() and text.isdigit() for text in texts):
        # As numbers, without making numbers of them: what somebody publishes may have any length.
        plain = [text.lstrip("0") for text in texts]
        order = sorted(range(len(texts)), key=lambda place: (len(plain[place]), plain[place]))
    else:
        order = sorted(range(len(texts)), key=lambda place: texts[place])
    ranks = np.empty(len(texts))
    ranks[order] = np.arange(1.0, len(texts) + 1)
    return ranks


def order_told(values: NDArray[np.float64]) -> str:
    """Say how an order goes with the values that stand in it; "" if it looks like a random one.

    Spearman's rank correlation finds what rises or falls, and the rank correlation of neighbours
    what does so in pieces. Both are compared with the spread that they have over all orders; far
    out, a normal distribution has more than they have, so that false alarms are not underrated.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The private value behind each place, in published order.

    Examples
    --------
    >>> ordered = np.arange(100.0)
    >>> order_told(ordered), order_told(np.roll(ordered, 50))
    ('they rise with it', 'neighbours in it are neighbours there')
    >>> order_told(np.random.default_rng(0).permutation(ordered))
    ''
    """
    n = values.size
    if n < FEWEST:
        return ""
    ranks = _mean_ranks(values) - (n + 1) / 2
    spread = float((ranks**2).sum())
    if spread == 0:
        return ""
    places = np.arange(n) - (n - 1) / 2
    rising = float(places @ ranks) / math.sqrt(spread * float((places**2).sum()))
    if abs(rising) * math.sqrt(n - 1) > _FAR:
        return "they rise with it" if rising > 0 else "they fall with it"
    together = float(ranks[1:] @ ranks[:-1]) / spread + 1 / n
    if abs(together) * math.sqrt(n) > _FAR:
        return "neighbours in it are neighbours there" if together > 0 else "they alternate with it"
    return ""


def order_within(unit_of: NDArray[np.int64], values: NDArray[np.float64]) -> str:
    """Say whether the values rise or fall within units, such as the members of each group.

    Parameters
    ----------
    unit_of : ndarray of int64, shape (n,)
        The unit of each place, in published order; those of a unit stand together.
    values : ndarray, shape (n,)

    Examples
    --------
    >>> groups = np.repeat(np.arange(40), 5)
    >>> order_within(groups, np.tile(np.arange(5.0), 40))
    'they rise with it'
    """
    if unit_of.size < FEWEST:
        return ""
    _, unit_of, sizes = np.unique(unit_of, return_inverse=True, return_counts=True)
    places = _centred(np.arange(float(unit_of.size)), unit_of, sizes)
    ranks = _centred(_mean_ranks(values), unit_of, sizes)
    told = float(places @ ranks)
    # Over all orders within each unit, exactly.
    spreads = np.bincount(unit_of, places**2) * np.bincount(unit_of, ranks**2)
    spread = float((spreads[sizes > 1] / (sizes[sizes > 1] - 1)).sum())
    if spread == 0 or abs(told) <= _FAR * math.sqrt(spread):
        return ""
    return "they rise with it" if told > 0 else "they fall with it"


def _mean_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value; equal ones share the mean of theirs."""
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(times) - (times - 1) / 2)[place]
    return ranks


def _centred(
    values: NDArray[np.float64], unit_of: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return values less the mean of their unit."""
    centred: NDArray[np.float64] = values - (np.bincount(unit_of, values) / sizes)[unit_of]
    return centred
