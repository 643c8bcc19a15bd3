"""Rows within an id where nearly all ids are one whole number.

Variants, dates, times and ISBNs are several numbers, too. So an id is a row if its numbers are
fields of a table, if they are columns of several rows, or if more ids contain an item, a user and
another item than do by chance.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from recveil.io.columns.pairs_above_chance import is_no_chance
from recveil.io.columns.repeated_rows import ESCAPED, WORD
from recveil.runtime.safe_repr import brief

# What separates fields in JSON, XML, HTML and the address of a page, and a field's name in these.
MARKUP = re.compile(r"[\x00-\x1f,;|?{}\[\]]|::|(?<=\S)&(?=\S)|<[^<>]*>")
NAME = re.compile(r"[\s\"']*[^\W\d]\w*[\s\"']*[=:]")
QUOTES = " \"'()"
# Signs that article numbers, dates, times, ISBNs and titles do not have.
FOREIGN = re.compile(r"[^\w\s\-\u2010-\u2015/\\:.+*\u00d7'\u2019\"()!%@]+")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"(?!0\d)\d+(?:\.0+)?")
_RATING = re.compile(r"[-+]?(?!0\d)\d{1,3}(?:[.,]\d+)?")
# The item of the id, and the user and the item of a row
_FEWEST_NUMBERS = 3
# An item, and rows of three columns: one of these is the users', and one the ratings'.
_COLUMNS, _FEWEST_ROWS = 3, 2
# A user and two items are a row if chance explains so many in fewer tables than this share.
_CHANCE = 0.02


@brief
class NumberSearch(NamedTuple):
    """A search for rows of numbers."""

    users: frozenset[str]
    items: frozenset[str]
    n_users_of_length: Counter[int]
    is_unrated: bool

    @classmethod
    def among(
        cls, users: Iterable[Any], items: Iterable[Any], *, is_unrated: bool
    ) -> "NumberSearch":
        """Search for these users and items, as far as they are numbers."""
        both = (frozenset(filter(str.isdecimal, map(str, ids))) for ids in (users, items))
        known_users, known_items = both
        lengths = Counter(map(len, known_users))
        return cls(known_users, known_items, lengths, is_unrated)

    def find(self, forms: Mapping[int, Iterable[str]]) -> set[int]:
        """Return the positions of ids that contain rows; each id is given in several forms."""
        found, by_chance, n_expected = set(), set(), 0.0
        for at, texts in forms.items():
            if any(self._has_fields(text) or self._has_columns(text) for text in texts):
                found.add(at)
                continue
            numbers = max((_DIGITS.findall(text) for text in texts), key=len)
            others = [number for number in numbers if number not in self.items]
            if (
                len(numbers) < _FEWEST_NUMBERS
                or numbers[0] in others
                or len(numbers) < len(others) + 2
            ):
                continue
            n_expected += min(1.0, sum(map(self._chance, others)))
            if not self.users.isdisjoint(others):
                by_chance.add(at)
        return found | by_chance if is_no_chance(len(by_chance), n_expected, _CHANCE) else found

    def _has_fields(self, text: str) -> bool:
        """Return whether fields of a table are a user, an item and a rating."""
        plain = MARKUP.sub("\n", ESCAPED.sub("\n", text))
        parts = [part for part in plain.split("\n") if part.strip(QUOTES)]
        named = [NAME.sub("", part).strip(QUOTES) for part in parts]
        signs = [part.strip(QUOTES) for part in FOREIGN.split(plain.replace("\n", ";"))]
        return self._are_row(named) or self._are_row([*filter(None, signs)])

    def _are_row(self, fields: list[str]) -> bool:
        whole = {at: field.split(".")[0] for at, field in enumerate(fields) if _is_whole(field)}
        users = [at for at, number in whole.items() if number in self.users]
        items = {at for at, number in whole.items() if number in self.items}
        ratings = {at for at, field in enumerate(fields) if _RATING.fullmatch(field)}
        if self.is_unrated:
            return len(fields) > 2 and any(items - {user} for user in users)
        if len(items) > 1 and any(number not in self.items for number in map(whole.get, users)):
            return True
        return any(ratings - {user, item} for user in users for item in items - {user})

    def _has_columns(self, text: str) -> bool:
        """Return whether numbers are an item and rows, whose columns look like ids and ratings."""
        words = WORD.findall(text)
        n_rows, n_others = divmod(len(words), _COLUMNS)
        if n_rows < _FEWEST_ROWS or n_others == 0 or not all(map(_is_whole, words)):
            return False
        columns = [words[at::_COLUMNS] for at in range(n_others, n_others + _COLUMNS)]
        for user, item in ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)):
            users, items = columns[user], [words[0], *columns[item]]
            if (
                _are_alike(users, self.users)
                and len(users[0]) in self.n_users_of_length
                and _are_alike(items, self.items)
                and all(map(_RATING.fullmatch, columns[_COLUMNS - user - item]))
            ):
                return True
        return False

    def _chance(self, number: str) -> float:
        """Return which share of the numbers of as many digits are users."""
        return self.n_users_of_length[len(number)] / (9 * 10 ** (len(number) - 1))


def are_fields(text: str) -> bool:
    """Return whether a text has signs that separate fields, but not words, numbers or dates.

    >>> are_fields("4711-2-38"), are_fields("31;1002"), are_fields("31~1002")
    (False, True, True)
    """
    return bool(MARKUP.search(text) or FOREIGN.search(text))


def _is_whole(field: str) -> bool:
    return _NUMBER.fullmatch(field) is not None


def _are_alike(numbers: list[str], known: frozenset[str]) -> bool:
    return known.issuperset(numbers) or len(set(map(len, numbers))) == 1
