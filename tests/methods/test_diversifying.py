import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import Groups, homogenize_padded, homogenize_simple
from recveil.methods.predictive import diversity
from recveil.methods.predictive import diversity as bundles
from recveil.methods.predictive.diversity import (
    add_edges,
    bundle,
    diversify,
    gather_coverage,
    missing_in_bundles,
    padded_labels,
)
from recveil.predict import FunkSVD, Padding
from recveil.ratings import Ratings
from recveil.release.records import Records
from shared.methods_diversifying import cover, entries, is_diverse, tables


class TestDiversify:
    def test_one_item_goes_to_the_groups_that_it_hurts_least(self):
        # Item 1 has the mean (4 + 2) / 2 = 3 in groups 0 and 1 and needs two more groups. The
        # others would give it 1, 3.5, 2.5, 5: 0.5 away are the fourth and the fifth. Item 2 is
        # in one group, with 5; the nearest three others are the last (5), then group 3 (4), and
        # of groups 0 and 2, which would give it 1 as well, the first.
        table = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]])
        labels = [[3, 4, 1], [3, 2, 5], [3, 1, 1], [3, 3.5, 4], [3, 2.5, 0], [3, 5, 5]]
        added = diversify(cover(table, labels), b=1, l=4, labels=labels)
        assert entries(added.edges).astype(int).tolist() == [
            [0, 0, 1],
            [0, 0, 0],
            [0, 0, 0],
            [0, 1, 1],
            [0, 1, 0],
            [0, 0, 1],
        ]
        assert added.edges.data.tolist() == [1, 3.5, 4, 2.5, 5]
        # Distances: item 1: 0.5 and 0.5; item 2: 0, 1 and 4.
        assert added.harm == 6 / 5
        assert (added.bundled, added.pruned) == (5, True)

    @settings(deadline=None, max_examples=150)
    @given(data=st.data(), table=tables, b=st.integers(2, 3))
    def test_no_added_edge_can_be_taken_back(self, data, table, b):
        least = data.draw(st.integers(2, max(2, len(table))))
        if least > len(table):
            return
        added = diversify(cover(table), b, least, np.full(table.shape, 2.0))
        whole = table | entries(added.edges)
        for group, item in np.argwhere(entries(added.edges)):
            without = whole.copy()
            without[group, item] = False
            assert not all(is_diverse(without, fewer, least) for fewer in range(1, b + 1))

    @pytest.mark.parametrize("b", [1, 2, 3])
    def test_nothing_is_added_where_nothing_is_lacking(self, b):
        for table in (np.ones((4, 5)), np.zeros((4, 5)), np.repeat(np.eye(2, 5), 3, axis=0)):
            assert diversify(cover(table), b, 3, np.ones(table.shape)).edges.nnz == 0
        assert diversify(cover(np.eye(4)), b, 1, np.ones((4, 4))).edges.nnz == 0

    @pytest.mark.parametrize("b", [2, 3])
    def test_what_is_too_large_to_prune_is_right_but_dearer(self, b, monkeypatch):
        table = np.random.default_rng(0).random((12, 10)) < 0.5
        few = diversify(cover(table), b, 2, np.ones(table.shape), bundle_size=6)
        monkeypatch.setattr(bundles, "MOST_ITEMS_PRUNED", 9)
        many = diversify(cover(table), b, 2, np.ones(table.shape), bundle_size=6)
        assert few.pruned
        assert not many.pruned
        assert few.edges.nnz < few.bundled == many.bundled == many.edges.nnz
        assert is_diverse(table | entries(many.edges), b, 2)

    def test_sets_of_four_and_more_are_bundled_alone(self):
        table = np.random.default_rng(0).random((12, 10)) < 0.5
        added = diversify(cover(table), 4, 2, np.ones(table.shape))
        assert not added.pruned
        assert added.edges.nnz == added.bundled > 0
        assert is_diverse(table | entries(added.edges), 4, 2)

    def test_sets_of_four_of_long_rows_are_too_many(self):
        table = np.random.default_rng(0).random((12, 3000)) < 0.5
        with raises("table.too-large", "sets of 4"):
            diversify(cover(table), 4, 2, np.ones(table.shape))

    def test_triples_are_pruned_up_to_a_limit_of_their_own(self, monkeypatch):
        table = np.random.default_rng(0).random((12, 10)) < 0.5
        monkeypatch.setattr(bundles, "MOST_STEPS_PRUNED", 10)
        assert not diversify(cover(table), 3, 2, np.ones(table.shape)).pruned
        assert diversify(cover(table), 2, 2, np.ones(table.shape)).pruned

    @pytest.mark.parametrize("b", [1, 2, 3])
    def test_labels_may_be_computed(self, b):
        rng = np.random.default_rng(b)
        table, labels = rng.random((9, 8)) < 0.4, rng.random((9, 8))
        from_array = diversify(cover(table), b, 3, labels).edges
        computed = diversify(cover(table), b, 3, lambda rows, cols: labels[rows, cols]).edges
        assert (from_array.toarray() == computed.toarray()).all()

    def test_a_label_of_zero_is_a_label(self):
        added = diversify(cover([[1], [0]], [[-1.0], [0.0]]), 1, 2, np.zeros((2, 1)))
        assert (added.edges.nnz, added.edges.data.tolist(), added.harm) == (1, [0], 1)

    @pytest.mark.parametrize(
        ("b", "least", "size", "code", "name"),
        [
            (1, 4, None, "table.too-few-users", "l = 4"),
            (0, 2, None, "option.value", "b (--b) is 0"),
            (2, 0, None, "option.value", "l (--l) is 0"),
            (2, 2, 1, "argument.value", "bundle_size is 1"),
            (2, 2, 4, "argument.value", "bundle_size is 4"),
        ],
    )
    def test_senseless_settings_are_refused(self, b, least, size, code, name):
        with raises(code, name):
            diversify(cover(np.eye(3)), b, least, np.ones((3, 3)), bundle_size=size)

    def test_labels_of_another_shape_are_refused(self):
        with raises("argument.shape") as caught:
            diversify(cover(np.eye(3)), 1, 2, np.ones((2, 3)))
        assert "(2, 3)" in str(caught.value)
        assert "(3, 3)" in str(caught.value)


