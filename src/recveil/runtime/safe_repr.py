"""Brief: what an object shows of itself. Nobody publishes a private thing by looking at it.

A cell of a notebook shows its last value, and notebooks are published. So whatever holds ratings,
people, groups or a seed shows counts and verdicts alone, in one line or a small table.
"""

import copy
import dataclasses
import math
from html import escape
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

# Rows of a grid that are shown.
_MOST_ROWS = 12
# Parameters that are for the publisher alone, and are never shown, whatever their values.
_HIDDEN = {"seed", "random_state", "links"}


def brief(cls: type[T]) -> type[T]:
    """Let a dataclass or a named tuple show facts about itself instead of its fields.

    The facts come from its method `_facts`; if it has none, they are its numbers, the seed left
    out, and how much everything else holds. What its method `_tables` returns, if it has one, are
    grids that a notebook shows below.

    Parameters
    ----------
    cls : type

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @brief
    ... class Private(NamedTuple):
    ...     users: list[str]
    ...     seed: int
    ...     skipped: int = 2
    >>> [Private(["ann", "ben"], seed=918)]
    [Private(users: 2, skipped: 2)]
    >>> Private(["ann", "ben"], seed=918)._repr_html_()
    '<table><caption>Private</caption><tr><th>users</th><td>2</td></tr><tr><th>skipped</th><td>2</td></tr></table>'
    """

    def line(self: Any) -> str:
        told = [f"{name}: {value}" if name else value for name, value in _facts_of(self).items()]
        return f"{type(self).__name__}({', '.join(told)})"

    def table(self: Any) -> str:
        grids = self._tables() if hasattr(self, "_tables") else []
        facts = html_table(type(self).__name__, _facts_of(self))
        return facts + "".join(map(html_grid, grids))

    for name, method in (("__repr__", line), ("__str__", line), ("_repr_html_", table)):
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
    return cls


@brief
class Grid(NamedTuple):
    """A small table for a notebook: of shares and verdicts, never of people.

    Attributes
    ----------
    title : str
    header : tuple of str
    rows : list of tuple of str
        Those beyond the first dozen are counted.
    """

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


class BriefParameters:
    """Lets a scikit-learn estimator show its parameters, but no seed and nothing about people.

    It stands before `BaseEstimator` among the bases of a class. A seed is left out, and no other
    value is shown for it.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> class Drawn(BriefParameters, BaseEstimator):
    ...     def __init__(self, rank=50, seed=0):
    ...         self.rank, self.seed = rank, seed
    >>> Drawn(rank=2, seed=918)
    Drawn(rank=2)
    """

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # scikit-learn's signature
        shown: Any = copy.copy(self)
        params = {
            name: value
            for name, value in shown.get_params(deep=False).items()
            if name not in _HIDDEN
        }
        shown.get_params = lambda **_: params  # what scikit-learn prints
        estimator: Any = super(BriefParameters, shown)
        return str(estimator.__repr__(N_CHAR_MAX))

    def _repr_html_(self) -> str:
        return html_line(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": html_line(self)}


def html_table(title: str, facts: dict[str, str]) -> str:
    """Return a table of HTML that loads nothing; whatever stands in it is escaped.

    Examples
    --------
    >>> html_table("Release", {"k": "<5"})
    '<table><caption>Release</caption><tr><th>k</th><td>&lt;5</td></tr></table>'
    """
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items()
    )
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


def html_grid(grid: Grid) -> str:
    """Return a grid as HTML that loads nothing; whatever stands in it is escaped.

    Examples
    --------
    >>> html_grid(Grid("rates", ("who", "found"), [("<b>", "5%")]))
    '<table><caption>rates</caption><tr><th>who<th>found</tr><tr><th>&lt;b&gt;<td>5%</tr></table>'
    """
    head = "".join(f"<th>{escape(name)}" for name in grid.header)
    lines = [
        f"<tr><th>{escape(first)}{''.join(f'<td>{escape(cell)}' for cell in rest)}</tr>"
        for first, *rest in grid.rows[:_MOST_ROWS]
    ]
    left = len(grid.rows) - len(lines)
    title = f"{grid.title} ({left:,} more rows are not shown)" if left else grid.title
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<tr>{head}</tr>{''.join(lines)}</table>"


def share_in_words(share: Any) -> str:
    """Write a share with its interval, as a cell of a grid; a dash if nobody was looked for.

    Parameters
    ----------
    share : object with rate, low and high
        Numbers from 0 to 1; the rate may be nan.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> share_in_words(SimpleNamespace(rate=0.5, low=0.401, high=0.599))
    '50.0% (40.1–59.9)'
    """
    if share.rate is None or math.isnan(share.rate):
        return "–"
    return f"{share.rate:.1%} ({100 * share.low:.1f}–{100 * share.high:.1f})"


def html_line(shown: object) -> str:
    """Return what an object shows in one line, for HTML: classes have a `__repr__` of their own.

    Examples
    --------
    >>> html_line(["<5"])
    '<code>[&#x27;&lt;5&#x27;]</code>'
    """
    return f"<code>{escape(repr(shown))}</code>"


def _facts_of(shown: Any) -> dict[str, str]:
    if hasattr(shown, "_facts"):
        found = shown._facts()
    else:
        found = {name: _count(getattr(shown, name)) for name in _fields(shown) if name != "seed"}
    return {name: _plain(value) for name, value in found.items() if value is not None}


def _fields(shown: Any) -> tuple[str, ...]:
    if dataclasses.is_dataclass(shown):
        return tuple(field.name for field in dataclasses.fields(shown))
    return tuple(shown._fields)


def _count(value: Any) -> Any:
    """Return a number as it is, and of anything else how much it holds, if that can be told."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):  # it may be somebody's name
        return None
    try:
        return len(value)
    except TypeError:
        return None


def _plain(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
