"""Likely lists: of rows that hold all items, those labels count most that ratings have moved."""

from collections.abc import Sequence
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attack import Candidates, find_residuals
from recveil.attack.residuals import MOST_CELLS, STARS
from recveil.blas import one_thread
from recveil.evaluate.list_makers import ListMaker, serve_ease
from recveil.evaluate.recommender import Setting
from recveil.evaluate.spectrum import Numbers, Spectrum, valued
from recveil.evaluate.training import InnerSplit, TrainingTable, UserRows
from recveil.release.records import Records

# The strength for rows of one person each; means of more people have less noise to be held down.
_STRENGTH = 5_000.0
# How much a label counts that nobody is likely to have rated, against one that somebody has.
_UNRATED = 0.5
# Operations of the fit for each label.
_A_CELL = 75_000.0


class EaseOnLikely(ListMaker):
    """EASE on padded rows, where a label counts more the likelier somebody rated it.

    A padded row is full: predictions stand where nobody rated. But predictions are smooth over
    rows and items, and ratings are not, so that a fit tells them apart (see
    `recveil.attack.find_residuals`), with nothing but the release. Each row is learned from twice:
    by its squared labels times the root of the probability that somebody in the group rated the
    item, and, with half the numbers, by its squared labels alone. Where a table is not of such
    rows, this makes no lists: `ranks` is False.

    Notes
    -----
    The squares, the root, the halving, and the strength of 5,000 over the square of the people
    behind a row were chosen beforehand, since a full table tells no good lists from bad ones (see
    `ListMaker`): by the nDCG@10 of padded releases with k = 5, 10, 20 and 50 of folds u1, u2, u4
    and u5 of MovieLens 100K, of ml-latest-small and of FilmTrust. On fold u3, which was not looked
    at, it keeps 75 % of the best lists on the raw ratings with k = 5, EASE on labels 51 %; with
    k = 10, 20 and 50 it is 62, 50 and 39 % against 50, 45 and 36 %.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.attack import ReleasedTable
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> release = PredictiveAnonymizer(k=5, seed=1).anonymize(ratings)
    >>> released = ReleasedTable.from_release(release, ratings)
    >>> maker = EaseOnLikely().fit(TrainingTable.from_released(released, ratings.scale))
    >>> maker.ranks, maker.setting_
    (True, (200.0,))
    >>> EaseOnLikely().fit(TrainingTable.from_ratings(ratings)).ranks
    False
    """

    name = "EASE on likely ratings"

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes: of full rows, a fit of all of them."""
        fitted = min(table.rows.indices.size, MOST_CELLS) if table.is_full else 0
        return super().effort(table, n_inner) + _A_CELL * fitted

    def fit(self, table: TrainingTable, inner: Sequence[InnerSplit] | None = None) -> Self:
        """Learn from the whole table, if it is one of full rows."""
        self.ranks = _likely_spectrum(table) is not None
        people = float(table.sizes.mean())
        self.of_full = (_STRENGTH / people**2,) if self.ranks else ()
        return super().fit(table, inner)

    def _learn(self, table: TrainingTable, _setting: Setting) -> tuple[int, Spectrum | None]:
        return table.n_items, _likely_spectrum(table)

    def _serve(self, learnt: Any, people: UserRows, setting: Setting) -> Numbers:
        n_items, spectrum = learnt
        if spectrum is None:
            return np.zeros((people.n_users, n_items))
        return serve_ease(spectrum, people, setting[0])

    def _rank(self, _inner: Sequence[InnerSplit], _learning: Setting) -> NDArray[np.float64]:
        """Make no inner lists: held-out parts of full rows tell nothing, and each costs a fit."""
        return np.empty(0)


# A table's spectrum lives as long as the table.
_FOUND: WeakKeyDictionary[TrainingTable, Spectrum | None] = WeakKeyDictionary()


def _likely_spectrum(table: TrainingTable) -> Spectrum | None:
    """Return the spectrum of what is likely rated; None if rows are not full ones of groups."""
    if table not in _FOUND:
        # A product split over threads may round differently.
        with one_thread():
            rows = _likely_rows(table)
            told = None if rows is None else Spectrum.of_matrix(rows, table.scale, valued)
        _FOUND[table] = told
    return _FOUND[table]


def _likely_rows(table: TrainingTable) -> sparse.csr_array | None:
    rows = table.rows
    records = Records(table.sizes, rows.indptr, rows.indices, rows.values)
    candidates = Candidates.from_records([records], table.n_items, table.scale)
    found = find_residuals(candidates, table.scale)
    if found is None:
        return None
    shares = np.clip((found.cells.labels - STARS.low) / STARS.range, 0, 1)
    squares = shares**2 * np.sqrt(found.cells.people)[:, None]
    likely = squares * np.sqrt(1 - found.found.nobody)
    both = sparse.csr_array(np.concatenate([likely, _UNRATED * squares]))
    indices = found.items[both.indices].astype(np.int32)
    shape = (both.shape[0], table.n_items)
    return sparse.csr_array((both.data, indices, both.indptr), shape=shape)
