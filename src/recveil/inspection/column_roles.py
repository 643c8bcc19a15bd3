"""Detection of identifying and of swapped columns."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.inspection.first_rows import FirstRows
from recveil.inspection.statistics import Distribution
from recveil.io.columns.ids import user_ids_among
from recveil.ratings import Ratings
from recveil.ratings.sorted_rows import sorted_unique
from recveil.runtime.safe_repr import brief

# Below these numbers of ratings, users or items, the dates are not conclusive.
_RATINGS_EACH, _FEWEST = 5, 20
# Users rate in sessions: one in forty to one in seven of a user's ratings is on a new day (in
# MovieLens and in synthetic tables); nearly every rating of an item is.
_APART_DAYS = 0.2
# Ratings concentrate on items more than on users: in all tables that we tried, by 0.09 to 0.39. A
# smaller difference in either direction is not conclusive.
_APART_GINI = 0.09


class Sign(NamedTuple):
    """Evidence for or against swapped columns."""

    # "ids": one column's look like users'; "days": median days per rating; "concentration": Gini
    # coefficients of the counts; "too-few": users or items for the last two
    code: Literal["ids", "days", "concentration", "too-few"]
    of_users: float
    of_items: float
    kind: str = ""  # what the ids look like


class ColumnOrder(NamedTuple):
    """Whether the columns of users and items look swapped."""

    # None if undecided
    looks_swapped: bool | None
    signs: tuple[Sign, ...]


# A verdict, and the evidence for it.
_Finding = tuple[bool, Sign]


def detect_order(
    ratings: Ratings,
    user_counts: Distribution,
    item_counts: Distribution,
    *,
    is_named: bool = False,
) -> ColumnOrder:
    """Detect whether the columns of users and items look swapped.

    The first conclusive of three decides: only one column has ids that look like those of users;
    users rate many items in one session; ratings concentrate on items more than on users.
    """
    n_users, n_items = ratings.n_users, ratings.n_items
    by_ids = _by_ids(ratings)
    if min(n_users, n_items) < _FEWEST:
        is_swapped, sign = by_ids or (None, Sign("too-few", n_users, n_items))
        return ColumnOrder(is_swapped, (sign,))
    by_gini = _by_concentration(user_counts, item_counts)
    if is_named and by_gini and by_gini[0]:
        by_gini = None
    found = [each for each in (by_ids, _by_days(ratings), by_gini) if each]
    return ColumnOrder(found[0][0] if found else None, tuple(sign for _, sign in found))


def _by_ids(ratings: Ratings) -> _Finding | None:
    """Compare which column has ids that look like those of users."""
    users, items = (user_ids_among(ids) for ids in (ratings.users, ratings.items))
    if (users is None) == (items is None):
        return None
    kind, count = users or items or ("", 0)
    return users is None, Sign("ids", 0 if users is None else count, 0 if users else count, kind)


def _by_days(ratings: Ratings) -> _Finding | None:
    if ratings.days is None:
        return None
    user_share = _share_of_days(ratings.user_positions(), ratings.days, ratings.activity)
    item_share = _share_of_days(ratings.indices, ratings.days, ratings.support)
    if user_share is None or item_share is None or abs(user_share - item_share) < _APART_DAYS:
        return None
    return user_share > item_share, Sign("days", user_share, item_share)


def _by_concentration(user_counts: Distribution, item_counts: Distribution) -> _Finding | None:
    if abs(item_counts.gini - user_counts.gini) < _APART_GINI:
        return None
    sign = Sign("concentration", user_counts.gini, item_counts.gini)
    return item_counts.gini < user_counts.gini, sign


def _share_of_days(
    places: NDArray[np.int32], days: NDArray[np.int32], counts: NDArray[np.int64]
) -> float | None:
    """Return the median number of different days a rating, of those with several ratings."""
    enough = counts >= _RATINGS_EACH
    if enough.sum() < _FEWEST:
        return None
    span = int(days.max()) - int(days.min()) + 1
    both = sorted_unique(places.astype(np.int64) * span + (days - days.min()))
    different = np.bincount(both // span, minlength=counts.size)
    return float(np.median(different[enough] / counts[enough]))


# Patterns of whole values; the first that most values match is the kind of the column.
_KINDS = {
    "email": re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "ip-address": re.compile(
        r"\d{1,3}(\.\d{1,3}){3}|[0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4}){7}|[0-9a-fA-F:]*::[0-9a-fA-F:]*"
    ),
    "phone": re.compile(r"(\+|00)\d[\d ()/.-]{6,18}\d"),
    "uuid": re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "hash": re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}"),
    "iban": re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}"),
    "url": re.compile(r"https?://\S+"),
}
# One match of these is enough; values of the other kinds may be an item's.
_PERSONAL = ("email", "phone", "ip-address")
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
# Free text: so many characters and words on average, in the longest quarter of the values.
_LONG, _WORDS = 40, 6
_SAME_IDS = 0.1


@brief
class Identifier(NamedTuple):
    """A column that probably identifies users.

    "email", "ip-address", "phone", "uuid", "hash", "iban" and "url" are matched by the values;
    "integer-ids" and "text-ids" are other ids of users, and "user-ids" are items whose ids are
    users', too. "name" is matched by the name of the column; "free-text", "unique-values" and
    "one-per-user" by the distribution of the values.
    """

    column: str | int  # its name, or its position from 1 on
    role: str  # empty for a column that is not read
    kind: str
    matches: int
    inspected: int


def find_identifiers(ratings: Ratings, rows: FirstRows) -> list[Identifier]:
    """Find probable identifiers in the ids, and in the first rows of all other columns."""
    names = dict(zip(rows.roles, rows.names, strict=True))
    found = [_of_users(names.get("user", "user"), ratings)]
    found += _of_items(names.get("item", "item"), ratings)
    others = (_of_other(rows, at) for at, role in enumerate(rows.roles) if not role)
    return [*found, *filter(None, others)]


def _of_users(column: str | int, ratings: Ratings) -> Identifier:
    ids = _texts(ratings.users.tolist())
    kind, matches = _kind_of(ids)
    if not kind:
        kind = "text-ids" if ratings.users.dtype == object else "integer-ids"
        matches = len(ids)
    return Identifier(column, "user", kind, matches, len(ids))


def _of_items(column: str | int, ratings: Ratings) -> list[Identifier]:
    ids = _texts(ratings.items.tolist())
    counts = {kind: sum(map(bool, map(_KINDS[kind].fullmatch, ids))) for kind in _PERSONAL}
    if ratings.users.dtype == object and ratings.items.dtype == object:
        both = len(set(ids) & set(_texts(ratings.users.tolist())))
        if both >= _SAME_IDS * min(len(ids), ratings.n_users):
            counts["user-ids"] = both
    return [
        Identifier(column, "item", kind, matches, len(ids))
        for kind, matches in counts.items()
        if matches
    ]


def _of_other(rows: FirstRows, at: int) -> Identifier | None:
    """Return the identifier in a column that is not read, if any."""
    name = rows.names[at]
    column = [row[at] for row in rows.rows]
    texts = [text for text in column if text]
    kind, matches = _kind_of(texts) if texts else ("", 0)
    if not kind:
        is_named = isinstance(name, str) and _NAMES.search(_words(name))
        kind = "name" if is_named else _by_values(rows, column, texts)
        matches = len(texts)
    return Identifier(name, "", kind, matches, len(texts)) if kind else None


def _by_values(rows: FirstRows, column: Sequence[str], texts: Sequence[str]) -> str:
    """Classify a column by how its values relate to rows and users; "" if inconclusive."""
    different = len(set(texts))
    if different < 2:
        return ""
    # Many reviews are a word or two: the longest quarter decides.
    long = sorted(texts, key=len)[-len(texts) // 4 :]
    words = sum(len(text.split()) for text in long) / len(long)
    is_long = sum(map(len, long)) / len(long) >= _LONG and words >= _WORDS
    if is_long or any("\n" in text for text in texts):
        return "free-text"
    if len(texts) >= _ENOUGH_ROWS and different == len(texts) and not _are_decimals(texts):
        return "unique-values"
    if "user" in rows.roles:
        users = [row[rows.roles.index("user")] for row in rows.rows]
        if _one_each(users, column):
            return "one-per-user"
    return ""


def _one_each(users: Sequence[str], column: Sequence[str]) -> bool:
    """Return whether each of several users has one value, though they have several rows."""
    several = {user for user, times in Counter(users).items() if times > 1}
    pairs = {pair for pair in zip(users, column, strict=True) if pair[0] in several}
    return len(pairs) == len(several) >= _ENOUGH_USERS


def _are_decimals(texts: Iterable[str]) -> bool:
    return all(re.fullmatch(r"-?\d+[.,]\d+(e-?\d+)?", text) for text in texts)


def _kind_of(texts: Sequence[str]) -> tuple[str, int]:
    """Return the first kind that most values match, or any value if it is personal; its count."""
    for kind, pattern in _KINDS.items():
        matches = sum(bool(pattern.fullmatch(text)) for text in texts)
        if matches >= _MOST * len(texts) or (matches and kind in _PERSONAL):
            return kind, matches
    return "", 0


def _texts(values: Iterable[object]) -> list[str]:
    return [str(value).strip() for value in values]


def _words(name: str) -> str:
    return _BETWEEN_WORDS.sub(" ", name).lower() + " " + re.sub(r"[\W_]+", "", name).lower()
