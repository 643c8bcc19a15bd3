"""Column order: whether items are rated as people rate, so that the two columns look swapped."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.inspect.counts import Spread
from recveil.ratings import Ratings
from recveil.ratings.people_ids import people_among

# With fewer ratings, somebody's days tell nothing; with fewer people or items, neither.
_RATINGS_EACH, _FEWEST = 5, 20
# People sit down and rate: of their ratings, one in forty to one in seven is of another day (in
# MovieLens, and in invented tables); items are rated on another day each time, nearly.
_APART_DAYS = 0.2
# Ratings gather on few items more than on few people: in all tables that we tried, by 0.09 to 0.39.
# So by less, in either direction, nothing is told.
_APART_GINI = 0.09


class ColumnOrder(NamedTuple):
    """Whether the columns of users and items look swapped.

    Attributes
    ----------
    looks_swapped : bool or None
        None if nothing tells.
    signs : tuple of str
        What speaks for it or against it, a sentence each.
    """

    looks_swapped: bool | None
    signs: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {"looks_swapped": self.looks_swapped, "signs": list(self.signs)}


def order_seen(
    ratings: Ratings, activity: Spread, popularity: Spread, *, is_named: bool = False
) -> ColumnOrder:
    """Say whether the columns of users and items look swapped.

    Three signs are looked at. Ids of the one look like those of people, and of the other do not;
    people rate many items in one sitting, so that their ratings are of few days, and those of an
    item of many; and ratings gather on few items more than on few people. The first that tells
    decides. None is a proof.

    Parameters
    ----------
    ratings : Ratings
    activity, popularity : Spread
        Of the ratings of people, and of items.
    is_named : bool
        Both columns have names that say what they hold: then where ratings gather cannot say that
        they are swapped.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> from recveil.inspect.counts import spread_of
    >>> made = make_ratings(n_users=400, n_items=200, n_ratings=8_000, seed=1)
    >>> order_seen(made, spread_of(made.activity), spread_of(made.support)).looks_swapped
    False
    """
    by_ids = _by_ids(ratings)
    if min(ratings.n_users, ratings.n_items) < _FEWEST:
        says, sign = by_ids
        return ColumnOrder(says, (sign or "There are too few users or items to tell.",))
    told, signs = [], []
    what = "likes" if ratings.is_unary else "ratings"
    by_spread = _by_spread(activity, popularity, what)
    by_spread = (None, "") if is_named and by_spread[0] else by_spread
    for says, sign in (by_ids, _by_days(ratings), by_spread):
        if says is not None:
            told.append(says)
            signs.append(sign)
    return ColumnOrder(told[0] if told else None, tuple(signs))


def _by_ids(ratings: Ratings) -> tuple[bool | None, str]:
    """Say whose ids look like those of people."""
    users, items = (people_among(labels) for labels in (ratings.users, ratings.items))
    if (users is None) == (items is None):
        return None, ""
    kind, times = users or items or ("", 0)
    whose = "items" if users is None else "users"
    of = f"id of {whose} looks" if times == 1 else f"ids of {whose} look"
    return users is None, f"{times:,} {of} like {kind}."


def _by_days(ratings: Ratings) -> tuple[bool | None, str]:
    if ratings.days is None:
        return None, ""
    shares = [
        _share_of_days(places, ratings.days, counts)
        for places, counts in (
            (ratings.user_positions(), ratings.activity),
            (ratings.indices, ratings.support),
        )
    ]
    people, items = shares
    if people is None or items is None or abs(people - items) < _APART_DAYS:
        return None, ""
    what, do = ("likes", "like") if ratings.is_unary else ("ratings", "rate")
    return people > items, (
        f"Of ten {what}, those of one user are of {10 * people:.1f} different days, and those of "
        f"one item of {10 * items:.1f} (medians); people {do} several things a day."
    )


def _share_of_days(
    places: NDArray[np.int32], days: NDArray[np.int32], counts: NDArray[np.int64]
) -> float | None:
    """Return the median number of different days a rating, of those with several ratings."""
    enough = counts >= _RATINGS_EACH
    if enough.sum() < _FEWEST:
        return None
    span = int(days.max()) - int(days.min()) + 1
    both = np.unique(places.astype(np.int64) * span + (days - days.min()))
    different = np.bincount(both // span, minlength=counts.size)
    return float(np.median(different[enough] / counts[enough]))


def _by_spread(activity: Spread, popularity: Spread, what: str) -> tuple[bool | None, str]:
    apart = popularity.gini - activity.gini
    if abs(apart) < _APART_GINI:
        return None, ""
    return apart < 0, (
        f"A tenth of the users gave {activity.top_tenth:.0%} of the {what}, and a tenth of the "
        f"items got {popularity.top_tenth:.0%} (Gini {activity.gini:.2f} and "
        f"{popularity.gini:.2f}); they mostly gather on items more."
    )
