"""Assignment: what a worker is to do, and where it may leave what it finds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from recveil.brief import brief


@brief
class Assignment(NamedTuple):
    """What a worker is to do.

    Attributes
    ----------
    settings : dict
        What was chosen; plain data.
    folder : Path
        Of the job, for its owner alone: for files beside the result.
    tell : callable
        Tells one thing on the way: what it is, and plain data.
    """

    settings: dict[str, Any]
    folder: Path
    tell: Callable[[str, Any], object]
