"""Ratings of the table within its ids, in whatever notation."""

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.io.columns.pairs_above_chance import is_no_chance
from recveil.io.columns.repeated_rows import (
    Values,
    find_repeated_rows,
    is_like_title,
    texts_of,
    words_of_id,
)
from recveil.io.columns.rows_above_chance import find_rows_above_chance
from recveil.io.columns.rows_of_numbers import are_fields
from recveil.io.columns.rows_within_ids import is_name, row_within_id
from recveil.ratings.rating_scale import Locate, RatingScale
from recveil.ratings.sorted_rows import Rows
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

# Ids of more words are not looked for among words.
_MOST_WORDS = 8
# Names, titles and numbers of a title are a rating of the table by chance, unless it is so rare.
_CHANCE, _CHANCE_OF_NUMBERS = 0.05, 0.001
# A continuous scale counts as one of so many ratings.
_FINE = 100


def require_no_original_rows(
    ids: tuple[NDArray[Any], NDArray[Any]],
    rows: Rows,
    scale: RatingScale,
    locate: tuple[Locate, Locate],
) -> None:
    """Raise for the first id that contains rows in whatever notation."""
    if ids[1].dtype == object and (found := find_original_rows(*ids, rows, scale)):
        raise RecveilError(
            f"{locate[1](found[0])}: the item contains the ids of a user and another item, and the "
            f"rating that the table has for them; correct it, or drop the row",
            code="id.row-within",
        )
    if ids[1].dtype == object and (found := find_rows_above_chance(*ids, lambda: rows)):
        raise row_within_id(locate[1](found[0]), "item")
    for labels, role, locate_id in zip(ids, ("user", "item"), locate, strict=True):
        if labels.dtype == object and (found := find_repeated_rows(labels, *ids, scale)):
            raise row_within_id(locate_id(found[0]), role)


def find_original_rows(
    users: NDArray[Any], items: NDArray[Any], rows: Rows, scale: RatingScale
) -> list[int]:
    """Return the positions of item ids that state a rating of the table, or two of its pairs.

    Titles hold numbers and names by chance: so the user, the item and the rating must all be words
    of the id, in any order and notation, or, of likes, two users and items of two rows.
    """
    has_numbers = not scale.unary and not scale.labels
    texts = [(at, text) for at, item in enumerate(items) for text in texts_of(item)]
    if not texts:
        return []
    wanted = {word for _, text in texts for word in text.words}
    known = _OriginalRows(_by_words(users, wanted), _by_words(items, wanted), rows)
    starts = {words[0] for words in known.users}
    values = Values(scale)
    found: set[int] = set()
    shares = known.shares(scale)
    of_names, of_numbers = _ByChance(set(), []), _ByChance(set(), [])
    for at, text in texts:
        if at in found or starts.isdisjoint(text.words):
            continue
        pairs = [*known.pairs_within(text.words, at)]
        ratings = [] if scale.unary else values.within(text)
        are_clear = bool(scale.labels) or are_fields(text.text)
        numbers = [] if are_clear else [pair for pair in pairs if pair.are_numbers]
        others = pairs if are_clear else [pair for pair in pairs if not pair.are_numbers]
        if scale.unary:
            chance = sum(float(shares[pair.item_code]) for pair in numbers)
            of_numbers.add(at, chance**2, _are_two_pairs(numbers))
        else:
            of_numbers.add(at, *_has_rating_by_chance(numbers, ratings, shares))
        if not has_numbers and _are_two_pairs(others):
            found.add(at)
        if is_like_title(text.text):
            names = [pair for pair in others if is_name(pair.user_words)]
            of_names.add(at, *_has_rating_by_chance(names, ratings, shares))
            others = [pair for pair in others if not is_name(pair.user_words)]
        if _has_rating(others, ratings):
            found.add(at)
    found |= of_names.unlikely(_CHANCE) | of_numbers.unlikely(_CHANCE_OF_NUMBERS)
    return sorted(found)


