"""The label-based attack: how many records agree with what the adversary knows?"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.ratings import Ratings


class Matches(NamedTuple):
    """How many records agree with the knowledge about each target.

    Attributes
    ----------
    records : ndarray of int64, shape (n_targets,)
        Records that hold all known ratings, the target's own included; 0 for skipped targets.
    skipped : int
        Targets with fewer ratings than the adversary should know. They count as not found.
    """

    records: NDArray[np.int64]
    skipped: int

    @property
    def unique_share(self) -> float:
        """Share of all targets asked for that exactly one record agrees with."""
        return float(np.mean(self.records == 1)) if self.records.size else 0.0


def match_known_ratings(ratings: Ratings, known: int = 8, seed: int = 0) -> Matches:
    """Attack every user with some of his own ratings, known exactly, without their dates.

    Parameters
    ----------
    ratings : Ratings
        The table to be attacked, as if it had been published with names removed.
    known : int
        How many ratings, drawn at random from the target's own, the adversary knows.
    seed : int
        Fixes the draw.

    Returns
    -------
    Matches
        One record means that the target is found; s records that he is found with 1/s.

    Raises
    ------
    RecveilError
        If `known` is below 1.

    Notes
    -----
    Source: Chang et al., Definition 3.2.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 2], ["a", "b", "a", "b"], [5, 3, 5, 4])
    >>> match_known_ratings(ratings, known=2).records  # the labels of b tell the two apart
    array([1, 1])
    >>> match_known_ratings(ratings, known=3).skipped
    2
    """
    if known < 1:
        raise RecveilError(f"known is {known}; expected at least 1 known rating")
    by_item = ratings.csr.tocsc()
    raters, labels = by_item.indices.astype(np.int32), by_item.data
    records = _count_matches(
        np.random.default_rng(seed),
        known,
        ratings.indptr,
        ratings.indices,
        ratings.values,
        by_item.indptr.astype(np.int64),
        raters,
        labels,
    )
    return Matches(records, int((ratings.activity < known).sum()))


@njit(cache=True, nogil=True)
def _count_matches(
    rng: np.random.Generator,
    known: int,
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    item_indptr: NDArray[Any],
    raters: NDArray[Any],
    labels: NDArray[Any],
) -> NDArray[Any]:
    """Walk the raters of each known item, counting for each how many known labels agree."""
    n_users = indptr.size - 1
    records = np.zeros(n_users, np.int64)
    agreeing = np.zeros(n_users, np.int64)
    for target in range(n_users):
        start, length = indptr[target], indptr[target + 1] - indptr[target]
        if length < known:
            continue
        places = np.arange(length)
        for drawn in range(known):
            other = drawn + int(rng.random() * (length - drawn))
            places[drawn], places[other] = places[other], places[drawn]
            item, label = indices[start + places[drawn]], values[start + places[drawn]]
            for at in range(item_indptr[item], item_indptr[item + 1]):
                if labels[at] == label and agreeing[raters[at]] == drawn:
                    agreeing[raters[at]] += 1
                    records[target] += drawn == known - 1
        for drawn in range(known):
            item = indices[start + places[drawn]]
            for at in range(item_indptr[item], item_indptr[item + 1]):
                agreeing[raters[at]] = 0
    return records
