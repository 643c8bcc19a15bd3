"""Groups: who is behind which record."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.brief import brief


@brief
class Groups(NamedTuple):
    """Who is in which group, in the order in which the groups will be published.

    Attributes
    ----------
    members : ndarray of int64, shape (n_users,)
        User positions, group after group.
    starts : ndarray of int64, shape (n_groups + 1,)
        Group g is ``members[starts[g]:starts[g + 1]]``.
    """

    members: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def from_labels(cls, labels: ArrayLike, order: ArrayLike | None = None) -> Self:
        """Gather the users of each group, 0 to n_groups - 1, put into a given order.

        Examples
        --------
        >>> groups = Groups.from_labels([0, 1, 0, 1, 1], order=[1, 0])
        >>> groups.members, groups.starts
        (array([1, 3, 4, 0, 2]), array([0, 3, 5]))
        """
        labels = np.asarray(labels, dtype=np.int64)
        n_groups = int(labels.max()) + 1
        rank = np.arange(n_groups)
        if order is not None:
            rank[np.asarray(order)] = np.arange(n_groups)
        places = rank[labels]
        sizes = np.bincount(places, minlength=n_groups)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(np.argsort(places, kind="stable"), starts)

    @classmethod
    def of_nobody(cls) -> Self:
        """Return no groups: no record is anybody's.

        Examples
        --------
        >>> Groups.of_nobody().members.size
        0
        """
        return cls(np.empty(0, np.int64), np.zeros(1, np.int64))

    def _facts(self) -> dict[str, object]:
        return {"people": self.members.size, "groups": self.starts.size - 1}

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of members of each group, shape (n_groups,)."""
        return np.diff(self.starts)
