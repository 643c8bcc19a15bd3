"""A project: a private folder with a database of tables, jobs, choices and a log."""

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
from typing import Any, NamedTuple, TypedDict

from recveil.runtime.atomic_writes import make_folder
from recveil.runtime.errors import RecveilError, reason_of, shortened
from recveil.runtime.locks import FOR_OWNER, NOT_FOLLOWED, is_ours, lock
from recveil.runtime.number_format import format_bytes
from recveil.runtime.safe_repr import brief

DATABASE, _LOCK = "project.sqlite", "lock"
PRIVATE_MODE = 0o700
_WRITABLE_BY_OTHERS = 0o022


def make_project_folder(folder: Path) -> None:
    """Create the folder of a project; raise if it is another user's or holds other things."""
    try:
        folder.mkdir(mode=PRIVATE_MODE, parents=True, exist_ok=True)
        if not is_ours(folder.stat()):
            raise RecveilError(
                f"{folder}: is another user's folder; work as that user, or name another folder",
                code="workbench.folder",
            )
        is_project = (folder / DATABASE).is_file() or not any(folder.iterdir())
        if is_project:
            folder.chmod(PRIVATE_MODE)
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


def lock_project(folder: Path) -> int:
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
                f"{folder}: is open in another workbench; use its page, end it, or name "
                f"another folder",
                code="output.locked",
            )
        _reject_foreign_files(folder)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def within(folder: Path, *names: str) -> Path:
    """Return a path within a project; raise if it leads out of it."""
    path = folder.joinpath(*names)
    are_names = all(name not in ("", "..") and Path(name).name == name for name in names)
    if not are_names or os.path.realpath(path) != str(path):
        raise RecveilError(
            f"{path}: leads out of the project; remove this link, or name another folder",
            code="workbench.folder",
        )
    return path


def _reject_foreign_files(folder: Path) -> None:
    """Raise if a project contains a link, or anything that another user made."""

    def fail(error: OSError) -> None:
        raise RecveilError(
            f"{error.filename}: cannot be read ({reason_of(error)}); name another folder",
            code="workbench.folder",
        ) from None

    for place, folders, files in os.walk(folder, onerror=fail):
        for name in (*folders, *files):
            path = Path(place, name)
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                what = "a link"
            elif not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                what = "neither a file nor a folder"
            elif not is_ours(status):
                what = "another user's"
            elif stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                what = "a file that has another name, too (a hard link)"
            else:
                # Another user who has it open could add files later.
                if stat.S_ISDIR(status.st_mode) and status.st_mode & _WRITABLE_BY_OTHERS:
                    path.chmod(stat.S_IMODE(status.st_mode) & ~_WRITABLE_BY_OTHERS)
                continue
            raise RecveilError(
                f"{path}: is {what}, which no workbench puts into a project; remove it, or name "
                f"another folder",
                code="workbench.folder",
            )


INPUTS = "SELECT id, name, place, digest, reading FROM inputs"
LOG = "SELECT at, who, what, command FROM log"
JOBS = "SELECT id, room, task, settings, command, input, state, error, began, ended FROM jobs"


# Reading options by name, as a form gives them.
Reading = dict[str, str | bool]


class Settings(TypedDict, total=False):
    """Settings of a job, as JSON; each task needs some of them."""

    # A table: its place, how it is read, and its state when it was inspected
    source: str
    reading: Reading
    state: str
    curves: bool
    # What to compare, None for the default, and the folder of the comparison
    methods: list[str] | None
    ks: list[int] | None
    shadows: int | None
    users: str | None
    attribute: list[str] | None
    out: str
    # A release to make or check: its folder or file, and keywords of the verb
    name: str
    place: str
    dropped: bool
    k: int | None
    options: Mapping[str, Any]
    # The id of a user to be erased, which is removed once that is done
    user: str
    # What the form of a release said, to show it again if the job fails
    entered: Mapping[str, str]
    # A release that was made, the SHA-256 of its manifest, and what describes it
    release: str
    sha256: str
    output: str
    card: str


