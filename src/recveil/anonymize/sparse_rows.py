"""SparseRows: identical rows for at least k people, drawn from groups of at least twenty."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.base import (
    assemble,
    check_k,
    check_people,
    check_seed,
    drawn_seed,
    secret_rng,
)
from recveil.anonymize.predictive import label_step
from recveil.anonymize.rare_items import activity_on, deal_rare, split_items
from recveil.anonymize.support_drawing import draw_supports, fit_choices
from recveil.anonymize.support_tastes import RANK, GroupTastes, learn_tastes, place_people
from recveil.brief import brief
from recveil.compiled import compiled
from recveil.errors import RecveilError
from recveil.group import KGather
from recveil.predict import FunkSVD
from recveil.predict.padding import Padding
from recveil.publish.expected import expect
from recveil.publish.release import Release
from recveil.ratings import Ratings
from recveil.release.claim import Claim
from recveil.release.groups import Groups
from recveil.release.records import Records
from recveil.release.sparse_words import LEAST_CROWD, MOST_CROWD, SPARSE

# Crowds' predictions are moved at most so many times as far from each other as they are.
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
        places = place_people(ratings, RANK, of_places)
        gathering = KGather(min_size=max(int(self.k), self.crowd), random_state=of_crowds)
        crowd_of = gathering.fit(places).labels_
        rng = secret_rng(seed, ratings)
        kept = split_items(ratings.support, int(self.k))
        activity = activity_on(ratings, kept)
        classes = deal_classes(crowd_of, activity, int(self.k), rng)
        tastes = learn_tastes(ratings, places, crowd_of, kept[0], activity[:, 0])
        drawn = _draw(ratings.support, kept, tastes, classes, rng)
        order = rng.permutation(classes.sizes.size)
        groups = Groups.from_labels(classes.class_of, order)
        settings: dict[str, Any] = {
            "method": SPARSE.title,
            "crowd": self.crowd,
            "rare_items": "left out",
        }
        step: float | None = 1.0
        if ratings.is_unary:
            labels = _Labels.of_likes(int(crowd_of.max()) + 1, ratings.n_items)
            settings["ratings"] = "likes"
        else:
            labels = _of_crowds(FunkSVD(seed=of_labels).fit(ratings).padding(), crowd_of)
            step = settings["label_step"] = label_step("usual", ratings.scale)
        return assemble(
            ratings,
            rng,
            claim=Claim(kind=SPARSE.claim_of({}), k=int(self.k)),
            settings=settings,
            groups=groups,
            blocks=lambda: _blocks(ratings, drawn, order, classes, labels, step),
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
        check_seed(self.seed)
        check_k(self.k)
        number = isinstance(self.crowd, int) and not isinstance(self.crowd, bool)
        if not number or not LEAST_CROWD <= self.crowd <= MOST_CROWD:
            raise RecveilError(
                f"crowd (--crowd) is {self.crowd!r}; expected {LEAST_CROWD} to {MOST_CROWD} "
                f"people, from whose tastes rows are drawn"
            )
        check_people(ratings, self.k, takes_likes=True)
        if ratings.n_users < self.crowd:
            raise RecveilError(
                f"{ratings.n_users} users cannot form a crowd of {self.crowd}, from whose tastes "
                f"rows are drawn; lower crowd (--crowd, at least {LEAST_CROWD}), or take method "
                f"predictive (--method predictive)"
            )
        if ratings.support.max() < self.k:
            raise RecveilError(
                f"no item was rated by {self.k} people, and sparse rows leave out what fewer "
                f"rated; lower k (--k), or take method predictive (--method predictive)"
            )


@brief
class Dealt(NamedTuple):
    """Who shares a row with whom, crowd after crowd.

    Attributes
    ----------
    class_of : ndarray of int64, shape (n_users,)
    crowd_of : ndarray of int64, shape (n_classes,)
        The crowd that each class is part of.
    sizes : ndarray of int64, shape (n_classes,)
        How many people share the row.
    lengths : ndarray of float64, shape (n_classes, n_kinds)
        How many items of each kind it is to hold, on average over what may be drawn.
    """

    class_of: NDArray[np.int64]
    crowd_of: NDArray[np.int64]
    sizes: NDArray[np.int64]
    lengths: NDArray[np.float64]

    def _facts(self) -> dict[str, object]:
        return {"people": self.class_of.size, "classes": self.sizes.size}


def deal_classes(
    crowd_of: NDArray[np.int64],
    activity: NDArray[Any],
    k: int,
    rng: np.random.Generator,
) -> Dealt:
    """Deal each crowd at random into as many classes of at least k people as it has room for.

    The rows of a crowd are as long as its people are active: the ratings of the least active ones
    in it make the mean length of the first row, and so on. Whose row is the first is drawn: the
    length of a row says nothing of its own people that it does not say of the crowd. Each kind of
    items has a length of its own: who rated many of one kind makes no row longer by another.

    Parameters
    ----------
    crowd_of : ndarray of int64, shape (n_users,)
        The crowd of each person, 0 to n_crowds - 1; each has at least k people.
    activity : ndarray of int, shape (n_users, n_kinds)
        How many items of each kind each person rated.
    k : int
    rng : Generator

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> activity = np.array([[9], [1], [8], [2], [3]])
    >>> classes = deal_classes(np.zeros(5, np.int64), activity, 2, rng)
    >>> classes.sizes, classes.lengths.ravel()
    (array([3, 2]), array([2. , 8.5]))
    """
    n = crowd_of.size
    people = np.bincount(crowd_of)
    n_classes = people // k
    first = np.concatenate([[0], np.cumsum(n_classes)])
    starts = np.concatenate([[0], np.cumsum(people)])
    crowds = np.repeat(np.arange(people.size), people)
    rank = np.arange(n) - starts[crowds]
    # The j-th of s people goes to part j · parts // s: none has fewer than s // parts >= k.
    part = first[crowds] + rank * n_classes[crowds] // people[crowds]
    by_activity = np.lexsort([activity.sum(axis=1), crowd_of])
    dealt = np.lexsort([rng.random(n), crowd_of])
    class_of = np.empty(n, np.int64)
    class_of[dealt] = part
    sizes = np.bincount(part)
    lengths = np.add.reduceat(activity[by_activity], np.cumsum(sizes) - sizes) / sizes[:, None]
    return Dealt(class_of, np.repeat(np.arange(people.size), n_classes), sizes, lengths)


@brief
class _Drawn(NamedTuple):
    """Which items stand in the row of each class, in compressed rows."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def with_more(self, rows: NDArray[np.int64], items: NDArray[np.int32]) -> "_Drawn":
        """Return the rows with other items in their places among these."""
        n_rows = self.indptr.size - 1
        all_rows = np.concatenate([np.repeat(np.arange(n_rows), np.diff(self.indptr)), rows])
        all_items = np.concatenate([self.indices, items])
        order = np.lexsort([all_items, all_rows])
        counts = np.bincount(all_rows, minlength=n_rows)
        return _Drawn(np.concatenate([[0], np.cumsum(counts)]), all_items[order])


