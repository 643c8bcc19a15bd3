"""Co-rated rows: the kernels that lay out the rows of a group, and that protect its labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.compiled import compiled


@compiled()
def lay_out(
    first: int,
    last: int,
    members: NDArray[Any],
    starts: NDArray[Any],
    item_starts: NDArray[Any],
    group_items: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    ratings: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Lay the rows of some groups out: the real ratings, and where labels are missing."""
    n_rows = starts[last] - starts[first]
    ends = np.zeros(n_rows + 1, np.int64)
    row = 0
    for group in range(first, last):
        for _ in range(starts[group], starts[group + 1]):
            ends[row + 1] = ends[row] + item_starts[group + 1] - item_starts[group]
            row += 1
    items, values = np.empty(ends[-1], np.int32), np.zeros(ends[-1])
    missing = np.ones(ends[-1], np.bool_)
    row = 0
    for group in range(first, last):
        wanted = group_items[item_starts[group] : item_starts[group + 1]]
        for user in members[starts[group] : starts[group + 1]]:
            at, place = indptr[user], ends[row]
            for item in wanted:
                items[place] = item
                if at < indptr[user + 1] and indices[at] == item:
                    values[place] = ratings[at]
                    missing[place] = False
                    at += 1
                place += 1
            row += 1
    return ends, items, values, missing


@compiled()
def protect_labels(
    values: NDArray[Any],
    sizes: NDArray[Any],
    widths: NDArray[Any],
    mean: bool,
    rng: np.random.Generator,
) -> None:
    """Replace the labels of each item in a group by their mean, or deal them anew."""
    start = 0
    for group in range(sizes.size):
        size, width = sizes[group], widths[group]
        rows = values[start : start + size * width].reshape(size, width)
        for item in range(width):
            if mean:
                total = 0.0
                for row in range(size):
                    total += rows[row, item]
                for row in range(size):
                    rows[row, item] = total / size
            else:
                for row in range(size - 1, 0, -1):
                    other = int(rng.random() * (row + 1))
                    rows[row, item], rows[other, item] = rows[other, item], rows[row, item]
        start += size * width
