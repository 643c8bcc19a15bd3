"""Public columns of items that are published with a release, and checks that they are no users'."""

from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.io import Reading
from recveil.io.item_features import UNSHOWN, ItemTable, is_item_column, read_item_table
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError, describe_count, quoted
from recveil.verification.ids_in_items import columns_with_users

# A column with the counts or means of at least half of so many items was computed from the table.
_FEWEST, _MOST_EQUAL = 10, 0.5
_ROUNDED = 0.0051


def read_published_items(
    source: str | PathLike[str] | None, reading: Reading, users: NDArray[Any]
) -> tuple[ItemTable | None, Reading]:
    """Read an item table for a release, if any; return it, and the ratings with a note on it."""
    if source is None:
        return None, reading
    ratings = reading.ratings
    table = read_item_table(source)
    for name, texts in table.columns.items():
        _check_texts(name, texts)
    is_known = np.array([item in table.row_of for item in ratings.items.astype(str).tolist()])
    if not is_known.any():
        raise RecveilError(
            f"item_table (--item-table): it has none of the "
            f"{describe_count(ratings.n_items, 'item')} of the ratings; expected the same ids",
            code="id.unknown",
        )
    if found := columns_with_users(users.tolist(), table.columns):
        _reject(found[0], "contains ids of users")
    for name, texts in table.rows_of(ratings.items[is_known]).items():
        _reject_statistics(name, texts, ratings, is_known)
    n_missing = int((~is_known).sum())
    missing = f"; {describe_count(n_missing, 'rated item has', 'rated items have')} no row in it"
    note = (
        f"Item table: {', '.join(table.columns)} of each published item are copied to items.csv, "
        f"as public{missing if n_missing else ''}."
    )
    return table, replace(reading, notes=(*reading.notes, note))


def _check_texts(name: str, texts: list[str]) -> None:
    if not is_item_column(name):
        raise RecveilError(
            f"item_table (--item-table): column {quoted(name, 40)}; expected a name of 1 to 40 "
            f"characters that begins with a letter or digit, without quotes, and not that of user "
            f"ids; rename or drop it",
            code="column.type",
        )
    if unshown := [text for text in texts if UNSHOWN.search(text)]:
        raise RecveilError(
            f"item_table (--item-table): column {quoted(name, 40)} has "
            f"{describe_count(len(unshown), 'cell')} with a line break or another character that "
            f"is not shown, such as {quoted(unshown[0], 40)}; remove it",
            code="id.line-break",
        )


def _reject(name: str, what: str) -> None:
    raise RecveilError(
        f"item_table (--item-table): column {quoted(name, 40)} {what}; expected public facts about "
        f"items, which are published unchanged; drop it",
        code="id.personal",
    )


def _reject_statistics(
    name: str, texts: list[str], ratings: Ratings, is_known: NDArray[np.bool_]
) -> None:
    """Reject a column with counts or means of the ratings, which no guarantee covers."""
    numbers = np.array([_number(text) for text in texts])
    is_number = np.isfinite(numbers)
    sums = np.bincount(ratings.indices, ratings.values, ratings.n_items)
    counts = ratings.support
    of_ratings = {"counts": (counts, 0), "means": (sums / np.maximum(counts, 1), _ROUNDED)}
    for what, (values, tolerance) in of_ratings.items():
        found, expected = numbers[is_number], values[is_known][is_number]
        if np.unique(expected).size < _FEWEST:
            continue
        if (np.abs(found - expected) <= tolerance).mean() >= _MOST_EQUAL:
            _reject(name, f"has the {what} of the ratings of most items")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
