"""The messages between the child process and its parent, each a line of JSON."""

from typing import NamedTuple

from recveil.runtime.safe_repr import brief


@brief
class Request(NamedTuple):
    """What to decode; see `recveil.io.worker.decoding`."""

    path: str
    packed: bool
    format: str
    wanted: str
    columns: list[str]
    dictionary: list[str]
    narrow: bool
    rows: int
    # Bytes
    limit: int
    # Which table of a file with several, by `query`, `table` or `sheet`
    within: dict[str, str | None]


@brief
class Head(NamedTuple):
    """What precedes the values: the rows of each row group, and the file's metadata."""

    groups: list[int]
    metadata: dict[str, str]


class Failure(NamedTuple):
    """An error of the child."""

    error: str
    message: str = ""
    # Of a `RecveilError`
    code: str = ""
    # Bytes and rows that exceed the memory limit
    needed: int = 0
    rows: int | None = None
    errno: int = 0