class Result(TypedDict, total=False):
    """What Python reads of a job's result, which is JSON; each task returns some of it."""

    # Of the ratings, from all tasks that read a table
    ratings_sha256: str | None
    # Of an inspection
    data: Mapping[str, Any]
    scale: Mapping[str, Any] | None
    rows: Mapping[str, list[str]]
    identifiers: list[Mapping[str, Any]]
    seconds: dict[str, float]
    problems: list[str]
    dropped: Mapping[str, int]
    # Of an audit
    verdict: list[str]
    risk: Mapping[str, Any] | None
    # Of a comparison
    comparison: Mapping[str, Any]
    unfinished: int
    # Of a release, or a check of one
    name: str
    sha256: str
    # SHA-256 of release.json of earlier releases of the same users, by their ids
    linked: list[str]
    verification: Mapping[str, Any]
    is_release: bool
    statements: list[str]
    unpacked: Mapping[str, str] | None
    # Of an erasure: fields and reading options for the next release
    decision: str
    lost: list[str]
    reading: Reading
    # Of a layout, with the SHA-256 of each file
    files: Mapping[str, str]


@brief
@dataclass(frozen=True)
class Input:
    """A table of the project."""

    id: int
    name: str
    # The path of the file, in the project or elsewhere, or the address of a database
    place: str
    # SHA-256 of an uploaded file; empty for a named one, which may change
    digest: str
    # Reading options, by name
    reading: Reading


@brief
@dataclass(frozen=True)
class Job:
    """A unit of work in a process of its own, running or ended."""

    id: int
    # The slot: its page, or an action of a page; at most one job runs per slot
    room: str
    task: str
    settings: Settings
    # The equivalent command line
    command: str
    input: int | None
    # running, done, failed, cancelled, or stopped by the end of the workbench
    state: str
    error: str
    # Times in UTC; empty if it has not ended
    began: str
    ended: str


def input_of(row: tuple[Any, ...]) -> Input:
    """Return the input in a row of `INPUTS`."""
    number, name, place, digest, reading = row
    return Input(number, name, place, digest, _parse(reading, f"input {number}"))


def job_of(row: tuple[Any, ...]) -> Job:
    """Return the job in a row of `JOBS`."""
    number, room, task, settings, *rest = row
    return Job(number, room, task, _parse(settings, f"job {number}"), *rest)


def _parse(text: str, entry: str) -> Any:
    """Parse the JSON of an input or a job; raise if it is damaged."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise RecveilError(
            f"{entry}: its entry in {DATABASE} was damaged; open another folder as the project",
            code="workbench.damaged",
        )
    return value


# Projects of other versions are rejected: their results have other keys.
_VERSION = 5
# Numbers are never reused, as a page that was loaded earlier may still name them.
_SCHEMA = """
CREATE TABLE inputs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, place TEXT NOT NULL,
    digest TEXT NOT NULL, reading TEXT NOT NULL, added TEXT NOT NULL, UNIQUE (place, digest));
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, room TEXT NOT NULL, task TEXT NOT NULL,
    settings TEXT NOT NULL, command TEXT NOT NULL, input INTEGER, state TEXT NOT NULL,
    error TEXT NOT NULL, began TEXT NOT NULL, ended TEXT NOT NULL);
CREATE TABLE log (
    at TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, command TEXT NOT NULL,
    input INTEGER, job INTEGER, release INTEGER);
CREATE TABLE kept (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
# The log of version 4 lacked three columns. No job has this number: its lines are unassigned.
_UPGRADED, _UNASSIGNED = 4, 0
_UPGRADE = (
    "BEGIN IMMEDIATE",
    "ALTER TABLE log RENAME TO log_before",
    next(each.strip() for each in _SCHEMA.split(";") if "TABLE log" in each),
    "INSERT INTO log (at, who, what, command, job) SELECT at, who, what, command, 0 "
    "FROM log_before",
    "DROP TABLE log_before",
    f"PRAGMA user_version = {_VERSION}",
)
_SHAPE = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"

# Runs one statement.
Run = Callable[..., sqlite3.Cursor]


class Store:
    """The database of a project, for all threads of the server; `is_new` if created just now."""

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
        """Close the file."""
        with self._guard:
            self._database.close()

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._guard:
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def changing(self) -> Iterator[Run]:
        """Run statements in one transaction; a nested call joins the outer one."""
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
        """Create the tables; raise if there are other ones."""
        # Removed rows must not stay readable in the file.
        self._database.execute("PRAGMA secure_delete = ON")
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version not in (0, _UPGRADED, _VERSION):
            raise sqlite3.DatabaseError(f"version {version}, expected {_VERSION}")
        with closing(sqlite3.connect(":memory:")) as model:
            model.executescript(_SCHEMA)
            expected = model.execute(_SHAPE).fetchall()
        for statement in _UPGRADE if version == _UPGRADED else ():
            self._database.execute(statement)
        shape = self._database.execute(_SHAPE).fetchall()
        if not shape:
            self._database.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT"
            )
        elif shape != expected:
            raise sqlite3.DatabaseError("other tables than a project's")
        if self._database.in_transaction:
            self._database.execute("COMMIT")
        return not shape

    def _unreadable(self, error: sqlite3.Error) -> RecveilError:
        return RecveilError(
            f"{self._file}: cannot be read as a project ({error}); name another folder",
            code="workbench.damaged",
        )


