"""Detection of item ids that contain the id of a user who rated the item.

A short user id may occur in an item id by chance. Then the user with that id rated the item no more
often than others did. So the check counts how many of these items were rated by the user whose id
they contain, and compares this with the users whose ids are at any one fixed distance from those
ids.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.io.columns.repeated_rows import decode_escapes
from recveil.io.columns.rows_above_chance import find_rows_above_chance
from recveil.ratings import Ratings
from recveil.ratings.sorted_rows import Rows, sorted_unique
from recveil.runtime.safe_repr import brief
from recveil.verification.ids_in_items import advise, describe_rows_within

if TYPE_CHECKING:
    from scipy import sparse

_PART = re.compile(r"[^\W\d_]+|\d+")
# An id of more parts is matched as an address or not at all.
_MOST_PARTS = 8
# Fewer users, or a smaller share of the items with an id in this place, may be chance.
_FEWEST_USERS, _LEAST_SHARE = 4, 0.5
# If users at another distance rate more of the items, the numbers of raters form a band.
_MOST_AT_A_DISTANCE = 0.5
_CHANCE = 1e-6
# First names of so many users do not occur in titles that are otherwise the same.
_MANY_HANDLES = 10

# Shorter ids are compared with their punctuation: 10-01 is not user 1001.
_SHORTEST_JOINED = 8

_Parts = tuple[str, ...]


def rater_ids_in_items(
    users: Sequence[Any], items: Sequence[Any], rated: "sparse.csr_array"
) -> str:
    """Report that ids of items contain the ids of users who rated them; "" if that may be chance.

    `rated` has shape (n_users, n_items), with a 1 for each rating.
    """
    matches = _Matches.of(users, items)
    if sorted_unique(matches.users).size < _FEWEST_USERS:
        return ""
    is_hit = rated[matches.users, matches.items] > 0
    activity, item_counts = np.diff(rated.indptr), np.bincount(rated.indices, minlength=len(items))
    expected = item_counts[matches.items] * activity[matches.users] / max(1, rated.nnz)
    chance = np.minimum(expected, 1.0)
    ranks = _ranks_of(users)
    raters = None
    # Ids that differ in nothing else come first: around the others, more occurs by chance.
    for by_place in (matches.by_context, matches.by_position):
        found: set[int] = set()
        for places in by_place.values():
            if len(places) < _FEWEST_USERS:
                continue
            occurrences = np.array(places)
            own, hits = matches.users[occurrences], is_hit[occurrences]
            if _is_no_chance(own, hits, chance[occurrences]):
                raters = rated.tocsc() if raters is None else raters
                elsewhere = _most_at_a_distance(
                    raters[:, matches.items[occurrences]], ranks[own], ranks
                )
                if elsewhere <= _MOST_AT_A_DISTANCE * hits.sum():
                    found.update(own[hits].tolist())
        if found:
            return f"item ids contain the ids of {len(found):,} users who rated these items"
    return ""


def search_ratings(
    ratings: Ratings, published: Sequence[Any] | NDArray[Any], *, can_hide: bool = True
) -> str:
    """Report that published ids of items contain the ids of users who rated them; "" if not."""
    from scipy import sparse

    kept = set(published.tolist() if isinstance(published, np.ndarray) else published)
    items = [item if item in kept else "" for item in ratings.items.tolist()]
    users = ratings.users.tolist()
    rows = Rows(ratings.indptr, ratings.indices, ratings.values, None)
    if found := find_rows_above_chance(users, items, lambda: rows):
        return describe_rows_within(len(found))
    ones = np.ones(ratings.n_ratings, np.int8)
    shape = (ratings.n_users, ratings.n_items)
    rated = sparse.csr_array((ones, ratings.indices, ratings.indptr), shape=shape)
    problem = rater_ids_in_items(users, items, rated)
    return problem and f"{problem}; {advise(can_hide)}"


def describe_handles(users: Sequence[Any], items: Sequence[Any], *, can_hide: bool = True) -> str:
    """Describe items whose ids differ only in a user id with letters; "" if there are few."""
    matches = _Matches.of(users, items)
    found: set[int] = set()
    for (length, *_), occurrences in matches.by_context.items():
        of_users = matches.users[occurrences]
        is_handle = [_is_handle(users[user], length) for user in of_users.tolist()]
        if sorted_unique(of_users[is_handle]).size >= _MANY_HANDLES:
            found.update(matches.items[occurrences][is_handle].tolist())
    if not found:
        return ""
    return (
        f"The ids of {len(found):,} items differ only in a user id. If these users made the "
        f"items, {advise(can_hide)}."
    )


def _is_handle(user: Any, n_matched: int) -> bool:
    """Return whether an id has letters, and all its parts were matched."""
    parts = _parts_of(str(user))
    return len(parts) == n_matched and not all(part.isdigit() for part in parts)


@brief
class _Matches(NamedTuple):
    """Occurrences of user ids in item ids."""

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    # The occurrences between the same other text, apart from numbers; each of another item
    by_context: dict[tuple[Any, ...], list[int]]
    # The occurrences as far from the start, or from the end
    by_position: dict[tuple[int, int], list[int]]

    @classmethod
    def of(cls, users: Sequence[Any], items: Sequence[Any]) -> "_Matches":
        """Search the parts of each item id for all parts of a user id, or for its only number."""
        user_of = _users_by_parts(users)
        lengths = sorted({len(parts) for parts in user_of})
        of_users, of_items = list[int](), list[int]()
        by_context, by_position = defaultdict(list), defaultdict(list)
        joined = _users_by_joined_parts(user_of)
        most = max(map(len, joined), default=0)
        for item, item_id in enumerate(items):
            parts = _parts_of(str(item_id))
            found = {
                (start, length): user
                for length in lengths
                for start in range(len(parts) - length + 1)
                if (user := user_of.get(parts[start : start + length], -1)) >= 0
            }
            if joined:
                found = dict(_joined_places(parts, joined, most)) | found
            for (start, length), user in found.items():
                by_context[_context(parts, start, length)].append(len(of_users))
                for position in (start, start - len(parts)):
                    by_position[length, position].append(len(of_users))
                of_users.append(user)
                of_items.append(item)
        occurrences = np.array(of_users, np.int64), np.array(of_items, np.int64)
        return cls(*occurrences, by_context, by_position)

    def _facts(self) -> dict[str, object]:
        return {"occurrences": self.users.size}


def _parts_of(text: str) -> _Parts:
    """Return the runs of letters and of digits, in lower case and without zeros in front.

    >>> _parts_of("U007/list_of Ann_B")
    ('u', '7', 'list', 'of', 'ann', 'b')
    """
    parts = _PART.findall(decode_escapes(text).casefold())
    return tuple(part.lstrip("0") or "0" if part.isdigit() else part for part in parts)


def _users_by_parts(users: Sequence[Any]) -> dict[_Parts, int]:
    """Return the user of all parts of an id, or of its only number; -1 if several users have it."""
    whole: dict[_Parts, int] = {}
    numbers: dict[_Parts, int] = {}
    for user, user_id in enumerate(users):
        parts = _parts_of(str(user_id))
        if not 0 < len(parts) <= _MOST_PARTS:
            continue
        whole[parts] = -1 if parts in whole else user
        digits = tuple(part for part in parts if part.isdigit())
        if len(digits) == 1 and digits != parts:
            numbers[digits] = -1 if digits in numbers else user
    return numbers | whole


def _users_by_joined_parts(user_of: dict[_Parts, int]) -> dict[str, int]:
    """Return the user of the letters and digits of a long id; -1 if several users have them."""
    joined: dict[str, int] = {}
    for parts, user in user_of.items():
        text = "".join(parts)
        if len(text) >= _SHORTEST_JOINED:
            joined[text] = user if joined.get(text, user) == user else -1
    return joined


def _joined_places(
    parts: _Parts, joined: dict[str, int], most: int
) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield where the parts of an item id are a user id with other punctuation, and the user."""
    for start in range(len(parts)):
        texts = takewhile(lambda text: len(text) <= most, accumulate(parts[start:]))
        for length, text in enumerate(texts, 1):
            if (user := joined.get(text, -1)) >= 0:
                yield (start, length), user


