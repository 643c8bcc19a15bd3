"""The mean rating of each item, the same for every user."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from recveil.predict.padding import Padding
from recveil.ratings import Ratings
from recveil.runtime.safe_repr import BriefParameters


class ItemMean(BriefParameters, BaseEstimator):
    """Predict each item's mean rating; items without ratings get the mean of all ratings.

    As a padding it does not distinguish users, so all groups are equally good. It is the baseline
    for other predictors.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 2])
    >>> ItemMean().fit(ratings).predict([0, 1], [0, 1])
    array([3.5, 1. ], dtype=float32)
    """

    padding_: Padding

    def fit(self, ratings: Ratings) -> Self:
        """Learn the items' means."""
        overall = ratings.values.mean(dtype=np.float64) if ratings.n_ratings else 0.0
        sums = np.bincount(ratings.indices, weights=ratings.values, minlength=ratings.n_items)
        means = np.where(ratings.support > 0, sums / np.maximum(ratings.support, 1), overall)
        self.padding_ = Padding(
            user_factors=np.zeros((ratings.n_users, 0), np.float32),
            item_factors=np.zeros((ratings.n_items, 0), np.float32),
            item_offset=means.astype(np.float32),
            scale=ratings.scale,
        )
        return self

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Predict the ratings of pairs of user and item positions, shape (n,)."""
        return self.padding_.cells(users, items)

    def padding(self) -> Padding:
        """Return the predictions of all cells."""
        return self.padding_