@brief
class _Labels(NamedTuple):
    """What people of each crowd are predicted to give, in latent form."""

    of_crowds: NDArray[np.float64]
    of_items: NDArray[np.float32]
    offset: NDArray[np.float32]

    @classmethod
    def of_likes(cls, n_crowds: int, n_items: int) -> Self:
        """Return those of likes, of which nothing is predicted: each is a 1."""
        none = np.zeros((n_items, 0), np.float32)
        return cls(np.zeros((n_crowds, 0)), none, np.ones(n_items, np.float32))


def _draw(
    support: NDArray[Any],
    kept: tuple[NDArray[np.int32], NDArray[np.int32]],
    tastes: GroupTastes,
    classes: Dealt,
    rng: np.random.Generator,
) -> _Drawn:
    """Draw the items of each class: common ones by tastes, rare ones by how often each is rated."""
    common, rare = kept
    of_common, of_rare = classes.lengths.T
    choices = fit_choices(
        tastes.drawn(classes.crowd_of, of_common, rng),
        tastes.slopes,
        of_common,
        support[common].astype(np.float64),
        classes.sizes.astype(np.float64),
    )
    rows, items = deal_rare(support[rare], of_rare, classes.sizes, rng)
    others = np.bincount(rows, minlength=classes.sizes.size)
    indptr, indices = draw_supports(choices, rng, others)
    drawn = _Drawn(indptr, common[indices])
    return drawn.with_more(rows, rare[items]) if rare.size else drawn


def _of_crowds(padding: Padding, crowd_of: NDArray[np.int64]) -> _Labels:
    """Average the members' predictions over each crowd, before they are moved to the scale.

    Means lie nearer to each other than people do. They are moved from everybody's mean until they
    are as far apart as people: who learns from the rows would else take people for much alike.
    """
    people = np.bincount(crowd_of).astype(np.float64)
    sums = np.array([np.bincount(crowd_of, weights=factor) for factor in padding.user_factors.T])
    means = sums.T / people[:, None]
    middle = sums.sum(axis=1) / crowd_of.size
    placed = padding.coordinates()  # distances between people are those between their predictions
    sums = np.array([np.bincount(crowd_of, weights=one) for one in placed.T])
    between = float((sums**2 / people).sum())
    within = float((placed.astype(np.float64) ** 2).sum())
    apart = min(_APART, math.sqrt(within / between)) if between > 0 else 1.0
    return _Labels(middle + apart * (means - middle), padding.item_factors, padding.item_offset)


def _blocks(
    ratings: Ratings,
    drawn: _Drawn,
    order: NDArray[np.int64],
    classes: Dealt,
    labels: _Labels,
    step: float | None,
) -> Iterator[Records]:
    """Yield the rows in the order in which they are published."""
    lengths = np.diff(drawn.indptr)[order]
    block_of = (np.cumsum(lengths) - lengths) // _BLOCK_LABELS
    cuts = [0, *(np.flatnonzero(np.diff(block_of)) + 1).tolist(), order.size]
    for start, end in itertools.pairwise(cuts):
        rows = order[start:end]
        indptr = np.concatenate([[0], np.cumsum(lengths[start:end])])
        indices = np.empty(indptr[-1], np.int32)
        values = np.empty(indptr[-1])
        _label(rows, classes.crowd_of, *drawn, *labels, indptr, indices, values)
        yield Records(classes.sizes[rows], indptr, indices, ratings.scale.round(values, step))


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
