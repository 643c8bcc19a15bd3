"""Weights of neighbours, and the predictions from them (k-coRating, eqs. 2 and 6)."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import Ratings
from recveil.runtime.compiled import compiled
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import pool

# Deviations are rounded to this share of the scale's range, about a millionth. So the rounding
# error of a mean is 0, and sums of weighted deviations are exact in any order.
_GRID = 2.0**-20

# How the biases are learned: the usual values for ratings from 1 to 5, with passes to spare.
_USER_PULL, _ITEM_PULL, _BIAS_PASSES = 10, 25, 10


@brief
class DeviationTable(NamedTuple):
    """Deviations of ratings from a baseline, in rows by user and in lists by item.

    Deviations are shares of the scale's range, so that the same numbers serve every scale; eq. 3
    of k-coRating divides by the range anyway.
    """

    # The ratings of user u are ``indptr[u]:indptr[u + 1]``
    indptr: NDArray[np.int64]
    # Positions of the rated items, ascending in each row
    items: NDArray[np.int32]
    # ``(rating - baseline) / range``; the baseline is the mean of its user, or more
    deviations: NDArray[np.float32]
    # The ratings of item i are ``starts[i]:starts[i + 1]`` of the next two
    starts: NDArray[np.int64]
    # Positions of the users who rated the item, ascending for each item
    raters: NDArray[np.int32]
    # Their deviations
    opinions: NDArray[np.float32]


@brief
class Offsets(NamedTuple):
    """Baseline predictions ``of_users[u] + of_items[i]``, in rating points."""

    of_users: NDArray[np.float64]
    of_items: NDArray[np.float64]


def user_means(ratings: Ratings) -> Offsets:
    """Return each user's mean rating as the baseline, without item offsets.

    Users without ratings get the mean of all ratings; without any rating, the scale's low end.

    >>> user_means(Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 2, 1])).of_users
    array([3.5, 1. ])
    """
    sums = np.bincount(ratings.user_positions(), ratings.values, minlength=ratings.n_users)
    means = sums / np.maximum(ratings.activity, 1)
    return Offsets(
        np.where(ratings.activity > 0, means, _overall(ratings)), np.zeros(ratings.n_items)
    )


def biases(ratings: Ratings) -> Offsets:
    """Return the biases of users and items relative to the mean of all ratings.

    Both are shrunk towards zero, as if users had ten and items 25 additional ratings that equal
    their prediction. A few passes alternate between the two.

    >>> found = biases(Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 2, 1]))
    >>> bool(found.of_users[0] > found.of_users[1])
    True
    """
    users, mean = ratings.user_positions(), _overall(ratings)
    of_users, of_items = np.zeros(ratings.n_users), np.zeros(ratings.n_items)
    above = ratings.values - np.float64(mean)
    for _ in range(_BIAS_PASSES):
        left = np.bincount(ratings.indices, above - of_users[users], ratings.n_items)
        of_items = left / (ratings.support + _ITEM_PULL)
        left = np.bincount(users, above - of_items[ratings.indices], ratings.n_users)
        of_users = left / (ratings.activity + _USER_PULL)
    return Offsets(mean + of_users, of_items)


def _overall(ratings: Ratings) -> float:
    return float(ratings.values.mean(dtype=np.float64)) if ratings.n_ratings else ratings.scale.low


def gather(ratings: Ratings, baseline: Offsets) -> DeviationTable:
    """Return the deviations of all ratings from the baseline."""
    apart = ratings.values - np.repeat(baseline.of_users, ratings.activity)
    apart -= baseline.of_items[ratings.indices]
    apart /= ratings.scale.range or 1.0
    on_grid = (np.rint(apart / _GRID) * _GRID).astype(np.float32)
    indptr, items = ratings.indptr, ratings.indices
    starts, raters, opinions = _list_by_item(indptr, items, on_grid, ratings.n_items)
    return DeviationTable(indptr, items, on_grid, starts, raters, opinions)


@compiled()
def _list_by_item(
    indptr: NDArray[Any], items: NDArray[Any], deviations: NDArray[Any], n_items: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Turn rows by user into lists by item (a counting sort)."""
    starts = np.zeros(n_items + 1, np.int64)
    for item in items:
        starts[item + 1] += 1
    for item in range(n_items):
        starts[item + 1] += starts[item]
    following = starts[:-1].copy()
    raters, opinions = np.empty(items.size, np.int32), np.empty(items.size, np.float32)
    for user in range(indptr.size - 1):
        for at in range(indptr[user], indptr[user + 1]):
            place = following[items[at]]
            following[items[at]] += 1
            raters[place], opinions[place] = user, deviations[at]
    return starts, raters, opinions


