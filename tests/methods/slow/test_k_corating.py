"""KCoRater: seven users of six items worked by hand, what it must never change, and the edges."""

import itertools
from collections import Counter

from recveil.methods import KCoRater
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


class TestByHand:
    def test_each_way_to_deal_is_equally_likely_and_items_are_independent(self):
        # In {1, 3} a holds 4 and 2, b holds 2 and 4: four outcomes, 100 times each of 400; the
        # standard deviation of a count is √(400 * 1/4 * 3/4) = 8.7.
        outcomes = Counter()
        for seed in range(400):
            rows = rows_of(KCoRater(2, protect="shuffle", seed=seed).anonymize(BY_HAND))
            assert sorted([rows[1]["a"], rows[3]["a"]]) == [2, 4]
            outcomes[rows[1]["a"], rows[1]["b"]] += 1
        assert len(outcomes) == 4
        assert all(abs(count - 100) < 4 * 8.7 for count in outcomes.values())

    def test_of_three_each_gets_a_label_with_a_third(self):
        # {0, 6, 4}: c holds 1 of user 0, 2 filled for 6 and 2 of 4, f 5 thrice. User 0's 1 stays
        # with them in a third of 400 runs: 133, and the standard deviation is 9.4.
        stays = 0
        for seed in range(400):
            rows = rows_of(KCoRater(2, protect="shuffle", seed=seed).anonymize(BY_HAND))
            assert sorted(rows[user]["c"] for user in (0, 6, 4)) == [1, 2, 2]
            assert {rows[user]["f"] for user in (0, 6, 4)} == {5}
            stays += rows[0]["c"] == 1
        assert abs(stays - 400 / 3) < 4 * 9.4
