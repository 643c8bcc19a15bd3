"""SparseRows: identical rows for at least k people, drawn from groups of at least twenty."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.clustering import KGather
from recveil.methods.base import (
    assemble,
    check_k,
    check_seed,
    check_users,
    drawn_seed,
    secret_rng,
)
from recveil.methods.predictive.anonymizer import label_step
from recveil.methods.rare_items import activity_on, split_items
from recveil.methods.sparse.classes import Dealt, DrawnItems, deal_classes, draw_items, fit_choices
from recveil.methods.sparse.item_choice import (
    RANK,
    ClusterEmbeddings,
    embed_users,
    learn_embeddings,
)
from recveil.predict import FunkSVD
from recveil.predict.padding import Padding
from recveil.publish.release import Release
from recveil.publish.size_estimate import expect
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.records import Groups, Records
from recveil.release.specs.sparse import LEAST_CROWD, MOST_CROWD, SPARSE
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief

# Predictions of clusters are moved at most so many times as far from each other as they are.
_APART = 2.0
# Labels of a block of records: small enough to forget.
_BLOCK_LABELS = 1 << 20


class SparseRows:
    """Publish classes of at least k people who share one drawn row, with as many items as people.

    People are gathered in crowds of at least `crowd` with similar tastes, and each crowd is dealt
    at random into classes of at least k. A class gets a row of its own: how many items it holds,
    and which, is drawn by what people of the crowd's tastes choose, so that the release counts each
    of its items nearly as often as the ratings do. Items that fewer than k people rated are left
    out. A label is the crowd's mean prediction for the item. No rating stands in a row, and nothing
    in it is about a class: its people are a random part of their crowd. Of likes, nothing is
    predicted: a row is a set of items.

    Parameters
    ----------
    k : int
        Smallest class, at least 2.
    crowd : int
        Smallest crowd, 20 to 256; never fewer than k.
    seed : int, optional
        Fixes everything random. Drawn from the system if not given, and kept in the private side
        alone.

    Notes
    -----
    Guarantee: every published record stands for at least k people with identical rows (Chang et
    al., Definition 3.3), so nobody is found with probability above 1/k from the records alone. It
    is no differential privacy: tastes of items, their counts and the crowds' means are fitted to
    the ratings without noise, so that attacks on who is in the data may succeed.

    The order of the records, who is in which class, and what is drawn come from the seed and a
    digest of the private ratings together, so that knowing the seed is not enough to undo it.

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

    def __init__(self, k: int, crowd: int = LEAST_CROWD, *, seed: int | None = None) -> None:
        self.k = k
        self.crowd = crowd
        self.seed = seed

    def anonymize(self, ratings: Ratings) -> Release:
        """Turn ratings into a release; `ratings` stay as they are.

        Raises
        ------
        RecveilError
            If k is below 2, k or the crowd is above the number of users, the crowd is not 20 to
            256, a user has no rating, all ratings are equal, or nobody named the scale and fewer
            than k people used one of its ends.
        """
        self.check(ratings)
        seed = drawn_seed(self.seed)
        of_places, of_crowds, of_labels = (
            int(number) for number in np.random.default_rng(seed).integers(2**32, size=3)
        )
        places = embed_users(ratings, RANK, of_places)
        gathering = KGather(min_size=max(int(self.k), self.crowd), random_state=of_crowds)
        crowd_of = gathering.fit(places).labels_
        rng = secret_rng(seed, ratings)
        kept = split_items(ratings.support, int(self.k))
        activity = activity_on(ratings, kept)
        classes = deal_classes(crowd_of, activity, int(self.k), rng)
        tastes = learn_embeddings(ratings, places, crowd_of, kept[0], activity[:, 0])
        drawn = _fit_and_draw(ratings.support, kept, tastes, classes, rng)
        order = rng.permutation(classes.sizes.size)
        groups = Groups.from_labels(classes.class_of, order)
        settings = self.public_settings(ratings.scale)
        step = settings.get("label_step", 1.0)
        if ratings.is_unary:
            labels = ClusterValues.of_likes(int(crowd_of.max()) + 1, ratings.n_items)
        else:
            labels = _of_clusters(FunkSVD(seed=of_labels).fit(ratings).padding(), crowd_of)
        return assemble(
            ratings,
            rng,
            claim=Claim(kind=SPARSE.claim_of({}), k=int(self.k)),
            settings=settings,
            groups=groups,
            blocks=lambda: label_rows(drawn, order, classes, labels, ratings.scale, step),
            default_layout="users",
            seed=seed,
            expect=lambda layout, file_format: expect(
                ratings,
                "sparse",
                widths=np.diff(drawn.indptr)[order],
                sizes=groups.sizes,
                layout=layout,
                file_format=file_format,
                step=step,
            ),
        )

    def check(self, ratings: Ratings) -> None:
        """Raise what `anonymize` would raise before any work."""
        self.check_options()
        check_users(ratings, self.k, takes_likes=True)
        self.check_table(ratings.n_users, ratings.support)

    def check_options(self) -> None:
        """Raise what would be raised whatever the ratings."""
        check_seed(self.seed)
        check_k(self.k)
        number = isinstance(self.crowd, int) and not isinstance(self.crowd, bool)
        if not number or not LEAST_CROWD <= self.crowd <= MOST_CROWD:
            raise RecveilError(
                f"crowd (--crowd) is {self.crowd!r}; expected {LEAST_CROWD} to {MOST_CROWD} "
                f"people, from whose tastes rows are drawn",
                code="option.value",
            )

    def check_table(self, n_users: int, support: NDArray[Any]) -> None:
        """Refuse a table of so few people, or of items that so few of them rated."""
        if n_users < self.crowd:
            lower = f"lower crowd (--crowd, at least {LEAST_CROWD}), or "
            raise RecveilError(
                f"{describe_count(n_users, 'user')} cannot form a crowd of {self.crowd}, from "
                f"whose tastes rows are drawn; {lower * (self.crowd > LEAST_CROWD)}take method "
                f"predictive (--method predictive)",
                code="table.too-few-users",
            )
        if support.max() < self.k:
            raise RecveilError(
                f"no item was rated by {self.k} people, and sparse rows leave out what fewer "
                f"rated; lower k (--k), or take method predictive (--method predictive)",
                code="table.too-few-ratings",
            )

    def public_settings(self, scale: RatingScale) -> dict[str, Any]:
        """Return what everybody may know of how a release of such ratings was made."""
        settings = {"method": SPARSE.title, "crowd": self.crowd, "rare_items": "left out"}
        if scale.unary:
            return {**settings, "ratings": "likes"}
        return {**settings, "label_step": label_step("usual", scale)}


