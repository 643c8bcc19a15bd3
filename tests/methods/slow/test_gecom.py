"""GeCom's grouping: a table worked by hand, a plain oracle, and what is at the edges."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.methods.k_corating.gecom import gecom
from recveil.ratings import Ratings, RatingScale


def table(supports: list[str], items: str = "abcdef") -> Ratings:
    """One user for each word; its letters are the items that they rated, all with 3."""
    rows = [[items.index(letter) for letter in word] for word in supports]
    return Ratings(
        *(np.arange(len(rows)), list(items), np.cumsum([0, *map(len, rows)])),
        *([item for row in rows for item in row], [3] * sum(map(len, rows)), None),
        RatingScale(1, 5, 1),
    )


def grouped(supports: list[str], k: int, workloads: int) -> list[list[int]]:
    groups = gecom(table(supports), k, workloads)
    return [part.tolist() for part in np.split(groups.members, groups.starts[1:-1])]


def plainly(supports: list[tuple[int, ...]], k: int, workloads: int) -> list[list[int]]:
    """Algorithms 1 to 3 as they are printed, line by line."""
    order = sorted(range(len(supports)), key=lambda u: (len(supports[u]), supports[u], u))
    like = {row: [u for u in order if supports[u] == row] for row in dict.fromkeys(supports)}
    done = [like[row] for row in dict.fromkeys(supports[u] for u in order) if len(like[row]) >= k]
    taken = {u for group in done for u in group}
    left = [u for u in order if u not in taken]
    if 0 < len(left) < k:
        joined = [[] for _ in done]
        for u in left:
            costs = []
            for group in done:
                own, theirs = set(supports[u]), set(supports[group[0]])
                costs.append(len(group) * len(own - theirs) + len(theirs - own))
            joined[costs.index(min(costs))].append(u)
        return [group + more for group, more in zip(done, joined, strict=True)]
    for part in np.array_split(left, max(1, min(workloads, len(left) // k))):
        left = part.tolist()
        while left:
            group = []
            while len(group) < k:
                group.append(left.pop(0))
            while left and supports[left[0]] == supports[group[-1]]:
                group.append(left.pop(0))
            if len(left) < k:
                group, left = group + left, []
            done.append(group)
    return done


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sets(st.sampled_from("abcd"), min_size=1), min_size=1, max_size=20),
    st.integers(1, 6),
    st.integers(1, 4),
)
def test_as_printed(rows, k, workloads):
    words = ["".join(sorted(row)) for row in rows]
    if len(words) < k:
        k = len(words)
    supports = [tuple(map(ord, word)) for word in words]
    assert grouped(words, k, workloads) == plainly(supports, k, workloads)
