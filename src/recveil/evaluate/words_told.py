"""Words told: how many held-out words, which have no order, people's own rows tell rightly.

A word is right, or it is not; there is no error of any size. What a row is worth is measured
against the commonest word of each item, which takes no release.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attack import ReleasedTable
from recveil.attack.statistics import Mean, mean_interval
from recveil.brief import brief
from recveil.evaluate.split import Split
from recveil.evaluate.word_tellers import word_counts
from recveil.ratings import Ratings


@brief
class WordsTold(NamedTuple):
    """How many held-out words are told rightly, as means over people.

    Attributes
    ----------
    cells : int
        Held-out words of people who are in the release.
    right : Mean
        Share of a person's held-out words that stand in their row.
    commonest : Mean
        Share that the item's commonest word in the training table is.
    gain : Mean
        How much more the first is.
    """

    cells: int
    right: Mean
    commonest: Mean
    gain: Mean

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        told = {name: getattr(self, name)._asdict() for name in ("right", "commonest", "gain")}
        return {"cells": self.cells, **told}

    def _facts(self) -> dict[str, object]:
        return {"right": f"{self.right.mean:.1%}", "commonest": f"{self.commonest.mean:.1%}"}


def tell_words(parts: Split, table: ReleasedTable) -> WordsTold:
    """Compare held-out words with those in people's rows.

    Parameters
    ----------
    parts : Split
        The table that the release was made from, and words that were held out of it.
    table : ReleasedTable
        The release. It knows who is where, which only the owner does.

    Examples
    --------
    >>> from recveil.anonymize.shared_words import SharedWords
    >>> from recveil.evaluate.split import HeldOut
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale.of_words("up,down", ordered=False)
    >>> train = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], ["up", "up", "down"], scale=scale)
    >>> test = HeldOut(np.array([1]), np.array([1]), np.array([1.0]))  # of b, the second says up
    >>> release = SharedWords(2, seed=1).anonymize(train)
    >>> found = tell_words(Split(train, test), ReleasedTable.from_release(release, train))
    >>> found.right.mean, found.commonest.mean
    (1.0, 1.0)
    """
    train, test = parts
    records = table.record_of[test.users]
    known = records >= 0
    users, items = test.users[known], test.items[known]
    truth = np.rint(test.values[known])
    shape = (table.indptr.size - 1, train.n_items)
    rows = sparse.csr_array((table.values, table.indices, table.indptr), shape=shape)
    labels = np.asarray(rows[records[known], items]).ravel()  # 0 where there is none
    right = _by_person(users, labels == truth)
    usual = _by_person(users, commonest_words(train)[items] == truth)
    gain = mean_interval(right - usual)
    return WordsTold(int(known.sum()), mean_interval(right), mean_interval(usual), gain)


def commonest_words(train: Ratings) -> NDArray[np.float64]:
    """Return each item's commonest word, by its number; of equal ones, the first of the scale.

    Examples
    --------
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale.of_words("up,down", ordered=False)
    >>> said = ["up", "down", "down"]
    >>> commonest_words(Ratings.from_columns([1, 2, 2], ["a", "a", "b"], said, scale=scale))
    array([1., 2.])
    """
    counts = word_counts(train.indices, train.values, None, train)
    # Of an item that nobody rated, what is commonest of all is as good a guess as any.
    counts[counts.sum(axis=1) == 0] = counts.sum(axis=0)
    return np.asarray(counts.argmax(axis=1) + 1.0)


def _by_person(users: NDArray[np.int64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the share of what is right of each person who has something."""
    people, of = np.unique(users, return_inverse=True)
    counts = np.bincount(of, minlength=people.size)
    return np.asarray(np.bincount(of, weights=right, minlength=people.size) / counts)
