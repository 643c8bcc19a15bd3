"""Sentences for people: no line wider than their terminal, and each on one line for programs."""

import shutil
import sys
import textwrap


def tell(text: str, *, err: bool = False) -> None:
    r"""Print sentences to standard output, or to standard error.

    On a terminal, lines are broken between words; a name is never broken, so that it can be
    copied. Whoever sends them on to a file or a program gets them as they are.

    Parameters
    ----------
    text : str
        Lines that begin with a space, such as commands to type, stay as they are.
    err : bool

    Examples
    --------
    >>> tell("Publish out; keep out.private secret.")
    Publish out; keep out.private secret.
    """
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # nobody listens
        return
    lines = text.split("\n")
    if stream.isatty():
        width = shutil.get_terminal_size().columns
        lines = [part for line in lines for part in _broken(line, width)]
    print("\n".join(lines), file=stream)


def _broken(line: str, width: int) -> list[str]:
    if len(line) <= width or line.startswith(" "):
        return [line]
    return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
