"""Brief: what an object shows of itself. Nobody publishes a private thing by looking at it.

A cell of a notebook shows its last value, and notebooks are published. So whatever holds ratings,
people, groups or a seed shows counts and verdicts alone, in one line or a small table.
"""

import dataclasses
from html import escape
from typing import Any, TypeVar

T = TypeVar("T")


def brief(cls: type[T]) -> type[T]:
    """Let a dataclass or a named tuple show facts about itself instead of its fields.

    The facts come from its method `_facts`; if it has none, they are its numbers, the seed left
    out, and how much everything else holds.

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
        return html_table(type(self).__name__, _facts_of(self))

    for name, method in (("__repr__", line), ("__str__", line), ("_repr_html_", table)):
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
    return cls


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
