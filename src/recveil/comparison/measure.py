"""A measure of every setting, and how it is displayed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from recveil.comparison.cells import Cell
from recveil.runtime.errors import RecveilError

Value: TypeAlias = str | int | float | bool


class Line(NamedTuple):
    """A horizontal reference line of a panel.

    Attributes
    ----------
    name : str
        Its label.
    height : float or tuple of str
        Its value, or the nested keys of the value in a comparison's reference. Without a value
        there is no line.
    """

    name: str
    height: float | tuple[str, ...]


class Panel(NamedTuple):
    """A small chart of a measure against k, on the page.

    Attributes
    ----------
    title : str
    format : str
        Number format of the axis, in d3's syntax: ".0%" or ".2f".
    lines : tuple of Line
    """

    title: str
    format: str
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Measure:
    """One measure of every setting.

    It is an attribute of each `Row`, a key of each row in JSON, a column of the Parquet table, and
    optionally a panel of the page.

    Parameters
    ----------
    name : str
        Its name in rows, JSON and tables.
    words : str
        Its display name.
    kind : type
        One of str, int, float and bool.
    take : callable
        Takes the finished `Cell` of a setting, and returns the value; None if it could not be
        measured.
    format : str
        Number format: as in Python (".2f"), or "%" for a share in percent.
    better : {"up", "down"}, optional
        Which values are better, if that is defined.
    panel : Panel, optional
        Needs `better`.

    Raises
    ------
    RecveilError
        If the name, the kind or the direction is invalid, or a panel lacks what it needs.

    Examples
    --------
    >>> from recveil.comparison.cells import Setting
    >>> mae = Measure("mae", "The mean error", float, lambda cell: cell.told("mae"), ".4f", "down")
    >>> mae.of(Cell("key", Setting("raw", None), evaluation={"mae": 0.7}))
    0.7
    """

    name: str
    words: str
    kind: type[str] | type[int] | type[float] | type[bool]
    take: Callable[[Cell], Any]
    format: str = ""
    better: Literal["up", "down"] | None = None
    panel: Panel | None = None

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name.startswith("_"):
            raise RecveilError(
                f"measure {self.name!r}: expected a name of letters, digits and underscores that "
                f"begins with a letter",
                code="argument.value",
            )
        if self.kind not in (str, int, float, bool):
            raise RecveilError(
                f"measure {self.name!r}: kind is {self.kind!r}; expected str, int, float or bool",
                code="argument.value",
            )
        if self.better not in ("up", "down", None):
            raise RecveilError(
                f"measure {self.name!r}: better is {self.better!r}; expected 'up', 'down' or None",
                code="argument.value",
            )
        if self.panel is not None and (self.kind not in (int, float) or self.better is None):
            raise RecveilError(
                f"measure {self.name!r}: a panel needs numbers (kind int or float), and better "
                f"('up' or 'down')",
                code="argument.value",
            )

    def of(self, cell: Cell) -> Value | None:
        """Return its value in a finished cell; None if it could not be measured.

        Raises
        ------
        RecveilError
            If the value is not of its kind.
        """
        found = self.take(cell)
        self.check(found)
        return found

    def check(self, value: object) -> None:
        """Reject a value that is neither None nor of its kind; a whole number is a float, too."""
        kinds = (int, float) if self.kind is float else self.kind
        is_right = isinstance(value, kinds) and isinstance(value, bool) == (self.kind is bool)
        if value is not None and not (is_right and _is_reported(value)):
            raise RecveilError(
                f"measure {self.name!r}: its value is {str(value)[:40]} ({type(value).__name__}); "
                f"expected {self.kind.__name__}, or None for what could not be measured",
                code="argument.result",
            )


def _is_reported(value: object) -> bool:
    """Return whether a value is not a number, or finite."""
    return not isinstance(value, float) or bool(np.isfinite(value))
