import itertools

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import AttackTarget
from recveil.evaluation import TrainingTable, UserRows, inner_splits, split
from recveil.evaluation.split import enough_for_errors
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings, RatingScale

stars = RatingScale(1, 5, 1)


def rows_of(lists) -> UserRows:
    """Rows from a list of {item: value}."""
    lengths = [len(row) for row in lists]
    items = [item for row in lists for item in row]
    values = [value for row in lists for value in row.values()]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return UserRows(indptr, np.array(items, np.int32), np.array(values, np.float64))


def table_of(lists, sizes, n_items=4) -> TrainingTable:
    return TrainingTable.from_rows(rows_of(lists), np.array(sizes), n_items, stars)


def assert_same(one: TrainingTable, two: TrainingTable) -> None:
    assert all(np.array_equal(a, b) for a, b in zip(one.rows, two.rows, strict=True))
    assert np.array_equal(one.sizes, two.sizes)
    assert (one.n_items, one.n_users, one.scale) == (two.n_items, two.n_users, two.scale)


class TestTrainingTable:
    def test_order_and_layout_do_not_matter(self):
        a, b = {0: 1.0, 2: 5.0}, {1: 3.0}
        assert_same(table_of([a, b], [2, 1]), table_of([b, a, a], [1, 1, 1]))

    def test_means_and_support_by_hand(self):
        # Item 0: 2 users with 1 and 1 with 4; item 1: 1 with 5; item 2: no user.
        table = table_of([{0: 1.0}, {0: 4.0, 1: 5.0}], [2, 1], n_items=3)
        assert table.support.tolist() == [3, 1, 0]
        assert table.overall_mean == (1 + 1 + 4 + 5) / 4
        assert table.item_means().tolist() == [2, 5, 2.75]
        # With damping 1: (6 + 2.75) / 4, (5 + 2.75) / 2.
        assert np.allclose(table.item_means(1), [8.75 / 4, 7.75 / 2, 2.75], rtol=0, atol=1e-12)

    def test_users_without_labels_are_counted_but_teach_nothing(self):
        table = table_of([{}, {0: 1.0}], [3, 2])
        assert (table.n_users, table.sizes.tolist()) == (5, [2])
        with raises("table.no-ratings"):
            table_of([{}], [1])

    def test_a_release_counts_each_user(self, invented):
        release = PredictiveAnonymizer(k=5, seed=1).anonymize(invented)
        released = AttackTarget.from_release(release, invented)
        table = TrainingTable.from_released(released, invented.scale)
        assert table.sizes.sum() == table.n_users == invented.n_users
        carried = table.support > 0
        means = table.item_means()[carried]
        assert np.allclose(means, released.item_means()[carried], rtol=0, atol=1e-12)

    def test_a_scale_of_tenths_is_the_same_in_both(self):
        raw = Ratings.from_columns(
            [1, 1, 2], [1, 2, 1], [0.1, 0.2, 0.3], scale=RatingScale(0, 1, 0.1)
        )
        assert TrainingTable.from_ratings(raw).rows.values.sum() == pytest.approx(0.6, abs=1e-15)


