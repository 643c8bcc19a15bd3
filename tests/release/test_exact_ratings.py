"""How many ratings stand in the rows as they were given: by hand, and against a slow count."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.datasets import make_ratings
from recveil.methods import Groups, PredictiveAnonymizer, homogenize_simple
from recveil.ratings import Ratings, RatingScale
from recveil.release.exact_ratings import count_exact_ratings
from recveil.release.records import Records

STARS = RatingScale(1, 5, 1)


def of(rows, scale=STARS):
    """Ratings of a list of dictionaries from item to rating."""
    entries = [(user, item, value) for user, row in enumerate(rows) for item, value in row.items()]
    return Ratings.from_columns(*zip(*entries, strict=True), scale=scale)


def test_by_hand():
    # Two groups of three. In the first, a is lone (5), of b all agree (4, 4), c has 3, 4, 5: the
    # mean is the second one's rating by chance, and d has 1 and 2. In the second, a is lone (2),
    # and of b two disagree (1, 5): the mean 3 is a value of the scale, and no user's rating.
    ratings = of(
        [
            {"a": 5, "b": 4, "c": 3, "d": 1},
            {"b": 4, "c": 4, "d": 2},
            {"c": 5},
            {"a": 2, "b": 1},
            {"b": 5},
            {"e": 3},
        ]
    )
    groups = Groups.from_labels([0, 0, 0, 1, 1, 1])
    found = count_exact_ratings(ratings, groups, homogenize_simple(ratings, groups))
    # Of twelve ratings three are lone, of users 0, 3 and 5: a 5, a 2, e 3.
    assert (found.rating_share, found.user_share) == (3 / 12, 3 / 6)
    # Exact are those, b's two fours, and the c of user 1.
    assert found.exact_share == 6 / 12
    # Values of the scale: 5, 4, 4 (c), 2, 3 (b), 3 (e); of c and the second b it is not all's.
    assert found.label_share == 4 / 6


def test_rounding_decides():
    # The mean of 4, 4, 5 is 4.33: rounded to the scale, it is the rating of two of three.
    ratings = of([{"a": 4}, {"a": 4}, {"a": 5}])
    groups = Groups.from_labels([0, 0, 0])
    as_stated = [
        Records(np.array([3]), np.array([0, 1]), np.array([0], np.int32), np.array([label]))
        for label in (13 / 3, 4.0)
    ]
    exact, rounded = (count_exact_ratings(ratings, groups, [block]) for block in as_stated)
    assert (exact.exact_share, exact.label_share) == (0, None)
    assert (rounded.exact_share, rounded.label_share) == (2 / 3, 0)


def test_labels_that_no_user_rated_are_no_ratings():
    # As padding, fills and diversity add them.
    ratings = of([{"a": 4}, {"b": 2}])
    row = Records(np.array([2]), np.array([0, 2]), np.array([0, 1], np.int32), np.array([4.0, 3.0]))
    found = count_exact_ratings(ratings, Groups.from_labels([0, 0]), [row])
    assert (found.rating_share, found.exact_share, found.label_share) == (1, 1 / 2, 1 / 2)


def test_a_continuous_scale_has_no_labels_on_it():
    ratings = of([{"a": 4.25}, {"a": 4.25}], RatingScale(1, 5))
    groups = Groups.from_labels([0, 0])
    found = count_exact_ratings(ratings, groups, homogenize_simple(ratings, groups))
    assert (found.exact_share, found.label_share) == (1, None)


def test_a_lone_rating_is_revealed_to_within_the_rounding():
    """On a continuous scale nearly no label is a rating, and all are near one."""
    fine = RatingScale(-10, 10)
    ratings = of([{"a": 4.27, "b": -3.14}, {"c": 0.55}], fine)
    groups = Groups.from_labels([0, 0])
    rows = [replace(row, values=fine.round(row.values, 0.2)) for row in _rows(ratings, groups)]
    found = count_exact_ratings(ratings, groups, rows, 0.2)
    assert (found.rating_share, found.exact_share, found.label_share) == (1, 0, None)
    assert (found.within, found.near_share, found.near_label_share) == (0.1, 1, 1)
    assert found.is_rounded_off


def _rows(ratings, groups):
    return list(homogenize_simple(ratings, groups))


def test_tenths_are_themselves():
    # 4.1 in single precision is not 4.1 in double.
    ratings = of([{"a": 4.1}, {"b": 0.7}], RatingScale(0.1, 5, 0.1))
    groups = Groups.from_labels([0, 0])
    rows = list(homogenize_simple(ratings, groups))
    rows = [replace(row, values=np.round(row.values, 1)) for row in rows]
    assert count_exact_ratings(ratings, groups, rows).exact_share == 1


def plainly(ratings, groups, rows, within):
    """The same with dictionaries."""
    own = [dict(zip(*map(list, ratings.row(user)), strict=True)) for user in range(ratings.n_users)]
    lone, exact, on_scale, certain = np.zeros(ratings.n_users), 0, 0, 0
    near, near_labels, labels = 0, 0, 0
    for (first, last), row in zip(itertools.pairwise(groups.starts), rows, strict=True):
        members = groups.members[first:last]
        for user in members:
            for item, value in own[user].items():
                lone[user] += sum(item in own[other] for other in members) == 1
                exact += abs(row.get(item, np.nan) - value) < 1e-6
                near += abs(row.get(item, np.nan) - value) < within + 1e-6
        for item, label in row.items():
            given = [own[user][item] for user in members if item in own[user]]
            labels += 1
            near_labels += bool(given) and all(abs(v - label) < within + 1e-6 for v in given)
            if abs(label - round(label)) < 1e-9:
                on_scale += 1
                certain += bool(given) and all(abs(value - label) < 1e-6 for value in given)
    share = certain / on_scale if on_scale else None
    n = ratings.n_ratings
    result = lone.sum() / n, np.mean(lone > 0), exact / n, share
    return *result, within, near / n, near_labels / labels


@pytest.mark.parametrize("homogenize", ["simple", "padded"])
@given(seed=st.integers(0, 10_000), step=st.sampled_from(["tenth", "scale", "none"]))
@settings(deadline=None, max_examples=15)
def test_like_the_slow_one(homogenize, seed, step):
    ratings = make_ratings(n_users=24, n_items=15, n_ratings=150, seed=seed)
    anonymizer = PredictiveAnonymizer(3, homogenize, round_values=step, seed=seed)
    release = anonymizer.anonymize(ratings)
    rows = []
    for block in release.published.blocks():
        for start, end in itertools.pairwise(block.indptr):
            rows.append(dict(zip(block.indices[start:end], block.values[start:end], strict=True)))
    groups = release.private.groups
    grid = release.published.settings["value_step"]
    found = count_exact_ratings(ratings, groups, release.published.blocks(), grid)
    assert found == pytest.approx(plainly(ratings, groups, rows, (grid or 0) / 2))
