r"""Rows within an id in an unknown notation: users, items and ratings in alternation.

A title may contain a number, a name and another title by chance. It does not contain two users,
each with an item and a rating, in the same order, unless it is a part of the table.
"""

import binascii
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from html import unescape
from typing import Any, NamedTuple

import numpy as np

from recveil.ratings.rating_scale import RatingScale
from recveil.runtime.safe_repr import brief

WORD = re.compile(r"[^\W_]+")
# What programs write for delimiters of files and for line breaks.
ESCAPED = re.compile(
    r"\\(?:[nrtvfN]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|[0-3][0-7]{2}|0)|%[01][\da-fA-F]|%2[Cc]|%3[Bb]"
    r"|%7[Cc]|&#(?:\d{1,2}|x[\da-fA-F]{1,2});|<br */?>"
    # As terminals show them.
    r"|\^[IJM]"
    # As Excel writes them.
    r"|_x00(?:[01][\da-fA-F]|2[Cc]|3[Bb]|7[Cc])_"
)
ESCAPES = re.compile(r"[\\%&<^]|_x00")
# The last two begin letters of UTF-8 that were read as Latin-1.
_ENCODED = re.compile("[\\\\%&<=^\u00c2\u00e2]|_x00")
_MINUS = "-\u2212\u2013"
_PERCENT, _PRINTABLE = re.compile(r"%([\da-fA-F]{2})"), re.compile(r"=([\dA-F]{2})")
_WRITTEN = re.compile(r"\\(?:u[\da-fA-F]{4}|x[\da-fA-F]{2})")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
# Whole numbers in groups of three digits, and with an exponent.
_GROUPED = re.compile(r"(?<![\w.,'])\d{1,3}(?:[,']\d{3})+(?!\w)")
_EXPONENT = re.compile(r"(?<![\w.])\d\.\d+[eE]\+?\d{1,2}(?!\w)")
# Texts in hexadecimal or base64 digits, dictionaries and lists of Python and JSON with their words,
# and rows of libsvm.
_HEXADECIMAL = re.compile(r"(?:[\da-f]{2}){6,}|(?:[\dA-F]{2}){6,}")
_BASE64 = re.compile(r"[A-Za-z\d+/\-_]{11,}={0,2}")
_LITERAL = re.compile(r"[\[{(]\s*[\"'\[{(]|\{\s*[^\W_]+\s*:")
_QUOTED_OR_WORD = re.compile(r""""([^"]*)"|'([^']*)'|([^\s\[\]{}():,"']+)""")
_LIBSVM = re.compile(r"(?<!\S)(\S+)((?:\s+\d+:[-+]?\d+(?:\.\d+)?){2,})")
# A whole number with decimals that are all 0.
_WHOLE = re.compile(r"(?<![\w.])(\d+)\.0+(?!\w|\.\d)")


def decode_escapes(text: str) -> str:
    r"""Return a text without percent encoding, entities, and escapes of control characters.

    >>> decode_escapes(r"i7\tu%5F2&amp;4")
    'i7\nu_2&4'
    """
    text = _without_entities(_as_utf8(text))
    text = _PRINTABLE.sub(lambda found: chr(int(found[1], 16)), text)
    return ESCAPED.sub("\n", text)


def _as_utf8(text: str) -> str:
    """Return text that was read as Latin-1 as it was.

    >>> _as_utf8("Heat\u00c2\u00b7u8"), _as_utf8("Ch\u00e2teau")
    ('Heat\u00b7u8', 'Ch\u00e2teau')
    """
    if text.isascii():
        return text
    for encoding in ("latin-1", "cp1252"):
        try:
            return text.encode(encoding).decode()
        except UnicodeError:
            continue
    return text


def _without_entities(text: str) -> str:
    if "\\" in text:
        text = _WRITTEN.sub(lambda found: _letter(found[0]), text)
    for _ in range(3):  # percent signs may be encoded again
        decoded = _PERCENT.sub(lambda found: chr(int(found[1], 16)), unescape(text))
        if decoded == text:
            break
        text = decoded
    return text


def _letter(escape: str) -> str:
    """Return the letter or digit that an escape encodes, or another escape as it is."""
    letter = chr(int(escape[2:], 16))
    return letter if letter.isalnum() else escape


