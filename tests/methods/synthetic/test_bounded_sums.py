"""Adding or removing any user moves each sum by a length of at most 1: checked in whole numbers."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recveil.datasets import make_ratings
from recveil.methods.synthetic.bounded_sums import (
    FINE,
    RATED,
    SPREAD_SHARE,
    ItemSums,
    PopularDirection,
    direction_of,
    embedding_grid,
    item_sums,
    level_sums,
    moments,
    moved,
    spread_sums,
    sum_grid,
    users_by_activity,
)
from recveil.methods.synthetic.gaussian_mechanism import Mechanism
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.ratings import Ratings, RatingScale
from recveil.release.synthetic_form import activity_edges
from shared.methods_synthetic_bounded_sums import (
    CENTRE,
    GRID,
    N_ITEMS,
    POPULARITY,
    SCALES,
    SPREAD,
    STARS,
    _sums,
    one_user,
    small_tables,
    square,
    sums_of,
    table,
)


class TestOneUser:
    @given(small_tables())
    def test_what_a_user_adds_is_no_matter_of_the_others(self, case):
        scale, users, place = case
        alone = sums_of([users[place]], scale)
        before = sums_of(users, scale)
        after = sums_of(users[:place] + users[place + 1 :], scale)
        for name, (sums, _) in before.items():
            assert (sums - after[name][0] == alone[name][0]).all(), name

    @pytest.mark.parametrize("scale", SCALES, ids=str)
    @pytest.mark.parametrize("rating", ["low", "high", "both"])
    @pytest.mark.parametrize("n", [1, 3, 10, 999, 10_000])
    def test_an_extreme_user_nearly_reaches_one_and_no_more(self, scale, rating, n):
        values = {"low": [scale.low], "high": [scale.high], "both": [scale.low, scale.high]}[rating]
        a_user = {item: values[item % len(values)] for item in range(n)}
        ratings = table([a_user], scale, n)
        few = np.arange(min(n, 300))
        for name, (sums, one) in _sums(ratings, few, 0.0, 0.05).items():
            assert square(sums) <= one**2, name
        reached = square(item_sums(ratings, 0.0, 0.05)) / 2**40
        assert reached > 0.995 - 0.005 * (n > 1_000)

    def test_ten_thousand_ratings_lose_little_by_rounding(self):
        ratings = table([dict.fromkeys(range(10_000), 5)], n_items=10_000)
        steps = item_sums(ratings, 0.0, 1.0)
        assert (steps * FINE / np.sqrt([0.3, 0.7])).min() == pytest.approx(0.01, rel=1e-3)
        # An embedding is as long as its outer product, of which the diagonal has the squares.
        few = np.arange(10_000)[::20]
        diagonal = np.diagonal(stated_moments(ratings, few, np.arange(few.size)))
        assert 0.99 < diagonal.sum() <= 1

    @example(users=[{0: 5.0}], order=None)
    @given(st.lists(one_user(STARS), min_size=1, max_size=5), st.none() | st.randoms())
    def test_the_order_of_users_is_no_matter(self, users, order):
        others = users[::-1] if order is None else order.sample(users, len(users))
        before, after = sums_of(users, STARS), sums_of(others, STARS)
        for name, (sums, _) in before.items():
            assert (sums == after[name][0]).all(), name


def slow_item_sums(users, scale):
    sums = np.zeros((N_ITEMS, 2))
    half = scale.range / 2
    for one in users:
        off = {item: (rating - scale.low) / half - 1 - CENTRE for item, rating in one.items()}
        usual = math.sqrt(sum(number**2 for number in off.values()) / len(one))
        held = min(1.0, SPREAD / usual) if usual > 0 else 1.0
        for item, number in off.items():
            sums[item, 0] += math.sqrt(0.3) / math.sqrt(len(one))
            sums[item, 1] += math.sqrt(0.7) / SPREAD * number * held / math.sqrt(len(one))
    return sums


def slow_level_sums(users, levels):
    sums = np.zeros(len(levels))
    for one in users:
        for rating in one.values():
            sums[np.argmin(np.abs(levels - np.float32(rating)))] += 1 / len(one)
    return sums


def slow_spread_sums(users, scale):
    means = [(np.mean(list(one.values())) - scale.low) * 2 / scale.range - 1 for one in users]
    return math.sqrt(0.5) * np.array([sum(means), sum(mean**2 for mean in means)])


def slow_moments(users, chosen, popularity):
    """Embeddings across popularity, whose part along it is one of 64 multiples."""
    sums = np.zeros((len(chosen), len(chosen)))
    popular = np.maximum(popularity, 1e-12) / np.linalg.norm(np.maximum(popularity, 1e-12))
    for one in users:
        vector = np.array([0.0 if i not in one else 1.0 if one[i] >= 4 else RATED for i in chosen])
        if not vector.any():
            continue
        along = popular @ vector
        across = np.linalg.norm(vector - along * popular)
        if along >= 4 * across:
            embedding = 4 * (vector / along - popular)
        else:
            multiple = math.floor(along / across * 63 / 4 + 0.5) * 4 / 63
            of_scale = np.polynomial.Polynomial(
                [multiple**2 - 1, -2 * multiple * along, vector @ vector]
            )
            embedding = of_scale.roots().real.max() * vector - multiple * popular
        sums += np.outer(embedding, embedding)
    return np.triu(sums)


def stated_moments(users, chosen, popularity=None, n_items=N_ITEMS, grid=GRID):
    popularity = POPULARITY[chosen] if popularity is None else np.asarray(popularity, float)
    popular = PopularDirection.of(direction_of(popularity), grid)
    ratings = users if isinstance(users, Ratings) else table(users, n_items=n_items)
    return moments(ratings, chosen, popular, 4.0, grid) * grid**2


class TestAgainstTheSimplest:
    """A user loses less than a step a number to rounding."""

    @given(small_tables())
    def test_item_sums(self, case):
        scale, users, _ = case
        result = item_sums(table(users, scale), CENTRE, SPREAD) * FINE
        # A rating is a float32.
        close = len(users) * FINE + 1e-5
        assert np.abs(result - slow_item_sums(users, scale)).max() < close

    @given(st.lists(one_user(STARS), min_size=1, max_size=5))
    def test_level_sums(self, users):
        result = level_sums(table(users), STARS.levels) * FINE
        assert np.abs(result - slow_level_sums(users, STARS.levels)).max() <= len(users) * FINE

    @given(small_tables())
    def test_spread_sums(self, case):
        scale, users, _ = case
        result = spread_sums(table(users, scale)) * FINE
        assert np.abs(result - slow_spread_sums(users, scale)).max() < len(users) * FINE + 1e-5

    @given(st.lists(one_user(STARS), min_size=1, max_size=5), st.permutations(range(N_ITEMS)))
    def test_moments(self, users, items):
        chosen = np.array(items[:5])
        slow = slow_moments(users, chosen, POPULARITY[chosen])
        assert np.abs(stated_moments(users, chosen) - slow).max() < 4 * len(users) * GRID

    @given(st.lists(one_user(STARS), min_size=1, max_size=5))
    def test_users_by_activity(self, users):
        edges = activity_edges(N_ITEMS)
        slow = [sum(low <= len(one) < high for one in users) for low, high in pairwise(edges)]
        assert users_by_activity(table(users), edges).tolist() == slow

    def test_many_users(self):
        ratings = make_ratings(200, 40, 3_000, seed=2, scale=STARS)
        users = [
            dict(zip(*(part.tolist() for part in ratings.row(user)), strict=True))
            for user in range(200)
        ]
        chosen = np.arange(0, 40, 3)
        popularity = np.bincount(ratings.indices)[chosen]
        result = stated_moments(ratings, chosen, popularity)
        assert np.abs(result - slow_moments(users, chosen, popularity)).max() < 0.02


class TestByHand:
    def test_moments_of_three_users(self):
        """Both items are as popular. Ann likes the first: across, it is (1, -1) / sqrt(2).

        Ben likes both, which is popularity and no direction. Cid likes none of the chosen.
        """
        result = stated_moments([{0: 5}, {0: 5, 1: 4}, {2: 5}], np.arange(2), [7.0, 7.0], 3)
        assert result == pytest.approx(np.array([[0.5, -0.5], [0, 0.5]]), abs=0.04)
        assert result[0, 0] + result[1, 1] == pytest.approx(1, abs=1e-3)

    def test_moments_of_two_users_that_are_not_centred(self):
        """Ann likes the first item and rates the second: (1, 0.4) over the root of 1.16."""
        popular = PopularDirection.of(np.zeros(2), GRID)
        users = table([{0: 5, 1: 2}, {1: 4}], n_items=2)
        result = moments(users, np.arange(2), popular, 4.0, GRID) * GRID**2
        expected = np.array([[1, 0.4], [0, 0.16]]) / 1.16 + [[0, 0], [0, 1]]
        assert result == pytest.approx(expected, abs=1e-3)

    def test_item_sums_with_more_of_counts(self):
        """A user at one spread from the centre: the squares 0.6 and 0.4 are halved."""
        sums = item_sums(table([{0: 4, 1: 4}]), 0.0, 0.5, count_share=0.6) * FINE
        assert sums[:2] == pytest.approx(np.sqrt([[0.3, 0.2]] * 2), abs=2e-6)
        result = ItemSums.of(sums, 0.5, 1.0, 0.6)
        assert result.popularity[:2] == pytest.approx([math.sqrt(0.5)] * 2, abs=1e-5)
        assert result.off_centre[:2] == pytest.approx([math.sqrt(0.5) / 2] * 2, abs=1e-5)

    def test_a_user_of_unpopular_items_has_their_own_vector(self):
        result = stated_moments([{0: 5, 1: 4}], np.arange(3), [0.0, 0.0, 7.0], 3)
        expected = np.array([[0.5, 0.5, 0], [0, 0.5, 0], [0, 0, 0]])
        assert result == pytest.approx(expected, abs=1e-3)

    def test_nearly_popularity_is_no_longer_than_it_is(self):
        """The part across popularity is a fifth: four times longer, not five."""
        angle = math.atan(0.2) + math.pi / 4
        result = stated_moments([{0: 5, 1: 4}], np.arange(2), [math.cos(angle), math.sin(angle)], 2)
        assert result[0, 0] + result[1, 1] == pytest.approx(0.64, abs=0.01)

    def test_who_rated_none_of_the_chosen_adds_nothing(self):
        assert not stated_moments([{0: 5}], np.array([3, 4])).any()

    def test_a_shape_without_chosen_items(self):
        assert stated_moments([{0: 5}], np.array([], int)).shape == (0, 0)

    def test_the_threads_have_no_say(self):
        ratings = make_ratings(300, 50, 4_000, seed=3)
        first = stated_moments(ratings, np.arange(50), np.arange(50))
        assert all(
            (stated_moments(ratings, np.arange(50), np.arange(50)) == first).all() for _ in range(3)
        )

    def test_whose_ratings_are_far_out_is_held(self):
        """Twice the spread from the centre: as if it were once."""
        one = [table([{0: 3 + off, 1: 3 - off}]) for off in (1, 2)]
        sums = [item_sums(ratings, 0.0, 0.5) for ratings in one]
        assert (sums[0] == sums[1]).all()

    def test_who_is_at_the_centre_adds_to_popularity_alone(self):
        sums = item_sums(table([{0: 3, 2: 3}]), 0.0, 0.5) * FINE
        assert sums[[0, 2], 0] == pytest.approx([math.sqrt(0.15)] * 2, abs=2e-6)
        assert not sums[:, 1].any()

    def test_item_sums_in_plain_units(self):
        users = [{0: 5, 1: 4}, {0: 4}]
        result = ItemSums.of(item_sums(table(users), 0.0, 1.0) * FINE, 1.0, 3.0)
        root = math.sqrt(0.5)
        assert result.popularity[:2] == pytest.approx([root + 1, root], abs=1e-4)
        assert result.off_centre[:2] == pytest.approx([root + 0.5, root * 0.5], abs=1e-4)
        assert result.popularity_noise == pytest.approx(3 / math.sqrt(0.3))
        assert result.off_noise == pytest.approx(3 / math.sqrt(0.7))

    def test_means(self):
        result = spread_sums(table([{0: 5, 1: 4}, {0: 2}])) * FINE / SPREAD_SHARE
        assert result == pytest.approx([0.75 - 0.5, 0.75**2 + 0.25], abs=1e-5)

    def test_a_scale_without_a_range(self):
        assert moved(np.array([3.0]), RatingScale(3, 3)).tolist() == [-1]


class TestPublicBins:
    @pytest.mark.parametrize("most", [1, 2, 5, 30, 1_682, 100_000, 296_277])
    def test_every_activity_is_in_one_bin(self, most):
        edges = activity_edges(most)
        assert edges[0] == 1
        assert edges[-1] == most + 1
        assert (np.diff(edges) > 0).all()
        assert edges.size <= 25

    def test_one_item(self):
        assert users_by_activity(table([{0: 5}] * 3, n_items=1), activity_edges(1)).tolist() == [3]


class TestGrid:
    # What the noise of a budget can be, from epsilon 1,000 to 0.0001.
    SIGMAS = (0.02, 0.3, 4.0, 100.0, 3e3, 2e4, 1e5, 1e6)

    @pytest.mark.parametrize("sigma", SIGMAS)
    def test_the_mechanism_takes_it(self, sigma):
        mechanism = Mechanism(NoiseSource.repeatable(1), {"tastes": sigma, "sums": sigma})
        grid = embedding_grid(sigma) ** 2
        mechanism.measure_symmetric("tastes", "tastes", np.zeros((2, 2), np.int64), grid)
        mechanism.measure("sums", "sums", np.zeros(2, np.int64), sum_grid(sigma))

    @pytest.mark.parametrize("sigma", [0.0, 1e-3, *SIGMAS])
    @pytest.mark.parametrize("grid_of", [embedding_grid, sum_grid])
    def test_fine_next_to_the_noise_and_whole_parts_of_one(self, grid_of, sigma):
        grid = grid_of(sigma)
        assert (1 / grid).is_integer()
        assert grid <= max(2.0**-15, sigma / 2**7)

    @pytest.mark.parametrize("grid_of", [embedding_grid, sum_grid])
    def test_less_noise_has_no_coarser_grid(self, grid_of):
        grids = [grid_of(sigma) for sigma in np.geomspace(1e-4, 1e6, 300)]
        assert grids == sorted(grids)

    @pytest.mark.parametrize("grid", [2.0**-20, 2.0**-12, 2.0**-6])
    @given(users=st.lists(one_user(STARS), min_size=1, max_size=3))
    def test_a_coarse_grid_is_bounded_as_well(self, grid, users):
        for a_user in users:
            ratings = table([a_user])
            sums = [
                item_sums(ratings, CENTRE, SPREAD, grid),
                level_sums(ratings, STARS.levels, grid),
                spread_sums(ratings, grid),
            ]
            assert all(square(of) <= round(1 / grid) ** 2 for of in sums)
            popular = PopularDirection.of(direction_of(POPULARITY), grid)
            upper = moments(ratings, np.arange(N_ITEMS), popular, 4.0, grid)
            assert square(upper) + square(np.triu(upper, 1)) <= round(1 / grid) ** 4
