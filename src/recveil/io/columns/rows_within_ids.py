r"""Rows of other users within an id: a user id and an item id next to each other, most often.

What separates them is not known: a stray quote swallows rows with their delimiters, and dumps of
databases write line breaks as ``\n``. So ids are searched for known ids, not split.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.io.columns.glued_rows import DELIMITER, GluedColumns, GluedRows, RowsAfterItems
from recveil.io.columns.repeated_rows import (
    ESCAPED,
    ESCAPES,
    WORD,
    decode_digits,
    decode_escapes,
    fields_of_data,
    is_like_title,
    with_plain_numbers,
)
from recveil.io.columns.rows_of_numbers import (
    FOREIGN,
    MARKUP,
    NAME,
    QUOTES,
    NumberSearch,
)
from recveil.ratings.rating_scale import Locate
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

# An id without the punctuation around it.
_CORE = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
_AROUND = re.compile(r"[\s\"']+")
# Where all but a few of the ids are whole numbers, several numbers are no list of items.
_NUMBERS, _OTHERS, _OTHER_SHARE = 5, 2, 0.05
# Swallowed rows are more of the ids of a small table. Nothing else has users between two items.
_SWALLOWED_SHARE = 0.2
_DIGITS = re.compile(r"\d+")
# Ids look alike if so many of them do; this many are looked at.
_SHARED, _LOOKED_AT = 0.05, 2_000
# So many of the ids look like others, where those that do not are exceptions.
_COMMON = 0.9
_SIGNED = re.compile(r"[-+]?\d{1,4}(?:[.,]\d+)?")
_LETTERS, _RATING = re.compile(r"[^\W\d_]+"), re.compile(r"\d{1,4}(?:[.,]\d+)?")
_SHORTEST_OF_ONE_LENGTH = 8
# Hexadecimal ones may be shorter.
_HEXADECIMAL = re.compile(r"[\da-f]{5,11}")
# Between any signs, only longer ones of one length are looked for.
_SHORTEST_ANYWHERE = 12
# So many users and items of one id are compared.
_MOST_PLACES = 50
# A number of four digits in a title may be its year.
_YEAR = re.compile(r"(1[89]|20)\d\d")
# Words in front of ids.
_NAMES_OF_USERS = re.compile(r"(?:user|customer|client|member|person)(?:s|id)?")
_NAMES_OF_ITEMS = re.compile(r"(?:item|product|article|movie|book)(?:s|id)?")
# What separates words of a title, or names in a list of them.
_OF_TITLES = re.compile(r"[ \-'\u2019&.]*|[,:] +")
_ADDRESS = r"[\w.+\-]+@[\w\-]+\.[\w.\-]*\w"
_UUID = r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}"
_BLANKS = re.compile(r"\s{2,}")
_SIGNS_OF_TITLES = "/-:_+*."
# A line break may have become a blank.
_AFTER_RATING = re.compile(r"(?<=[,;|\t]\d) +(?=[^\s,;|]+[,;|\t])")
# An id with parts: the address of an item may name the user who made it.
_PATH = re.compile(r"[\w./:@+\-]+")
# So many users within an id are a list; of mixed ids, one fewer. Numbers are users by chance
# unless so few of the numbers with as many digits are.
_WORDS, _LISTED, _LONG, _RARE = re.compile(r"\w+"), 3, 6, 0.01
# If fewer users have numbers, short ones may be numbers of titles.
_NUMBERED_SHARE, _SHORT = 0.2, 4
# Words of titles with digits, such as 3D, 13th and H20.
_TITLE_WORD = re.compile(r"\w{1,4}|\d\w{1,5}")


# A line break as text, and what delimits fields on both sides of it.
_BREAK = re.compile(
    r"(?:\\r)?\\[nr]|\\u000[aAdD]|\\x0[aAdD]|%0[aAdD]|&#(?:10|13|x0?[aAdD]);|<br */?>|\^[JM]"
    r"|_x000[aAdD]_|[\u2028\u2029\u240a\u240d\u2424]"
)
_DELIMITERS = re.compile(r"[,;|\t~#^]")
_DELIMITERS_OF_FIELDS, _SIGNS_OF_URLS = ("\t", ",", ";", "|", "::", "#", "~", "^"), "#~"


def require_no_rows_within(
    ids: NDArray[Any],
    codes: NDArray[np.int32],
    role: str,
    both: tuple[Any, Any],
    locate: Locate,
    *,
    is_unrated: bool = False,
) -> None:
    """Raise for the first id that contains a row of another user."""
    if ids.dtype == object and (found := find_rows_within(ids, *both, is_unrated=is_unrated)):
        row = int(np.flatnonzero(np.isin(codes, found))[0])
        raise row_within_id(locate(row), role)


def row_within_id(place: str, role: str) -> RecveilError:
    """Return the error of an id that contains a row of another user."""
    return RecveilError(
        f"{place}: the {role} contains what looks like another row, with the ids of a user and an "
        f"item; correct it, or drop the row",
        code="id.row-within",
    )


def find_rows_within(
    labels: Iterable[str], users: Iterable[Any], items: Iterable[Any], *, is_unrated: bool = False
) -> list[int]:
    r"""Return the positions of ids that contain rows of other users.

    Such an id contains a user id next to an item id, and either a number after them, or delimiters
    around them, or another id after the same punctuation; less may be a title. Of whole numbers
    alone, it may be a list of items; where nearly all ids are one whole number, `NumberSearch`
    decides.
    """
    labels = [*labels]
    n_numbers = sum(map(str.isdigit, labels))
    n_others = len(labels) - n_numbers
    is_numeric = n_numbers >= _NUMBERS and n_others <= max(_OTHERS, _OTHER_SHARE * len(labels))
    users, items = [*users], [*items]
    looks = _Looks(users), _Looks(items)
    glued = GluedRows.among(users, items, looks[0].include)
    digits = {at: text for at, label in enumerate(labels) if (text := decode_digits(label))}
    several = [(at, each) for at, each in enumerate(labels) if at in digits or not each.isalnum()]
    forms = {
        at: dict.fromkeys(
            form
            for text in (label, digits.get(at, label))
            for form in (text, with_plain_numbers(text), *glued.forms(text), *fields_of_data(text))
        )
        for at, label in several
    }
    of_numbers: set[int] = set()
    if is_numeric:
        texts = {
            at: forms.get(at, {label: None})
            for at, label in enumerate(labels)
            if not label.isdigit()
        }
        of_numbers = NumberSearch.among(users, items, is_unrated=is_unrated).find(texts)
    if not several:
        return sorted(of_numbers)
    n_numbered = sum(str(user).isdecimal() for user in users)
    has_few_numbers = n_numbered < _NUMBERED_SHARE * len(users)
    search = _Search(_Ids(users), _Ids(items), is_unrated, has_few_numbers)
    fields = _FieldSearch(*looks, search.items.known, is_unrated)
    numbers = fields._replace(are_numbers=True)
    look = looks[0].surely_include if looks[0].are_common else None
    are_numbers = n_numbers >= _NUMBERS and n_others <= max(_OTHERS, _SWALLOWED_SHARE * len(labels))
    after_items = RowsAfterItems.among(items, look, is_unrated=is_unrated, are_numbers=are_numbers)
    rows: set[int] = set()
    known = search.users.known
    for finds, may_be_user in (
        (numbers.finds, True),
        (after_items.finds, True),
        (looks[0].find_personal_id, False),
        (_UserLists.among(users, search.items.known).finds, False),
        (_IdFields(*looks, search.items.known).finds, False),
    ):
        found = {
            at
            for at, text in several
            if (may_be_user or text not in known) and any(map(finds, forms[at]))
        }
        # What many ids look like is no fault of a few rows.
        share = _SWALLOWED_SHARE if are_numbers else _OTHER_SHARE
        if len(found) <= max(_OTHERS, share * len(labels)):
            rows |= found
    apart = _ApartSearch(search.users, search.items, *looks, looks[0].pattern, is_unrated)
    rows |= of_numbers
    columns = GluedColumns.among(users, items, is_unrated=is_unrated)
    rows |= {
        at
        for at, label in several
        if at not in rows
        and (
            any(map(_has_lines, forms[at]))
            or columns.finds(label)
            or any(
                search.finds(form)
                or fields.finds(form)
                or apart.finds(form)
                or glued.has_rows(form)
                for form in forms[at]
            )
        )
    }
    return sorted(rows)


def _has_lines(text: str) -> bool:
    r"""Return whether an id has a line break as text between fields, after no letter.

    >>> [_has_lines(each) for each in (r"Up,3\n1061,Heat,4", r"C:\new\2, old", "Red, S<br>Tee, M")]
    [True, False, False]
    """
    for before, after in pairwise(_BREAK.split(text)):
        last = _DELIMITERS.split(before)[-1].strip(" \"'}]")
        shared = {*_DELIMITERS.findall(before)} & {*_DELIMITERS.findall(after)}
        if shared and last and not last[-1].isalpha():
            return True
    return False


@brief
class _UserLists(NamedTuple):
    """A search for ids that list users, whose ids no other words are by chance."""

    users: frozenset[str]

    @classmethod
    def among(cls, users: list[Any], items: set[str]) -> "_UserLists":
        """Search for these users, unless numbers of as many digits are often users."""
        names = {*map(str, users)} - items
        lengths = Counter(len(name) for name in names if name.isdecimal())
        return cls(
            frozenset(
                name
                for name in names
                if (_is_mixed(name) and not _TITLE_WORD.fullmatch(name))
                or (
                    name.isdecimal()
                    and len(name) >= _LONG
                    and lengths[len(name)] <= _RARE * 10 ** len(name)
                )
            )
        )

    def finds(self, text: str) -> bool:
        """Return whether so many users are words of a text.

        >>> search = _UserLists.among(["439563", "258176", "514002", "user_1", "user_2"], {"11"})
        >>> texts = "11: 439563, 258176, 514002", "439563", "user_1 & user_2"
        >>> [search.finds(text) for text in texts]
        [True, False, True]
        """
        found = self.users.intersection((*_WORDS.findall(text), *WORD.findall(text)))
        return len(found) >= (_LISTED if all(map(str.isdecimal, found)) else _LISTED - 1)


@brief
class _IdFields(NamedTuple):
    """A search for fields that look like users, in ids of which nothing else is known.

    Numbers of few digits are prices and places, so that other fields must be around these. Where
    all of an id are numbers, it may be a list of items, unless it is a dictionary.
    """

    users: "_Looks"
    items: "_Looks"
    known_items: set[str]

    def finds(self, text: str) -> bool:
        """Return whether a field between delimiters, or a long one after one, looks like users.

        >>> numbers = [str(number) for number in range(100_003, 999_999, 15_013)]
        >>> search = _IdFields(_Looks(numbers), _Looks(["Up!", "Heat!"]), {"Up!", "Heat!"})
        >>> texts = "Wit (or W!);483920;Up (or U!);4", "Wit,3,483920", "Wit, 483920", "Wit;4839;4"
        >>> [search.finds(text) for text in texts]
        [True, True, False, False]
        """
        if not _LETTERS.search(text) and not text.startswith("\t"):
            return False
        for sign in _DELIMITERS_OF_FIELDS:
            fields = text.split(sign)
            if any(map(self._is_id, fields[1:-1])):
                return True
            if len(fields) > 1 and sign not in _SIGNS_OF_URLS and self._is_id(fields[-1]):
                is_after_rating = len(fields) > 2 and _RATING.fullmatch(fields[-2]) is not None
                if is_after_rating or len(fields[-1]) >= _LONG:
                    return True
        return False

    def _is_id(self, field: str) -> bool:
        if field in self.known_items or self.items.include(field):
            return False
        if not field.isdigit():
            return self.users.surely_include(field)
        is_clear = len(field) >= _SHORT and field[0] != "0" and not _YEAR.fullmatch(field)
        return is_clear and self.users.include(field)


class _Ids:
    """Ids, to be found among the words of a text."""

    def __init__(self, ids: Iterable[Any]):
        self.known: set[str] = set()
        self.starts: set[str] = set()
        self.lengths: set[int] = set()
        for core in filter(None, (_CORE.search(str(each)) for each in ids)):
            words = WORD.findall(core[0])
            self.known |= {core[0], core.string}
            self.starts.add(words[0])
            self.lengths.add(len(words))

    def ends(self, text: "_Text", first: int) -> list[int]:
        """Return each position behind an id that begins with a word."""
        ends = (first + length for length in self.lengths)
        return [end for end in ends if end <= text.size and text.part(first, end) in self.known]

    def begins(self, text: "_Text", end: int) -> list[int]:
        """Return each position of the first word of an id that ends before a word."""
        begins = (end - length for length in self.lengths)
        return [first for first in begins if first >= 0 and text.part(first, end) in self.known]


class _Text:
    """The words of an id, and what separates them: a comma for any delimiter, and at both ends."""

    def __init__(self, text: str, words: list[str]):
        self.text, self.words, self.size = text, words, len(words)
        self.spans = [word.span() for word in WORD.finditer(text)]
        between = zip(self.spans, self.spans[1:], strict=False)
        gaps = [text[end:begin] for (_, end), (begin, _) in between]
        self.gaps = [",", *map(_kind, gaps), ","]
        self._is_of_title = [False, *(_OF_TITLES.fullmatch(gap) is not None for gap in gaps), False]
        self.n_fields = self.gaps.count(",") - 1

    def part(self, first: int, end: int) -> str:
        return self.text[self.spans[first][0] : self.spans[end - 1][1]]

    def has_gaps_of_titles(self, *places: int) -> bool:
        """Return whether blanks, hyphens and the like are in front of one of these words."""
        return any(self._is_of_title[at] for at in places)

    def is_field(self, at: int) -> bool:
        """Return whether a number ends with a field."""
        if self.gaps[at + 1] == "." and self.words[at + 1].isdigit():
            at += 1
        return self.gaps[at + 1] == ","


def _kind(gap: str) -> str:
    return "," if DELIMITER.search(gap) else _AROUND.sub("", gap) or " "


@brief
class _Search(NamedTuple):
    """A search for rows within ids."""

    users: _Ids
    items: _Ids
    is_unrated: bool
    has_few_numbers: bool
    """Whether few users have numbers, so that a number is most often one of a title."""

    def finds(self, label: str) -> bool:
        """Return whether an id contains a row, as it is or without its escapes."""
        if self._finds(label, False):
            return True
        if not ESCAPES.search(label):
            return False
        plain = ESCAPED.sub("\n", label)
        return plain != label and self._finds(plain, True)

    def _finds(self, label: str, is_certain: bool) -> bool:
        words = WORD.findall(label)
        if self.users.starts.isdisjoint(words) or self.items.starts.isdisjoint(words):
            return False
        text = _Text(label, words)
        if not is_certain and all(map(str.isdigit, words)):
            return False
        for first in (at for at, word in enumerate(words) if word in self.users.starts):
            for end in self.users.ends(text, first):
                before, after = self._items_next_to(text, first, end, is_certain)
                if self._is_row(text, first, end, before, after):
                    return True
        return False

    def _items_next_to(
        self, text: _Text, first: int, end: int, is_certain: bool
    ) -> tuple[list[int], list[int]]:
        """Return where items begin that end at a user id, and where those end that follow it."""
        user, is_path = text.part(first, end), _is_path(text, self.items)

        def is_item(part: str) -> bool:
            is_number = not is_certain and user.isdigit() and part.isdigit()
            return not is_number and not (is_path and part.isalpha())

        before = [low for low in self.items.begins(text, first) if is_item(text.part(low, first))]
        after = [high for high in self.items.ends(text, end) if is_item(text.part(end, high))]
        if user.isdecimal() and len(user) < _SHORT and text.has_gaps_of_titles(first):
            before = [low for low in before if not is_name([text.part(low, first)])]
        if self._is_word(user):
            before = [] if text.has_gaps_of_titles(first) else before
            after = [] if text.has_gaps_of_titles(end) else after
        return before, after

    def _is_row(
        self, text: _Text, first: int, end: int, before: list[int], after: list[int]
    ) -> bool:
        """Return whether a user id, from one word to another, is that of a row."""
        gaps, is_word = text.gaps, self._is_word(text.part(first, end))
        if before and after and gaps[first] == gaps[end] and (gaps[end] == "," or not is_word):
            return True
        for middle, last in (*((first, end) for _ in before[:1]), *((end, high) for high in after)):
            if is_word and text.has_gaps_of_titles(last):
                continue
            if last < text.size and _is_number_after(text, middle, last, middle == end, is_word):
                return True
            if is_word or gaps[middle] != gaps[last]:
                continue
            if middle == end and last < text.size and self.users.ends(text, last):
                return True
        if is_word and not self.is_unrated:
            return False
        fewest = 2 if self.is_unrated else 3
        lows = [(low, first, end) for low in before] if text.n_fields > 2 else []
        highs = [(first, end, high) for high in after] if text.n_fields >= fewest else []
        return any({gaps[at] for at in ends} == {","} for ends in (*lows, *highs))

    def _is_word(self, user: str) -> bool:
        if user.isdecimal():
            return self.has_few_numbers and len(user) <= _SHORT
        return not any(map(str.isdecimal, user))


def _is_path(text: _Text, items: _Ids) -> bool:
    """Return whether a text is a path, and begins with no other item, as swallowed rows do."""
    ends = set(items.ends(text, 0)) - {text.size}
    return not ends and _PATH.fullmatch(text.text) is not None


def _is_number_after(
    text: _Text, middle: int, last: int, is_user_first: bool, is_word: bool
) -> bool:
    """Return whether a number follows a user id and an item id, as a rating does."""
    number, between, after = text.words[last], text.gaps[middle], text.gaps[last]
    if not number.isdigit():
        return False
    if between == after:
        return text.is_field(last) if after == "," else not _YEAR.fullmatch(number)
    return is_user_first and not is_word and after != "." and not _YEAR.fullmatch(number)


class _Looks:
    """The shapes of ids: letters around digits, punctuation, or length."""

    def __init__(self, ids: list[Any]):
        looked_at = ids[:: max(1, len(ids) // _LOOKED_AT)]
        counts = Counter(look for each in looked_at for look in _looks_of(str(each)))
        self.shared = {look for look, n in counts.items() if n >= _SHARED * len(looked_at)}
        self.repeated = {look for look in self.shared if counts[look] > 1}
        kinds = [_ADDRESS] * ("@" in self.shared) + [_UUID] * ("36 characters" in self.shared)
        self._personal = re.compile("|".join(kinds)) if kinds else None
        n_common = sum(map(self.surely_include, map(str, looked_at)))
        self.are_common = bool(looked_at) and n_common >= _COMMON * len(looked_at)

    def include(self, field: str) -> bool:
        return not self.shared.isdisjoint(_looks_of(field))

    def surely_include(self, field: str) -> bool:
        """Return whether a field looks like ids by more than a length that words have, too."""
        looks = _looks_of(field) - {f"{n} characters" for n in range(_SHORTEST_ANYWHERE)}
        return not self.shared.isdisjoint(looks)

    def find_personal_id(self, text: str) -> bool:
        """Return whether a text contains an address or a UUID, if ids are such, and more."""
        if self._personal is None:
            return False
        for each in dict.fromkeys((text, decode_escapes(text))):
            core = _CORE.search(each.casefold())
            found = self._personal.search(core[0]) if core else None
            if found is not None and core is not None and found[0] != core[0]:
                return True
        return False

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """What looks like such ids within a text, unless these are words or numbers."""
        others = ("digits", "hexadecimal")
        shared = {each for each in self.shared if not each.endswith(others) and each[:1] != "a"}
        shared -= {f"{n} characters" for n in range(_SHORTEST_ANYWHERE)}  # as Thir13en has
        parts = [_ADDRESS] if "@" in shared else []
        for look in sorted(shared - {"@"}):
            if look == "36 characters":
                parts.append(_UUID)
            elif " characters" in look:
                # A part of an id with hyphens has its length by chance.
                length = look.split()[0]
                parts += [rf"(?<!-)[a-z\d\-]{{{length}}}(?!-)", rf"[a-z\d]{{{length}}}"]
            else:
                parts.append(re.escape(look).replace("0", r"\d+"))
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(parts)})(?![^\W_])") if parts else None


def _looks_of(text: str) -> set[str]:
    """Return how an id looks, unless it is a word or words."""
    if text.isdigit():
        return {f"{len(text)} digits"}
    if not text.isascii() or any(map(str.isspace, text)):
        return set()
    if not any(map(str.isdigit, text)):
        return {"@", _LETTERS.sub("a", text)} if "@" in text else set()
    looks = {_DIGITS.sub("0", text.casefold())}
    if len(text) >= _SHORTEST_OF_ONE_LENGTH:
        looks.add(f"{len(text)} characters")
    if _HEXADECIMAL.fullmatch(text.casefold()):
        looks.add(f"{len(text)} hexadecimal")
    return looks | {"@"} if "@" in text else looks


@brief
class _FieldSearch(NamedTuple):
    """A search for rows of users whose ids are not known, but look like those that are."""

    users: _Looks
    items: _Looks
    known_items: set[str]
    is_unrated: bool
    are_numbers: bool = False
    """Whether users and items of long digits are looked for, and nothing else."""

    def finds(self, label: str) -> bool:
        plain = ESCAPED.sub("\n", label) if ESCAPES.search(label) else label
        splits = _splits(_AFTER_RATING.sub("\n", plain), DELIMITER)
        return any(self._are_row([*filter(None, fields)]) for fields in splits) or any(
            self._are_two_users([field.strip() for field in plain.split(sign)])
            for sign in _SIGNS_OF_TITLES
        )

    def _are_two_users(self, fields: list[str]) -> bool:
        """Return whether two fields next to known items are long numbers of users."""
        pairs = [*pairwise(fields), *pairwise(fields[::-1])]
        users = {user for user, item in pairs if item in self.known_items and not item.isdigit()}
        return len({user for user in users if self._is_long_number(user)}) > 1

    def _is_long_number(self, user: str) -> bool:
        is_long = user.isdigit() and len(user) >= _SHORT and not _YEAR.fullmatch(user)
        return is_long and self.users.include(user) and user not in self.known_items

    def _are_row(self, fields: list[str]) -> bool:
        fewest = 2 if self.is_unrated else 3
        pairs = range(len(fields) - 1) if len(fields) >= fewest else ()
        return any(self._is_row(fields, at) for at in pairs)

    def _is_row(self, fields: list[str], at: int) -> bool:
        """Return whether a field and the next one are a user and an item, in either order."""
        after = fields[at + 2] if at + 2 < len(fields) else ""
        has_rating = _RATING.fullmatch(after) is not None and not _YEAR.fullmatch(after)
        first, second = fields[at : at + 2]
        for user, item in ((first, second), (second, first)):
            if not self.users.include(user) or user in self.known_items:
                continue
            is_known, is_like = item in self.known_items, self.items.include(item)
            if self.are_numbers:  # short ones may be a list of items
                is_row = is_known and has_rating and user.isdigit() and len(user) > 3
            elif user.isdigit():
                is_between = at > 0 and fields[at - 1] in self.known_items
                is_like = self.is_unrated and is_between and self._is_long_number(user)
                is_row = is_known and (has_rating or is_like) and not item.isdigit()
            elif self.items.include(user):
                is_row = (is_known or is_like) and has_rating
            else:
                is_row = is_known or (is_like and not item.isdigit())
            if is_row:
                return True
        return False


@brief
class _ApartSearch(NamedTuple):
    """A search for rows whose user and item have other columns, or names of fields, between them.

    A user id that is no word or short number is enough, with an item id and a number. Of others,
    the user, the item and the rating must be whole fields, or there must be two such rows.
    """

    users: _Ids
    items: _Ids
    user_looks: _Looks
    item_looks: _Looks
    user_look: re.Pattern[str] | None
    is_unrated: bool

    def finds(self, text: str) -> bool:
        """Return whether an id contains a row, as it is or without its escapes."""
        both = dict.fromkeys((text, decode_escapes(text)))
        return any(
            self._has_names(each)
            or self._has_look(each)
            or self._has_words(each)
            or self._has_fields(each)
            for each in both
        )

    def _has_names(self, whole: str) -> bool:
        """Return whether words name a user and an item, as in "user 14 item 8"."""
        words = WORD.findall(whole)
        before = [word.casefold() for word in words[:-1]]
        users = [at for at, word in enumerate(before, 1) if _NAMES_OF_USERS.fullmatch(word)]
        items = [at for at, word in enumerate(before, 1) if _NAMES_OF_ITEMS.fullmatch(word)]
        if not users or not items:
            return False
        text = _Text(whole, words)
        return any(self.items.ends(text, at) for at in items) and any(
            self.users.ends(text, at) or self.user_looks.include(words[at]) for at in users
        )

    def _has_look(self, whole: str) -> bool:
        """Return whether a known item and a number are apart from what no item looks like."""
        look = self.user_look
        user = look and next(
            (
                found
                for found in look.finditer(whole.casefold())
                if "@" in found[0] or (_is_mixed(found[0]) and any(map(str.isalpha, found[0])))
                if whole[slice(*found.span())] not in self.items.known
                if self.item_looks.repeated.isdisjoint(_looks_of(found[0]))
            ),
            None,
        )
        if not user:
            return False
        rest = f"{whole[: user.start()]},{whole[user.end() :]}"
        text = _Text(rest, WORD.findall(rest))
        is_path = _is_path(_Text(whole, WORD.findall(whole)), self.items)
        items = [
            range(first, end)
            for first in range(text.size)
            for end in self.items.ends(text, first)
            if not (is_path and text.part(first, end).isalpha())
        ]
        if self.is_unrated:
            return bool(items)
        numbers = {at for at, word in enumerate(text.words) if _is_short_number(word)}
        return any(numbers.difference(item) for item in items)

    def _has_words(self, whole: str) -> bool:
        words = WORD.findall(whole)
        starts = {at for at, word in enumerate(words) if word in self.users.starts}
        starts |= {at for at, word in enumerate(words) if self._is_like_user(word)}
        if not starts or self.items.starts.isdisjoint(words):
            return False
        text = _Text(whole, words)
        found = {
            range(first, end)
            for first in starts
            for end in {*self.users.ends(text, first), first + 1}
            if self._is_user(text.part(first, end))
        }
        if not found:
            return False
        items = [
            range(first, end)
            for first, word in enumerate(words)
            if word in self.items.starts
            for end in self.items.ends(text, first)
            if not text.part(first, end).isdigit()
        ]
        if _is_path(text, self.items):
            items = [item for item in items if not text.part(item.start, item.stop).isalpha()]
        numbers = {at for at, word in enumerate(words) if _is_short_number(word)}
        clear_items = [item for item in items if _is_no_word(text.part(item.start, item.stop))]
        clear = [user for user in found if self._is_clear_user(text.part(user.start, user.stop))]
        if _has_pair(clear, items, numbers):
            return True
        if self.is_unrated and text.size > 2 and _has_pair(clear, clear_items):
            return True
        users, items = sorted(found, key=_start)[:_MOST_PLACES], clear_items[:_MOST_PLACES]
        counted = [[(at, len(numbers & {*at})) for at in places] for places in (users, items)]
        n_inside = min(_fewest_inside(counted * 2), _fewest_inside(counted[::-1] * 2))
        return len(numbers) - n_inside >= (0 if self.is_unrated else 2)

    def _is_user(self, part: str) -> bool:
        return part not in self.items.known and (
            part in self.users.known or self._is_like_user(part)
        )

    def _is_clear_user(self, part: str) -> bool:
        return _is_no_word(part) and (
            not _TITLE_WORD.fullmatch(part) or self.user_looks.include(part)
        )

    def _is_like_user(self, word: str) -> bool:
        """Return whether a word with digits and letters looks like user ids, and not like items."""
        return (
            _is_mixed(word)
            and self.user_looks.include(word)
            and not self.item_looks.include(word)
            and word not in self.items.known
        )

    def _has_fields(self, whole: str) -> bool:
        """Return whether fields are a row, between signs of data or another that no title has."""
        return any(self._are_row(whole, fields) for fields in _splits(whole, MARKUP))

    def _are_row(self, whole: str, fields: list[str]) -> bool:
        parts = [field for field in fields if field.strip(QUOTES)]
        fields = [NAME.sub("", field).strip(QUOTES) for field in parts]
        is_named = sum(map(bool, map(NAME.match, parts))) > 1
        if len(fields) < (2 if self.is_unrated and is_named else 3):
            return False
        items = {
            at
            for at, field in enumerate(fields)
            if field in self.items.known and not field.isdigit()
        }
        clear = {at for at in items if _is_no_word(fields[at])}
        ratings = {at for at, field in enumerate(fields) if _is_rating(field)}
        is_title = is_like_title(whole)
        for user, field in enumerate(fields):
            if field in self.items.known or (is_title and is_name([field])):
                continue
            is_known = field in self.users.known
            if not is_known and (
                not self.user_looks.include(field) or self.item_looks.include(field)
            ):
                continue
            others = items - {user} if is_known else clear - {user}
            if not self.is_unrated:
                is_row = bool(ratings - {user})
            else:
                is_row = is_named or not others.isdisjoint(clear)
            if others and is_row:
                return True
        return False


# A delimiter within a title, as in "Net, The".
_IN_TITLES = re.compile(r"[,;|:] ")


def _splits(text: str, signs: re.Pattern[str]) -> Iterator[list[str]]:
    """Yield the fields between signs of data, blanks, or another sign that no title has."""
    others = {sign for sign, n in Counter(text).items() if n > 1 and FOREIGN.match(sign)}
    splits = [signs.split(text), _BLANKS.split(text), *map(text.split, others - {*"&="})]
    if _IN_TITLES.search(text):
        splits.append(re.split(f"(?:{signs.pattern})(?! )", text))
    yield from ([field.strip(QUOTES) for field in fields] for fields in splits)


def _start(place: range) -> int:
    return place.start


def _has_pair(users: list[range], items: list[range], numbers: set[int] | None = None) -> bool:
    """Return whether a user and an item have no word in common, and a number, if there are any."""
    return any(
        numbers is None or bool(numbers.difference(user, item))
        for user in users[:_MOST_PLACES]
        for item in items[:_MOST_PLACES]
        if not {*user} & {*item}
    )


def _fewest_inside(places: list[list[tuple[range, int]]]) -> float:
    """Return the fewest numbers inside places that follow each other, one of each list."""
    states: list[tuple[int, float]] = [(0, 0)]  # where the last place ends, and the numbers so far
    for each in places:
        reached: dict[int, float] = {}
        for at, n_inside in each:
            before = [n for end, n in states if end <= at.start]
            if before:
                reached[at.stop] = min(n_inside + min(before), reached.get(at.stop, math.inf))
        # A later end is of use only with fewer numbers.
        ends = sorted(reached.items())
        least = accumulate((n for _, n in ends), min)
        before_each = zip(ends, chain([math.inf], least), strict=False)
        states = [(end, n) for (end, n), fewest in before_each if n < fewest]
    return min((n for _, n in states), default=math.inf)


def _is_mixed(text: str) -> bool:
    return not text.isdigit() and not text.isalpha() and any(map(str.isdigit, text))


def _is_no_word(text: str) -> bool:
    """Return whether an id is none that occurs in titles: no word, words or short number.

    >>> [_is_no_word(text) for text in ("u2", "ann@x.org", "4711471147", "1003", "Alien 3")]
    [True, True, True, False, False]
    """
    if text.isdigit() or "@" in text:
        return "@" in text or len(text) >= _SHORTEST_OF_ONE_LENGTH
    return any(map(str.isdecimal, text)) and not any(map(str.isspace, text))


def _is_short_number(word: str) -> bool:
    return word.isdigit() and len(word) <= 4 and not _YEAR.fullmatch(word)


def _is_rating(field: str) -> bool:
    return _SIGNED.fullmatch(field) is not None and not _YEAR.fullmatch(field)


def is_name(words: Iterable[str]) -> bool:
    """Return whether the words of an id have no digits."""
    return not any(map(str.isdecimal, "".join(words)))
