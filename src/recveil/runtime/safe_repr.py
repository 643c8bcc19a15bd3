"""Representations of objects by counts and verdicts: notebooks, which show them, are published."""

import copy
import dataclasses
from html import escape
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

# Maximum number of rows shown of a grid.
_MOST_ROWS = 12
# Parameters for the publisher alone, which are never shown.
_HIDDEN = {"seed", "random_state", "links"}


def brief(cls: type[T]) -> type[T]:
    """Replace the representation of a dataclass or a named tuple with summary facts.

    The facts come from its method `_facts`. Without one, they are its numbers, except the seed, and
    the sizes of its other fields. A notebook also shows the grids that its method `_tables`
    returns.
    """

    def line(self: Any) -> str:
        facts = [f"{name}: {value}" if name else value for name, value in _facts_of(self).items()]
        return f"{type(self).__name__}({', '.join(facts)})"

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
    """A small table of shares and verdicts for a notebook, without data on users."""

    title: str
    header: tuple[str, ...]
    # Those beyond the first dozen are only counted
    rows: list[tuple[str, ...]]


class BriefParameters:
    """A mixin whose estimators show their parameters without seeds and private data.

    List it before `BaseEstimator` among the bases. The seed is omitted altogether.
    """

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # scikit-learn's signature
        shown: Any = copy.copy(self)
        params = {
            name: value
            for name, value in shown.get_params(deep=False).items()
            if name not in _HIDDEN
        }
        shown.get_params = lambda **_: params  # called by scikit-learn to print an estimator
        estimator: Any = super(BriefParameters, shown)
        return str(estimator.__repr__(N_CHAR_MAX))

    def _repr_html_(self) -> str:
        return html_line(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": html_line(self)}


def html_table(title: str, facts: dict[str, str]) -> str:
    """Return a self-contained HTML table; its content is escaped.

    >>> html_table("Release", {"k": "<5"})
    '<table><caption>Release</caption><tr><th>k</th><td>&lt;5</td></tr></table>'
    """
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items()
    )
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


def html_grid(grid: Grid) -> str:
    """Return a grid as self-contained HTML; its content is escaped."""
    head = "".join(f"<th>{escape(name)}" for name in grid.header)
    lines = [
        f"<tr><th>{escape(first)}{''.join(f'<td>{escape(cell)}' for cell in rest)}</tr>"
        for first, *rest in grid.rows[:_MOST_ROWS]
    ]
    left = len(grid.rows) - len(lines)
    title = f"{grid.title} ({left:,} more rows are not shown)" if left else grid.title
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<tr>{head}</tr>{''.join(lines)}</table>"


def html_line(shown: object) -> str:
    """Return the one-line representation of an object as HTML.

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
    """Return a number unchanged, and the size of anything else if it has one."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):  # may be the name of a user
        return None
    try:
        return len(value)
    except TypeError:
        return None


def _plain(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
