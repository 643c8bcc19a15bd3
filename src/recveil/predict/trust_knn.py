"""TrustKNN: UserKNN with trust in place of similarity, worked out from ratings or given."""

from typing import Any, Self

import numpy as np
from scipy import sparse

from recveil.errors import RecveilError, describe_count
from recveil.predict.crowd import Crowd
from recveil.predict.nearest import nearest_of_all
from recveil.predict.user_knn import Centre, Neighbours, UserKNN
from recveil.predict.weights import FULL, LINKS, TRUST, Links, Weighing, count_shared
from recveil.ratings import Ratings


class TrustKNN(UserKNN):
    """Predict a user's mean rating plus what those whom they trust think of the item.

    u trusts v as well as v would have predicted u's ratings: by eq. 4, as u's mean plus v's
    deviation from v's own, eq. 3 takes 1 minus the mean error over the items that both rated, the
    error as a share of the scale's range. Whom u shares too few items with u trusts by way of
    others: through v, by the mean of "u trusts v" and "v trusts w", weighted by how many items
    each of the two pairs shares (eq. 5). This step is taken once.

    Parameters
    ----------
    n_neighbours, neighbours, centre, threads
        As in `UserKNN`.
    min_overlap : int
        The least number of shared items for direct trust; pairs with fewer are trusted by way of
        others.
    significance : float
        Direct trust over n shared items is multiplied by ``min(n / significance, 1)``; 1 takes it
        as it is.
    propagate : bool
        Whether anybody is trusted by way of others.
    links : scipy sparse array of shape (n_users, n_users), optional
        Direct trust as it was stated: row u, column v holds how much u trusts v, in any unit.
        `recveil.io.read_trust` reads it from a file. Trust is then not worked out from ratings,
        and `min_overlap` and `significance` do not count.

    Notes
    -----
    Source: k-coRating, eqs. 3 to 6; m of eq. 3 is the size of the scale's range. Where the paper
    is silent: trust goes by way of the `n_neighbours` whom a user trusts most (of given links, all
    of them), for all ways would be users × users; several ways to one user are averaged with eq.
    5's weights; a pair without a shared item weighs as if it had one; trust that is not positive
    does not count. For the rest see `UserKNN`.

    Examples
    --------
    Ann and Ben deviate from their means by (1, -1) and (1.5, -1.5) points of a range of 4: Ann
    trusts Ben by 1 - 0.5 / 4. Cid, who shares nothing with Ann, shares one item with Ben, and is 1
    point off there: Ben trusts Cid by 0.75. So Ann trusts Cid by (2 * 0.875 + 1 * 0.75) / 3.

    >>> from recveil.ratings import RatingScale
    >>> ratings = Ratings.from_columns(
    ...     ["ann", "ann", "ben", "ben", "ben", "cid", "cid"],
    ...     [1, 2, 1, 2, 3, 3, 4],
    ...     [4, 2, 5, 2, 3.5, 5, 3],
    ...     scale=RatingScale(1, 5, 0.5),
    ... )
    >>> TrustKNN().fit(ratings).weights(0).round(3)
    array([0.   , 0.875, 0.833], dtype=float32)
    """

    def __init__(
        self,
        n_neighbours: int = 60,
        *,
        neighbours: Neighbours = "item",
        centre: Centre = "user",
        min_overlap: int = 1,
        significance: float = 1,
        propagate: bool = True,
        links: Any = None,
        threads: int = 2,
    ) -> None:
        super().__init__(
            n_neighbours,
            neighbours=neighbours,
            centre=centre,
            min_overlap=min_overlap,
            significance=significance,
            threads=threads,
        )
        self.propagate = propagate
        self.links = links

    def fit(self, ratings: Ratings) -> Self:
        """Take in the ratings and, to propagate trust or with "global", look for everybody's.

        Raises
        ------
        RecveilError
            If a parameter makes no sense, or `links` is not about as many users.
        """
        return super().fit(ratings)

    def _weighing(self, crowd: Crowd) -> Weighing:
        if self.links is not None:
            links = _encode_links(self.links, crowd)
            return Weighing.of(crowd, LINKS, 1, 1, links, propagate=self.propagate)
        direct = Weighing.of(crowd, TRUST, self.min_overlap, self.significance)
        if not self.propagate:
            return direct
        links = nearest_of_all(direct, self.n_neighbours, self.threads)
        return Weighing.of(crowd, TRUST, self.min_overlap, self.significance, links, propagate=True)


def _encode_links(given: Any, crowd: Crowd) -> Links:
    """Turn stated trust into weights from 0 to 1, the highest stated being 1."""
    n_users = crowd.indptr.size - 1
    shape = np.shape(given)
    if shape != (n_users, n_users):
        raise RecveilError(
            f"links: expected a row and a column for each of "
            f"{describe_count(n_users, 'user')}, got shape {shape}; "
            f"read them with the users of the same ratings",
            code="argument.shape",
        )
    links = sparse.coo_array(given)
    links.sum_duplicates()
    if not np.isfinite(links.data).all():
        raise RecveilError(
            "links: expected finite numbers; drop those that are not", code="argument.value"
        )
    counts = (links.row != links.col) & (links.data > 0)
    order = np.lexsort((links.col[counts], links.row[counts]))
    first, second = links.row[counts][order], links.col[counts][order]
    trust = links.data[counts][order].astype(np.float64)
    steps = np.rint(trust / max(trust.max(initial=0), np.finfo(float).tiny) * FULL)
    return Links(
        np.concatenate([[0], np.cumsum(np.bincount(first, minlength=n_users))]),
        second.astype(np.int32),
        np.maximum(steps, 1).astype(np.uint16),
        count_shared(crowd.indptr, crowd.items, first, second),
    )
