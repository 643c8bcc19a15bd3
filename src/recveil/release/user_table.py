"""Declared attributes of users in a release: equal within a class, but for a sensitive one."""

from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.io.columns.columns import USUAL_NAMES, plain_name
from recveil.io.item_features import UNSHOWN, are_item_columns
from recveil.runtime.number_format import percent
from recveil.runtime.safe_repr import brief

# A value that is not published.
SUPPRESSED = "*"
# A numeric column with more distinct values has to be cut into ranges first.
MOST_NUMBERS = 30
# The format of releases with attributes; others are written in earlier ones.
ATTRIBUTE_FORMAT = 11
LONGEST_CELL = 100
# Public values of a column of synthetic users, at most.
MOST_VALUES = 30
# Share of users without a value from which a column is warned about.
_MANY_HIDDEN = 0.2


@brief
class UserColumns(NamedTuple):
    """The columns of users.csv after the ids; `sensitive` is the last one, or empty."""

    names: tuple[str, ...]
    sensitive: str = ""
    # Largest share of a sensitive value in a class is 1 / l
    l: int = 1  # noqa: E741
    # Of synthetic users, the public values of each column, without `SUPPRESSED`
    values: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def from_json(cls, content: Any) -> Self | None:
        """Read the member of release.json; None if there is none."""
        if not content:
            return None
        values = tuple(map(tuple, content.get("values", ())))
        names = tuple(content["columns"])
        return cls(names, content.get("sensitive", ""), content.get("l", 1), values)

    def to_json(self) -> dict[str, object]:
        """Return the member of release.json."""
        limit = {"sensitive": self.sensitive, "l": self.l} if self.sensitive else {}
        values = {"values": [*map(list, self.values)]} if self.values else {}
        return {"columns": list(self.names), **limit, **values}

    @property
    def shared(self) -> tuple[str, ...]:
        """The columns that are equal within a class."""
        if self.values:  # synthetic users have no classes
            return ()
        return self.names[:-1] if self.sensitive else self.names

    @property
    def all_values(self) -> tuple[tuple[str, ...], ...]:
        """The public values of each column of synthetic users, "*" the last."""
        return tuple((*values, SUPPRESSED) for values in self.values)

    def _facts(self) -> dict[str, object]:
        return {"": ", ".join(self.names), **({"l": self.l} if self.sensitive else {})}


def problem_of_columns(content: Any) -> str:
    """Describe what is wrong with the member of release.json; "" if it is valid."""
    keys = tuple(content) if isinstance(content, dict) else ()
    limit: tuple[str, ...] = ("sensitive", "l") if "sensitive" in keys else ()
    limit = ("values",) if "values" in keys else limit
    if keys != ("columns", *limit):
        return "user_attributes has other keys than columns, sensitive and l, or values"
    names = content["columns"]
    if not are_item_columns(names) or not all(map(is_attribute, names)):
        return "user_attributes has no names of columns of users"
    if "values" in content:
        return _problem_of_values(content["values"], len(names))
    is_whole = type(content.get("l", 2)) is int and content.get("l", 2) >= 2
    if limit and (content["sensitive"] != names[-1] or not is_whole):
        return "user_attributes: the sensitive column is not the last one, or l is below 2"
    return ""


def _problem_of_values(lists: Any, n_columns: int) -> str:
    if not (isinstance(lists, list) and len(lists) == n_columns and all(map(are_values, lists))):
        return f"user_attributes has no 1 to {MOST_VALUES} different values of each column"
    return ""


def are_values(values: Any) -> bool:
    """Return whether a column of synthetic users may have such a list of public values."""
    return (
        isinstance(values, list | tuple)
        and 1 <= len(values) <= MOST_VALUES
        and all(isinstance(text, str) and is_cell(text) and text != SUPPRESSED for text in values)
        and len({*values}) == len(values)
    )


def is_attribute(name: str) -> bool:
    """Return whether a published column of users may have a name."""
    return plain_name(name) not in USUAL_NAMES["item"] and name not in ("rating", "group_size")


def is_cell(text: str) -> bool:
    """Return whether a text may be published as an attribute."""
    is_shown = text == text.strip() and not UNSHOWN.search(text)
    return is_shown and 0 < len(text) <= LONGEST_CELL


@brief
class UserTable(NamedTuple):
    """Published attributes, one text per user in published order."""

    about: UserColumns
    columns: dict[str, list[str]]
    # Users of each group, in published order
    sizes: NDArray[np.int64]

    def warnings(self) -> list[str]:
        """Return a warning about each column with few values."""
        shares = {
            name: texts.count(SUPPRESSED) / max(len(texts), 1)
            for name, texts in self.columns.items()
        }
        remedy = dict.fromkeys(self.about.shared, "coarser values, or fewer attributes,")
        remedy |= dict.fromkeys(self.about.names if self.about.values else (), "all values")
        return [
            f'Attribute {name} is "{SUPPRESSED}" for {percent(share)} of the users, so that '
            f"comparisons of its groups may mislead; "
            f"{remedy.get(name, 'more values of similar frequency')} would keep more."
            for name, share in shares.items()
            if share >= _MANY_HIDDEN
        ]

    def to_arrow(self, ids: list[str], *, in_groups: bool) -> pa.Table:
        """Return a row for each user, or for each group."""
        firsts = np.cumsum(self.sizes) - self.sizes if in_groups else np.arange(self.sizes.sum())
        texts = {
            name: pa.array([column[at] for at in firsts.tolist()], pa.string())
            for name, column in self.columns.items()
        }
        return pa.table({"user_id": pa.array(ids), **texts})

    def _facts(self) -> dict[str, object]:
        return {"": ", ".join(self.about.names), "users": int(self.sizes.sum())}
