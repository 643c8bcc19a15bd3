"""Posterior probability that a member of a group rated an item of its row."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.verification.diversity import ItemRows

# Bisection steps on [0, 1] that shrink the interval below the resolution of float64.
_HALVINGS = 60


def link_posterior(share: ArrayLike, k: ArrayLike) -> NDArray[np.float64]:
    """Return the probability that a member rated an item, given that the group's row holds it.

    If each user has rated it with probability p, independently, it is ``p / (1 - (1 - p)^k)`` for a
    group of k (Chang et al., Theorem 6.3, the step before its bound; Theorem 6.2 is the limit p →
    0). Items added by padding or for diversity lower it. Logarithms keep all digits of a tiny p.
    """
    p, sizes = _checked(share, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        posterior = -p / np.expm1(sizes * np.log1p(-p))
    return np.where(p > 0, np.minimum(posterior, 1.0), 1 / sizes)


def link_bound(share: ArrayLike, k: ArrayLike) -> NDArray[np.float64]:
    """Return the paper's bound ``1/k + p / (2 - k p)`` on the posterior.

    Source: Chang et al., Theorem 6.3. The bound is right but loose: the posterior at p = 1/k is at
    most 1/(k(1 - 1/e)), about 1.6/k, and 4/(3k) at k = 2.
    """
    p, sizes = _checked(share, k)
    covered = p <= 1 / sizes
    return np.where(covered, 1 / sizes + p / np.where(covered, 2 - sizes * p, 1.0), np.nan)


@brief
class LinkPosterior(NamedTuple):
    """Posterior probabilities that released edges are ratings."""

    # The exact posterior of an edge, in the broadcast shape of the arguments
    posterior: NDArray[np.float64]
    # The printed bound; nan where there is none
    bound: NDArray[np.float64]
    # Mean posterior over the released edges; nan if there are none
    mean: float
    # Highest posterior of a released edge; nan if there are none
    highest: float
    # Share of the released edges with p > 1/k, which no bound covers; nan if there are none
    uncovered_share: float


def link_existence(share: ArrayLike, k: ArrayLike, edges: ArrayLike) -> LinkPosterior:
    """Summarize the posteriors over the released edges (Chang et al., Theorems 6.2 and 6.3)."""
    p, sizes, counts = np.broadcast_arrays(
        np.asarray(share, np.float64), np.asarray(k), np.asarray(edges, np.float64)
    )
    if not (counts >= 0).all():
        raise RecveilError(
            "edges: expected numbers of at least 0; count the released edges", code="argument.value"
        )
    posterior, bound = link_posterior(p, sizes), link_bound(p, sizes)
    total = float(counts.sum())
    if total == 0:
        nan = float("nan")
        return LinkPosterior(posterior, bound, nan, nan, nan)
    return LinkPosterior(
        posterior,
        bound,
        mean=float((counts * posterior).sum() / total),
        highest=float(posterior[counts > 0].max()),
        uncovered_share=float(counts[np.isnan(bound)].sum() / total),
    )


@brief
class ItemShares(NamedTuple):
    """Estimates, from the published groups alone, of the share of users who rated each item."""

    # One rater in each group that holds the item, and none elsewhere
    lowest: NDArray[np.float64]
    # The p at which as many groups are expected to hold the item as do
    likely: NDArray[np.float64]
    # Every member of each group that holds the item has rated it
    highest: NDArray[np.float64]


def item_shares(support: Any, sizes: ArrayLike) -> ItemShares:
    """Estimate each item's p from the published groups; a stored zero of `support` is an entry.

    If a member rated every item of a row, the true share is between `lowest` and `highest`;
    `likely` assumes that users rate independently, and tends to be too low for similar users. Items
    added for diversity or by padding make `lowest` and `likely` too high.
    """
    rows = ItemRows.of(support)
    n_groups = rows.indptr.size - 1
    members = np.asarray(sizes)
    if members.shape != (n_groups,) or not members.size or not (members >= 1).all():
        raise RecveilError(
            f"sizes: expected a number of at least 1 for each of {n_groups} groups, and at "
            f"least one group; got shape {members.shape}",
            code="argument.value",
        )
    n_users = members.sum()
    n_groups_with = np.bincount(rows.indices, minlength=rows.n_items)
    n_users_with = np.bincount(rows.indices, weights=members[rows.row_of], minlength=rows.n_items)
    return ItemShares(
        n_groups_with / n_users, _expected_raters(n_groups_with, members), n_users_with / n_users
    )


def links_of_rows(support: Any, sizes: ArrayLike, share: ArrayLike | None = None) -> LinkPosterior:
    """Summarize the posteriors over the edges of released rows, shape (n_items, n_sizes).

    `share` is each item's p, if known; by default `likely` of `item_shares`.
    """
    rows, members = ItemRows.of(support), np.asarray(sizes)
    p = item_shares(rows, members).likely if share is None else np.asarray(share)
    distinct, which = np.unique(members, return_inverse=True)
    cells = rows.indices * distinct.size + which[rows.row_of]
    groups = np.bincount(cells, minlength=rows.n_items * distinct.size)
    groups = groups.reshape(rows.n_items, distinct.size)
    return link_existence(p[:, None], distinct, groups * distinct)


def _expected_raters(n_groups_with: NDArray[Any], members: NDArray[Any]) -> NDArray[np.float64]:
    """Return the p of each item at which `n_groups_with` groups are expected to hold it."""
    sizes, n_of_size = np.unique(members, return_counts=True)
    wanted, item_of = np.unique(n_groups_with, return_inverse=True)
    low, high = np.zeros(wanted.size), np.ones(wanted.size)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore"):  # at p = 1
            expected = -np.expm1(sizes * np.log1p(-middle)[:, None]) @ n_of_size
        low = np.where(expected < wanted, middle, low)
        high = np.where(expected < wanted, high, middle)
    found = np.where(wanted == members.size, 1.0, np.where(wanted == 0, 0.0, (low + high) / 2))
    return found[item_of]


def _checked(share: ArrayLike, k: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    p, sizes = np.asarray(share, dtype=np.float64), np.asarray(k, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise RecveilError(
            "share: expected numbers from 0 to 1; divide the raters of an item by all users",
            code="argument.value",
        )
    if not (sizes >= 1).all():
        raise RecveilError(
            "k: expected numbers of at least 1; give the sizes of the groups", code="argument.value"
        )
    return p, sizes