# The code of the weight 1. Code 0 is no neighbour: only positive weights count. All whole numbers
# up to ten divide it, so that simple fractions are codes and not halfway between two.
FULL = 65_520

# Where a weight comes from.
SIMILARITY, TRUST, LINKS = 0, 1, 2

# Columns of the working space of one row.
_SHARED, _SUM, _SQUARES, _OTHER_SQUARES = 0, 1, 2, 3


@brief
class Links(NamedTuple):
    """Users who point at users with a weight, in compressed rows."""

    indptr: NDArray[np.int64]
    # At whom each user points, ascending in each row and never themselves
    users: NDArray[np.int32]
    # The weights, in steps of 1/65520; positive
    codes: NDArray[np.uint16]
    # How many items both have rated
    shared: NDArray[np.int32]


NO_LINKS = Links(
    np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint16), np.zeros(0, np.int32)
)


@brief
class Weighing(NamedTuple):
    """Input for computing a row of weights."""

    # As in `DeviationTable`. They are copied because nested tuples slow the threads down.
    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    deviations: NDArray[np.float32]
    starts: NDArray[np.int64]
    raters: NDArray[np.int32]
    opinions: NDArray[np.float32]
    # `SIMILARITY`, `TRUST` or `LINKS`
    source: int
    # Minimum number of items that two users must share to be compared
    min_overlap: int
    # A weight from n shared items is multiplied by ``min(n / significance, 1)``
    significance: float
    # As in `Links`. With `LINKS`: the weights. Otherwise: the links over which trust is propagated.
    link_indptr: NDArray[np.int64]
    link_users: NDArray[np.int32]
    link_codes: NDArray[np.uint16]
    link_shared: NDArray[np.int32]
    # How many steps trust is propagated beyond direct trust (eq. 5)
    trust_steps: int

    @classmethod
    def of(
        cls,
        table: DeviationTable,
        source: int,
        min_overlap: int,
        significance: float,
        links: Links = NO_LINKS,
        *,
        trust_steps: int = 0,
    ) -> "Weighing":
        """Combine the parts."""
        return cls(
            *table,
            source=source,
            min_overlap=int(min_overlap),
            significance=float(significance),
            link_indptr=links.indptr,
            link_users=links.users,
            link_codes=links.codes,
            link_shared=links.shared,
            trust_steps=int(trust_steps),
        )


@brief
class Desk(NamedTuple):
    """Working space of one thread."""

    # The row of weights
    codes: NDArray[np.uint16]
    # What a user and each other one share: the number of items, then three sums over them
    sums: NDArray[np.float32]
    # Trust by way of others: the weighted sum and its weight; zero between rows
    reach: NDArray[np.float64]


@compiled()
def new_workspace(n_users: int) -> Desk:
    """Make working space; it is zero."""
    return Desk(
        np.zeros(n_users, np.uint16),
        np.zeros((n_users, 4), np.float32),
        np.zeros((n_users, 2), np.float64),
    )


@compiled()
def weigh(weighing: Weighing, user: int, space: Desk) -> None:
    """Write the weights of all users for one user to `space.codes`, with 0 for the user."""
    if weighing.source == LINKS:
        _follow_links(weighing, user, space)
    else:
        space.sums[:] = 0
        if weighing.source == SIMILARITY:
            _compare(weighing, user, space.sums)
        else:
            _trust(weighing, user, space.sums)
        _encode(weighing, space)
        space.codes[user] = 0
    if weighing.trust_steps > 0:
        _propagate(weighing, user, space)