def decode_digits(text: str) -> str:
    """Return a text that is written in hexadecimal or base64 digits, or "" for any other.

    >>> decode_digits("NDgzOTIwLEhlYXQsNA=="), decode_digits("3438333932302c486561742c34")
    ('483920,Heat,4', '483920,Heat,4')
    >>> decode_digits("1904d37c14a3e5b0"), decode_digits("Copperfield Blues")
    ('', '')
    """
    with suppress(ValueError):
        if _HEXADECIMAL.fullmatch(text):
            return _printable(bytes.fromhex(text))
    with suppress(ValueError):
        if _BASE64.fullmatch(text):
            digits = text.rstrip("=").replace("-", "+").replace("_", "/")
            return _printable(binascii.a2b_base64(digits + "=" * (-len(digits) % 4)))
    return ""


def _printable(data: bytes) -> str:
    """Return a text of UTF-8, or "" for other bytes."""
    text = data.decode()
    return text if re.sub(r"[\t\r\n]", "", text).isprintable() else ""


def fields_of_data(text: str) -> list[str]:
    r"""Return a text with a tab between the fields of dictionaries, lists and rows of libsvm.

    >>> fields_of_data("{'483920': {'Die Hard': 4}}"), fields_of_data("483920 7:4 9:5")
    (['\t483920\tDie Hard\t4\t'], ['\t483920\t7\t4\t9\t5\t'])
    >>> fields_of_data("Wit (2001): 4")
    []
    """
    if _LITERAL.search(text):
        words = ("".join(found) for found in _QUOTED_OR_WORD.findall(text))
        return ["\t".join(("", *words, ""))]
    if ":" in text and _LIBSVM.search(text):
        return [
            _LIBSVM.sub(
                lambda row: "\t".join(("", row[1], *re.split(r"[\s:]+", row[2].strip()), "")), text
            )
        ]
    return []


def decoded_forms(text: str) -> list[str]:
    r"""Return a text as it is, without escapes, and with whole numbers as digits.

    >>> decoded_forms("i7%7C1,004"), decoded_forms("1.004e3|i7")
    (['i7%7C1,004', 'i7|1,004', 'i7|1004'], ['1.004e3|i7', '1004|i7'])
    """
    forms = [text]
    if _ENCODED.search(text):
        forms += [ESCAPED.sub("\n", _without_entities(text)), decode_escapes(text)]
    return [*dict.fromkeys((*forms, *map(with_plain_numbers, forms)))]


def with_plain_numbers(text: str) -> str:
    """Return a text without separators of thousands, and without exponents of whole numbers."""
    if "," in text or "'" in text:
        text = _GROUPED.sub(lambda found: re.sub("[,']", "", found[0]), text)
    if "e" not in text and "E" not in text:
        return text
    return _EXPONENT.sub(lambda found: _without_exponent(found[0]), text)


def _without_exponent(number: str) -> str:
    value = float(number)
    return str(int(value)) if value.is_integer() and value < 2**53 else number


def fold(text: str) -> str:
    """Return a text in small letters, without characters that cannot be seen, and without ``.0``.

    Digits of all scripts become those of ASCII.

    >>> fold("U12: 1003.0"), fold("\u0661\u0660")
    ('u12: 1003', '10')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(
            str(unicodedata.decimal(each, each))
            for each in text
            if unicodedata.category(each) != "Cf"
        )
    text = text.casefold()
    return _WHOLE.sub(r"\1", text) if ".0" in text else text


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, without zeros in front of numbers.

    >>> words_of("m0004 by 007")
    ('m4', 'by', '7')
    """
    return tuple(WORD.findall(_ZEROS.sub("", text) if "0" in text else text))


def words_of_id(each: object) -> tuple[str, ...]:
    """Return the words of an id as `fold` and `words_of` do, but faster for numbers."""
    text = str(each)
    if text.isdecimal() and text[0] != "0":
        return (text,)
    return words_of(fold(text))


