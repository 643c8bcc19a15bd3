"""Entries: the tables and the work that stand in a project's database."""

import json
from dataclasses import dataclass
from typing import Any

from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.workbench.own_folder import DATABASE

INPUTS = "SELECT id, name, place, digest, reading FROM inputs"
JOBS = "SELECT id, room, task, settings, command, input, state, error, began, ended FROM jobs"


@brief
@dataclass(frozen=True)
class Input:
    """A table that somebody works on.

    Attributes
    ----------
    id : int
    name : str
        What its owner calls it.
    place : str
        The path of the file, in the project or elsewhere, or the address of a database.
    digest : str
        SHA-256 of an uploaded file; empty for what was named, which may change.
    reading : dict
        What was said of how to read it, by the names of options.
    """

    id: int
    name: str
    place: str
    digest: str
    reading: dict[str, Any]


@brief
@dataclass(frozen=True)
class Job:
    """Something that was, or is, worked on by a process of its own.

    Attributes
    ----------
    id : int
    room, task : str
        Where it was begun, and what is done.
    settings : dict
        What the task takes.
    command : str
        The command line that does the same.
    input : int or None
        Which input it is about.
    state : {"running", "done", "failed", "cancelled", "stopped"}
        Stopped is what ran while the workbench ended: it can be run again.
    error : str
        Why it failed.
    began, ended : str
        Times in UTC; empty if it has not ended.
    """

    id: int
    room: str
    task: str
    settings: dict[str, Any]
    command: str
    input: int | None
    state: str
    error: str
    began: str
    ended: str


def input_of(row: tuple[Any, ...]) -> Input:
    """Return the input that stands in a row of `INPUTS`."""
    number, name, place, digest, reading = row
    return Input(number, name, place, digest, _read(reading, f"input {number}"))


def job_of(row: tuple[Any, ...]) -> Job:
    """Return the job that stands in a row of `JOBS`."""
    number, room, task, settings, *rest = row
    return Job(number, room, task, _read(settings, f"job {number}"), *rest)


def _read(text: str, of: str) -> dict[str, Any]:
    """Read what is noted of an input or a job: that is never guessed at."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise RecveilError(
            f"{of}: what {DATABASE} says of it was damaged; open another folder as the project",
            code="workbench.damaged",
        )
    return found
