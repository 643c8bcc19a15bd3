"""Declared attributes of users that are published with a release, and strata of equal ones."""

import itertools
import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from recveil.io import Reading
from recveil.io.item_features import is_item_column
from recveil.io.options import ReadingOptions
from recveil.io.side_tables import check_attributes, read_users
from recveil.methods.previous_release import PreviousRelease
from recveil.ratings import Ratings
from recveil.release.manifest import Manifest
from recveil.release.method import Method
from recveil.release.records import Groups
from recveil.release.specs.sparse import MIN_CLUSTER, SPARSE
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.release.user_table import (
    LONGEST_CELL,
    MOST_NUMBERS,
    MOST_VALUES,
    SUPPRESSED,
    UserColumns,
    UserTable,
    are_values,
    is_attribute,
    is_cell,
)
from recveil.runtime.errors import RecveilError, describe_count, listed, quoted
from recveil.runtime.number_format import percent
from recveil.runtime.safe_repr import brief
from recveil.verification.ids_in_items import columns_with_users

# What separates words, in which spellings differ; "A-", "<18" and "1-5" are values of their own.
_BETWEEN_WORDS = re.compile(r"(?<=[^\W\d])[\s_-]+(?=[^\W\d])")
# Python converts no number of thousands of digits.
_NUMBER = re.compile(r"(?<!\d)\d{1,100}(?!\d)")
# Numbers that are ids by a smaller chance are ids.
_MOST_CHANCE = 1e-3
_WORD = re.compile(r"[^\W_]+")
# Spellings of a missing value; `none` and `other` are answers.
_LIKE_MISSING = {"", "-", "?", "na", "n/a", "nan", "null", "unknown", "missing"}
# Published values of a column, at least, as a share of the known ones.
_LEAST_PUBLISHED = 0.5


