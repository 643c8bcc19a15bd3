"""Users next to items that they rated, among the words of item ids.

Titles and article codes contain a user and an item by chance, too. So an id is a row in one of
three cases: it consists of nothing but a user, an item, numbers and dates; the number of a user has
so many digits that it hardly occurs by chance; or users rated more of these items than their
activity suggests.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from recveil.io.columns.repeated_rows import Text, is_like_title, texts_of, words_of_id
from recveil.ratings.sorted_rows import Rows
from recveil.runtime.safe_repr import brief

# So many users and items of one id are compared.
_MOST_PLACES = 50
# Shorter numbers and years occur in titles; next to a date and an item, shorter ones do not.
_SHORTEST, _SHORTEST_WITH_DATE = 4, 3
_DIGITS = re.compile(r"\d+")
_YEAR = re.compile(r"(1[89]|20)\d\d")
_DATE = re.compile(r"\b(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4})\b")
# Numbers, times, and the words around them in a sentence.
_OF_ROW = re.compile(
    r"\d+(?:t\d+)?z?|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|a|gave|gives|rated|rates|likes|liked|stars?|rating|user|item"
)
_SHORTEST_CODE = 5
# So many times as many ids are rows as have other words next to codes.
_LIKE_ROWS = 10
# Words in more ids, without a rating, separate items.
_MOST_IDS = 10
# Numbers of users in so many ids are how items are numbered, unless these users rated the items.
_MANY = 3
# Chance has so many users with items that they rated in fewer tables than these shares.
_CHANCE_OF_NUMBERS, _CHANCE = 0.01, 0.001
_TIMES = 2
# Numbers of users that are no further from an item are those of so many groups by chance.
_FARTHEST, _CHANCE_OF_KNOWN = 4, 1e-5
# Users whose numbers are so near rated the item as often, if ids follow in time.
_NEAR = (-3, -2, -1, 1, 2, 3)

# So many events are counted.
_MOST_EVENTS = 50

_Words = tuple[str, ...]


class _Place(NamedTuple):
    """The words of a text that are an id."""

    begin: int
    end: int
    code: int

    @property
    def words(self) -> range:
        return range(self.begin, self.end)

    def is_apart(self, other: "_Place") -> bool:
        return self.end <= other.begin or other.end <= self.begin


@brief
class _Candidate(NamedTuple):
    """An item id that contains a user or a number, and another item."""

    at: int
    user: int
    """-1 for a number that is none."""
    name: str
    """The words of the user, or the number."""
    items: tuple[int, ...]
    is_row: bool
    """Whether the id consists of columns, or the user is a code, which no title contains."""
    has_date: bool
    has_number: bool
    """Whether the id consists of columns, one of which is a number."""
    has_code: bool
    """Whether an item is a code with letters and digits, or with a sign."""

    @property
    def is_number(self) -> bool:
        return self.name.isdecimal()

    @property
    def is_long_number(self) -> bool:
        return self.is_number and len(self.name) >= _SHORTEST and not _YEAR.fullmatch(self.name)

    @property
    def is_dated(self) -> bool:
        """Return whether a number and an item have a date, and nothing else."""
        return self.is_row and self.has_date and len(self.name) >= _SHORTEST_WITH_DATE


def find_pairs_above_chance(
    users: Iterable[Any],
    items: Iterable[Any],
    read: Callable[[], Rows],
    classes: Sequence[Hashable] = (),
) -> list[int]:
    """Return the positions of item ids that contain a user and another item that this user rated.

    Pairs of two plain numbers are left to `find_rows_above_chance`, which has the same parameters.
    """
    users, items = [*users], [*items]
    texts = [(at, text) for at, item in enumerate(items) for text in texts_of(item)]
    if not texts:
        return []
    wanted = {word for _, text in texts for word in text.words}
    ids = _Ids(users, wanted), _Ids(items, wanted)
    candidates = [each for at, text in texts for each in _candidates_within(at, text, *ids)]
    known = _find_known_numbers(texts, users, ids[1])
    if not any(each.user >= 0 and each.items for each in candidates):
        return sorted(known)
    pairs = _Pairs.of(users, read(), classes)
    of_names = [each for each in candidates if not each.is_number]
    of_numbers = [each for each in candidates if each.is_number and each.items]
    found = _find_names(of_names, pairs) | _find_numbers(of_numbers, pairs)
    return sorted(found | known | _find_words(texts, items, ids, pairs))


def _find_names(candidates: list[_Candidate], pairs: "_Pairs") -> set[int]:
    """Return the ids with users that are words: of ids that are no rows, more than by chance."""
    known = [each for each in candidates if each.user >= 0]
    rows = {(each.user, each.at) for each in known if each.is_row}
    of_titles = {each.user for each in known if (each.user, each.at) not in rows}
    n_ids = Counter(
        user for user, _ in {(each.user, each.at) for each in known if not each.has_number}
    )
    of_titles |= {user for user, n in n_ids.items() if n > _MOST_IDS}
    clear = [each for each in known if each.user not in of_titles and each.items]
    found = pairs.above_chance([each for each in known if each.items])
    # Names of products have other words next to codes.
    others = {each.at for each in candidates if each.has_code} - {at for _, at in rows}
    for has_code in (False, True):
        part = [each for each in clear if each.has_code == has_code]
        ids, rated = {each.at for each in part}, pairs.rated(part)
        if has_code and len(ids) < _LIKE_ROWS * len(others):
            continue
        if ids == rated:
            found |= rated
        elif has_code:
            # A row that an id swallowed is in the table no more.
            found |= {each.at for each in part if each.has_number}
    return found


def _find_numbers(candidates: list[_Candidate], pairs: "_Pairs") -> set[int]:
    """Return the ids with users that are numbers."""
    dated = [each for each in candidates if each.is_dated]
    found = pairs.rated(dated)
    if found < {each.at for each in dated}:
        found = set()
    long = [each for each in candidates if each.is_long_number]
    n_of_users = len({each.at for each in long if each.user >= 0})
    if n_of_users < _MANY and pairs.are_unlikely(long):
        found |= pairs.rated(long)
    return found | pairs.above_chance([each for each in candidates if each.user >= 0])


def _find_known_numbers(texts: list[tuple[int, Text]], users: list[Any], items: "_Ids") -> set[int]:
    """Return the ids with users that are numbers next to items, whether they rated these or not."""
    known = {int(user) for user in map(str, users) if user.isdecimal()}
    if not known:
        return set()
    first = min(known)
    step = math.gcd(*(number - first for number in known)) or 1
    density = len(known) * step / (max(known) - first + step)
    groups: defaultdict[tuple[bool, str], defaultdict[int, set[int]]]
    groups = defaultdict(lambda: defaultdict(set))
    for at, text in texts:
        numbers = [place for place, word in enumerate(text.words) if word.isdecimal()]
        others = [place for place in numbers if not items.has((text.words[place],))]
        for item in [*items.places(text.words)][:_MOST_PLACES] if others else ():
            for place in others[:_MOST_PLACES]:
                begin, end = (place + 1, item.begin) if place < item.begin else (item.end, place)
                if 0 <= end - begin < _FARTHEST:
                    gap = text.text[text.spans[begin - 1][1] : text.spans[end][0]]
                    key = place < item.begin, _DIGITS.sub("0", gap)
                    groups[key][int(text.words[place])].add(at)
    found: set[int] = set()
    for ids_of in groups.values():
        of_users = [number for number in ids_of if number in known]
        if len(of_users) >= _MANY:
            near = [number + away * step in known for number in of_users for away in _NEAR]
            chance = max(density, float(np.mean(near)))
            unlikely = divergence(len(of_users), len(ids_of), chance)
            if unlikely > math.log(len(groups) / _CHANCE_OF_KNOWN):
                found.update(*(ids_of[number] for number in of_users))
    return found


def _find_words(
    texts: list[tuple[int, Text]], items: list[Any], ids: tuple["_Ids", "_Ids"], pairs: "_Pairs"
) -> set[int]:
    """Return the ids of a word and an item, if all are users and words of other ids seldom are."""
    found, rated, free, share = set[int](), set[int](), set[str](), 0.0
    for at, text in texts:
        for item in ids[1].places(text.words):
            if item.end - item.begin != len(text.words) - 1:
                continue
            word = text.words[-1 if item.begin == 0 else 0]
            if not word.isalpha() or ids[1].has((word,)):
                continue
            if (user := ids[0].code((word,))) < 0:
                return set()
            found.add(at)
            free.add(word)
            share += pairs.share(item.code)
            rated |= {at} if pairs.has(user, item.code) else set()
    if not found:
        return set()
    words = {word for item in items for word in words_of_id(item)} - free
    chance = (1 + sum(ids[0].has((word,)) for word in words)) / (1 + len(words))
    if is_no_chance(len(free), chance * len(free), _CHANCE):
        return found
    return rated if is_no_chance(len(rated), chance * share, _CHANCE_OF_NUMBERS) else set()


class _Ids:
    """Ids, by their words."""

    def __init__(self, ids: list[Any], wanted: set[str]):
        words = ((words_of_id(each), at) for at, each in enumerate(ids))
        self._codes = {parts: at for parts, at in words if parts and wanted.issuperset(parts)}
        self._sizes: defaultdict[str, set[int]] = defaultdict(set)
        for parts in self._codes:
            self._sizes[parts[0]].add(len(parts))

    def code(self, words: _Words) -> int:
        """Return the position of an id; -1 if there is none."""
        return self._codes.get(words, -1)

    def has(self, words: _Words) -> bool:
        return words in self._codes

    def places(self, words: _Words) -> list[_Place]:
        """Return each place of an id that is not the whole text."""
        return [
            _Place(begin, begin + size, code)
            for begin, word in enumerate(words)
            for size in self._sizes.get(word, ())
            if size < len(words)
            and begin + size <= len(words)
            and (code := self._codes.get(words[begin : begin + size], -1)) >= 0
        ]


def _candidates_within(at: int, text: Text, users: _Ids, items: _Ids) -> Iterator[_Candidate]:
    """Yield the users and long numbers of a text, with the items that are apart from them."""
    words = text.words
    in_dates = _words_of_dates(text)
    of_users = [each for each in users.places(words) if in_dates.isdisjoint(each.words)]
    numbers = {
        place
        for place, word in enumerate(words)
        if word.isdecimal() and len(word) >= _SHORTEST_WITH_DATE and not _YEAR.fullmatch(word)
    }
    of_items = items.places(words)
    if not of_users and not numbers and not of_items:
        return
    both = [*of_users, *of_items]
    covered = {place for each in both for place in each.words}
    others = [word for place, word in enumerate(words) if place not in covered]
    is_all = all(map(_OF_ROW.fullmatch, others))
    outer = _outermost(both)
    of_users, of_items = (
        [each for each in places if each[:2] in outer][:_MOST_PLACES]
        for places in (of_users, of_items)
    )
    spans = {each.words for each in of_items}
    codes = [each for each in of_items if _is_code(words[each.begin : each.end])]
    unknown = [_Place(place, place + 1, -1) for place in sorted(numbers - covered - in_dates)]
    if not is_all and codes:
        unknown.append(_Place(0, 0, -1))
    is_clear = bool(others) or not is_like_title(text.text)
    for user in (*of_users, *unknown):
        name = words[user.begin : user.end]
        apart = [item for item in of_items if user.is_apart(item)]
        if _is_number(name):
            apart = [item for item in apart if not _is_number(words[item.begin : item.end])]
        has_code = any(map(user.is_apart, codes))
        is_long_code = _is_code(name) and len("".join(name)) >= _SHORTEST_CODE
        is_row = (
            (is_all or is_long_code)
            and user.words not in spans
            and (is_clear or has_code or len(name) > 1 or not name[0].isalpha())
        )
        yield _Candidate(
            at,
            user.code,
            " ".join(name),
            tuple(item.code for item in apart),
            is_row,
            bool(in_dates),
            is_all and any(map(str.isdecimal, others)),
            has_code,
        )


def _outermost(places: list[_Place]) -> set[tuple[int, int]]:
    """Return where the places begin and end that are within no longer one.

    >>> sorted(_outermost([_Place(0, 2, 7), _Place(0, 1, 8), _Place(1, 2, 9), _Place(1, 3, 7)]))
    [(0, 2), (1, 3)]
    """
    outer, reached = set[tuple[int, int]](), 0
    for begin, end, _ in sorted(places, key=lambda each: (each.begin, -each.end)):
        if end > reached:
            outer.add((begin, end))
            reached = end
    return outer


def _is_number(words: _Words) -> bool:
    return all(map(str.isdecimal, words))


def _is_code(words: _Words) -> bool:
    return any(not word.isdecimal() and not word.isalpha() for word in words)


def _words_of_dates(text: Text) -> set[int]:
    dates = [found.span() for found in _DATE.finditer(text.text)]
    if not dates:
        return set()
    return {
        place
        for place, (begin, end) in enumerate(text.spans)
        if any(first <= begin and end <= last for first, last in dates)
    }


@brief
class _Pairs(NamedTuple):
    """The rows of a table, as pairs of users and items."""

    rows: Rows
    n_of_item: np.ndarray[Any, Any]
    n_users_of_length: Counter[int]
    numbered: list[int]
    """The users whose ids are numbers, in their order."""
    rank_of: dict[int, int]
    classes: Sequence[Hashable]

    @classmethod
    def of(cls, users: list[Any], rows: Rows, classes: Sequence[Hashable]) -> "_Pairs":
        """Read the rows of these users."""
        numbered = [at for at, user in enumerate(users) if str(user).isdecimal()]
        numbered.sort(key=lambda at: int(users[at]))
        lengths = Counter(len(str(int(users[at]))) for at in numbered)
        ranks = {user: rank for rank, user in enumerate(numbered)}
        return cls(rows, np.bincount(rows.indices), lengths, numbered, ranks, classes)

    def _facts(self) -> dict[str, object]:
        return {"ratings": self.rows.indices.size}

    def _near(self, user: int) -> list[int]:
        """Return the users whose numbers are near that of a user."""
        at = self.rank_of.get(user)
        n = len(self.numbered)
        return [] if at is None else [self.numbered[at + d] for d in _NEAR if 0 <= at + d < n]

    def has(self, user: int, item: int) -> bool:
        """Return whether a user rated an item."""
        if user < 0:
            return False
        indices = self.rows.indices[slice(*self.rows.indptr[user : user + 2])]
        cell = int(np.searchsorted(indices, item))
        return cell < indices.size and bool(indices[cell] == item)

    def share(self, item: int) -> float:
        """Return which share of the users rated an item."""
        return self._count([item]) / max(1, self.rows.indptr.size - 1)

    def rated(self, candidates: list[_Candidate]) -> set[int]:
        """Return the ids with a user who rated one of their items."""
        return {
            each.at for each in candidates if any(self.has(each.user, item) for item in each.items)
        }

    def are_unlikely(self, candidates: list[_Candidate]) -> bool:
        """Return whether numbers of so many digits are seldom users who rated these items."""
        n_users = self.rows.indptr.size - 1
        chances: defaultdict[int, float] = defaultdict(float)
        for each in candidates:
            digits = len(each.name)
            share = self.n_users_of_length[digits] / (9 * 10 ** (digits - 1))
            chances[each.at] += share * self._count(each.items) / n_users
        return _is_no_chance(len(self.rated(candidates)), [*chances.values()], _CHANCE_OF_NUMBERS)

    def above_chance(self, candidates: list[_Candidate]) -> set[int]:
        """Return the ids with users who rated their items, if more than by chance."""
        units: dict[tuple[Hashable, tuple[int, ...]], _Candidate] = {}
        for each in candidates:
            units.setdefault((self._class(each.user), each.items), each)
        found = self.rated([*units.values()])
        if not found:
            return set()
        chances, near = defaultdict[int, float](float), defaultdict[int, list[float]](list)
        for each in units.values():
            activity = int(np.diff(self.rows.indptr[each.user : each.user + 2])[0])
            chances[each.at] += activity * self._count(each.items) / self.rows.indices.size
            for other in self._near(each.user):
                near[each.at].append(any(self.has(other, item) for item in each.items))
        adjacent = [float(np.mean(near[at])) if near[at] else 0.0 for at in chances]
        is_row = all(
            _is_no_chance(len(found), each, _CHANCE) for each in (chances.values(), adjacent)
        )
        # Active users and popular items go together, so that a little more is no row.
        is_row &= len(found) >= min(len(chances), _TIMES * sum(chances.values()))
        return self.rated(candidates) if is_row else set()

    def _class(self, user: int) -> Hashable:
        return self.classes[user] if self.classes else user

    def _count(self, items: Iterable[int]) -> int:
        return sum(int(self.n_of_item[item]) for item in items if item < self.n_of_item.size)


def _is_no_chance(n: int, chances: Iterable[float], share: float) -> bool:
    """Return whether so many events of these chances occur in fewer tables than a share."""
    each = np.minimum(1.0, [*chances])
    return divergence(n, each.size, float(each.mean())) > -math.log(share) if n else False


def is_no_chance(n: int, n_expected: float, share: float) -> bool:
    """Return whether chance has so many events, or more, in fewer tables than a share.

    >>> is_no_chance(1, 0.01, 0.05), is_no_chance(1, 0.2, 0.05), is_no_chance(6, 1.5, 0.05)
    (True, False, True)
    >>> is_no_chance(2, 0.0, 0.05), is_no_chance(2, 1e300, 0.05)
    (True, False)
    """
    if not n_expected:
        return n > 0
    # By their logarithms, as powers of many expected events are too large.
    log = math.log(n_expected)
    fewer = sum(
        math.exp(at * log - n_expected - math.lgamma(at + 1)) for at in range(min(n, _MOST_EVENTS))
    )
    return n > 0 and 1 - fewer < share


def divergence(n: int, of: int, mean: float) -> float:
    """Return how unlikely n events of so many are, as a negative logarithm (Chernoff's bound).

    >>> round(divergence(4, 4, 1 / 60) / math.log(60), 6), divergence(1, 4, 0.5)
    (4.0, 0.0)
    """
    share = n / of
    if mean >= share:
        return 0.0
    unlikely = share * math.log(share / mean) if mean else math.inf
    if share < 1:
        unlikely += (1 - share) * math.log((1 - share) / (1 - mean))
    return of * unlikely
