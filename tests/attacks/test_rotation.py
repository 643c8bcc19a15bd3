"""Attacks on rotated rows: by hand, least squares as an oracle, and columns that ICA can part."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from error_assertions import raises
from recveil.attacks import match_by_length, recover_by_components, recover_by_known_rows


def rotated(rows, seed=0, shift=0.0):
    matrix = ortho_group.rvs(rows.shape[1], random_state=seed)
    return rows @ matrix.T + shift


class TestKnownRows:
    def test_one_direction_by_hand(self):
        # A quarter turn makes (-1, 3) of (3, 1). The known rows differ in the first direction only,
        # which keeps its 3; the other has their mean, 0.
        published = [[0, 0], [0, 2], [-1, 3]]
        found = recover_by_known_rows(published, [[0, 0], [2, 0]], [0, 1])
        assert found == pytest.approx(np.array([[0, 0], [2, 0], [3, 0]]))

    @settings(deadline=None, max_examples=30)
    @given(d=st.integers(2, 8), seed=st.integers(0, 1000), shift=st.floats(-9, 9))
    def test_one_row_more_than_columns_undoes_all(self, d, seed, shift):
        rows = np.random.default_rng(seed).uniform(1, 5, (d + 10, d))
        at = np.random.default_rng(seed).permutation(len(rows))[: d + 1]
        found = recover_by_known_rows(rotated(rows, seed, shift), rows[at], at)
        assert np.abs(found - rows).max() < 1e-6

    @pytest.mark.parametrize("m", [1, 2, 5, 8])
    def test_fewer_give_the_projection_on_their_differences(self, m):
        rows = np.random.default_rng(m).normal(size=(20, 10))
        found = recover_by_known_rows(rotated(rows), rows[:m], np.arange(m))
        mean = rows[:m].mean(axis=0)
        weights = np.linalg.lstsq((rows[:m] - mean).T, (rows - mean).T, rcond=1e-9)[0]
        assert found == pytest.approx(mean + (rows[:m] - mean).T.dot(weights).T, abs=1e-9)
        assert found[:m] == pytest.approx(rows[:m])

    def test_noise_is_averaged_over_many_rows(self):
        rng = np.random.default_rng(0)
        rows = rng.uniform(1, 5, (400, 5))
        published = rotated(rows) + rng.normal(0, 0.2, rows.shape)
        found = recover_by_known_rows(published, rows[:200], np.arange(200))
        # The rotation is exact up to 0.2 / √200, so that what is left is the noise itself.
        assert np.sqrt(np.mean((found - rows)[200:] ** 2)) == pytest.approx(0.2, rel=0.1)

    def test_rows_are_matched_by_their_lengths(self):
        rows = np.random.default_rng(0).uniform(1, 5, (30, 4))
        order = np.random.default_rng(1).permutation(30)
        assert (order[match_by_length(rotated(rows)[order], rows[:7])] == np.arange(7)).all()

    def test_what_is_refused(self):
        rows = np.ones((3, 2))
        for known, at in ((np.ones((0, 2)), []), (rows[:2], [0]), (np.ones((1, 3)), [0])):
            with raises("argument.shape"):
                recover_by_known_rows(rows, known, at)


class TestComponents:
    def test_independent_columns_are_recovered(self):
        rng = np.random.default_rng(0)
        rows = np.column_stack(
            [rng.choice([1, 5], 2000), rng.uniform(1, 5, 2000), rng.choice([1, 2, 3], 2000)]
        )
        found = recover_by_components(rotated(rows), rows[:500], seed=0)
        assert np.mean(np.abs(found - rows) < 0.5) > 0.99
        # The control: rows that have nothing to do with the published ones.
        other = recover_by_components(rotated(rng.permuted(rows, axis=0)), rows[:500], seed=0)
        assert np.mean(np.abs(other - rows) < 0.5) < 0.5

    def test_a_gaussian_looks_the_same_from_every_side(self):
        rows = np.random.default_rng(0).normal(size=(2000, 3))
        found = recover_by_components(rotated(rows), rows, seed=0)
        assert np.mean(np.abs(found - rows) < 0.1) < 0.5

    def test_a_constant_column_is_no_component(self):
        rng = np.random.default_rng(0)
        rows = np.column_stack([np.full(500, 3.0), rng.uniform(1, 5, 500)])
        found = recover_by_components(rotated(rows), rows, seed=0)
        assert found[:, 0] == pytest.approx(3)

    def test_what_is_refused(self):
        for rows, columns in ((np.ones((3, 3)), np.ones((1, 3))), (np.ones((5, 3)), np.ones(3))):
            with raises("argument.shape"):
                recover_by_components(rows, columns)
