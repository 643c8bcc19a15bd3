"""Items of an auxiliary file, matched with those of the table by title and year."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.io.inputs import file_next_to_table
from recveil.io.side_tables import read_named, read_titles
from recveil.io.write import as_cell, from_cell
from recveil.ratings.arrow_columns import python_values
from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.errors import RecveilError, option_named, quoted
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief

CERTAINTY = 0.9
# How much less certain every rival must be, on either side.
_LEAD = 0.05
# The certainty of equal titles a year apart, or where a year is missing.
_NEAR_YEAR, _NO_YEAR = 0.95, 0.95
# Of titles with different numbers, such as those of a sequel.
_OTHER_NUMBER = 0.8
_YEAR = re.compile(r"\s*\((\d{4})\)(?:\s*\(\w+\))?\s*$")
_ALSO_KNOWN = re.compile(r"(?i)^\s*a\.?k\.?a\.?\s+")
# An article of any language at the end: "Postino, Il".
_LAST_ARTICLE = re.compile(r"^(.*),\s*(\w{1,3}'?)\s*$")
_ARTICLES = ("a", "an", "the")
_NUMERALS = {
    numeral: str(number)
    for number, numeral in enumerate(("ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"), start=2)
}
# Titles of one year that are compared at once.
_ROWS = 256


@dataclass(frozen=True)
class ItemMatch(Reportable):
    """The item of the table whose title is most like that of an item of the auxiliary file.

    Parameters
    ----------
    auxiliary_item, auxiliary_title : str
    item, title : str
        Its most similar item of the table; empty if none has any similarity.
    certainty : float
        0 to 1; 1 for titles that are equal but for case, accents, punctuation and articles.
    runner_up : float
        The certainty of the best rival: another item of the table, or another auxiliary item.
    is_used : bool
        Whether the attack uses the match.
    """

    auxiliary_item: str
    auxiliary_title: str
    item: str
    title: str
    certainty: float
    runner_up: float
    is_used: bool

    @property
    def is_ambiguous(self) -> bool:
        """Whether a rival is nearly as certain."""
        return self.certainty - self.runner_up < _LEAD - 1e-6


@brief
@dataclass(frozen=True)
class ItemMatches(Reportable):
    """Matches between the items of two catalogues.

    Parameters
    ----------
    least : float
        Least certainty of a match that is used.
    matches : list of ItemMatch
        One per item of the auxiliary file.
    is_from_file : bool
        Whether they were read from a file, which then decides what is used.
    """

    least: float
    matches: list[ItemMatch]
    is_from_file: bool = False

    @property
    def used(self) -> dict[str, ItemMatch]:
        """The used matches by auxiliary item."""
        return {each.auxiliary_item: each for each in self.matches if each.is_used}

    @property
    def n_ambiguous(self) -> int:
        """Certain enough, but a rival is nearly as certain."""
        return sum(
            not each.is_used and each.certainty >= self.least and each.is_ambiguous
            for each in self.matches
        )

    @property
    def n_uncertain(self) -> int:
        """Left out for other reasons."""
        return len(self.matches) - len(self.used) - self.n_ambiguous

    @property
    def lowest(self) -> float:
        """The least certainty that is used; nan without a match."""
        return min((each.certainty for each in self.matches if each.is_used), default=np.nan)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the matches to a CSV file, to be edited and read again.

        Parameters
        ----------
        path : str or path
            Column "use" has yes or no. An existing file is replaced.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for each in sorted(self.matches, key=lambda one: (one.is_used, one.certainty)):
            cells = (each.auxiliary_item, each.auxiliary_title, each.item, each.title)
            shares = (f"{each.certainty:.3f}", f"{each.runner_up:.3f}")
            writer.writerow([*map(as_cell, cells), *shares, "yes" if each.is_used else "no"])
        write_atomically(path, lambda staged: staged.write_text(text.getvalue(), "utf-8"))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read matches as `write` writes them; a file without the column "use" uses all.

        Raises
        ------
        RecveilError
            If the file cannot be read or lacks a column, a certainty or "use" has another value, or
            an item is matched twice.
        """
        usual = {column: (column.replace("_", ""),) for column in _COLUMNS}
        expected = "expected a header such as auxiliary_item,item,use"
        optional = [name for name in _COLUMNS if name not in ("auxiliary_item", "item")]
        with file_next_to_table("item_matches", path) as file:
            table = read_named(file, usual, expected, optional=optional)
        columns = [
            python_values(table[name]) if name in table.columns else [None] * len(table["item"])
            for name in _COLUMNS
        ]
        matches = [
            _match_of(cells, table.locate(row))
            for row, cells in enumerate(zip(*columns, strict=True))
        ]
        for side in ("auxiliary_item", "item"):
            _reject_twice([getattr(each, side) for each in matches if each.is_used], table.locate)
        return cls(0.0, matches, is_from_file=True)


