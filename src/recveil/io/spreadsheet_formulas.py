"""Formulas: text that a spreadsheet would run, made harmless in files for people, and read back.

A cell that begins with one of a few characters is a formula to a spreadsheet, and may send what
stands beside it to somebody else. An apostrophe in front makes text of it. Cells that begin with
apostrophes and such a character get one more, so that taking one off gives back what there was.

Some spreadsheets split a line at other characters than the comma, too, and where they do, a cell
begins there. So the same is done behind these, wherever they stand in a label.

Numbers are left alone. The text -5 is no formula either, but is written as '-5, as all text that
begins so: an id that looks like a number stays the text that it is, and comes back as it was.
"""

import re
from typing import Any

# The wide forms count in spreadsheets of some languages.
_STARTS = "=+\\-@\t\r\n＝＋－＠"  # noqa: RUF001
_RISKY = re.compile(f"'*[{_STARTS}]")
# Where a cell begins, if a line is split there; a comma within a cell stands between quotes.
_SPLITS = ";|\t\r\n"
_BEGINS = f"(^|[{_SPLITS}])"
_PLAIN = re.compile(f"{_BEGINS}(?='*[{_STARTS}])")
_MADE = re.compile(f"{_BEGINS}'(?='*[{_STARTS}])")
_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?")


def is_formula(label: object) -> bool:
    r"""Say whether a spreadsheet may take a label for a formula.

    Examples
    --------
    >>> [is_formula(label) for label in ("=1+1", "@ann", "-", "\tb", "-5+2")]
    [True, True, True, True, True]
    >>> [is_formula(label) for label in ("ann", "a=b", "'=1+1", "-5", "+1.5", -5)]
    [False, False, False, False, False, False]
    """
    if not isinstance(label, str) or _NUMBER.fullmatch(label):
        return False
    return _RISKY.match(label) is not None and label[0] != "'"


def as_cell(label: Any) -> Any:
    """Return a label as it stands in a file for people.

    Examples
    --------
    >>> as_cell("=1+1"), as_cell("'=1+1"), as_cell("ann"), as_cell("'tis"), as_cell(-5)
    ("'=1+1", "''=1+1", 'ann', "'tis", -5)
    >>> as_cell("-5"), from_cell(as_cell("-5"))
    ("'-5", '-5')
    >>> as_cell("ann;=1+1"), as_cell("a; -b")
    ("ann;'=1+1", 'a; -b')
    """
    return _PLAIN.sub(r"\1'", label) if isinstance(label, str) else label


def from_cell(cell: str) -> str:
    """Return the label that stands in a cell which `as_cell` made.

    Examples
    --------
    >>> from_cell("'=1+1"), from_cell("''=1+1"), from_cell("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return _MADE.sub(r"\1", cell)
