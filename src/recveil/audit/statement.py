"""Statement: what is said of a release, in a sentence, and in rows of a table."""

from collections.abc import Iterable
from typing import NamedTuple

from recveil.attack import Interval, Mean


class FigureRow(NamedTuple):
    """A figure in a table.

    Attributes
    ----------
    what : str
        What was measured, in a few words.
    found : str
        The figure, with its interval unless all were counted.
    beside : str
        What it is to be compared with: a baseline or a control. Empty if there is none.
    """

    what: str
    found: str
    beside: str = ""


class Statement(NamedTuple):
    """A sentence, and what stands in its place where its figures stand in tables.

    Attributes
    ----------
    sentence : str
    rows : tuple of FigureRow
        Its figures, each of them, but those that the table of adversaries has.
    remark : str or None
        What tables leave unsaid, which may be nothing. None for all of the sentence.
    """

    sentence: str
    rows: tuple[FigureRow, ...] = ()
    remark: str | None = None


def sentences_of(told: Iterable[Statement]) -> list[str]:
    """Return all in whole sentences, which stand alone.

    Examples
    --------
    >>> rows = (FigureRow("found", "9.0%"),)
    >>> sentences_of([Statement("9.0% are found.", rows, "Better attacks find more.")])
    ['9.0% are found.']
    """
    return [each.sentence for each in told]


def rows_of(told: Iterable[Statement]) -> list[FigureRow]:
    """Return the rows of all.

    Examples
    --------
    >>> rows = (FigureRow("found", "9.0%"),)
    >>> rows_of([Statement("Nobody."), Statement("9.0% are found.", rows, "")])
    [FigureRow(what='found', found='9.0%', beside='')]
    """
    return [row for each in told for row in each.rows]


def remarks_of(told: Iterable[Statement]) -> list[str]:
    """Return what is to be said beside tables: what these leave unsaid, and what has no rows.

    Examples
    --------
    >>> rows = (FigureRow("found", "9.0%"),)
    >>> remarks_of([Statement("Nobody."), Statement("9.0% are found.", rows, "")])
    ['Nobody.']
    """
    remarks = (each.sentence if each.remark is None else each.remark for each in told)
    return [remark for remark in remarks if remark]


def in_short(found: Interval | Mean, digits: int = 1, scale: float = 100) -> str:
    """Write a figure with its interval, as narrow as it can be.

    Parameters
    ----------
    found : Interval or Mean
    digits : int
    scale : float
        100 for a share, which is written in per cent, 1 for what is none.

    Examples
    --------
    >>> in_short(Interval(0.546, 0.471, 0.619, 900)), in_short(Mean(1.3, 1.2, 1.4, 90), scale=1)
    ('54.6% (47.1–61.9)', '1.3 (1.2–1.4)')
    """
    rate = found.rate if isinstance(found, Interval) else found.mean
    sign = "%" if scale == 100 else ""
    low, high = (f"{scale * end:.{digits}f}" for end in (found.low, found.high))
    return f"{scale * rate:.{digits}f}{sign} ({low}–{high})"
