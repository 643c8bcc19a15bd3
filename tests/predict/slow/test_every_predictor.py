import copy
import pickle

import numpy as np
import pytest

from recveil.predict import FunkSVD, ItemMean, TrustKNN, UserKNN

PADDERS = {
    "funk-svd": lambda: FunkSVD(seed=1),
    "funk-svd sequential": lambda: FunkSVD(rank=10, sequential=True, seed=1),
    "item-mean": ItemMean,
}

PREDICTORS = PADDERS | {
    "user-knn": UserKNN,
    "user-knn biases": lambda: UserKNN(centre="biases"),
    "trust": TrustKNN,
}


@pytest.mark.parametrize("name", PREDICTORS)
class TestEveryPredictor:
    @pytest.mark.parametrize("copied", [copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
    def test_a_fitted_one_can_be_copied_and_kept(self, name, copied, invented):
        original = PREDICTORS[name]().fit(invented)
        users, items = np.divmod(np.arange(3_000), invented.n_items)
        predicted = copied(original).predict(users, items)
        assert np.array_equal(predicted, original.predict(users, items))
