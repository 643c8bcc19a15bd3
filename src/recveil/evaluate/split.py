"""Hold-out: ratings that nobody may learn from, to judge what was learnt from the others."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.ratings import Ratings


@brief
class HeldOut(NamedTuple):
    """Cells of the table whose ratings are kept aside, sorted by user, then item.

    Attributes
    ----------
    users, items : ndarray of int64, shape (n_cells,)
        Positions in the training ratings.
    values : ndarray of float64, shape (n_cells,)
        The original ratings.
    """

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    values: NDArray[np.float64]

    def of_users(self, chosen: NDArray[np.bool_]) -> "HeldOut":
        """Return the cells of the marked users, shape (n_users,), such as those in a release.

        Examples
        --------
        >>> test = HeldOut(np.array([0, 1, 1]), np.array([5, 5, 6]), np.array([1.0, 2.0, 3.0]))
        >>> test.of_users(np.array([False, True])).values
        array([2., 3.])
        """
        kept = chosen[self.users]
        return HeldOut(self.users[kept], self.items[kept], self.values[kept])


@brief
class Split(NamedTuple):
    """Ratings to learn from, and cells to judge by.

    Attributes
    ----------
    train : Ratings
        All users and items of the original, some with fewer ratings or (items) with none.
    test : HeldOut
    """

    train: Ratings
    test: HeldOut


def split_ratings(ratings: Ratings, share: float = 0.2, seed: int = 0) -> Split:
    """Hold out a share of each user's ratings, chosen at random.

    Parameters
    ----------
    ratings : Ratings
    share : float
        Between 0 and 1, both excluded. Of a user's n ratings ``floor(share n + 1/2)`` are held
        out, but never their last one.
    seed : int
        Draws the ratings.

    Returns
    -------
    Split
        Positions of users and items are those of `ratings`.

    Raises
    ------
    RecveilError
        If the share is not between 0 and 1, or so small that nothing is held out.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 1, 1, 2], [1, 2, 3, 4, 1], [5, 4, 3, 2, 1])
    >>> train, test = split_ratings(ratings, 0.5)
    >>> train.activity, test.users
    (array([2, 1]), array([0, 0]))
    """
    if not 0 < share < 1:
        raise RecveilError(
            f"share is {share}; expected a number between 0 and 1, such as 0.2", code="option.value"
        )
    wanted = np.floor(share * ratings.activity + 0.5).astype(np.int64)
    wanted = np.minimum(wanted, np.maximum(ratings.activity - 1, 0))
    if not wanted.any():
        raise RecveilError(
            f"a share of {share} holds out nothing: nobody has enough ratings; raise the share",
            code="table.too-few-ratings",
        )
    keys = np.random.default_rng(seed).random(ratings.n_ratings)
    held = lowest_in_rows(ratings.indptr, keys, wanted)
    users = ratings.user_positions()[held].astype(np.int64)
    items = ratings.indices[held].astype(np.int64)
    values = ratings.scale.round(ratings.values[held])
    return Split(_without(ratings, held), HeldOut(users, items, values))


@brief
class Matched(NamedTuple):
    """Ratings of a separate file, found in the training ratings.

    Attributes
    ----------
    test : HeldOut
        The cells whose user and item are known.
    unknown_users, unknown_items : int
        How many users and items of the file the training ratings do not have.
    left_out : int
        Ratings of the file that were left out: their user or item is unknown.
    also_in_training : int
        Ratings of the file that were left out: the training ratings have the same cell, so that
        it could be judged by nothing but memory.
    """

    test: HeldOut
    unknown_users: int
    unknown_items: int
    left_out: int
    also_in_training: int


def match_held_out(train: Ratings, test: Ratings) -> Matched:
    """Find the cells of a separate test file in the training ratings, by their labels.

    Parameters
    ----------
    train, test : Ratings
        Ids must be of one kind (whole numbers or text) in both.

    Raises
    ------
    RecveilError
        If the ids are of different kinds, or no cell is left.

    Examples
    --------
    >>> train = Ratings.from_columns(["ann", "ben"], [1, 2], [4, 2])
    >>> test = Ratings.from_columns(["ann", "ben", "eve"], [2, 2, 1], [5, 2, 1])
    >>> found = match_held_out(train, test)
    >>> found.test.users, found.test.items, found.unknown_users, found.also_in_training
    (array([0]), array([1]), 1, 1)
    """
    user_of = _positions(test.users, train.users, "user")
    item_of = _positions(test.items, train.items, "item")
    users, items = user_of[test.user_positions()], item_of[test.indices]
    known = (users >= 0) & (items >= 0)
    cells = train.user_positions().astype(np.int64) * train.n_items + train.indices
    repeated = known & np.isin(users * train.n_items + items, cells)
    kept = np.flatnonzero(known & ~repeated)
    if not kept.size:
        raise RecveilError(
            f"none of the {test.n_ratings} test ratings can judge anything: expected cells of "
            f"known users and items that the training ratings do not have; give another file",
            code="evaluation.no-test-ratings",
        )
    kept = kept[np.lexsort([items[kept], users[kept]])]
    values = test.scale.round(test.values[kept])
    return Matched(
        test=HeldOut(users[kept], items[kept], values),
        unknown_users=int((user_of < 0).sum()),
        unknown_items=int((item_of < 0).sum()),
        left_out=int((~known).sum()),
        also_in_training=int(repeated.sum()),
    )


def lowest_in_rows(
    indptr: NDArray[Any], keys: NDArray[Any], wanted: NDArray[Any]
) -> NDArray[np.bool_]:
    """Mark the cells with the lowest keys of each row, as many as are wanted of it.

    Examples
    --------
    >>> lowest_in_rows(np.array([0, 3, 4]), np.array([0.3, 0.1, 0.2, 0.5]), np.array([2, 0]))
    array([False,  True,  True, False])
    """
    row_of = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    order = np.lexsort([keys, row_of])
    rank = np.arange(keys.size) - indptr[row_of]  # rows stay where they are
    marked = np.zeros(keys.size, np.bool_)
    marked[order] = rank < wanted[row_of]
    return marked


def _without(ratings: Ratings, held: NDArray[np.bool_]) -> Ratings:
    kept = ~held
    lengths = np.bincount(ratings.user_positions()[kept], minlength=ratings.n_users)
    return Ratings(
        users=ratings.users,
        items=ratings.items,
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        indices=ratings.indices[kept],
        values=ratings.values[kept],
        days=None if ratings.days is None else ratings.days[kept],
        scale=ratings.scale,
    )


def _positions(labels: NDArray[Any], known: NDArray[Any], what: str) -> NDArray[np.int64]:
    """Return the position of each label among the known ones, -1 if it is not there."""
    if labels.dtype != known.dtype:
        kinds = [
            "text" if kind.hasobject else "whole numbers" for kind in (labels.dtype, known.dtype)
        ]
        raise RecveilError(
            f"{what} ids are {kinds[0]} in the test ratings, but {kinds[1]} in the training "
            f"ratings; expected one kind; write both files alike",
            code="id.type",
        )
    found = pc.index_in(pa.array(labels), value_set=pa.array(known))
    return np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)
