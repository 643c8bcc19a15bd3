"""Nearest: who of the others is asked, and what they say (k-coRating, eqs. 2 and 6)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.compiled import compiled
from recveil.predict.weights import FULL, Desk, Links, Weighing, new_desk, weigh
from recveil.progress import track
from recveil.threads import pool

# Users that one thread takes at a time.
_CHUNK = 64
# How many steps of a walk take as long as one of a search.
_SEARCH_STEP = 4


@brief
class Answers(NamedTuple):
    """The cells to predict, sorted by user, and what the neighbours say about them.

    Attributes
    ----------
    runs : ndarray of int64, shape (n_runs + 1,)
        The cells from ``runs[r]`` to before ``runs[r + 1]`` are of one user.
    users, items : ndarray of int32, shape (n_cells,)
    pulls : ndarray of float32, shape (n_cells,)
        The weighted mean of the neighbours' deviations; 0 without neighbours.
    """

    runs: NDArray[np.int64]
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    pulls: NDArray[np.float32]


def nearest_of_all(weighing: Weighing, n_neighbours: int, threads: int) -> Links:
    """List the `n_neighbours` users with the highest weights to each user.

    Parameters
    ----------
    weighing : Weighing
    n_neighbours : int
        Users with fewer others of positive weight get shorter lists. Of equals, the user with the
        lower position comes first.
    threads : int
        Changes the time that it takes, not the result.

    Returns
    -------
    Links
        12 bytes a neighbour at most while it is made, 10 afterwards.
    """
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
    """Return the weights that everybody has to one user, shape (n_users,); 0: not a neighbour."""
    desk = new_desk(weighing.indptr.size - 1)
    weigh(weighing, user, desk)
    return desk.codes / np.float32(FULL)


def _in_threads(work: Any, n: int, threads: int, title: str) -> None:
    starts = range(0, n, _CHUNK)
    if threads == 1:  # without a bar too: who asks for one thread may run several themselves
        for start in starts:
            work(start)
        return
    with pool(threads) as workers:
        for _ in track(workers.map(work, starts), title, len(starts)):
            pass


@brief
class _Board(NamedTuple):
    """Working space of one thread, beside the desk where weights are made."""

    bins: NDArray[np.int64]  # by code of a weight: how many have it, then where the next one goes
    order: NDArray[np.int32]  # users with positive weights, the nearest first
    heap: NDArray[np.int64]
    room: NDArray[np.int32]  # by item: how many neighbours are still to be asked; else 0
    said: NDArray[np.float64]  # by item: sum of weight * deviation, sum of weights; else 0


@compiled()
def _new_board(n_users: int, n_items: int, n_neighbours: int) -> _Board:
    return _Board(
        np.zeros(FULL + 1, np.int64),
        np.empty(n_users, np.int32),
        np.empty(min(n_neighbours, n_users), np.int64),
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
    desk = new_desk(weighing.indptr.size - 1)
    board = _new_board(weighing.indptr.size - 1, 0, 0)
    for user in range(first, end):
        weigh(weighing, user, desk)
        size = min(_rank(desk.codes, board), users.shape[1])
        counts[user] = size
        users[user, :size] = np.sort(board.order[:size])
        for rank in range(size):
            other = users[user, rank]
            codes[user, rank], shared[user, rank] = desk.codes[other], desk.sums[other, 0]


@compiled()
def _rank(codes: NDArray[Any], board: _Board) -> int:
    """Order the users with positive weights, the nearest first (a counting sort); count them."""
    bins = board.bins
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
            board.order[bins[code]] = user
            bins[code] += 1
    return place


@compiled()
def _ask_raters(
    weighing: Weighing, answers: Answers, first: int, end: int, n_neighbours: int
) -> None:
    """Answer for the runs from `first` to before `end`."""
    n_users, n_items = weighing.indptr.size - 1, weighing.starts.size - 1
    desk, board = new_desk(n_users), _new_board(n_users, n_items, n_neighbours)
    for run in range(first, end):
        cells = answers.items[answers.runs[run] : answers.runs[run + 1]]
        pulls = answers.pulls[answers.runs[run] : answers.runs[run + 1]]
        weigh(weighing, answers.users[answers.runs[run]], desk)
        if not _walk(weighing, cells, n_neighbours, desk, board):
            for item in cells:
                if board.room[item] > 0:
                    _search(weighing, item, desk, board)
        _read(cells, board, pulls)
        board.room[cells] = 0
        board.said[cells] = 0


@compiled()
def _walk(
    weighing: Weighing, cells: NDArray[Any], n_neighbours: int, desk: Desk, board: _Board
) -> bool:
    """Ask the others, the nearest first, about all cells at once; return whether that is all.

    Items that many have rated have all their neighbours soon. For the others it is shorter to go
    through their raters: once the walk was as long as that would be, it ends.
    """
    starts, room, said = weighing.starts, board.room, board.said
    left = 0
    for item in cells:
        left += (starts[item + 1] - starts[item]) * (room[item] == 0)
        room[item] = n_neighbours
    walked = 0
    for other in board.order[: _rank(desk.codes, board)]:
        if walked >= _SEARCH_STEP * left:
            return left == 0
        code = float(desk.codes[other])
        start, end = weighing.indptr[other], weighing.indptr[other + 1]
        # Unsigned places spare numba the check for negative ones.
        for at in range(np.uint64(start), np.uint64(end)):
            item = np.uint64(weighing.items[at])
            if room[item] > 0:
                said[item, 0] += code * weighing.deviations[at]
                said[item, 1] += code
                room[item] -= 1
                if room[item] == 0:
                    left -= starts[item + 1] - starts[item]
        walked += end - start
    return True


@compiled()
def _search(weighing: Weighing, item: int, desk: Desk, board: _Board) -> None:
    """Look for the nearest among all who rated an item, and ask them."""
    start, end = weighing.starts[item], weighing.starts[item + 1]
    heap, size, least = board.heap, 0, np.uint16(0)
    for place in range(np.uint64(start), np.uint64(end)):
        code = desk.codes[np.uint64(weighing.raters[place])]
        if code > least:
            size = _push(heap, size, _key(code, place - np.uint64(start)))
            least = _code(heap[0]) if size == heap.size else least
    board.room[item] = 0
    board.said[item] = 0
    for key in heap[:size]:
        code = float(_code(key))
        board.said[item, 0] += code * weighing.opinions[start + _place(key)]
        board.said[item, 1] += code


@compiled()
def _ask_listed(weighing: Weighing, answers: Answers, listed: Links, first: int, end: int) -> None:
    """Answer for the runs from `first` to before `end`."""
    board = _new_board(0, weighing.starts.size - 1, 0)
    for run in range(first, end):
        user = answers.users[answers.runs[run]]
        for neighbour in range(listed.indptr[user], listed.indptr[user + 1]):
            other, code = listed.users[neighbour], float(listed.codes[neighbour])
            for at in range(weighing.indptr[other], weighing.indptr[other + 1]):
                board.said[weighing.items[at], 0] += code * weighing.deviations[at]
                board.said[weighing.items[at], 1] += code
        cells = slice(answers.runs[run], answers.runs[run + 1])
        _read(answers.items[cells], board, answers.pulls[cells])
        for neighbour in range(listed.indptr[user], listed.indptr[user + 1]):
            other = listed.users[neighbour]
            for at in range(weighing.indptr[other], weighing.indptr[other + 1]):
                board.said[weighing.items[at]] = 0


@compiled()
def _read(cells: NDArray[Any], board: _Board, pulls: NDArray[Any]) -> None:
    """Write the weighted means of what was said about the cells."""
    for cell in range(cells.size):
        pull, total = board.said[cells[cell]]
        pulls[cell] = pull / total if total > 0 else 0.0


# A heap holds keys of 64 bits: the code above 32 bits of place, of which lower ones count more.
@compiled()
def _key(code: int, place: int) -> Any:
    return ((np.int64(code) + 1) << 32) - 1 - np.int64(place)


@compiled()
def _code(key: int) -> Any:
    return np.uint16(key >> 32)


@compiled()
def _place(key: int) -> Any:
    return 0xFFFFFFFF - (key & 0xFFFFFFFF)


@compiled()
def _push(heap: NDArray[Any], size: int, key: int) -> int:
    """Add a key above the lowest, which gives way if the heap is full; return the new size."""
    if size < heap.size:
        at = size
        while at > 0 and heap[(at - 1) // 2] > key:
            heap[at] = heap[(at - 1) // 2]
            at = (at - 1) // 2
        heap[at] = key
        return size + 1
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = key
    return size
