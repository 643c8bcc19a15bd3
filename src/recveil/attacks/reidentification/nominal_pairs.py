"""Nominal labels as implicit feedback on pairs of item and label.

Nominal labels have no distance: two labels are equal or different. Each pair of item and label is
therefore an item of its own, and attacks treat it like a like.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.candidates import Candidates
from recveil.attacks.release_target import ReleasedTable
from recveil.ratings import Ratings
from recveil.ratings.rating_scale import LIKES
from recveil.release.records import Records
from recveil.release.sides import Anonymizer, Sides

# Separates an item from a label; no label contains it.
_BETWEEN = "\x1f"


def pairs_of(ratings: Ratings) -> Ratings:
    """Return implicit feedback in which each pair of item and label is an item."""
    words = ratings.scale.words
    items: NDArray[Any] = np.array(
        [f"{item}{_BETWEEN}{word}" for item in ratings.items.tolist() for word in words], object
    )
    indices = _paired(ratings.indices, ratings.values, len(words))
    ones = np.ones_like(ratings.values)
    return Ratings(ratings.users, items, ratings.indptr, indices, ones, ratings.days, LIKES)


def released_pairs(table: ReleasedTable, ratings: Ratings) -> ReleasedTable:
    """Convert a release of nominal labels to one of pairs."""
    n_words = len(ratings.scale.words)
    indices = _paired(table.indices, table.values, n_words)
    values = np.ones_like(table.values)
    records = Records(table.candidates.sizes, table.indptr, indices, values)
    candidates = Candidates.from_records([records], ratings.n_items * n_words, LIKES)
    return replace(table, candidates=candidates, indices=indices, values=values)


def _paired(items: NDArray[np.int32], numbers: NDArray[Any], n_words: int) -> NDArray[np.int32]:
    """Return the position of each pair."""
    places = items.astype(np.int64) * n_words + np.rint(numbers).astype(np.int64) - 1
    return places.astype(np.int32)


class OfPairs:
    """Anonymizes pairs with an anonymizer of the nominal labels."""

    def __init__(self, anonymizer: Anonymizer, words: Ratings) -> None:
        self.anonymizer, self.words = anonymizer, words

    def anonymize(self, pairs: Ratings) -> Sides:
        """Return a release of the pairs of some users."""
        n_words = len(self.words.scale.words)
        items, numbers = np.divmod(pairs.indices, n_words)
        own = Ratings(
            *(pairs.users, self.words.items, pairs.indptr, items.astype(np.int32)),
            *((numbers + 1).astype(np.float32), pairs.days, self.words.scale),
        )
        release = self.anonymizer.anonymize(own)

        def blocks() -> Iterator[Records]:
            for block in release.published.blocks():
                places = _paired(block.indices, block.values, n_words)
                yield replace(block, indices=places, values=np.ones_like(block.values))

        published = replace(
            release.published, items=pairs.items, scale=LIKES, blocks=blocks, expect=None
        )
        return Sides(published, release.private)
