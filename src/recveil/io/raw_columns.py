"""Raw columns: what a table holds, shown to whoever asks before anything is made of its values."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import pyarrow as pa

Looker = Callable[[Mapping[str, pa.ChunkedArray]], object]

_SHOWN_TO: ContextVar[Looker | None] = ContextVar("raw_columns_shown_to", default=None)


@contextmanager
def raw_columns_shown(to: Looker) -> Iterator[None]:
    """Show the columns of each table that is understood inside the block, as they stand in it.

    Parameters
    ----------
    to : callable
        Takes the columns `user`, `item`, `rating` and perhaps `time` by their roles. Whoever keeps
        one keeps its memory, too.

    Examples
    --------
    >>> from recveil.io import understand
    >>> frame = pa.table({"uid": [1, 2], "iid": [5, 5], "score": ["3.50", "4"]})
    >>> with raw_columns_shown(lambda columns: print(columns["rating"].to_pylist())):
    ...     reading = understand(frame)
    ['3.50', '4']
    """
    before = _SHOWN_TO.set(to)
    try:
        yield
    finally:
        _SHOWN_TO.reset(before)


def show_raw_columns(columns: Mapping[str, pa.ChunkedArray]) -> None:
    """Show columns to whoever asked; most of the time, nobody did."""
    to = _SHOWN_TO.get()
    if to is not None:
        to(columns)
