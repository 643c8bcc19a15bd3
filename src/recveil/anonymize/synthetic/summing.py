"""Summing: exact sums over people, who are here in memory, or spread over many machines."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import Ratings, RatingScale

Whole = NDArray[np.int64]


class SpreadOut(Protocol):
    """People who are elsewhere, and can be asked for sums alone."""

    @property
    def scale(self) -> RatingScale:
        """What a rating can be."""

    @property
    def n_items(self) -> int:
        """Number of items that are asked about."""

    def add_up(self, sums: Callable[..., Whole], *known: Any) -> Whole:
        """Return ``sums(some, *known)``, added up over all people, some at a time."""


People = Ratings | SpreadOut


def added_up(people: People, sums: Callable[..., Whole], *known: Any) -> Whole:
    """Return a sum over people, wherever they are.

    Whole numbers add up to the same in whatever order, and however people are divided.

    Parameters
    ----------
    people : Ratings, or whoever is spread
    sums : callable
        One of `bounded_vectors`: takes the ratings of some people, and what is known, and returns
        a sum over these people. A function of a module, as it may travel.
    *known
        All else that it takes.

    Examples
    --------
    >>> from recveil.anonymize.synthetic.bounded_vectors import people_by_activity
    >>> likes = Ratings.from_columns([1, 1, 2], [7, 8, 7])
    >>> added_up(likes, people_by_activity, np.array([1, 2, 3]))
    array([1, 1])
    """
    if isinstance(people, Ratings):
        return sums(people, *known)
    return people.add_up(sums, *known)
