"""Detection of identifying and of swapped columns."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.inspection.first_rows import FirstRows
from recveil.inspection.statistics import Spread
from recveil.io.columns.ids import user_ids_among
from recveil.ratings import Ratings
from recveil.runtime.safe_repr import brief

# Below these numbers of ratings, users or items, the dates are not conclusive.
_RATINGS_EACH, _FEWEST = 5, 20
# Users rate in sessions: one in forty to one in seven of a user's ratings is on a new day (in
# MovieLens and in synthetic tables); nearly every rating of an item is.
_APART_DAYS = 0.2
# Ratings concentrate on items more than on users: in all tables that we tried, by 0.09 to 0.39. A
# smaller difference in either direction is not conclusive.
_APART_GINI = 0.09


class ColumnOrder(NamedTuple):
    """Whether the columns of users and items look swapped."""

    # None if undecided
    looks_swapped: bool | None
    # Evidence for or against it, one sentence each
    signs: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {"looks_swapped": self.looks_swapped, "signs": list(self.signs)}


def detect_order(
    ratings: Ratings, activity: Spread, popularity: Spread, *, is_named: bool = False
) -> ColumnOrder:
    """Detect whether the columns of users and items look swapped.

    Three heuristics are tried in order, and the first conclusive one decides: only one column has
    ids that look like those of users; users rate many items in one session, so their ratings are
    from fewer days than those of an item; and ratings concentrate on items more than on users.
    """
    by_ids = _by_ids(ratings)
    if min(ratings.n_users, ratings.n_items) < _FEWEST:
        is_swapped, sign = by_ids
        return ColumnOrder(is_swapped, (sign or "There are too few users or items to tell.",))
    what = "likes" if ratings.is_unary else "ratings"
    by_spread = _by_spread(activity, popularity, what)
    by_spread = (None, "") if is_named and by_spread[0] else by_spread
    conclusive = [each for each in (by_ids, _by_days(ratings), by_spread) if each[0] is not None]
    return ColumnOrder(
        conclusive[0][0] if conclusive else None, tuple(sign for _, sign in conclusive)
    )


def _by_ids(ratings: Ratings) -> tuple[bool | None, str]:
    """Compare which column has ids that look like those of users."""
    users, items = (user_ids_among(ids) for ids in (ratings.users, ratings.items))
    if (users is None) == (items is None):
        return None, ""
    kind, times = users or items or ("", 0)
    whose = "items" if users is None else "users"
    of = f"id of {whose} looks" if times == 1 else f"ids of {whose} look"
    return users is None, f"{times:,} {of} like {kind}."


def _by_days(ratings: Ratings) -> tuple[bool | None, str]:
    if ratings.days is None:
        return None, ""
    user_share = _share_of_days(ratings.user_positions(), ratings.days, ratings.activity)
    item_share = _share_of_days(ratings.indices, ratings.days, ratings.support)
    if user_share is None or item_share is None or abs(user_share - item_share) < _APART_DAYS:
        return None, ""
    what, do = ("likes", "like") if ratings.is_unary else ("ratings", "rate")
    return user_share > item_share, (
        f"Of ten {what}, those of one user are of {10 * user_share:.1f} different days, and "
        f"those of one item of {10 * item_share:.1f} (medians); people {do} several things a day."
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


# What a whole value looks like; the first that fits most values names the column.
_KINDS = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "network (IP) addresses": re.compile(
        r"\d{1,3}(\.\d{1,3}){3}|[0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4}){7}|[0-9a-fA-F:]*::[0-9a-fA-F:]*"
    ),
    "telephone numbers": re.compile(r"(\+|00)\d[\d ()/.-]{6,18}\d"),
    "UUIDs": re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "hashes": re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}"),
    "bank account numbers (IBAN)": re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}"),
    "web addresses": re.compile(r"https?://\S+"),
}
# Of these, one is too many: the others may be an item's.
_PERSONAL = ("e-mail addresses", "telephone numbers", "network (IP) addresses")
# Names of columns that hold personal data; other data may have them, too.
_NAMES = re.compile(
    r"\b(e?mail|phone|tel|mobile|fax|(user|first|last|full|real|nick|sur|given|family)name|surname"
    r"|login|handle|reviewer|author|address|street|city|zip|zipcode|postal|postcode|plz|ip|ipaddress"
    r"|ssn|passport|birth|birthday|birthdate|birthyear|dob|born|age|gender|sex|occupation"
    r"|lat|latitude|lon|lng|longitude|geo|location|device|deviceid|cookie|session|sessionid|imei"
    r"|iban|card|account|accountid|token|useragent)\b"
)
_BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")
_MOST = 0.5
# Minimum number of rows for which distinct values, or one value per user, are conclusive.
_ENOUGH_ROWS, _ENOUGH_USERS = 50, 10
# Free text: so many characters and words on average.
_LONG, _WORDS = 40, 6
_SAME_IDS = 0.1

_LEFT_OUT = "recveil reads no such column and publishes none of it; do not join it to a release"
_HIDDEN = "recveil publishes pseudonyms in their place; keep OUTPUT.private secret"
_PUBLISHED_IDS = (
    "items' ids are published as they stand: rename the items first, or publish pseudonyms "
    "(hide_items, --hide-items)"
)


@brief
class Identifier(NamedTuple):
    """A column that probably identifies users."""

    # Its name, or its position from 1 on
    column: str | int
    # Its role; empty for a column that is not read
    role: str
    # Kind of the identifier
    kind: str
    # Numbers of matching and of inspected values
    found: int
    looked_at: int
    advice: str


def identifiers_of(ratings: Ratings, rows: FirstRows) -> list[Identifier]:
    """Find probable identifiers in the ids, and in the first rows of all other columns.

    It matches values and column names. Other columns may identify users as well.
    """
    names = dict(zip(rows.roles, rows.names, strict=True))
    found = [_of_users(names.get("user", "user"), ratings)]
    found += _of_items(names.get("item", "item"), ratings)
    for at, role in enumerate(rows.roles):
        if not role and (other := _of_other(rows, at)) is not None:
            found.append(other)
    return found


def _of_users(column: str | int, ratings: Ratings) -> Identifier:
    ids = _texts(ratings.users.tolist())
    kind, times = _kind_of(ids)
    if not kind:
        whole = ratings.users.dtype != object
        kind, times = "whole numbers" if whole else "ids as text", len(ids)
    return Identifier(column, "user", kind, times, len(ids), _HIDDEN)


def _of_items(column: str | int, ratings: Ratings) -> list[Identifier]:
    ids = _texts(ratings.items.tolist())
    counts = {kind: sum(map(bool, map(_KINDS[kind].fullmatch, ids))) for kind in _PERSONAL}
    if ratings.users.dtype == object and ratings.items.dtype == object:
        both = len(set(ids) & set(_texts(ratings.users.tolist())))
        if both >= _SAME_IDS * min(len(ids), ratings.n_users):
            counts["ids that are people's, too"] = both
    return [
        Identifier(column, "item", kind, times, len(ids), _PUBLISHED_IDS)
        for kind, times in counts.items()
        if times
    ]


def _of_other(rows: FirstRows, at: int) -> Identifier | None:
    """Return the identifier in a column that is not read, if any."""
    name = rows.names[at]
    column = [row[at] for row in rows.rows]
    texts = [text for text in column if text]
    kind, times = _kind_of(texts) if texts else ("", 0)
    if not kind and isinstance(name, str) and _NAMES.search(_words(name)):
        kind, times = "called like something that tells of people", len(texts)
    if not kind and texts:
        kind, times = _by_values(rows, column, texts)
    return Identifier(name, "", kind, times, len(texts), _LEFT_OUT) if kind else None


def _by_values(rows: FirstRows, column: Sequence[str], texts: Sequence[str]) -> tuple[str, int]:
    """Classify a column by how its values relate to rows and users; None if inconclusive."""
    different = len(set(texts))
    words = sum(len(text.split()) for text in texts) / len(texts)
    if sum(map(len, texts)) / len(texts) >= _LONG and words >= _WORDS and different > 1:
        return "free text, in which people may be named", len(texts)
    if len(texts) >= _ENOUGH_ROWS and different == len(texts) and not _are_decimals(texts):
        return "another value in each row, such as the id of a review", len(texts)
    if "user" in rows.roles:
        users = [row[rows.roles.index("user")] for row in rows.rows]
        if _one_each(users, column) and different > 1:
            return "the same value in all rows of a person: it tells of them", len(texts)
    return "", 0


def _one_each(users: Sequence[str], column: Sequence[str]) -> bool:
    """Return whether each of several users has one value, though they have several rows."""
    several = {user for user, times in Counter(users).items() if times > 1}
    pairs = {pair for pair in zip(users, column, strict=True) if pair[0] in several}
    return len(pairs) == len(several) >= _ENOUGH_USERS


def _are_decimals(texts: Iterable[str]) -> bool:
    return all(re.fullmatch(r"-?\d+[.,]\d+(e-?\d+)?", text) for text in texts)


def _kind_of(texts: Sequence[str]) -> tuple[str, int]:
    """Return the most frequent kind of the values and its count; personal kinds come first."""
    for kind, pattern in _KINDS.items():
        times = sum(bool(pattern.fullmatch(text)) for text in texts)
        if times >= _MOST * len(texts) or (times and kind in _PERSONAL):
            return kind, times
    return "", 0


def _texts(values: Iterable[object]) -> list[str]:
    return [str(value).strip() for value in values]


def _words(name: str) -> str:
    return _BETWEEN_WORDS.sub(" ", name).lower() + " " + re.sub(r"[\W_]+", "", name).lower()
