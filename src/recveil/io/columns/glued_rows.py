"""Rows within an id whose line breaks were dropped, so that a rating and a user are one word.

Programs that delete line breaks from a text leave ``i11,11005,i1,31005,i2`` of the rows of user
1005. Such words are split where a known id begins or ends. The text is then searched for rows.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from recveil.runtime.safe_repr import brief

DELIMITER = re.compile(r"[\x00-\x1f,;|]|::")
# A byte order mark of each part of a file, and escapes that lost their backslash.
_LOST = re.compile(r"\ufeff|u000[9adAD]")
# Ratings, dates and times of day.
VALUE = re.compile(r"[-+]?\d+(?:[.:/ TZ-]+\d+)*")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_LIST_OF_TITLES = re.compile(r"[,;] ")
# A rating or a time, and a name of a user who is nowhere else.
_RATING_AND_NAME = re.compile(r"\d+(?:[.,]\d+)?[^\W\d_]{3}.*", re.DOTALL)
# Longer fields are not split, so that a search takes time in proportion to a text.
_LONGEST = 250
# An item such as "Heat, 1995" or "Heat|Crime|Drama" has several parts.
_MOST_PARTS = 8
# Lists contain several items. Short numbers occur in other numbers by chance.
_FEWEST_ITEMS, _FEWEST_NAMES = 2, 3
_SHORT, _FEWEST_SHORT, _FEWEST_OF_TITLES = 4, 2, 3


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

    def has_names(self, label: str) -> bool:
        """Return whether items alternate with ratings to which unknown names are glued.

        Examples
        --------
        >>> search = GluedRows.among(["ann"], ["Heat", "Up", "Alien"], lambda text: False)
        >>> search.has_names("Heat|3zoe|Up|4zoe|Alien|1zoe|Heat|2"), search.has_names("Heat|3D|Up")
        (True, False)
        """
        fields = DELIMITER.split(_LOST.sub("\n", label))
        names = [
            at
            for at, field in enumerate(fields)
            if field not in self.items and _RATING_AND_NAME.fullmatch(field)
        ]
        if len(names) < _FEWEST_NAMES:
            return False
        strides = Counter(after - before for before, after in pairwise(names))
        stride, n = strides.most_common(1)[0]
        items = {at for at, field in enumerate(fields) if field in self.items}
        n_items = sum(at + stride in items for at in items)
        return stride > 1 and n >= _FEWEST_NAMES - 1 and n_items > 0


def _likelihood(cut: _Cut) -> tuple[int, int, int]:
    """Return what the most likely cut has most of: known ids, a long id, and text in front."""
    return cut.n_known, cut.size, cut.text.index("\n")
