"""What is asked of likes: worked by hand, bounded by one user, and nothing about ratings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods.synthetic.bounded_sums import (
    FINE,
    PopularDirection,
    direction_of,
    embedding_grid,
    kind_sums,
    like_sums,
    moments,
    users_by_activity,
)
from recveil.methods.synthetic.gaussian_mechanism import Mechanism, WithoutNoise
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.methods.synthetic.sum_queries import (
    SHARES,
    SHARES_OF_LIKES,
    ChoiceSums,
    Public,
    _are_sums_of_users,
    measure,
    measure_likes,
)
from recveil.methods.synthetic.synthesizer import Budget
from recveil.ratings import Ratings
from recveil.ratings.rating_scale import LIKES
from recveil.release.synthetic_form import activity_edges, queries_of

RATINGS = make_ratings(300, 40, 5_000, seed=3)
LIKED = RATINGS.as_likes()
CATALOGUE = Public(True, 40)
CHOSEN = Public(False, 1_000, 1e-7)
NOTHING = dict.fromkeys(SHARES_OF_LIKES, 0.0)
N_ITEMS = 7
GRID = embedding_grid(0.3)


def table(all_users, n_items=N_ITEMS) -> Ratings:
    """Users as sets of items, on a fixed catalogue."""
    indptr = np.concatenate([[0], np.cumsum([len(one_user) for one_user in all_users])])
    indices = np.array([item for one_user in all_users for item in sorted(one_user)], np.int32)
    users, items = np.arange(len(all_users)), np.arange(n_items)
    return Ratings(users, items, indptr, indices, np.ones(indices.size), None, LIKES)


def asked(epsilon=20.0, seed=1, public=CATALOGUE):
    budget = Budget.of(epsilon, 1e-6, threshold_delta=public.threshold_delta)
    sigmas = budget.sigmas(SHARES_OF_LIKES)
    return Mechanism(NoiseSource.repeatable(seed), sigmas), sigmas


class TestByHand:
    """Ann likes a; Ben a and b; Cy a, b, c and d."""

    USERS = table([{0}, {0, 1}, {0, 1, 2, 3}], n_items=4)

    def test_sums(self):
        root = 2**-0.5
        sums = like_sums(self.USERS)[:, 0] * FINE
        assert sums == pytest.approx([1 + root + 0.5, root + 0.5, 0.5, 0.5], abs=1e-5)
        assert users_by_activity(self.USERS, np.array([1, 2, 3, 4, 5])).tolist() == [1, 1, 0, 1]
        # Of Cy's likes one half is on a and b; all of the others' are.
        kinds = kind_sums(self.USERS, np.array([0, 0, 1, 1]), 3) * FINE
        assert kinds == pytest.approx([2.5, 0.5, 0])
        # If c alone is popular, Ben's and Cy's embeddings are (1, 1, 0) over the root of 2.
        popular = PopularDirection.of(direction_of(np.array([0.0, 0.0, 1.0])), GRID)
        found = moments(self.USERS, np.arange(3), popular, LIKES.liked_from, GRID) * GRID**2
        assert found[:2, :2].ravel() == pytest.approx([2, 1, 0, 1], abs=1e-3)
        assert found[:, 2] == pytest.approx([0, 0, 0], abs=0.02)

    def test_all_queries_without_noise(self):
        found = measure_likes(self.USERS, WithoutNoise(), Public(True, 4), NOTHING)
        assert found.n_users == 3
        assert np.unique(found.activity).tolist() == [1, 2, 4]
        assert found.released.tolist() == [0, 1, 2, 3]
        assert found.chosen.tolist() == [0, 1, 2, 3]
        popular = found.popularity / np.linalg.norm(found.popularity)
        vectors = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]])
        embeddings = vectors - np.outer(vectors @ popular, popular)
        embeddings /= np.linalg.norm(embeddings, axis=1)[:, None]
        assert found.moments == pytest.approx(embeddings.T @ embeddings, abs=0.05)
        assert found.kinds.tolist() == [1, 0, 0]


all_users = st.lists(st.sets(st.integers(0, N_ITEMS - 1), min_size=1), min_size=1, max_size=5)


class TestOneUser:
    """A new user with all their likes moves each sum by at most 1, in whole numbers."""

    @given(all_users, st.sets(st.integers(0, N_ITEMS - 1), min_size=1))
    def test_moves_a_sum_by_1_at_most(self, others, one_user):
        without, within = table(others), table([*others, one_user])
        edges = activity_edges(N_ITEMS)
        kinds = np.array([0, 0, 1, 1, 2, 2, 2])
        for of, step in (
            (lambda ratings: users_by_activity(ratings, edges), 1.0),
            (like_sums, FINE),
            (lambda ratings: kind_sums(ratings, kinds, 3), FINE),
        ):
            moved = [int(number) for number in (of(within) - of(without)).ravel()]
            assert sum(number**2 for number in moved) <= int(1 / step) ** 2

    @given(all_users, st.sets(st.integers(0, N_ITEMS - 1), min_size=1))
    def test_moves_moments_by_1_at_most(self, others, one_user):
        chosen = np.array([5, 0, 3, 1])
        popular = PopularDirection.of(direction_of(np.array([1.0, 2.0, 0.0, 7.0])), GRID)
        within, without = (
            moments(table(all_users), chosen, popular, LIKES.liked_from, GRID)
            for all_users in ([*others, one_user], others)
        )
        upper = within - without
        square = 2 * sum(int(cell) ** 2 for cell in upper.ravel())
        square -= sum(int(cell) ** 2 for cell in np.diag(upper))
        assert square <= int(1 / GRID**2) ** 2

    @given(st.integers(1, 3_000))
    def test_who_likes_many_items_gives_no_more(self, n):
        """Nearly 1, and never more: the rounding is toward zero."""
        steps = like_sums(table([set(range(n))], n_items=n))[:, 0]
        square = sum(int(step) ** 2 for step in steps) * FINE**2
        assert 0.99 < square <= 1


class TestWhatIsAsked:
    @pytest.mark.parametrize("public", [CATALOGUE, CHOSEN], ids=["catalogue", "chosen"])
    def test_each_query_once_and_none_of_ratings(self, public):
        mechanism, sigmas = asked(epsilon=30.0, public=public)
        found = measure_likes(LIKED, mechanism, public, sigmas)
        ledger = mechanism.ledger()
        names = ["users by user count", "item sums", "item kinds", "moments"]
        assert [query.name for query in ledger.queries] == names == list(SHARES_OF_LIKES)
        assert {query.name: query.sigma for query in ledger.queries} == sigmas
        assert all(query.sensitivity == 1 for query in ledger.queries)
        n = found.chosen.size
        assert ledger.queries[-1].values == n * (n + 1) // 2
        assert ledger.threshold_delta == public.threshold_delta
        assert 30 * (1 - 1e-6) < ledger.epsilon(1e-6) <= 30

    def test_the_shares_are_a_whole_and_published(self):
        assert sum(SHARES_OF_LIKES.values()) == pytest.approx(1)
        assert [query.name for query in queries_of(6, likes=True)] == list(SHARES_OF_LIKES)
        assert not queries_of(5, likes=True)

    def test_less_noise_than_of_ratings(self):
        """What is not asked of likes is paid to what is."""
        of_likes = Budget.of(3.0, 1e-6).sigmas(SHARES_OF_LIKES)
        of_ratings = Budget.of(3.0, 1e-6).sigmas(SHARES)
        assert all(of_likes[name] <= of_ratings[name] for name in ("moments", "item kinds"))

    def test_values_have_no_say(self):
        """The oracle: of ratings that are all liked, the same sums, and others besides."""
        sigmas = dict.fromkeys(SHARES, 0.0)
        fives = Ratings(
            *(RATINGS.users, RATINGS.items, RATINGS.indptr, RATINGS.indices),
            *(np.full(RATINGS.n_ratings, 5.0), None, RATINGS.scale),
        )
        one = measure(fives, WithoutNoise(), CATALOGUE, sigmas).choices
        other = measure_likes(LIKED, WithoutNoise(), CATALOGUE, NOTHING)
        for name in {*ChoiceSums._fields} - {"features", "means"}:
            assert np.allclose(getattr(one, name), getattr(other, name), atol=2e-3), name

    def test_without_a_catalogue_an_item_of_one_user_is_not_published(self):
        rows = [set(LIKED.row(user)[0].tolist()) for user in range(LIKED.n_users)]
        alone = table([*rows, {40, 41}], n_items=42)
        for seed in range(5):
            mechanism, sigmas = asked(30.0, seed, CHOSEN)
            found = measure_likes(alone, mechanism, CHOSEN, sigmas)
            assert not {40, 41} & set(found.released.tolist())
            assert not found.popularity[[40, 41]].any()

    def test_too_much_noise_is_refused_by_name(self):
        mechanism, sigmas = asked(0.001)
        with raises("budget.too-small"):
            measure_likes(LIKED, mechanism, CATALOGUE, sigmas)


@pytest.mark.parametrize(
    ("noisy", "kept"),
    [
        ([25.0, 1.0, 80.0, 1.0, 30.0], [0, 2]),  # what is below the highest need not be sure
        ([25.0, 1.0, 80.0, 1.0, 50.0], [0, 2, 4]),
        ([1.0, 25.0, 1.0, 25.0, 25.0], [1, 3, 4]),
        ([1.0, 30.0, 1.0, 25.0, 1.0], [1]),  # none is sure: the fullest is the highest
        ([1.0, 15.0, 1.0, 1.0, 1.0], []),
    ],
)
def test_which_bins_are_of_users_by_hand(noisy, kept):
    assert np.flatnonzero(_are_sums_of_users(np.array(noisy), 10.0)).tolist() == kept


def test_a_bin_far_from_all_others_is_noise():
    """Else some users were drawn who like nearly everything, in every fifth release."""
    most = []
    for seed in range(40):
        mechanism, sigmas = asked(10.0, seed, CHOSEN)
        most.append(measure_likes(LIKED, mechanism, CHOSEN, sigmas).activity.max())
    assert np.mean(np.array(most) > 200) < 0.1
