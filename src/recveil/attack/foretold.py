"""Foretold labels: what the other rows of a release say of each label."""

import numpy as np
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.predict import UserKNN
from recveil.ratings import Ratings, RatingScale


def foretell(
    candidates: Candidates, scale: RatingScale, believed: NDArray[np.bool_] | None = None
) -> NDArray[np.float32]:
    """Predict every label from the labels of other records with `UserKNN`; shape (n_labels,).

    Parameters
    ----------
    candidates : Candidates
    scale : RatingScale
        Labels beyond its ends are moved there.
    believed : ndarray of bool, shape (n_labels,), optional
        The labels to learn from; all, if not given.

    Examples
    --------
    >>> alike = Ratings.from_columns(["a", "a", "b", "b"], [7, 8, 7, 8], [4, 4, 4, 4])
    >>> foretell(Candidates.from_ratings(alike), RatingScale(1, 5, 1))
    array([4., 4., 4., 4.], dtype=float32)
    """
    n_items = candidates.indptr.size - 1
    items = np.repeat(np.arange(n_items, dtype=np.int32), np.diff(candidates.indptr))
    labels = np.clip(candidates.levels, scale.low, scale.high)[candidates.codes]
    # Listed by item; a stable sort lists them by record, items ascending.
    order = np.argsort(candidates.records, kind="stable")
    if believed is not None:
        order = order[believed[order]]
    activity = np.bincount(candidates.records[order], minlength=candidates.n_records)
    rows = Ratings(
        np.arange(candidates.n_records),
        np.arange(n_items),
        np.concatenate([[0], np.cumsum(activity)]),
        items[order],
        labels[order],
        None,
        RatingScale(scale.low, scale.high),
    )
    return UserKNN().fit(rows).predict(candidates.records, items)
