"""Remnants: what a killed workbench left in its project of which no row tells any more."""

import getpass
import hashlib
import json
import os
import re
import secrets
import shutil
import sqlite3
import stat
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from recveil.runtime.atomic_writes import make_folder
from recveil.runtime.errors import RecveilError, reason_of, shortened
from recveil.runtime.locks import FOR_OWNER, NOT_FOLLOWED, is_ours, lock
from recveil.runtime.memory import in_words
from recveil.runtime.safe_repr import brief

DATABASE, _LOCK = "project.sqlite", "lock"
ONLY_OWNER = 0o700
_WRITABLE_BY_OTHERS = 0o022


def make_project_folder(folder: Path) -> None:
    """Make the folder of a project, or refuse one that is somebody else's or holds other things."""
    try:
        folder.mkdir(mode=ONLY_OWNER, parents=True, exist_ok=True)
        if not is_ours(folder.stat()):
            raise RecveilError(
                f"{folder}: is another user's folder; work as that user, or name a folder of your "
                f"own",
                code="workbench.folder",
            )
        is_project = (folder / DATABASE).is_file() or not any(folder.iterdir())
        if is_project:
            folder.chmod(ONLY_OWNER)
    except OSError as error:
        raise RecveilError(
            f"{folder}: cannot be the folder of a project ({reason_of(error)}); name another",
            code="workbench.folder",
        ) from None
    if not is_project:
        raise RecveilError(
            f"{folder}: holds other things, and no project (no {DATABASE}); name a new folder",
            code="workbench.folder",
        )


def take(folder: Path) -> int:
    """Lock a project's folder and reject foreign files; the lock ends with this process."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | NOT_FOLLOWED, FOR_OWNER)
    except OSError as error:
        raise RecveilError(
            f"{folder / _LOCK}: cannot be locked ({reason_of(error)}); name another folder",
            code="workbench.folder",
        ) from None
    try:
        if lock(descriptor, wait=False) is False:
            raise RecveilError(
                f"{folder}: is open in another workbench; look for its page, end it, or name "
                f"another folder",
                code="output.locked",
            )
        _reject_planted(folder)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def within(folder: Path, *names: str) -> Path:
    """Return a path within a project, or refuse one that leads elsewhere."""
    path = folder.joinpath(*names)
    are_names = all(name not in ("", "..") and Path(name).name == name for name in names)
    if not are_names or os.path.realpath(path) != str(path):
        raise RecveilError(
            f"{path}: leads out of the project; remove this link, or name another folder",
            code="workbench.folder",
        )
    return path


def _reject_planted(folder: Path) -> None:
    """Refuse a project in which anything is a link, or not of whoever works with it."""

    def fail(error: OSError) -> None:
        raise RecveilError(
            f"{error.filename}: cannot be looked at ({reason_of(error)}); name another folder",
            code="workbench.folder",
        ) from None

    for place, folders, files in os.walk(folder, onerror=fail):
        for name in (*folders, *files):
            path = Path(place, name)
            found = path.lstat()
            if stat.S_ISLNK(found.st_mode):
                what = "a link"
            elif not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                what = "neither a file nor a folder"
            elif not is_ours(found):
                what = "another user's"
            elif stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                what = "a file that has another name, too (a hard link)"
            else:
                # Whoever has it open already could put something there later.
                if stat.S_ISDIR(found.st_mode) and found.st_mode & _WRITABLE_BY_OTHERS:
                    path.chmod(stat.S_IMODE(found.st_mode) & ~_WRITABLE_BY_OTHERS)
                continue
            raise RecveilError(
                f"{path}: is {what}, which no workbench puts into a project; remove it, or name "
                f"another folder",
                code="workbench.folder",
            )


INPUTS = "SELECT id, name, place, digest, reading FROM inputs"
JOBS = "SELECT id, room, task, settings, command, input, state, error, began, ended FROM jobs"


@brief
@dataclass(frozen=True)
class Input:
    """A table that somebody works on."""

    id: int
    # What its owner calls it
    name: str
    # The path of the file, in the project or elsewhere, or the address of a database
    place: str
    # SHA-256 of an uploaded file; empty for what was named, which may change
    digest: str
    # What was said of how to read it, by the names of options
    reading: dict[str, Any]


@brief
@dataclass(frozen=True)
class Job:
    """Something that was, or is, worked on by a process of its own."""

    id: int
    # Where it was begun, and what is done
    room: str
    task: str
    # What the task takes
    settings: dict[str, Any]
    # The command line that does the same
    command: str
    # Which input it is about
    input: int | None
    # Stopped is what ran while the workbench ended: it can be run again
    state: str
    # Why it failed
    error: str
    # Times in UTC; empty if it has not ended
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


# Whoever opens a project of another version must not guess what its columns mean.
_VERSION = 2
# A number that was given is never given again: a page that was loaded earlier may still name it.
_SCHEMA = """
CREATE TABLE inputs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, place TEXT NOT NULL,
    digest TEXT NOT NULL, reading TEXT NOT NULL, added TEXT NOT NULL, UNIQUE (place, digest));
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, room TEXT NOT NULL, task TEXT NOT NULL,
    settings TEXT NOT NULL, command TEXT NOT NULL, input INTEGER, state TEXT NOT NULL,
    error TEXT NOT NULL, began TEXT NOT NULL, ended TEXT NOT NULL);