@compiled()
def _compare(weighing: Weighing, user: int, sums: NDArray[Any]) -> None:
    """Compute the sums of eq. 1 for all users: shared items, products, and both sums of squares."""
    one = np.float32(1)
    for at in range(weighing.indptr[user], weighing.indptr[user + 1]):
        deviation = weighing.deviations[at]
        square = deviation * deviation
        item = weighing.items[at]
        # Unsigned places spare numba the check for negative ones.
        first, end = np.uint64(weighing.starts[item]), np.uint64(weighing.starts[item + 1])
        for place in range(first, end):
            other = np.uint64(weighing.raters[place])
            other_deviation = weighing.opinions[place]
            sums[other, _SHARED] += one
            sums[other, _SUM] += deviation * other_deviation
            sums[other, _SQUARES] += square
            sums[other, _OTHER_SQUARES] += other_deviation * other_deviation


@compiled()
def _trust(weighing: Weighing, user: int, sums: NDArray[Any]) -> None:
    """Compute the sums of eq. 3 for all users: shared items, and the error of eq. 4."""
    one = np.float32(1)
    for at in range(weighing.indptr[user], weighing.indptr[user + 1]):
        deviation = weighing.deviations[at]
        item = weighing.items[at]
        first, end = np.uint64(weighing.starts[item]), np.uint64(weighing.starts[item + 1])
        for place in range(first, end):
            other = np.uint64(weighing.raters[place])
            sums[other, _SHARED] += one
            sums[other, _SUM] += one - abs(deviation - weighing.opinions[place])


@compiled(error_model="numpy")
def _encode(weighing: Weighing, space: Desk) -> None:
    """Turn sums into weights."""
    codes, sums = space.codes, space.sums
    least, zero, one = np.float32(weighing.min_overlap), np.float32(0), np.float32(1)
    full, half = np.float32(FULL), np.float32(0.5)
    damping = np.float32(1 / weighing.significance)
    for other in range(codes.size):  # without branches, which could not be foreseen
        shared, total = sums[other, _SHARED], sums[other, _SUM]
        length = shared
        if weighing.source == SIMILARITY:
            length = math.sqrt(sums[other, _SQUARES]) * math.sqrt(sums[other, _OTHER_SQUARES])
        # Of length 0, one of the two deviates nowhere on the shared items.
        counts = (shared >= least) & (total > zero) & (length > zero)
        weight = min(total / length, one) * min(shared * damping, one)
        codes[other] = np.int32(weight * full + half) if counts else 0


@compiled()
def _follow_links(weighing: Weighing, user: int, space: Desk) -> None:
    space.codes[:] = 0
    for at in range(weighing.link_indptr[user], weighing.link_indptr[user + 1]):
        space.codes[weighing.link_users[at]] = weighing.link_codes[at]


@compiled()
def _propagate(weighing: Weighing, user: int, space: Desk) -> None:
    """Give users without a direct relation to the user the trust that others have in them."""
    # Eq. 5 for one path; over several paths, the mean with the same weights. A second step goes by
    # way of all whom the first one reached.
    indptr = weighing.link_indptr
    first, end = indptr[user], indptr[user + 1]
    friends, codes = weighing.link_users[first:end], weighing.link_codes[first:end]
    shared = weighing.link_shared[first:end]
    for at in range(friends.size):
        # Stated trust in users who share no item; trust from ratings is direct, or replaced.
        if weighing.source == SIMILARITY and not _knows(weighing, space, friends[at]):
            space.codes[friends[at]] = codes[at]
    for step in range(weighing.trust_steps):
        for at in range(friends.size):
            near = max(1, shared[at]) if step == 0 else 1
            _pass_on(weighing, user, friends[at], near, float(codes[at]), space)
        friends = np.flatnonzero(space.reach[:, 1] > 0).astype(np.int32)
        for other in friends:
            trust = space.reach[other, 0] / space.reach[other, 1]
            space.codes[other] = np.uint16(trust + 0.5)
            space.reach[other] = 0
        codes = space.codes[friends]


