"""The second checker, of the text of a CSV file: rows are split by hand, and written again.

4 and 4.0 are one number to a parser, and needless quotes or empty lines are nothing to it, but
whoever opens the file can distinguish them, and with them users. It shares nothing with recveil.
"""

import re
from datetime import date
from decimal import Decimal

FIELD = re.compile(r'"(?:[^"]|"")*"|[^",\r\n]*')


def columns_of(result):
    """The columns of the ratings in their order, and of what kind their values are."""
    columns = {"user_id": str, "item_id": str if result["item_type"] == "text" else int}
    columns |= {"rating": str if "words" in result["scale"] else float}
    columns |= {"date": date} if "dates" in result["settings"] else {}
    columns |= {"group_size": int} if result["layout"] == "groups" else {}
    return columns | ({"k": int} if result["levels"] else {})


def problems_of_text(content, columns):
    """Say where the text is not the only one that its values have; stop there."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        yield "the ratings are no UTF-8"
        return
    header = ",".join(f'"{name}"' for name in columns) + "\n"
    if not text.startswith(header):
        yield "line 1 is not the header of such ratings"
        return
    at, line = len(header), 1
    ends = [*"," * (len(columns) - 1), "\n"]
    while at < len(text):
        line += 1
        for kind, end in zip(columns.values(), ends, strict=True):
            field = FIELD.match(text, at)[0]
            at += len(field) + 1
            if text[at - 1 : at] != end or again(field, kind) != field:
                yield f"line {line} is not written in the one notation"
                return


def again(field, kind):
    """How a field of this kind is written that says the same; None if it is of no such kind."""
    if kind is str:
        value = field[1:-1].replace('""', '"')
        return '"' + value.replace('"', '""') + '"' if field.startswith('"') else None
    try:
        if kind is date:
            return str(date.fromisoformat(field))
        return str(int(field)) if kind is int else number(float(field))
    except ValueError:
        return None


def number(value):
    """A number in as few digits as distinguish it from all others, and no point that is not needed.

    With a power of ten below a millionth and from ten thousand million on.
    """
    if value - value:  # neither finite
        return repr(value)
    exact = Decimal(repr(value))
    if not value or -6 <= exact.adjusted() < 10:
        text = f"{exact:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")
    sign, point = "-" * (value < 0), "." * (len(digits) > 1)
    return f"{sign}{digits[0]}{point}{digits[1:]}e{exact.adjusted():+d}"
