"""Inference of new items of a user from lists of similar items on two days.

Source: Calandrino, Kilzer, Narayanan, Felten, Shmatikov, "You might also like: privacy risks of
collaborative filtering", IEEE S&P 2011, section V-A (related-items lists).
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks.knowledge import choose_targets
from recveil.attacks.statistics import FEWEST, Interval, ratio_interval
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]
# Most targets.
_MOST_TARGETS = 1_000
# An item is inferred if it rises in the lists of this share of the known items, and of two.
_SHARE, _LEAST = 0.5, 2
# The intervals of two figures together have 95% confidence, as the headline is the stronger one.
_CONFIDENCE = 0.975
# An item rises in a list if it overtakes so many others.
_OVERTAKEN = 2


@brief
class SimilarItems(NamedTuple):
    """Lists of similar items: 1 divided by the rank of each, shape (n_items, n_items)."""

    strengths: sparse.csr_array
    length: int

    @classmethod
    def of(
        cls, items: NDArray[np.int64], similar: NDArray[np.int64], ranks: NDArray[np.int64], n: int
    ) -> Self:
        """Build lists from parallel columns of positions and ranks, for n items."""
        shape = (n, n)
        strengths = sparse.csr_array(sparse.coo_array((1.0 / ranks, (items, similar)), shape=shape))
        return cls(strengths, int(ranks.max(initial=0)))

    def ranks_of(self, item: int) -> dict[int, int]:
        """Return the similar items of an item, with their ranks."""
        cells = slice(self.strengths.indptr[item], self.strengths.indptr[item + 1])
        ranks = np.rint(1 / self.strengths.data[cells]).astype(np.int64)
        return dict(zip(self.strengths.indices[cells].tolist(), ranks.tolist(), strict=True))


class InferredItems(NamedTuple):
    """Items that an adversary infers that users rated between two days."""

    # Users with new ratings and enough earlier ones
    n_targets: int
    # Number of earlier items that the adversary knows of each
    known: int
    # Share of inferred items that the target rated; nan if none was inferred
    precision: Interval
    # Share of the targets' new items that were inferred
    recall: Interval
    # Share of targets whose strongest candidate is one of their new items
    first: Interval
    # The control: the same inferences, compared with the new items of another user
    control: Interval
    first_control: Interval
    # The baseline: as many guesses of the items that rise in most lists
    baseline: Interval
    first_baseline: Interval


def rises(before: SimilarItems, after: SimilarItems) -> sparse.csr_array:
    """Mark the similar items that overtake at least two others, as rank 1 to n, absent n + 1.

    An item that falls lets each lower one overtake one item.
    """
    rows, columns = [], []
    for item in range(after.strengths.shape[0]):
        old, new = before.ranks_of(item), after.ranks_of(item)
        if not new:
            continue
        listed = [*new]
        at, was = np.array([*new.values()]), np.array([old.get(each, np.inf) for each in listed])
        is_at = np.array([new.get(each, np.inf) for each in old])
        overtaken = (np.array([*old.values()]) < was[:, None]) & (is_at > at[:, None])
        risen = np.flatnonzero(overtaken.sum(axis=1) >= _OVERTAKEN)
        rows += [item] * risen.size
        columns += [listed[each] for each in risen]
    ones, shape = np.ones(len(rows)), after.strengths.shape
    return sparse.csr_array(sparse.coo_array((ones, (rows, columns)), shape=shape))


def infer_new_items(
    ratings: Ratings,
    before: SimilarItems,
    after: SimilarItems,
    day: int,
    known: int = 8,
    seed: int = 0,
) -> InferredItems:
    """Infer what each of some users rated from a day on, from lists of the day before and of today.

    An item that the target rates becomes more similar to all items that the target rated. It is a
    candidate if it rises in the lists of known items; the more of them, and the fewer other lists
    it rises in, the stronger.

    Parameters
    ----------
    ratings : Ratings
        With days: earlier ratings are what adversaries may know, later ones what they infer.
    before, after : SimilarItems
    day : int
        The first day after the lists `before`, in days since 1970-01-01.
    known : int
        How many earlier items of a target the adversary knows, drawn at random.
    seed : int

    Raises
    ------
    RecveilError
        If the ratings have no days, or too few users have enough earlier and later ones.
    """
    if ratings.days is None:
        raise RecveilError(
            "since (--since): the table has no times; name their column with time (--time)",
            code="option.unsupported",
        )
    is_new, rows = ratings.days >= day, ratings.user_positions()
    n_new = np.bincount(rows[is_new], minlength=ratings.n_users)
    able = np.flatnonzero((n_new > 0) & (ratings.activity - n_new >= known))
    if able.size < 2:
        raise RecveilError(
            f"since (--since): {describe_count(able.size, 'user')} with {known} earlier ratings "
            f"and a new one; expected at least 2, and {FEWEST} for a reliable rate; change since "
            f"or known",
            code="table.too-few-users",
        )
    targets = able[choose_targets(able.size, _MOST_TARGETS, seed)].tolist()
    risen = rises(before, after)
    by_item: Numbers = np.asarray(risen.sum(axis=0), np.float64).ravel()
    n_lists = max(int((np.diff(after.strengths.indptr) > 0).sum()), 1)
    weights: Numbers = np.log((n_lists + 1) / (by_item + 0.5))
    rng, guesses = np.random.default_rng([seed, 7]), []
    gained = [_items(ratings, user, is_new) for user in targets]
    for user in targets:
        earlier = _items(ratings, user, ~is_new)
        auxiliary = earlier[rng.permutation(earlier.size)[:known]]
        guesses.append(_guess(risen, auxiliary, weights, by_item))
    others = [gained[-1], *gained[:-1]]
    return InferredItems(
        len(targets),
        known,
        precision=_share([each.inferred for each in guesses], gained),
        recall=_recall([each.inferred for each in guesses], gained),
        first=_share([each.first for each in guesses], gained, each_counts=True),
        control=_share([each.inferred for each in guesses], others),
        first_control=_share([each.first for each in guesses], others, each_counts=True),
        baseline=_share([each.frequent for each in guesses], gained),
        first_baseline=_share([each.most_frequent for each in guesses], gained, each_counts=True),
    )


def _items(ratings: Ratings, user: int, wanted: NDArray[np.bool_]) -> NDArray[np.int32]:
    cells = slice(ratings.indptr[user], ratings.indptr[user + 1])
    return ratings.indices[cells][wanted[cells]]


@brief
class _Guess(NamedTuple):
    inferred: NDArray[np.int64]
    # The strongest candidates, all equally strong
    first: NDArray[np.int64]
    frequent: NDArray[np.int64]
    most_frequent: NDArray[np.int64]


def _guess(
    risen: sparse.csr_array, auxiliary: NDArray[np.int32], weights: Numbers, by_item: Numbers
) -> _Guess:
    counts = np.asarray(risen[np.sort(auxiliary)].sum(axis=0)).ravel()
    counts[auxiliary] = 0
    inferred = np.flatnonzero(counts >= max(_LEAST, _SHARE * auxiliary.size))
    scores = counts * np.maximum(weights, 1e-6)
    first = np.flatnonzero(scores >= scores.max() - 1e-9) if scores.max() > 0 else inferred[:0]
    frequency = by_item.copy()
    frequency[auxiliary] = -1
    order = np.argsort(-frequency, kind="stable")
    return _Guess(inferred, first, order[: inferred.size], order[:1])


def _share(
    guesses: list[NDArray[np.int64]],
    gained: list[NDArray[np.int32]],
    *,
    each_counts: bool = False,
) -> Interval:
    """Return the share of guesses that are right; of each target's one guess with `each_counts`."""
    right = np.array(
        [float(np.isin(guess, new).sum()) for guess, new in zip(guesses, gained, strict=True)]
    )
    sizes = np.array([float(guess.size) for guess in guesses])
    if each_counts:
        right, sizes = right / np.maximum(sizes, 1), np.ones(sizes.size)
    return ratio_interval(right, sizes, _CONFIDENCE)


def _recall(guesses: list[NDArray[np.int64]], gained: list[NDArray[np.int32]]) -> Interval:
    right = [np.isin(new, guess).sum() for guess, new in zip(guesses, gained, strict=True)]
    return ratio_interval(right, [new.size for new in gained])