CREATE TABLE log (
    at TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, command TEXT NOT NULL);
CREATE TABLE kept (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_SHAPE = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"

# Runs one step of a change.
Run = Callable[..., sqlite3.Cursor]


class Store:
    """The database of a project, for all threads of whoever serves it.

    Attributes
    ----------
    is_new : bool
        Whether nothing was in it.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._guard = threading.RLock()
        self._depth = 0
        try:
            self._database = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        except sqlite3.Error as error:
            raise self._unreadable(error) from None
        try:
            file.chmod(FOR_OWNER)
            self.is_new = self._prepare()
        except sqlite3.Error as error:
            self.close()
            raise self._unreadable(error) from None

    def close(self) -> None:
        """Let go of the file."""
        with self._guard:
            self._database.close()

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        with self._guard:
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def changing(self) -> Iterator[Run]:
        """Change something in one or several steps: all of them are kept, or none.

        A change within another one is a part of it.
        """
        with self._guard:
            try:
                if not self._depth:
                    self._database.execute("BEGIN IMMEDIATE")
                self._depth += 1
                try:
                    yield self._database.execute
                finally:
                    self._depth -= 1
                if not self._depth:
                    self._database.execute("COMMIT")
            except BaseException as error:
                if not self._depth and self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                if not isinstance(error, sqlite3.Error):
                    raise
                raise RecveilError(
                    f"{self._file}: cannot be written ({error}); make room, or name another folder",
                    code="output.not-writable",
                ) from None

    def _prepare(self) -> bool:
        """Make the tables, or refuse others: what is read from them is believed."""
        # What is forgotten is not to be read in what is left of the file.
        self._database.execute("PRAGMA secure_delete = ON")
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError(f"version {version}, expected {_VERSION}")
        with closing(sqlite3.connect(":memory:")) as model:
            model.executescript(_SCHEMA)
            expected = model.execute(_SHAPE).fetchall()
        shape = self._database.execute(_SHAPE).fetchall()
        if not shape:
            self._database.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT"
            )
        elif shape != expected:
            raise sqlite3.DatabaseError("other tables than a project's")
        return not shape

    def _unreadable(self, error: sqlite3.Error) -> RecveilError:
        return RecveilError(
            f"{self._file}: is no project that can be read ({error}); name another folder",
            code="workbench.damaged",
        )


# Folders of a project into which files come.
UPLOADS = INPUT_FOLDER, CHECKED = "inputs", "checked"
# No file is larger, whatever the disk holds.
MOST_BYTES = 64 * 10**9
# So much of the disk stays free: a full one would break what others write.
_FREE = 10**9
# Of a name that somebody gives, so much is kept.
LONGEST_NAME = 200
_AT_ONCE = 1 << 20
_MOST_CHARACTERS = 100
_HALF = ".part"


@brief
class Uploaded(NamedTuple):
    """A file that came whole."""

    # What its owner calls it
    name: str
    # Where it lies in the project
    path: Path
    # Its SHA-256
    digest: str


async def receive(
    chunks: AsyncIterator[bytes], name: str, folder: Path, *, most: int = MOST_BYTES
) -> Uploaded:
    """Write what comes into a folder of its own, named by its digest."""
    from starlette.concurrency import run_in_threadpool

    half = folder / f"{secrets.token_hex(8)}{_HALF}"
    digest, size, waiting = hashlib.sha256(), 0, bytearray()
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | NOT_FOLLOWED
    try:
        with os.fdopen(os.open(half, flags, FOR_OWNER), "wb") as file:

            def write(block: bytes) -> None:
                digest.update(block)
                file.write(block)

            async for chunk in chunks:
                size += len(chunk)
                _reject_too_much(name, size, most, folder)
                waiting += chunk
                if len(waiting) >= _AT_ONCE:
                    # Not in the thread that answers: a slow disk must not freeze the pages.
                    await run_in_threadpool(write, bytes(waiting))
                    waiting.clear()
            await run_in_threadpool(write, bytes(waiting))
        return Uploaded(name, _place(half, folder, name, digest.hexdigest()), digest.hexdigest())
    except OSError as error:
        raise RecveilError(
            f"{shortened(name)}: cannot be kept in the project ({error.strerror}); make room on "
            f"its disk, or name the file instead",
            code="output.not-writable",
        ) from None
    finally:
        with suppress(OSError):
            half.unlink()


def forget_halves(folder: Path) -> None:
    """Remove what came half, while a workbench was killed."""
    for half in folder.glob(f"*{_HALF}"):
        with suppress(OSError):
            half.unlink()


def folder_name(digest: str) -> str:
    """Return the name of the folder for a file of a digest.

    Examples
    --------
    >>> len(folder_name("0" * 64))
    24
    """
    return digest[:24]


def file_name(name: str) -> str:
    r"""Return a safe file name: no path, no hidden file."""
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(
        each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in last
    )
    return kept.lstrip("._-")[-_MOST_CHARACTERS:].lstrip("._-") or "table"


def _reject_too_much(name: str, size: int, most: int, folder: Path) -> None:
    if size > most:
        raise RecveilError(
            f"{shortened(name)}: is larger than {in_words(most)}, the most that is taken; name the "
            f"file instead, which copies nothing",
            code="input.too-large",
        )
    if size % _AT_ONCE < _AT_ONCE // 8 and shutil.disk_usage(folder).free < _FREE:
        raise RecveilError(
            f"{shortened(name)}: the project's disk has less than {in_words(_FREE)} left; make "
            f"room, or name the file instead, which copies nothing",
            code="machine.disk",
        )


def _place(half: Path, folder: Path, name: str, digest: str) -> Path:
    """Give a file its place; one of the same bytes and name is the same."""
    own = within(folder, folder_name(digest))
    make_folder(own, exist_ok=True)
    place = own / file_name(name)
    half.replace(place)
    return place


class Project:
    """A folder for its owner alone, with a database of what was done.

    Attributes
    ----------
    folder : path
    is_new : bool
        Whether nothing was known in it.
    lost : dict of int to str
        Why what some jobs have found cannot be read, by their numbers.
    """

    def __init__(self, folder: Path) -> None:
        make_project_folder(folder.absolute())
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
        """Return a choice that was kept; what cannot be read counts as not kept."""
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


# How our own folders are called; what is called otherwise was put there by hand, and stays.
_NUMBER, _DIGEST = re.compile(r"[0-9]+"), re.compile(r"[0-9a-f]{24}")


def remove_remnants(project: Project) -> None:
    """Remove copies of tables and findings of which the project does not know any more.

    Whoever is killed while they remove a table has forgotten it, and not yet its files. A project
    whose database is new knows nothing, so that all would seem to be left over: nothing goes then.
    """
    if project.is_new:
        return
    inputs, jobs = project.inputs(), project.jobs()
    _keep_folders(project.folder / "jobs", {str(job.id) for job in jobs})
    _keep_folders(project.folder / "comparisons", {str(table.id) for table in inputs})
    dropped = {(folder_name(each.digest), Path(each.place).name) for each in inputs if each.digest}
    _keep_files(project.folder / INPUT_FOLDER, dropped)
    checked = [job.settings.get("place", "") for job in jobs if job.room == "check"]
    checked.append((project.kept("checked", {}, fields=("place",)) or {}).get("place", ""))
    # Where the project lies may have changed since.
    _keep_files(project.folder / CHECKED, {Path(str(place)).parts[-2:] for place in checked})


def _keep_folders(place: Path, names: Collection[str]) -> None:
    for each in place.glob("*"):
        if _NUMBER.fullmatch(each.name) and each.name not in names:
            shutil.rmtree(each, ignore_errors=True)


def _keep_files(place: Path, names: Collection[tuple[str, ...]]) -> None:
    for folder in place.glob("*"):
        if not _DIGEST.fullmatch(folder.name):
            continue
        with suppress(OSError):
            for file in folder.iterdir():
                if (folder.name, file.name) not in names:
                    file.unlink()
        with suppress(OSError):  # of the same bytes under another name
            folder.rmdir()
