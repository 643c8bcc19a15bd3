"""People model: from which synthetic people are drawn. Nothing in it is anybody's."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from recveil.anonymize.synthetic.drawing_choices import (
    blocks_of,
    draw_crowd,
    draw_orders,
    pick_items,
)
from recveil.anonymize.synthetic.drawn_labels import LabelSides
from recveil.blas import one_thread
from recveil.brief import brief
from recveil.compiled import compiled
from recveil.ratings import RatingScale
from recveil.release.records import Records
from recveil.release.synthetic_form import label_levels, tenths_of

Numbers = NDArray[np.float64]
Small = NDArray[np.float32]

# Tastes explain so much of what else would be chance, at most.
_MOST_EXPLAINED = 0.8
# The crowd that tells how much they explain.
_CROWD = 500


@brief
class PeopleModel(NamedTuple):
    """A rule by which people are drawn: public in all its parts.

    Attributes
    ----------
    offsets : ndarray of float32, shape (n_items,)
        Log-odds with which an item is rated, up to an offset of the person.
    tastes : ndarray of float32, shape (n_items, 1 + n_directions)
        How these grow with the person's own tastes; the first column with how much they rate.
    activity : ndarray of float64, shape (n_activities,)
        Numbers of ratings, equally likely, ascending.
    worth : ndarray of float64, shape (n_items,)
        Of items, on the hidden scale of `recveil.anonymize.synthetic.drawn_labels`.
    cuts : ndarray of float64, shape (n_levels - 1,)
    strictness, chance : float
        How much people differ there, and how much ratings of one person of equal items do, whether
        by taste or by chance.
    tilts : ndarray of float64, shape (n_directions,)
        For each direction of tastes, how much an item is liked more by whoever is likelier to rate
        it, in the hidden scale's spreads a unit of log-odds.
    likings : ndarray of float64, shape (n_directions,)
        How much people differ in liking along each direction, whatever they choose.
    scale : RatingScale
    """

    offsets: Small
    tastes: Small
    activity: Numbers
    worth: Numbers
    cuts: Numbers
    strictness: float
    chance: float
    tilts: Numbers
    likings: Numbers
    scale: RatingScale

    def of_items(self, order: NDArray[np.int64]) -> "PeopleModel":
        """Return the same rule with its items in another order."""
        return self._replace(
            offsets=self.offsets[order], tastes=self.tastes[order], worth=self.worth[order]
        )

    def draw(
        self, n_people: int, rng: np.random.Generator, *, whole: bool = False
    ) -> Iterator[Records]:
        """Draw people with their ratings, block by block.

        Parameters
        ----------
        n_people : int
        rng : Generator
        whole : bool
            Labels are levels of the scale, with all their spread. Otherwise they are tenths of a
            step: the mean of what the person would give if they liked the item, or if not.

        Yields
        ------
        Records
            One person each.
        """
        activity, everybody = draw_crowd(self.activity, self.tastes, n_people, rng)
        orders = draw_orders(len(self.offsets), rng)
        chance = self._chance_beside_tastes(orders)
        for some in blocks_of(n_people, len(self.offsets)):
            block = self._draw_block(everybody[some], activity[some], orders, rng)
            hidden = self.worth[block.indices] + block.values
            strict = rng.normal(size=some.stop - some.start)
            hidden += np.repeat(strict, np.diff(block.indptr)) * self.strictness
            yield replace(block, values=self._labels(hidden, chance, rng, whole))

    def _chance_beside_tastes(self, orders: NDArray[np.int64]) -> float:
        """Return how much is left to chance, as tastes spread ratings, too."""
        explained = min(self._explained(orders), _MOST_EXPLAINED * self.chance**2)
        return float(np.sqrt(self.chance**2 - explained))

    def within_bounds(self) -> "PeopleModel":
        """Return the same rule, with tastes that explain no more of ratings than they may."""
        explained = self._explained(np.arange(len(self.offsets))[None])
        most = _MOST_EXPLAINED * self.chance**2
        if explained <= most:
            return self
        shorter = np.sqrt(most / explained)
        return self._replace(tilts=shorter * self.tilts, likings=shorter * self.likings)

    def _explained(self, orders: NDArray[np.int64]) -> float:
        """Return how much tastes alone spread ratings, as a variance."""
        rng = np.random.default_rng(0)
        activity, everybody = draw_crowd(self.activity, self.tastes, _CROWD, rng)
        blocks = [
            self._draw_block(everybody[some], activity[some], orders, rng)
            for some in blocks_of(_CROWD, len(self.offsets))
        ]
        return float(np.concatenate([block.values for block in blocks]).var())

    def _draw_block(
        self,
        own: Small,
        activity: Numbers,
        orders: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Records:
        """Return which items people rate, and as values by how much tastes make them like these."""
        tastes = np.ascontiguousarray(self.tastes[:, 1:])
        chosen_by = (own[:, 1:] * self.tilts).astype(np.float32)
        liking = (self.likings * rng.normal(size=chosen_by.shape)).astype(np.float32)
        chances, picked = pick_items(own, activity, self.offsets, self.tastes, orders, rng)
        people, items = np.nonzero(picked)
        # Who is likelier to rate an item is compared with the others who rate it.
        with one_thread():
            usual = np.einsum("ij,ij->i", chances.T @ chosen_by, tastes)
        usual /= np.maximum(chances.sum(axis=0), 1e-9)
        by_taste = _products_at(people, items, chosen_by + liking, tastes) - usual[items]
        counts = np.bincount(people, minlength=len(own))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return Records(np.ones(len(own), np.int64), indptr, items.astype(np.int32), by_taste)

    def _labels(
        self, hidden: Numbers, chance: float, rng: np.random.Generator, whole: bool
    ) -> Numbers:
        levels = label_levels(self.scale)
        if whole or self.scale.words:  # nothing lies between two words
            hidden = hidden + rng.normal(size=hidden.size) * chance
            return self.scale.round(levels[np.searchsorted(self.cuts, hidden)])
        sides = LabelSides.of(self.cuts, chance, levels, self.scale)
        likes = rng.random(hidden.size) < np.interp(hidden, sides.places, sides.liked)
        liked = np.interp(hidden, sides.places, sides.if_liked)
        labels = np.where(likes, liked, np.interp(hidden, sides.places, sides.if_not))
        return self.scale.round(labels, tenths_of(self.scale))


@compiled(parallel=True)
def _products_at(rows, columns, left, right):  # type: ignore[no-untyped-def]
    """Return the products of some rows of two matrices, shape (n_places,)."""
    products = np.empty(len(rows), np.float64)
    for place in prange(len(rows)):
        total = 0.0
        for part in range(left.shape[1]):
            total += left[rows[place], part] * right[columns[place], part]
        products[place] = total
    return products
