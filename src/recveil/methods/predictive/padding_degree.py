"""The degree of padding: which items that no member rated get a value in a group's row."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from recveil.ratings import Ratings
from recveil.release.records import Groups, Records
from recveil.runtime.threads import one_thread

# Groups whose rates estimate those of a group, and cells that are estimated at a time.
_N_SIMILAR = 20
_CELLS = 1 << 22


def choose_items(
    ratings: Ratings, coordinates: NDArray[np.float32], groups: Groups, degree: float
) -> Any:
    """Choose the items of each group's row: those that a member rated, and some of the others.

    An item that a user of s of the G groups rated is added to ``floor(degree * (G - s))`` of the
    other groups: to those with the most likely raters. Of equally likely ones the first, which is
    random, since groups are in random order. Degree 0 gives simple rows, 1 padded ones. Groups
    whose users have near mean `coordinates` are similar.

    Source: the future work of Chang et al., section 7. The estimate of the share of raters in a
    group is that in the 20 most similar groups and, with the weight of an average group, that of
    all users. From it follows the probability that at least one of the members rated the item.
    """
    n_groups, sizes = groups.sizes.size, groups.sizes
    member = sparse.csr_array(
        (np.ones(groups.members.size), groups.members, groups.starts),
        shape=(n_groups, ratings.n_users),
    )
    rated = sparse.csr_array(
        (np.ones(ratings.n_ratings), ratings.indices, ratings.indptr),
        shape=(ratings.n_users, ratings.n_items),
    )
    raters = (member @ rated).tocsc()
    sums: NDArray[np.float64] = np.asarray(member @ coordinates)
    similar = _similar_groups(sums / sizes[:, np.newaxis])
    n_similar, weight = similar @ sizes, sizes.mean()
    columns = []
    step = max(1, _CELLS // n_groups)
    for first in range(0, ratings.n_items, step):
        items = slice(first, first + step)
        counts = raters[:, items].toarray()
        popularity = ratings.support[items] / ratings.n_users
        share = (similar @ counts + weight * popularity) / (n_similar + weight)[:, np.newaxis]
        likelihood = 1 - (1 - share) ** sizes[:, np.newaxis]
        chosen = counts > 0
        n_added = np.floor(degree * (n_groups - chosen.sum(axis=0))) * (popularity > 0)
        likelihood[chosen] = -1
        rank = np.argsort(np.argsort(-likelihood, axis=0, kind="stable"), axis=0)
        columns.append(sparse.csc_array(chosen | (rank < n_added)))
    return sparse.csr_array(sparse.hstack(columns))


def _similar_groups(centres: NDArray[Any]) -> Any:
    """Return the nearest other groups of each group, as a csr_array of ones."""
    n_similar = min(_N_SIMILAR, len(centres) - 1)
    if n_similar == 0:
        return sparse.csr_array((1, 1))
    with one_thread():
        nearest = NearestNeighbors(n_neighbors=n_similar, algorithm="brute").fit(centres)
        return sparse.csr_array(nearest.kneighbors_graph())


def keep_items(blocks: Iterator[Records], chosen: Any) -> Iterator[Records]:
    """Yield full rows with the chosen items alone."""
    first = 0
    for block in blocks:
        n_items = block.indices.size // len(block)
        items = block.indices[:n_items]
        kept = chosen[first : first + len(block)].toarray()[:, items]
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        flat = kept.ravel()
        yield Records(block.sizes, indptr, block.indices[flat], block.values[flat])
        first += len(block)
