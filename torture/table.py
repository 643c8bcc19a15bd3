"""Table: how many tries of each kind there were, and how many survived."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

BEGIN, END = "<!-- torture -->", "<!-- /torture -->"


class Row(NamedTuple):
    """A kind of tries.

    Attributes
    ----------
    title : str
    tries, survived : int
    note : str
        Why there were none, or fewer than planned; "" if neither.
    """

    title: str
    tries: int
    survived: int
    note: str = ""


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table, with their sum.

    Examples
    --------
    >>> print(table([Row("killed", 3, 3), Row("a full disk", 0, 0, "nothing can be mounted")]))
    | kind | tries | survived |
    |---|---|---|
    | killed | 3 | 3 |
    | a full disk (nothing can be mounted) | 0 | 0 |
    | all | 3 | 3 |
    """
    lines = ["| kind | tries | survived |", "|---|---|---|"]
    for row in [*rows, Row("all", sum(r.tries for r in rows), sum(r.survived for r in rows))]:
        title = f"{row.title} ({row.note})" if row.note else row.title
        lines.append(f"| {title} | {row.tries:,} | {row.survived:,} |")
    return "\n".join(lines)


def has_marks(page: Path) -> bool:
    """Say whether a page can be read, and has the marks between which the table stands."""
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return BEGIN in text and END in text.partition(BEGIN)[2]


def write_between_marks(page: Path, text: str) -> None:
    """Replace what stands between the two marks of a page.

    Raises
    ------
    ValueError
        If the page does not have both, in this order.
    """
    if not has_marks(page):
        raise ValueError(f"{page}: expected the marks {BEGIN} and {END}")
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
