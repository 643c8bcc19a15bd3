"""What publishers do today: samples, perturbation, filters, shifted dates; no guarantee."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.methods.base import Blocks
from recveil.methods.baselines.perturbation import (
    Pseudonymizer,
    check_probability,
    places_of,
    randomize,
)
from recveil.ratings import Ratings
from recveil.release.records import Groups, Records
from recveil.release.specs.baselines import CHANGED_SHARE, MAX_SHIFT, MIN_RATINGS, USER_SHARE
from recveil.runtime.errors import RecveilError


class UserSample(Pseudonymizer):
    """Publish the ratings of a random sample of the users unchanged, without a guarantee.

    Each sampled user is as exposed as in the whole table, or more: there are fewer others. The
    sample protects only by the chance to be left out, and the rows reveal who is in it.

    Parameters
    ----------
    share : float
        Share of the users who are published, above 0 and below 1; at least one is.
    seed : int, optional
        Fixes the sample and the order of the records.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 5: Netflix published less than a tenth of its data.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 3], ["a", "b", "b", "a"], [5, 1, 2, 3])
    >>> release = UserSample(0.4, seed=1).anonymize(ratings)  # 0.4 of 3 users: 1
    >>> release.published.n_users, release.published.claim.kind
    (1, 'nothing')
    """

    method = "user sample"

    def __init__(self, share: float = USER_SHARE, *, seed: int | None = None) -> None:
        self.share = share
        super().__init__(seed=seed)

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_probability("share", self.share)

    def _table(self, ratings: Ratings, rng: np.random.Generator) -> Ratings:
        is_sampled = np.zeros(ratings.n_users, np.bool_)
        n_sampled = max(1, round(self.share * ratings.n_users))
        is_sampled[rng.choice(ratings.n_users, n_sampled, replace=False)] = True
        return _only(ratings, is_sampled[ratings.user_positions()])


class NetflixPerturbation(Pseudonymizer):
    """Change, remove and add a small share of the ratings, without a guarantee.

    Parameters
    ----------
    share : float
        Of the ratings, so many are removed, so many of the others get another level, and as many
        are added; above 0 and below 1.
    seed : int, optional
        Fixes the changes and the order of the records.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 5. Netflix did not say how much it perturbed; of two
    subscribers' records, the paper found 1 of 306 and 5 of 229 ratings altered, and cannot count
    removed ratings and moved dates. Our reading: 2 % of each kind, the rate of the second record.
    The other levels are equally likely; an added rating copies a random one of the table, and is
    left out if the user has that item. A user of whom nothing would be left keeps all ratings.
    Dates are dropped, as in every release.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> (block,) = NetflixPerturbation(0.1, seed=1).anonymize(ratings).published.blocks()
    >>> len(block), block.values.size
    (50, 377)
    """

    method = "netflix perturbation"

    def __init__(self, share: float = CHANGED_SHARE, *, seed: int | None = None) -> None:
        self.share = share
        super().__init__(seed=seed)

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_probability("share", self.share)

    def _table(self, ratings: Ratings, rng: np.random.Generator) -> Ratings:
        users, n_items = ratings.user_positions().astype(np.int64), ratings.n_items
        is_kept = rng.random(users.size) >= self.share
        n_kept = np.bincount(users[is_kept], minlength=ratings.n_users)
        is_kept |= n_kept[users] == 0
        cells = users * n_items + ratings.indices
        raw = ratings.scale.round(ratings.values)
        values = randomize(raw, ratings.scale, 1 - self.share, rng)
        receivers = users[rng.random(users.size) < self.share]
        copied = rng.integers(users.size, size=receivers.size)
        new_cells, first = np.unique(
            receivers * n_items + ratings.indices[copied], return_index=True
        )
        is_new = ~np.isin(new_cells, cells)
        cells = np.concatenate([cells[is_kept], new_cells[is_new]])
        values = np.concatenate([values[is_kept], raw[copied][first][is_new]])
        order = np.argsort(cells)
        rows, items = np.divmod(cells[order], n_items)
        return _of_cells(ratings, rows, items, values[order])


class KCore(Pseudonymizer):
    """Publish the users and items with enough ratings unchanged, without a guarantee.

    The filter is meant for recommenders, which learn little from rare items. It removes the rarest
    items, which identify best, and the users with few ratings; all others remain as exposed.

    Parameters
    ----------
    min_ratings : int
        Each published user and item has at least so many published ratings.
    seed : int, optional
        Fixes the order of the records.

    Notes
    -----
    Source: common in data sets for recommender systems, such as the 5-core tables of Amazon
    reviews (McAuley et al. 2015). Users and items are removed in turns until all have enough.
    This k is no k-anonymity.

    Examples
    --------
    User 3 has one rating; without it, b has one too.

    >>> users, items = [1, 1, 2, 2, 2, 3], ["a", "c", "a", "b", "c", "b"]
    >>> ratings = Ratings.from_columns(users, items, [5, 1, 2, 3, 4, 5])
    >>> (block,) = KCore(2, seed=1).anonymize(ratings).published.blocks()
    >>> ratings.items[block.indices].tolist()
    ['a', 'c', 'a', 'c']
    """

    method = "k-core"

    def __init__(self, min_ratings: int = MIN_RATINGS, *, seed: int | None = None) -> None:
        self.min_ratings = min_ratings
        super().__init__(seed=seed)

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        _check_whole("min_ratings", self.min_ratings)

    def _table(self, ratings: Ratings, _rng: np.random.Generator) -> Ratings:
        sides = ratings.user_positions(), ratings.indices
        is_kept = np.ones(ratings.n_ratings, np.bool_)
        n_before = -1
        while n_before != (n_before := int(is_kept.sum())):
            for side in sides:
                is_kept &= np.bincount(side[is_kept], minlength=side.max() + 1)[side] >= (
                    self.min_ratings
                )
        if not n_before:
            raise RecveilError(
                f"min_ratings is {self.min_ratings}, but no users and items have so many ratings "
                f"of each other; lower it",
                code="table.too-few-ratings",
            )
        return _only(ratings, is_kept)


class DateShift(Pseudonymizer):
    """Publish the ratings with all dates of a user shifted by one offset, without a guarantee.

    The differences of a user's dates are unchanged, which identify more than ratings alone.

    Parameters
    ----------
    max_shift : int
        Each user's offset is drawn uniformly from minus to plus so many days.
    seed : int, optional
        Fixes the offsets and the order of the records.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1], ["a", "b"], [5, 1], [14000, 14003])
    >>> (block,) = DateShift(seed=1).anonymize(ratings).published.blocks()
    >>> np.diff(block.days)
    array([3], dtype=int32)
    """

    method = "date shift"
    reads_times = True

    def __init__(self, max_shift: int = MAX_SHIFT, *, seed: int | None = None) -> None:
        self.max_shift = max_shift
        super().__init__(seed=seed)

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        _check_whole("max_shift", self.max_shift)
        if ratings.days is None:
            raise RecveilError(
                "no times are known of the ratings, so there are no dates to shift; name the "
                "column of times (--time), or leave out date-shift",
                code="time.missing",
            )

    def _publish(self, ratings: Ratings, rng: np.random.Generator) -> tuple[Groups, Blocks]:
        groups, undated = super()._publish(ratings, rng)
        most = self.max_shift
        offsets = rng.integers(-most, most, ratings.n_users, np.int32, endpoint=True)
        days = np.asarray(ratings.days, np.int32) + offsets[ratings.user_positions()]

        def blocks() -> Iterator[Records]:
            first = 0
            for block in undated():
                users = groups.members[first : first + len(block)]
                yield replace(block, days=days[places_of(ratings, users)[1]])
                first += len(block)

        return groups, blocks


def _check_whole(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise RecveilError(
            f"{name} is {value!r}; expected a whole number of at least 1", code="argument.value"
        )


def _only(ratings: Ratings, is_kept: NDArray[np.bool_]) -> Ratings:
    """Return some of the ratings, and the users who have any."""
    rows, values = ratings.user_positions()[is_kept], ratings.values[is_kept]
    return _of_cells(ratings, rows, ratings.indices[is_kept], values)


def _of_cells(
    ratings: Ratings, rows: NDArray[Any], items: NDArray[Any], values: NDArray[Any]
) -> Ratings:
    """Return a table of cells in order of users and items, with all items of another."""
    users, lengths = np.unique(rows, return_counts=True)
    return Ratings(
        users=ratings.users[users],
        items=ratings.items,
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        indices=items,
        values=values,
        days=None,
        scale=ratings.scale,
    )
