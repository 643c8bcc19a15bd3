"""Detection of user ids within the ids of items.

A long id that is no word does not occur in an item id by chance (`distinctive_values`). A short id
may: a title can hold a first name, and items are often numbered as users are. So short ids match as
whole words, and the matches are counted. First names occur in few titles, and rarely in two titles
that differ only in the name. Numeric ids are compared with their neighbours, which occur as often.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

from recveil.io.columns.ids import describe_break
from recveil.io.columns.repeated_rows import decode_escapes, find_repeated_rows
from recveil.io.columns.rows_within_ids import find_rows_within
from recveil.ratings.rating_scale import LIKES
from recveil.release.records import ITEM_PREFIX
from recveil.runtime.safe_repr import brief
from recveil.verification.ids_in_other_notation import find_in_other_notation
from recveil.verification.results import Violation

# Shorter ids occur in other text by chance.
SHORTEST = 8
_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"(?=.*[^\W\d_])(?=.*[\d@_])\S+")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]+")
_MOST_CHANCE = 1e-3


def distinctive_values(values: Iterable[Any], n_places: int) -> list[str]:
    """Return the private values that do not occur in other text by chance.

    They have at least eight characters, no space, and either letters with a digit, @ or _ among
    them, as addresses have; or so many digits that fewer than one in a thousand tables of this size
    would hold one by chance. Words are left out: titles hold them, too.

    >>> ids = ["ann", "godzilla", "ann.b@example.org", 12345678, 123456789012345]
    >>> distinctive_values(ids, 10**6)
    ['ann.b@example.org', '123456789012345']
    """
    texts = [text for text in map(str, values) if len(text) >= SHORTEST]
    chance = n_places * len(texts)
    return [
        text
        for text in texts
        # An address is neither a word, a title, nor a number in any notation.
        if (not (n := _numbers(text)) and _ADDRESS.fullmatch(text)) or chance < _MOST_CHANCE * n
    ]


def _numbers(text: str) -> int:
    """Return how many numbers have as many digits as this one; hexadecimal digits count."""
    digits = text.replace("-", "")
    return 10 ** len(digits) if _HEXADECIMAL.fullmatch(digits) else 0


def find_within(values: Iterable[str], text: str) -> set[str]:
    """Return the values that occur anywhere in a text, ignoring case.

    >>> sorted(find_within(["ann.b@example.org", "ben@example.org"], "by Ann.B@example.org, 1999"))
    ['ann.b@example.org']
    """
    beginning_with: dict[str, list[tuple[str, str]]] = {}
    for value in values:
        folded = value.casefold()
        beginning_with.setdefault(folded[:SHORTEST], []).append((folded, value))
    text = text.casefold()
    found: set[str] = set()
    for place in range(len(text) - SHORTEST + 1):
        candidates = beginning_with.get(text[place : place + SHORTEST])
        if candidates is not None:
            found.update(value for folded, value in candidates if text.startswith(folded, place))
    return found


def words_of(text: str) -> Iterator[str]:
    """Yield the words and numbers of a text in lower case."""
    return (word.casefold() for word in _WORD.findall(text))


def find_as_words(values: Iterable[Any], text: str) -> set[str]:
    """Return the values that are words of a text, or several consecutive words.

    >>> sorted(find_as_words(["ann", "nn", "ann.b", 7], "made by ann.b in 7 days"))
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


# This many words of item ids that are user ids are no coincidence; of few users, all of them.
_MANY, _MOST, _FEWEST = 10, 0.5, 4
# Ids of one or two letters occur in any title.
_SHORTEST_WORD = 3
# An id of more words is matched as an address or not at all.
_MOST_WORDS = 6
# Limits on the share of items that hold user ids, and of users whose ids occur in item ids that are
# otherwise the same. Of 9,743 film titles, 2% hold one of a country's hundred most common first
# names, and 63 of these names occur; three of them occur in titles that are otherwise the same.
_ENOUGH_ITEMS = 0.2
_ENDLESS = 10**40
# The chance that a number is an id of users, if those next to it are none.
_LEAST_CHANCE = 0.05
# Between the values of a cell that lists several.
BETWEEN = re.compile(r"\s*[|;,]\s*")
_Words = tuple[str, ...]
# If more of the numbers next to user ids are item ids, both are merely numbered alike.
_MOST_ADJACENT = 0.1


@brief
class IdsInItems(NamedTuple):
    """User ids that occur within the ids of items."""

    # What cannot be chance, in words that repeat no id; empty if nothing
    problem: str
    # Number of users whose id may occur by chance: it is short, a word, or a number
    n_undecided: int
    # Number of these that do occur, as an item id or as words of one
    n_matched: int

    def _facts(self) -> dict[str, object]:
        return {"undecided": self.n_undecided, "matched": self.n_matched}


