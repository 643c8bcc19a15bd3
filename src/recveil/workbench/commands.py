"""Commands: the command line that does the same as a page."""

import shlex
from collections.abc import Mapping
from typing import Any


def command_of(verb: str, *arguments: str, options: Mapping[str, Any] | None = None) -> str:
    """Write a command as somebody would type it in a shell.

    Parameters
    ----------
    verb : str
    *arguments : str
        Paths and addresses, as they are.
    options : mapping, optional
        By the names of the library's keywords: True stands for an option without a value; None,
        False and empty texts are left out.

    Examples
    --------
    >>> print(command_of("inspect", "/Ann's.csv", options={"likes": True, "scale": "1:5:1"}))
    recveil inspect '/Ann'"'"'s.csv' --likes --scale 1:5:1
    """
    words = ["recveil", verb, *arguments]
    for name, value in (options or {}).items():
        if value is None or value is False or value == "":
            continue
        words.append("--" + name.replace("_", "-"))
        words += [] if value is True else [str(value)]
    return shlex.join(words)
