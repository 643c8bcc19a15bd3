"""Anonymizer whose groups of at least k users share one row of nominal labels."""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from recveil.methods.base import (
    BaseAnonymizer,
    assemble,
    check_k,
    check_seed,
    check_users,
    secret_rng,
    seed_or_random,
)
from recveil.methods.components import GROUPINGS, component_name, make_grouping
from recveil.methods.rare_items import pooled_items
from recveil.publish.release import Release
from recveil.publish.size_estimate import Expected, expect, expect_padded
from recveil.ratings import Ratings
from recveil.ratings.sorted_rows import sorted_unique
from recveil.release.claim import Claim
from recveil.release.records import Groups, Records
from recveil.release.specs.nominal import NOMINAL
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

Numbers = NDArray[np.float64]

# Number of directions for users' own labels, next to the frequencies of their labels.
_DIRECTIONS = 50
# Shares that differ by less are equal: the last digits of a sum must not choose a label.
_DIGITS = 9


@brief
class LabelShares(NamedTuple):
    """Smoothed label frequencies: each label counts once more than it was given."""

    of_items: NDArray[np.float64]
    # Each row sums to 1. Only labels that `many_gave` to the item count, so that a group's row does
    # not reveal the habit of a single user.
    of_users: NDArray[np.float64]
    # Whether enough users gave a label to an item for it to count
    many_gave: NDArray[np.bool_]

    def at(self, users: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the mean of item's and user's label frequencies, shape (n_cells, n_labels)."""
        return (self.of_items[items] + self.of_users[users]) / 2


def learn_shares(ratings: Ratings, least: int = 1) -> LabelShares:
    """Return label frequencies per item and per user, smoothed (Laplace, one more of each)."""
    n_labels, codes = len(ratings.scale.labels), label_codes(ratings)

    def counted(of: NDArray[np.int64], n: int, weights: NDArray[Any] | None = None) -> Numbers:
        counts = np.bincount(of * n_labels + codes, weights, n * n_labels)
        return counts.reshape(n, n_labels).astype(np.float64)

    def smoothed(counts: Numbers) -> Numbers:
        return (counts + possible) / (counts.sum(axis=1, keepdims=True) + possible.sum())

    users = ratings.user_positions().astype(np.int64)
    items = ratings.indices.astype(np.int64)
    many_gave = counted(items, ratings.n_items) >= least
    in_use = _givers(users, codes, n_labels) >= least
    # Without any label, all are equally likely, which discloses no user.
    possible = in_use if in_use.any() else np.ones(n_labels, np.bool_)
    known = in_use[codes]
    of_items, pool = counted(items, ratings.n_items, known), pooled_items(ratings, least)
    in_pool = np.isin(items, pool) & known
    each = np.maximum(np.bincount(users, in_pool, ratings.n_users), 1)  # labels in the pool
    of_items[pool] = counted(items, ratings.n_items, in_pool / each[users])[pool].sum(axis=0)
    of_users = counted(users, ratings.n_users, many_gave[items, codes])
    return LabelShares(smoothed(of_items), smoothed(of_users), many_gave)


def _givers(users: NDArray[np.int64], codes: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
    """Return how many users gave each label to anything, shape (n_labels,)."""
    return np.bincount(sorted_unique(users * n_labels + codes) % n_labels, minlength=n_labels)


def label_codes(ratings: Ratings) -> NDArray[np.int64]:
    """Return the position of each rating's label on the scale, from 0."""
    return np.rint(ratings.values).astype(np.int64) - 1


def group_shares(
    ratings: Ratings, shares: LabelShares, groups: Groups, first: int, last: int
) -> NDArray[np.float64]:
    """Return the label shares in groups' padded rows, shape (last - first, n_items, n_labels).

    A padded row holds 1 for the member's label, or, where there is none or too few users gave it to
    the item, the probability of each label. Rounded to nine digits.
    """
    sizes = groups.sizes[first:last]
    members = groups.members[groups.starts[first] : groups.starts[last]]
    group_of = np.repeat(np.arange(last - first), sizes)
    n_labels = shares.of_items.shape[1]
    of_groups = np.zeros((last - first, n_labels))
    np.add.at(of_groups, group_of, shares.of_users[members])
    found = (shares.of_items[None] + (of_groups / sizes[:, None])[:, None]) / 2
    lengths = ratings.activity[members]
    # The positions of each member's ratings, which are consecutive.
    at = np.repeat(ratings.indptr[members] - np.cumsum(lengths) + lengths, lengths)
    at += np.arange(lengths.sum())
    users, items = np.repeat(members, lengths), ratings.indices[at]
    codes = label_codes(ratings)[at]
    counts = shares.many_gave[items, codes]
    users, items, codes = users[counts], items[counts], codes[counts]
    cells = -shares.at(users, items)
    cells[np.arange(codes.size), codes] += 1
    groups_of_cells = np.repeat(group_of, lengths)[counts]
    np.add.at(found, (groups_of_cells, items), cells / sizes[groups_of_cells][:, None])
    return np.asarray(np.round(np.clip(found, 0, 1), _DIGITS), np.float64)


def embed_by_labels(ratings: Ratings, shares: LabelShares, seed: int) -> NDArray[np.float32]:
    """Return user embeddings such that near users have nearly the same padded rows.

    They are the user's label frequencies, and the deviations of their own labels from these, where
    many users gave them. Random directions replace items and labels, if there are many.
    """
    n_labels, codes = shares.of_items.shape[1], label_codes(ratings)
    users = ratings.user_positions().astype(np.int64)
    apart = -shares.at(users, ratings.indices)
    apart[np.arange(codes.size), codes] += 1
    apart[~shares.many_gave[ratings.indices, codes]] = 0  # as in the rows
    columns = ratings.indices.astype(np.int64)[:, None] * n_labels + np.arange(n_labels)
    shape = (ratings.n_users, ratings.n_items * n_labels)
    cells = sparse.csr_array(
        (apart.ravel(), columns.ravel(), ratings.indptr * n_labels), shape=shape
    )
    likely = shares.of_users * (math.sqrt(ratings.n_items) / 2)
    n_directions = min(_DIRECTIONS, *(size - 1 for size in shape))
    if n_directions < 1:
        return np.hstack([likely, cells.toarray()]).astype(np.float32)
    directions = TruncatedSVD(n_directions, random_state=seed % 2**32)
    # The last bit of a sum can change who is in which group; rows may be alike, without a spread.
    with one_thread(), np.errstate(invalid="ignore", divide="ignore"):
        return np.hstack([likely, directions.fit_transform(cells)]).astype(np.float32)


def most_frequent(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the position of the label with the largest share, the first of equal ones."""
    return np.asarray(shares.argmax(axis=-1))


def sample_labels(shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Sample a label for each group and item by the shares."""
    reached = np.cumsum(shares, axis=-1)
    at = rng.random(shares.shape[:-1]) * reached[..., -1]
    return np.asarray((at[..., None] >= reached[..., :-1]).sum(axis=-1))


LabelChoice = Literal["commonest", "shares"]
# Cells per block of groups.
_BLOCK_CELLS = 1 << 22


class NominalAnonymizer(BaseAnonymizer):
    """Give groups of at least k users one row of nominal labels.

    Empty cells are padded with label probabilities, users with similar padded rows form a group,
    and each item gets one label for the whole group.

    Notes
    -----
    Guarantee: every published record represents at least k users with identical rows,
    so the records alone re-identify no user with probability above 1/k. Precondition: groups of at
    least k, which is checked here and, from the written files, by `recveil.verification`. It
    neither hides a user's labels nor protects against membership inference.
    """

    def __init__(
        self,
        k: int,
        homogenize: LabelChoice = "commonest",
        grouping: str | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        self.k = k
        self.homogenize = homogenize
        self.grouping = grouping
        self.seed = seed
        self.check_options()

    def anonymize(self, ratings: Ratings | Any) -> Release:
        """Return a release of the ratings, any table, which are not modified."""
        ratings = self._read(ratings)
        self.check(ratings)
        seed = seed_or_random(self.seed)
        of_places, of_groups = np.random.default_rng(seed).integers(2**32, size=2).tolist()
        shares = learn_shares(ratings, int(self.k))
        grouping = make_grouping(self.grouping, int(self.k), None, of_groups)
        labels = grouping.fit(embed_by_labels(ratings, shares, of_places)).labels_
        rng = secret_rng(seed, ratings)
        groups = Groups.from_labels(labels, rng.permutation(int(labels.max()) + 1))
        if groups.sizes.min() < self.k:
            raise RecveilError(
                f"{type(grouping).__name__} returned a group of {groups.sizes.min()} users; "
                f"expected at least k = {self.k}; choose another grouping (--grouping)",
                code="argument.result",
            )
        drawing = int(rng.integers(2**62))
        widths = np.full(groups.sizes.size, (ratings.support > 0).sum())
        return assemble(
            ratings,
            rng,
            claim=Claim(NOMINAL.claim_of({}), int(self.k)),
            settings={
                "method": NOMINAL.title,
                "homogenize": self.homogenize,
                "grouping": component_name(grouping),
            },
            groups=groups,
            blocks=lambda: self._blocks(ratings, shares, groups, drawing),
            default_layout="groups",
            seed=seed,
            expect=partial(expect, ratings, "padded", widths, groups.sizes, step=1.0),
            used={"grouping": grouping.get_params()},
        )

    def check(self, ratings: Ratings) -> None:
        """Raise the errors of `anonymize` before any work."""
        self.check_options()
        if ratings.scale.ordered:
            raise RecveilError(
                "method (--method) is nominal, which is for labels without an order, given by "
                "words (--words); of others take predictive",
                code="table.kind",
            )
        check_users(ratings, self.k, takes_unordered=True)

    def check_options(self) -> None:
        """Raise the errors that do not depend on the ratings."""
        check_seed(self.seed)
        check_k(self.k)
        if self.homogenize not in get_args(LabelChoice):
            raise RecveilError(
                f"homogenize (--homogenize) is {self.homogenize!r}; of nominal labels, "
                f"expected commonest or shares",
                code="option.value",
            )
        if self.grouping is not None and self.grouping not in GROUPINGS:
            raise RecveilError(
                f"grouping (--grouping) is {self.grouping!r}; expected one of "
                f"{', '.join(GROUPINGS)}",
                code="option.value",
            )

    def _blocks(
        self, ratings: Ratings, shares: LabelShares, groups: Groups, drawing: int
    ) -> Iterator[Records]:
        """Yield the rows of the groups; every rated item has a label."""
        items = np.flatnonzero(ratings.support).astype(np.int32)
        cells = ratings.n_items * len(ratings.scale.labels)
        step = max(1, _BLOCK_CELLS // cells)
        for first in range(0, groups.sizes.size, step):
            last = min(first + step, groups.sizes.size)
            found = group_shares(ratings, shares, groups, first, last)[:, items]
            codes: NDArray[np.int64]
            if self.homogenize == "commonest":
                codes = most_frequent(found)
            else:
                codes = sample_labels(found, np.random.default_rng([drawing, first]))
            indptr = np.arange(last - first + 1, dtype=np.int64) * items.size
            values: NDArray[Any] = codes.ravel() + 1.0
            yield Records(groups.sizes[first:last], indptr, np.tile(items, last - first), values)


def expect_nominal(
    ratings: Ratings, k: int, _options: Mapping[str, Any], layout: str, file_format: str
) -> Expected | None:
    """Estimate the size of a release before any work; None if there can be none."""
    if not 1 <= k <= ratings.n_users:
        return None
    return expect_padded(ratings, k, None, layout, file_format, 1.0)
