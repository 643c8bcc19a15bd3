"""Publish items under pseudonyms."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.methods.base import with_private
from recveil.publish import Release
from recveil.ratings import Ratings
from recveil.release.method import HIDDEN_ITEMS
from recveil.release.private_folder import digest_of
from recveil.release.records import Records, fresh_prefix, pseudonyms
from recveil.release.sides import Anonymizer, Published


def anonymize_hidden(ratings: Ratings, anonymizer: Anonymizer, seed: int) -> Release:
    """Anonymize ratings, and replace each item's id by a pseudonym.

    Items are renamed and randomly reordered before anything else, so that no order within the
    release reveals the old one. The mapping is in the private folder.

    Notes
    -----
    An adversary can often infer an item from who else rated it and how; an audit of the release
    measures how often (`recveil.attacks.naming`).
    """
    # A generator of its own, as secret as that of the anonymizer.
    digest = int.from_bytes(ratings.digest()[:16], "big")
    rng = np.random.default_rng([seed, digest, 1])
    order = rng.permutation(np.flatnonzero(ratings.support > 0))
    prefix = fresh_prefix(ratings.items, rng, "i")
    names = np.array(pseudonyms(prefix, order.size, 0, order.size), dtype=object)
    sides = anonymizer.anonymize(_renamed(ratings, order, names))
    published = sides.published
    kept = _published_items(published)
    if not kept.all():  # a method may publish fewer; names without gaps reveal only their number
        names = np.array(pseudonyms(prefix, int(kept.sum()), 0, int(kept.sum())), dtype=object)
        published = replace(published, items=names, blocks=partial(_blocks_on, published, kept))
        order = order[kept]
    published = replace(
        published,
        settings={**published.settings, HIDDEN_ITEMS.name: HIDDEN_ITEMS.allowed[0]},
    )
    return with_private(
        Release(published, sides.private),
        items=ratings.items[order],
        ratings_sha256=digest_of(ratings),
        search_items=None,
    )


def _published_items(published: Published) -> NDArray[np.bool_]:
    """Return which items occur in a record; reading stops once all do."""
    found = np.zeros(published.items.size, np.bool_)
    for block in published.blocks():
        found[block.indices] = True
        if found.all():
            break
    return found


def _blocks_on(published: Published, kept: NDArray[np.bool_]) -> Iterator[Records]:
    """Yield the records, with positions among the published items."""
    place = (np.cumsum(kept) - 1).astype(np.int32)
    return (replace(block, indices=place[block.indices]) for block in published.blocks())


def _renamed(ratings: Ratings, order: np.ndarray, names: np.ndarray) -> Ratings:
    """Return the same ratings with the items in another order, under other names."""
    # The previous position of each rating, counted from 1, since a sparse table may drop zeros.
    places = np.arange(1, ratings.n_ratings + 1)
    shape = (ratings.n_users, ratings.n_items)
    table = sparse.csr_array((places, ratings.indices, ratings.indptr), shape=shape)
    moved = sparse.csr_array(table[:, order])
    moved.sort_indices()
    before = moved.data - 1
    return Ratings(
        users=ratings.users,
        items=names,
        indptr=moved.indptr,
        indices=moved.indices,
        values=ratings.values[before],
        days=None if ratings.days is None else ratings.days[before],
        scale=ratings.scale,
    )
