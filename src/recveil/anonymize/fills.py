"""Fills: what is written into the cells that k-coRating adds."""

from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.errors import RecveilError
from recveil.predict import FunkSVD, ItemMean
from recveil.ratings import Ratings


class Fill(Protocol):
    """Learns from the original ratings what to write into cells that nobody rated."""

    def fit(self, ratings: Ratings) -> Self:
        """Learn from all of `ratings`."""

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Return labels for pairs of user and item positions, shape (n,)."""


class RandomFill:
    """Writes values of the scale, each equally likely: the paper's worst fill.

    Parameters
    ----------
    seed : int
        A cell's value depends on the seed, the user and the item alone.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 2])
    >>> fill = RandomFill(seed=1).fit(ratings)
    >>> bool(fill.predict([0], [1]) == fill.predict([1, 0], [0, 1])[1])
    True
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, ratings: Ratings) -> Self:
        """Learn the scale."""
        self.scale_ = ratings.scale
        return self

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Return a random value for each cell."""
        # SplitMix64 of the cell's number: no cell needs to know which were drawn before it.
        cells = np.asarray(users, np.uint64) << np.uint64(32) | np.asarray(items, np.uint64)
        with np.errstate(over="ignore"):
            x = cells * np.uint64(0x9E3779B97F4A7C15) + np.uint64(self.seed % 2**64)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        share = (x ^ (x >> np.uint64(31))).astype(np.float64) / 2**64
        scale = self.scale_
        step = scale.step or scale.range / 1000 or 1.0
        n_levels = round(scale.range / step) + 1
        level = np.minimum(np.floor(share * n_levels), n_levels - 1)
        return np.asarray(scale.low + step * level, dtype=np.float32)


FILLS: dict[str, Callable[[int], Fill]] = {
    "item-mean": lambda _: ItemMean(),
    "random": RandomFill,
    "funk-svd": lambda seed: FunkSVD(seed=seed),
}


def make_fill(choice: str | Fill, seed: int) -> Fill:
    """Return the fill of a name, or the one that was given.

    Raises
    ------
    RecveilError
        If the name is unknown.
    """
    if not isinstance(choice, str):
        return choice
    if choice not in FILLS:
        raise RecveilError(f"fill {choice!r}: expected one of {', '.join(FILLS)}")
    return FILLS[choice](seed)
