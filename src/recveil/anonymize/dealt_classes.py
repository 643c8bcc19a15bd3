"""Dealt classes: crowds dealt into classes of people who share a row, and the items of each."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.rare_items import deal_rare
from recveil.anonymize.support_drawing import Choices, draw_supports
from recveil.brief import brief


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
class DrawnItems(NamedTuple):
    """Which items stand in the row of each class, in compressed rows."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def with_more(self, rows: NDArray[np.int64], items: NDArray[np.int32]) -> "DrawnItems":
        """Return the rows with other items in their places among these."""
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
    """Draw the items of each class: common ones by tastes, rare ones by how often each is rated.

    Parameters
    ----------
    choices : Choices
        Of the classes, among common items.
    kept : tuple of ndarray of int32
        Common and rare items.
    of_rare : ndarray, shape (n_rare,)
        How many of these people shall have each rare item, on average.
    classes : Dealt
    rng : Generator
    """
    common, rare = kept
    rows, items = deal_rare(of_rare, classes.lengths[:, 1], classes.sizes, rng)
    others = np.bincount(rows, minlength=classes.sizes.size)
    indptr, indices = draw_supports(choices, rng, others)
    drawn = DrawnItems(indptr, common[indices])
    return drawn.with_more(rows, rare[items]) if rare.size else drawn
