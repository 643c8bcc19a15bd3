"""Escaping of text that a spreadsheet would run as a formula, and its inverse.

A spreadsheet runs a cell that begins with one of a few characters as a formula, which may send
neighbouring cells to a third party. A leading apostrophe makes it text. Cells that begin with
apostrophes and such a character get one more, so that removing one restores the original.

Some spreadsheets also split a line at characters other than the comma. So the same escape is
applied after each of these characters, wherever they occur in a label.

Numbers are not changed. The text -5 is not a formula, but is written as '-5, as all text that
begins with such a character: an id that looks like a number is restored as text.
"""

import re
from typing import Any

# Spreadsheets of some languages accept the full-width forms.
_STARTS = "=+\\-@\t\r\n＝＋－＠"  # noqa: RUF001
_RISKY = re.compile(f"'*[{_STARTS}]")
# Characters at which a line may be split into cells; a comma within a cell is quoted.
_SPLITS = ";|\t\r\n"
_BEGINS = f"(^|[{_SPLITS}])"
_PLAIN = re.compile(f"{_BEGINS}(?='*[{_STARTS}])")
_MADE = re.compile(f"{_BEGINS}'(?='*[{_STARTS}])")
_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?")


def is_formula(label: object) -> bool:
    r"""Return whether a spreadsheet may run a label as a formula."""
    if not isinstance(label, str) or _NUMBER.fullmatch(label):
        return False
    return _RISKY.match(label) is not None and label[0] != "'"


def as_cell(label: Any) -> Any:
    """Return a label as written to a file, with formulas escaped."""
    return _PLAIN.sub(r"\1'", label) if isinstance(label, str) else label


def from_cell(cell: str) -> str:
    """Return the label of a cell that `as_cell` made.

    Examples
    --------
    >>> from_cell("'=1+1"), from_cell("''=1+1"), from_cell("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return _MADE.sub(r"\1", cell)