@compiled()
def _pass_on(
    weighing: Weighing, user: int, friend: int, near: int, code: float, space: Desk
) -> None:
    """Add the trust that the user has, by way of a friend, in those whom the friend trusts."""
    for second in range(weighing.link_indptr[friend], weighing.link_indptr[friend + 1]):
        other = weighing.link_users[second]
        if other == user or _knows(weighing, space, other):
            continue
        far = max(1, weighing.link_shared[second])
        space.reach[other, 0] += near * code + far * float(weighing.link_codes[second])
        space.reach[other, 1] += near + far


@compiled()
def _knows(weighing: Weighing, space: Desk, other: int) -> bool:
    """Return whether a user has a weight already, or a direct relation, whatever its weight."""
    is_compared = weighing.source != LINKS and space.sums[other, _SHARED] >= weighing.min_overlap
    return is_compared or space.codes[other] > 0


@compiled()
def count_shared(
    indptr: NDArray[Any], items: NDArray[Any], first: NDArray[Any], second: NDArray[Any]
) -> NDArray[Any]:
    """Count the items that both users of each pair rated, shape (n_pairs,).

    >>> indptr, items = np.array([0, 2, 5]), np.array([1, 4, 0, 1, 4])
    >>> count_shared(indptr, items, np.array([0, 1]), np.array([1, 1]))
    array([2, 3], dtype=int32)
    """
    counts = np.zeros(first.size, np.int32)
    for pair in range(first.size):
        one, other = indptr[first[pair]], indptr[second[pair]]
        while one < indptr[first[pair] + 1] and other < indptr[second[pair] + 1]:
            counts[pair] += items[one] == items[other]
            step_one, step_other = items[one] <= items[other], items[other] <= items[one]
            one += step_one
            other += step_other
    return counts


# Users that one thread takes at a time.
_CHUNK = 64
# Share of the remaining progress that a search takes.
_SHARE = 0.9
# How many steps of a walk take as long as one of a search.
_SEARCH_STEP = 2


@brief
class Answers(NamedTuple):
    """The cells to predict, sorted by user, and the weighted deviations of the neighbours."""

    # The cells from ``runs[r]`` to before ``runs[r + 1]`` are of one user
    runs: NDArray[np.int64]
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    # The weighted mean of the neighbours' deviations; 0 without neighbours
    pulls: NDArray[np.float32]


def nearest_of_all(weighing: Weighing, n_neighbours: int, threads: int) -> Links:
    """List the `n_neighbours` users with the highest weights to each user."""
    n_users = weighing.indptr.size - 1
    room = (n_users, min(n_neighbours, max(n_users - 1, 0)))
    users, counts = np.empty(room, np.int32), np.empty(n_users, np.int64)
    codes, shared = np.empty(room, np.uint16), np.empty(room, np.int32)

    def look(first: int) -> None:
        end = min(first + _CHUNK, n_users)
        _list_nearest(weighing, first, end, users, codes, shared, counts)

    _in_threads(look, n_users, threads, "Looking for neighbours")
    listed = np.arange(room[1]) < counts[:, None]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return Links(indptr, users[listed], codes[listed], shared[listed])


def ask_nearest_raters(
    weighing: Weighing, answers: Answers, n_neighbours: int, threads: int
) -> None:
    """Fill in the pulls: for each cell, of the nearest users who rated its item."""
    n_runs = answers.runs.size - 1

    def ask(first: int) -> None:
        _ask_raters(weighing, answers, first, min(first + _CHUNK, n_runs), n_neighbours)

    _in_threads(ask, n_runs, threads, "Asking neighbours")


def ask_listed(weighing: Weighing, answers: Answers, listed: Links, threads: int) -> None:
    """Fill in the pulls: for each cell, of those listed for its user who rated its item."""
    n_runs = answers.runs.size - 1

    def ask(first: int) -> None:
        _ask_listed(weighing, answers, listed, first, min(first + _CHUNK, n_runs))

    _in_threads(ask, n_runs, threads, "Asking neighbours")