def numbers_within(text: str) -> Iterator[tuple[set[int], set[float]]]:
    """Yield which words are a number, and what it may be: with its sign and decimals, or not.

    >>> [(at, sorted(values)) for at, values in numbers_within("a -4,5")]
    [({1}, [-4.0, 4.0]), ({1, 2}, [-4.5, 4.5]), ({2}, [5.0])]
    """
    spans = [word.span() for word in WORD.finditer(text)]
    for at, (begin, end) in enumerate(spans):
        if not text[begin:end].isdecimal():
            continue
        sign = -1 if begin and text[begin - 1] in _MINUS else 1
        points = text[:begin][-1:] in (".", ",") and not text[: begin - 1][-1:].isdecimal()
        whole = float(text[begin:end])
        values = {whole, sign * whole} if sign < 0 else {whole}
        if points:  # as in .5 and -.5
            part = float(f".{text[begin:end]}")
            values |= {_single(part), _single(-part)}
        last = at + 1
        if last < len(spans) and end + 1 == spans[last][0] and text[end] in ".,":
            decimals = text[slice(*spans[last])]
            if decimals.isdecimal():
                yield {at}, values
                number = float(f"{text[begin:end]}.{decimals}")
                values = {_single(number), _single(sign * number)}
                yield {at, last}, values
                continue
        yield {at}, values


def _single(number: float) -> float:
    """Return a number as ratings keep it."""
    return float(np.float32(number))


