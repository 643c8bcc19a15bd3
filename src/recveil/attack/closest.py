"""Nearest: the record whose labels lie closest to what is known.

Homogenized rows are full of means, and Scoreboard-RH was made for sparse rows of true ratings:
where every record carries every item, closeness tells more than the rarity of the items.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.attack.guesses import Guesses
from recveil.attack.knowledge import Knowledge


@dataclass(frozen=True)
class Nearest:
    """Takes the record whose labels lie closest to what is known; see `find_nearest`."""

    name: ClassVar[str] = "nearest"

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Guesses:
        """Look for every target among the candidates; see `find_nearest`."""
        return find_nearest(candidates, knowledge, record_of)


def find_nearest(
    candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
) -> Guesses:
    """Look for every target by the sum of squared differences over the known items.

    A known item that a record does not carry counts as the largest difference between two labels.
    Whoever knows no ratings counts the missing items alone.

    Parameters
    ----------
    candidates : Candidates
    knowledge : Knowledge
    record_of : ndarray of int64, shape (n_users,)
        The record of each user; -1 if they have none.

    Notes
    -----
    Each target takes a pass over all records, so this is meant for releases, which have one record
    a group.

    Examples
    --------
    >>> from recveil.ratings import Ratings
    >>> ratings = Ratings.from_columns([1, 1, 2, 2], [7, 8, 7, 8], [5, 1, 3, 2])
    >>> table = Candidates.from_ratings(ratings)
    >>> known = Knowledge(
    ...     np.array([1]), np.array([0, 1]), np.array([1]), np.array([2.5]), None, None, 0
    ... )
    >>> found = find_nearest(table, known, np.arange(2))
    >>> found.best, found.tied_people, found.own_is_top
    (array([1]), array([1]), array([ True]))
    """
    sizes = candidates.sizes
    missing = float(np.ptp(candidates.levels)) ** 2 or 1.0
    n_targets = knowledge.targets.size
    best, tied = np.full(n_targets, -1), np.zeros(n_targets, np.int64)
    own_is_top = np.zeros(n_targets, bool)
    for target in range(n_targets):
        distance = np.zeros(candidates.n_records)
        for entry in range(knowledge.indptr[target], knowledge.indptr[target + 1]):
            item = knowledge.items[entry]
            carrying = slice(candidates.indptr[item], candidates.indptr[item + 1])
            apart = np.zeros(carrying.stop - carrying.start)
            if knowledge.values is not None:
                apart = candidates.levels[candidates.codes[carrying]] - knowledge.values[entry]
            # Counted from "missing", so that only the records that carry the item are touched.
            distance[candidates.records[carrying]] += apart**2 - missing
        # Equal up to rounding is equal: the order of additions must not single anybody out.
        nearest = np.flatnonzero(distance <= distance.min() + 1e-9 * missing)
        own = record_of[knowledge.targets[target]]
        best[target] = nearest[0] if nearest.size == 1 else -1
        tied[target] = sizes[nearest].sum()
        own_is_top[target] = own >= 0 and bool(np.isin(own, nearest))
    return Guesses(best=best, tied_people=tied, own_is_top=own_is_top)
