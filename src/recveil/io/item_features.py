"""Files of public columns of items: features for a model, and tables that recipients get."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.io.columns.columns import USUAL_NAMES, plain_name
from recveil.io.inputs import file_next_to_table
from recveil.io.side_tables import TITLE_NAMES, read_named, text_of_value
from recveil.ratings.arrow_columns import python_values
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.safe_repr import brief


@brief
class ItemFeatures(NamedTuple):
    """Public features of items, such as genres and decades."""

    names: tuple[str, ...]
    row_of: dict[str, int]  # of each item's id
    # Shape (n_items + 1, n_features); the last row is of items not in the file
    matrix: NDArray[np.bool_]

    def rows_of(self, items: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the rows of some items; items that are not in the file have no feature."""
        unknown = len(self.row_of)
        return self.matrix[[self.row_of.get(name, unknown) for name in items.astype(str).tolist()]]


_GENRE_NAMES = ("genres", "genre", "categories", "category", "features", "feature", "tags")
# Minimum number of items of a feature, and maximum number of features.
_FEWEST_ITEMS, _MOST_FEATURES = 5, 100
# What MovieLens states in place of a genre.
_NO_GENRES = "(no genres listed)"


def read_item_features(source: str | PathLike[str]) -> ItemFeatures:
    r"""Read features of items from a file, as for `read_levels`, with columns item_id and genres.

    Several genres of an item are separated by ``|``, or are in several rows. Decades follow from an
    optional column of years, or from the year in parentheses at the end of an optional title. Of
    all genres and decades that at least five items have, the 100 most frequent are the features.
    """
    usual = {
        "item": USUAL_NAMES["item"],
        "genres": _GENRE_NAMES,
        "year": ("year", "releaseyear"),
        "title": TITLE_NAMES,
    }
    with file_next_to_table("item_features", source) as path:
        table = read_named(
            path, usual, "expected a header such as item_id,genres", ("year", "title")
        )
        columns = [python_values(table[name]) for name in table.columns]
        of_items: dict[str, set[str]] = {}
        for row in zip(*columns, strict=True):
            each = dict(zip(table.columns, row, strict=True))
            if (item := text_of_value(each["item"])) is not None:
                of_items.setdefault(item, set()).update(_features(each))
    counts = Counter(name for names in of_items.values() for name in names)
    common = [
        name
        for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if count >= _FEWEST_ITEMS
    ]
    if not common:
        raise RecveilError(
            f"item_features (--item-features): {path.name} has no feature of at least "
            f"{_FEWEST_ITEMS} items; expected genres, separated by |",
            code="input.empty",
        )
    names = tuple(sorted(common[:_MOST_FEATURES]))
    place = {name: at for at, name in enumerate(names)}
    matrix = np.zeros((len(of_items) + 1, len(names)), np.bool_)
    for number, of_item in enumerate(of_items.values()):
        matrix[number, [place[name] for name in of_item if name in place]] = True
    return ItemFeatures(names, {item: number for number, item in enumerate(of_items)}, matrix)


def split_genres(text: str) -> list[str]:
    """Return the genres in a text.

    >>> split_genres("crime| drama|"), split_genres(_NO_GENRES)
    (['crime', 'drama'], [])
    """
    genres = (each.strip() for each in text.split("|"))
    return [each for each in genres if each not in ("", _NO_GENRES)]


def _features(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the genres of a row, and its decade."""
    yield from split_genres(text_of_value(row["genres"]) or "")
    year = text_of_value(row.get("year")) or ""
    in_title = re.search(r"\((\d{4})\)\s*$", text_of_value(row.get("title")) or "")
    if re.fullmatch(r"\d{4}", year):
        yield f"{year[:3]}0s"
    elif in_title is not None:
        yield f"{in_title[1][:3]}0s"


@brief
class ItemTable(NamedTuple):
    """Public columns of items, as text; the last row, empty, is for items not in the file."""

    columns: dict[str, list[str]]
    row_of: dict[str, int]

    def rows_of(self, items: NDArray[Any]) -> dict[str, list[str]]:
        """Return the columns of some items."""
        rows = [self.row_of.get(name, -1) for name in items.astype(str).tolist()]
        return {name: [texts[row] for row in rows] for name, texts in self.columns.items()}

    @classmethod
    def joined(cls, tables: Sequence[Self]) -> Self | None:
        """Return the columns of several tables; the first one counts for an item in more."""
        if not tables:
            return None
        row_of: dict[str, int] = {}
        columns = dict.fromkeys(itertools.chain(*(table.columns for table in tables)))
        texts: dict[str, list[str]] = {name: [] for name in columns}
        for table in tables:
            new = [item for item in table.row_of if item not in row_of]
            row_of |= {item: len(row_of) + at for at, item in enumerate(new)}
            rows = table.rows_of(np.array(new, object))
            for name, column in texts.items():
                column += rows.get(name, [""] * len(new))
        return cls({name: [*column, ""] for name, column in texts.items()}, row_of)

    def to_arrow(self, items: NDArray[Any]) -> pa.Table:
        """Return a row for each of some items, with its id first."""
        columns = {
            name: pa.array(texts, pa.string()) for name, texts in self.rows_of(items).items()
        }
        return pa.table({"item_id": pa.array(items), **columns})


# Line breaks, invisible characters, and those that turn the direction of what is read.
UNSHOWN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_MOST_COLUMNS = 100
_COLUMN = re.compile(r'\w[^"]{0,39}')


def are_item_columns(names: Any) -> bool:
    """Return whether these may be the names of published columns of items."""
    return (
        isinstance(names, list)
        and 0 < len(names) <= _MOST_COLUMNS
        and all(isinstance(name, str) and is_item_column(name) for name in names)
        and len(set(names)) == len(names)
    )


def is_item_column(name: str) -> bool:
    """Return whether a published column of items may have a name: not that of ids of users."""
    is_taken = name == "item_id" or plain_name(name) in USUAL_NAMES["user"]
    return bool(_COLUMN.fullmatch(name)) and not (is_taken or UNSHOWN.search(name))


def read_item_table(source: str | PathLike[str]) -> ItemTable:
    r"""Read all columns of a file of items, which has a header with a name for the ids."""
    usual = {"item": USUAL_NAMES["item"], "title": TITLE_NAMES, "genres": _GENRE_NAMES}
    expected = "expected a header such as item_id,title,genres"
    with file_next_to_table("item_table", source) as path:
        table = read_named(path, usual, expected, ("title", "genres"), others=True)
        columns = {
            name: [text_of_value(value) or "" for value in python_values(column)]
            for name, column in table.columns.items()
        }
        row_of: dict[str, int] = {}
        for row, item in enumerate(columns.pop("item")):
            if not item or row_of.setdefault(item, row) != row:
                what = f"item {quoted(item, 40)} is repeated" if item else "the item is missing"
                raise RecveilError(
                    f"{table.locate(row)}: {what}; expected one row per item; fix or drop the line",
                    code="id.duplicate" if item else "id.missing",
                )
        if not columns:
            raise RecveilError(
                f"item_table (--item-table): {path.name} has no column but the ids; {expected}",
                code="column.missing",
            )
    return ItemTable({name: [*texts, ""] for name, texts in columns.items()}, row_of)
