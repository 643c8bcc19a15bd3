"""GeCom, the grouping of k-coRating: users who will share a set of rated items."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.methods.base import require_group
from recveil.ratings import Ratings
from recveil.release.records import Groups
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError


def gecom(ratings: Ratings, k: int, workloads: int = 1) -> Groups:
    """Gather users so that few cells must be filled for each group to rate the same items.

    Source: k-coRating, Algorithms 1 to 3. Users are sorted by their number of ratings, then by the
    positions of the items, then by their own. From the front of M2, k users are cut off at a time,
    with all that follow and rated the same items as the last; fewer than k that are left join the
    last group. If M2 has fewer than k users altogether, each joins the class of M1 where the fewest
    cells must be filled, which the paper leaves open. With several workloads (PaGeCom), M2 is cut
    into as many parts.
    """
    if k < 1:
        raise RecveilError(f"k is {k}; expected at least 1", code="option.value")
    require_group(ratings, k)
    order, same = _sorted_by_support(ratings)
    starts = np.flatnonzero(~same)
    sizes = np.diff(np.append(starts, order.size))
    large = np.repeat(sizes >= k, sizes)
    done = [order[at : at + n] for at, n in zip(starts, sizes, strict=True) if n >= k]
    left = order[~large]
    if 0 < left.size < k:
        done = _join_nearest(ratings, done, left)
    elif left.size:
        class_of = np.repeat(np.arange(starts.size), sizes)[~large]
        n_parts = min(workloads, left.size // k)
        parts = zip(np.array_split(left, n_parts), np.array_split(class_of, n_parts), strict=True)
        done += [group for part in parts for group in _gather_part(*part, k)]
    lengths = np.array([group.size for group in done])
    return Groups(np.concatenate(done), np.concatenate([[0], np.cumsum(lengths)]))


def _gather_part(
    users: NDArray[np.int64], class_of: NDArray[np.int64], k: int
) -> list[NDArray[np.int64]]:
    """Apply Algorithm 1 to a workload; users left at the end join the last group."""
    sizes = np.unique(class_of, return_counts=True)[1]
    groups, n_whole, _ = form_groups(sizes, k, 0)
    group_of = np.repeat(np.minimum(groups, n_whole - 1), sizes)
    return np.split(users, np.flatnonzero(np.diff(group_of)) + 1)


@compiled()
def form_groups(sizes: NDArray[Any], k: int, waiting: int) -> tuple[NDArray[Any], int, int]:
    """Form groups of at least k consecutive users, without dividing a class.

    `sizes` are those of the classes of users who rated the same items, in GeCom's order; `waiting`
    users, fewer than k, come before them. Returns the group of each class, from 0; the number of
    groups with k users; and the number of users at the end, in the group after these.
    """
    groups = np.empty(sizes.size, np.int64)
    n_whole = 0
    for at in range(sizes.size):
        groups[at] = n_whole
        waiting += sizes[at]
        if waiting >= k:
            n_whole += 1
            waiting = 0
    return groups, n_whole, waiting


def filling_costs(
    members: NDArray[Any], starts: NDArray[Any], items: NDArray[Any], sizes: NDArray[Any]
) -> NDArray[np.int64]:
    """Count the cells to fill if a user with the items `members` joins each of some classes."""
    widths = np.diff(starts)
    class_of = np.repeat(np.arange(sizes.size), widths)
    common = np.bincount(class_of[np.isin(items, members)], minlength=sizes.size)
    # What the class lacks of this user's items, and what this user lacks of the class's.
    return np.asarray(sizes * (members.size - common) + widths - common)


def union_of_items(ratings: Ratings, groups: Groups) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the items that a user of each group rated, in compressed rows, ascending."""
    return unions(groups.members, groups.starts, ratings.indptr, ratings.indices, ratings.n_items)


def _sorted_by_support(ratings: Ratings) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the users in GeCom's order, and whether each rated the same items as the one before.

    Big-endian numbers sort as their bytes do, so that whole rows are compared at memory's speed.
    """
    content = ratings.indices.astype(">i4").tobytes()
    bounds = (4 * ratings.indptr).tolist()
    rows = [content[start:end] for start, end in itertools.pairwise(bounds)]
    order = sorted(range(ratings.n_users), key=lambda user: (len(rows[user]), rows[user]))
    same = [False] + [rows[a] == rows[b] for a, b in itertools.pairwise(order)]
    return np.array(order, dtype=np.int64), np.array(same)


def _join_nearest(
    ratings: Ratings, classes: list[NDArray[np.int64]], left: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Let each of the users who are left join the class where the fewest cells must be filled."""
    supports = [ratings.row(members[0])[0] for members in classes]
    sizes = np.array([members.size for members in classes])
    starts = np.cumsum([0, *(support.size for support in supports)])
    items = np.concatenate(supports)
    joined: list[list[int]] = [[] for _ in classes]
    for user in left.tolist():
        costs = filling_costs(ratings.row(user)[0], starts, items, sizes)
        joined[int(np.argmin(costs))].append(user)
    return [
        np.concatenate([members, np.array(more, dtype=np.int64)])
        for members, more in zip(classes, joined, strict=True)
    ]


@compiled()
def unions(
    members: NDArray[Any],
    starts: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    n_items: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """List the items of each group in ascending order."""
    ends = np.zeros(starts.size, np.int64)
    last_group = np.full(n_items, -1, np.int64)
    for group in range(starts.size - 1):  # once to know how many there are
        ends[group + 1] = ends[group]
        for user in members[starts[group] : starts[group + 1]]:
            for item in indices[indptr[user] : indptr[user + 1]]:
                if last_group[item] != group:
                    last_group[item] = group
                    ends[group + 1] += 1
    items = np.empty(ends[-1], np.int32)
    last_group[:] = -1
    for group in range(starts.size - 1):
        place = ends[group]
        for user in members[starts[group] : starts[group + 1]]:
            for item in indices[indptr[user] : indptr[user + 1]]:
                if last_group[item] != group:
                    last_group[item] = group
                    items[place] = item
                    place += 1
        items[ends[group] : place].sort()
    return ends, items
