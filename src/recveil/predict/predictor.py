"""What every predictor can do."""

from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.predict.padding import Padding
from recveil.ratings import Ratings


class Predictor(Protocol):
    """Learns from ratings to fill the cells that nobody rated."""

    def fit(self, ratings: Ratings) -> Self:
        """Learn from all of `ratings`; learned attributes end in an underscore."""

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Predict the ratings of pairs of user and item positions, shape (n,), on the scale."""


class Padder(Predictor, Protocol):
    """A predictor that knows the predictions of all cells without looking at each of them."""

    def padding(self) -> Padding:
        """Return the predictions of all cells, in latent form."""
