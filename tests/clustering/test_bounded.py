"""Bounded t-means: its placing against a slow oracle, its means, its bounds."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.clustering import BoundedTMeans
from recveil.clustering.bounded_k_means import (
    Steps,
    bounded_assignment,
    bounded_t_means,
    nearest_centre,
    nearest_weighted_squared,
)
from recveil.evaluation import weighted_squared
from recveil.ratings import RatingScale


def column(*numbers):
    return np.array(numbers, dtype=np.float32)[:, np.newaxis]


def squared_distances(X, centres):
    return ((X[:, np.newaxis] - centres[np.newaxis]) ** 2).sum(axis=2)


def slow_assignment(X, centres, min_size):
    """The placing as its docstring describes it, row by row, for distinct centres."""
    distance = squared_distances(X, centres)
    free = [min_size] * len(centres)
    label = {}
    while any(free):
        proposals = {}
        for row in set(range(len(X))) - set(label):
            open_centres = [c for c in range(len(centres)) if free[c]]
            wanted = min(open_centres, key=lambda c: (distance[row, c], c))
            proposals.setdefault(wanted, []).append(row)
        for centre, rows in proposals.items():
            nearest_first = sorted(rows, key=lambda row: (distance[row, centre], row))
            for row in nearest_first[: free[centre]]:
                label[row] = centre
                free[centre] -= 1
    return [label.get(row, int(distance[row].argmin())) for row in range(len(X))]


def slow_pairwise_assignment(X, centres, min_size):
    """The placing of Thompson & Yao: all pairs in order of distance, for distinct centres."""
    distance = squared_distances(X, centres)
    free, label = [min_size] * len(centres), {}
    pairs = np.ndindex(distance.shape)
    for row, centre in sorted(pairs, key=lambda pair: (distance[pair], pair[0])):
        if row not in label and free[centre]:
            label[row] = centre
            free[centre] -= 1
    return [label.get(row, int(distance[row].argmin())) for row in range(len(X))]


def test_pairwise_a_rejected_row_may_displace_one_that_is_farther():
    # In rounds, 17 takes the place at 10 (7 away) while 0 and 4 compete for that at 0, so that 4 is
    # left and goes to the nearest. By pairs, 4 (6 away) comes before 17, which is left.
    X, centres = column(0, 4, 17), column(0, 10)
    assert bounded_assignment(X, centres, 1).tolist() == [0, 0, 1]
    assert bounded_assignment(X, centres, 1, pairwise=True).tolist() == [0, 1, 1]


@given(data=st.data(), t=st.integers(1, 5), min_size=st.integers(1, 4))
def test_pairwise_against_a_slow_oracle(data, t, min_size):
    n = data.draw(st.integers(t * min_size, 25))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    X, centres = (rng.normal(size=(rows, 2)).astype(np.float32) for rows in (n, t))
    labels = bounded_assignment(X, centres, min_size, pairwise=True)
    assert labels.tolist() == slow_pairwise_assignment(X, centres, min_size)


def test_weighted_squared_is_the_measure_of_the_paper():
    rng = np.random.default_rng(1)
    X, centres = (rng.uniform(1, 5, (rows, 6)).astype(np.float32) for rows in (20, 4))
    pairs = (X[:, np.newaxis], centres[np.newaxis], RatingScale(1, 5))
    expected = weighted_squared(*np.broadcast_arrays(*pairs[:2]), pairs[2])
    nearest, distance = nearest_weighted_squared(X, centres, 4)
    assert np.array_equal(nearest, expected.argmin(axis=1))
    assert np.allclose(distance, expected.min(axis=1))


def test_weighted_squared_counts_small_differences_more():
    # From (1, 1): (3, 1) differs by half of the range once, 1 - (0.25 + 1) / 2 = 0.375; (2, 2) by a
    # quarter twice, 1 - 0.5625 = 0.4375. Euclidean distances are 2 and 1.41.
    X, centres = np.array([[1, 1]], np.float32), np.array([[3, 1], [2, 2]], np.float32)
    assert nearest_centre(X, centres)[0].tolist() == [1]
    nearest, distance = nearest_weighted_squared(X, centres, 4)
    assert (nearest.tolist(), distance.tolist()) == ([0], [0.375])


def test_the_round_with_the_lowest_weighted_squared_distance_is_kept():
    # Round 1 places the rows 0, 3, 6, 7 and 1, 2, 4, 5: distances to the means 2.6, squares 23.5.
    # Round 2 moves row 5 to the others: distances 2.635, squares 21.5; round 3 changes nothing.
    X = [[1, 4, 3], [4, 2, 1], [4, 1, 1], [4, 4, 5], [3, 2, 2], [2, 1, 4], [4, 3, 4], [3, 4, 2]]
    rows, steps = np.array(X, np.float32), Steps(partial(nearest_weighted_squared, value_range=4.0))
    found = bounded_t_means(rows, 2, 3, 10, np.random.default_rng(1), steps)
    assert found.labels.tolist() == [0, 1, 1, 0, 1, 1, 0, 1]
    distances = [
        nearest_weighted_squared(rows[found.labels == label], centre[np.newaxis], 4)[1].sum()
        for label, centre in enumerate(found.centres)
    ]
    assert (sum(distances), found.n_iter) == (pytest.approx(2.6), 3)


def test_real_users_as_centres():
    # The means of 0, 1, 5 and of 20, 21 are 2 and 20.5; 1 and, of equally near ones, 20 are next.
    X = column(0, 1, 5, 20, 21)
    steps = Steps(has_users_as_centres=True)
    for seed in range(5):
        centres = bounded_t_means(X, 2, 2, 10, np.random.default_rng(seed), steps).centres
        assert sorted(centres.ravel().tolist()) == [1, 20]


@pytest.mark.parametrize(
    "options",
    [
        {"distance": "cosine"},
        {"centers": "medians"},
        {"assignment": "any"},
        {"distance": "weighted-squared", "value_range": -1},
    ],
)
def test_senseless_steps_are_refused(options):
    with raises("argument.value", list(options)[-1]):
        BoundedTMeans(2, **options).fit(np.eye(4))


def test_rows_compete_for_the_places_of_a_centre():
    # Round 1: 0, 1, 2, 3, 4 want the centre at 0, which takes 0 and 1; 18 wants 20 and gets it.
    # Round 2: 2, 3, 4 are nearer to 10 than to 20; 10 takes 4 and 3. Round 3: 2 is left with 20.
    labels = bounded_assignment(column(0, 1, 2, 3, 4, 18), column(0, 10, 20), 2)
    assert labels.tolist() == [0, 0, 2, 1, 1, 2]


def test_what_is_left_goes_to_the_nearest_centre_full_or_not():
    # 2 takes 2 and 1, 3 takes 3 and 10; 0 is left, and nearer to 2.
    assert bounded_assignment(column(0, 1, 2, 3, 10), column(2, 3), 2).tolist() == [0, 0, 0, 1, 1]


def test_equal_centres_fill_one_after_the_other():
    # The two centres at 0 (numbers 0 and 2) have four places for 0, 1, 2, 3, filled by distance.
    labels = bounded_assignment(column(3, 1, 2, 0, 9, 9), column(0, 9, -0.0), 2)
    assert labels.tolist() == [2, 0, 2, 0, 1, 1]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_placing_agrees_with_the_oracle(data):
    points = st.tuples(st.integers(-5, 5), st.integers(-5, 5))
    centres = data.draw(st.lists(points, min_size=1, max_size=5, unique=True))
    min_size = data.draw(st.integers(1, 4))
    least = len(centres) * min_size
    rows = data.draw(st.lists(points, min_size=least, max_size=least + 6))
    X, C = np.array(rows, dtype=np.float32), np.array(centres, dtype=np.float32)
    assert bounded_assignment(X, C, min_size).tolist() == slow_assignment(X, C, min_size)


def test_slices_of_rows_do_not_show():
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 9, (3000, 3)).astype(np.float32)
    centres = rng.integers(-9, 9, (700, 3)).astype(np.float32)  # slices of 748 rows
    nearest, distance = nearest_centre(X, centres)
    expected = squared_distances(X, centres)
    assert (nearest == expected.argmin(axis=1)).all()
    assert (distance == expected.min(axis=1)).all()


@given(st.integers(0, 1000))
def test_centres_are_the_means_of_their_members(seed):
    X = np.random.default_rng(seed).integers(-9, 9, (20, 2)).astype(np.float32)
    labels, centres, _ = bounded_t_means(X, 4, 3, 5, np.random.default_rng(seed))
    means = [X[labels == c].mean(axis=0, dtype=np.float64) for c in range(4)]
    assert (centres == np.array(means, dtype=np.float32)).all()


def test_more_iterations_never_keep_a_worse_placing():
    X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)

    def sse(max_iter):
        labels, centres, _ = bounded_t_means(X, 20, 8, max_iter, np.random.default_rng(1))
        return ((X - centres[labels]) ** 2).sum()

    errors = [sse(max_iter) for max_iter in range(1, 9)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0]


@given(n=st.integers(1, 40), k=st.integers(1, 10), seed=st.integers(0, 9))
def test_a_group_has_at_most_k_plus_the_remainder(n, k, seed):
    if n < k:
        n += k
    X = np.random.default_rng(seed).normal(size=(n, 2))
    sizes = np.bincount(BoundedTMeans(k, random_state=seed).fit(X).labels_)
    assert sizes.size == n // k
    assert k <= sizes.min() <= sizes.max() <= k + n % k < 2 * k


def test_the_number_of_clusters_can_be_given():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert BoundedTMeans(4, n_clusters=3, random_state=0).fit(X).n_groups_ == 3


def test_too_many_clusters_are_refused():
    X = np.zeros((9, 1))
    with raises("argument.value") as caught:
        BoundedTMeans(4, n_clusters=3).fit(X)
    assert "at most 2 groups of 4" in str(caught.value)


@pytest.mark.parametrize("name", ["n_clusters", "max_iter"])
def test_parameters_start_at_one(name):
    with raises("argument.value") as caught:
        BoundedTMeans(1, **{name: 0}).fit(np.zeros((9, 1)))
    assert name in str(caught.value)
