"""Sought: some of the people who are looked for, with all that is known of them."""

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.attack.knowledge import Knowledge
from recveil.brief import brief


@brief
class Sought(NamedTuple):
    """What one search is given of the people who are looked for; it can be cut into parts.

    Nothing that is found of a target depends on who else is sought.

    Attributes
    ----------
    knowledge : Knowledge
    own : ndarray of int64, shape (n_targets,)
        The record of each target, which tells whether a guess is right; -1 if they have none.
    weights : ndarray of float32, shape (n_entries,), or None
        How much each entry of the knowledge counts, where a search asks for that.
    """

    knowledge: Knowledge
    own: NDArray[np.int64]
    weights: NDArray[np.float32] | None = None

    def part(self, first: int, end: int) -> Self:
        """Return the targets from `first` to before `end`.

        Examples
        --------
        >>> known = Knowledge(
        ...     np.array([4, 7]), np.array([0, 2, 3]), np.array([1, 2, 5]), None, None, None, 0
        ... )
        >>> part = Sought(known, np.array([4, 7])).part(1, 2)
        >>> part.knowledge.indptr, part.knowledge.items, part.own
        (array([0, 1]), array([5]), array([7]))
        """
        known = self.knowledge
        start, stop = known.indptr[first], known.indptr[min(end, self.own.size)]
        entries, targets = slice(start, stop), slice(first, end)
        knowledge = replace(
            known,
            targets=known.targets[targets],
            indptr=known.indptr[first : end + 1] - start,
            items=known.items[entries],
            values=None if known.values is None else known.values[entries],
            days=None if known.days is None else known.days[entries],
            activity=None if known.activity is None else known.activity[targets],
            skipped=0,
            world=None,
        )
        weights = None if self.weights is None else self.weights[entries]
        return self._replace(knowledge=knowledge, own=self.own[targets], weights=weights)
