"""Neighbourhood predictors, with similarity or trust as weights."""

from numbers import Integral, Real
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from recveil.predict.neighbours import (
    FULL,
    LINKS,
    NO_LINKS,
    SIMILARITY,
    TRUST,
    Answers,
    DeviationTable,
    Links,
    Offsets,
    Weighing,
    ask_listed,
    ask_nearest_raters,
    biases,
    count_shared,
    gather,
    nearest_of_all,
    user_means,
    weights_of,
)
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import BriefParameters

Neighbours = Literal["item", "global"]
Centre = Literal["user", "biases"]
DirectWeights = Literal["trust", "similarity"]


class UserKNN(BriefParameters, BaseEstimator):
    """Predict a user's mean rating plus their neighbours' mean deviation for the item.

    Parameters
    ----------
    n_neighbours : int
        Maximum number of neighbours.
    neighbours : {"item", "global"}
        Choice of neighbours: for each item its nearest raters, or the nearest of all users,
        most of whom have not rated it. The latter is faster and less accurate.
    centre : {"user", "biases"}
        Baseline of the neighbours' ratings: their mean, as in the paper, or a user bias plus
        an item bias, which is more accurate. Without neighbours, the prediction is the user's
        own mean, or their bias plus the item's.
    min_overlap : int
        The least number of items that a neighbour must have rated in common with the user.
    significance : float
        A correlation over n common items is multiplied by ``min(n / significance, 1)``; 1
        leaves it unchanged. Few common items correlate by chance.
    threads : int
        Changes the time that it takes, not the result.

    Notes
    -----
    Source: k-coRating, eqs. 1 and 2. Means are over all of a user's ratings, the sums of eq. 1 over
    the common items. Where the paper is silent: neighbours are users with positive weights; a user
    without any gets their mean, one without ratings the mean of all; predictions are clipped to
    the scale; no user is a neighbour of themselves, so a rated cell is predicted from the others.
    Correlations count in steps of 1/65520; of equals the lower position comes first.

    With "item", a user's row of weights is computed when they are asked for and then forgotten: ask
    for all of a user's items in one call. Memory is linear in users, ratings and cells.

    Examples
    --------
    Ben rates like Ann, and Cid the other way round, so Ann's prediction follows Ben's rating.

    >>> ratings = Ratings.from_columns(
    ...     ["ann", "ann", "ben", "ben", "ben", "cid", "cid", "cid"],
    ...     [1, 2, 1, 2, 3, 1, 2, 3],
    ...     [4, 2, 5, 2, 5, 1, 5, 3],
    ... )
    >>> predictor = UserKNN(min_overlap=2, significance=1).fit(ratings)
    >>> predictor.weights(0)
    array([0.        , 0.94868..., 0.        ], dtype=float32)
    >>> predictor.predict([0], [2])  # 3 for Ann, and Ben's 5 is 1 above Ben's mean
    array([4.], dtype=float32)
    """

    weighing_: Weighing
    nearest_: Links | None
    baseline_: Offsets
    scale_: RatingScale

    def __init__(
        self,
        n_neighbours: int = 60,
        *,
        neighbours: Neighbours = "item",
        centre: Centre = "user",
        min_overlap: int = 2,
        significance: float = 50,
        threads: int = 2,
    ) -> None:
        self.n_neighbours = n_neighbours
        self.neighbours = neighbours
        self.centre = centre
        self.min_overlap = min_overlap
        self.significance = significance
        self.threads = threads

    def fit(self, ratings: Ratings) -> Self:
        """Fit to the ratings; with "global", find the neighbours of all users.

        Raises
        ------
        RecveilError
            If a parameter is invalid.
        """
        self._check()
        self.scale_ = ratings.scale
        self.baseline_ = user_means(ratings) if self.centre == "user" else biases(ratings)
        self.weighing_ = self._weighing(gather(ratings, self.baseline_))
        self.nearest_ = None
        if self.neighbours == "global":
            self.nearest_ = nearest_of_all(self.weighing_, self.n_neighbours, self.threads)
        return self

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Predict the ratings of pairs of user and item positions, shape (n,), on the scale.

        Cells in any order are right; cells sorted by user need no sorting here.

        Raises
        ------
        RecveilError
            If a position is not one of the ratings' users or items, or there are not as many
            users as items.
        """
        user_of = _positions("user", users, self.weighing_.indptr.size - 1)
        item_of = _positions("item", items, self.weighing_.starts.size - 1)
        if user_of.shape != item_of.shape:
            raise RecveilError(
                f"positions: expected as many users as items, got {user_of.size} and "
                f"{item_of.size}",
                code="argument.shape",
            )
        order = None
        if (np.diff(user_of) < 0).any():
            order = np.argsort(user_of, kind="stable")
            user_of, item_of = user_of[order], item_of[order]
        pulls = self._pulls(user_of, item_of)
        predicted = self._add_baseline(user_of, item_of, pulls)
        if order is None:
            return predicted
        in_order = np.empty_like(predicted)
        in_order[order] = predicted
        return in_order

    def weights(self, user: int) -> NDArray[np.float32]:
        """Return the weights of all users for one user, shape (n_users,), from 0 to 1."""
        (position,) = _positions("user", [user], self.weighing_.indptr.size - 1)
        return weights_of(self.weighing_, position)

    def _weighing(self, table: DeviationTable) -> Weighing:
        return Weighing.of(table, SIMILARITY, self.min_overlap, self.significance)

    def _pulls(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> NDArray[np.float32]:
        new = np.flatnonzero(np.diff(users)) + 1
        runs = np.concatenate([[0], new, [users.size]]) if users.size else np.zeros(1, np.int64)
        answers = Answers(runs, users, items, np.zeros(users.size, np.float32))
        if self.nearest_ is None:
            ask_nearest_raters(self.weighing_, answers, self.n_neighbours, self.threads)
        else:
            ask_listed(self.weighing_, answers, self.nearest_, self.threads)
        return answers.pulls

    def _add_baseline(
        self, users: NDArray[np.int32], items: NDArray[np.int32], pulls: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        # In float32 and in place: there may be tens of millions of cells.
        predicted = self.baseline_.of_users.astype(np.float32)[users]
        if self.centre == "biases":
            predicted += self.baseline_.of_items.astype(np.float32)[items]
        pulls *= np.float32(self.scale_.range)
        predicted += pulls
        return np.clip(predicted, self.scale_.low, self.scale_.high, out=predicted)

    def _check(self) -> None:
        for name in ("n_neighbours", "min_overlap", "threads"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise RecveilError(
                    f"{name}: expected a whole number, 1 or more, got {value!r}",
                    code="argument.value",
                )
        damping = self.significance
        if not isinstance(damping, Real) or not 1 <= damping < np.inf:
            raise RecveilError(
                f"significance: expected a number, 1 or more, got {damping!r}",
                code="argument.value",
            )
        for name, choices in (("neighbours", Neighbours), ("centre", Centre)):
            if getattr(self, name) not in get_args(choices):
                expected = " or ".join(map(repr, get_args(choices)))
                raise RecveilError(
                    f"{name}: expected {expected}, got {getattr(self, name)!r}",
                    code="argument.value",
                )


def _positions(what: str, positions: ArrayLike, n: int) -> NDArray[np.int32]:
    array = np.asarray(positions)
    if array.size and not (array.dtype.kind in "iu" and 0 <= array.min() <= array.max() < n):
        raise RecveilError(
            f"{what} positions: expected whole numbers from 0 to {n - 1}, got {array.dtype} from "
            f"{array.min()} to {array.max()}; positions are those of the ratings fitted to",
            code="argument.value",
        )
    return np.ascontiguousarray(array.ravel(), np.int32)


class TrustKNN(UserKNN):
    """Predict a user's mean rating plus the mean deviation of trusted users for the item.

    u trusts v as well as v would have predicted u's ratings: by eq. 4, as u's mean plus v's
    deviation from v's own, eq. 3 takes 1 minus the mean error over the items that both rated, the
    error as a share of the scale's range. If u and w share too few items, u trusts w indirectly:
    through v, by the mean of "u trusts v" and "v trusts w", weighted by how many items each of the
    two pairs shares (eq. 5).

    Parameters
    ----------
    n_neighbours, neighbours, centre, threads
        As in `UserKNN`.
    min_overlap : int
        The least number of shared items for direct trust; pairs with fewer use indirect trust.
    significance : float
        Direct trust over n shared items is multiplied by ``min(n / significance, 1)``; 1
        leaves it unchanged.
    direct_weights : {"trust", "similarity"}
        Weights of users who share items (eq. 6): trust (eq. 3), or their similarity (eq. 1), with
        indirect trust for all others.
    steps : {0, 1, 2}
        How many times trust is propagated; the paper says "at most two times". A second step goes
        by way of all users whom the first one reached, as if one item were shared with each.
    links : scipy sparse array of shape (n_users, n_users), optional
        Explicit direct trust: row u, column v holds how much u trusts v, in any unit.
        `recveil.io.read_trust` reads it from a file. Trust is then not computed from ratings,
        and `min_overlap` and `significance` concern similarity alone.

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

    By similarity, Ben's weight is 1, and Cid's the same as before.

    >>> TrustKNN(direct_weights="similarity").fit(ratings).weights(0).round(3)
    array([0.   , 1.   , 0.833], dtype=float32)
    """

    def __init__(
        self,
        n_neighbours: int = 60,
        *,
        neighbours: Neighbours = "item",
        centre: Centre = "user",
        min_overlap: int = 1,
        significance: float = 1,
        direct_weights: DirectWeights = "trust",
        steps: int = 1,
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
        self.direct_weights = direct_weights
        self.steps = steps
        self.links = links

    def _weighing(self, table: DeviationTable) -> Weighing:
        overlap = self.min_overlap, self.significance
        is_stated = self.links is not None
        source = {"similarity": SIMILARITY, "trust": LINKS if is_stated else TRUST}
        links = NO_LINKS
        if is_stated:
            links = _encode_links(self.links, table)
        elif self.steps:
            direct = Weighing.of(table, TRUST, *overlap)
            links = nearest_of_all(direct, self.n_neighbours, self.threads)
        return Weighing.of(
            table, source[self.direct_weights], *overlap, links, trust_steps=self.steps
        )

    def _check(self) -> None:
        super()._check()
        for name, choices in (("direct_weights", get_args(DirectWeights)), ("steps", (0, 1, 2))):
            value = getattr(self, name)
            if isinstance(value, bool) or value not in choices:
                raise RecveilError(
                    f"{name}: expected one of {', '.join(map(str, choices))}, got {value!r}",
                    code="argument.value",
                )


def _encode_links(trust_matrix: Any, table: DeviationTable) -> Links:
    """Scale explicit trust to weights from 0 to 1, with 1 for the highest."""
    n_users = table.indptr.size - 1
    shape = np.shape(trust_matrix)
    if shape != (n_users, n_users):
        raise RecveilError(
            f"links: expected a row and a column for each of "
            f"{describe_count(n_users, 'user')}, got shape {shape}; "
            f"read them with the users of the same ratings",
            code="argument.shape",
        )
    links = sparse.coo_array(trust_matrix)
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
        count_shared(table.indptr, table.items, first, second),
    )
