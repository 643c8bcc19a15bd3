"""Rows within an id whose line breaks were dropped, so that a rating and a user are one word.

Without line breaks, rows of user 1005 are ``i11,11005,i1,31005,i2``. Such words are split where a
known id begins or ends. Separators may be replaced, too: of ``i5^3u1^i7^4u2^i9^2``, every second
field is an item, and every other one is a rating and a user. A list of items may contain numbers
and words that end like users, so all fields must be columns of a table, with more users than occur
by chance. Where nothing is known of the users, an id that contains two items and numbers is a row.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from recveil.io.columns.repeated_rows import ESCAPED, WORD, decode_escapes
from recveil.runtime.safe_repr import brief

DELIMITER = re.compile(r"[\x00-\x1f,;|]|::")
# A byte order mark of each part of a file, and escapes that lost their backslash.
_LOST = re.compile(r"\ufeff|u000[9adAD]")
# Ratings, dates and times of day.
VALUE = re.compile(r"[-+]?\d+(?:[.:/ TZ-]+\d+)*")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_LIST_OF_TITLES = re.compile(r"[,;] ")
# A rating or a time at the beginning of a field, and a name of a user who is nowhere else.
_GLUED_NUMBER = re.compile(r"(?:^|[\W_])\d[\d.,:]*[\"']*[^\W_]")
_NUMBER, _NAME = re.compile(r"\d+(?:[.,:]\d+)*"), re.compile(r"[^\W\d_]{2,}")
# What is glued to numbers of titles, too.
_UNITS = re.compile(
    "st|nd|rd|th|er|[km]g|[cm]l|[ckm]?m|[kmgt]b|oz|lbs?|in|inch|ft|pcs?|ct|pk|hd|[kmg]?hz|mah|hrs?"
    "|min|sec|(?:cd|dvd|disc|film|book)s?|for|way"
)
_SIGNS_OF_TITLES = " -'&.+/"
# Longer fields are not split, so that a search takes time in proportion to a text.
_LONGEST = 250
# An item such as "Heat, 1995" or "Heat|Crime|Drama" has several parts.
_MOST_PARTS = 8
# Lists contain several items. Short numbers occur in other numbers by chance.
_FEWEST_ITEMS, _FEWEST_NAMES = 2, 3
_SHORT, _FEWEST_SHORT, _FEWEST_OF_TITLES = 4, 2, 3
_SEQUEL = re.compile(r" ?\d\d?(?!\d)")
# A rating may be a word or stars, and a user may be words. In titles, blanks follow commas.
_SIGNS = re.compile(r"(?:[\x00-\x1f,;|#~^]|::)(?! )")
_FIELD_AFTER = re.compile(r"(?:[\x00-\x1f,;|]|::)\S")
# One word is an item only as a field, and together with an item of more words.
_EDGE, _FEWEST_WORDS = re.compile(r"[\x00-\x1f,;|\"'=:<>#~^]|$"), 2
# Numbers with so many digits are items.
_LONG_NUMBER = 8
_AROUND_FIELDS, _NO_WORD, _WORDS = " )!?.\"'", re.compile(r"\W*"), re.compile(r"\w+")
# Words and numbers, also where nothing is between them.
_TOKEN = re.compile(r"\d+|[^\W\d_]+")


class _Cut(NamedTuple):
    """A field, split in two where a row ends."""

    text: str
    n_known: int
    """Number of known ids among the two."""
    size: int
    has_item: bool
    is_clear: bool
    """Whether it is not a number that contains a short number by chance."""


@brief
class GluedRows(NamedTuple):
    """A search for rows without line breaks between them."""

    users: frozenset[str]
    items: frozenset[str]
    is_like_user: Callable[[str], bool]

    @classmethod
    def among(
        cls, users: Iterable[Any], items: Iterable[Any], is_like_user: Callable[[str], bool]
    ) -> "GluedRows":
        """Search for these users, for those that look like them, and for these items."""
        return cls(frozenset(map(str, users)), frozenset(map(str, items)), is_like_user)

    def forms(self, label: str) -> list[str]:
        """Return an id with the line breaks that it may have lost; nothing without any."""
        restored = _LOST.sub("\n", label)
        split = self._split(restored)
        return [form for form in dict.fromkeys((restored, split)) if form != label]

    def _split(self, label: str) -> str:
        """Insert line breaks if two fields are items and others are glued."""
        fields = DELIMITER.split(label)
        if len(fields) <= _FEWEST_ITEMS:
            return label
        cuts = [self._cut(field.strip(" \"'")) for field in fields]
        glued = [cut for cut in cuts if cut is not None]
        n_items = self._count_items(label) + sum(cut.has_item for cut in glued)
        fewest = 1 if any(cut.is_clear for cut in glued) else _FEWEST_SHORT
        if _LIST_OF_TITLES.search(label):
            fewest = _FEWEST_OF_TITLES
        if n_items < _FEWEST_ITEMS or len(glued) < fewest:
            return label
        if all(map(_YEAR.fullmatch, (cut.text.replace("\n", "") for cut in glued))):
            return label
        parts = (
            field if cut is None else cut.text for field, cut in zip(fields, cuts, strict=True)
        )
        between = [*DELIMITER.findall(label), ""]
        return "".join(part + mark for part, mark in zip(parts, between, strict=True))

    def _count_items(self, label: str) -> int:
        """Count the items between delimiters; an item may contain some delimiters itself."""
        ends = [(found.start(), found.end()) for found in DELIMITER.finditer(label)]
        starts, stops = [0, *(end for _, end in ends)], [*(at for at, _ in ends), len(label)]
        return sum(
            label[start:stop].strip(" \"'") in self.items
            for first, start in enumerate(starts)
            for stop in stops[first : first + _MOST_PARTS]
            if stop - start <= _LONGEST
        )

    def _cut(self, field: str) -> _Cut | None:
        """Split a field where one row ends and another begins; None if it is no such field."""
        if not 1 < len(field) <= _LONGEST or field in self.users or field in self.items:
            return None
        cuts = (self._cut_at(field, at) for at in range(1, len(field)))
        return max(filter(None, cuts), key=_likelihood, default=None)

    def _cut_at(self, field: str, at: int) -> _Cut | None:
        parts = field[:at], field[at:]
        are_values = [VALUE.fullmatch(part) is not None for part in parts]
        for user, other in ((1, 0), (0, 1)):
            is_item = parts[other] in self.items
            if not is_item and not are_values[other]:
                continue
            is_known = parts[user] in self.users
            if is_known or self._is_like_user(parts[user]):
                n_known = is_known + is_item
                is_clear = not (parts[user].isdigit() and len(parts[user]) < _SHORT)
                text = "\n".join(parts)
                return _Cut(text, n_known, len(parts[user]), is_item, is_clear)
        for item, other in ((1, 0), (0, 1)):
            if parts[item] in self.items and are_values[other]:
                return _Cut("\n".join(parts), 1, len(parts[item]), True, True)
        return None

    def _is_like_user(self, text: str) -> bool:
        has_zeros = text[0] == "0" and text.isdigit()
        return not has_zeros and text not in self.items and self.is_like_user(text)

    def has_rows(self, text: str) -> bool:
        """Return whether known items alternate with a rating to which a user or an item is glued.

        One known user is enough, unless it is a short number; of others, two are needed. In a
        title, several numbers may have the same unit, so that users between blanks are two names.
        """
        text = _LOST.sub("\n", text)
        if not _GLUED_NUMBER.search(text):
            return False
        signs = Counter(_SIGN.findall(text)).most_common(_MOST_SIGNS)
        splits = ((sign, text.split(sign, _MOST_FIELDS)) for sign, n in signs if n > 1)
        short = (
            (sign, [part if len(part) <= _LONGEST else "" for part in parts[:_MOST_FIELDS]])
            for sign, parts in splits
        )
        return any(
            self._have_users(parts, sign)
            or self._have_users([*filter(None, (part.strip(" \"'") for part in parts))], sign)
            for sign, parts in short
        )

    def _have_users(self, parts: list[str], sign: str) -> bool:
        users = [user for user in self._users_before_items(parts, sign) if user]
        if any(user in self.users and not _is_short(user) for user in users):
            return True
        may_be_unit = sign in _SIGNS_OF_TITLES and all(map(str.isalpha, users))
        n_alike = _FEWEST_NAMES if may_be_unit else _FEWEST_ITEMS
        return len(users) >= n_alike or len({*users}) >= _FEWEST_ITEMS

    def _users_before_items(self, parts: list[str], sign: str) -> Iterator[str]:
        """Yield the user before each known item, or the item that is glued itself, or ""."""
        at = start = 0
        while at < len(parts):
            # All of the text is the item that is looked at.
            most = len(parts) - (at == 0)
            texts = {
                end: sign.join(parts[at:end]) for end in range(min(at + _MOST_PARTS, most), at, -1)
            }
            end = next((end for end, text in texts.items() if text in self.items), None)
            if end is None:
                at += 1
                yield next(filter(None, map(self._item_of, texts.values())), "")
                continue
            is_number = _is_short(parts[at])
            # The first item may be unknown.
            firsts = range(at) if start == 0 else range(start, min(start + 1, at))
            users = (self._user_of(sign, parts[first:at], is_number) for first in firsts)
            yield next(filter(None, users), "")
            at = start = end

    def _user_of(self, sign: str, stretch: list[str], is_number: bool) -> str:
        """Return the user that is glued to a rating or a time; "" if there is none."""
        first = next((at for at, part in enumerate(stretch[:-1]) if not VALUE.fullmatch(part)), -1)
        text = sign.join(stretch[first:])
        value = _NUMBER.match(text)
        if value is None:
            return ""
        for at in range(1, value.end() + 1):
            user = text[at:].lstrip("\"'")
            is_clear = not user.isdigit() or (
                len(user) >= (_SHORT if is_number else 2) and not _YEAR.fullmatch(text)
            )
            if is_clear and (user in self.users or (user and self._is_like_user(user))):
                return user
        user = text[value.end() :].lstrip("\"'")
        return user if self._is_name(user) else ""

    def _item_of(self, text: str) -> str:
        """Return the known item that is glued to a rating; "" if there is none."""
        value = _NUMBER.match(text)
        item = text[value.end() :].lstrip("\"'") if value else ""
        return item if item in self.items and self._is_name(item) else ""

    @staticmethod
    def _is_name(text: str) -> bool:
        name = _NAME.match(text)
        return name is not None and _UNITS.fullmatch(name[0].casefold()) is None


def _is_short(text: str) -> bool:
    return text.isdigit() and len(text) < _SHORT


def _likelihood(cut: _Cut) -> tuple[int, int, int]:
    """Return what the most likely cut has most of: known ids, a long id, and text in front."""
    return cut.n_known, cut.size, cut.text.index("\n")


@brief
class RowsAfterItems(NamedTuple):
    """A search for rows of unknown users between and after known items.

    Box sets contain several items, too, so what is between must look like users, unless all of the
    text is items and numbers with one sign between them. If users have no common look, a number
    must be between the items that is no year, and not that of a sequel.
    """

    lengths: dict[str, set[int]]
    """Of the items that begin with a word, in words and numbers."""
    items: set[str]
    is_like_user: Callable[[str], bool] | None
    """None if users have no common look."""
    is_unrated: bool

    @classmethod
    def among(
        cls,
        items: Iterable[Any],
        is_like_user: Callable[[str], bool] | None = None,
        *,
        is_unrated: bool,
        are_numbers: bool = False,
    ) -> "RowsAfterItems":
        """Search for these items, but for short numbers unless nearly all items are numbers."""
        search = cls({}, set(), is_like_user, is_unrated)
        for item in map(str, items):
            tokens = _TOKEN.findall(item.casefold())
            is_clear = any(map(str.isalpha, tokens)) or len(item) >= _LONG_NUMBER
            if tokens and (are_numbers or is_clear):
                search.lengths.setdefault(tokens[0], set()).add(len(tokens))
                search.items.add(" ".join(tokens))
        return search

    def finds(self, text: str) -> bool:
        """Return whether an id contains two items, and what else rows have, or without escapes.

        >>> search = RowsAfterItems.among(["Up (2009)", "Heat (1995)"], is_unrated=False)
        >>> search.finds("Up (2009)#61#Heat (1995)#4"), search.finds("Up (2009)/Heat (1995) 2 CD")
        (True, False)
        """
        return any(map(self._finds, dict.fromkeys((text, decode_escapes(text)))))

    def _finds(self, text: str) -> bool:
        found = [*_TOKEN.finditer(text.casefold())]
        tokens = [token[0] for token in found]
        if self.lengths.keys().isdisjoint(tokens):
            return False
        items = [*self._places(tokens)]
        if self.is_like_user is None:
            items = [at for at in items if len(at) > 1 or _is_field(text, *found[at.start].span())]
        if len(items) < _FEWEST_ITEMS:
            return False
        ends = [found[item.stop - 1].end() for item in items]
        starts = [found[item.start].start() for item in items]
        stretches = [text[end:start] for end, start in zip(ends, starts[1:], strict=False)]
        outside = {*range(items[0].stop, len(tokens))}.difference(*items)
        numbers = {at for at in outside if tokens[at].isdecimal()}
        if self.is_like_user is None:
            sequels = {
                item.stop for item, end in zip(items, ends, strict=True) if _SEQUEL.match(text, end)
            }
            between = numbers & {*range(items[0].stop, items[-1].start)}
            is_user = max(map(len, items)) >= _FEWEST_WORDS and any(
                at not in sequels and not _YEAR.fullmatch(tokens[at]) for at in between
            )
        else:
            is_user = any(
                self._is_long_user(word)
                for stretch in stretches
                for word in (*_WORDS.findall(stretch), *WORD.findall(stretch))
            )
        if not is_user:
            return self._has_fields(text, stretches[0])
        if self.is_unrated or len(numbers) > 1:
            return True
        fields = _SIGNS.split(text[ends[0] : starts[-1]].strip(_AROUND_FIELDS + ",;|"))
        return len(fields) > 1 or _FIELD_AFTER.search(text, ends[-1]) is not None

    def _is_long_user(self, word: str) -> bool:
        is_short = word.isdecimal() and (len(word) < _SHORT or _YEAR.fullmatch(word) is not None)
        return not is_short and self.is_like_user is not None and self.is_like_user(word)

    def _has_fields(self, text: str, stretch: str) -> bool:
        """Return whether a sign after the first item separates items, numbers and nothing else."""
        after = _NO_WORD.match(stretch)
        sign = after[0].lstrip(_AROUND_FIELDS.replace(" ", "")) if after else ""
        if not sign.strip():
            return False
        fields = text.split(sign)
        items = [
            at
            for at, field in enumerate(fields)
            if " ".join(_TOKEN.findall(field.casefold())) in self.items
        ]
        numbers = [
            at
            for at, field in enumerate(fields)
            if VALUE.fullmatch(field.strip()) and not _YEAR.fullmatch(field.strip())
        ]
        fewest = 1 if self.is_unrated else 2
        return (
            len({*items, *numbers}) == len(fields)
            and len(items) >= _FEWEST_ITEMS
            and max(len(_TOKEN.findall(fields[at])) for at in items) >= _FEWEST_WORDS
            and len({*numbers} - {*items}) >= fewest
            and any(items[0] < at < items[-1] for at in {*numbers} - {*items})
        )

    def _places(self, tokens: list[str]) -> Iterator[range]:
        """Yield where items are that do not overlap, and are not all of a text."""
        at = 0
        while at < len(tokens):
            lengths = sorted(self.lengths.get(tokens[at], ()), reverse=True)
            ends = (at + n for n in lengths if at + n <= len(tokens) and n < len(tokens))
            end = next((end for end in ends if " ".join(tokens[at:end]) in self.items), None)
            if end:
                yield range(at, end)
            at = end or at + 1


def _is_field(text: str, first: int, end: int) -> bool:
    is_begin = first == 0 or _EDGE.match(text, first - 1) is not None
    return is_begin and _EDGE.match(text, end) is not None


# Any sign may separate fields; the most frequent ones are tried.
_SIGN, _MOST_SIGNS = re.compile(r"::|[\W_]"), 6
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
# So many fields are looked at.
_MOST_FIELDS = 60
# Rows of more columns are not looked for.
_MOST_COLUMNS = 6
# So many fields of a column are what the column is: others are users or items of no other row.
_SHARE = 2 / 3
_CHANCE = 0.005
# Words have fewer letters that they may go on with than codes have.
_LETTERS, _LETTERS_OF_WORDS = 26, 10
# More digits or letters make no difference, and too large a number.
_MANY = 100

_USER, _ITEM, _VALUE = "u", "i", "v"


@brief
class _Field(NamedTuple):
    """A field between two signs: what it is, and how many such fields contain a user by chance."""

    text: str
    kinds: set[str]
    """A user, an item or a value, or two of these without anything between them."""
    user: str
    """The user within it; "" if there is none."""
    chance: float


@brief
class GluedColumns(NamedTuple):
    """A search for rows without line breaks, and with any separator."""

    users: frozenset[str]
    items: frozenset[str]
    chances: dict[str, float]
    """Which share of the texts of the same shape are users."""
    lengths: tuple[frozenset[int], frozenset[int]]
    """Of users and of items."""
    is_unrated: bool

    @classmethod
    def among(
        cls, users: Iterable[Any], items: Iterable[Any], *, is_unrated: bool
    ) -> "GluedColumns":
        """Search for these users and items."""
        known = frozenset(map(str, users)), frozenset(map(str, items))
        shapes = Counter(map(_shape, known[0]))
        chances = {shape: n / _n_texts(shape) for shape, n in shapes.items()}
        lengths = tuple(frozenset(map(len, ids)) for ids in known)
        return cls(*known, chances, (lengths[0], lengths[1]), is_unrated)

    def finds(self, text: str) -> bool:
        """Return whether an id contains rows, as it is or without its escapes."""
        forms = dict.fromkeys((text, ESCAPED.sub("\n", text)))
        return any(self._are_rows(fields) for form in forms for fields in _splits(form))

    def _are_rows(self, texts: list[str]) -> bool:
        fields = [*map(self._field, texts)]
        if not any(len(kind) > 1 for field in fields for kind in field.kinds):
            return False
        n_columns = range(1, min(_MOST_COLUMNS, len(fields) - 1) + 1)
        return any(self._are_columns(fields, n) for n in n_columns)

    def _are_columns(self, fields: list[_Field], n_columns: int) -> bool:
        """Return whether all fields are so many columns, and chance does not explain the users."""
        last, letters = len(fields) - 1, set()
        n_items = sum(_ITEM in field.kinds for field in fields)
        users: list[_Field] = []
        for first in range(n_columns):
            column = fields[first::n_columns]
            inner = [fields[at] for at in range(first, last, n_columns) if at]
            glued = _kinds_of(inner, 2)
            kinds = glued or _kinds_of(column, 1)
            if not kinds:
                return False
            letters |= {*"".join(kinds)}
            if glued and any(_ITEM in kind for kind in glued):
                n_items += sum(not glued.isdisjoint(field.kinds) for field in inner)
            if any(_USER in kind for kind in kinds) and (glued or _ITEM not in kinds):
                users += [field for field in column if field.user]
        wanted = {_USER, _ITEM} if self.is_unrated else {_USER, _ITEM, _VALUE}
        if not wanted <= letters or n_items < _FEWEST_ITEMS:
            return False
        # A unit such as cm may follow several numbers.
        distinct = {each.user if each.user.isalpha() else each.text: each for each in users}
        return math.prod(each.chance for each in distinct.values()) < _CHANCE

    def _field(self, text: str) -> _Field:
        kinds, user = self._kinds(text), ""
        if text in self.users:
            kinds, user = kinds | {_USER}, text
        shape = _shape(text)
        chance = self.chances.get(shape, 0.0)
        for name, other in _ends(text, self.lengths[0]):
            if name in self.users and (others := self._kinds_of_rest(other)):
                kinds |= {_USER + kind for kind in others}
                user = user or name
        if not user and any(
            item in self.items and _VALUE in self._kinds_of_rest(other)
            for item, other in _ends(text, self.lengths[1])
        ):
            kinds.add(_ITEM + _VALUE)
        chance += sum(self.chances.get(end, 0.0) for end, _ in _ends(shape, self.lengths[0]))
        return _Field(text, kinds, user, min(chance, 1.0))

    def _kinds_of_rest(self, text: str) -> set[str]:
        """Return what a part of a field is; another sign may replace the line break."""
        return self._kinds(text) | self._kinds(_EDGES.sub("", text))

    def _kinds(self, text: str) -> set[str]:
        kinds = {_ITEM} if text in self.items else set()
        return kinds | {_VALUE} if VALUE.fullmatch(text) else kinds


def _ends(text: str, lengths: frozenset[int]) -> Iterator[tuple[str, str]]:
    """Yield each part of one of these lengths at an end of a text, and the rest."""
    for length in lengths:
        if length < len(text):
            yield text[-length:], text[:-length]
            yield text[:length], text[length:]


def _splits(text: str) -> Iterator[list[str]]:
    """Yield the fields of a text for each sign that may separate them."""
    signs = Counter(_SIGN.findall(text)).most_common(_MOST_SIGNS)
    for sign, n in signs:
        if n > 1:
            fields = [field.strip(" \"'\n") for field in text.split(sign, _MOST_FIELDS)]
            yield [field for field in fields[:_MOST_FIELDS] if len(field) <= _LONGEST]


def _kinds_of(fields: list[_Field], n: int) -> set[str]:
    """Return what most fields are, of so many kinds."""
    counts = Counter(kind for field in fields for kind in field.kinds if len(kind) == n)
    return {kind for kind, count in counts.items() if count >= _SHARE * len(fields)}


def _shape(text: str) -> str:
    return "".join("0" if x.isdigit() else "a" if x.isalpha() else x for x in text)


def _n_texts(shape: str) -> float:
    """Return how many texts have a shape; of long ones, at least so many."""
    n_digits, n_letters = (min(shape.count(kind), _MANY) for kind in "0a")
    return 10.0**n_digits * float(_LETTERS if n_digits else _LETTERS_OF_WORDS) ** n_letters
