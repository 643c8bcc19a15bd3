"""Standstill: a process whose answer is waited for, and which neither answers nor works.

A library may wait for a lock that nobody will open, for instance on a machine with too much to do.
Whoever waited for it would wait forever.
"""

import io
import os
import select
from collections.abc import Callable
from pathlib import Path
from typing import IO

from recveil.errors import MachineError

# Seconds between two looks at a process that does not answer; after so many looks it is given up.
_LOOK, _LOOKS = 15.0, 12
# Where a process says what it does, a line with numbers after its name in brackets.
_PROCESSES = Path("/proc")
_STATE, _GROUP, _USED = 0, 2, slice(11, 15)
# It waits for a disk, and will go on.
_FOR_A_DISK = "D"

CAN_LOOK = (_PROCESSES / "self" / "stat").exists()


def work_of(group: int) -> tuple[int, bool]:
    """Return how long the processes of a group have worked, and whether one waits for a disk.

    Parameters
    ----------
    group : int
        The number of the group, which is that of its first process.

    Examples
    --------
    >>> work_of(os.getpgrp())[0] >= 0
    True
    """
    spent, waits = 0, False
    for about in _PROCESSES.glob("[0-9]*/stat"):
        try:
            told = about.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(told[_GROUP]) == group:
            spent += sum(map(int, told[_USED]))
            waits = waits or told[_STATE] == _FOR_A_DISK
    return spent, waits


class WatchedAnswers(io.RawIOBase):
    """What a process answers; it raises a MachineError if nothing comes, and it does not work.

    Parameters
    ----------
    pipe : file
        Where the answers come from.
    group : int
        The group of the processes that give them.
    name : callable
        Returns what is asked about, for the error.
    """

    def __init__(self, pipe: IO[bytes], group: int, name: Callable[[], str]) -> None:
        self._pipe, self._group, self._name = pipe, group, name

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Wait for bytes, and read some."""
        still, before = 0, None
        while not select.select([self._pipe], [], [], _LOOK)[0]:
            work = work_of(self._group)
            still = still + 1 if work == before and not work[1] else 0
            before = work
            if still >= _LOOKS:
                raise MachineError(
                    f"{self._name()}: decoding it stands still: for {_LOOK * _LOOKS / 60:.0f} "
                    f"minutes nothing came of it, and it did not work either; run again",
                    code="machine.standstill",
                )
        return os.readv(self._pipe.fileno(), [buffer])

    def close(self) -> None:
        """Close the pipe."""
        self._pipe.close()
        super().close()