def weights_of(weighing: Weighing, user: int) -> NDArray[np.float32]:
    """Return the weights of all users for one user, shape (n_users,); 0 for non-neighbours."""
    space = new_workspace(weighing.indptr.size - 1)
    weigh(weighing, user, space)
    return space.codes / np.float32(FULL)


def _in_threads(work: Any, n: int, threads: int, title: str) -> None:
    starts = range(0, n, _CHUNK)
    if threads == 1:  # and no bar: the caller may run several of these
        for start in starts:
            work(start)
        return
    with pool(threads) as workers:
        for _ in track(workers.map(work, starts), title, len(starts), share=_SHARE):
            pass


@brief
class _Board(NamedTuple):
    """Working space of one thread, in addition to the one for weights."""

    bins: NDArray[np.int32]  # by code of a weight: how many have it, then where the next one goes
    order: NDArray[np.int32]  # users with positive weights, the nearest first
    keys: NDArray[np.int64]
    room: NDArray[np.int32]  # by item: how many neighbours are still to be asked; else 0
    weighted: NDArray[np.float64]  # by item: sum of weight * deviation, sum of weights; else 0


@compiled()
def _new_cell_workspace(n_users: int, n_items: int) -> _Board:
    return _Board(
        np.zeros(FULL + 1, np.int32),
        np.empty(n_users, np.int32),
        np.empty(n_users, np.int64),
        np.zeros(n_items, np.int32),
        np.zeros((n_items, 2), np.float64),
    )


