"""SparseRows, an anonymizer whose equivalence classes of at least k users share a sampled row."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.membership.inference import only
from recveil.methods.base import (
    BaseAnonymizer,
    assemble,
    check_k,
    check_seed,
    check_users,
    secret_rng,
    seed_or_random,
)
from recveil.methods.predictive.anonymizer import value_step
from recveil.methods.previous_release import PreviousRelease
from recveil.methods.published_users import DeclaredAttributes
from recveil.methods.rare_items import activity_on, split_items
from recveil.methods.sparse.classes import (
    Dealt,
    DrawnItems,
    date_cells,
    deal_strata,
    draw_items,
    fit_choices,
    scaled_counts,
)
from recveil.methods.sparse.item_choice import (
    RANK,
    ClusterEmbeddings,
    embed_users,
    learn_embeddings,
)
from recveil.methods.sparse.next_classes import Seats, continue_classes
from recveil.predict import FunkSVD
from recveil.predict.padding import Padding
from recveil.publish.release import Release
from recveil.publish.size_estimate import expect
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.dates import DATES, ORDER, first_days, positions_in_rows
from recveil.release.method import Settings
from recveil.release.records import Groups, Records
from recveil.release.specs.sparse import MAX_CLUSTER, MIN_CLUSTER, SPARSE
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief

# Largest factor by which cluster means are moved apart.
_APART = 2.0
# Cells per block of records.
_BLOCK_LABELS = 1 << 20


class SparseRows(BaseAnonymizer):
    """Publish equivalence classes of at least k users who share one sampled row.

    Users with similar ratings form clusters of at least `cluster_size` users, and each cluster is
    divided at random into classes of at least k. The number and choice of a row's items are sampled
    from what the cluster's users choose, such that the release nearly reproduces the item counts of
    the ratings. Items with fewer than k raters are omitted. A value is the cluster's mean
    prediction for the item. A row contains no rating and no information about its class, which is a
    random part of its cluster. Implicit feedback has no predicted values: a row is a set of items.

    Parameters
    ----------
    k : int
        Smallest class, at least 2.
    cluster_size : int
        Smallest cluster, 20 to 256; never fewer than k.
    seed : int, optional
        Fixes every random choice. Drawn from the system by default, and kept in the private folder.
    previous : PreviousRelease, optional
        The release that this one follows, from `recveil.methods.previous_release.read_previous`:
        users keep their classes, rows of users who left are kept, and newcomers form classes of
        their own, or are in no row if they are fewer than k.
    dates : {"year", "quarter", "month", "week", "order"}, optional
        Publish a date with each value: the first day of the period of a median day of at least k
        raters of the item, or the position of that day in the row.
    attributes : DeclaredAttributes, optional
        Publish attributes of the users of the table; see `recveil.methods.published_users`.

    Notes
    -----
    Guarantee: every published record represents at least k users with identical rows
    (Chang et al., Definition 3.3), so the records alone re-identify no user with probability above
    1/k. This is not differential privacy: item embeddings, item counts and cluster means are fitted
    to the ratings without noise, so membership inference may succeed.

    Record order, classes and samples depend on the seed and on a digest of the private ratings, so
    the seed alone does not undo them.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> release = SparseRows(k=5, seed=1).anonymize(ratings)
    >>> release.published.claim
    Claim(kind='identical-rows', k=5, levels=False, b=1, l=1)
    >>> sum(int(block.sizes @ np.diff(block.indptr)) for block in release.published.blocks())
    400
    """

    def __init__(
        self,
        k: int,
        cluster_size: int = MIN_CLUSTER,
        *,
        seed: int | None = None,
        previous: PreviousRelease | None = None,
        dates: str | None = None,
        attributes: DeclaredAttributes | None = None,
    ) -> None:
        self.k = k
        self.cluster_size = cluster_size
        self.seed = seed
        self.previous = previous
        self.dates = dates
        self.attributes = attributes
        self.check_options()

    def anonymize(self, ratings: Ratings | Any) -> Release:
        """Return a release of the ratings, which are not modified.

        Parameters
        ----------
        ratings : path, data frame, matrix or Ratings
            Any table that `recveil.read` reads.

        Raises
        ------
        RecveilError
            If k is below 2, k or the cluster size is above the number of users, the cluster size is
            not 20 to 256, a user has no rating, all ratings are equal, or the scale is inferred and
            fewer than k users used one of its ends. Or if the previous release has other users, or
            the ratings for a release with dates have no times.
        """
        table = self._read(ratings)
        self.check(table)
        seed = seed_or_random(self.seed)
        seats = None if self.previous is None else Seats.of(self.previous, table, int(self.k))
        ratings = table if seats is None else only(table, seats.users)
        of_places, of_clusters, of_labels = (
            int(number) for number in np.random.default_rng(seed).integers(2**32, size=3)
        )
        places = embed_users(ratings, RANK, of_places)
        k, least = int(self.k), max(int(self.k), self.cluster_size)
        attributes = None if self.attributes is None else self.attributes.of(ratings.users)
        if seats is not None and attributes is not None:
            attributes = attributes.following(seats.previous, seats.left)
        rng = secret_rng(seed, table)
        kept = split_items(ratings.support, k)
        activity = activity_on(ratings, kept)
        of_users = (places, activity, k, least, of_clusters, rng, attributes)
        continued = None
        if seats is None:
            strata = np.zeros(ratings.n_users, np.int64)
            if attributes is not None:
                strata = attributes.strata(least)[1]
            classes = deal_strata(strata, *of_users)
        else:
            continued = continue_classes(seats, *of_users)
            classes = continued.classes
        cluster_of = classes.cluster_of[classes.class_of]
        embeddings = learn_embeddings(ratings, places, cluster_of, kept[0], activity[:, 0])
        support = (
            ratings.support if seats is None else scaled_counts(ratings.support, kept, classes)
        )
        drawn = _fit_and_draw(support, kept, embeddings, classes, rng)
        days = None
        if self.dates is not None:
            days = date_cells(ratings, drawn, classes, k, rng)
            if self.dates == ORDER:
                days = positions_in_rows(days, drawn.indptr)
            else:
                days = first_days(days, self.dates)
        if continued is None:
            rows, group_of = None, classes.class_of
            order = in_classes = rng.permutation(classes.sizes.size)
        else:
            order = rng.permutation(continued.class_of_group.size)
            in_classes = continued.class_of_group[order]
            rows = continued.rows(ratings.users, order, k, rng)
            group_of, attributes = rows.group_of, rows.attributes
        groups = Groups.from_labels(group_of, order)
        settings = self.public_settings(ratings.scale)
        step = settings.get("value_step", 1.0)
        if ratings.is_unary:
            labels = ClusterValues.of_likes(int(cluster_of.max()) + 1, ratings.n_items)
        else:
            labels = _of_clusters(FunkSVD(seed=of_labels).fit(ratings).padding(), cluster_of)
        release = assemble(
            table,
            rng,
            claim=Claim(kind=SPARSE.claim_of({}), k=k),
            settings=settings,
            groups=groups,
            blocks=lambda: label_rows(
                drawn, in_classes, classes, labels, ratings.scale, step, days, groups.sizes
            ),
            default_layout="users",
            seed=seed,
            expect=lambda layout, file_format: expect(
                ratings,
                "sparse",
                widths=np.diff(drawn.indptr)[in_classes],
                sizes=groups.sizes,
                layout=layout,
                file_format=file_format,
                step=step,
                has_dates=self.dates is not None,
            ),
            users=None if rows is None else rows.users,
            predecessor=None if rows is None else rows.predecessor,
            continuation=None if rows is None else rows.continuation,
        )
        if attributes is None:
            return release
        digests = () if rows is None else rows.predecessor.digests
        user_table = attributes.publish(least if rows is None else 1, groups, rng, digests)
        return Release(replace(release.published, user_table=user_table), release.private)

    def check(self, ratings: Ratings) -> None:
        """Raise the errors of `anonymize` before any work."""
        self.check_options()
        check_users(ratings, self.k, takes_likes=True)
        if self.previous is not None:
            self.previous.reject_erased(ratings.users)
            ratings = only(ratings, Seats.of(self.previous, ratings, int(self.k)).users)
        self.check_table(ratings.n_users, ratings.support)
        if self.dates is not None and ratings.days is None:
            raise RecveilError(
                "dates (--dates): the ratings have no times; name their column (--time), or drop "
                "the option",
                code="time.missing",
            )

    def check_options(self) -> None:
        """Raise the errors that do not depend on the ratings."""
        check_seed(self.seed)
        check_k(self.k)
        if self.previous is not None:
            self.previous.check_claim(SPARSE, int(self.k), self.dates)
            if self.attributes is not None:
                self.attributes.check_following(self.previous)
        if self.dates not in (None, *DATES.allowed):
            raise RecveilError(
                f"dates (--dates) is {self.dates!r}; expected one of {', '.join(DATES.allowed)}",
                code="option.value",
            )
        if type(self.cluster_size) is not int or not (
            MIN_CLUSTER <= self.cluster_size <= MAX_CLUSTER
        ):
            raise RecveilError(
                f"cluster_size (--cluster-size) is {self.cluster_size!r}; expected a number of "
                f"users from {MIN_CLUSTER} to {MAX_CLUSTER}",
                code="option.value",
            )

    def check_table(self, n_users: int, support: NDArray[Any]) -> None:
        """Raise a RecveilError if the table has too few users, or no item with k raters."""
        if n_users < self.cluster_size:
            lower = f"lower cluster_size (--cluster-size, at least {MIN_CLUSTER}), or "
            raise RecveilError(
                f"{describe_count(n_users, 'user')} cannot form a cluster of {self.cluster_size}, "
                f"from which rows are sampled; {lower * (self.cluster_size > MIN_CLUSTER)}choose "
                f"another method (--method predictive, or --method k-corating for likes)",
                code="table.too-few-users",
            )
        if support.max() < self.k:
            lower = "lower k (--k), " * (self.k > 2)
            raise RecveilError(
                f"no item has {self.k} raters, so that sparse rows would have none, even with "
                f"allow_sparse_coverage (--allow-sparse-coverage); {lower}take a longer period, or "
                f"choose another method (--method predictive, or --method k-corating for likes)",
                code="table.too-few-ratings",
            )

    def public_settings(self, scale: RatingScale) -> Settings:
        """Return the settings that are published."""
        settings = {
            "method": SPARSE.title,
            "cluster_size": self.cluster_size,
            "items_below_k": "omitted",
        }
        dates = {} if self.dates is None else {DATES.name: self.dates}
        if scale.unary:
            return {**settings, "feedback": "implicit", **dates}
        return {**settings, "value_step": value_step("usual", scale), **dates}


@brief
class ClusterValues(NamedTuple):
    """Predicted ratings per cluster, as latent factors."""

    of_clusters: NDArray[np.float64]
    of_items: NDArray[np.float32]
    offset: NDArray[np.float32]

    @classmethod
    def of_likes(cls, n_clusters: int, n_items: int) -> Self:
        """Return the values of implicit feedback: each is 1."""
        none = np.zeros((n_items, 0), np.float32)
        return cls(np.zeros((n_clusters, 0)), none, np.ones(n_items, np.float32))


def _fit_and_draw(
    support: NDArray[Any],
    kept: tuple[NDArray[np.int32], NDArray[np.int32]],
    embeddings_of_clusters: ClusterEmbeddings,
    classes: Dealt,
    rng: np.random.Generator,
) -> DrawnItems:
    """Fit each class's choices to the item counts, and sample its items."""
    common, rare = kept
    of_common = classes.lengths[:, 0]
    choices = fit_choices(
        embeddings_of_clusters.drawn(classes.cluster_of, of_common, rng),
        embeddings_of_clusters.slopes,
        of_common,
        support[common].astype(np.float64),
        classes.sizes.astype(np.float64),
    )
    return draw_items(choices, kept, support[rare], classes, rng)


