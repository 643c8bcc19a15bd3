"""Split of a table of ratings into training and test ratings, to be written."""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.safe_repr import brief

SplitBy = Literal["user", "time"]


@brief
class TableSplit(NamedTuple):
    """Training and test ratings of a table, and the sentence that states how it was split."""

    train: Ratings
    test: Ratings
    rule: str
    valid: Ratings | None = None

    def with_validation(self, share: float, by: str = "user", seed: int = 0) -> "TableSplit":
        """Split the training ratings again, into training and validation ratings."""
        inner = split_table(self.train, share, by, seed, part="validation")
        return self._replace(train=inner.train, valid=inner.test)


def split_table(
    ratings: Ratings, share: float, by: str = "user", seed: int = 0, *, part: str = "test"
) -> TableSplit:
    """Hold out a share of each user's ratings at random, or the last ratings of the table.

    Users with the same items keep and lose the same ones: a copy of a row in a release would
    reveal to a recommender what is held out.
    """
    if by not in get_args(SplitBy):
        raise RecveilError(
            f"split_by (--split-by) is {quoted(by)}; expected {' or '.join(get_args(SplitBy))}",
            code="option.value",
        )
    if not 0 < share < 1:
        raise RecveilError(
            f"split (--split) is {share}; expected a share between 0 and 1, such as 0.2",
            code="option.value",
        )
    is_test, rule = _by_time(ratings, share) if by == "time" else _by_user(ratings, share, seed)
    if not is_test.any() or is_test.all():
        n_held = "all" if is_test.any() else "none"
        raise RecveilError(
            f"split (--split): with a share of {share}, {n_held} of the "
            f"{ratings.n_ratings:,} ratings are {part} ratings; expected some, and some not; "
            f"give another share, or more ratings",
            code="table.too-few-ratings",
        )
    return TableSplit(_only(ratings, ~is_test), _only(ratings, is_test), rule)


def _by_user(ratings: Ratings, share: float, seed: int) -> tuple[NDArray[np.bool_], str]:
    starts, lengths = ratings.indptr[:-1], ratings.activity
    first: dict[bytes, int] = {}
    row_of = [
        first.setdefault(ratings.indices[start : start + length].tobytes(), user)
        for user, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True))
    ]
    users = ratings.user_positions()
    within = np.arange(ratings.n_ratings) - starts[users]
    keys = np.random.default_rng(seed).random(ratings.n_ratings)
    keys = keys[starts[np.array(row_of)][users] + within]
    rank = np.empty(ratings.n_ratings, np.int64)
    rank[np.lexsort((keys, users))] = within
    wanted = np.minimum(np.floor(share * lengths + 0.5), np.maximum(lengths - 1, 0))
    rule = (
        f"{share:.0%} of each user's ratings, at random (seed {seed}); the same ones of users with "
        f"the same items"
    )
    return rank < wanted[users], rule


def _by_time(ratings: Ratings, share: float) -> tuple[NDArray[np.bool_], str]:
    days = ratings.days
    if days is None:
        raise RecveilError(
            "split_by (--split-by) is time, but the ratings have no times; split by user",
            code="option.unsupported",
        )
    ordered = np.sort(days)
    # A share such as 1 - 0.2 is not exact.
    last = ordered[max(1, int(np.ceil((1 - share) * days.size - 1e-9))) - 1]
    cut = ordered[-1] if last == ordered[-1] else last + 1
    rule = f"the ratings from {np.datetime64(int(cut), 'D')} on"
    return days >= cut, rule


def _only(ratings: Ratings, kept: NDArray[np.bool_]) -> Ratings:
    counts = np.bincount(ratings.user_positions()[kept], minlength=ratings.n_users)
    return Ratings(
        *(ratings.users, ratings.items, np.concatenate([[0], np.cumsum(counts)])),
        *(ratings.indices[kept], ratings.values[kept]),
        *(None if ratings.days is None else ratings.days[kept], ratings.scale),
    )
