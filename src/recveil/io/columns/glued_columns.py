"""Rows within an id whose line breaks were dropped, between separators that are not known.

Of the rows of users ``u1`` and ``u2``, ``i5^3u1^i7^4u2^i9^2`` is left: every second field is an
item, and every other one is a rating and a user. A list of items may contain numbers and words that
end like users, too. So all fields must be columns of a table, and so many of them contain a user as
they hardly ever do by chance.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from recveil.io.columns.glued_rows import VALUE
from recveil.io.columns.repeated_rows import ESCAPED
from recveil.runtime.safe_repr import brief

# Any sign may separate fields; the most frequent ones are tried.
_SIGN, _MOST_SIGNS = re.compile(r"::|[\W_]"), 6
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
# So many fields are looked at, and longer ones are not.
_MOST_FIELDS, _LONGEST = 60, 250
# Rows of more columns are not looked for.
_MOST_COLUMNS = 6
# So many fields of a column are what the column is: others are users or items of no other row.
_SHARE = 2 / 3
_FEWEST_ITEMS = 2
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
        """Return whether an id contains rows, as it is or without its escapes.

        Examples
        --------
        >>> search = GluedColumns.among(["u12", "u13"], ["Heat", "Up"], is_unrated=False)
        >>> search.finds("Heat#4u12#Up#3u13#Heat#5"), search.finds("Heat#4#Up#3#Heat#5")
        (True, False)
        """
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