_COLUMNS = (
    *("auxiliary_item", "auxiliary_title", "item", "title", "certainty", "runner_up"),
    "use",
)


def _match_of(cells: Sequence[Any], place: str) -> ItemMatch:
    """Return the match in a row of a file."""
    other, other_title, item, title = (
        from_cell("" if each is None else str(each)) for each in cells[:4]
    )
    try:
        certainty, runner_up = (float(each or "nan") for each in cells[4:6])
        use = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}[
            str("yes" if cells[6] is None else cells[6]).strip().lower()
        ]
    except (KeyError, ValueError):
        raise RecveilError(
            f"{place}: expected use to be yes or no, and certainty and runner_up to be numbers or "
            f"empty",
            code="input.line",
        ) from None
    return ItemMatch(other, other_title, item, title, certainty, runner_up, use and item != "")


def _reject_twice(items: list[str], locate: Any) -> None:
    if again := [item for item in items if items.count(item) > 1]:
        where = str(locate(0)).rpartition(" ")[0].removesuffix(" line").removesuffix(" row")
        raise RecveilError(
            f"{where}: item {quoted(again[0], 40)} is matched twice; set use to no for one",
            code="id.duplicate",
        )


def find_matches(
    items: NDArray[Any],
    auxiliary_items: NDArray[Any],
    *,
    item_titles: str | PathLike[str] | None = None,
    auxiliary_titles: str | PathLike[str] | None = None,
    least: float = CERTAINTY,
) -> ItemMatches:
    """Match the items of an auxiliary file with those of the table, by titles from files.

    Where there is no file, ids are titles. All titles of a file compete, also those of items that
    no target knows.
    """
    if not 0 < least <= 1:
        raise RecveilError(
            f"match_certainty (--match-certainty) is {least:g}; expected a number above 0, at "
            f"most 1",
            code="option.value",
        )
    titles = _titles_of(items, "item_titles", item_titles)
    others = _titles_of(auxiliary_items, "auxiliary_titles", auxiliary_titles)
    known = {str(item) for item in auxiliary_items.tolist()}
    found = match_titles(titles, others, least)
    return ItemMatches(least, [each for each in found if each.auxiliary_item in known])


def _titles_of(
    items: NDArray[Any], name: str, source: str | PathLike[str] | None
) -> dict[str, str]:
    ids = [str(item) for item in items.tolist()]
    if source is None:
        return dict(zip(ids, ids, strict=True))
    titles = read_titles(name, source)
    if not any(item in titles for item in ids):
        raise RecveilError(
            f"{option_named(name)}: has no title of an item such as "
            f"{quoted(ids[0], 40)}; expected the ids of the ratings in its column item_id",
            code="id.unknown",
        )
    # The table's other titles cannot be matched; those of the auxiliary file are rivals.
    kept = set(ids) if name == "item_titles" else titles
    return {item: title for item, title in titles.items() if item in kept}


def match_titles(
    titles: Mapping[str, str], others: Mapping[str, str], least: float = CERTAINTY
) -> list[ItemMatch]:
    """Match two catalogues by title and year.

    Parameters
    ----------
    titles, others : mapping of str to str
        Titles by item id of the table, and of the auxiliary file; the year in parentheses ends a
        title.
    least : float
        Least certainty of a match that is used.

    Returns
    -------
    list of ItemMatch
        One per other item.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 5, who matched the movies of IMDb with those of Netflix.
    Certainty is 1 minus rapidfuzz's normalized distance of insertions and deletions between titles
    without case, accents, punctuation and articles, of the best pair of their other titles (in
    parentheses); times 0.95 if the years are one apart, or one is missing; 0 if they are further
    apart; times 0.8 if both titles have numbers, and these differ.

    Examples
    --------
    >>> table = {"1": "Seven (Se7en) (1995)", "2": "Emma (1996)", "3": "Emma (1996)"}
    >>> found = match_titles(table, {"tt1": "Se7en (a.k.a. Seven) (1995)", "tt2": "Emma (1996)"})
    >>> [(one.item, one.certainty, round(one.runner_up, 2), one.is_used) for one in found]
    [('1', 1.0, 0.21, True), ('2', 1.0, 1.0, False)]
    """
    ids, other_ids = list(titles), list(others)
    of_titles = _Best(len(ids))
    of_others = _Best(len(other_ids))
    for rows, columns, certainty in _certainties(list(titles.values()), list(others.values())):
        of_titles.add(rows, columns, certainty)
        of_others.add(columns, rows, certainty.T)
    found = []
    for place, other in enumerate(other_ids):
        at = int(of_others.at[place])
        share, rival = float(of_others.best[place]), float(of_others.second[place])
        if at >= 0:
            is_mutual = of_titles.at[at] == place
            rival = max(rival, float((of_titles.second if is_mutual else of_titles.best)[at]))
        item = ids[at] if at >= 0 else ""
        is_used = share >= least - 1e-6 and share - rival >= _LEAD - 1e-6
        found.append(
            ItemMatch(other, others[other], item, titles.get(item, ""), share, rival, is_used)
        )
    return found