# Roles of words, by the letters of the patterns below.
_USER, _ITEM, _VALUE = "u", "i", "v"
_ORDERS = ("uiv", "iuv", "uvi", "ivu", "vui", "viu")
# What follows each other in two rows. The roles at the two positions must be different ids.
_TWO_ROWS = tuple((order * 2, (order.index("u"), order.index("u") + 3)) for order in _ORDERS)
# The first row may begin at its second column, and two rows may be of one user or item.
_CUT_ROWS = (
    *(("uiviv", (1, 3)), ("ivuiv", (0, 3)), ("iuvuv", (1, 3)), ("uviuv", (0, 3))),
    *(("uvivi", (2, 4)), ("viuvi", (1, 4)), ("ivuvu", (2, 4)), ("vuivu", (1, 4))),
)
# A text of nothing else, with a user of many digits: the row of its item, and a part of the next.
_NEXT_ROW = (("ivui", (0, 3)), ("iuvi", (0, 3)))
_LIKED = (("uiui", (0, 2)), ("iuiu", (1, 3)))
_FEWEST = 4
# What separates words, or encodes it.
_GAP, _N_GAPS = re.compile(r"[\W_]+"), 3
# Numbers that may be users as well as items are rows if there are so many, and nothing else.
_FEWEST_NUMBERS = 9
# Numbers of titles, and their words with digits, such as 3D and H20, are no longer.
_MOST_DIGITS, _MOST_CHARACTERS = 3, 4
# A text without the signs that formats of data have.
_TITLE = re.compile(r"[\w \-'\u2019&.,:()!?*]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LETTER = re.compile(r"[^\W\d_]")
_NUMBERED = re.compile(r"(\D+)(\d+)")
_GLUED = re.compile(r"[^\W\d_]+(\d+)")
# Ids are numbered alike if so many begin with the same letters; this many are looked at.
_SHARE, _LOOKED_AT = 0.5, 2_000
# What separates the words of titles, also those that are a list of names.
_COMMON = frozenset(
    {"a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "vs", "with"}
)
_OF_TITLES = re.compile(rf"(?:[\s\-'\u2019.&+]|\b(?:{'|'.join(_COMMON)})\b)*")
_DATE = re.compile(r"\b\d{4}([-/.])\d{1,2}\1\d{1,2}\b")
# A year may be a number of a title.
_YEAR = re.compile(r"(?:1[89]|20)\d\d")


class _Place(NamedTuple):
    """The words of a text that are an id or a rating."""

    first: int
    end: int
    code: int
    is_glued: bool = False
    """Whether letters in front of the number are not a part of the id."""


def find_repeated_rows(
    labels: Iterable[Any],
    users: Iterable[Any],
    items: Iterable[Any],
    scale: RatingScale | None,
) -> list[int]:
    """Return the positions of ids in which users alternate with items and ratings.

    Words are compared as `words_of` returns them. Letters in front of numbers may be missing, or
    too many.
    """
    is_unrated = scale is not None and scale.low == scale.high
    items = [*items]
    prefix = _common_prefix(items)
    starts = {words[0] for item in items for words in _notations(item, prefix) if words}
    texts = [
        (at, text)
        for at, label in enumerate(labels)
        if isinstance(label, str) and len(_GAP.findall(label)) >= _N_GAPS
        for text in texts_of(label)
        if len(text.words) >= _FEWEST and not starts.isdisjoint(_with_glued(text.words))
    ]
    if not is_unrated and (scale is None or not scale.labels):
        texts = [(at, text) for at, text in texts if any(map(str.isdigit, text.words))]
    if not texts:
        return []
    wanted = {word for _, text in texts for word in text.words}
    wanted = _with_glued(wanted)
    known_items = _Vocabulary(items, wanted)
    texts = [(at, text) for at, text in texts if known_items.is_within(text.words)]
    if not texts:
        return []
    search = _Search(_Vocabulary(users, wanted), known_items, Values(scale), is_unrated)
    return sorted({at for at, text in texts if search.finds(text)})


@brief
class Text(NamedTuple):
    """A text, in small letters, and its words."""

    text: str
    spans: list[tuple[int, int]]
    words: tuple[str, ...]

    def is_all(self, place: _Place) -> bool:
        """Return whether a place is the whole text."""
        return place.end - place.first == len(self.words)

    def labels_at(self, place: _Place) -> tuple[str, ...]:
        """Return the words of a place."""
        return self.words[place.first : place.end]

    def between(self, one: _Place, other: _Place) -> str:
        """Return what separates two places, with one blank for several."""
        gap = self.text[self.spans[one.end - 1][1] : self.spans[other.first][0]]
        return " ".join(gap.split()) or gap[:1]


def texts_of(label: Any) -> list[Text]:
    """Return an id in each of its forms: as it is, and without its escapes."""
    if not isinstance(label, str) or label.isalnum():
        return []
    texts = []
    for text in map(fold, decoded_forms(label)):
        spans = [found.span() for found in WORD.finditer(text)]
        texts.append(Text(text, spans, words_of(text)))
    return texts


def is_like_title(text: str) -> bool:
    """Return whether a text may be a title: it has no signs of a format of data.

    >>> is_like_title("Alien 3 (1992), The"), is_like_title("u12|i7")
    (True, False)
    """
    return _TITLE.fullmatch(text) is not None


class _Vocabulary:
    """Ids of users or items, by their words."""

    def __init__(self, ids: Iterable[Any], wanted: set[str]):
        ids = [*ids]
        self._codes: dict[tuple[str, ...], int] = {}
        prefix = _common_prefix(ids)
        for code, each in enumerate(ids):
            for words in _notations(each, prefix):
                if words and wanted.issuperset(words):
                    self._codes.setdefault(words, code)
        self._sizes: defaultdict[str, set[int]] = defaultdict(set)
        for words in self._codes:
            self._sizes[words[0]].add(len(words))

    def is_within(self, words: tuple[str, ...]) -> bool:
        return next(self.places(words), None) is not None

    def places(self, words: tuple[str, ...]) -> Iterator[_Place]:
        """Yield each place of an id, by where it begins."""
        for first, word in enumerate(words):
            for size in self._sizes.get(word, ()):
                # Slices that run over the end would make this quadratic in a long id.
                end = first + size
                code = self._codes.get(words[first:end]) if end <= len(words) else None
                if code is not None:
                    yield _Place(first, end, code)
            if (glued := _GLUED.fullmatch(word)) and (word,) not in self._codes:
                code = self._codes.get((glued[1].lstrip("0") or "0",))
                if code is not None:
                    yield _Place(first, first + 1, code, True)


def _notations(each: Any, prefix: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of an id, and its number without the letters in front of it."""
    yield words_of_id(each)
    if prefix and isinstance(each, str) and each.startswith(prefix):
        number = each[len(prefix) :]
        if number.isdigit():
            yield (number.lstrip("0") or "0",)


def _with_glued(words: Iterable[str]) -> set[str]:
    """Return words, and the numbers of those that are letters and a number."""
    words = set(words)
    glued = map(_GLUED.fullmatch, words)
    return words | {found[1].lstrip("0") or "0" for found in glued if found}


def _common_prefix(ids: Sequence[Any]) -> str:
    """Return the letters in front of the number of most ids, or "".

    >>> _common_prefix(["user:1", "user:20", "ann"]), _common_prefix(["Apollo 13", "Heat"])
    ('user:', '')
    """
    looked_at = ids[:: max(1, len(ids) // _LOOKED_AT)]
    found = (_NUMBERED.fullmatch(each) for each in looked_at if isinstance(each, str))
    most = Counter(numbered[1] for numbered in found if numbered).most_common(1)
    return most[0][0] if most and most[0][1] > _SHARE * len(looked_at) else ""


class Values:
    """The ratings of a scale, to be found among the words of a text."""

    def __init__(self, scale: RatingScale | None):
        self._scale = scale
        labels = () if scale is None else scale.labels
        self._labels = {words_of(fold(label)): code for code, label in enumerate(labels)}
        self._sizes = {len(words) for words in self._labels}

    def within(self, text: Text) -> list[tuple[range, set[float]]]:
        """Return which words may be a rating, and which ratings."""
        if self._labels:
            return [
                (range(first, first + size), {self._labels[words] + 1.0})
                for first in range(len(text.words))
                for size in self._sizes
                if (words := text.words[first : first + size]) in self._labels
            ]
        return [
            (range(min(at), max(at) + 1), numbers)
            for at, numbers in numbers_within(text.text)
            if self._include(numbers)
        ]

    def _include(self, numbers: set[float]) -> bool:
        if self._scale is None:
            return any(abs(each) < 1e4 and not _YEAR.fullmatch(f"{each:g}") for each in numbers)
        return bool(self._scale.contains([*numbers]).any())


@brief
class _Search(NamedTuple):
    """A search for users, items and ratings that alternate."""

    users: _Vocabulary
    items: _Vocabulary
    values: Values
    is_unrated: bool

    def finds(self, text: Text) -> bool:
        items = [each for each in self.items.places(text.words) if not text.is_all(each)]
        users = [
            each
            for each in self.users.places(text.words)
            if not text.is_all(each) and not _COMMON.issuperset(text.labels_at(each))
        ]
        if not users or not items:
            return False
        users = _without_lone_letters(text.words, users)
        both = {each[:2] for each in users} & {each[:2] for each in items}
        places = {_USER: users, _ITEM: items}
        if self.is_unrated:
            return _has_likes(text, places, both)
        places[_VALUE] = [_Place(at.start, at.stop, 0) for at, _ in self.values.within(text)]
        if both and self._are_numbers(text.text, places):
            return True
        numbers = {place for place in both if "".join(text.words[slice(*place)]).isdigit()}
        for role in (_USER, _ITEM):
            places[role] = [each for each in places[role] if each[:2] not in numbers]
        if any(_has_pattern(pattern, places, differing) for pattern, differing in _TWO_ROWS):
            return True
        for role in (_USER, _ITEM):
            places[role] = [each for each in places[role] if each[:2] not in both]
        are_all = _are_all(text, places)
        clear = [each for each in places[_USER] if _is_clear(text.labels_at(each))]
        if is_like_title(text.text) and not are_all:
            places[_USER] = clear
        if any(_has_pattern(pattern, places, differing) for pattern, differing in _CUT_ROWS):
            return True
        places[_USER] = clear if are_all else []
        return any(_has_pattern(pattern, places, differing) for pattern, differing in _NEXT_ROW)

    def _are_numbers(self, text: str, places: dict[str, list[_Place]]) -> bool:
        """Return whether a text is nothing but numbers, in columns of users, items and ratings."""
        if _LETTER.search(text):
            return False
        fields, at = [], 0
        spans = [found.span() for found in WORD.finditer(text)]
        for found in _NUMBER.finditer(text):
            n_words = sum(found.start() <= begin < found.end() for begin, _ in spans[at:])
            fields.append((at, at + n_words))
            at += n_words
        if len(fields) < _FEWEST_NUMBERS:
            return False
        fitting = {role: {each[:2] for each in found} for role, found in places.items()}
        return any(
            all(field in fitting[order[at % 3]] for at, field in enumerate(fields))
            for order in _ORDERS
        )


def _without_lone_letters(words: Sequence[str], users: list[_Place]) -> list[_Place]:
    """Drop users that are a part of a word with letters, unless two such words occur."""
    starts = Counter(_letters(words, each) for each in users if each.is_glued)
    return [each for each in users if not each.is_glued or starts[_letters(words, each)] > 1]


def _letters(words: Sequence[str], place: _Place) -> str:
    return words[place.first].rstrip("0123456789")


def _has_pattern(pattern: str, places: dict[str, list[_Place]], differing: tuple[int, ...]) -> bool:
    """Return whether places of these roles follow each other, two of them with different ids."""
    states: list[tuple[int, int]] = [(0, -1)]  # where the last place ends, and the id to avoid
    for at, role in enumerate(pattern):
        ends: dict[int, int] = {}
        is_one, is_other = differing[:1] == (at,), differing[1:] == (at,)
        for begin, avoided in states:
            for first, end, code, _ in places[role]:
                if first < begin or (is_other and code == avoided):
                    continue
                key = code if is_one else avoided
                if end < ends.get(key, end + 1):
                    ends[key] = end
        # Of the first id, two choices are enough to have another one later.
        states = sorted((end, key) for key, end in ends.items())[:2]
    return bool(states)


def _has_likes(text: Text, places: dict[str, list[_Place]], both: set[tuple[int, int]]) -> bool:
    """Return whether two users each occur with an item, as in no title."""
    users = [each for each in places[_USER] if each[:2] not in both]
    items = [each for each in places[_ITEM] if each[:2] not in both]
    numbered = [each for each in users if _is_clear(text.labels_at(each))]
    clear = {_USER: numbered, _ITEM: items}
    if any(_has_pattern(pattern, clear, differing) for pattern, differing in _LIKED):
        return True
    return (
        _are_repeated(text, users, items)
        or _are_repeated(text, items, users)
        or _are_all_likes(text, users, items)
    )


def _are_all_likes(text: Text, users: list[_Place], items: list[_Place]) -> bool:
    """Return whether a text has no words but users and items in alternation, and dates."""
    if " & " in text.text:  # a list of names
        return False
    after = dict(_dates_within(text))
    ends: dict[tuple[str, int], list[int]] = defaultdict(list)
    for role, places in ((_USER, users), (_ITEM, items)):
        for first, end, *_ in places:
            ends[role, first].append(end)
    for role, other in ((_USER, _ITEM), (_ITEM, _USER)):
        reached, n_places = {after.get(0, 0)}, 0
        while reached:
            reached = {end for first in reached for end in ends[role, first]}
            reached = {after.get(end, end) for end in reached}
            n_places += 1
            if len(text.words) in reached and n_places >= _FEWEST:
                return len({user.code for user in users}) > 1
            role, other = other, role
    return False


def _dates_within(text: Text) -> Iterator[tuple[int, int]]:
    """Yield the first word of each date, and the word behind it."""
    for found in _DATE.finditer(text.text):
        at = [at for at, (begin, end) in enumerate(text.spans) if begin >= found.start()]
        yield at[0], at[0] + 3


def _are_all(text: Text, places: dict[str, list[_Place]]) -> bool:
    """Return whether a text has no words but users, items and ratings."""
    covered = {at for found in places.values() for each in found for at in range(*each[:2])}
    return len(covered) == len(text.words)


def _is_clear(words: Sequence[str]) -> bool:
    """Return whether an id is none that occurs in titles: no word or short number.

    >>> [_is_clear([word]) for word in ("user20", "1003", "heat", "h20", "13", "1995")]
    [True, True, False, False, False, False]
    """
    text = "".join(words)
    is_long = len(text) > (_MOST_DIGITS if text.isdecimal() else _MOST_CHARACTERS)
    return is_long and any(map(str.isdecimal, text)) and not _YEAR.fullmatch(text)


def _are_repeated(text: Text, ones: list[_Place], others: list[_Place]) -> bool:
    """Return whether two pairs are separated by the same notation."""
    by_begin = defaultdict(list)
    for other in others:
        by_begin[other.first].append(other)
    nexts: list[tuple[_Place, _Place, str]] = []
    for one in ones:
        for begin in range(one.end, min(one.end + 4, len(text.words))):
            nexts += [(one, other, text.between(one, other)) for other in by_begin[begin]]
    for one, other, gap in nexts:
        for later, last, later_gap in nexts:
            if later.first < other.end or gap != later_gap or later.code == one.code:
                continue
            if other.code == last.code:
                continue
            between = text.between(other, later)
            if not _OF_TITLES.fullmatch(gap) and between != gap:
                return True
    return False
