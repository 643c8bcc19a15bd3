"""Divide clusters into equivalence classes, and sample the items of each class's row."""

from collections.abc import Iterator
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from recveil.clustering import KGather
from recveil.methods.published_users import DeclaredAttributes
from recveil.methods.rare_items import deal_rare
from recveil.ratings import Ratings
from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread, pool

Floats = NDArray[np.float32]

# Largest number of sweeps, largest step in log-odds, and the tolerance.
SWEEPS, _LONGEST, NEAR = 10, 1.5, 1e-4
# Log-odds are clipped here.
_SURE = 30.0
# Cells of a tile of classes times items: it stays in the cache.
_TILE_CELLS = 1 << 19


@brief
class Choices(NamedTuple):
    """Log-odds that each class rates each item: ``rows @ slopes.T + of_rows + of_items``."""

    rows: Floats
    slopes: Floats
    of_rows: Floats
    of_items: Floats

    @classmethod
    def of(cls, rows: NDArray[Any], slopes: NDArray[Any]) -> Self:
        """Return choices without row and item offsets."""
        # Of the slopes' transpose the rows are what is multiplied.
        return cls(
            np.asarray(rows, np.float32),
            np.asarray(slopes, np.float32, order="F"),
            np.zeros(len(rows), np.float32),
            np.zeros(len(slopes), np.float32),
        )

    def tiles(self) -> Iterator[slice]:
        """Cut the classes into tiles that do not depend on the number of threads."""
        height = max(1, _TILE_CELLS // len(self.slopes))
        for start in range(0, len(self.rows), height):
            yield slice(start, min(start + height, len(self.rows)))

    def likely(self, tile: slice) -> Floats:
        """Return the probabilities of some classes, shape (n, n_items)."""
        odds = self.rows[tile] @ self.slopes.T
        odds += self.of_rows[tile, None]
        odds += self.of_items
        np.clip(odds, -_SURE, _SURE, out=odds)
        np.negative(odds, out=odds)
        np.exp(odds, out=odds)
        odds += 1
        return np.reciprocal(odds, out=odds)

    def steps_of_rows(self, tile: slice, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the steps of some row offsets towards the expected row lengths."""
        likely = self.likely(tile)
        expected = likely.sum(axis=1, dtype=np.float64)
        return newton_step(
            lengths[tile] - expected, expected - np.einsum("ci,ci->c", likely, likely)
        )

    def sums_of_items(self, tile: slice, weights: Floats) -> NDArray[np.float64]:
        """Return the expected count of each item over some rows, and its derivative."""
        likely = self.likely(tile)
        counts = weights[tile] @ likely
        np.multiply(likely, likely, out=likely)
        return np.array([counts, counts - weights[tile] @ likely], np.float64)

    def _facts(self) -> dict[str, object]:
        return {"classes": len(self.rows), "items": len(self.slopes)}


def fit_choices(
    rows: NDArray[Any],
    slopes: NDArray[Any],
    lengths: NDArray[np.float64],
    totals: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> Choices:
    """Fit row and item offsets to expected row `lengths` and item counts `totals`.

    ``lengths @ sizes == totals.sum()``, with the users per row. Source: iterative proportional
    fitting (Deming and Stephan 1940), on log odds.
    """
    choices = Choices.of(rows, slopes)
    weights = sizes.astype(np.float32)
    tiles = list(choices.tiles())
    with pool(get_num_threads()) as workers, one_thread():
        for _ in range(SWEEPS):
            steps = workers.map(partial(choices.steps_of_rows, lengths=lengths), tiles)
            rows_moved = np.concatenate(list(steps))
            choices.of_rows[:] += rows_moved
            sums = np.zeros((2, len(slopes)))
            # All at once, they are tiles times items.
            for part in workers.map(partial(choices.sums_of_items, weights=weights), tiles):
                sums += part
            counts, slopes_of_counts = sums
            items_moved = newton_step(totals - counts, slopes_of_counts)
            choices.of_items[:] += items_moved
            if max(np.abs(rows_moved).max(), np.abs(items_moved).max()) < NEAR:
                break
    return choices


def fit_rows(choices: Choices, lengths: NDArray[np.float64]) -> None:
    """Fit row offsets alone to row lengths, starting from the current ones."""
    with one_thread():
        for tile in choices.tiles():
            for _ in range(2 * SWEEPS):
                moved = choices.steps_of_rows(tile, lengths)
                choices.of_rows[tile] += moved
                if np.abs(moved).max() < NEAR:
                    break


def newton_step(missing: NDArray[np.float64], vary: NDArray[Any]) -> NDArray[np.float64]:
    """Return Newton's step in log-odds for a residual and its derivative.

    >>> newton_step(np.array([1.0, 9.0]), np.array([2.0, 2.0]))
    array([0.5, 1.5])
    """
    return np.clip(missing / np.maximum(vary, 1e-6), -_LONGEST, _LONGEST)


def draw_supports(
    choices: Choices,
    rng: np.random.Generator,
    others: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Sample the items in the row of each class, as compressed rows; no row is empty.

    Systematic sampling (Madow and Madow 1944), over classes, item by item: the number of rows with
    an item differs by less than one from the sum of its probabilities, and a row contains it with
    exactly its probability, whatever its users (carrying users over would empty large classes).
    `others` counts the other items already in each row.
    """
    carried = rng.random(len(choices.slopes))
    filled = np.zeros(len(choices.rows), bool) if others is None else others > 0
    found, lengths = [], []
    with pool(get_num_threads()) as workers, one_thread():
        tiles = list(choices.tiles())
        for tile, likely in zip(tiles, _few_earlier(workers, choices, tiles), strict=True):
            drawn, length = _draw(likely, filled[tile], carried)
            found.append(drawn)
            lengths.append(length)
    return np.concatenate([[0], np.cumsum(np.concatenate(lengths))]), np.concatenate(found)


def _few_earlier(
    workers: Executor, choices: Choices, tiles: list[slice]
) -> Iterator[NDArray[np.float32]]:
    """Yield the probabilities of each tile in turn, computed ahead by all threads."""
    at_once = 2 * get_num_threads()
    for first in range(0, len(tiles), at_once):
        yield from workers.map(choices.likely, tiles[first : first + at_once])


@compiled()
def _draw(
    likely: NDArray[Any], filled: NDArray[Any], carried: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sample the rows of a tile; `carried` has the cumulative count of each item."""
    found = np.empty(likely.size, np.int32)
    lengths = np.zeros(len(likely), np.int64)
    place = 0
    for row in range(len(likely)):
        begin, nearest = place, 0
        for item in range(likely.shape[1]):
            carried[item] += likely[row, item]
            if carried[item] > carried[nearest]:
                nearest = item
            if carried[item] >= 1:
                carried[item] -= 1
                found[place] = item
                place += 1
        if place == begin and not filled[row]:
            carried[nearest] -= 1
            found[place] = nearest
            place += 1
        lengths[row] = place - begin
    return found[:place].copy(), lengths


@brief
class Dealt(NamedTuple):
    """Equivalence classes, cluster after cluster."""

    class_of: NDArray[np.int64]
    # The cluster of each class
    cluster_of: NDArray[np.int64]
    # Users per row
    sizes: NDArray[np.int64]
    # Expected number of items of each kind in the row
    lengths: NDArray[np.float64]

    def _facts(self) -> dict[str, object]:
        return {"users": self.class_of.size, "classes": self.sizes.size}


def deal_strata(
    stratum_of: NDArray[np.int64],
    places: NDArray[Any],
    activity: NDArray[Any],
    k: int,
    least: int,
    seed: int,
    rng: np.random.Generator,
    attributes: DeclaredAttributes | None = None,
) -> Dealt:
    """Cluster users, of one stratum of published attributes each, and deal the classes.

    A stratum of fewer than `least` users, but at least k, is one cluster.
    """
    labels, n_before = np.empty(stratum_of.size, np.int64), 0
    for stratum in range(int(stratum_of.max()) + 1):
        users = np.flatnonzero(stratum_of == stratum)
        gathering = KGather(min_size=min(least, users.size), random_state=seed)
        labels[users] = gathering.fit(places[users]).labels_ + n_before
        n_before = int(labels[users].max()) + 1
    if attributes is None:
        return deal_classes(labels, activity, k, rng)
    k = min(attributes.least_class(k, least), int(np.bincount(labels).min()))
    return deal_classes(labels, activity, k, rng, attributes.sensitive_codes())


def deal_classes(
    cluster_of: NDArray[np.int64],
    activity: NDArray[Any],
    k: int,
    rng: np.random.Generator,
    sensitive: NDArray[np.int64] | None = None,
) -> Dealt:
    """Divide each cluster at random into as many classes of at least k users as possible.

    Row lengths follow the user counts in the cluster, per kind of items, shape (n_users, n_kinds),
    and are assigned at random, so that they reveal nothing beyond the cluster. Users with one
    `sensitive` value are dealt in turn to the classes (anatomy, Xiao and Tao 2006).
    """
    n = cluster_of.size
    sizes_of_clusters = np.bincount(cluster_of)
    n_classes = sizes_of_clusters // k
    first = np.concatenate([[0], np.cumsum(n_classes)])
    starts = np.concatenate([[0], np.cumsum(sizes_of_clusters)])
    clusters = np.repeat(np.arange(sizes_of_clusters.size), sizes_of_clusters)
    rank = np.arange(n) - starts[clusters]
    # The j-th of s users goes to part j · parts // s, so no part has fewer than s // parts >= k.
    part = first[clusters] + rank * n_classes[clusters] // sizes_of_clusters[clusters]
    by_activity = np.lexsort([activity.sum(axis=1), cluster_of])
    dealt = np.lexsort([rng.random(n), cluster_of])
    if sensitive is not None:
        dealt = np.lexsort([rng.random(n), sensitive, cluster_of])
        part = first[clusters] + rank % n_classes[clusters]
        # In random order, so that neither the size nor the length of a row depends on values.
        cluster_of_class = np.repeat(np.arange(n_classes.size), n_classes)
        part = np.lexsort([rng.random(cluster_of_class.size), cluster_of_class])[part]
    class_of = np.empty(n, np.int64)
    class_of[dealt] = part
    sizes = np.bincount(part)
    lengths = np.add.reduceat(activity[by_activity], np.cumsum(sizes) - sizes) / sizes[:, None]
    return Dealt(class_of, np.repeat(np.arange(sizes_of_clusters.size), n_classes), sizes, lengths)


def deal_lengths(
    cluster_of: NDArray[np.int64],
    cluster_of_class: NDArray[np.int64],
    activity: NDArray[Any],
) -> NDArray[np.float64]:
    """Return the row lengths of existing classes, as `deal_classes` makes those of new ones.

    `cluster_of_class` is ascending; the classes of a cluster are in random order.
    """
    n_users, n_classes = np.bincount(cluster_of), np.bincount(cluster_of_class)
    by_activity = np.lexsort([activity.sum(axis=1), cluster_of])
    zero = np.zeros((1, activity.shape[1]), np.int64)
    sums = np.concatenate([zero, np.cumsum(activity[by_activity], axis=0, dtype=np.int64)])
    rank = np.arange(cluster_of_class.size) - (np.cumsum(n_classes) - n_classes)[cluster_of_class]
    users, classes = n_users[cluster_of_class], n_classes[cluster_of_class]
    first = (np.cumsum(n_users) - n_users)[cluster_of_class]
    starts = first + rank * users // classes
    # A cluster may have more classes than users, if most of them left.
    ends = np.maximum(first + (rank + 1) * users // classes, starts + 1)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts)[:, None])


def scaled_counts(
    support: NDArray[Any], kept: tuple[NDArray[np.int32], NDArray[np.int32]], classes: Dealt
) -> NDArray[np.float64]:
    """Return item counts of all rows, as if users who left had as many items as others.

    `kept` are the common and the rare items; `classes` have the rows of users who left.
    """
    counts = support.astype(np.float64)
    for kind, items in enumerate(kept):
        of_rows = float(classes.lengths[:, kind] @ classes.sizes)
        counts[items] *= of_rows / max(1, int(support[items].sum()))
    return counts


@brief
class DrawnItems(NamedTuple):
    """The items in the row of each class, as compressed rows."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def with_more(self, rows: NDArray[np.int64], items: NDArray[np.int32]) -> "DrawnItems":
        """Return the rows with more items merged in."""
        n_rows = self.indptr.size - 1
        all_rows = np.concatenate([np.repeat(np.arange(n_rows), np.diff(self.indptr)), rows])
        all_items = np.concatenate([self.indices, items])
        order = np.lexsort([all_items, all_rows])
        counts = np.bincount(all_rows, minlength=n_rows)
        return DrawnItems(np.concatenate([[0], np.cumsum(counts)]), all_items[order])

    def _facts(self) -> dict[str, object]:
        return {"classes": self.indptr.size - 1, "items": self.indices.size}


def draw_items(
    choices: Choices,
    kept: tuple[NDArray[np.int32], NDArray[np.int32]],
    of_rare: NDArray[Any],
    classes: Dealt,
    rng: np.random.Generator,
) -> DrawnItems:
    """Sample the items of each class: common ones by embedding, rare ones by item count."""
    common, rare = kept
    rows, items = deal_rare(of_rare, classes.lengths[:, 1], classes.sizes, rng)
    others = np.bincount(rows, minlength=classes.sizes.size)
    indptr, indices = draw_supports(choices, rng, others)
    drawn = DrawnItems(indptr, common[indices])
    return drawn.with_more(rows, rare[items]) if rare.size else drawn


def date_cells(
    ratings: Ratings, drawn: DrawnItems, classes: Dealt, k: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return the day of each item in the row of each class: a median day of at least k raters.

    The raters of an item, by day, are divided into as many runs as classes have the item, but of at
    least k raters each, and the classes, by the mean day of their clusters, take their lower
    medians in turn. Classes of one cluster come in random order, so that no day depends on who of
    the cluster is in which class. Source: univariate microaggregation (Domingo-Ferrer and
    Mateo-Sanz 2002).

    Four users in two classes; the raters of the item are divided into two runs:

    >>> ratings = Ratings.from_columns([1, 2, 3, 4], [7, 7, 7, 7], [5, 4, 3, 2], [40, 30, 20, 10])
    >>> two = np.array([0, 1])
    >>> classes = Dealt(np.array([0, 0, 1, 1]), two, np.array([2, 2]), np.ones((2, 1)))
    >>> drawn = DrawnItems(np.array([0, 1, 2]), np.array([0, 0], np.int32))
    >>> date_cells(ratings, drawn, classes, 2, np.random.default_rng(0))
    array([30, 10], dtype=int32)
    """
    if ratings.days is None:
        raise ValueError("ratings without days")
    cluster_of_user = classes.cluster_of[classes.class_of]
    cluster_of_rating = np.repeat(cluster_of_user, ratings.activity)
    sums = np.bincount(cluster_of_rating, weights=ratings.days)
    means = sums / np.maximum(np.bincount(cluster_of_rating), 1)
    place_of = np.empty(classes.sizes.size, np.int64)
    order = np.lexsort((rng.random(classes.sizes.size), means[classes.cluster_of]))
    place_of[order] = np.arange(order.size)
    class_of_cell = np.repeat(np.arange(classes.sizes.size), np.diff(drawn.indptr))
    cells = np.lexsort((place_of[class_of_cell], drawn.indices))
    items = drawn.indices[cells]
    n_cells = np.bincount(drawn.indices, minlength=ratings.n_items)
    support = ratings.support.astype(np.int64)
    rank = np.arange(cells.size) - (np.cumsum(n_cells) - n_cells)[items]
    n_runs = np.minimum(n_cells, support // k)[items]
    run = rank * n_runs // n_cells[items]
    first, last = (each * support[items] // n_runs for each in (run, run + 1))
    by_item = ratings.days[np.lexsort((ratings.days, ratings.indices))]
    starts = np.cumsum(support) - support
    days = np.empty(cells.size, np.int32)
    days[cells] = by_item[starts[items] + (first + last - 1) // 2]
    return days
