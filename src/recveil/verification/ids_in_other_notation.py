"""Detection of user ids within item ids that write them with other punctuation.

"Apollo 13" holds "apollo13" by chance. So only such ids are compared as neither titles nor
catalogues have: addresses, long hexadecimal ids, random tokens, and numbers of many digits.
"""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from recveil.io.columns.repeated_rows import decode_escapes

_BETWEEN = re.compile(r"[\W_]+")
# Addresses in words: name (at) host (dot) org
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_SHORTEST_ADDRESS, _SHORTEST_HEXADECIMAL, _SHORTEST_NUMBER, _SHORTEST_TOKEN = 12, 12, 10, 12
_HEXADECIMAL = re.compile(r"[\da-f]+")
_PART = re.compile(r"[^\W\d_]+|\d+")
_WORD, _LONG_NUMBER = re.compile(r"[^\W\d_]{4}"), re.compile(r"\d{9}")
# Ids of catalogues have a letter in front. Random ids change between letters and digits.
_RANDOM_HEXADECIMAL, _RANDOM_TOKEN = 4, 6
_FEWEST_CHARACTERS = 5
# So many characters are looked up first.
_START = 8
_MOST_CHANCE = 1e-3
# A date, with or without a time of day, is a number of many digits that items hold, too.
_DATE = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])\d{0,6}")
# Numbers that are so far apart are not merely counted.
_MOST_DENSE = 0.1
# Counted numbers are ids of users only if so many occur, each in so many item ids on average.
_FEWEST_USERS, _ITEMS_EACH = 4, 2


def fold_notation(text: str) -> str:
    """Return the letters and digits of a text, in small letters.

    >>> fold_notation("+49 (170) 555-1200"), fold_notation("21636369-8B52")
    ('491705551200', '216363698b52')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _BETWEEN.sub("", text.casefold())


def find_in_other_notation(users: Iterable[object], items: Iterable[str]) -> set[str]:
    """Return the user ids that occur in item ids but for punctuation, and not by chance."""
    items = [*items]
    clear, counted = _split([*map(str, users)], sum(map(len, items)))
    if not clear and not counted:
        return set()
    search, found, n_items = _Search([*clear, *counted]), set[str](), Counter[str]()
    for item in items:
        texts = dict.fromkeys((item, decode_escapes(item)))
        for form in {form for text in texts for form in search.within(fold_notation(text))}:
            if form in clear:
                found.add(clear[form])
            else:
                n_items[counted[form]] += 1
    if len(n_items) >= _FEWEST_USERS and n_items.total() >= _ITEMS_EACH * len(n_items):
        found.update(n_items)
    return found


def _split(users: list[str], n_places: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return the forms of ids that do not occur by chance, and the numbers that may be counted."""
    chance = n_places * len(users) / _MOST_CHANCE
    clear, counted = dict[str, str](), dict[str, str]()
    for user in users:
        for form in _forms(user):
            if not form.isdecimal():
                if _is_clear(form, user, chance):
                    clear[form] = user
            elif len(form) >= _SHORTEST_NUMBER and 10 ** len(form) > chance:
                if user.startswith("+"):  # as a telephone number
                    clear[form] = user
                elif not _DATE.fullmatch(form):
                    counted[form] = user
    if _are_far_apart(counted):
        clear, counted = clear | counted, {}
    return clear, counted


def _forms(user: str) -> Iterator[str]:
    if _ADDRESS.fullmatch(user):
        name, host = user.split("@")
        for at, dot in (("", ""), ("at", ""), ("at", "dot")):
            yield fold_notation(f"{name}{at}{host.replace('.', dot)}")
    else:
        yield fold_notation(user).lstrip("0")


def _is_clear(form: str, user: str, chance: float) -> bool:
    """Return whether an id without its punctuation is no title, and no word of one."""
    if _ADDRESS.fullmatch(user):
        return len(form) >= _SHORTEST_ADDRESS
    if len({*form}) < _FEWEST_CHARACTERS:
        return False
    n_parts = len(_PART.findall(form))
    if _HEXADECIMAL.fullmatch(form) and n_parts >= _RANDOM_HEXADECIMAL:
        return len(form) >= _SHORTEST_HEXADECIMAL and 16 ** len(form) > chance
    if len(form) < _SHORTEST_TOKEN:
        return False
    # Titles hold words and years, as handles do.
    has_word, is_numbered = _WORD.search(form), _LONG_NUMBER.search(user)
    return is_numbered is not None if has_word else n_parts >= _RANDOM_TOKEN


def _are_far_apart(forms: Iterable[str]) -> bool:
    """Return whether numbers are not merely counted, with whatever step."""
    numbers = sorted({*map(int, forms)})
    if len(numbers) < _FEWEST_USERS:
        return False
    step = math.gcd(*(number - numbers[0] for number in numbers))
    return len(numbers) < _MOST_DENSE * ((numbers[-1] - numbers[0]) // step + 1)


class _Search:
    """A search of texts for many values at once."""

    def __init__(self, values: list[str]):
        self._values = {*values}
        self._lengths = defaultdict[str, set[int]](set)
        for value in values:
            self._lengths[value[:_START]].add(len(value))

    def within(self, text: str) -> set[str]:
        return {
            part
            for at in range(len(text) - _START + 1)
            for length in self._lengths.get(text[at : at + _START], ())
            if (part := text[at : at + length]) in self._values
        }
