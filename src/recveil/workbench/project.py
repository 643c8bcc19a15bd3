"""Project: a folder in which everything done is kept, and outlives whoever serves it."""

import getpass
import json
import os
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError, reason_of
from recveil.workbench.entries import INPUTS, JOBS, Input, Job, input_of, job_of
from recveil.workbench.own_folder import DATABASE, ONLY_OWNER, make_folder, take, within
from recveil.workbench.store import Store
from recveil.workbench.uploads import folder_name


class Project:
    """A folder for its owner alone, with a database of what was done.

    Parameters
    ----------
    folder : path
        Is made if it does not exist.

    Attributes
    ----------
    folder : path
    is_new : bool
        Whether nothing was known in it.
    lost : dict of int to str
        Why what some jobs have found cannot be read, by their numbers.

    Raises
    ------
    RecveilError
        If it is no project, cannot be written, is open in another workbench, or holds what others
        put there.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     project = Project(Path(folder, "project"))
    ...     project.keep("least k", 5)
    ...     project.close()
    ...     again = Project(Path(folder, "project"))
    ...     again.kept("least k")
    5
    """

    def __init__(self, folder: Path) -> None:
        make_folder(folder.absolute())
        self.folder = folder.resolve()
        self.lost: dict[int, str] = {}
        self._lock_file = take(self.folder)
        try:
            self._store = Store(self.folder / DATABASE)
        except BaseException:
            os.close(self._lock_file)
            raise
        self.is_new = self._store.is_new
        try:
            self._stop_all()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the folder."""
        self._store.close()
        if self._lock_file >= 0:
            os.close(self._lock_file)
            self._lock_file = -1

    def folder_for(self, *names: str) -> Path:
        """Return a folder within the project, made for its owner alone."""
        for n_names in range(1, len(names) + 1):
            within(self.folder, *names[:n_names]).mkdir(mode=ONLY_OWNER, exist_ok=True)
        return self.folder.joinpath(*names)

    # Inputs

    def add_input(self, name: str, place: str, digest: str = "") -> Input:
        """Note a table, or find the one that is noted already, and work on it from now on."""
        with self._store.changing() as run:
            run(
                "INSERT OR IGNORE INTO inputs (name, place, digest, reading, added) "
                "VALUES (?, ?, ?, '{}', ?)",
                (name, place, digest, _now()),
            )
            (number,) = run(
                "SELECT id FROM inputs WHERE place = ? AND digest = ?", (place, digest)
            ).fetchone()
            self.choose_input(number)
        return self.input(number)

    def inputs(self) -> list[Input]:
        """Return all inputs, the newest first."""
        return [input_of(row) for row in self._store.rows(f"{INPUTS} ORDER BY id DESC")]

    def input(self, number: int) -> Input:
        """Return an input by its number."""
        rows = self._store.rows(f"{INPUTS} WHERE id = ?", (number,))
        if not rows:
            raise RecveilError(
                f"input {number}: there is none of this number; choose another",
                code="workbench.not-found",
            )
        return input_of(rows[0])

    def chosen_input(self) -> Input | None:
        """Return the input that is worked on; None if there is none yet, or none any more."""
        number = self.kept("input")
        rows = self._store.rows(f"{INPUTS} WHERE id = ?", (number,)) if _is_number(number) else []
        return input_of(rows[0]) if rows else None

    def choose_input(self, number: int) -> None:
        """Work on an input from now on."""
        self.keep("input", self.input(number).id)

    def set_reading(self, number: int, reading: Mapping[str, Any]) -> None:
        """Note how an input is to be read."""
        with self._store.changing() as run:
            run("UPDATE inputs SET reading = ? WHERE id = ?", (json.dumps(reading), number))

    def forget_input(self, number: int) -> None:
        """Remove a table and all that was found of it; what lies elsewhere, and releases, stay."""
        table = self.input(number)
        found = [
            within(self.folder, "jobs", str(job.id)) for job in self.jobs() if job.input == number
        ]
        found.append(within(self.folder, "comparisons", str(number)))
        copy = self._copy_of(table)
        with self._store.changing() as run:
            run("DELETE FROM jobs WHERE input = ?", (number,))
            run("DELETE FROM inputs WHERE id = ?", (number,))
            for kind in _OF_INPUTS:
                run("DELETE FROM kept WHERE key = ?", (f"{kind} {number}",))
            if self.kept("input") == number:
                run("DELETE FROM kept WHERE key = 'input'")
        for folder in found:
            shutil.rmtree(folder, ignore_errors=True)
        if copy is not None:
            copy.unlink(missing_ok=True)
            with suppress(OSError):  # the same bytes under another name
                copy.parent.rmdir()

    def forget_room(self, room: str, key: str) -> None:
        """Remove all that a room has found, and what it keeps under a name."""
        found = [
            within(self.folder, "jobs", str(job.id)) for job in self.jobs() if job.room == room
        ]
        with self._store.changing() as run:
            run("DELETE FROM jobs WHERE room = ?", (room,))
            run("DELETE FROM kept WHERE key = ?", (key,))
        for folder in found:
            shutil.rmtree(folder, ignore_errors=True)

    def keep_of(self, table: Input, kind: str, value: Any) -> None:
        """Keep a choice that is about a table: one of `question`, `setting`; it goes with it."""
        self.keep(_key_of(table, kind), value)

    def kept_of(self, table: Input, kind: str, fields: Collection[str] = ()) -> Any:
        """Return a choice about a table that was kept, with these fields; None if there is none."""
        return self.kept(_key_of(table, kind), fields=fields)

    def _copy_of(self, table: Input) -> Path | None:
        """Return where the copy of a table lies that was dropped; None if it was named.

        The folder is known by the digest, so that no path of the database is ever removed.
        """
        if not table.digest:
            return None
        return within(self.folder, "inputs", folder_name(table.digest), Path(table.place).name)

    # Jobs

    def begin_job(
        self, room: str, task: str, settings: Mapping[str, Any], command: str, input: int | None
    ) -> Job:
        """Note that something is begun."""
        with self._store.changing() as run:
            number = run(
                "INSERT INTO jobs (room, task, settings, command, input, state, error, began, "
                "ended) VALUES (?, ?, ?, ?, ?, 'running', '', ?, '')",
                (room, task, json.dumps(settings), command, input, _now()),
            ).lastrowid
        return self.job(number or 0)

    def end_job(self, number: int, state: str, error: str = "") -> None:
        """Note how something ended."""
        with self._store.changing() as run:
            run(
                "UPDATE jobs SET state = ?, error = ?, ended = ? WHERE id = ?",
                (state, error, _now(), number),
            )

    def job(self, number: int) -> Job:
        """Return a job by its number."""
        rows = self._store.rows(f"{JOBS} WHERE id = ?", (number,))
        if not rows:
            raise RecveilError(
                f"job {number}: there is none of this number; choose another",
                code="workbench.not-found",
            )
        return job_of(rows[0])

    def jobs(self) -> list[Job]:
        """Return all jobs, the newest first."""
        return [job_of(row) for row in self._store.rows(f"{JOBS} ORDER BY id DESC")]

    def last_job(self, room: str, input: int | None = None, state: str | None = None) -> Job | None:
        """Return the newest job of a room, of an input or in a state if they are given."""
        asked = {"room": room, "input": input, "state": state}
        given = {name: value for name, value in asked.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in given)
        rows = self._store.rows(
            f"{JOBS} WHERE {where} ORDER BY id DESC LIMIT 1", (*given.values(),)
        )
        return job_of(rows[0]) if rows else None

    def job_folder(self, number: int) -> Path:
        """Return the folder of a job's results."""
        return self.folder_for("jobs", str(number))

    def result(self, job: Job | None) -> dict[str, Any] | None:
        """Return what a job that is done has found; None if there is none, or it is not done.

        If it cannot be read, there is none, and `lost` says why: whoever begins it again must find
        the page on which that is done.
        """
        if job is None or job.state != "done":
            return None
        file = self.folder / "jobs" / str(job.id) / RESULT
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            self.lost[job.id] = (
                f"{file}: what it found cannot be read any more ({reason_of(error)}); run it again"
            )
            return None
        self.lost.pop(job.id, None)
        return found

    # What was done, and what was chosen

    def note(self, what: str, command: str = "") -> None:
        """Write into the log who does what now."""
        with self._store.changing() as run:
            run(
                "INSERT INTO log (at, who, what, command) VALUES (?, ?, ?, ?)",
                (_now(), _who(), what, command),
            )

    def strike(self, words: str, instead: str) -> None:
        """Write other words in the log, and take out the commands that stood beside them."""
        with self._store.changing() as run:
            run(
                "UPDATE log SET what = replace(what, ?1, ?2), command = '' WHERE instr(what, ?1)",
                (words, instead),
            )

    def log(self) -> list[dict[str, str]]:
        """Return the log, the newest first."""
        rows = self._store.rows("SELECT at, who, what, command FROM log ORDER BY rowid DESC")
        return [dict(zip(("at", "who", "what", "command"), row, strict=True)) for row in rows]

    def keep(self, key: str, value: Any) -> None:
        """Keep a choice, under a name."""
        with self._store.changing() as run:
            run("INSERT OR REPLACE INTO kept (key, value) VALUES (?, ?)", (key, json.dumps(value)))

    def kept(self, key: str, default: Any = None, fields: Collection[str] = ()) -> Any:
        """Return a choice that was kept; what cannot be read counts as not kept.

        Parameters
        ----------
        key : str
        default : any
            Is returned if there is none, or one of another kind.
        fields : collection of str
            Names that it must have, if it is to have any.
        """
        rows = self._store.rows("SELECT value FROM kept WHERE key = ?", (key,))
        try:
            value = json.loads(rows[0][0]) if rows else default
        except (ValueError, TypeError):
            return default
        is_whole = not fields or (isinstance(value, dict) and set(fields) <= set(value))
        is_of_its_kind = default is None or isinstance(value, type(default))
        return value if is_whole and is_of_its_kind else default

    def _stop_all(self) -> None:
        """Note that whatever ran has ended with whoever served the project."""
        with self._store.changing() as run:
            run("UPDATE jobs SET state = 'stopped', ended = ? WHERE state = 'running'", (_now(),))


# The file in a job's folder that holds what it found.
RESULT = "result.json"
# What is kept about a table, and goes with it.
_OF_INPUTS = ("question", "setting")


def _key_of(table: Input, kind: str) -> str:
    if kind not in _OF_INPUTS:
        raise ValueError(f"{kind}: not among {_OF_INPUTS}, so that it would outlive its table")
    return f"{kind} {table.id}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and 0 < value < 2**63


def _who() -> str:
    with suppress(Exception):  # a user without a name, as in some containers
        return getpass.getuser()
    return "somebody"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
