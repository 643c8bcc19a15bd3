"""Rows of other users among the numbers of item ids, however many ids contain them.

The numbers of article codes, dates and sizes are a user and an item by chance. So pairs of numbers
are compared with the activity of these users and the raters of these items, and with the users and
items whose ids are adjacent.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.io.columns.pairs_above_chance import divergence, find_pairs_above_chance
from recveil.io.columns.repeated_rows import decoded_forms, fold
from recveil.ratings.sorted_rows import Rows, sorted_unique
from recveil.runtime.safe_repr import brief

_NUMBER = re.compile(r"\d+")
# Numbers of one row are no further apart, and longer texts are cut.
_FARTHEST, _MOST_NUMBERS = 3, 60
# So many ids and users are no coincidence, if chance has them in fewer tables than this share.
_FEWEST, _CHANCE = 3, 1e-6
# Ids at these distances are adjacent: of users, of items, or of both in the same or other order.
_DISTANCES = ((1,), (2, 3), (4, 5, 6, 7, 8))
_DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))
# Larger numbers are no ratings.
_MOST_VALUE = 1_000

_Key = tuple[Any, ...]


class _Pair(NamedTuple):
    """The ranks of a user and an item, and a rating; -1 if none is looked for."""

    user: int
    item: int
    value: int


class _Text(NamedTuple):
    """The numbers of a text, without zeros in front, and what separates them."""

    numbers: list[str]
    between: list[str]

    @classmethod
    def of(cls, text: str) -> "_Text":
        numbers = _NUMBER.findall(text)[:_MOST_NUMBERS]
        return cls([number.lstrip("0") or "0" for number in numbers], _NUMBER.split(text)[1:])


def find_rows_above_chance(
    users: Iterable[Any],
    items: Iterable[Any],
    read: Callable[[], Rows],
    classes: Sequence[Hashable] = (),
) -> list[int]:
    """Return the positions of item ids that contain rows of the table more often than by chance.

    The first number of an item id names the item; others are compared by what separates them, and
    by how far apart they are. Of two numbers many pairs are needed; of others,
    `find_pairs_above_chance` decides. Users of one class have the same rows, so that their pairs
    with an item are one.
    """
    users, items = [*users], [*map(str, items)]
    by_numbers = _find_rows_of_numbers(users, items, read, classes)
    return sorted({*by_numbers, *find_pairs_above_chance(users, items, read, classes)})


def _find_rows_of_numbers(
    users: list[Any], items: list[str], read: Callable[[], Rows], classes: Sequence[Hashable]
) -> list[int]:
    if sum(not each.isdecimal() for each in items) < _FEWEST:
        return []
    texts = [*map(_texts_of, items)]
    compound = [at for at, forms in enumerate(texts) if len(forms[0].numbers) > 1]
    if len(compound) < _FEWEST:
        return []
    user_codes = {
        text.lstrip("0") or "0": at for at, text in enumerate(map(str, users)) if text.isdecimal()
    }
    first_numbers = [forms[0].numbers[0] if forms[0].numbers else "" for forms in texts]
    user_ranks, item_ranks = _ranks_of(user_codes), _ranks_of({*first_numbers} - {""})
    class_of = {user_ranks[number]: classes[at] for number, at in user_codes.items() if classes}
    groups: defaultdict[_Key, dict[_Key, tuple[_Pair, int]]] = defaultdict(dict)
    for at in compound:
        for text in texts[at]:
            for key, pair in _pairs_within(text, user_ranks, item_ranks):
                unit = (class_of.get(pair.user, pair.user), *pair[1:])
                groups[key].setdefault(unit, (pair, at))
    large = [[*pairs.values()] for pairs in groups.values() if len(pairs) >= _FEWEST]
    if not large:
        return []
    rows = read()
    rank_of_user = np.full(rows.indptr.size - 1, -1)
    rank_of_user[[*user_codes.values()]] = [user_ranks[number] for number in user_codes]
    rank_of_item = np.array([item_ranks.get(number, -1) for number in first_numbers])
    table = _Table.of(rank_of_user, rank_of_item, rows)
    least = math.log(len(large) / _CHANCE)
    return sorted({at for pairs in large for at in table.find(pairs, least)})


def _texts_of(text: str) -> list[_Text]:
    """Return the numbers of an id, as it is and without its escapes.

    >>> [text.numbers for text in _texts_of("532%7C0014%7C3")]
    [['532', '7', '14', '7', '3'], ['532', '14', '3']]
    """
    if text.isdecimal():
        return [_Text([text.lstrip("0") or "0"], [])]
    return [*map(_Text.of, map(fold, decoded_forms(text)))]


def _ranks_of(numbers: Iterable[str]) -> dict[str, int]:
    ascending = sorted(numbers, key=lambda number: (len(number), number))
    return {number: rank for rank, number in enumerate(ascending)}


def _pairs_within(
    text: _Text, user_ranks: dict[str, int], item_ranks: dict[str, int]
) -> Iterator[tuple[_Key, _Pair]]:
    """Yield the pairs of a user and another item, without and with a rating, and their groups."""
    numbers, between = text
    found_users = [(at, user_ranks[each]) for at, each in enumerate(numbers) if each in user_ranks]
    for at, user in found_users:
        near = range(max(0, at - _FARTHEST), min(len(numbers), at + _FARTHEST + 1))
        for other in near:
            if other in (0, at) or numbers[other] == numbers[0]:
                continue
            if (item := item_ranks.get(numbers[other])) is None:
                continue
            first, last = sorted((at, other))
            pair = _Pair(user, item, -1)
            yield (other - at,), pair
            yield (other - at, *between[first:last]), pair
            for value in near:
                if value not in (0, at, other) and len(numbers[value]) < len(str(_MOST_VALUE)):
                    yield (other - at, value - at, ""), pair._replace(value=int(numbers[value]))


@brief
class _Table(NamedTuple):
    """The rows of a table, by the ranks of users and items among the numbers."""

    cells: NDArray[np.int64]
    """Ascending codes of users and items."""
    rated: NDArray[np.int64]
    """Ascending codes of users, items and ratings that are whole numbers."""
    n_of_user: NDArray[np.int64]
    n_of_item: NDArray[np.int64]
    share_of_value: NDArray[np.float64]

    @classmethod
    def of(
        cls, rank_of_user: NDArray[np.int64], rank_of_item: NDArray[np.int64], rows: Rows
    ) -> "_Table":
        user = np.repeat(rank_of_user, np.diff(rows.indptr))
        item = rank_of_item[rows.indices]
        n_users, n_items = int(rank_of_user.max()) + 1, int(rank_of_item.max()) + 1
        is_known = (user >= 0) & (item >= 0)
        codes = (user * n_items + item)[is_known]
        values = rows.values[is_known]
        cells = _ascending(codes)
        is_value = (values >= 0) & (values < _MOST_VALUE) & (values == np.floor(values))
        whole = values[is_value].astype(np.int64)
        shares = np.bincount(whole, minlength=_MOST_VALUE) / max(1, values.size)
        return cls(
            cells,
            _ascending(codes[is_value] * _MOST_VALUE + whole),
            np.bincount(cells // n_items, minlength=n_users),
            np.bincount(cells % n_items, minlength=n_items),
            shares,
        )

    def _facts(self) -> dict[str, object]:
        return {"cells": self.cells.size}

    def find(self, pairs: list[tuple[_Pair, int]], least: float) -> list[int]:
        """Return the ids of pairs that are rows, if chance explains so many too rarely."""
        user, item, value, ids = np.array([(*pair, at) for pair, at in pairs]).T
        share = np.where(value < 0, 1.0, self.share_of_value[value])
        is_possible = share > 0
        user, item, value, share, ids = (
            each[is_possible] for each in (user, item, value, share, ids)
        )
        is_row = self._are_rows(user, item, value)
        if min(sorted_unique(ids[is_row]).size, sorted_unique(user[is_row]).size) < _FEWEST:
            return []
        n_expected = self.n_of_user[user] * self.n_of_item[item] * share / self.cells.size
        mean, n_rows = float(np.minimum(n_expected, 1).mean()), int(is_row.sum())
        if divergence(n_rows, is_row.size, mean) <= least:
            return []
        mean = max(mean, *self._adjacent_shares(user, item, value))
        return ids[is_row].tolist() if divergence(n_rows, is_row.size, mean) > least else []

    def _adjacent_shares(
        self, user: NDArray[np.int64], item: NDArray[np.int64], value: NDArray[np.int64]
    ) -> Iterator[float]:
        """Yield which share of the pairs with adjacent ids are rows, for each kind of these."""
        for (by_user, by_item), distances in product(_DIRECTIONS, _DISTANCES):
            steps = np.array([*distances, *(-each for each in distances)])[:, None]
            users, items = user + by_user * steps, item + by_item * steps
            is_inside = self._are_inside(users, items)
            if is_inside.any():
                yield float(self._are_rows(users, items, value)[is_inside].mean())

    def _are_inside(self, user: NDArray[np.int64], item: NDArray[np.int64]) -> NDArray[np.bool_]:
        n_users, n_items = self.n_of_user.size, self.n_of_item.size
        return (user >= 0) & (user < n_users) & (item >= 0) & (item < n_items)

    def _are_rows(
        self, user: NDArray[np.int64], item: NDArray[np.int64], value: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        codes = user * self.n_of_item.size + item
        rated = _contains(self.rated, codes * _MOST_VALUE + value)
        return self._are_inside(user, item) & np.where(
            value < 0, _contains(self.cells, codes), rated
        )


def _ascending(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct codes, which NumPy finds by a hash that takes ten times as long."""
    codes = np.sort(codes)
    return codes[np.diff(codes, prepend=-1) > 0]


def _contains(ascending: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    at = np.minimum(np.searchsorted(ascending, codes), ascending.size - 1)
    return ascending[at] == codes if ascending.size else np.zeros(codes.shape, bool)
