"""Intersection: what two releases of the same people tell together that neither tells alone."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.released import ReleasedTable
from recveil.attack.statistics import Interval, Mean, mean_interval, wilson_interval
from recveil.errors import RecveilError, describe_count


class Intersection(NamedTuple):
    """How many people stand in the group of somebody in both releases.

    Attributes
    ----------
    alone : Interval
        Share of the people with whom nobody shares both groups.
    alone_in_one : float
        The same share in the one of the two releases that shows more people alone: the baseline.
    below_k : Interval
        Share of the people who share both groups with fewer than both releases promise them.
    mean_people : Mean
        People in both groups, themselves included; the mean over people.
    people : int
        How many stand in both releases; the shares are of them.
    """

    alone: Interval
    alone_in_one: float
    below_k: Interval
    mean_people: Mean
    people: int


def groups_of(table: ReleasedTable) -> NDArray[np.int64]:
    """Return the group of each user, shape (n_users,); -1 for who is not in the release.

    Who shares a row, or, in a co-rated release, the items of it: that is what is promised there.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=20, n_items=30, n_ratings=200, seed=1)
    >>> release = PredictiveAnonymizer(k=10, seed=1).anonymize(ratings)
    >>> np.bincount(groups_of(ReleasedTable.from_release(release, ratings)))
    array([10, 10])
    """
    if not table.co_rated:
        return table.record_of
    first: dict[bytes, int] = {}
    n_records = table.indptr.size - 1
    group_of = np.array(
        [first.setdefault(table.row(record)[0].tobytes(), record) for record in range(n_records)]
    )
    inside = table.record_of >= 0
    groups = np.full(table.record_of.size, -1, np.int64)
    groups[inside] = group_of[table.record_of[inside]]
    return groups


def people_in_both(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count those who are in the same group as each user in both releases.

    Parameters
    ----------
    first, second : ndarray of int64, shape (n_users,)
        The group of each user; -1 for who is not in that release.

    Returns
    -------
    ndarray of int64, shape (n_users,)
        0 for who is not in both releases.

    Examples
    --------
    >>> people_in_both(np.array([0, 0, 0, 1, -1]), np.array([7, 7, 8, 8, 8]))
    array([2, 2, 1, 1, 0])
    """
    both = (first >= 0) & (second >= 0)
    people = np.zeros(first.size, np.int64)
    pairs = np.stack([first[both], second[both]], axis=1)
    _, place, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    people[both] = counts[place.ravel()]
    return people


def intersect(
    first: ReleasedTable, second: ReleasedTable, promised: NDArray[np.int64]
) -> Intersection:
    """Intersect everybody's two groups.

    Parameters
    ----------
    first, second : ReleasedTable
        Of the same ratings.
    promised : ndarray of int64, shape (n_users,)
        With how many people somebody shares a group at least, as both releases promise.

    Raises
    ------
    RecveilError
        If the tables are of different ratings, or nobody stands in both.

    Notes
    -----
    Everybody in both releases is counted. The intervals tell how far other people of the same sort
    could be off these, not an error of the count. This is about who knows somebody's two groups;
    how often they are found is another question.

    Source: Ganta, Kasiviswanathan, Smith 2008 (composition attacks).

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=40, n_items=30, n_ratings=300, seed=1)
    >>> tables = []
    >>> for grouping in ("mdav", "k-member"):
    ...     maker = PredictiveAnonymizer(k=5, grouping=grouping, seed=1)
    ...     tables.append(ReleasedTable.from_release(maker.anonymize(ratings), ratings))
    >>> found = intersect(*tables, promised=np.full(40, 5))
    >>> found.alone_in_one, round(found.alone.rate, 3), found.below_k.rate
    (0.0, 0.275, 1.0)
    """
    if first.record_of.size != second.record_of.size:
        raise RecveilError(
            f"the first release is of ratings of "
            f"{describe_count(first.record_of.size, 'user')}, the second of "
            f"{second.record_of.size}; read both with the same ratings",
            code="release.mismatch",
        )
    groups = groups_of(first), groups_of(second)
    people = people_in_both(*groups)
    both = people > 0
    n_people = int(both.sum())
    if not n_people:
        raise RecveilError(
            "nobody stands in both releases; expected two releases of the same people",
            code="release.mismatch",
        )
    in_one = [np.bincount(of_release[of_release >= 0])[of_release[both]] for of_release in groups]
    return Intersection(
        alone=wilson_interval(int((people[both] == 1).sum()), n_people),
        alone_in_one=max(float(np.mean(sizes == 1)) for sizes in in_one),
        below_k=wilson_interval(int((people < promised)[both].sum()), n_people),
        mean_people=mean_interval(people[both]),
        people=n_people,
    )