class TestBundle:
    def test_groups_that_share_items_are_bundled(self):
        # Two of items 0 to 4, two of items 5 to 9, in turn.
        table = np.zeros((4, 10), int)
        table[::2, :5] = table[1::2, 5:] = 1
        assert bundle(csr_array(table), 2).tolist() == [0, 1, 0, 1]

    @settings(deadline=None)
    @given(data=st.data(), table=tables)
    def test_every_bundle_has_its_size(self, data, table):
        size = data.draw(st.integers(1, len(table)))
        found = bundle(csr_array(table), size)
        counts = np.bincount(found)
        assert found.shape == (len(table),)
        assert size <= counts.min() <= counts.max() < 2 * size
        whole = table | entries(missing_in_bundles(csr_array(table), found))
        for number in range(counts.size):
            assert (whole[found == number] == table[found == number].any(axis=0)).all()

    def test_items_beyond_one_word_and_groups_beyond_the_candidates(self, monkeypatch):
        table = np.random.default_rng(0).random((30, 200)) < 0.1
        monkeypatch.setattr(bundles, "_CANDIDATES", 3)
        assert np.bincount(bundle(csr_array(table), 4)).tolist() == [5, 5, 4, 4, 4, 4, 4]

    @pytest.mark.parametrize("size", [0, 4])
    def test_an_impossible_size_is_refused(self, size):
        with raises("argument.value") as caught:
            bundle(csr_array(np.eye(3)), size)
        assert f"{size} groups" in str(caught.value)


@pytest.fixture(scope="module")
def small() -> tuple[Ratings, Padding, Groups]:
    ratings = make_ratings(n_users=60, n_items=40, n_ratings=600, seed=11)
    labels = np.random.default_rng(2).permutation(np.arange(60) % 13)
    return ratings, FunkSVD(rank=4).fit(ratings).padding(), Groups.from_labels(labels)