@brief
class _ByChance(NamedTuple):
    """Ids that chance may explain, and how likely it is for each id that was looked at."""

    found: set[int]
    chances: list[float]

    def add(self, at: int, chance: float, is_found: bool) -> None:
        """Note an id, and whether it was found."""
        self.chances.append(min(1.0, chance))
        if is_found:
            self.found.add(at)

    def unlikely(self, share: float) -> set[int]:
        """Return the ids if chance explains so many in fewer tables than a share."""
        return self.found if is_no_chance(len(self.found), sum(self.chances), share) else set()


@brief
class _Pair(NamedTuple):
    """The words of an id that are a user and an item, and their rating in the table."""

    user: range
    item: range
    user_words: tuple[str, ...]
    item_words: tuple[str, ...]
    item_code: int
    value: float
    """Their rating; not a number if there is none."""

    @property
    def is_rated(self) -> bool:
        return not math.isnan(self.value)

    @property
    def are_numbers(self) -> bool:
        """Return whether both ids are whole numbers."""
        return all(map(str.isdecimal, (*self.user_words, *self.item_words)))


@brief
class _OriginalRows(NamedTuple):
    """Rows of the table, by the words of their ids."""

    users: dict[tuple[str, ...], int]
    items: dict[tuple[str, ...], int]
    rows: Rows

    def shares(self, scale: RatingScale) -> NDArray[np.float64]:
        """Return for each item which share of the users rated it with one of the ratings."""
        n_users, n_items = self.rows.indptr.size - 1, int(self.rows.indices.max(initial=-1)) + 1
        n_levels = _FINE if scale.step is None else scale.range / scale.step + 1
        return np.bincount(self.rows.indices, minlength=n_items) / (n_users * n_levels)

    def pairs_within(self, words: tuple[str, ...], own: int) -> Iterator[_Pair]:
        """Yield the pairs among words, but for those of the item that the words are."""
        those_items = [*_places(words, self.items)]
        for user, user_at in _places(words, self.users):
            begin, end = self.rows.indptr[user : user + 2]
            indices = self.rows.indices[begin:end]
            for item, item_at in those_items:
                cell = int(np.searchsorted(indices, item))
                is_rated = cell < indices.size and indices[cell] == item
                value = float(self.rows.values[begin + cell]) if is_rated else math.nan
                if item != own and not {*range(*user_at)} & {*range(*item_at)}:
                    ids = words[slice(*user_at)], words[slice(*item_at)]
                    yield _Pair(range(*user_at), range(*item_at), *ids, item, value)


def _has_rating(pairs: list[_Pair], values: list[tuple[range, set[float]]]) -> bool:
    """Return whether a rating of a pair is a word of the text, outside of the pair's ids."""
    return any(
        pair.value in candidates and _has_places(pair, at)
        for pair in pairs
        for at, candidates in values
    )


def _has_rating_by_chance(
    pairs: list[_Pair], values: list[tuple[range, set[float]]], shares: NDArray[np.float64]
) -> tuple[float, bool]:
    """Return how likely a text states a rating of these pairs by chance, and whether it does."""
    chance = sum(
        float(shares[pair.item_code])
        for pair in pairs
        if any(_has_places(pair, place) for place, _ in values)
    )
    return chance, _has_rating(pairs, values)


def _has_places(pair: _Pair, value: range) -> bool:
    return not {*value} & {*pair.user, *pair.item}


def _are_two_pairs(pairs: list[_Pair]) -> bool:
    """Return whether two users, whose ids are no names, have each another item in the table."""
    clear = [pair for pair in pairs if pair.is_rated and not is_name(pair.user_words)]
    return any(
        not set(one.user) & set(other.user) and not set(one.item) & set(other.item)
        for one, other in combinations(clear, 2)
    )


def _by_words(ids: NDArray[Any], wanted: set[str]) -> dict[tuple[str, ...], int]:
    words = ((words_of_id(each), at) for at, each in enumerate(ids.tolist()))
    return {parts: at for parts, at in words if parts and wanted.issuperset(parts)}


def _places(
    words: tuple[str, ...], known: dict[tuple[str, ...], int]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the position of each id among words, and where its words begin and end."""
    for size in range(1, min(_MOST_WORDS, len(words)) + 1):
        for begin in range(len(words) - size + 1):
            if (position := known.get(words[begin : begin + size])) is not None:
                yield position, (begin, begin + size)
