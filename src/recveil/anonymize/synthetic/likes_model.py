"""Likes model: a rule by which people are drawn of whom it is only told what they like."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.synthetic.drawing_choices import (
    blocks_of,
    draw_crowd,
    draw_orders,
    pick_items,
)
from recveil.brief import brief
from recveil.release.records import Records

Numbers = NDArray[np.float64]
Small = NDArray[np.float32]


@brief
class LikesModel(NamedTuple):
    """A rule by which people who like items are drawn: public in all its parts.

    Attributes
    ----------
    offsets : ndarray of float32, shape (n_items,)
        Log-odds with which an item is liked, up to an offset of the person.
    tastes : ndarray of float32, shape (n_items, 1 + n_directions)
        How these grow with the person's own tastes; the first column with how much they like.
    activity : ndarray of float64, shape (n_activities,)
        Numbers of likes, equally likely, ascending.

    Examples
    --------
    >>> rule = LikesModel(np.zeros(3, np.float32), np.zeros((3, 1), np.float32), np.full(2, 2.0))
    >>> block, = rule.draw(4, np.random.default_rng(1))
    >>> np.diff(block.indptr).tolist(), set(block.values.tolist())
    ([2, 2, 2, 2], {1.0})
    """

    offsets: Small
    tastes: Small
    activity: Numbers

    def of_items(self, order: NDArray[np.int64]) -> "LikesModel":
        """Return the same rule with its items in another order."""
        return self._replace(offsets=self.offsets[order], tastes=self.tastes[order])

    def draw(self, n_people: int, rng: np.random.Generator) -> Iterator[Records]:
        """Draw people with what they like, block by block.

        Parameters
        ----------
        n_people : int
        rng : Generator

        Yields
        ------
        Records
            One person each, of at least one item; each label is 1.
        """
        activity, everybody = draw_crowd(self.activity, self.tastes, n_people, rng)
        orders = draw_orders(len(self.offsets), rng)
        for some in blocks_of(n_people, len(self.offsets)):
            _, picked = pick_items(
                everybody[some], activity[some], self.offsets, self.tastes, orders, rng
            )
            _, items = np.nonzero(picked)
            indptr = np.concatenate([[0], np.cumsum(picked.sum(axis=1))])
            sizes = np.ones(len(picked), np.int64)
            yield Records(sizes, indptr, items.astype(np.int32), np.ones(items.size))