@brief
class ClusterValues(NamedTuple):
    """What people of each crowd are predicted to give, in latent form."""

    of_crowds: NDArray[np.float64]
    of_items: NDArray[np.float32]
    offset: NDArray[np.float32]

    @classmethod
    def of_likes(cls, n_crowds: int, n_items: int) -> Self:
        """Return those of likes, of which nothing is predicted: each is a 1."""
        none = np.zeros((n_items, 0), np.float32)
        return cls(np.zeros((n_crowds, 0)), none, np.ones(n_items, np.float32))


def _fit_and_draw(
    support: NDArray[Any],
    kept: tuple[NDArray[np.int32], NDArray[np.int32]],
    tastes: ClusterEmbeddings,
    classes: Dealt,
    rng: np.random.Generator,
) -> DrawnItems:
    """Fit what each class chooses to how often each item was rated, and draw its items."""
    common, rare = kept
    of_common = classes.lengths[:, 0]
    choices = fit_choices(
        tastes.drawn(classes.crowd_of, of_common, rng),
        tastes.slopes,
        of_common,
        support[common].astype(np.float64),
        classes.sizes.astype(np.float64),
    )
    return draw_items(choices, kept, support[rare], classes, rng)


def _of_clusters(padding: Padding, crowd_of: NDArray[np.int64]) -> ClusterValues:
    """Average the members' predictions over each crowd, before they are moved to the scale."""
    people = np.bincount(crowd_of).astype(np.float64)
    sums = np.array([np.bincount(crowd_of, weights=factor) for factor in padding.user_factors.T])
    means = sums.T / people[:, None]
    middle = sums.sum(axis=1) / crowd_of.size
    placed = padding.coordinates()  # distances between people are those between their predictions
    sums = np.array([np.bincount(crowd_of, weights=one) for one in placed.T])
    between = float((sums**2 / people).sum())
    within = float((placed.astype(np.float64) ** 2).sum())
    moved = as_far_apart(means, middle, within, between)
    return ClusterValues(moved, padding.item_factors, padding.item_offset)


def as_far_apart(
    means: NDArray[np.float64],
    middle: NDArray[np.float64],
    people: float,
    crowds: float,
    at_most: float = _APART,
) -> NDArray[np.float64]:
    """Move the means of crowds from everybody's, until they are as far from it as people are.

    Means lie nearer to each other than people do: who learns from the rows would else take people
    for much alike.

    Parameters
    ----------
    means : ndarray of float64, shape (n_crowds, rank)
    middle : ndarray of float64, shape (rank,)
        The mean of all people.
    people, crowds : float
        The squared distances from there of all people, each of them at their own place, and at
        their crowd's.
    at_most : float
        How many times as far from it as they are.

    Examples
    --------
    >>> as_far_apart(np.array([[1.0], [3.0]]), np.array([2.0]), people=9.0, crowds=4.0)
    array([[0.5],
           [3.5]])
    """
    apart = min(at_most, math.sqrt(people / crowds)) if crowds > 0 else 1.0
    return np.asarray(middle + apart * (means - middle))


def label_rows(
    drawn: DrawnItems,
    order: NDArray[np.int64],
    classes: Dealt,
    labels: ClusterValues,
    scale: RatingScale,
    step: float | None,
) -> Iterator[Records]:
    """Yield the rows of classes in some order, with their labels."""
    lengths = np.diff(drawn.indptr)[order]
    block_of = (np.cumsum(lengths) - lengths) // _BLOCK_LABELS
    cuts = [0, *(np.flatnonzero(np.diff(block_of)) + 1).tolist(), order.size]
    for start, end in itertools.pairwise(cuts):
        rows = order[start:end]
        indptr = np.concatenate([[0], np.cumsum(lengths[start:end])])
        indices = np.empty(indptr[-1], np.int32)
        values = np.empty(indptr[-1])
        _label(rows, classes.crowd_of, *drawn, *labels, indptr, indices, values)
        yield Records(classes.sizes[rows], indptr, indices, scale.round(values, step))


@compiled()
def _label(
    rows: NDArray[Any],
    crowd_of: NDArray[Any],
    starts: NDArray[Any],
    items: NDArray[Any],
    of_crowds: NDArray[Any],
    of_items: NDArray[Any],
    offset: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
) -> None:
    """Write items and predictions of some classes' rows."""
    for place in range(rows.size):
        row = rows[place]
        crowd, to = crowd_of[row], indptr[place]
        for at in range(starts[row], starts[row + 1]):
            item = items[at]
            label = float(offset[item])
            for factor in range(of_items.shape[1]):
                label += of_crowds[crowd, factor] * of_items[item, factor]
            indices[to], values[to] = item, label
            to += 1
