"""How far ratings follow embeddings is found where it was planted, and not where it is not."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.methods.synthetic.learning import (
    QUERY,
    EmbeddingMap,
    believed,
    embedding_moments,
    turned,
)
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings
from recveil.release.method import MOST_DIRECTIONS
from shared.methods_synthetic_embedding_sums import USER, some_map, table
from shared.methods_synthetic_learning import N_ITEMS, PLANTED, STARS, found, moves, planted

GRID = 2.0**-20


class TestOneVector:
    @given(st.lists(USER, min_size=1, max_size=5), st.integers(0, 50), st.data())
    def test_removing_a_user_moves_the_sums_by_one_at_most(self, all_users, seed, data):
        """In whole numbers: the squares of all differences, in steps."""
        items = some_map(seed=seed)
        who = data.draw(st.integers(0, len(all_users) - 1))
        others = all_users[:who] + all_users[who + 1 :]
        result = np.arange(12)
        with_them = embedding_moments(table(all_users), result, items, GRID)
        without = embedding_moments(table(others), result, items, GRID) if others else 0 * with_them
        moved = sum(int(step) ** 2 for step in (with_them - without).ravel())
        assert moved <= int(1 / GRID) ** 2

    @pytest.mark.parametrize("n_items", [40, 4_000])
    def test_an_extreme_user_is_as_long_as_their_weight(self, n_items):
        """One direction: who rates all of it highest, and all else lowest."""
        n = n_items // 4
        item_embeddings = np.repeat([1.0, -1.0], n_items // 2)[:, None]
        items = EmbeddingMap.of(item_embeddings, np.ones(n_items), np.zeros(n_items))
        extreme = dict.fromkeys(range(3 * n), 5) | dict.fromkeys(range(2 * n, 3 * n), 1)
        sums = embedding_moments(table([extreme], n_items), np.arange(n_items), items, GRID) * GRID
        assert np.linalg.norm(sums) == pytest.approx(3 * n / (3 * n + 20), abs=0.02)
        assert np.linalg.norm(sums) <= 1

    @pytest.mark.parametrize("value", [1e-30, 1.0, 1e6])
    def test_embeddings_of_any_size(self, value):
        item_embeddings = np.random.default_rng(1).normal(size=(12, 2)) * value
        items = EmbeddingMap.of(item_embeddings, np.ones(12), np.zeros(12))
        sums = embedding_moments(
            table([dict.fromkeys(range(6), 5) | {7: 1, 8: 2}]), np.arange(12), items, GRID
        )
        assert np.linalg.norm(sums * GRID) <= 1

    @pytest.mark.parametrize("odd", [np.nan, np.inf, 1e200])
    def test_a_map_without_numbers_gives_nothing(self, odd):
        items = some_map()
        items.directions[2, 1] = odd
        all_users = [dict.fromkeys(range(6), 5) | {7: 1, 8: 2}]
        sums = embedding_moments(table(all_users), np.arange(12), items, GRID) * GRID
        assert np.linalg.norm(sums) <= 1

    def test_users_who_contribute_nothing(self):
        """One rating, ratings that are all equal, and ratings of items without embedding."""
        items = some_map(means=np.zeros(12))
        for one_user in ({3: 5}, {11: 5}, {3: 4, 11: 2}, dict.fromkeys(range(12), 3)):
            assert not embedding_moments(table([one_user]), np.arange(12), items, GRID).any()

    def test_without_directions(self):
        items = some_map(n_directions=0)
        sums = embedding_moments(table([{1: 2, 2: 5, 3: 1}]), np.arange(12), items, GRID)
        assert sums.shape == (2, MOST_DIRECTIONS)
        assert not sums.any()


class TestSums:
    def all_users(self, n=60):
        rng = np.random.default_rng(2)
        return [
            {int(item): int(rng.integers(1, 6)) for item in rng.choice(12, 7, replace=False)}
            for _ in range(n)
        ]

    def test_those_of_all_users_added_up(self):
        items, all_users = some_map(), self.all_users()
        whole = embedding_moments(table(all_users), np.arange(12), items, GRID)
        one_by_one = [
            embedding_moments(table([one]), np.arange(12), items, GRID) for one in all_users
        ]
        assert (whole == sum(one_by_one)).all()
        assert not whole[:, 3:].any()

    def test_items_without_embedding_count_for_nothing(self):
        items, all_users = some_map(n_items=9), self.all_users()
        result = np.array([0, 1, 3, 4, 5, 7, 8, 9, 11])
        place = {item: at for at, item in enumerate(result)}
        left = [{place[item]: one[item] for item in one if item in place} for one in all_users]
        assert all(left)
        found = embedding_moments(table(all_users), result, items, GRID)
        assert (found == embedding_moments(table(left, 9), np.arange(9), items, GRID)).all()

    def test_the_threads_have_no_say(self):
        items, ratings = some_map(), table(self.all_users(500))
        found = []
        for threads in range(1, numba.config.NUMBA_NUM_THREADS + 1):
            numba.set_num_threads(threads)
            found.append(embedding_moments(ratings, np.arange(12), items, GRID))
        assert all((one == found[0]).all() for one in found)


def test_a_canary_shows_no_more_than_promised(check_query):
    """Sixty users with a few ratings each, and one who rates 300 of 400 items by one embedding."""
    n_items = 400
    item_embeddings = np.repeat([1.0, -1.0], 200)[:, None]
    items = EmbeddingMap.of(item_embeddings, np.ones(n_items), np.zeros(n_items))
    rng = np.random.default_rng(3)
    others = [{int(i): int(rng.integers(1, 6)) for i in rng.choice(n_items, 5)} for _ in range(60)]
    extreme = dict.fromkeys(range(300), 5) | dict.fromkeys(range(200, 300), 1)
    result = np.arange(n_items)
    without, with_them = (
        embedding_moments(table(of, n_items), result, items, GRID)
        for of in (others, [*others, extreme])
    )

    check_query(with_them, without, GRID)


class TestTurned:
    def test_directions_do_not_go_together(self):
        rng = np.random.default_rng(4)
        item_embeddings, popularity = (
            rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)),
            rng.random(50),
        )
        found = turned(item_embeddings, popularity)
        met = popularity / popularity.sum()
        off = found - met @ found
        together = (off * met[:, None]).T @ off
        assert np.abs(together - np.diag(np.diag(together))).max() < 1e-5 * together.max()

    def test_the_same_products(self):
        """Equally rotated embeddings have equally rotated slopes: the same users are drawn."""
        item_embeddings = np.random.default_rng(5).normal(size=(20, 3))
        found = turned(item_embeddings, np.ones(20))
        assert found @ found.T == pytest.approx(item_embeddings @ item_embeddings.T, abs=1e-4)

    @pytest.mark.parametrize("shape", [(5, 0), (1, 2)])
    def test_little(self, shape):
        assert turned(np.ones(shape), np.zeros(shape[0])).shape == shape


class TestPlanted:
    def test_both_at_once(self):
        by_choice, by_liking = moves(found(planted([0.3] * 2, [0.25] * 2)))
        assert by_choice == pytest.approx(0.3 * PLANTED, abs=0.1)
        assert by_liking == pytest.approx(0.25 * PLANTED, abs=0.1)

    def test_never_more_than_leaves_something_to_chance(self):
        """Planted is more than may be: then it is as much as may be."""
        model = found(planted([1.5] * 2, [0.5] * 2))
        assert model._explained(np.arange(N_ITEMS)[None]) == pytest.approx(0.8 * model.chance**2)

    def test_each_direction_on_its_own(self):
        """The longer direction decides how users rate; the other one does not."""
        (shorter, longer), _ = moves(found(planted([0.6, 0.0], [0.0] * 2)))
        assert longer > shorter + 0.35


def test_it_is_asked_once_and_paid(heard_by):
    ratings = planted([0.5] * 2, [0.2] * 2)
    release = Synthesizer(20.0, item_catalog="as-rated", seed=1).anonymize(ratings)
    query = release.published.claim.ledger.queries[-1]
    assert (query.name, query.sensitivity, query.values) == (QUERY, 1.0, 128)
    assert release.published.claim.ledger.epsilon(1e-6) == pytest.approx(20, rel=1e-6)
    settings = release.published.settings
    assert len(settings["slopes"]) == len(settings["slope_spreads"])


def test_without_a_direction_nothing_follows():
    ratings = planted([0.5] * 2, [0.2] * 2)
    few = Ratings(
        *(ratings.users[:20], ratings.items, ratings.indptr[:21]),
        *(ratings.indices[: ratings.indptr[20]], ratings.values[: ratings.indptr[20]]),
        *(None, STARS),
    )
    release = Synthesizer(90.0, item_catalog="as-rated", seed=1).anonymize(few)
    assert release.published.settings["slopes"] == []
    assert release.published.claim.ledger.queries[-1].values == 128


class TestBelieved:
    def test_unsure_ones_are_pulled_to_what_the_sure_ones_are(self):
        """Nine sure ones about 0.6, and one that is unsure."""
        sure = np.linspace(0.58, 0.62, 9)
        pulled = believed(np.r_[sure, 5.0], np.r_[np.full(9, 1e-6), 4.0], 0.2, 0.04)
        assert pulled[:9] == pytest.approx(sure, abs=0.005)
        assert pulled[9] == pytest.approx(0.6, abs=0.02)

    def test_halfway(self):
        """As unsure as tables differ: half of what is usual, half of what was found."""
        assert believed(np.array([0.6]), np.array([0.04]), 0.2, 0.04) == pytest.approx(
            0.4, abs=0.01
        )
