"""Detection of rows that an earlier export swallowed into a column that is not read."""

import re
from collections import Counter

from recveil.inspection.first_rows import MOST_ROWS, FirstRows
from recveil.ratings import Ratings

_DELIMITER = re.compile(r"[,;\t|]|::")
# A text of one such line may be a list of numbers.
_FEWEST_LINES = 2


def describe_swallowed_rows(rows: FirstRows, ratings: Ratings) -> list[str]:
    r"""Describe unread columns with texts whose lines are rows of the table; empty for none.

    A stray quote in a CSV file makes the lines after it a part of a field, and who converts that
    file keeps the field. Two lines must have an item and a rating in the same fields, and one of
    them a user: the rows of others may all be inside.

    Examples
    --------
    >>> ratings = Ratings.from_columns(["u1", "u2"], ["heat", "jaws"], [4, 5])
    >>> text = "good\nu1,jaws,5,fine\nu2,heat,4,fine\nu2,jaws,4"
    >>> rows = FirstRows(("user", "review"), ("user", ""), (("u1", text), ("u2", "1,2,3\n4,5,6")))
    >>> print(*describe_swallowed_rows(rows, ratings))
    Column 'review' has texts with lines that look like rows of the table, in 1 of the first 2 rows:
    a stray quote may have swallowed them before the table was converted, so that these ratings are
    missing; convert its source again.
    """
    unread = [at for at, role in enumerate(rows.roles) if not role]
    texts = [(at, [row[at] for row in rows.rows if "\n" in row[at]]) for at in unread]
    if not any(found for _, found in texts):
        return []
    known = [{*map(str, ids.tolist())} for ids in (ratings.users, ratings.items)]
    found = {
        at: sum(_has_rows(text, known, ratings) for text in of_column) for at, of_column in texts
    }
    n_rows = min(len(rows.rows), MOST_ROWS)
    return [
        f"Column {rows.names[at]!r} has texts with lines that look like rows of the table, in "
        f"{n:,} of the first {n_rows:,} rows: a stray quote may have swallowed them before the "
        f"table was converted, so that these ratings are missing; convert its source again."
        for at, n in found.items()
        if n
    ]


def _has_rows(text: str, known: list[set[str]], ratings: Ratings) -> bool:
    """Return whether lines have an item and a rating in the same fields, and one of them a user."""
    users, items = known
    lines = [
        [field.strip(" \"'") for field in _DELIMITER.split(line)] for line in text.splitlines()
    ]
    lines = [fields for fields in lines if len(fields) >= (2 if ratings.is_unary else 3)]
    n_lines, with_user = Counter[tuple[int, ...]](), set[tuple[int, ...]]()
    for fields in lines:
        values = [at for at, field in enumerate(fields) if _is_rating(field, ratings)]
        for item in (at for at, field in enumerate(fields) if field in items):
            for value in [-1] if ratings.is_unary else values:
                if value == item:
                    continue
                n_lines[item, value] += 1
                if any(
                    field in users for at, field in enumerate(fields) if at not in (item, value)
                ):
                    with_user.add((item, value))
    return any(n_lines[places] >= _FEWEST_LINES for places in with_user)


def _is_rating(field: str, ratings: Ratings) -> bool:
    if ratings.scale.labels:
        return field in ratings.scale.labels
    try:
        return bool(ratings.scale.contains([float(field)]).all())
    except ValueError:
        return False
