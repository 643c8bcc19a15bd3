"""Properties that every anonymizer must have, on any data."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import BASELINES, KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer
from recveil.predict import FunkSVD, ItemMean, TrustKNN, UserKNN
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import item_keys
from recveil.release.specs.sparse import MIN_CLUSTER

GROUPINGS = ("k-gather", "bisecting", "predictive", "bounded-t-means")
PREDICTIVE = {
    f"{homogenize} {grouping}": (
        lambda k, homogenize=homogenize, grouping=grouping, **more: PredictiveAnonymizer(
            k, homogenize, grouping=grouping, **more
        )
    )
    for homogenize in ("padded", "simple")
    for grouping in GROUPINGS
}
# Every predictor, those that have no factors as well.
PREDICTORS = {
    "ItemMean": ItemMean,
    "UserKNN": UserKNN,
    "UserKNN global": lambda: UserKNN(neighbours="global", centre="biases"),
    "TrustKNN": TrustKNN,
    "FunkSVD sequential": lambda: FunkSVD(rank=4, n_epochs=3, sequential=True),
}
PREDICTIVE |= {
    f"padded {predictor}": (
        lambda k, predictor=predictor, **more: PredictiveAnonymizer(
            k, predictor=PREDICTORS[predictor](), **more
        )
    )
    for predictor in PREDICTORS
}
PREDICTIVE["simple UserKNN"] = lambda k, **more: PredictiveAnonymizer(
    k, "simple", UserKNN(), **more
)
K_CORATERS = {
    f"k-coRating {grouping} {fill} {protect}": (
        lambda k, options=(fill, grouping), protect=protect, **more: KCoRater(
            k, *options, protect=protect, **more
        )
    )
    for grouping, fill, protect in (
        ("gecom", "similarity", "none"),
        ("gecom", "trust", "shuffle"),
        ("gecom", "item-mean", "mean"),
        ("supports", "random", "none"),
        ("pagecom", "trust", "none"),
    )
}
K_CORATERS["k-coRating close"] = lambda k, **more: KCoRater(k, closeness=0.3, **more)
PREDICTIVE["simple close"] = lambda k, **more: PredictiveAnonymizer(
    k, "simple", closeness=0.3, **more
)
PREDICTIVE["padded 0.3"] = lambda k, **more: PredictiveAnonymizer(k, padding=0.3, **more)
PREDICTIVE["padded model"] = lambda k, **more: PredictiveAnonymizer(k, values="predicted", **more)
# Their labels are predictions, which are near to what all users gave, and not just that.
OF_PREDICTIONS = {"sparse": SparseRows, "padded model": PREDICTIVE["padded model"]}
ANONYMIZERS = PREDICTIVE | K_CORATERS | OF_PREDICTIONS

# They have no k, and share the other properties.
WITH_BASELINES = ANONYMIZERS | {
    name: lambda k, seed=None, make=make: make(seed) for name, make in BASELINES.items()
}
# Nothing that is published of it is drawn.
FIXED = {"item-means"}


def _digests(release, ratings):
    keys = item_keys(ratings.items)
    return [digest for block in release.published.blocks() for digest in block.digests(keys)]


def _users(release, ratings) -> Counter:
    """How many users share what the claim says that they share."""
    keys, all_users = item_keys(ratings.items), Counter()
    for block in release.published.blocks():
        digests = block.digests(keys, items_only=release.published.claim.kind == "co-rated")
        for digest, size in zip(digests, block.sizes.tolist(), strict=True):
            all_users[digest] += size
    return all_users


@pytest.mark.parametrize("name", WITH_BASELINES)
class TestEveryAnonymizerAndBaseline:
    def test_all_published_users_are_in_exactly_one_group(self, name, invented):
        private = WITH_BASELINES[name](5, seed=1).anonymize(invented).private
        assert np.array_equal(np.sort(private.groups.members), np.arange(private.users.size))
        is_part = name in ("user-sample", "k-core")  # they leave users out
        assert is_part or np.array_equal(private.users, invented.users)

    def test_same_seed_same_release_and_another_seed_another(self, name, invented):
        first, second, other = (
            _digests(WITH_BASELINES[name](5, seed=seed).anonymize(invented), invented)
            for seed in (1, 1, 2)
        )
        assert first == second
        assert (first == other) == (name in FIXED)

    def test_without_a_seed_every_run_differs(self, name, invented):
        first, second = (WITH_BASELINES[name](5).anonymize(invented) for _ in range(2))
        assert first.private.seed != second.private.seed
        same = _digests(first, invented) == _digests(second, invented)
        assert same == (name in FIXED)

    def test_the_input_is_not_changed(self, name, invented):
        before = invented.digest()
        release = WITH_BASELINES[name](5, seed=1).anonymize(invented)
        list(release.published.blocks())
        assert invented.digest() == before

    def test_blocks_can_be_taken_twice(self, name, invented):
        release = WITH_BASELINES[name](5, seed=1).anonymize(invented)
        assert _digests(release, invented) == _digests(release, invented)

    def test_a_user_without_ratings_is_refused(self, name):
        ratings = Ratings([1, 2], [1], [0, 1, 1], [0], [3], None, RatingScale(1, 5, 1))
        with raises("table.too-few-ratings") as caught:
            WITH_BASELINES[name](2).anonymize(ratings)
        assert "user 2" in str(caught.value)


@pytest.mark.parametrize("name", ANONYMIZERS)
class TestEveryAnonymizer:
    def test_what_is_claimed_is_shared_by_at_least_k(self, name, invented):
        for k in (2, 7, 150, 300):
            if name == "sparse" and k > invented.support.max():
                with raises("table.too-few-ratings") as caught:
                    ANONYMIZERS[name](k, seed=1).anonymize(invented)
                assert f"{k} raters" in str(caught.value)
                continue
            all_users = _users(ANONYMIZERS[name](k, seed=1).anonymize(invented), invented)
            assert min(all_users.values()) >= k
            assert all_users.total() == invented.n_users

    def test_labels_lie_on_the_grid_within_the_scale(self, name, invented):
        given = {"round_values": 0.25} if name in PREDICTIVE else {}
        release = ANONYMIZERS[name](5, seed=1, **given).anonymize(invented)
        per_point = 4 if given else round(1 / release.published.settings.get("value_step", 1))
        for block in release.published.blocks():
            assert ((block.values >= 1) & (block.values <= 5)).all()
            steps = block.values * per_point
            assert np.allclose(steps, np.rint(steps))

    def test_too_few_users_or_bad_k(self, name, invented):
        for k, code in ((301, "table.too-few-users"), (1, "option.value"), (2.5, "option.value")):
            with raises(code):
                ANONYMIZERS[name](k).anonymize(invented)

    @settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
    @given(
        n_users=st.integers(2, 30),
        n_items=st.integers(2, 12),
        k=st.integers(2, 9),
        seed=st.integers(0, 2**64 - 1),
    )
    def test_any_data_any_k(self, name, n_users, n_items, k, seed):
        if k > n_users:
            k = n_users
        n_ratings = max(n_users, n_users * n_items // 3)
        ratings = make_ratings(n_users, n_items, n_ratings, seed=seed % 1000)
        if np.unique(ratings.values).size == 1:
            with raises("table.kind"):
                ANONYMIZERS[name](k, seed=seed).anonymize(ratings)
            return
        if name == "sparse" and n_users < MIN_CLUSTER:
            with raises("table.too-few-users") as caught:
                ANONYMIZERS[name](k, seed=seed).anonymize(ratings)
            assert f"{n_users} users" in str(caught.value)
            return
        if name == "sparse" and ratings.support.max() < k:
            with raises("table.too-few-ratings"):
                ANONYMIZERS[name](k, seed=seed).anonymize(ratings)
            return
        release = ANONYMIZERS[name](k, seed=seed).anonymize(ratings)
        assert min(_users(release, ratings).values()) >= k
        for block in release.published.blocks():
            for start, end in itertools.pairwise(block.indptr):
                assert (np.diff(block.indices[start:end]) > 0).all()
            assert not np.signbit(block.values).any()

    def test_likes_are_refused(self, name):
        users, items = np.divmod(np.arange(40), 4)
        ratings = Ratings.from_columns(users, items, np.full(40, 5), scale=RatingScale(1, 5, 1))
        with raises("table.kind", 40, 5):
            ANONYMIZERS[name](3, seed=0).anonymize(ratings)

    def test_all_users_alike(self, name):
        users, items = np.divmod(np.arange(160), 4)
        ratings = Ratings.from_columns(users, items, np.tile([1, 2, 3, 5], 40))
        release = ANONYMIZERS[name](3, seed=0).anonymize(ratings)
        for block in release.published.blocks():
            if name in OF_PREDICTIONS:
                assert np.array_equal(block.indices, np.tile(range(4), len(block)))
                assert np.abs(block.values - np.tile([1, 2, 3, 5], len(block))).max() < 0.5
            else:
                assert np.array_equal(block.values, np.tile([1, 2, 3, 5], len(block)))


class FitsAndReturnsNothing:
    """A third-party predictor whose fit does not return itself."""

    def fit(self, ratings):
        self.mean = float(ratings.values.mean())

    def predict(self, users, items):
        return np.full(len(users), self.mean)


def test_a_predictor_whose_fit_returns_nothing_is_used_all_the_same():
    ratings = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=1)
    anonymizer = PredictiveAnonymizer(3, predictor=FitsAndReturnsNothing(), seed=1)
    assert anonymizer.anonymize(ratings).private.groups.sizes.min() >= 3


@pytest.mark.parametrize("name", ["padded k-gather", "k-coRating gecom similarity none", "drawn"])
@pytest.mark.parametrize(
    "scale", [RatingScale(0, 1e-11, 1e-12), RatingScale(0, 1e-9), RatingScale(0, 1e13, 1e12)]
)
def test_a_scale_that_no_release_can_state_is_refused(name, scale):
    """Labels have ten digits after the point: all of them were 0."""
    rng = np.random.default_rng(1)
    cells = [(user, item) for user in range(40) for item in rng.permutation(20)[:10]]
    users, items = zip(*cells, strict=True)
    ratings = Ratings.from_columns(
        users, items, rng.integers(1, 6, 400) / 10 * scale.high, scale=scale
    )
    make = {**PREDICTIVE, **K_CORATERS, "drawn": lambda _: Synthesizer(epsilon=3.0)}[name]
    with raises("scale.invalid"):
        make(4).anonymize(ratings)