def ids_in_items(
    users: Sequence[Any],
    items: Iterable[Any],
    *,
    can_hide: bool = True,
    is_unrated: bool = False,
) -> IdsInItems:
    """Search the ids of items for user ids."""
    found, has_ids = _search(tuple(users), tuple(items), is_unrated=is_unrated)
    return found._replace(problem=f"{found.problem}; {advise(can_hide)}") if has_ids else found


# A comparison makes several releases of the same users and items.
@lru_cache(maxsize=4)
def _search(
    users: tuple[Any, ...], items: tuple[Any, ...], *, is_unrated: bool
) -> tuple[IdsInItems, bool]:
    """Return what is found, and whether items hold ids of users rather than rows."""
    item_ids = [item_id for item_id in items if not _is_pseudonym(item_id)]
    texts = [item_id for item_id in item_ids if isinstance(item_id, str)]
    text = "\n".join(texts)
    # Any number may occur among numbers; an address may not.
    clear = distinctive_values(users, len(text) if texts else _ENDLESS)
    met = match_words(users, map(str, item_ids)).difference(clear)
    n_undecided = len(users) - len(clear) if item_ids else 0
    rows = find_rows_within(texts, users, texts, is_unrated=is_unrated)
    repeated = find_repeated_rows(texts, users, texts, LIKES if is_unrated else None)
    problem = describe_rows_within(len({*rows, *repeated}))
    if problem:
        return IdsInItems(problem, n_undecided, len(met)), False
    if found := find_within(clear, text) or find_in_other_notation(users, texts):
        which = "a user id" if len(found) == 1 else f"{len(found):,} user ids"
        problem = f"item ids contain {which}"
    else:
        problem = (
            _whole(users, texts)
            or _as_words(users, met, texts)
            or _as_numbers(users, met, item_ids)
        )
    return IdsInItems(problem, n_undecided, len(met)), bool(problem)


