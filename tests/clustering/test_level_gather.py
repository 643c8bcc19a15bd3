"""Level gather: worked examples, and an oracle in plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from error_assertions import raises
from recveil.clustering import BisectingKGather, BisectingOneKGather, LevelGather, armse, sse
from recveil.clustering.base import number_by_lowest_member
from recveil.clustering.bisecting_k_gather import bisecting_k_gather
from recveil.clustering.level_gather import _gather, _gather_level_by_level


def unscaled(X):
    return np.asarray(X, dtype=np.float32).reshape(len(X), -1)


def gather(X, levels, n_bisections=10, seed=0):
    """Group the rows as they stand, so that whole numbers stay whole."""
    rng, labels = np.random.default_rng(seed), np.empty(len(X), dtype=np.int64)
    _gather(unscaled(X), np.asarray(levels), np.arange(len(X)), n_bisections, rng, 0, labels)
    return number_by_lowest_member(labels).tolist()


def gather_level_by_level(X, levels):
    rng = np.random.default_rng(0)
    group = _gather_level_by_level(unscaled(X), np.asarray(levels), 10, rng)
    return number_by_lowest_member(group).tolist()


@pytest.mark.parametrize("gather", [gather, gather_level_by_level])
class TestBothWays:
    def test_each_level_has_groups_of_its_own(self, gather):
        # The four of level 2 part into the closest pairs; 5 stands alone.
        assert gather([0, 1, 10, 11, 5], [2, 2, 2, 2, 1]) == [0, 0, 1, 1, 2]

    def test_a_rare_level_is_filled_with_the_closest(self, gather):
        assert gather([0, 9, 1, 2, 8], [3, 1, 1, 1, 1]) == [0, 1, 0, 0, 2]

    def test_fillers_are_taken_from_the_levels_below_alone(self, gather):
        # 0 and 1 need a third: 3 is closer than -9, but needs four. With three others 3 has them.
        X, levels = [3, 4, 5, 6, 0, 1, -9], [4, 4, 4, 4, 3, 3, 2]
        assert gather(X, levels) == [0, 0, 0, 0, 1, 1, 1]

    def test_too_few_join_the_closest_group(self, gather):
        # No user is below 9, whose level is 2: 9 joins the closest group, but not 8, who is alone.
        assert gather([0, 1, 20, 21, 9], [2, 2, 2, 2, 2]) == [0, 0, 1, 1, 0]
        assert gather([0, 1, 2, 9], [3, 3, 3, 2]) == [0, 0, 0, 0]

    def test_a_group_that_grows_too_large_is_bisected(self, gather):
        # The five of level 3 are one group (5 < 6). With 12 they are six: step 7B parts 0, 1, 2.
        assert gather([0, 1, 2, 10, 11, 12], [3, 3, 3, 3, 3, 2]) == [0, 0, 0, 1, 1, 1]

    def test_the_highest_level_may_need_all_users(self, gather):
        assert gather([0, 1, 2, 90, 91], [1, 1, 5, 1, 2]) == [0] * 5

    def test_all_users_at_level_one_are_alone(self, gather):
        assert gather([4, 4, 5, 6], [1] * 4) == [0, 1, 2, 3]

    def test_one_row(self, gather):
        assert gather([4], [1]) == [0]

    def test_all_rows_equal(self, gather):
        assert gather([7] * 7, [3, 1, 1, 3, 3, 2, 2]) == [0, 1, 2, 0, 0, 3, 3]


def test_far_apart_each_finds_its_own_company():
    # Level by level, 0 and 100 are a group: SSE 50² + 50² = 5000. In two, 0 takes 1 and 100 takes
    # 99: SSE 0.5 + 0.5.
    X, levels = [0, 1, 99, 100], [2, 1, 1, 2]
    assert gather_level_by_level(X, levels) == [0, 1, 2, 0]
    assert gather(X, levels) == [0, 0, 1, 1]


def test_close_together_they_are_each_others_company():
    # Level by level, 0 and 4 are a group: SSE 2² + 2² = 8. In two, at the centroid 2, 0 takes -3
    # and 4 takes 7: SSE 4.5 + 4.5 = 9.
    assert gather([0, 4, -3, 7], [2, 2, 1, 1]) == [0, 0, 1, 2]


def in_groups(X, group):
    return sum(((X[group == g] - X[group == g].mean(axis=0)) ** 2).sum() for g in np.unique(group))


def plain_level_by_level(X, levels, n_bisections, rng):
    """One level after the other, as the class says; groups are known by their first members."""
    group = np.full(len(X), -1)

    def settle(rows, level):
        numbers = bisecting_k_gather(unscaled(X[rows]), level, n_bisections, rng)
        for number in dict.fromkeys(numbers.tolist()):
            group[rows[numbers == number]] = rows[numbers == number][0]

    waiting = []
    for level in sorted(set(levels.tolist()), reverse=True):
        free = np.isin(np.arange(len(X)), waiting, invert=True) & (group < 0)
        rows = np.flatnonzero(free & (levels == level))
        below = np.flatnonzero(free & (levels < level))
        below = below[np.argsort(-levels[below], kind="stable")]
        if len(rows) >= level:
            settle(rows, level)
        elif len(rows) and len(rows) + len(below) >= level:
            distances = ((X[below] - X[rows].mean(axis=0)) ** 2).sum(axis=1)
            fillers = below[np.argsort(distances, kind="stable")][: level - len(rows)]
            group[rows] = group[fillers] = rows[0]
        else:
            waiting += rows.tolist()
    before = group.copy()
    for row in waiting:
        large = [g for g in np.unique(before[before >= 0]) if (before == g).sum() >= levels[row]]
        away = [((X[before == g].mean(axis=0) - X[row]) ** 2).sum() for g in large]
        group[row] = large[int(np.argmin(away))]
    large = True
    while waiting and large:
        large = False
        for g in np.unique(group)[::-1]:
            rows = np.flatnonzero(group == g)
            if len(rows) >= 2 * levels[rows].max():
                settle(rows, levels[rows].max())
                large = True
    return group


def plain_gather(X, levels, rows, n_bisections, rng):
    """Both ways, and the better; returns the group of each of the rows."""
    n = len(rows)
    if levels[rows].max() == 1:
        return rows
    centroid = X[rows].mean(axis=0)
    sides = []
    for _ in range(n_bisections):
        direction = X[rows[int(rng.random() * n)]] - centroid
        left = (X[rows] - centroid) @ direction >= 0
        if all(side.sum() >= max(levels[rows[side]], default=1) for side in (left, ~left)):
            sides.append(left)
    by_level = plain_level_by_level(X[rows], levels[rows], n_bisections, rng)
    if not sides:
        return rows[by_level]
    left = min(sides, key=lambda left: in_groups(X[rows], left))
    if not left[0]:  # as in recveil: the side of the first row comes first
        left = ~left
    in_two = np.empty(n, dtype=np.int64)
    for side in (left, ~left):
        in_two[side] = plain_gather(X, levels, rows[side], n_bisections, rng)
    return in_two if in_groups(X[rows], in_two) < in_groups(X[rows], by_level) else rows[by_level]


@settings(deadline=None, max_examples=80)
@given(
    n=st.integers(1, 40),
    highest=st.integers(1, 9),
    d=st.integers(1, 4),
    n_bisections=st.integers(1, 4),
    seed=st.integers(0, 10_000),
)
def test_the_groups_are_those_of_the_plain_oracle(n, highest, d, n_bisections, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d), dtype=np.float32)
    if seed % 2:  # outliers and rare levels
        rows[: n // 20 + 1] *= 100
        levels = np.where(rng.random(n) < 0.2, min(n, highest), 1 + seed % 2)
        levels = np.minimum(levels, n)
    else:
        levels = rng.integers(1, min(n, highest) + 1, size=n)
    expected = plain_gather(
        rows.astype(float), levels, np.arange(n), n_bisections, np.random.default_rng(seed)
    )
    found = gather(rows, levels, n_bisections, seed)
    assert found == number_by_lowest_member(expected).tolist()


@pytest.mark.parametrize("k", [1, 5, 12])
def test_equal_levels_are_k_gather_and_closer_than_by_bisecting(k):
    X = np.random.default_rng(0).normal(size=(700, 4))
    labels = LevelGather(k, random_state=0).fit(X).labels_
    assert k <= np.bincount(labels).min() <= np.bincount(labels).max() < 2 * k
    assert (LevelGather(random_state=0).fit(X, levels=np.full(700, k)).labels_ == labels).all()
    bisecting = BisectingKGather(k, random_state=0).fit(X).labels_
    assert sse(X, labels) <= sse(X, bisecting)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_more_stand_alone_and_groups_are_closer_than_by_one_k_gather(share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    levels = np.where(rng.random(600) < share, 1, 6)
    ours = LevelGather(random_state=0).fit(X, levels=levels).labels_
    theirs = BisectingOneKGather(6, random_state=0).fit(X, levels=levels).labels_
    alone = [(np.bincount(labels) == 1).sum() for labels in (ours, theirs)]
    assert alone[0] > alone[1]
    assert armse(X, ours) < armse(X, theirs)
    assert sse(X, ours) < sse(X, theirs)


def test_extreme_data_are_cut_no_deeper_than_the_stack():
    X = np.geomspace(1, 1e30, 3000)[:, None]
    levels = np.tile([1, 1, 1, 2], 750)
    sizes = np.bincount(labels := LevelGather(random_state=0).fit(X, levels=levels).labels_)
    assert (sizes[labels] >= levels).all()


def test_the_number_of_threads_does_not_matter():
    rng = np.random.default_rng(0)
    X, levels = rng.normal(size=(1500, 50)), rng.integers(1, 20, size=1500)
    labels = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            labels.append(LevelGather(random_state=0).fit(X, levels=levels).labels_)
    assert (labels[0] == labels[1]).all()


@pytest.mark.parametrize(
    ("levels", "code", "result"),
    [
        ([1, 2], "argument.shape", "(2,)"),
        ([1, 2.5, 1], "argument.type", "float64"),
        ([1, 0, 1], "level.value", "row 1 has 0"),
        ([1, 1, 4], "level.value", "row 2 asks for a group of 4"),
    ],
)
def test_senseless_levels_are_refused(levels, code, result):
    with raises(code) as caught:
        LevelGather().fit(np.zeros((3, 1)), levels=levels)
    assert result in str(caught.value)


def test_senseless_parameters_are_refused():
    with raises("argument.value") as caught:
        LevelGather(1, n_bisections=0).fit(np.zeros((3, 1)))
    assert "n_bisections" in str(caught.value)
    with raises("argument.value") as caught:
        LevelGather(0).fit(np.zeros((3, 1)), levels=[1, 1, 1])
    assert "min_size" in str(caught.value)
    with raises("table.too-few-users") as caught:
        LevelGather(5).fit(np.zeros((3, 1)))
    assert "3 rows" in str(caught.value)
