"""Releases made without some of the users, for membership inference."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.release_target import ReleasedTable
from recveil.ratings import Ratings
from recveil.release.sides import Anonymizer
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief

# Default share of the users who are left out.
HOLDOUT = 0.2
# Most members, and most non-members, to score.
_MOST_SCORED = 1000


@brief
class PartialRelease(NamedTuple):
    """A release without some of the users.

    Attributes
    ----------
    table : ReleasedTable
    inside, outside : ndarray of int64
        Positions of at most 1,000 users in the release, and of as many outside.
    """

    table: ReleasedTable
    inside: NDArray[np.int64]
    outside: NDArray[np.int64]


def hold_out(
    ratings: Ratings, anonymizer: Anonymizer, holdout: float = HOLDOUT, seed: int = 0
) -> PartialRelease:
    """Anonymize a random part of the users.

    Parameters
    ----------
    ratings : Ratings
    anonymizer : Anonymizer
        Any object with ``anonymize(ratings) -> Release``. If it has a `k`, the release must claim
        it.
    holdout : float
        Share of the users who are left out of the release, between 0 and 1.
    seed : int
        Fixes who is left out; the anonymizer keeps its own.

    Raises
    ------
    RecveilError
        If no user would be inside, or none outside, or the release claims another k.
    """
    n_outside = round(holdout * ratings.n_users) if 0 < holdout < 1 else 0
    if not 0 < n_outside < ratings.n_users:
        raise RecveilError(
            f"holdout is {holdout} of {describe_count(ratings.n_users, 'user')}; expected a share "
            f"between 0 and 1 that leaves at least one user inside and one outside",
            code="argument.value",
        )
    order = np.random.default_rng(seed).permutation(ratings.n_users)
    outside, inside = order[:n_outside], order[n_outside:]
    release = anonymizer.anonymize(only(ratings, np.sort(inside)))
    claimed = release.published.claim.k
    if getattr(anonymizer, "k", claimed) != claimed:
        raise RecveilError(
            f"the anonymizer's k is {getattr(anonymizer, 'k', None)}, "
            f"but its release claims k = {claimed}; a release must claim the k that was asked for",
            code="argument.result",
        )
    table = ReleasedTable.from_release(release, ratings)
    return PartialRelease(table, np.sort(inside[:_MOST_SCORED]), np.sort(outside[:_MOST_SCORED]))


def only(ratings: Ratings, users: NDArray[np.int64]) -> Ratings:
    """Return the ratings of some users, with all items.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 2, 2], ["a", "a", "b"], [5, 1, 2])
    >>> only(ratings, np.array([0])).items
    array(['a', 'b'], dtype=object)
    """
    lengths = ratings.activity[users]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(ratings.indptr[users] - indptr[:-1], lengths) + np.arange(indptr[-1])
    days = None if ratings.days is None else ratings.days[places]
    return Ratings(
        users=ratings.users[users],
        items=ratings.items,
        indptr=indptr,
        indices=ratings.indices[places],
        values=ratings.values[places],
        days=days,
        scale=ratings.scale,
    )
