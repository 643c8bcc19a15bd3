"""Public columns of items that are published with a release, and checks that they are no users'."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from recveil.io import Reading
from recveil.io.item_features import UNSHOWN, ItemTable, is_item_column, read_item_table
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError, describe_count, quoted
from recveil.runtime.safe_repr import brief
from recveil.verification.ids_in_items import BETWEEN, columns_with_users

# A column with the counts, sums or means of at least half of so many items was computed from the
# table, and so was one that has their order.
_FEWEST, _MOST_EQUAL, _MOST_CORRELATED = 10, 0.5, 0.98
_ROUNDED = 0.0051
# A scale of more levels has no shares of levels; texts with more numbers have lists.
_MOST_LEVELS, _MOST_NUMBERS = 20, 8
_LONGEST = 20  # a longer number is a bit map
# Chances of one column at one statistic, and at all users.
_CHANCE, _CHANCE_OF_USERS = 1e-7, 1e-3
# A mark of so many items, and not of as many others, is of a user who rated nearly these.
_FEWEST_MARKED, _MOST_ALIKE = 8, 0.9
_DATE = re.compile(r"\d{4}-\d\d")  # such texts have the order of their dates
_WORD = re.compile(r"\w+")
_NUMBER_IN_TEXT = re.compile(r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?")


def read_published_items(
    source: str | PathLike[str] | None, reading: Reading, users: NDArray[Any]
) -> tuple[ItemTable | None, Reading]:
    """Read an item table for a release, if any; return it, and the ratings with a note on it."""
    if source is None:
        return None, reading
    ratings = reading.ratings
    table = read_item_table(source)
    for name, texts in table.columns.items():
        _check_texts(name, texts)
    is_known = np.array([item in table.row_of for item in ratings.items.astype(str).tolist()])
    if not is_known.any():
        raise RecveilError(
            f"item_table (--item-table): it has none of the "
            f"{describe_count(ratings.n_items, 'item')} of the ratings; expected the same ids",
            code="id.unknown",
        )
    if found := columns_with_users(users.tolist(), table.columns):
        _reject(found[0], "has ids of users, or the name of one")
    _reject_statistics(table, ratings, is_known)
    _reject_rows(table, ratings)
    n_missing = int((~is_known).sum())
    missing = f"; {describe_count(n_missing, 'rated item has', 'rated items have')} no row in it"
    note = (
        f"Item table: {', '.join(table.columns)} of each published item are copied to items.csv, "
        f"as public{missing if n_missing else ''}."
    )
    return table, replace(reading, notes=(*reading.notes, note))


def _check_texts(name: str, texts: list[str]) -> None:
    if not is_item_column(name):
        raise RecveilError(
            f"item_table (--item-table): column {quoted(name, 40)}; expected a name of 1 to 40 "
            f"characters that begins with a letter or digit, without quotes, and not that of user "
            f"ids; rename or drop it",
            code="column.type",
        )
    if unshown := [text for text in texts if UNSHOWN.search(text)]:
        raise RecveilError(
            f"item_table (--item-table): column {quoted(name, 40)} has "
            f"{describe_count(len(unshown), 'cell')} with a line break or another character that "
            f"is not shown, such as {quoted(unshown[0], 40)}; remove it",
            code="id.line-break",
        )


def _reject(name: str, what: str) -> NoReturn:
    raise RecveilError(
        f"item_table (--item-table): column {quoted(name, 40)} {what}; expected public facts about "
        f"items, which are published unchanged; drop it, and publish it separately if it is public",
        code="id.personal",
    )


@brief
class _Statistic(NamedTuple):
    name: str
    values: NDArray[Any]
    tolerance: float | None = None  # None: equal values show nothing, such as shares of 0


def _statistics_of(ratings: Ratings) -> Iterator[_Statistic]:
    counts = np.maximum(ratings.support, 1)
    sums = np.bincount(ratings.indices, ratings.values, ratings.n_items)
    yield _Statistic("item counts", ratings.support, 0.0)
    yield _Statistic("sums of ratings", sums, 0.0)
    yield _Statistic("mean ratings", sums / counts, _ROUNDED)
    if ratings.days is not None:
        days = ratings.days.astype(np.float64)
        yield _Statistic("mean dates", np.bincount(ratings.indices, days, ratings.n_items) / counts)
        for name, limit, start in ("first", np.minimum, np.inf), ("last", np.maximum, -np.inf):
            found = np.full(ratings.n_items, start)
            limit.at(found, ratings.indices, days)
            yield _Statistic(f"{name} dates", np.where(ratings.support > 0, found, 0.0))
    levels = np.unique(ratings.values)
    if levels.size > _MOST_LEVELS:
        return
    for level in levels.tolist():
        equal, above = (
            np.bincount(ratings.indices, compared, ratings.n_items)
            for compared in (ratings.values == level, ratings.values >= level)
        )
        yield _Statistic("counts of a value", equal)
        yield from (_Statistic("shares of a value", each / counts) for each in (equal, above))


def _reject_statistics(table: ItemTable, ratings: Ratings, is_known: NDArray[np.bool_]) -> None:
    statistics = [each._replace(values=each.values[is_known]) for each in _statistics_of(ratings)]
    for name, texts in table.rows_of(ratings.items[is_known]).items():
        for numbers in _numbers_of(texts):
            is_number = np.isfinite(numbers)
            if is_number.sum() < _FEWEST or np.ptp(numbers[is_number]) == 0:
                continue
            for statistic in statistics:
                if _follows(numbers[is_number], statistic.values[is_number], statistic.tolerance):
                    _reject(name, f"has, or follows from, the {statistic.name}")


def _numbers_of(texts: list[str]) -> Iterator[NDArray[np.float64]]:
    """Yield the numbers that cells are or have at one place, and counts of characters and words."""
    numbers = np.array([_number(text) for text in texts])
    yield numbers
    longest = max(map(len, texts))
    if longest <= _LONGEST and np.isfinite(numbers).sum() == len(texts) - texts.count(""):
        return
    codes = np.unique(texts, return_inverse=True)[1]
    if codes.max() < _MOST_LEVELS or all(map(_DATE.match, filter(None, texts))):
        yield codes.astype(np.float64)
    found = [_NUMBER_IN_TEXT.findall(text) for text in texts]
    most = min(max(map(len, found)), _MOST_NUMBERS)
    for at in (*range(most), -1) if most else ():
        yield np.array([_number(each[at]) if at < len(each) and each else np.nan for each in found])
    # A list of raters is as long as they are many, and so are the ones of a bit map.
    yield np.array([float(len(text)) for text in texts])
    yield np.array([float(len(_WORD.findall(text))) for text in texts])
    yield np.array([float(text.count("1")) for text in texts])


def _number(text: str) -> float:
    is_grouped = re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d*)?", text)
    try:
        return float(text.replace(",", "" if is_grouped else "."))
    except ValueError:
        return np.nan


def _follows(numbers: NDArray[Any], values: NDArray[Any], tolerance: float | None) -> bool:
    """Return whether numbers equal a statistic, have its order, or are a rounding of it."""
    distinct, places = np.unique(numbers, return_inverse=True)
    of_values, order = np.unique(values, return_inverse=True)
    if min(distinct.size, of_values.size) >= _FEWEST:
        is_equal = np.abs(numbers - values) <= (-1 if tolerance is None else tolerance)
        ranks = np.corrcoef(_ranks(places), _ranks(order))[0, 1]
        if is_equal.mean() >= _MOST_EQUAL or abs(ranks) >= _MOST_CORRELATED:
            return True
    # Larger values have larger numbers (or smaller ones), or each number is one range of values.
    lowest, highest = (np.full(of_values.size, at) for at in (distinct.size, -1))
    np.minimum.at(lowest, order, places)
    np.maximum.at(highest, order, places)
    is_one = lowest == highest
    if (lowest[1:] >= highest[:-1]).all() or (highest[1:] <= lowest[:-1]).all():
        free = 0.0
    elif is_one.all() and np.count_nonzero(np.diff(lowest)) < distinct.size:
        free = math.lgamma(distinct.size + 1)
    else:
        return False
    return _log_chance(np.bincount(places[is_one[order]])) + free < math.log(_CHANCE)


def _ranks(places: NDArray[np.int64]) -> NDArray[np.float64]:
    sizes = np.bincount(places)
    return (np.cumsum(sizes) - (sizes + 1) / 2)[places]


def _log_chance(sizes: NDArray[np.int64]) -> float:
    """Return the log of the chance that a random order of cells is one given order."""
    return sum(math.lgamma(size + 1) for size in sizes.tolist()) - math.lgamma(sizes.sum() + 1)


def _reject_rows(table: ItemTable, ratings: Ratings) -> None:
    users = ratings.user_positions()
    order = np.lexsort((ratings.values, users))
    row = users[order], ratings.values[order]
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = (np.diff(row[0]) != 0) | (np.diff(row[1]) != 0)
    groups = _LevelsOfUsers(order, np.flatnonzero(is_first), row[0][is_first])
    for name, texts in table.rows_of(ratings.items).items():
        with np.errstate(over="ignore"):
            numbers = [each.astype(ratings.values.dtype) for each in _numbers_of(texts)]
        if any(groups.match(each, ratings) for each in (np.array(texts), *numbers)):
            _reject(name, "is a recoding of the ratings of one user")
        if any(_marks_user(mark, ratings) for mark in _marks_of(texts)):
            _reject(name, "marks the items of one user")


@brief
class _LevelsOfUsers(NamedTuple):
    order: NDArray[Any]  # of ratings by user and value; then where each pair begins
    starts: NDArray[Any]
    users: NDArray[Any]

    def match(self, cells: NDArray[Any], ratings: Ratings) -> bool:
        """Return whether cells have one value for each value of a user, by more than chance."""
        codes = np.unique(cells, return_inverse=True, equal_nan=True)[1][ratings.indices][
            self.order
        ]
        lowest = np.minimum.reduceat(codes, self.starts)
        is_one = lowest == np.maximum.reduceat(codes, self.starts)
        begins = np.flatnonzero(np.diff(self.users, prepend=-1))
        sizes = np.diff(self.starts, append=codes.size)
        n_levels = np.diff(begins, append=self.users.size)
        found = np.logical_and.reduceat(is_one, begins) & (n_levels > 1)
        most = math.log(_CHANCE_OF_USERS / ratings.n_users)
        for begin, n in zip(begins[found].tolist(), n_levels[found].tolist(), strict=True):
            here = slice(begin, begin + n)
            chance, firsts = _log_chance(sizes[here]), self.order[self.starts[here]]
            if np.array_equal(cells[ratings.indices[firsts]], ratings.values[firsts]):
                if chance < math.log(_CHANCE_OF_USERS):
                    return True
            # Any one-to-one recoding counts.
            elif chance + math.lgamma(n + 1) < most and np.unique(lowest[here]).size == n:
                return True
        return False


def _marks_of(texts: list[str]) -> Iterator[NDArray[np.bool_]]:
    """Yield which cells have each part of a list, and which are not the usual one."""
    cells = [set(BETWEEN.split(text)) for text in texts]
    of_parts = defaultdict(list)
    for at, parts in enumerate(cells):
        for part in parts:
            of_parts[part].append(at)
    usual = Counter(texts).most_common(1)[0][0]
    of_parts["|"] = [at for at, text in enumerate(texts) if text != usual]
    for places in of_parts.values():
        if _FEWEST_MARKED <= len(places) <= len(texts) - _FEWEST_MARKED:
            mark = np.zeros(len(texts), np.bool_)
            mark[places] = True
            yield mark


def _marks_user(mark: NDArray[np.bool_], ratings: Ratings) -> bool:
    n_marked, activity = int(mark.sum()), ratings.activity
    if not ((activity >= _MOST_ALIKE * n_marked) & (activity * _MOST_ALIKE <= n_marked)).any():
        return False
    both = np.bincount(ratings.user_positions(), mark[ratings.indices], ratings.n_users)
    return bool((both >= _MOST_ALIKE * (activity + n_marked - both)).any())
