"""Vocabulary: the words that stand in the place of ratings, such as "hate", "like" and "love"."""

import csv
import re
import unicodedata
from collections.abc import Iterable, Sequence

from recveil.errors import RecveilError, listed, quoted

# More words than these are what people wrote, and no scale that they chose from.
MOST_WORDS = 100
LONGEST_WORD = 40
# What a spreadsheet takes for a formula, also where it splits a cell; a number such as -1 is none.
_FORMULA = re.compile(r"(^|[;|])\s*'*[=+\-@＝＋－＠]")  # noqa: RUF001
_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?")


def check_words(words: Sequence[str]) -> None:
    """Raise a RecveilError unless some words can be published in the place of ratings.

    Parameters
    ----------
    words : sequence of str

    Raises
    ------
    RecveilError
        For fewer than two words, for too many, for one that stands twice, and for one that is
        empty, too long, begins or ends with a space, holds what nobody sees, or would be run by a
        spreadsheet.

    Examples
    --------
    >>> check_words(["hate", "love"])
    >>> check_words(["=1+1", "love"])
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: word '=1+1': a spreadsheet would run it as a formula; call it ...
    """
    for word in words:
        if problem := problem_of_word(word):
            raise RecveilError(f"word {quoted(word, 40)}: {problem}", code="scale.invalid")
    if len(words) < 2:
        raise RecveilError(
            f"words of ratings: expected two or more, got {len(words)} ({listed(words, 60)}); name "
            f"all of them, with commas between",
            code="scale.invalid",
        )
    if len(words) > MOST_WORDS:
        raise RecveilError(
            f"words of ratings: {len(words):,} of them, where at most {MOST_WORDS} can be; is this "
            f"a column of comments? Name another with rating (--rating)",
            code="scale.invalid",
        )
    if len(set(words)) < len(words):
        twice = next(word for at, word in enumerate(words) if word in words[:at])
        raise RecveilError(
            f"words of ratings: {quoted(twice, 40)} stands twice; name each word once",
            code="scale.invalid",
        )


def problem_of_word(word: object) -> str:
    r"""Say why a word cannot stand in a release, and what to do; nothing if it can.

    Examples
    --------
    >>> problem_of_word("love it"), problem_of_word("+1")
    ('', '')
    >>> problem_of_word(" love")
    'it begins or ends with a space; mend it'
    """
    if not isinstance(word, str):
        return f"expected text, got {type(word).__name__}; write it as text"
    if not word:
        return "it is empty, which may say nothing at all; leave such rows out"
    if len(word) > LONGEST_WORD:
        return (
            f"it has {len(word):,} characters, more than {LONGEST_WORD}; is this a column of "
            f"comments? Name another with rating (--rating)"
        )
    if word != word.strip():
        return "it begins or ends with a space; mend it"
    if not word.isprintable():
        return "it holds a line break, or a sign that nobody sees; call it otherwise"
    if _FORMULA.search(word) and not _NUMBER.fullmatch(word):
        return "a spreadsheet would run it as a formula; call it otherwise"
    return ""


def words_in(text: str) -> tuple[str, ...]:
    """Read words that somebody typed, with commas between; one with a comma stands in quotes.

    Examples
    --------
    >>> words_in('hate, "well, no",like')
    ('hate', 'well, no', 'like')
    """
    try:
        (found,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise RecveilError(
            f"words {quoted(text)}: expected them with commas between, such as hate,like,love; put "
            f"one that holds a comma between quotes",
            code="scale.invalid",
        ) from None
    return tuple(word.strip() for word in found)


def alike(words: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of words that differ in capital letters, spaces or codes of letters alone.

    Examples
    --------
    >>> alike(["like", "love", "Like"])
    [('like', 'Like')]
    """
    first: dict[str, str] = {}
    pairs = []
    for word in words:
        usual = first.setdefault(_folded(word), word)
        if usual != word:
            pairs.append((usual, word))
    return pairs


def nearest_word(text: str, words: Iterable[str]) -> str | None:
    """Return the word that differs from a text in nothing but capital letters and spaces.

    Examples
    --------
    >>> nearest_word("Like ", ["like", "love"])
    'like'
    """
    return next((word for word in words if _folded(word) == _folded(text)), None)


def _folded(word: str) -> str:
    return "".join(unicodedata.normalize("NFC", word).casefold().split())
