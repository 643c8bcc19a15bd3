"""Telling text: private values that are looked for in published text."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

# Shorter ones stand in other text by chance.
SHORTEST = 8
_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"(?=.*[^\W\d_])(?=.*[\d@_])\S+")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]+")
_MOST_CHANCE = 1e-3


def telling(values: Iterable[Any], n_places: int) -> list[str]:
    """Return those private values that, where they stand in other text, do not by chance.

    They have at least eight characters, no space, and letters with a digit, @ or _ among them, as
    addresses have; or they are numbers of so many digits that fewer than one in a thousand tables
    as large would hold one of them by chance. Words such as "godzilla" or "spider-man" tell
    nothing: titles hold them, too.

    Parameters
    ----------
    values : iterable
        Ids of people, say.
    n_places : int
        The length of the text in which they are looked for.

    Examples
    --------
    >>> telling(["ann", "godzilla", "ann.b@example.org", 12345678, 123456789012345], 10**6)
    ['ann.b@example.org', '123456789012345']
    """
    texts = [text for text in map(str, values) if len(text) >= SHORTEST]
    chance = n_places * len(texts)
    return [text for text in texts if _is_address(text) or chance < _MOST_CHANCE * _numbers(text)]


def _is_address(text: str) -> bool:
    """Say whether a text is no word, title, or number of whatever notation."""
    return _ADDRESS.fullmatch(text) is not None and not _numbers(text)


def _numbers(text: str) -> int:
    """Return how many numbers have as many digits, if it is one; letters to f may be digits."""
    digits = text.replace("-", "")
    return 10 ** len(digits) if _HEXADECIMAL.fullmatch(digits) else 0


def found_within(values: Iterable[str], text: str) -> set[str]:
    """Return the values that stand anywhere in a text, in capitals or not.

    Parameters
    ----------
    values : iterable of str
        Each of at least `SHORTEST` characters.

    Examples
    --------
    >>> sorted(found_within(["ann.b@example.org", "ben@example.org"], "by Ann.B@example.org, 1999"))
    ['ann.b@example.org']
    """
    beginning_with: dict[str, list[tuple[str, str]]] = {}
    for value in values:
        folded = value.casefold()
        beginning_with.setdefault(folded[:SHORTEST], []).append((folded, value))
    text = text.casefold()
    found: set[str] = set()
    if not beginning_with:
        return found
    for place in range(len(text) - SHORTEST + 1):
        candidates = beginning_with.get(text[place : place + SHORTEST])
        if candidates is not None:
            found.update(value for folded, value in candidates if text.startswith(folded, place))
    return found


def words_of(text: str) -> Iterator[str]:
    """Yield the words and numbers of a text, folded to small letters.

    Examples
    --------
    >>> list(words_of("made by Ann_7, at home"))
    ['made', 'by', 'ann', '7', 'at', 'home']
    """
    return (word.casefold() for word in _WORD.findall(text))


def found_as_words(values: Iterable[Any], text: str) -> set[str]:
    """Return the values that are words of a text, or several of its words in a row.

    Examples
    --------
    >>> sorted(found_as_words(["ann", "nn", "ann.b", 7], "made by ann.b in 7 days"))
    ['7', 'ann', 'ann.b']
    """
    words = set(words_of(text))
    row = f" {' '.join(words_of(text))} "
    found = set()
    for value in values:
        parts = list(words_of(str(value)))
        if not parts or not words.issuperset(parts):
            continue
        if len(parts) == 1 or f" {' '.join(parts)} " in row:
            found.add(str(value))
    return found
