"""Support drawing: fitted margins, and systematic sampling against a plain version."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recveil.methods.sparse.classes import Choices, draw_supports, fit_choices


def choices_of(likely):
    """Choices with given probabilities."""
    odds = np.log(likely) - np.log1p(-likely)
    return Choices(
        odds.astype(np.float32),
        np.eye(odds.shape[1], dtype=np.float32),
        np.zeros(len(odds), np.float32),
        np.zeros(odds.shape[1], np.float32),
    )


def plain_draw(likely, start):
    """Return the rows' items, cell by cell."""
    carried, rows = start.copy(), []
    for row in likely:
        carried += row
        taken = carried >= 1
        if not taken.any():
            taken[np.argmax(carried)] = True
        carried[taken] -= 1
        rows.append(np.flatnonzero(taken))
    return rows


@given(st.integers(1, 12), st.integers(1, 9), st.integers(0, 1000))
def test_rows_are_those_of_the_plain_version(n_rows, n_items, seed):
    rng = np.random.default_rng(seed)
    likely = rng.uniform(0.05, 0.9, (n_rows, n_items))
    choices = choices_of(likely)
    indptr, indices = draw_supports(choices, np.random.default_rng(seed))
    start = np.random.default_rng(seed).random(n_items)
    exact = choices.likely(slice(0, n_rows)).astype(float)
    for row, items in enumerate(plain_draw(exact, start)):
        assert indices[indptr[row] : indptr[row + 1]].tolist() == items.tolist()


def test_an_item_is_off_by_less_than_a_row():
    rng = np.random.default_rng(1)
    likely = rng.uniform(0.1, 0.6, (200, 30))
    indptr, indices = draw_supports(choices_of(likely), rng)
    assert np.abs(np.bincount(indices, minlength=30) - likely.sum(axis=0)).max() < 1.002
    assert (np.diff(indptr) > 0).all()


def test_only_rows_without_another_item_get_what_has_come_nearest():
    choices = choices_of(np.full((40, 2), 0.001))
    others = np.arange(40, dtype=np.int64) % 2
    indptr, _ = draw_supports(choices, np.random.default_rng(0), others)
    assert np.diff(indptr).tolist() == [1, 0] * 20


def test_margins_are_met():
    rng = np.random.default_rng(2)
    lengths, sizes = rng.uniform(2, 15, 40), rng.integers(5, 9, 40).astype(float)
    totals = rng.uniform(1, 5, 25)
    totals *= (lengths @ sizes) / totals.sum()
    choices = fit_choices(
        rng.standard_normal((40, 3)), rng.standard_normal((25, 3)), lengths, totals, sizes
    )
    likely = choices.likely(slice(0, 40))
    assert np.allclose(sizes @ likely, totals, rtol=0.01)
    assert np.allclose(likely.sum(axis=1), lengths, rtol=0.05)


def test_tiles_change_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    likely = rng.uniform(0.1, 0.6, (50, 8))
    whole = draw_supports(choices_of(likely), np.random.default_rng(0))
    monkeypatch.setattr("recveil.methods.sparse.classes._TILE_CELLS", 20)
    cut = draw_supports(choices_of(likely), np.random.default_rng(0))
    assert np.array_equal(whole[1], cut[1])
