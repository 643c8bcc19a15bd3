"""Measures of a grouping: hand-worked, against plain numpy, and where they must be 0 or 1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from error_assertions import raises
from recveil.clustering import armse, group_sizes, maximum_radius, sse, sse_ratio

# The centroids are (3, 0) and (10, 4): squared distances of 9 + 9 + 0, and of 16 + 16.
X = np.array([[0, 0], [6, 0], [3, 0], [10, 0], [10, 8]], dtype=np.float32)
LABELS = [0, 0, 0, 1, 1]

tables = st.tuples(st.integers(1, 20), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=st.floats(-1e6, 1e6)),
        arrays(np.int64, shape[0], elements=st.integers(-3, 3)),
    )
)


def plain_errors(X, labels):
    """Each group's squared distances to its mean."""
    groups = [X[labels == label] for label in np.unique(labels)]
    return [((rows - rows.mean(axis=0)) ** 2).sum(axis=1) for rows in groups]


def test_the_sum_of_squares_by_hand():
    assert sse(X, LABELS) == 18 + 32


def test_armse_by_hand():
    # The mean squares are 18 / 3 = 6 and 32 / 2 = 16, so their roots are sqrt(6) and 4.
    assert armse(X, LABELS) == pytest.approx((6**0.5 + 4) / 2, rel=1e-12)


def test_the_share_of_squares_by_hand():
    # All have the centroid (29 / 5, 8 / 5). Sums of squares: 0 + 36 + 9 + 100 + 164 = 309, less
    # 5 * (5.8² + 1.6²) = 181, is 128.
    assert sse_ratio(X, LABELS) == pytest.approx(50 / 128, rel=1e-12)


def test_the_largest_radius_by_hand():
    # (3, 0) is 3 from both others. (10, 0) and (10, 8) are 8 apart, and no row is between them.
    assert maximum_radius(X, LABELS) == 8
    # (10, 4) is 4 from both, and is in another group.
    between = np.append(X, [[10, 4]], axis=0)
    assert maximum_radius(between, [*LABELS, 2]) == 4


@settings(deadline=None)  # the kernel is compiled in between
@given(tables)
def test_measures_agree_with_plain_numpy(table):
    X, labels = table
    errors = plain_errors(X, labels)
    near = {"rel": 1e-9, "abs": 1e-6}  # of numbers up to a million, squared
    assert sse(X, labels) == pytest.approx(sum(e.sum() for e in errors), **near)
    assert armse(X, labels) == pytest.approx(np.mean([e.mean() ** 0.5 for e in errors]), **near)
    distances = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
    radii = [distances[:, labels == label].max(axis=1).min() for label in np.unique(labels)]
    assert maximum_radius(X, labels) == pytest.approx(max(radii), **near)


@settings(deadline=None)
@given(tables)
def test_the_share_lies_between_0_and_1(table):
    X, labels = table
    assert 0 <= sse_ratio(X, labels) <= 1
    assert sse_ratio(X, np.arange(len(X))) == 0
    ratio = sse_ratio(X, np.zeros(len(X)))
    assert ratio == (1 if sse(X, np.zeros(len(X))) > 0 else 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_lose_nothing_at_all(dtype):
    X = np.full((7, 3), 0.1, dtype=dtype)  # a mean of sevenths of 0.1 need not be 0.1
    labels = [0, 0, 0, 1, 1, 1, 1]
    assert (
        sse(X, labels) == armse(X, labels) == sse_ratio(X, labels) == maximum_radius(X, labels) == 0
    )


def test_a_large_offset_does_not_blur_small_distances():
    assert sse([[1e9], [1e9 + 1], [-1e9], [-1e9]], [0, 0, 1, 1]) == 0.5


def test_labels_may_be_any_names():
    assert sse(X, ["near", "near", "near", "far", "far"]) == 50
    assert sse(X, [7, 7, 7, -2, -2]) == 50


def test_sizes_are_counted():
    sizes = group_sizes([5, 5, 2, 2, 2, 9, 9])
    assert (sizes.smallest, sizes.largest) == (2, 3)
    assert sizes.mean == 7 / 3
    assert list(sizes.counts.items()) == [(2, 2), (3, 1)]


@given(st.lists(st.integers(0, 5), min_size=1))
def test_sizes_add_up(labels):
    sizes = group_sizes(labels)
    assert sum(size * count for size, count in sizes.counts.items()) == len(labels)
    assert sum(sizes.counts.values()) == len(set(labels))
    assert (min(sizes.counts), max(sizes.counts)) == (sizes.smallest, sizes.largest)
    assert sizes.mean == len(labels) / len(set(labels))


@pytest.mark.parametrize("measure", [armse, maximum_radius, sse, sse_ratio])
class TestWhatIsRefused:
    @pytest.mark.parametrize("labels", [[0, 1], [[0], [0], [0], [0], [0]]])
    def test_labels_that_are_not_one_a_row(self, measure, labels):
        with raises("argument.shape") as caught:
            measure(X, labels)
        assert "5 rows" in str(caught.value)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_numbers_that_are_not_finite(self, measure, bad):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            measure([[1.0], [bad]], [0, 0])


@pytest.mark.parametrize("labels", [[], [[1, 2]], 3])
def test_sizes_need_labels_in_one_row(labels):
    with raises("argument.shape"):
        group_sizes(labels)
