"""UserKNN and TrustKNN: a table worked by hand, a slow oracle, and what is at the edges."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recveil.predict import TrustKNN, UserKNN
from recveil.ratings import Ratings, RatingScale
from shared.predict_user_knn import (
    SHARED,
    STARS,
    many,  # noqa: F401 (fixtures)
    table,
)


# The oracle: dictionaries, one pair and one cell at a time.
def _deviations(ratings: Ratings) -> tuple[list[float], list[dict[int, float]]]:
    overall = float(np.mean(ratings.values)) if ratings.n_ratings else ratings.scale.low
    means, rows = [], []
    for user in range(ratings.n_users):
        items, values = ratings.row(user)
        mean = sum(map(float, values)) / len(values) if len(values) else overall
        means.append(mean)
        rows.append({int(i): float(v) - mean for i, v in zip(items, values, strict=True)})
    return means, rows


def _similarity(one: dict[int, float], other: dict[int, float]) -> float:
    shared = one.keys() & other.keys()
    length = math.sqrt(sum(one[i] ** 2 for i in shared) * sum(other[i] ** 2 for i in shared))
    return sum(one[i] * other[i] for i in shared) / length if length > 1e-9 else 0


def _trust(one: dict[int, float], other: dict[int, float], span: float) -> float:
    shared = one.keys() & other.keys()
    return sum(1 - abs(one[i] - other[i]) / span for i in shared) / len(shared)


def _direct(rows, span, min_overlap, significance, kind) -> dict[tuple[int, int], float]:
    weights = {}
    for one in range(len(rows)):
        for other in range(len(rows)):
            shared = len(rows[one].keys() & rows[other].keys())
            if one != other and shared >= min_overlap:
                pair = rows[one], rows[other]
                weight = _similarity(*pair) if kind == "similarity" else _trust(*pair, span)
                weights[one, other] = weight * min(shared / significance, 1)
    return weights


def _propagated(rows, web, last, trust) -> dict[tuple[int, int], float]:
    """Eq. 5 for those who are not in the web: by way of those whom the last step reached."""
    found, all_users = {}, range(len(rows))
    for one in all_users:
        for other in all_users:
            if one == other or (one, other) in web:
                continue
            above, below = 0.0, 0.0
            for middle in all_users:
                first, second = last.get((one, middle), 0), trust.get((middle, other), 0)
                if first > 0 and second > 0:
                    near = max(1, len(rows[one].keys() & rows[middle].keys()))
                    near = near if last is trust else 1
                    far = len(rows[middle].keys() & rows[other].keys())
                    above, below = above + near * first + far * second, below + near + far
            if below:
                found[one, other] = above / below
    return found


def _predict(ratings, rows, means, weights, user, item, n_neighbours, neighbours) -> float:
    asked = [o for (u, o), weight in weights.items() if u == user and weight > 1e-9]
    if neighbours == "item":
        asked = [other for other in asked if item in rows[other]]
    asked.sort(key=lambda other: (-round(weights[user, other], 7), other))
    if len(asked) > n_neighbours:
        last, following = (weights[user, asked[at]] for at in (n_neighbours - 1, n_neighbours))
        assume(not 1e-9 < last - following < 1e-4)
    asked = [other for other in asked[:n_neighbours] if item in rows[other]]
    total = sum(weights[user, other] for other in asked)
    pull = sum(weights[user, other] * rows[other][item] for other in asked)
    predicted = means[user] + (pull / total if asked else 0)
    return min(max(predicted, ratings.scale.low), ratings.scale.high)


SCALES = [STARS, RatingScale(0.5, 5, 0.5), RatingScale(-10, 10, 2.5), RatingScale(3, 3)]


@st.composite
def tables(draw) -> Ratings:
    scale = draw(st.sampled_from(SCALES))
    levels = [3.0] if scale.step is None else scale.levels.tolist()
    cell = st.one_of(st.none(), st.sampled_from(levels))
    shape = draw(st.tuples(st.integers(1, 7), st.integers(1, 6)))
    row = st.lists(cell, min_size=shape[1], max_size=shape[1])
    return table(draw(st.lists(row, min_size=shape[0], max_size=shape[0])), scale)


@settings(deadline=None, max_examples=150)
@given(
    ratings=tables(),
    kind=st.sampled_from(["similarity", "trust"]),
    steps=st.sampled_from([None, 0, 1, 2]),
    n_neighbours=st.integers(1, 7),
    neighbours=st.sampled_from(["item", "global"]),
    min_overlap=st.integers(1, 3),
    significance=st.sampled_from([1, 2, 3.5]),
)
def test_against_the_oracle(
    ratings, kind, steps, n_neighbours, neighbours, min_overlap, significance
):
    assume(steps is not None or kind == "similarity")  # without steps: `UserKNN`
    if steps:  # the oracle goes all ways, not those by the nearest alone
        n_neighbours = ratings.n_users
    span = ratings.scale.range or 1.0
    means, rows = _deviations(ratings)
    weights = _direct(rows, span, min_overlap, significance, kind)
    last = trust = _direct(rows, span, min_overlap, significance, "trust")
    for _ in range(steps or 0):
        last = _propagated(rows, weights, last, trust)
        weights = weights | last
    # What is barely positive is nothing in steps of 1/65520, or of another size.
    assume(not any(1e-9 < weight < 0.02 for weight in weights.values()))
    more = {} if steps is None else {"direct_weights": kind, "steps": steps}
    predictor = (UserKNN if steps is None else TrustKNN)(
        n_neighbours,
        neighbours=neighbours,
        min_overlap=min_overlap,
        significance=significance,
        **more,
    ).fit(ratings)
    for user in range(ratings.n_users):
        expected = [max(weights.get((user, o), 0), 0) for o in range(ratings.n_users)]
        assert np.allclose(predictor.weights(user), expected, atol=3e-5)
    cells = np.divmod(np.arange(ratings.n_users * ratings.n_items), ratings.n_items)
    expected = [
        _predict(ratings, rows, means, weights, int(user), int(item), n_neighbours, neighbours)
        for user, item in zip(*cells, strict=True)
    ]
    assert np.allclose(predictor.predict(*cells), expected, atol=2e-3 * span)


@SHARED
@pytest.mark.parametrize("neighbours", ["item", "global"])
@pytest.mark.parametrize("centre", ["user", "biases"])
def test_the_number_of_threads_changes_nothing(many, predictor, neighbours, centre):
    users, items = np.divmod(np.arange(many.n_users * many.n_items), many.n_items)
    first, second = (
        predictor(7, neighbours=neighbours, centre=centre, threads=threads)
        .fit(many)
        .predict(users, items)
        for threads in (1, 2)
    )
    assert np.array_equal(first, second)