def _of_clusters(padding: Padding, cluster_of: NDArray[np.int64]) -> ClusterValues:
    """Average the users' latent predictions over each cluster."""
    n_users = np.bincount(cluster_of).astype(np.float64)
    sums = np.array([np.bincount(cluster_of, weights=factor) for factor in padding.user_factors.T])
    means = sums.T / n_users[:, None]
    middle = sums.sum(axis=1) / cluster_of.size
    placed = padding.coordinates()  # distances between users are those between their predictions
    sums = np.array([np.bincount(cluster_of, weights=one) for one in placed.T])
    between = float((sums**2 / n_users).sum())
    within = float((placed.astype(np.float64) ** 2).sum())
    moved = as_far_apart(means, middle, within, between)
    return ClusterValues(moved, padding.item_factors, padding.item_offset)


def as_far_apart(
    means: NDArray[np.float64],
    middle: NDArray[np.float64],
    of_users: float,
    of_clusters: float,
    at_most: float = _APART,
) -> NDArray[np.float64]:
    """Scale cluster means about the mean of all users until they are as spread out as users are.

    `of_users` and `of_clusters` are sums of squared distances from that mean.

    >>> as_far_apart(np.array([[1.0], [3.0]]), np.array([2.0]), of_users=9.0, of_clusters=4.0)
    array([[0.5],
           [3.5]])
    """
    apart = min(at_most, math.sqrt(of_users / of_clusters)) if of_clusters > 0 else 1.0
    return np.asarray(middle + apart * (means - middle))


