"""What the figures of the thesis (Chen 2012) share: the users' embeddings, and groups of them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.clustering import MDAV, BisectingKGather, BoundedTMeans, armse
from recveil.io import read_ratings
from recveil.predict import FunkSVD
from recveil.ratings import Ratings

# The thesis draws twenty runs of each grouping, and averages errors over ten.
RUNS, TRIES = 20, 10
POINTS = (
    "Groups are formed on the users' 50 factors, rotated so that distances equal those between "
    "padded rows (`Padding.coordinates`); the thesis took a user preference matrix of unprinted "
    "rank and scale, so that only ratios compare."
)

GROUPINGS: dict[str, Callable[[int, int], Any]] = {
    "BKG": lambda k, seed: BisectingKGather(k, random_state=seed),
    "BTM": lambda k, seed: BoundedTMeans(k, random_state=seed),
    "MDAV": lambda k, _: MDAV(k),  # draws nothing: its runs are one and the same
}


@cache
def ratings_of(folder: Path) -> Ratings:
    """Read all of MovieLens 100K."""
    return read_ratings(folder / "u.data", times=False)


@cache
def points_of(folder: Path) -> NDArray[np.float32]:
    """Place all users by their embeddings."""
    return FunkSVD().fit(ratings_of(folder)).padding().coordinates()


@cache
def armse_of(folder: Path, name: str, k: int) -> NDArray[np.float64]:
    """Return the ARMSE of each run of a grouping."""
    points = points_of(folder)
    runs = (GROUPINGS[name](k, seed).fit(points).labels_ for seed in range(RUNS))
    return np.array([armse(points, labels) for labels in runs])
