"""Level gather: worked examples, and an oracle in plain numpy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from recveil.clustering import LevelGather

cases = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-3, 3) | st.floats(-1e6, 1e6), min_size=n, max_size=n),
        st.lists(st.integers(1, min(n, 6)) | st.integers(1, n), min_size=n, max_size=n),
    )
)


@settings(deadline=None, max_examples=200)
@given(case=cases, seed=st.integers(0, 99))
def test_every_row_has_the_company_it_asks_for_and_no_group_is_twice_as_large(case, seed):
    X, levels = np.reshape(case[0], (-1, 1)), np.array(case[1])
    grouping = LevelGather(random_state=seed)
    labels = grouping.fit(X, levels=levels).labels_
    sizes = np.bincount(labels)
    assert labels.shape == levels.shape
    assert grouping.n_groups_ == sizes.size
    assert (sizes[labels] >= levels).all()
    highest = [levels[labels == group].max() for group in range(sizes.size)]
    assert (sizes < 2 * np.array(highest)).all()
    assert (clone(grouping).fit_predict(X, levels=levels) == labels).all()
