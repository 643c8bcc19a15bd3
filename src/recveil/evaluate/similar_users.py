"""Similar users: whose published row is most like each person, and how far down their own comes."""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from recveil.attack import ReleasedTable
from recveil.brief import brief
from recveil.compiled import compiled
from recveil.errors import RecveilError
from recveil.ratings import Ratings

Missing = Literal["opposite", "skip"]
_N_BINS = 20


@brief
class SimilarUsers(NamedTuple):
    """Who in the release is most like each person, and where they themselves come.

    Attributes
    ----------
    users : ndarray of int64, shape (n_found,)
        People who are in the release and have a rating to be compared by, ascending.
    nearest : ndarray of int64, shape (n_found,)
        The record most similar to each; of equally similar ones the first.
    self_rank : ndarray of int64, shape (n_found,)
        1 and the number of published people whose record is more similar to them than their own.
    n_people : int
        People in the release.
    """

    users: NDArray[np.int64]
    nearest: NDArray[np.int64]
    self_rank: NDArray[np.int64]
    n_people: int


def find_similar_users(
    released: ReleasedTable, train: Ratings, *, missing: Missing = "opposite"
) -> SimilarUsers:
    """Compare each person's own ratings with every published record.

    Parameters
    ----------
    released : ReleasedTable
    train : Ratings
        What the release was made from.
    missing : {"opposite", "skip"}
        What an item counts as that the person rated and a record lacks: as opposite as can be
        (distance 1), or nothing, so that records are compared on common items alone. A record
        without a common item is at distance 1 either way. With "opposite", a person's own row in a
        simple release is the most similar one nearly by construction: it carries all that they
        rated.

    Raises
    ------
    RecveilError
        If `missing` is something else.

    Notes
    -----
    Source: Chang et al., sections 4.2 and 7.4. The paper's measure is a distance, the mean of
    ``2d - d²`` with d the difference as a share of the scale's range. A person is compared on the
    items that they rated, the only ones of which they have something to say. The paper does not say
    what a missing item counts as.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> release = PredictiveAnonymizer(k=5, homogenize="simple", seed=1).anonymize(ratings)
    >>> released = ReleasedTable.from_release(release, ratings)
    >>> for missing in ("opposite", "skip"):
    ...     found = find_similar_users(released, ratings, missing=missing)
    ...     print(found.users.size, found.n_people, f"{self_rank(found).first_share:.0%}")
    50 50 90%
    50 50 76%
    """
    if missing not in get_args(Missing):
        raise RecveilError(
            f"missing is {missing!r}; expected one of {', '.join(get_args(Missing))}",
            code="argument.value",
        )
    users = np.flatnonzero((released.record_of >= 0) & (train.activity > 0))
    by_item = released.candidates
    nearest, self_rank = _rank_records(
        users=users,
        own_records=released.record_of[users],
        indptr=train.indptr,
        indices=train.indices,
        values=train.scale.round(train.values),
        width=train.scale.range or 1.0,
        item_indptr=by_item.indptr,
        item_records=by_item.records,
        item_labels=by_item.levels[by_item.codes],
        sizes=by_item.sizes,
        common_alone=missing == "skip",
    )
    return SimilarUsers(users, nearest, self_rank, by_item.n_people)


@brief
class SelfRank(NamedTuple):
    """How far down the list of similar published people each person's own record comes.

    Attributes
    ----------
    first_share : float
        Share of people whose own record is the most similar one, or as similar as it.
    edges : ndarray of float64, shape (21,)
        Ends of the bins of ``(rank - 1) / n_people``: 0, 0.05, ..., 1.
    counts : ndarray of int64, shape (20,)
        People in each bin.
    n_users : int
        People who were ranked.
    """

    first_share: float
    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    n_users: int


def self_rank(similar: SimilarUsers) -> SelfRank:
    """Count the self-ranks, as shares of all published people, in bins of 5 %.

    Notes
    -----
    Source: Chang et al., section 7.4 and Figure 5.

    Examples
    --------
    >>> one, two = np.array([0, 1]), np.array([0, 0])
    >>> found = self_rank(SimilarUsers(one, two, self_rank=np.array([1, 9]), n_people=10))
    >>> found.first_share, found.counts[[0, 16]]  # (9 - 1) / 10 = 0.8, where the 17th begins
    (0.5, array([1, 1]))
    """
    ranks = similar.self_rank
    # In whole numbers, so that no rounding moves a rank into the bin below.
    bins = (ranks - 1) * _N_BINS // max(1, similar.n_people)
    first = float(np.mean(ranks == 1)) if ranks.size else np.nan
    counts = np.bincount(bins, minlength=_N_BINS)
    return SelfRank(first, np.arange(_N_BINS + 1) / _N_BINS, counts, ranks.size)


@compiled()
def _rank_records(
    users: NDArray[Any],
    own_records: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    width: float,
    item_indptr: NDArray[Any],
    item_records: NDArray[Any],
    item_labels: NDArray[Any],
    sizes: NDArray[Any],
    common_alone: bool,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Find the most similar record of each user, and the rank of their own.

    What is summed is (1 - d)², by which a record that carries the item is better than one that
    lacks it; the mean distance is 1 less the sum's mean, over all of the user's items or, with
    `common_alone`, over those that the record carries.
    """
    nearest, rank = np.zeros(users.size, np.int64), np.ones(users.size, np.int64)
    alike, common = np.zeros(sizes.size), np.zeros(sizes.size)
    for place in range(users.size):
        alike[:] = 0
        common[:] = 0
        for at in range(indptr[users[place]], indptr[users[place] + 1]):
            item = indices[at]
            for entry in range(item_indptr[item], item_indptr[item + 1]):
                apart = min(1.0, abs(values[at] - item_labels[entry]) / width)
                alike[item_records[entry]] += (1 - apart) ** 2
                common[item_records[entry]] += 1
        if common_alone:
            # Ten digits, so that equal means of different sums are equal.
            alike[:] = np.round(alike / np.maximum(common, 1), 10)
        best = 0
        for record in range(sizes.size):
            if alike[record] > alike[best]:
                best = record
            if alike[record] > alike[own_records[place]]:
                rank[place] += sizes[record]
        nearest[place] = best
    return nearest, rank
