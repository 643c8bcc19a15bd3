"""Commands: the command line that does the same as a page."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The settings file that the command line takes options from, where the folder has one.
SETTINGS_FILE = "recveil.toml"


def command_of(verb: str, *arguments: str, options: Mapping[str, Any] | None = None) -> str:
    """Write a command as somebody would type it in a shell.

    The pages take no options from the settings file of the folder in which the workbench was begun.
    Where there is one, the command says that it does not count either.

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
    if Path(SETTINGS_FILE).is_file():
        words += ["--config", os.devnull]
    return shlex.join(words)