def _context(parts: _Parts, start: int, length: int) -> tuple[Any, ...]:
    """Return the parts around an occurrence, all numbers alike."""
    around = (*parts[:start], "", *parts[start + length :])
    return (length, *("0" if part.isdigit() else part for part in around))


def _is_no_chance(
    users: NDArray[np.int64], is_hit: NDArray[np.bool_], chance: NDArray[np.float64]
) -> bool:
    """Return whether users rated items with their ids more often than by chance (Chernoff)."""
    share, mean = float(is_hit.mean()), float(chance.mean())
    if share < _LEAST_SHARE or mean >= share or sorted_unique(users[is_hit]).size < _FEWEST_USERS:
        return False
    divergence = share * math.log(share / mean) if mean else math.inf
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - mean))
    return is_hit.size * divergence > -math.log(_CHANCE)


def _ranks_of(users: Sequence[Any]) -> NDArray[np.int64]:
    """Return the rank of each user id, with the numbers in it in their order."""
    keys = [
        [(part.isalpha(), len(part) * (not part.isalpha()), part) for part in _parts_of(str(user))]
        for user in users
    ]
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks


def _most_at_a_distance(
    raters: "sparse.csc_array", of_items: NDArray[np.int64], ranks: NDArray[np.int64]
) -> int:
    """Return how many of the items are rated at most by users at a distance from their own."""
    # `raters` has a column per item, and `of_items` the rank of the user whose id it contains.
    distances = ranks[raters.indices] - np.repeat(of_items, np.diff(raters.indptr))
    counts = np.bincount(distances + ranks.size, minlength=2 * ranks.size)
    counts[ranks.size] = 0
    return int(counts.max())