def label_rows(
    drawn: DrawnItems,
    order: NDArray[np.int64],
    classes: Dealt,
    labels: ClusterValues,
    scale: RatingScale,
    step: float | None,
    days: NDArray[np.int32] | None = None,
    sizes: NDArray[np.int64] | None = None,
) -> Iterator[Records]:
    """Yield the rows of classes with their values and dates, in a given order.

    `sizes` are the users of each row, if not those of its class.
    """
    sizes = classes.sizes[order] if sizes is None else sizes
    lengths = np.diff(drawn.indptr)[order]
    block_of = (np.cumsum(lengths) - lengths) // _BLOCK_LABELS
    cuts = [0, *(np.flatnonzero(np.diff(block_of)) + 1).tolist(), order.size]
    for start, end in itertools.pairwise(cuts):
        rows = order[start:end]
        indptr = np.concatenate([[0], np.cumsum(lengths[start:end])])
        indices = np.empty(indptr[-1], np.int32)
        values = np.empty(indptr[-1])
        _label(rows, classes.cluster_of, *drawn, *labels, indptr, indices, values)
        dates = None
        if days is not None:
            ends = drawn.indptr[rows + 1]
            dates = days[np.repeat(ends - indptr[1:], lengths[start:end]) + np.arange(indptr[-1])]
        yield Records(sizes[start:end], indptr, indices, scale.round(values, step), days=dates)


@compiled()
def _label(
    rows: NDArray[Any],
    cluster_of: NDArray[Any],
    starts: NDArray[Any],
    items: NDArray[Any],
    of_clusters: NDArray[Any],
    of_items: NDArray[Any],
    offset: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
) -> None:
    """Write the items and predicted values of some classes."""
    for place in range(rows.size):
        row = rows[place]
        cluster, to = cluster_of[row], indptr[place]
        for at in range(starts[row], starts[row + 1]):
            item = items[at]
            label = float(offset[item])
            for factor in range(of_items.shape[1]):
                label += of_clusters[cluster, factor] * of_items[item, factor]
            indices[to], values[to] = item, label
            to += 1