# Folders of a project that receive uploads.
UPLOADS = INPUT_FOLDER, CHECKED = "inputs", "checked"
# The largest upload, in bytes.
MOST_BYTES = 64 * 10**9
# Bytes of the disk that stay free, as a full disk would break other programs.
_FREE = 10**9
# Names of uploads are cut to this length.
LONGEST_NAME = 200
_AT_ONCE = 1 << 20
_MOST_CHARACTERS = 100
_PARTIAL = ".part"


@brief
class Uploaded(NamedTuple):
    """A file that was uploaded completely."""

    name: str
    path: Path
    # SHA-256
    digest: str


async def receive(
    chunks: AsyncIterator[bytes], name: str, folder: Path, *, most: int = MOST_BYTES
) -> Uploaded:
    """Write an upload into a folder that is named by its digest."""
    from starlette.concurrency import run_in_threadpool

    partial = folder / f"{secrets.token_hex(8)}{_PARTIAL}"
    digest, size, waiting = hashlib.sha256(), 0, bytearray()
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | NOT_FOLLOWED
    try:
        with os.fdopen(os.open(partial, flags, FOR_OWNER), "wb") as file:

            def write(block: bytes) -> None:
                digest.update(block)
                file.write(block)

            async for chunk in chunks:
                size += len(chunk)
                _reject_too_much(name, size, most, folder)
                waiting += chunk
                if len(waiting) >= _AT_ONCE:
                    # In another thread, as a slow disk must not block the pages.
                    await run_in_threadpool(write, bytes(waiting))
                    waiting.clear()
            await run_in_threadpool(write, bytes(waiting))
        return Uploaded(
            name, _move_to_digest(partial, folder, name, digest.hexdigest()), digest.hexdigest()
        )
    except OSError as error:
        raise RecveilError(
            f"{shortened(name)}: cannot be stored in the project ({error.strerror}); make room on "
            f"its disk, or name the file instead",
            code="output.not-writable",
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink()


def remove_unfinished(folder: Path) -> None:
    """Remove partial uploads of a killed workbench."""
    for partial in folder.glob(f"*{_PARTIAL}"):
        with suppress(OSError):
            partial.unlink()


def _folder_name(digest: str) -> str:
    return digest[:24]


def file_name(name: str) -> str:
    """Return a safe file name: no path, no hidden file."""
    base = name.replace("\\", "/").rpartition("/")[2]
    safe = "".join(
        each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in base
    )
    return safe.lstrip("._-")[-_MOST_CHARACTERS:].lstrip("._-") or "table"


def _reject_too_much(name: str, size: int, most: int, folder: Path) -> None:
    if size > most:
        raise RecveilError(
            f"{shortened(name)}: is larger than {format_bytes(most)}, the limit for uploads; name "
            f"the file instead, which copies nothing",
            code="input.too-large",
        )
    if size % _AT_ONCE < _AT_ONCE // 8 and shutil.disk_usage(folder).free < _FREE:
        raise RecveilError(
            f"{shortened(name)}: the project's disk has less than {format_bytes(_FREE)} left; make "
            f"room, or name the file instead, which copies nothing",
            code="machine.disk",
        )


def _move_to_digest(partial: Path, folder: Path, name: str, digest: str) -> Path:
    """Move a file to the folder of its digest; the same bytes and name give the same path."""
    target = within(folder, _folder_name(digest))
    make_folder(target, exist_ok=True)
    place = target / file_name(name)
    partial.replace(place)
    return place


class Project:
    """A private folder with a database; `lost` states why results of jobs cannot be read."""

    def __init__(self, folder: Path) -> None:
        make_project_folder(folder.absolute())
        self.folder = folder.resolve()
        self.lost: dict[int, str] = {}
        self._lock_file = lock_project(self.folder)
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
        """Close the database, and unlock the folder."""
        self._store.close()
        if self._lock_file >= 0:
            os.close(self._lock_file)
            self._lock_file = -1

    def folder_for(self, *names: str) -> Path:
        """Return a private folder within the project; create it if needed."""
        for n_names in range(1, len(names) + 1):
            within(self.folder, *names[:n_names]).mkdir(mode=PRIVATE_MODE, exist_ok=True)
        return self.folder.joinpath(*names)

    # Inputs

    def add_input(self, name: str, place: str, digest: str = "") -> Input:
        """Record a table, unless it is known, and make it the current one."""
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
        """Return all inputs, newest first."""
        return [input_of(row) for row in self._store.rows(f"{INPUTS} ORDER BY id DESC")]

    def input(self, number: int) -> Input:
        """Return an input by its number."""
        return input_of(self._entry("input", INPUTS, number))

    def chosen_input(self) -> Input | None:
        """Return the current input; None if there is none."""
        number = self.load("input")
        if not isinstance(number, int) or not 0 < number < 2**63:
            return None
        rows = self._store.rows(f"{INPUTS} WHERE id = ?", (number,))
        return input_of(rows[0]) if rows else None

    def choose_input(self, number: int) -> None:
        """Make an input the current one."""
        self.save("input", self.input(number).id)

    def set_reading(self, number: int, reading: Reading) -> None:
        """Store the reading options of an input."""
        with self._store.changing() as run:
            run("UPDATE inputs SET reading = ? WHERE id = ?", (json.dumps(reading), number))

    def forget_input(self, number: int) -> None:
        """Remove a table and its results; files outside the project, and releases, stay."""
        table = self.input(number)
        folders = self._folders_of(lambda job: job.input == number)
        folders.append(within(self.folder, "comparisons", str(number)))
        copy = self._copy_of(table)
        with self._store.changing() as run:
            run("DELETE FROM jobs WHERE input = ?", (number,))
            run("DELETE FROM inputs WHERE id = ?", (number,))
            for kind in _TABLE_KEYS:
                run("DELETE FROM kept WHERE key = ?", (f"{kind} {number}",))
            if self.load("input") == number:
                run("DELETE FROM kept WHERE key = 'input'")
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        if copy is not None:
            copy.unlink(missing_ok=True)
            with suppress(OSError):  # the same bytes under another name
                copy.parent.rmdir()

    def forget_room(self, room: str, key: str) -> None:
        """Remove the jobs of a page with their results, and a saved value."""
        folders = self._folders_of(lambda job: job.room == room)
        with self._store.changing() as run:
            run("DELETE FROM jobs WHERE room = ?", (room,))
            run("DELETE FROM kept WHERE key = ?", (key,))
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _folders_of(self, is_selected: Callable[[Job], bool]) -> list[Path]:
        return [within(self.folder, "jobs", str(job.id)) for job in self.jobs() if is_selected(job)]

    def save_for(self, table: Input, kind: str, value: Any) -> None:
        """Save a choice about a table under one of `_TABLE_KEYS`; it is removed with the table."""
        self.save(_key_of(table, kind), value)

    def load_for(self, table: Input, kind: str, fields: Collection[str] = ()) -> Any:
        """Return a saved choice about a table with these fields; None if there is none."""
        return self.load(_key_of(table, kind), fields=fields)

    def _copy_of(self, table: Input) -> Path | None:
        """Return the path of an uploaded table's copy; None for a named table."""
        # The folder follows from the digest, so that no path from the database is ever removed.
        if not table.digest:
            return None
        return within(self.folder, "inputs", _folder_name(table.digest), Path(table.place).name)

    # Jobs

    def begin_job(
        self,
        room: str,
        task: str,
        settings: Settings,
        command: str,
        input: int | None,
        doing: str = "",
        release: int | None = None,
    ) -> Job:
        """Record the start of a job, about the release that the job `release` made, if any."""
        with self._store.changing() as run:
            number = run(
                "INSERT INTO jobs (room, task, settings, command, input, state, error, began, "
                "ended) VALUES (?, ?, ?, ?, ?, 'running', '', ?, '')",
                (room, task, json.dumps(settings), command, input, _now()),
            ).lastrowid
            if doing:
                about = number if task == "release" else release
                self.note(f"{_STARTED}{doing}", command, input=input, job=number, release=about)
        return self.job(number or 0)

    def end_job(self, number: int, state: str, error: str = "") -> None:
        """Record the end of a job."""
        with self._store.changing() as run:
            run(
                "UPDATE jobs SET state = ?, error = ?, ended = ? WHERE id = ?",
                (state, error, _now(), number),
            )
            if state == "done":  # an id must not outlive its erasure
                run(
                    "UPDATE jobs SET settings = json_remove(settings, '$.user'), "
                    "error = CASE error WHEN '' THEN '' ELSE 'it may name an erased user' END "
                    "WHERE task = 'forget'"
                )
            self._log_end(number, state)

    def _log_end(self, number: int, state: str) -> None:
        """Log how a job ended whose start was logged."""
        query = "SELECT what, input, release FROM log WHERE job = ? AND what LIKE ?"
        for what, input, release in self._store.rows(query, (number, f"{_STARTED}%")):
            # An error may quote the table, which may be removed; the log stays.
            end = f"{_ENDS.get(state, state)} {what.removeprefix(_STARTED)}"
            self.note(end, input=input, job=number, release=release)

    def job(self, number: int) -> Job:
        """Return a job by its number."""
        return job_of(self._entry("job", JOBS, number))

    def jobs(self) -> list[Job]:
        """Return all jobs, newest first."""
        return [job_of(row) for row in self._store.rows(f"{JOBS} ORDER BY id DESC")]

    def last_job(self, room: str, input: int | None = None) -> Job | None:
        """Return the newest job of a slot; with `input`, the newest one about that table."""
        rows = self._store.rows(
            f"{JOBS} WHERE room = ?1 AND (?2 IS NULL OR input = ?2) ORDER BY id DESC LIMIT 1",
            (room, input),
        )
        return job_of(rows[0]) if rows else None

    def job_folder(self, number: int) -> Path:
        """Return the folder of a job's results."""
        return self.folder_for("jobs", str(number))

    def result(self, job: Job | None) -> Result | None:
        """Return a finished job's result, or None; `lost` gets the reason if it cannot be read."""
        if job is None or job.state != "done":
            return None
        file = self.folder / "jobs" / str(job.id) / RESULT
        try:
            result: Result = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            self.lost[job.id] = (
                f"{file}: this result cannot be read any more ({reason_of(error)}); run it again"
            )
            return None
        self.lost.pop(job.id, None)
        return result

    # Log and saved values

    def note(
        self,
        what: str,
        command: str = "",
        *,
        input: int | None = None,
        job: int | None = None,
        release: int | None = None,
    ) -> None:
        """Add a line to the log, with the user, the time, and the numbers of what it is about."""
        with self._store.changing() as run:
            run(
                "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)",
                (_now(), _who(), what, command, input, job, release),
            )

    def strike(self, words: str, instead: str) -> None:
        """Replace words in the log, and remove the commands of these lines."""
        with self._store.changing() as run:
            run(
                "UPDATE log SET what = replace(what, ?1, ?2), command = '' WHERE instr(what, ?1)",
                (words, instead),
            )

    def log(self) -> list[dict[str, str]]:
        """Return the log, newest first."""
        return self._log_lines(f"{LOG} ORDER BY rowid DESC")

    def log_of(self, release: Job) -> list[dict[str, str]]:
        """Return the lines about a release and its table, and no other release, oldest first."""
        query = (
            "SELECT at, who, CASE job WHEN ?1 THEN '(unassigned) ' ELSE '' END || what, command "
            "FROM log WHERE job = ?1 OR input = ?2 AND (release IS NULL OR release = ?3) "
            "ORDER BY rowid"
        )
        return self._log_lines(query, (_UNASSIGNED, release.input, release.id))

    def _log_lines(self, query: str, values: tuple[Any, ...] = ()) -> list[dict[str, str]]:
        rows = self._store.rows(query, values)
        return [dict(zip(("at", "who", "what", "command"), row, strict=True)) for row in rows]

    def save(self, key: str, value: Any) -> None:
        """Save a value under a key."""
        with self._store.changing() as run:
            run("INSERT OR REPLACE INTO kept (key, value) VALUES (?, ?)", (key, json.dumps(value)))

    def load(self, key: str, default: Any = None, fields: Collection[str] = ()) -> Any:
        """Return a saved value with these fields; the default if it cannot be read."""
        rows = self._store.rows("SELECT value FROM kept WHERE key = ?", (key,))
        try:
            value = json.loads(rows[0][0]) if rows else default
        except (ValueError, TypeError):
            return default
        is_whole = not fields or (isinstance(value, dict) and set(fields) <= set(value))
        is_of_its_kind = default is None or isinstance(value, type(default))
        return value if is_whole and is_of_its_kind else default

    def _entry(self, what: str, query: str, number: int) -> tuple[Any, ...]:
        rows = self._store.rows(f"{query} WHERE id = ?", (number,))
        if not rows:
            raise RecveilError(
                f"{what} {number}: there is none of this number; choose another",
                code="workbench.not-found",
            )
        return rows[0]

    def _stop_all(self) -> None:
        """Record that the jobs of a killed workbench were stopped."""
        with self._store.changing() as run:
            for (number,) in run("SELECT id FROM jobs WHERE state = 'running'").fetchall():
                self.end_job(number, "stopped")


# How the lines of the log about a job begin, by its state.
_STARTED = "started "
_ENDS = {"done": "finished", "failed": "failed in"}
# The file in a job's folder that holds its result.
RESULT = "result.json"
# Values that are saved for a table, and removed with it.
_TABLE_KEYS = ("question", "setting", "prepared")


def _key_of(table: Input, kind: str) -> str:
    if kind not in _TABLE_KEYS:
        raise ValueError(f"{kind}: not among {_TABLE_KEYS}")
    return f"{kind} {table.id}"


def _who() -> str:
    with suppress(Exception):  # a user without a name, as in some containers
        return getpass.getuser()
    return "unknown"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")


# Names of folders that the workbench creates; others stay.
_NUMBER, _DIGEST = re.compile(r"[0-9]+"), re.compile(r"[0-9a-f]{24}")


def remove_orphans(project: Project) -> None:
    """Remove copies of tables, and results, that the database does not list.

    A workbench that is killed while it removes a table may leave files. A new database lists
    nothing, so nothing is removed then.
    """
    if project.is_new:
        return
    inputs, jobs = project.inputs(), project.jobs()
    _remove_other_folders(project.folder / "jobs", {str(job.id) for job in jobs})
    _remove_other_folders(project.folder / "comparisons", {str(table.id) for table in inputs})
    dropped = {(_folder_name(each.digest), Path(each.place).name) for each in inputs if each.digest}
    _remove_other_files(project.folder / INPUT_FOLDER, dropped)
    checked = [job.settings.get("place", "") for job in jobs if job.room == "check"]
    checked.append((project.load("checked", {}, fields=("place",)) or {}).get("place", ""))
    # The project folder may have been moved since.
    _remove_other_files(
        project.folder / CHECKED, {Path(str(place)).parts[-2:] for place in checked}
    )


def _remove_other_folders(place: Path, names: Collection[str]) -> None:
    for each in place.glob("*"):
        if _NUMBER.fullmatch(each.name) and each.name not in names:
            shutil.rmtree(each, ignore_errors=True)


def _remove_other_files(place: Path, names: Collection[tuple[str, ...]]) -> None:
    for folder in place.glob("*"):
        if not _DIGEST.fullmatch(folder.name):
            continue
        with suppress(OSError):
            for file in folder.iterdir():
                if (folder.name, file.name) not in names:
                    file.unlink()
        with suppress(OSError):  # the same bytes under another name
            folder.rmdir()