def columns_with_users(users: Sequence[Any], columns: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the columns of an item table with a user's name, or with cells that hold user ids."""
    ids = _Ids.of(users)
    coded = {each.casefold() for each in ids.coded}
    found = []
    for name, texts in columns.items():
        cells = sorted({*texts} - {""})
        is_named = name in ids.all or not coded.isdisjoint([name.casefold(), *words_of(name)])
        if is_named or ids.are_in(cells) or ids_in_items(users, cells).problem:
            found.append(name)
    return found


@brief
class _Ids(NamedTuple):
    all: frozenset[str]
    # Those with the letters that at least half of the ids have, and with digits
    coded: frozenset[str]
    numbers: frozenset[int]
    step: int

    @classmethod
    def of(cls, users: Sequence[Any]) -> Self:
        ids = frozenset(map(str, users))
        codes = Counter(map(_code, ids))
        usual = [code for code, n in codes.items() if n >= max(2, _MOST * len(ids))]
        usual = [code for code in usual if code.strip("0_- .") and "0" in code]
        numbers = frozenset(int(each) for each in ids if _is_number(each))
        first = min(numbers, default=0)
        step = math.gcd(*(number - first for number in numbers)) or 1
        return cls(ids, frozenset(each for each in ids if _code(each) in usual), numbers, step)

    def are_in(self, cells: Sequence[str]) -> bool:
        """Return whether cells are ids, or list them, by more than chance."""
        lists = [BETWEEN.split(cell) for cell in cells]
        n_holding = sum(
            any(part in self.all and not part.isdigit() for part in parts) for parts in lists
        )
        is_one = len(cells) == 1 and len(cells[0]) >= _SHORTEST_WORD
        if n_holding >= _MOST * len(cells) and (n_holding > 1 or (n_holding and is_one)):
            return True
        parts = {part for each in lists for part in each}
        found = Counter(_code(part) for part in parts & self.coded)
        alike = Counter(map(_code, parts))
        return any(n >= _MOST * alike[code] for code, n in found.items()) or self._are_numbers(
            parts
        )

    def _are_numbers(self, parts: Iterable[str]) -> bool:
        cells = {int(part) for part in parts if _is_number(part)}
        found = cells & self.numbers
        if len(found) < _MOST * len(cells) or not found:
            return False
        ways = [self.step * way for way in range(-_MANY, _MANY + 1) if way]
        near = sum(number + way in self.numbers for number in found for way in ways)
        expected = max(near / len(ways) / len(found), _LEAST_CHANCE)
        share = len(found) / len(cells)
        if share <= expected:
            return False
        # The bound of Chernoff on a binomial number
        other = (1 - share) * math.log((1 - share) / (1 - expected)) if share < 1 else 0.0
        exponent = len(cells) * (share * math.log(share / expected) + other)
        return math.exp(-exponent) < _MOST_CHANCE


def _code(text: str) -> str:
    # u0 for u17
    return re.sub("[0-9]+", "0", text)


def describe_rows_within(n_items: int) -> str:
    """Report how many item ids contain rows; "" if none does."""
    if not n_items:
        return ""
    return (
        f"{n_items:,} item ids contain rows of the original table; read that table again: a stray "
        f"quote may have swallowed them"
    )


def advise(can_hide: bool) -> str:
    """Return what to do about items whose ids contain user ids."""
    return f"{_HIDE}, or give them other ids" if can_hide else "give these items other ids"


def line_breaks_in_items(items: Iterable[Any], where: str) -> Iterator[Violation]:
    r"""Report ids of items with line breaks or NULs: rows of other users may be inside them."""
    breaks = (describe_break(item) for item in items if isinstance(item, str))
    if found := [*filter(None, breaks)]:
        ids, it = ("item id contains", "it") if len(found) == 1 else ("item ids contain", "them")
        problem = f"{len(found):,} {ids} {min(found)}; original rows may be inside {it}"
        yield Violation.of_file(where, problem)


_HIDE = "hide the items (recveil anonymize --hide-items)"


def match_words(values: Iterable[Any], item_ids: Iterable[str]) -> set[str]:
    """Return the values that are an item id, a word of one, or several consecutive words.

    Words end where letters and digits do, and where the id ends.
    """
    wanted = {str(value): tuple(words_of(str(value))) for value in values}
    whole: set[str] = set()
    found: set[_Words] = set()
    for item_id, runs in _runs(set(wanted.values()), item_ids):
        if item_id in wanted:
            whole.add(item_id)
        found.update(run for run, _ in runs)
    return {value for value, words in wanted.items() if value in whole or words in found}


def _runs(
    wanted: set[_Words], item_ids: Iterable[str]
) -> Iterator[tuple[str, list[tuple[_Words, _Words]]]]:
    lengths = {len(run) for run in wanted if 0 < len(run) <= _MOST_WORDS}
    for item_id in item_ids:
        # As it is, and without escapes: a word is glued to the letter of \t.
        texts = dict.fromkeys((item_id, decode_escapes(item_id)))
        yield (
            item_id,
            [
                (words[at : at + length], (*words[:at], "", *words[at + length :]))
                for words in dict.fromkeys(tuple(words_of(text)) for text in texts)
                for length in lengths
                for at in range(len(words) - length + 1)
                if words[at : at + length] in wanted
            ],
        )


def _whole(users: Sequence[Any], item_ids: list[str]) -> str:
    words = {user for user in users if isinstance(user, str) and not user.isdigit()}
    both = words.intersection(item_ids)
    if len(both) < max(_MANY, _MOST * len(words)):
        return ""
    return (
        f"{len(both):,} of {len(words):,} user ids are also item ids; if the item column "
        f"contains users, name the columns"
    )


def _as_words(users: Sequence[Any], met: set[str], item_ids: list[str]) -> str:
    words = {str(user) for user in users if not str(user).isdigit()}
    both = {word for word in met.intersection(words) if len(word) >= _SHORTEST_WORD}
    if not (_are_many(len(both), len(words)) and _are_systematic(both, item_ids, len(words))):
        return ""
    how_many = f"all {len(both):,}" if both == words else f"{len(both):,} of {len(words):,}"
    return f"{how_many} user ids are words of item ids"


def _are_many(n: int, of: int) -> bool:
    return n >= _MOST * of and (n >= _MANY or n == of >= _FEWEST)


def _are_systematic(both: set[str], item_ids: list[str], n_words: int) -> bool:
    """Return whether many items hold user ids, or many users occur in otherwise equal item ids."""
    wanted = {tuple(words_of(word)) for word in both}
    holding, words_around = 0, defaultdict(set)
    for _, found in _runs(wanted, item_ids):
        holding += bool(found)
        for run, around in found:
            words_around[around].add(run)
    most_alike = max(map(len, words_around.values()), default=0)
    return holding >= _ENOUGH_ITEMS * len(item_ids) or _are_many(most_alike, n_words)


def _as_numbers(users: Sequence[Any], met: set[str], item_ids: list[Any]) -> str:
    """Report that many numeric user ids are item ids while the numbers next to them are not."""
    # If users and items are merely numbered alike, the numbers next to the user ids are item ids as
    # often. Numbers that end alike count as neighbours, as consecutive numbers do.
    numbers = {int(str(user)) for user in users if _is_number(str(user))}
    both = {int(user) for user in met if _is_number(user)}
    if len(both) < max(_MANY, _MOST * len(numbers)):
        return ""
    first = min(numbers)
    step = math.gcd(*(number - first for number in numbers)) or 1
    adjacent = {number + way for number in both for way in (-step, step)} - numbers
    of_items = {
        int(word) for item_id in item_ids for word in words_of(str(item_id)) if _is_number(word)
    }
    if len(adjacent) < _MANY or len(adjacent & of_items) > _MOST_ADJACENT * len(adjacent):
        return ""
    return (
        f"item ids contain {len(both):,} of {len(numbers):,} numeric user ids, but not the "
        f"adjacent numbers"
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def _is_pseudonym(item_id: Any) -> bool:
    found = ITEM_PREFIX.match(item_id) if isinstance(item_id, str) else None
    return found is not None and item_id[found.end() :].isdigit()
