import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from recveil.datasets import make_ratings
from recveil.predict import FunkSVD, ItemMean, TrustKNN, UserKNN
from recveil.ratings import Ratings, RatingScale

PADDERS = {
    "funk-svd": lambda: FunkSVD(seed=1),
    "funk-svd sequential": lambda: FunkSVD(rank=10, sequential=True, seed=1),
    "funk-svd plain": lambda: FunkSVD(biases=False, seed=1),
    "funk-svd plain sequential": lambda: FunkSVD(rank=10, sequential=True, biases=False, seed=1),
    "item-mean": ItemMean,
}

PREDICTORS = PADDERS | {
    "user-knn": UserKNN,
    "user-knn biases": lambda: UserKNN(centre="biases"),
    "trust": TrustKNN,
}

KNOWING_USERS = [name for name in PREDICTORS if name != "item-mean"]


def _split(ratings: Ratings, held_out: np.ndarray) -> tuple[Ratings, np.ndarray, np.ndarray]:
    users, items = ratings.user_positions(), ratings.indices
    keep = ~held_out
    indptr = np.concatenate([[0], np.cumsum(np.bincount(users[keep], minlength=ratings.n_users))])
    train = Ratings(
        *(ratings.users, ratings.items, indptr, items[keep], ratings.values[keep]),
        *(None, ratings.scale),
    )
    return train, users[held_out], items[held_out]


@pytest.mark.parametrize("name", PREDICTORS)
class TestEveryPredictor:
    def test_predictions_are_on_the_scale_and_finite(self, name, invented):
        predictor = PREDICTORS[name]().fit(invented)
        users, items = np.divmod(np.arange(3_000), invented.n_items)
        predicted = predictor.predict(users, items)
        assert predicted.dtype == np.float32
        assert ((predicted >= 1) & (predicted <= 5)).all()

    def test_same_seed_same_predictions(self, name, invented):
        users, items = np.divmod(np.arange(3_000), invented.n_items)
        first, second = (PREDICTORS[name]().fit(invented).predict(users, items) for _ in range(2))
        assert np.array_equal(first, second)

    def test_a_clone_has_its_parameters_and_none_of_what_it_learned(self, name, invented):
        original = PREDICTORS[name]()
        given = vars(original).copy()
        original.fit(invented)
        assert given == original.get_params() == vars(clone(original))
        assert all(learned.endswith("_") for learned in vars(original).keys() - given.keys())
        users, items = np.divmod(np.arange(3_000), invented.n_items)
        again = clone(original).fit(invented)
        assert np.array_equal(again.predict(users, items), original.predict(users, items))

    def test_beats_the_overall_mean_on_held_out_ratings(self, name):
        ratings = make_ratings(n_users=400, n_items=150, n_ratings=15_000, seed=8)
        held_out = np.random.default_rng(0).random(ratings.n_ratings) < 0.1
        train, users, items = _split(ratings, held_out)
        truth = ratings.values[held_out]
        error = PREDICTORS[name]().fit(train).predict(users, items) - truth
        assert np.sqrt(np.mean(error**2)) < 0.97 * np.std(truth)

    @settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
    @given(data=st.data())
    def test_any_small_table_can_be_learned(self, name, data):
        cells = st.tuples(st.integers(0, 4), st.integers(0, 4))
        rows = data.draw(st.lists(cells, min_size=1, max_size=12, unique=True))
        values = data.draw(
            st.lists(st.sampled_from([0.5, 2.0, 5.0]), min_size=len(rows), max_size=len(rows))
        )
        users, items = zip(*rows, strict=True)
        ratings = Ratings.from_columns(users, items, values, scale=RatingScale(0.5, 5, 0.5))
        predictor = PREDICTORS[name]().fit(ratings)
        cells = np.divmod(np.arange(ratings.n_users * ratings.n_items), ratings.n_items)
        predicted = predictor.predict(*cells)
        assert ((predicted >= 0.5) & (predicted <= 5)).all()
        if name in PADDERS:
            assert np.isfinite(predictor.padding().rows(slice(None))).all()
            assert np.isfinite(predictor.padding().coordinates()).all()

    def test_one_rating_only(self, name):
        ratings = Ratings.from_columns([1], [1], [4])
        assert PREDICTORS[name]().fit(ratings).predict([0], [0]).tolist() == [4]

    def test_an_item_without_ratings_gets_a_sane_prediction(self, name):
        ratings = Ratings([1, 2], [1, 2], [0, 1, 2], [0, 0], [2, 4], None, RatingScale(1, 5, 1))
        assert PREDICTORS[name]().fit(ratings).predict([0], [1])[0] == pytest.approx(3, abs=1.01)


@pytest.mark.parametrize("name", PADDERS)
class TestEveryPadder:
    def test_padding_holds_the_predictions_of_all_cells(self, name, invented):
        predictor = PADDERS[name]().fit(invented)
        rows = predictor.padding().rows([3, 7])
        items = np.arange(invented.n_items)
        assert np.allclose(rows[1], predictor.predict(np.full(items.size, 7), items), atol=1e-5)

    def test_same_seed_same_padding(self, name, invented):
        first, second = (PADDERS[name]().fit(invented).padding() for _ in range(2))
        assert np.array_equal(first.user_factors, second.user_factors)
        assert np.array_equal(first.item_factors, second.item_factors)
        assert np.array_equal(first.item_offset, second.item_offset)


@pytest.mark.parametrize("name", KNOWING_USERS)
def test_two_blocks_are_filled(name, two_blocks, fans_of_two_blocks):
    predictor = PREDICTORS[name]().fit(two_blocks)
    cells = np.divmod(np.arange(120), 10)
    rows = predictor.predict(*cells).reshape(12, 10)
    loved = (fans_of_two_blocks[:, None] == 0) == (np.arange(10) < 5)
    missing = np.ones_like(loved)
    missing[two_blocks.user_positions(), two_blocks.indices] = False
    assert rows[missing & loved].min() > rows[missing & ~loved].max() + 1
