"""Bar: how far a work is, drawn on a terminal by a thread beside it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from recveil.progress.whole import Whole
from recveil.threads import refuse_without_room

# A terminal so wide has room for a bar, and for how fast it goes; one of the usual width for how
# many of how many in the place of for how long; wider ones for both.
_WIDE, _USUAL, _WIDER = 60, 80, 100
_BAR, _LONG_BAR = 12, 24


@contextmanager
def bar(whole: Whole) -> Iterator[None]:
    """Draw one bar until the work ends, and take it away then."""
    console = Console(stderr=True)
    drawn = Live(
        get_renderable=lambda: _row(whole, console.width),
        console=console,
        transient=True,
        refresh_per_second=10,
        # What is printed for a file or a pipe must not go to the terminal.
        redirect_stdout=sys.stdout.isatty(),
    )
    refuse_without_room()
    with drawn:
        yield


def _row(whole: Whole, width: int) -> Table:
    """Lay out the one line; on a narrow terminal, only what matters most."""
    told = [Text(f"{whole.percent} %" if whole.is_measured else "", "progress.percentage")]
    count = whole.count if width >= _USUAL and whole.count and whole.count.done else None
    if count is not None:
        told.append(Text(count.words(), "progress.download"))
    if width >= _WIDE:
        told.append(Text(_rate(whole), "progress.data.speed"))
    if width >= (_WIDE if count is None else _WIDER):
        told.append(Text(_clock(whole.seconds), "progress.elapsed"))
    left = whole.seconds_left()
    told.append(Text("" if left is None else f"{_clock(left)} left", "progress.remaining"))
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    cells: list[Text | ProgressBar] = [Text(_title(whole, width))]
    if width >= _WIDE:
        row.add_column(no_wrap=True)
        cells.append(
            ProgressBar(
                total=1.0 if whole.is_measured else None,
                completed=whole.fraction,
                width=_LONG_BAR if width >= _WIDER else _BAR,
            )
        )
    for _ in told:
        row.add_column(no_wrap=True, justify="right")
    row.add_row(*cells, *told)
    return row


def _title(whole: Whole, width: int) -> str:
    """Say what is done; on a narrow terminal, the part alone."""
    if width >= _WIDER or not whole.part:
        return whole.title + (f": {whole.part}" if whole.part else "")
    smallest = whole.part.rpartition(": ")[2]
    return smallest if width < _WIDE else f"{whole.title}: {smallest}"


def _rate(whole: Whole) -> str:
    """Say how many steps of the loop that runs are done a second, or how much of the whole."""
    count = whole.count
    if count is not None and count.done and (spent := whole.clock() - count.since) > 0:
        speed = count.done / spent
        return f"{speed:,.{0 if speed >= 10 else 1}f} a second"
    if whole.is_measured and whole.fraction and (spent := whole.seconds) > 0:
        speed = 100 * whole.fraction / spent
        return f"{speed:.1f} % a second" if speed >= 1 else f"{60 * speed:.0f} % a minute"
    return ""


def _clock(seconds: float) -> str:
    """Write a time as a clock does.

    Examples
    --------
    >>> _clock(3_725.4)
    '1:02:05'
    """
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"