@compiled()
def _list_nearest(
    weighing: Weighing,
    first: int,
    end: int,
    users: NDArray[Any],
    codes: NDArray[Any],
    shared: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    """List the nearest of the users from `first` to before `end`, by position."""
    space = new_workspace(weighing.indptr.size - 1)
    cell_space = _new_cell_workspace(weighing.indptr.size - 1, 0)
    for user in range(first, end):
        weigh(weighing, user, space)
        size = min(_rank(space.codes, cell_space), users.shape[1])
        counts[user] = size
        users[user, :size] = np.sort(cell_space.order[:size])
        for rank in range(size):
            other = users[user, rank]
            codes[user, rank], shared[user, rank] = space.codes[other], space.sums[other, 0]


@compiled()
def _rank(codes: NDArray[Any], cell_space: _Board) -> int:
    """Order the users with positive weights, the nearest first (a counting sort); count them."""
    bins = cell_space.bins
    bins[:] = 0
    for code in codes:
        bins[code] += 1
    place = 0
    for code in range(FULL, 0, -1):
        here = bins[code]
        bins[code] = place
        place += here
    for user in range(codes.size):
        code = codes[user]
        if code > 0:
            cell_space.order[bins[code]] = user
            bins[code] += 1
    return place


@compiled()
def _ask_raters(
    weighing: Weighing, answers: Answers, first: int, end: int, n_neighbours: int
) -> None:
    n_users, n_items = weighing.indptr.size - 1, weighing.starts.size - 1
    space, cell_space = new_workspace(n_users), _new_cell_workspace(n_users, n_items)
    for run in range(first, end):
        cells = answers.items[answers.runs[run] : answers.runs[run + 1]]
        pulls = answers.pulls[answers.runs[run] : answers.runs[run + 1]]
        weigh(weighing, answers.users[answers.runs[run]], space)
        if not _walk(weighing, cells, n_neighbours, space, cell_space):
            for item in cells:
                if cell_space.room[item] > 0:
                    _search(weighing, item, n_neighbours, space, cell_space)
        _read(cells, cell_space, pulls)
        cell_space.room[cells] = 0
        cell_space.weighted[cells] = 0


@compiled()
def _walk(
    weighing: Weighing,
    cells: NDArray[Any],
    n_neighbours: int,
    space: Desk,
    cell_space: _Board,
) -> bool:
    """Ask the others, the nearest first, about all cells at once; return whether that is all."""
    # Items that many have rated have all their neighbours soon. For the others it is shorter to go
    # through their raters: once the walk was as long as that would be, it ends.
    starts, room, weighted = weighing.starts, cell_space.room, cell_space.weighted
    left = 0
    for item in cells:
        left += (starts[item + 1] - starts[item]) * (room[item] == 0)
        room[item] = n_neighbours
    walked = 0
    for other in cell_space.order[: _rank(space.codes, cell_space)]:
        if walked >= _SEARCH_STEP * left:
            return left == 0
        code = float(space.codes[other])
        start, end = weighing.indptr[other], weighing.indptr[other + 1]
        # Unsigned places spare numba the check for negative ones.
        for at in range(np.uint64(start), np.uint64(end)):
            item = np.uint64(weighing.items[at])
            if room[item] > 0:
                weighted[item, 0] += code * weighing.deviations[at]
                weighted[item, 1] += code
                room[item] -= 1
                if room[item] == 0:
                    left -= starts[item + 1] - starts[item]
        walked += end - start
    return True


@compiled()
def _search(
    weighing: Weighing, item: int, n_neighbours: int, space: Desk, cell_space: _Board
) -> None:
    """Look for the nearest among all who rated an item, and ask them."""
    start, end = weighing.starts[item], weighing.starts[item + 1]
    keys, size = cell_space.keys, 0
    for place in range(np.uint64(start), np.uint64(end)):
        code = space.codes[np.uint64(weighing.raters[place])]
        # The code above 32 bits of place, of which lower ones count more.
        keys[size] = ((np.int64(code) + 1) << 32) - 1 - np.int64(place - np.uint64(start))
        size += code > 0
    if size > n_neighbours:
        _move_largest(keys, size, n_neighbours)
        size = n_neighbours
    cell_space.room[item] = 0
    cell_space.weighted[item] = 0
    for key in keys[:size]:
        code = float(key >> 32)
        opinion = weighing.opinions[start + (0xFFFFFFFF - (key & 0xFFFFFFFF))]
        cell_space.weighted[item, 0] += code * opinion
        cell_space.weighted[item, 1] += code


@compiled()
def _move_largest(keys: NDArray[Any], size: int, n: int) -> None:
    """Move the n largest of the first `size` keys, all different, to the front (a quickselect)."""
    first, end = 0, size
    while first < n < end:
        one, middle, last = keys[first], keys[(first + end) // 2], keys[end - 1]
        # The median; of two, the larger one.
        pivot = max(min(one, middle), min(max(one, middle), last))
        if end - first == 2:
            pivot = max(one, last)
        place = first
        for at in range(first, end):  # without a branch that could not be foreseen
            key = keys[at]
            keys[at], keys[place] = keys[place], key
            place += key >= pivot
        if place > n:
            end = place
        else:
            first = place


@compiled()
def _ask_listed(weighing: Weighing, answers: Answers, listed: Links, first: int, end: int) -> None:
    cell_space = _new_cell_workspace(0, weighing.starts.size - 1)
    for run in range(first, end):
        user = answers.users[answers.runs[run]]
        for neighbour in range(listed.indptr[user], listed.indptr[user + 1]):
            other, code = listed.users[neighbour], float(listed.codes[neighbour])
            for at in range(weighing.indptr[other], weighing.indptr[other + 1]):
                cell_space.weighted[weighing.items[at], 0] += code * weighing.deviations[at]
                cell_space.weighted[weighing.items[at], 1] += code
        cells = slice(answers.runs[run], answers.runs[run + 1])
        _read(answers.items[cells], cell_space, answers.pulls[cells])
        for neighbour in range(listed.indptr[user], listed.indptr[user + 1]):
            other = listed.users[neighbour]
            for at in range(weighing.indptr[other], weighing.indptr[other + 1]):
                cell_space.weighted[weighing.items[at]] = 0


@compiled()
def _read(cells: NDArray[Any], cell_space: _Board, pulls: NDArray[Any]) -> None:
    """Write the weighted mean deviation of each cell."""
    for cell in range(cells.size):
        pull, total = cell_space.weighted[cells[cell]]
        pulls[cell] = pull / total if total > 0 else 0.0
