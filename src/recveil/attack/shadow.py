"""Shadow releases: somebody who knows nobody makes a release of their own to learn from."""

import numpy as np

from recveil.attack.cell_features import Cells, Numbers
from recveil.attack.fill_classifier import judge
from recveil.attack.fills_told import mark_real
from recveil.attack.released import ReleasedTable
from recveil.ratings import Ratings
from recveil.release.anonymizer import Anonymizer

# Of the published labels, so many are taken for ratings; and from so many people of the shadow it
# is learned what fills look like.
_TAKEN, _TAUGHT_BY = 0.3, 100


def tell_fills_by_shadow(cells: Cells, anonymizer: Anonymizer, seed: int = 0) -> Numbers:
    """Return how probably each label is a real rating, by what a shadow release teaches.

    The adversary takes a random part of the published labels for ratings, makes a release of them
    in the way that the release itself names, and learns in it, where it is known, what fills look
    like. They need to know nobody, and nothing private is looked at.

    Parameters
    ----------
    cells : Cells
        The published labels.
    anonymizer : Anonymizer
        Makes releases with the same settings.
    seed : int
        Fixes which labels are taken, and who teaches.

    Returns
    -------
    ndarray of float64, shape (n_labels,)

    Raises
    ------
    RecveilError
        If no such release can be made of the labels that were taken.

    Examples
    --------
    >>> from recveil.anonymize import KCoRater
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=120, n_items=40, n_ratings=1500, seed=1)
    >>> anonymizer = KCoRater(k=5, seed=2)
    >>> table = ReleasedTable.from_release(anonymizer.anonymize(ratings), ratings)
    >>> likely = tell_fills_by_shadow(Cells.of(table.candidates, ratings.scale), anonymizer)
    >>> is_real = mark_real(ratings, table)
    >>> bool(likely[is_real].mean() > likely[~is_real].mean())
    True
    """
    rng = np.random.default_rng([seed, 8])
    taken = rng.random(cells.labels.size) < _TAKEN
    columns = cells.records[taken].astype(np.int64), cells.items[taken], cells.labels[taken]
    known = Ratings.from_columns(*columns, scale=cells.scale)
    shadow = ReleasedTable.from_release(anonymizer.anonymize(known), known)
    own = Cells.of(shadow.candidates, cells.scale)
    is_real = mark_real(known, shadow)
    n_teachers = min(_TAUGHT_BY, shadow.candidates.n_records)
    teachers = rng.choice(shadow.candidates.n_records, n_teachers, replace=False)
    taught = np.isin(own.records, teachers)
    return judge(own.first_look[taught], is_real[taught], cells.first_look)
