"""What the fast and the slow tests of `test_k_corating.py` share."""

import itertools

from recveil.ratings import Ratings, RatingScale

# The deviations from the users' means, which are 3, but 5 for user 5:
#              a   b   c   d   e   f
#     user 0   2   0  -2   .   .   .
#     user 1   1  -1   .   .   .   .
#     user 2   .   .   0   .   .   .
#     user 3  -1   1   .   .   .   .
#     user 4   2   1  -1  -2   .   .
#     user 5   .   0   .   .   .   .
#     user 6  -2   .   .   .   0   2
# GeCom with k = 2 makes the groups {1, 3}, {5, 2} and {0, 6, 4}, which fill no cell, c of user 5
# and b of user 2, and all that is missing of a to f: 2 + 8 cells.
RATED = {
    0: {"a": 5, "b": 3, "c": 1},
    1: {"a": 4, "b": 2},
    2: {"c": 3},
    3: {"a": 2, "b": 4},
    4: {"a": 5, "b": 4, "c": 2, "d": 1},
    5: {"b": 5},
    6: {"a": 1, "e": 3, "f": 5},
}

CELLS = [(user, item, value) for user, row in RATED.items() for item, value in row.items()]

BY_HAND = Ratings.from_columns(*zip(*CELLS, strict=True), scale=RatingScale(1, 5, 1))


def rows_of(release) -> dict:
    """The published row of each user, by their own id: {item: label}."""
    published, private = release.published, release.private
    users, rows = private.users[private.groups.members], []
    for block in published.blocks():
        items = published.items[block.indices]
        for start, end in itertools.pairwise(block.indptr):
            rows.append(dict(zip(items[start:end], block.values[start:end], strict=True)))
    return dict(zip(users.tolist(), rows, strict=True))