@brief
class DeclaredAttributes(NamedTuple):
    """Attributes of users, by name; "*" where one is unknown. Private."""

    users: NDArray[Any]
    columns: Mapping[str, list[str]]
    about: UserColumns
    k: int

    def strata(self, least: int) -> tuple[dict[str, list[str]], NDArray[np.int64]]:
        """Return the published values of the shared columns, and the stratum of each user."""
        rows = list(zip(*(self.columns[name] for name in self.about.shared), strict=True))
        rows = generalize(rows, least) if rows else [()] * self.users.size
        number: dict[tuple[str, ...], int] = {}
        codes = np.array([number.setdefault(row, len(number)) for row in rows], np.int64)
        texts = {name: [row[at] for row in rows] for at, name in enumerate(self.about.shared)}
        return texts, codes

    def sensitive_codes(self) -> NDArray[np.int64] | None:
        """Return the number of each user's sensitive value, -1 if unknown; None without one."""
        if not self.about.sensitive:
            return None
        texts = self._sensitive_texts()
        number = {text: at for at, text in enumerate(sorted({*texts} - {SUPPRESSED}))}
        return np.array([number.get(text, -1) for text in texts], np.int64)

    def _sensitive_texts(self) -> list[str]:
        """Return sensitive values without those of fewer than k users."""
        texts = self.columns[self.about.sensitive]
        counts = Counter(texts)
        return [text if counts[text] >= self.k else SUPPRESSED for text in texts]

    def least_class(self, k: int, least: int) -> int:
        """Return the smallest classes of such a cluster that can show equally frequent values."""
        # With two values and l = 2, classes of 5 never show theirs.
        n_values = len({*self._sensitive_texts()} - {SUPPRESSED}) if self.about.sensitive else 0
        for least_size in range(k, least + 1):
            n_classes = least // least_size
            sizes = (least // n_classes, -(-least // n_classes))
            if all(-(-n // (n_values or n)) * self.about.l <= n for n in sizes):
                return least_size
        return k

    def check_published(self, published: Mapping[str, Sequence[str]]) -> None:
        """Raise a RecveilError for a column of which most known values are not published."""
        for name, texts in published.items():
            n_known = sum(text != SUPPRESSED for text in self.columns[name])
            n_lost = n_known - sum(text != SUPPRESSED for text in texts)
            if n_lost <= (1 - _LEAST_PUBLISHED) * n_known:
                continue
            remedy = "cut it into coarser values, name it before the others"
            what = _named(name, self.about.sensitive)
            if name == self.about.sensitive:
                remedy = "take a column of more values of similar frequency"
                remedy = "lower attribute_l (--attribute-l), " * (self.about.l > 2) + remedy
            raise RecveilError(
                f'{what}: "{SUPPRESSED}" would replace '
                f"{percent(n_lost / n_known)} of its values; expected at most "
                f"{percent(1 - _LEAST_PUBLISHED)}; {remedy}, or leave it out",
                code="attribute.values",
            )

    @classmethod
    def like(
        cls, manifest: Manifest, users: NDArray[Any], columns: Mapping[str, Sequence[str | None]]
    ) -> Self | None:
        """Return the attributes as such a release takes them; None if it has none."""
        about = manifest.user_columns
        if about is None:
            return None
        texts = {name: [text or SUPPRESSED for text in columns[name]] for name in about.names}
        return cls(users, texts, about, manifest.claim.k)

    def of(self, users: NDArray[Any]) -> Self:
        """Return the attributes of some of the users, in their order."""
        place = {user: at for at, user in enumerate(self.users.tolist())}
        if unknown := [user for user in users.tolist() if user not in place]:
            raise RecveilError(
                f"attributes: user {quoted(str(unknown[0]), 40)} is not among their users; "
                f"expected those of the same table",
                code="release.mismatch",
            )
        return self.take([place[user] for user in users.tolist()])

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Self:
        """Return the attributes of some of the users, by position."""
        columns = {name: [texts[row] for row in rows] for name, texts in self.columns.items()}
        return self._replace(users=self.users[rows], columns=columns)

    def check_following(self, previous: PreviousRelease) -> None:
        """Raise a RecveilError for columns or values other than those of the previous release."""
        about = previous.manifest.user_columns
        if about is None:
            raise RecveilError(
                f"users (--users): the previous release {previous.name} has no attributes of "
                f"users, so its classes mix them; drop it, or begin a series without "
                f"previous (--previous)",
                code="release.mismatch",
            )
        if self.about != about:
            sensitive = f", with {quoted(about.sensitive, 40)} sensitive, l = {about.l}"
            raise RecveilError(
                f"users (--users): the previous release {previous.name} has the attributes "
                f"{listed(about.names, 80)}{sensitive * bool(about.sensitive)}; all releases of a "
                f"series with attributes have the same; give these, or drop it",
                code="release.mismatch",
            )
        for name, domain in zip(self.about.names, _domains_of(previous), strict=True):
            known = [text for text in self.columns[name] if text != SUPPRESSED]
            if 2 * sum(text in domain for text in known) < len(known):
                raise RecveilError(
                    f"{_named(name, self.about.sensitive)}: most of its values are not in the "
                    f"previous release {previous.name}; expected its values: "
                    f"{listed(sorted(domain), 80)}; write them as before, or drop the file",
                    code="release.mismatch",
                )

    def following(self, previous: PreviousRelease, left: NDArray[np.int64]) -> Self:
        """Return what a release that follows another one publishes of users and of those who left.

        Users with a row have the attributes of it; sensitive values are in any order within a
        class. Newcomers have values of the previous release alone; others are suppressed.
        """
        places = np.concatenate([previous.places_of(self.users), left]).tolist()
        domains = _domains_of(previous)
        declared = zip(*(self.columns[name] for name in self.about.names), strict=True)
        new = {
            at: tuple(
                text if text in domain else SUPPRESSED
                for text, domain in zip(row, domains, strict=True)
            )
            for at, row in enumerate(declared)
            if places[at] < 0
        }
        if n_shared := len(self.about.shared):
            shared = generalize([row[:n_shared] for row in new.values()], self.k) if new else []
            pairs = zip(new.items(), shared, strict=True)
            new = {at: (*texts, *row[n_shared:]) for (at, row), texts in pairs}
        rows = [
            new[at] if at in new else previous.attributes[place] for at, place in enumerate(places)
        ]
        columns = dict(zip(self.about.names, map(list, zip(*rows, strict=True)), strict=True))
        users = np.concatenate([self.users.astype(object), previous.users[left].astype(object)])
        return self._replace(users=users, columns=columns, k=1)  # their values are frequent enough

    def publish(
        self,
        least: int,
        groups: Groups,
        rng: np.random.Generator,
        previous: Sequence[bytes] = (),
    ) -> UserTable:
        """Return the attributes in published order; sensitive ones in random order in a class.

        A group that was part of a `previous` class shows the sensitive values that it showed there.
        """
        columns = {
            name: [texts[user] for user in groups.members.tolist()]
            for name, texts in self.strata(least)[0].items()
        }
        if self.about.sensitive:
            texts, found = self._sensitive_texts(), list[str]()
            for at, (start, end) in enumerate(itertools.pairwise(groups.starts.tolist())):
                members = rng.permutation(groups.members[start:end])
                shown = [texts[user] for user in members.tolist()]
                found += shown if previous and previous[at] else hidden_in(shown, self.about.l)
            columns[self.about.sensitive] = found
        return UserTable(self.about, columns, groups.sizes)

    def _facts(self) -> dict[str, object]:
        return {"": ", ".join(self.about.names), "users": self.users.size}


def _domains_of(previous: PreviousRelease) -> list[set[str]]:
    return [{*texts} - {SUPPRESSED} for texts in zip(*previous.attributes, strict=True)]


def generalize(rows: Sequence[tuple[str, ...]], least: int) -> list[tuple[str, ...]]:
    """Suppress attributes of rare combinations, the last one first, until all are frequent.

    If fewer than `least` users lose all of theirs, others do, too: as many of the most frequent
    combination as are needed, or else all of the rarest.

    >>> generalize([("F", "young")] * 2 + [("F", "old"), ("M", "old")], 2)
    [('F', 'young'), ('F', 'young'), ('*', '*'), ('*', '*')]
    >>> generalize([("F",)] * 3 + [("M",)], 2)
    [('F',), ('F',), ('*',), ('*',)]
    """
    rows, nothing = list(rows), (SUPPRESSED,) * len(rows[0])
    for at in reversed(range(len(nothing))):
        counts = Counter(rows)
        rows = [row if counts[row] >= least else (*row[:at], *nothing[at:]) for row in rows]
    counts = Counter(rows)
    while 0 < counts[nothing] < least and len(counts) > 1:
        others = sorted(counts.keys() - {nothing}, key=lambda row: (counts[row], row))
        n_needed = least - counts[nothing]
        has_spare = counts[others[-1]] - n_needed >= least
        chosen = [at for at, row in enumerate(rows) if row == others[-1 if has_spare else 0]]
        for at in chosen[-n_needed:] if has_spare else chosen:
            rows[at] = nothing
        counts = Counter(rows)
    return rows


def hidden_in(texts: list[str], l: int) -> list[str]:  # noqa: E741
    """Return the sensitive values of a class; none if one has more than 1 / l of the known ones.

    >>> hidden_in(["a", "b", "*", "b", "c"], 2), hidden_in(["a", "b", "b"], 2)
    (['a', 'b', '*', 'b', 'c'], ['*', '*', '*'])
    """
    counts = Counter(text for text in texts if text != SUPPRESSED)
    is_shown = max(counts.values(), default=0) * l <= counts.total()
    return texts if is_shown else [SUPPRESSED] * len(texts)


class _Asked(Protocol):
    """The options of `anonymize` that decide about attributes."""

    @property
    def users(self) -> str | PathLike[str] | None: ...
    @property
    def attribute(self) -> Sequence[str] | None: ...
    @property
    def sensitive_attribute(self) -> str | None: ...
    @property
    def attribute_l(self) -> int | None: ...
    @property
    def k(self) -> int | None: ...
    @property
    def hide_items(self) -> bool: ...
    @property
    def layout(self) -> str: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def reading(self) -> ReadingOptions: ...


def add_attributes(
    method: Method,
    request: _Asked,
    reading: Reading,
    every_user: NDArray[Any],
    options: dict[str, Any],
) -> Reading:
    """Add the attributes of users to publish, if any, to the options, and a note on them."""
    named = [column.name for column in reading.columns if column.role == "user"]
    is_named = request.reading.get("user") is not None
    user = next((name for name in named if is_named and isinstance(name, str)), None)
    if request.users is None:
        return reading
    attributes: DeclaredAttributes | None
    if method is SYNTHETIC:
        columns = public_columns(request.attribute or ())
        attributes, note = _read_public(request.users, columns, reading.ratings, every_user, user)
    else:
        attributes, note = read_published_users(
            *(request.users, request.attribute, request.sensitive_attribute, request.attribute_l),
            *(reading.ratings, every_user, request.k or 0),
            *(max(request.k or 0, options.get("cluster_size") or MIN_CLUSTER), user),
            options.get("previous"),
        )
    options["attributes"] = attributes
    return replace(reading, notes=(*reading.notes, note))


def reject_attributes(method: Method, request: _Asked) -> None:
    """Raise a RecveilError for attributes of users that the release cannot have."""
    given = (request.users, request.attribute, request.sensitive_attribute, request.attribute_l)
    if given == (None, None, None, None):
        return
    if method is SYNTHETIC:
        _check_public(request)
        return
    if method is not SPARSE:
        raise RecveilError(
            f"users (--users): only the methods {SPARSE.name} and {SYNTHETIC.name} publish "
            f"attributes, but the method is {method.name}; drop it, or name one of these",
            code="option.unsupported",
        )
    check_declared(*given, request.k)
    if request.hide_items or (request.layout == "groups" and request.sensitive_attribute):
        other = "hide_items (--hide-items)" if request.hide_items else "layout (--layout) groups"
        raise RecveilError(
            f"users (--users): attributes cannot be published with {other}; drop one of the two",
            code="option.conflict",
        )


def _check_public(request: _Asked) -> None:
    check_attributes(request.users, request.attribute)
    public_columns(request.attribute or ())
    others = {
        "sensitive_attribute (--sensitive-attribute)": request.sensitive_attribute is not None,
        "attribute_l (--attribute-l)": request.attribute_l is not None,
        "epsilon (--epsilon) none": request.options.get("epsilon") in (None, "none"),
        "layout (--layout) model": request.layout == "model",
    }
    if other := next((name for name, is_set in others.items() if is_set), None):
        raise RecveilError(
            f"users (--users): attributes of synthetic users are sampled from noisy sums, not with "
            f"{other}; drop one of the two",
            code="option.conflict",
        )


def public_columns(attribute: Sequence[str]) -> UserColumns:
    """Parse attributes with their public values, such as ``gender=F,M``."""
    names, lists = list[str](), list[tuple[str, ...]]()
    for text in attribute:
        name, mark, rest = text.partition("=")
        values = tuple(value.strip() for value in rest.split(","))
        if not (mark and are_values(values)):
            raise RecveilError(
                f"attribute (--attribute) {quoted(text, 40)}: of synthetic users, expected a "
                f"column with 1 to {MOST_VALUES} different public values, as values of the file "
                f"may reveal a user; give it as gender=F,M",
                code="option.value" if mark else "option.required",
            )
        names.append(_checked_name(name.strip(), None))
        lists.append(values)
    return UserColumns(tuple(names), values=tuple(lists))


def _read_public(
    users: str | PathLike[str],
    about: UserColumns,
    ratings: Ratings,
    every_user: NDArray[np.object_],
    user: str | None,
) -> tuple[DeclaredAttributes, str]:
    found, others = read_users(users, every_user, about.names, user)
    columns = {name: [text or SUPPRESSED for text in texts] for name, texts in found.items()}
    attributes = DeclaredAttributes(every_user, columns, about, 1).of(ratings.users)
    counts = list[str]()
    # Even if no user has a declared value, the table is accepted: one user may be the only one.
    for name, values in zip(about.names, about.values, strict=True):
        n_other = sum(text not in values for text in attributes.columns[name])
        whose = "all users" if n_other == ratings.n_users else describe_count(n_other, "user")
        counts += [f"{name} of {whose}"] if n_other else []
    left = f" Not declared, and so left out: {listed(others, 80)}." if others else ""
    other = f' Missing and undeclared values count as "{SUPPRESSED}": ' if counts else ""
    names = ", ".join(about.names)
    note = f"User attributes: {names} of synthetic users are published in users.csv."
    return attributes, note + (f"{other}{', '.join(counts)}." if counts else "") + left


def read_published_users(
    users: str | PathLike[str] | None,
    attribute: Sequence[str] | None,
    sensitive: str | None,
    l: int | None,  # noqa: E741
    ratings: Ratings,
    every_user: NDArray[np.object_],
    k: int,
    least: int,
    user: str | None = None,
    previous: PreviousRelease | None = None,
) -> tuple[DeclaredAttributes | None, str]:
    """Read the attributes to publish, and a note on them; `every_user` may be in the file."""
    names = check_declared(users, attribute, sensitive, l, k)
    if users is None:
        return None, ""
    declared, others = read_users(users, every_user, names, user)
    every = {name: [text or SUPPRESSED for text in texts] for name, texts in declared.items()}
    about = UserColumns(tuple(names), sensitive or "", (l or 2) if sensitive else 1)
    columns = dict(DeclaredAttributes(every_user, every, about, k).of(ratings.users).columns)
    found = columns_with_users(every_user.tolist(), columns) or _with_names(every_user, columns)
    if found := found or _with_numbers(every_user, ratings.users, columns):
        raise RecveilError(
            f"{_named(found[0], sensitive)}: contains ids of users; expected an attribute that "
            f"many users share; drop it",
            code="id.personal",
        )
    for name, texts in columns.items():
        _check_texts(_named(name, sensitive), texts, k if name == sensitive else least)
    attributes = DeclaredAttributes(ratings.users, columns, about, k)
    codes = attributes.sensitive_codes() if previous is None else None
    if sensitive is not None and codes is not None and codes.max() + 1 < about.l:
        raise RecveilError(
            f"attribute_l (--attribute-l) is {about.l}, but fewer values of "
            f"{quoted(sensitive, 40)} have at least {k} users; lower it",
            code="option.value",
        )
    if ratings.n_users >= least and previous is None:
        attributes.check_published(attributes.strata(least)[0])
    left = f" Not declared, and so left out: {listed(others, 80)}." if others else ""
    has_unknown = any(SUPPRESSED in texts for texts in columns.values())
    unknown = ' Missing values are published as "*".' if has_unknown else ""
    values = {text for texts in columns.values() for text in texts}
    if like_missing := sorted(text for text in values if text.casefold() in _LIKE_MISSING):
        unknown += f" {listed(like_missing, 60)} counts as a value; leave missing cells empty."
    note = f"User attributes: {', '.join(names)} are published in users.csv.{unknown}{left}"
    if previous is not None:
        note += (
            f" Users with a row in {previous.name} keep the attributes that it has, without "
            f'changes since; values of newcomers that it lacks are published as "*".'
        )
    return attributes, note


def check_declared(
    users: str | PathLike[str] | None,
    attribute: Sequence[str] | None,
    sensitive: str | None,
    l: int | None,  # noqa: E741
    k: int | None,
) -> list[str]:
    """Return the names of all columns to publish; raise for those that cannot be."""
    names = [*(attribute or ()), *([sensitive] if sensitive is not None else [])]
    check_attributes(users, names)
    if l is not None and sensitive is None:
        raise RecveilError(
            "attribute_l (--attribute-l): the limit of a sensitive attribute; name it, "
            "sensitive_attribute (--sensitive-attribute), or leave it out",
            code="option.required",
        )
    if l is not None and (type(l) is not int or not 2 <= l <= (k or l)):
        raise RecveilError(
            f"attribute_l (--attribute-l) is {l!r}; expected a whole number from 2 to k",
            code="option.value",
        )
    return [_checked_name(name, sensitive) for name in names]


def _checked_name(name: str, sensitive: str | None) -> str:
    if not (is_item_column(name) and is_attribute(name)):
        raise RecveilError(
            f"{_named(name, sensitive)}: expected a name of 1 to 40 characters that begins "
            f"with a letter or digit, without quotes, not that of ids or ratings; rename it",
            code="column.type",
        )
    return name


def _named(name: str, sensitive: str | None) -> str:
    option = "sensitive_attribute (--sensitive-attribute)"
    return f"{option if name == sensitive else 'attribute (--attribute)'} {quoted(name, 40)}"


def _check_texts(what: str, texts: list[str], least: int) -> None:
    """Reject texts that cannot be published, and columns whose values few users share."""
    if bad := [text for text in texts if not is_cell(text)]:
        raise RecveilError(
            f"{what}: {quoted(bad[0], 40)} has a line break or another character that is not "
            f"shown, or over {LONGEST_CELL} characters; shorten it",
            code="id.line-break",
        )
    counts = Counter(text for text in texts if text != SUPPRESSED)
    if not counts:
        raise RecveilError(
            f"{what}: no user of the ratings has a value; drop it",
            code="input.empty",
        )
    alike: dict[str, list[str]] = {}
    for text in counts:
        folded = _BETWEEN_WORDS.sub("", unicodedata.normalize("NFKC", text).casefold())
        alike.setdefault(folded, []).append(text)
    if several := [texts for texts in alike.values() if len(texts) > 1]:
        raise RecveilError(
            f"{what}: {listed(sorted(several[0]), 80)} may be one value, which would count as "
            f"different ones; write it in one way",
            code="attribute.values",
        )
    n_numbers = sum(_NUMBER.search(text) is not None for text in counts)
    if n_numbers > MOST_NUMBERS:
        raise RecveilError(
            f"{what}: {n_numbers:,} different values have digits; expected at most {MOST_NUMBERS}, "
            f"as more may be measurements or ids; bin it, or write codes as words",
            code="column.type",
        )
    if 2 * sum(n for n in counts.values() if n < least) > counts.total():
        raise RecveilError(
            f"{what}: {len(counts):,} different values, which few users share; expected values "
            f"that most users share with {least - 1} others; bin it first",
            code="column.type",
        )


def _with_names(users: NDArray[Any], columns: Mapping[str, list[str]]) -> list[str]:
    """Return the columns with a cell that has a user's id, of letters, as a word."""
    ids = {str(user).casefold() for user in users.tolist() if not str(user).isdigit()}
    joined = {name: " ".join({*texts}).casefold() for name, texts in columns.items()}
    words = {name: [*text.split(), *_WORD.findall(text)] for name, text in joined.items()}
    whole = {name: {text.casefold() for text in texts} for name, texts in columns.items()}
    return [name for name in columns if not ids.isdisjoint({*words[name], *whole[name]})]


def _with_numbers(
    every_user: NDArray[Any], users: NDArray[Any], columns: Mapping[str, list[str]]
) -> list[str]:
    """Return the columns with a number of an id by more than chance, or with that of their user."""
    of_users = [_number_of(user) for user in users.tolist()]
    numbers = map(_number_of, every_user.tolist())
    ids = sorted({number for number in numbers if number is not None})
    step = math.gcd(*(each - ids[0] for each in ids)) or 1
    found = []
    for name, texts in columns.items():
        numbers_in = {text: {*map(int, _NUMBER.findall(text))} for text in {*texts}}
        with_number = Counter(number for text in texts for number in numbers_in[text])
        n_own = sum(one in numbers_in[text] for one, text in zip(of_users, texts, strict=True))
        expected = sum(with_number[one] for one in of_users if one is not None) / len(texts)
        # The bound of Chernoff on a number of independent events
        exponent = n_own * math.log(n_own / expected) - n_own + expected if n_own else 0.0
        # A column of so many other numbers has one this near to a lone id by less than that chance.
        apart = math.ceil(len(with_number) * step / (2 * _MOST_CHANCE))
        lone = [
            number
            for number in with_number.keys() & {*ids}
            if bisect_right(ids, number + apart) - bisect_left(ids, number - apart) == 1
        ]
        if lone or (n_own > expected and math.exp(-exponent) < _MOST_CHANCE):
            found.append(name)
    return found


def _number_of(user: Any) -> int | None:
    found = _NUMBER.findall(str(user))
    return int(found[0]) if len(found) == 1 else None