class TestInnerSplits:
    def test_whole_rows_are_held_out_and_a_fifth_of_each(self, invented):
        table = TrainingTable.from_ratings(invented)
        splits = inner_splits(table, seed=1)
        everything = row_digests(table.rows)
        sizes = [inner.known.n_users for inner in splits]
        assert sizes == [60, 60, 60, 60, 59]  # two of 300 users have the same ratings
        held_out = []
        for inner in splits:
            learnt = row_digests(inner.table.rows)
            assert learnt < everything
            assert inner.table.n_users == inner.table.sizes.sum() < table.n_users
            held = np.bincount(inner.held_out.users, minlength=inner.known.n_users)
            lengths = np.diff(inner.known.indptr) + held
            assert (held == np.floor(lengths / 5 + 0.5)).all()
            held_out.append(everything - learnt)
            known = inner.known.matrix(table.n_items).toarray()
            assert (known[inner.held_out.users, inner.held_out.items] == 0).all()
        assert set.union(*held_out) == everything
        assert sum(map(len, held_out)) == len(everything)

    def test_for_errors_a_hundred_rows_are_enough(self, invented):
        table = TrainingTable.from_ratings(invented)
        splits = inner_splits(table)
        assert [inner.known.n_users for inner in enough_for_errors(splits)] == [60, 60]
        assert len(enough_for_errors(splits[:1])) == 1
        assert len(enough_for_errors(())) == 0

    def test_full_rows_do_not_serve_lists_so_that_a_hundred_are_enough(self):
        rng = np.random.default_rng(0)
        rows = [dict(enumerate(rng.integers(1, 6, 4).astype(float))) for _ in range(300)]
        table = table_of(rows, [1] * 300)
        held = sum(inner.known.n_users for inner in inner_splits(table))
        assert table.is_full
        assert 100 <= held < table.rows.n_users

    def test_identical_rows_are_one_and_never_on_both_sides(self):
        """Of 12 users behind 3 rows, no held-out row has a twin to be learnt from."""
        rows = [{0: 1.0, 1: 5.0}, {1: 3.0, 2: 2.0}, {0: 4.0, 3: 4.0}]
        apart = table_of(rows * 4, [1] * 12)
        splits = inner_splits(apart)
        assert len(splits) == 30  # each row ten times
        for inner in splits:
            assert inner.known.n_users == 1
            assert inner.table.sizes.tolist() == [4, 4]
        together = inner_splits(table_of(rows, [4] * 3))
        for one, other in zip(splits, together, strict=True):
            assert one.held_out.users.tolist() == other.held_out.users.tolist()
            assert_same(one.table, other.table)

    def test_one_row_can_hold_nothing_out(self):
        assert inner_splits(table_of([{0: 1.0, 1: 2.0}], [7])) == ()

    def test_of_many_rows_some_are_held_out(self, monkeypatch):
        monkeypatch.setattr(split, "MOST_ROWS", 7)
        rows = [{item: 1.0 + item % 5, item + 1: 2.0} for item in range(100)]
        splits = inner_splits(table_of(rows, [1] * 100, n_items=101))
        assert {inner.known.n_users for inner in splits} == {7}
        assert {inner.table.rows.n_users for inner in splits} == {80}

    def test_of_a_large_table_some_rows_are_learned(self, monkeypatch):
        rows = [{item: 1.0 + item % 5, item + 1: 2.0} for item in range(100)]
        table = table_of(rows, [1 + row % 3 for row in range(100)], n_items=101)
        whole = inner_splits(table)[0]
        monkeypatch.setattr(split, "MOST_VALUES", 60)
        inner = inner_splits(table)[0]
        assert inner.table.rows.n_users == 30  # 60 of the 160 values of 80 rows
        assert inner.table.n_users == inner.table.sizes.sum()
        assert np.array_equal(inner.held_out.values, whole.held_out.values)
        every, drawn = (
            {(*part.table.rows.take([row]).indices, part.table.sizes[row]) for row in range(n)}
            for part, n in ((whole, 80), (inner, 30))
        )
        assert drawn < every
        assert split.times_learned(table, 2.0) == 1 + 2 * 60 / 200

    def test_labels_of_held_out_rows_become_ratings(self):
        """Of 4,000 labels of 3.25, a quarter is rounded up; what is learnt from stays as it is."""
        rows = [dict.fromkeys(range(100), 3.25) | {100 + row: 5.0} for row in range(4)]
        splits = inner_splits(table_of(rows, [1] * 4, n_items=104))
        values = np.concatenate([[*inner.known.values, *inner.held_out.values] for inner in splits])
        assert set(values) == {3.0, 4.0, 5.0}
        assert abs((values == 4).sum() - 1000) < 110  # four standard deviations
        assert all((inner.table.rows.values == 3.25).sum() == 300 for inner in splits)

    def test_a_scale_without_steps_keeps_its_labels(self):
        rows = rows_of([{0: 1.2, 1: 3.4}, {0: 2.2, 1: 3.3}])
        table = TrainingTable.from_rows(rows, np.array([1, 1]), 2, RatingScale(1, 5))
        found = {value for inner in inner_splits(table) for value in inner.known.values.tolist()}
        assert found <= {1.2, 3.4, 2.2, 3.3}


def row_digests(rows):
    """The rows as comparable things."""
    return {
        (rows.indices[at:to].tobytes(), rows.values[at:to].tobytes())
        for at, to in itertools.pairwise(rows.indptr)
    }


def test_rows_are_taken_in_any_order():
    rows = rows_of([{0: 1.0}, {}, {1: 2.0, 3: 4.0}])
    taken = rows.take(np.array([2, 1, 0, 2]))
    assert taken.indptr.tolist() == [0, 2, 2, 3, 5]
    assert taken.indices.tolist() == [1, 3, 0, 1, 3]
    assert taken.values.tolist() == [2, 4, 1, 2, 4]