class _Best:
    """The best and the second-best certainty of every title."""

    def __init__(self, n: int) -> None:
        self.at = np.full(n, -1)
        self.best = np.zeros(n)
        self.second = np.zeros(n)

    def add(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], certainty: NDArray[np.float64]
    ) -> None:
        """Count further pairs of titles; each pair is added once."""
        two = min(2, columns.size)
        order = np.argsort(-certainty, axis=1, kind="stable")[:, :two]
        top = np.take_along_axis(certainty, order, axis=1)
        for number in range(two):
            value, at = top[:, number], columns[order[:, number]]
            is_best = value > self.best[rows]
            second = np.where(is_best, self.best[rows], np.maximum(self.second[rows], value))
            self.second[rows] = second
            self.at[rows] = np.where(is_best, at, self.at[rows])
            self.best[rows] = np.maximum(self.best[rows], value)


class _Title(NamedTuple):
    """A title without its year, and other titles in parentheses."""

    forms: list[str]
    year: int


def _parse(title: str) -> _Title:
    found = _YEAR.search(title)
    bare = title[: found.start()] if found else title
    forms = [re.sub(r"\([^)]*\)", " ", bare), *re.findall(r"\(([^)]*)\)", bare)]
    plain = [_plain(_LAST_ARTICLE.sub(r"\2 \1", _ALSO_KNOWN.sub("", form))) for form in forms]
    return _Title([form for form in dict.fromkeys(plain) if form], int(found[1]) if found else 0)


def _plain(text: str) -> str:
    """Drop case, accents, punctuation and articles, and write numerals as digits."""
    letters = unicodedata.normalize("NFKD", text.replace("&", " and ").replace("'", ""))
    letters = "".join(each for each in letters if not unicodedata.combining(each)).casefold()
    words = re.findall(r"\w+", letters)
    kept = [word for word in words if word not in _ARTICLES] or words
    return " ".join(_NUMERALS.get(word, word) for word in kept)


def _certainties(
    texts: Sequence[str], other_texts: Sequence[str]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """Yield the certainty of all pairs whose years may be equal, in blocks of titles."""
    titles, others = [_parse(each) for each in texts], [_parse(each) for each in other_texts]
    years, other_years = (np.array([one.year for one in each], int) for each in (titles, others))
    for year in np.unique(years).tolist():
        is_near = (np.abs(other_years - year) <= 1) | (other_years == 0) | (year == 0)
        columns = np.flatnonzero(is_near)
        rows = np.flatnonzero(years == year)
        if not columns.size:
            continue
        apart = np.where(other_years[columns] == year, 1.0, _NEAR_YEAR)
        apart[(other_years[columns] == 0) | (year == 0)] = _NO_YEAR
        for first in range(0, rows.size, _ROWS):
            block = rows[first : first + _ROWS]
            similar = _similarities(
                [titles[at].forms for at in block], [others[at].forms for at in columns]
            )
            yield block, columns, similar * apart


def _similarities(titles: list[list[str]], others: list[list[str]]) -> NDArray[np.float64]:
    """Return the highest similarity of any form of two titles."""
    from rapidfuzz import fuzz, process

    similar = np.zeros((len(titles), len(others)))
    rows, columns = (
        np.repeat(np.arange(len(each)), [len(forms) for forms in each]) for each in (titles, others)
    )
    texts, other_texts = ([form for forms in each for form in forms] for each in (titles, others))
    if not (texts and other_texts):
        return similar
    ratios = process.cdist(texts, other_texts, scorer=fuzz.ratio, dtype=np.float64) / 100
    code_of: dict[str, int] = {"": 0}
    numbers, other_numbers = (
        np.array([code_of.setdefault(_numbers_in(form), len(code_of)) for form in each])
        for each in (texts, other_texts)
    )
    differ = (numbers[:, None] != other_numbers) & (numbers[:, None] > 0) & (other_numbers > 0)
    np.maximum.at(similar, np.ix_(rows, columns), np.where(differ, _OTHER_NUMBER * ratios, ratios))
    return similar


def _numbers_in(form: str) -> str:
    return " ".join(word for word in form.split() if word.isdigit())