class TestLabels:
    @pytest.mark.parametrize("chunk", [1, 100, 1 << 24])
    def test_they_are_those_of_padded_homogenizing(self, small, chunk, monkeypatch):
        monkeypatch.setattr(diversity, "_CHUNK_FACTORS", chunk)
        ratings, padding, groups = small
        coverage = gather_coverage(homogenize_simple(ratings, groups), ratings.n_items)
        rated = np.flatnonzero(ratings.support)
        rows, cols = np.nonzero(~entries(coverage.support)[:, rated])
        (padded,) = homogenize_padded(ratings, padding, groups)
        expected = padded.values.reshape(13, -1)[rows, cols]
        found = padded_labels(padding, groups, rows, rated[cols])
        assert found == pytest.approx(expected, abs=1e-5)

    def test_no_cells(self, small):
        assert padded_labels(*small[1:], [], []).tolist() == []


class TestAddEdges:
    def test_by_hand(self):
        # Two blocks: groups {1: 4}, {} and {0: 1, 2: 2}. Items 0 and 2 join the first, item 1 the
        # second and the third.
        one = Records(
            np.array([2, 3]), np.array([0, 1, 1]), np.array([1], np.int32), np.array([4.0])
        )
        two = Records(
            np.array([5]), np.array([0, 2]), np.array([0, 2], np.int32), np.array([1.0, 2.0])
        )
        data, items = [2.5, 3.0, 0.0, 5.0], np.array([0, 2, 1, 1], np.int32)
        added = csr_array((data, items, [0, 2, 3, 4]), shape=(3, 3))
        first, second = add_edges([one, two], added)
        assert first.sizes.tolist() == [2, 3]
        assert second.sizes.tolist() == [5]
        assert first.indptr.tolist() == [0, 3, 4]
        assert second.indptr.tolist() == [0, 3]
        assert first.indices.tolist() == [0, 1, 2, 1]
        assert second.indices.tolist() == [0, 1, 2]
        assert first.values.tolist() == [2.5, 4, 3, 0]
        assert second.values.tolist() == [1, 5, 2]
        assert (first.indices.dtype, first.indptr.dtype) == (np.int32, np.int64)

    def test_blocks_without_additions_stay_as_they_are(self):
        block = Records(np.array([2]), np.array([0, 1]), np.array([1], np.int32), np.array([4.0]))
        assert list(add_edges([block], csr_array((1, 3)))) == [block]

    @pytest.mark.parametrize("rows", [0, 2])
    def test_edges_of_other_groups_are_refused(self, rows):
        block = Records(np.array([2]), np.array([0, 1]), np.array([1], np.int32), np.array([4.0]))
        with raises("argument.shape") as caught:
            list(add_edges([block], csr_array((rows, 3))))
        assert f"{rows} groups" in str(caught.value)
        with raises("argument.value") as caught:
            list(add_edges([block], csr_array([[0.0, 1.0, 0.0]])))
        assert "group 0" in str(caught.value)
        assert "item 1" in str(caught.value)

    @pytest.mark.parametrize("b", [1, 2, 3])
    def test_from_ratings_to_diverse_blocks(self, small, b, monkeypatch):
        ratings, padding, groups = small
        monkeypatch.setattr("recveil.methods.predictive.homogenize._BLOCK_RATINGS", 100)

        def blocks():
            return homogenize_simple(ratings, groups)

        coverage = gather_coverage(blocks(), ratings.n_items)
        added = diversify(
            coverage, b, 3, lambda rows, cols: padded_labels(padding, groups, rows, cols)
        )
        wider = list(add_edges(blocks(), added.edges))
        assert len(wider) > 1
        after = gather_coverage(wider, ratings.n_items)
        before, table = entries(coverage.support), entries(after.support)
        assert (table == before | entries(added.edges)).all()
        assert (before != table).any()
        assert is_diverse(table, b, 3)
        for old, new in zip(blocks(), wider, strict=True):
            for row in range(len(new)):
                items = new.indices[new.indptr[row] : new.indptr[row + 1]]
                assert (np.diff(items) > 0).all()
            assert set(old.values.tolist()) <= set(new.values.tolist())
