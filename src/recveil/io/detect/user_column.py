"""Identification of the user column, and the facts reported if it is ambiguous."""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa

from recveil.io.side_tables import users_in_levels, users_in_trust
from recveil.io.source import Source
from recveil.runtime.errors import UnknownOrderError, describe_count
from recveil.runtime.safe_repr import brief

Order = Literal["named", "given", "format", "guessed"]

# MovieLens 100K and its folds; other tab-separated tables have their own order.
_MOVIELENS_NAME = re.compile(r"u\.data|u[1-5ab]\.(base|test)")
_PRODUCT = re.compile(r"B0[0-9A-Z]{8}|[0-9]{9}[0-9X]")  # product ids of Amazon, or ISBNs
_LOOKED_AT = 10_000


def order_of(
    name: str, source: Source, given: Mapping[str, str | None], format: str | None
) -> Order:
    """Return how the columns of a file were identified."""
    if source.format in ("netflix", "wide"):
        return "format"
    if source.has_header:
        return "named"
    if given.get("user") is not None and given.get("item") is not None:
        return "given"
    named = format is not None or _MOVIELENS_NAME.fullmatch(name.removesuffix(".gz"))
    claims = source.format == "movielens-colons" or (source.format == "movielens-tab" and named)
    return "format" if claims and _fits_movielens(source) else "guessed"


def _fits_movielens(source: Source) -> bool:
    """Return whether a table may have MovieLens's order: four columns, with numbers as ids."""
    if source.n_columns != 4:
        return False
    columns = [_column_facts(source, role) for role in ("user", "item")]
    whole = all(
        value.isascii() and value.isdigit() for column in columns for value in column.values
    )
    return whole and not any(column.looks_like_products for column in columns)


def describe_guess(name: str, source: Source) -> str:
    """Return a warning that the roles of columns were guessed from their order."""
    user, item = _column_facts(source, "user"), _column_facts(source, "item")
    return (
        f"{name} has no header, so column {user.place} was taken for the users ({user.distinct:,} "
        f"different ones) and column {item.place} for the items ({item.distinct:,}). If that is "
        f"wrong, so are all results: swap them with user and item (--user {item.place} --item "
        f"{user.place})."
    )


def ambiguous_order(
    name: str,
    source: Source,
    given: Mapping[str, str | None],
    user_files: Iterable[tuple[str, str | PathLike[str]]] = (),
    danger: str = "would publish them as they are",
) -> UnknownOrderError:
    """Return the error for ambiguous columns, with facts about each."""
    columns = [_column_facts(source, "user"), _column_facts(source, "item")]
    facts = [column.describe() for column in columns]
    likely: list[int] = []  # the position in `columns` that each fact favours
    for kind, path in user_files:
        ids = (users_in_levels if kind == "levels" else users_in_trust)(path)
        shared = [len(ids & column.values) for column in columns]
        facts.append(
            f"{Path(path).name} lists {describe_count(len(ids), 'user')}: {shared[0]:,} of them "
            f"are in column {columns[0].place}, {shared[1]:,} in column {columns[1].place}"
        )
        # Ids that are numbers from 1 mostly occur in both columns, which is no evidence.
        if abs(shared[0] - shared[1]) > len(ids) / 2:
            likely.append(int(shared[1] > shared[0]))
    for at, column in enumerate(columns):
        if column.looks_like_products and not columns[1 - at].looks_like_products:
            facts.append(f"column {column.place} looks like product numbers")
            likely.append(1 - at)
    places = [str(column.place) for column in columns]
    if set(likely) == {1}:
        places.reverse()
    orders = [{"user": one, "item": other} for one, other in (places, places[::-1])]
    choices = [
        order
        for order in orders
        if all(given.get(role) in (None, place) for role, place in order.items())
    ]
    ways = " or ".join(
        f"user={choice['user']}, item={choice['item']} (--user {choice['user']} --item "
        f"{choice['item']})"
        for choice in choices
    )
    return UnknownOrderError(
        f"{name}: has no header, and a wrong guess of the user column {danger}; name the columns: "
        f"{ways}",
        facts,
        choices,
    )


@brief
class _ColumnFacts(NamedTuple):
    """Facts about a column."""

    place: int
    distinct: int
    examples: list[str]
    runs: int
    looked_at: int
    values: set[str]

    @property
    def looks_like_products(self) -> bool:
        return all(_PRODUCT.fullmatch(example) for example in self.examples)

    def describe(self) -> str:
        return (
            f"column {self.place}: {self.distinct:,} different values, such as "
            f"{', '.join(self.examples)}; in the first {describe_count(self.looked_at, 'row')}, "
            f"equal ones form {describe_count(self.runs, 'run')}"
        )


def _column_facts(source: Source, role: str) -> _ColumnFacts:
    column = source.table[role]
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    distinct = [str(value) for value in column.unique().to_pylist()]
    first = column.slice(0, _LOOKED_AT).to_pylist()
    runs = 1 + sum(one != other for one, other in pairwise(first))
    place = source.names[role]
    examples = [text if len(text) <= 24 else f"{text[:24]}…" for text in distinct[:2]]
    return _ColumnFacts(int(place), len(distinct), examples, runs, len(first), set(distinct))
