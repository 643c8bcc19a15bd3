import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from recveil.methods.predictive.diversity import (
    bundle,
    diversify,
    missing_in_bundles,
    prune,
)
from shared.methods_diversifying import cover, entries, is_diverse, tables


class TestDiversify:
    def test_two_items_by_hand(self):
        # Groups {0, 1}, {0, 1}, {0, 2}, {0, 2, 3}; l = 2. Bundles are two and two: only item 3 is
        # lacking, in group 2. Its pairs 03 and 23 stand in one group, so it has to stay.
        table = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]]
        added = diversify(cover(table), b=2, l=2, labels=np.full((4, 4), 3.5))
        assert added.edges.toarray().tolist() == [[0] * 4, [0] * 4, [0, 0, 0, 3.5], [0] * 4]
        assert (added.harm, added.bundled) == (0.5, 1)

    def test_pruning_takes_the_most_harmful_first(self):
        # All six groups hold item 0, three item 1. In one bundle of six, item 1 is added to the
        # other three; two holders would do, so pruning takes all of them back.
        table = np.array([[1, 1]] * 3 + [[1, 0]] * 3)
        support, missing = csr_array(table), csr_array(1 - table)
        assert not prune(support, missing, np.array([1.0, 3.0, 2.0]), b=2, least=2).any()
        # Five are wanted: one of the three goes, the one with the highest harm.
        kept = prune(support, missing, np.array([1.0, 3.0, 2.0]), b=2, least=5)
        assert kept.tolist() == [True, False, True]

    @pytest.mark.parametrize("least", [2, 3, 5])
    def test_pruning_is_trying_edge_after_edge(self, least):
        # 200 items take four words of bits.
        rng = np.random.default_rng(least)
        table = csr_array((rng.random((60, 200)) < rng.random(200) ** 3).astype(np.int8))
        missing = missing_in_bundles(table, bundle(table, least))
        harm = rng.random(missing.nnz)
        rows = (table + missing).toarray().astype(np.int64)
        groups, items = missing.nonzero()
        kept = np.ones(missing.nnz, np.bool_)
        for edge in np.argsort(-harm):
            group, item = groups[edge], items[edge]
            counts = rows[:, item] @ rows
            if counts[rows[group] == 1].min() > least:
                kept[edge], rows[group, item] = False, 0
        assert 0 < kept.sum() < kept.size
        assert np.array_equal(prune(table, missing, harm, b=2, least=least), kept)

    @settings(deadline=None, max_examples=300)
    @given(data=st.data(), table=tables, b=st.integers(1, 3))
    def test_afterwards_every_set_stands_in_enough_groups(self, data, table, b):
        least = data.draw(st.integers(1, len(table)))
        size = data.draw(st.none() | st.integers(least, len(table)))
        labels = data.draw(arrays(float, table.shape, elements=st.integers(0, 3).map(float)))
        coverage = cover(table, labels)
        added = diversify(coverage, b, least, labels, bundle_size=size)
        new = entries(added.edges)
        assert not (new & table).any()
        assert not new[:, ~table.any(axis=0)].any()  # what no user rated is added nowhere
        assert np.array_equal(added.edges.data, labels[new])
        assert added.edges.nnz <= added.bundled
        for fewer in range(1, b + 1):
            assert is_diverse(table | new, fewer, least)
        if all(is_diverse(table, fewer, least) for fewer in range(1, b + 1)):
            assert not new.any()
        if new.any():
            means = np.broadcast_to(coverage.item_means, table.shape)
            assert added.harm == pytest.approx(np.abs(labels - means)[new].mean())
        else:
            assert np.isnan(added.harm)
