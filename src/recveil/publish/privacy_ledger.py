"""Ledger of a publisher: what all runs spent on the same users, wherever they were written.

It is one SQLite file that only the publisher can read. Each run is recorded with all that it may
spend before its first query, and settled afterwards, so a run that was killed counts in full. Two
runs at once wait for each other's lock.

Users are recorded by a keyed hash of their id of 64 bits, whose key is in the file. So the file
contains no id, and its hashes match no other list; but an adversary with all of it can test whether
a given id is in it, as with a private folder.

The privacy losses of a user's runs add up in squares, since the queries of all runs are one
adaptive composition (Dong, Roth & Su 2022, Corollary 3.3). A table that grew shares users with the
earlier one: the total is that of the user with the largest sum.
"""

import hashlib
import math
import os
import secrets
import sqlite3
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from recveil.io import understand
from recveil.io.columns.ids import plain_number
from recveil.io.columns.repeated_rows import fold
from recveil.io.ingestion import warn_of_reading
from recveil.io.options import ReadingOptions
from recveil.publish.history import Promised, each_run
from recveil.ratings.sorted_rows import sorted_unique
from recveil.release.dates import Cohort, cohort_of
from recveil.release.ledger import Ledger, compose_losses
from recveil.release.manifest import MANIFEST, FileEntry, private_folder
from recveil.release.manifest_reader import known_manifest
from recveil.release.method import SAMPLED_FROM
from recveil.release.private_folder import digest_of
from recveil.runtime.atomic_writes import make_folder, reject_in_release
from recveil.runtime.devices import reject_traps
from recveil.runtime.errors import RecveilError, quoted, reason_of
from recveil.runtime.locks import FOR_OWNER, NOT_FOLLOWED, is_ours
from recveil.runtime.reportable import Described, reporter_of
from recveil.runtime.safe_repr import brief
from recveil.verification import verify

# Names the file where no option does; `NO_LEDGER` in place of a path records nothing.
LEDGER_VARIABLE, NO_LEDGER = "RECVEIL_LEDGER", "none"
# "rcvl" and the version of the tables.
_APPLICATION, _VERSION = 0x7263766C, 1
_TABLES = (
    "CREATE TABLE secret (key BLOB NOT NULL)",
    "CREATE TABLE populations (id INTEGER PRIMARY KEY, digest BLOB UNIQUE NOT NULL,"
    " users BLOB NOT NULL)",
    "CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, token BLOB UNIQUE NOT NULL,"
    " began TEXT NOT NULL,"
    " state TEXT NOT NULL, mu REAL NOT NULL, delta REAL NOT NULL, threshold_delta REAL NOT NULL,"
    " ratings TEXT NOT NULL, population INTEGER NOT NULL REFERENCES populations)",
    "CREATE TABLE outputs (run INTEGER NOT NULL REFERENCES runs, folder TEXT NOT NULL,"
    " sha256 TEXT NOT NULL)",
)
# The days of the first ratings of the users of some runs; older files get this table.
_COHORTS = "CREATE TABLE IF NOT EXISTS cohorts (run INTEGER PRIMARY KEY, days TEXT NOT NULL)"
_BEFORE, _AFTER = -(2**31), 2**31
# So many seconds does a run wait for another one that writes.
_PATIENCE = 30.0
_HASH_BYTES, _KEY_BYTES, _TOKEN_BYTES = 8, 32, 16
_HASHES = np.dtype("<u8")
# Sums of squares are rounded up by more than the error of any order of summation.
_ROUNDED_UP = 1 + 1e-9


class PrivacyLossWarning(UserWarning):
    """What earlier runs spent on the same users, before another one draws noise."""


State: TypeAlias = Literal["begun", "spent", "aborted"]
# Ids of users, or a function that returns their hashes by a key
Users: TypeAlias = NDArray[Any] | Callable[[bytes], NDArray[np.uint64]]


class Loss(NamedTuple):
    """The privacy loss of a run."""

    mu: float
    delta: float
    # The part of delta for the threshold on item ids
    threshold_delta: float = 0.0

    @classmethod
    def of(cls, ledger: Ledger, delta: float) -> "Loss":
        """Return the loss of the queries of a release."""
        return cls(ledger.mu, delta, ledger.threshold_delta)


class Plan(NamedTuple):
    """The total budget of several releases of the same users."""

    epsilon: float
    delta: float
    releases: int

    def require(self, total: "PrivacyTotal") -> None:
        """Raise a RecveilError if a total with the planned run exceeds the budget."""
        spent = total.epsilon if total.epsilon_with_run is None else total.epsilon_with_run
        if spent > self.epsilon or total.delta > self.delta:
            raise RecveilError(
                f"releases (--releases) is {self.releases}: the total is epsilon {self.epsilon:g} "
                f"with delta {self.delta:g}, but with this run the most exposed user would have "
                f"spent {spent:.4g} with delta {total.delta:g}; no query was answered; publish no "
                f"more of these users, or plan a larger total",
                code="budget.exceeded",
            )


@brief
class Run(NamedTuple):
    """A run that asked queries about users."""

    number: int
    # Time in UTC, ISO 8601
    began: str
    # "begun" if it was killed or is still running, "aborted" after an error
    state: State
    # All that it planned to spend if it is "begun", else what it spent
    loss: Loss
    n_users: int
    # Keyed digest of its ratings; "" if unknown
    ratings: str
    # Where its release was written; none if it was not
    outputs: tuple[str, ...]
    # The days of the first ratings of its users; "" for all users of a table
    cohort: str = ""

    @property
    def epsilon(self) -> float:
        """The epsilon of its queries alone at its delta."""
        return compose_losses([self.loss.mu], [self.loss.threshold_delta], self.loss.delta)[0]

    def _facts(self) -> dict[str, object]:
        return {"": self.number, "state": self.state, "epsilon": self.epsilon}


@brief
@dataclass(frozen=True)
class PrivacyTotal(Described):
    """What all runs together spent on the most exposed user of a table.

    Attributes
    ----------
    ledger : Path or None
        The ledger; None if nothing is recorded.
    runs : tuple of Run
        The recorded runs of any of the users.
    n_users, n_shared : int
        Users, and those of them who are in any of the runs.
    epsilon, delta : float
        What the most exposed user has spent; infinite if no guarantee remains.
    epsilon_with_run : float or None
        The same with the run that is planned.
    n_unrecorded : int
        Releases in the same folder that the ledger lacks; they are part of the total.
    is_same_table : bool
        Whether all runs are of the same ratings; else equal ids may be other users.
    is_new : bool
        Whether the ledger has no run at all yet.
    """

    ledger: Path | None
    runs: tuple[Run, ...]
    n_users: int
    n_shared: int
    epsilon: float
    delta: float
    epsilon_with_run: float | None = None
    n_unrecorded: int = 0
    is_same_table: bool = True
    is_new: bool = False

    def _facts(self) -> dict[str, object]:
        return {"runs": len(self.runs), "epsilon": self.epsilon, "delta": self.delta}


def ledger_path(ledger: str | PathLike[str] | None = None) -> Path | None:
    """Return where the ledger is; None if nothing is to be recorded."""
    chosen = os.environ.get(LEDGER_VARIABLE) if ledger is None else os.fspath(ledger)
    if chosen == NO_LEDGER:
        return None
    if chosen:
        return Path(chosen).absolute()
    # The XDG specification ignores relative paths.
    state = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA") or ""
    with suppress(RuntimeError):
        folder = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
        return folder / "recveil" / "ledger.sqlite3"
    raise RecveilError(
        f"ledger (--ledger): this user has no home folder to keep it in; name a file, or set "
        f"{LEDGER_VARIABLE}",
        code="ledger.unusable",
    )


def reject_ledger_in(ledger: Path, output: Path) -> None:
    """Raise a RecveilError if the ledger would be published, or replaced with a release."""
    folders = {output.resolve(), private_folder(output).resolve()}
    if folders & {*ledger.resolve().parents}:
        raise RecveilError(
            f"ledger (--ledger): {ledger.name} is in the output {output.name}, which is published "
            f"or replaced; choose a file in another folder",
            code="output.place",
        )


class PrivacyLedger:
    """The ledger in a file, which is created by the first run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, users: Users, ratings_sha256: str, planned: Loss, cohort: str = "") -> bytes:
        """Record a run before its first query; return its random token, unique also among files."""
        self._create()
        with self._transaction("IMMEDIATE") as ledger:
            key = _key_of(ledger)
        hashes = _hashed(users, key)  # takes long for many users, while other runs may write
        with self._transaction("IMMEDIATE") as ledger:
            digest = hashlib.sha256(hashes.tobytes()).digest()
            ledger.execute(
                "INSERT OR IGNORE INTO populations (digest, users) VALUES (?, ?)",
                (digest, hashes.tobytes()),
            )
            began = datetime.now(UTC).isoformat(timespec="seconds")
            token = secrets.token_bytes(_TOKEN_BYTES)
            ledger.execute(
                "INSERT INTO runs (token, began, state, mu, delta, threshold_delta, ratings,"
                " population) SELECT ?, ?, 'begun', ?, ?, ?, ?, id FROM populations"
                " WHERE digest = ?",
                (token, began, *planned, _keyed(ratings_sha256, key), digest),
            )
            if cohort:
                ledger.execute(
                    "INSERT INTO cohorts SELECT number, ? FROM runs WHERE token = ?",
                    (cohort, token),
                )
        return token

    def settle(self, token: bytes, state: State, spent: Loss | None) -> bool:
        """Record what a run spent, or remove it if no query was answered; False if it is gone."""
        with self._transaction("IMMEDIATE") as ledger:
            if spent is None:
                ledger.execute(
                    "DELETE FROM cohorts WHERE run IN (SELECT number FROM runs WHERE token = ?)",
                    (token,),
                )
                ledger.execute("DELETE FROM runs WHERE token = ?", (token,))
                return True
            changed = ledger.execute(
                "UPDATE runs SET state = ?, mu = ?, delta = ?, threshold_delta = ? WHERE token = ?",
                (state, *spent, token),
            )
            return changed.rowcount == 1

    def place(self, token: bytes, folder: Path) -> None:
        """Record where the release of a run was written, if the file has the run."""
        sha256 = FileEntry.of(folder / MANIFEST).sha256
        with self._transaction("IMMEDIATE") as ledger:
            ledger.execute(
                "INSERT INTO outputs SELECT number, ?, ? FROM runs WHERE token = ?",
                (str(folder.absolute()), sha256, token),
            )

    def total(
        self,
        users: Users | None = None,
        ratings_sha256: str = "",
        *,
        planned: Loss | None = None,
        history: Iterable[Promised] = (),
        delta: float | None = None,
    ) -> PrivacyTotal:
        """Return what the most exposed of some users, or of all, has spent.

        `planned` is a run to be added, as are releases of these users in `history` that the ledger
        lacks. `delta` is by default the smallest one of all runs.
        """
        if not self._exists():
            return total_without(users, planned, history, delta, ledger=self.path)
        with self._transaction("DEFERRED") as ledger:
            if not _is_ready(ledger):  # created by a run that has recorded nothing yet
                return total_without(users, planned, history, delta, ledger=self.path)
            key = _key_of(ledger)
            runs, populations = _runs_of(ledger)
            written = {sha256 for (sha256,) in ledger.execute("SELECT sha256 FROM outputs")}
            read = {}
            for number, digest, content in ledger.execute("SELECT * FROM populations"):
                if hashlib.sha256(content).digest() != digest:
                    raise ValueError("its users are damaged")
                read[number] = np.frombuffer(content, _HASHES)
            if not {*populations} <= read.keys():
                raise ValueError("the users of a run are missing")
        is_new = not runs
        all_hashes = [read[number] for number in set(populations)]
        hashes = (
            np.unique(np.concatenate([np.empty(0, _HASHES), *all_hashes]))
            if users is None
            else _hashed(users, key)
        )
        squares, thresholds = np.zeros(hashes.size), np.zeros(hashes.size)
        shared = np.zeros(hashes.size, np.bool_)
        kept = []
        for number, stored in read.items():
            of_it = [run for run, each in zip(runs, populations, strict=True) if each == number]
            is_in = np.isin(hashes, stored, assume_unique=True)
            if not of_it or not is_in.any():
                continue
            shared |= is_in
            squares[is_in] += math.fsum(run.loss.mu**2 for run in of_it)
            thresholds[is_in] += math.fsum(run.loss.threshold_delta for run in of_it)
            kept += of_it
        before = [each for each in each_run(history) if each.sha256 not in written]
        total = _composed(
            float(squares.max(initial=0.0)),
            float(thresholds.max(initial=0.0)),
            [run.loss.delta for run in kept],
            planned,
            before,
            delta,
        )
        tables = {run.ratings for run in kept}
        if users is not None:
            tables.add(_keyed(ratings_sha256, key))
        return replace(
            total,
            ledger=self.path,
            runs=tuple(sorted(kept, key=lambda run: run.number)),
            n_users=hashes.size,
            n_shared=int(shared.sum()),
            is_same_table=len(tables) <= 1 and "" not in tables,
            is_new=is_new,
        )

    def _exists(self) -> bool:
        try:
            if stat.S_ISREG(self.path.stat().st_mode):
                return True
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._unusable(error) from error
        raise self._unusable(ValueError("it is no plain file"))

    def _create(self) -> None:
        """Create an empty file for the current user alone, or restrict an older one to them."""
        reject_traps(self.path)
        reject_in_release(self.path)
        try:
            folders = [self.path.parent, *self.path.parent.parents]
            for folder in reversed([each for each in folders if not each.exists()]):
                make_folder(folder, exist_ok=True)
            with suppress(FileExistsError):
                flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | NOT_FOLLOWED
                os.close(os.open(self.path, flags, FOR_OWNER))
            found = self.path.stat()
            if is_ours(found) and found.st_mode & 0o777 != FOR_OWNER:
                self.path.chmod(FOR_OWNER)
        except OSError as error:
            raise self._unusable(error) from error

    @contextmanager
    def _transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[sqlite3.Connection]:
        """Yield the ledger in a transaction, which is undone if the block fails."""
        try:
            address = f"{self.path.as_uri()}?mode=rw"
            with closing(
                sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)
            ) as ledger:
                ledger.execute(f"BEGIN {kind}")
                try:
                    if kind == "IMMEDIATE":
                        _prepare(ledger)
                    yield ledger
                except BaseException:
                    ledger.rollback()
                    raise
                ledger.commit()
        except (OSError, sqlite3.Error, TypeError, ValueError) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> RecveilError:
        return RecveilError(
            f"ledger (--ledger): {quoted(str(self.path), 80)} cannot be used "
            f"({reason_of(error)[:60]}); repair or restore it, or name another file; none records "
            f"nothing",
            code="ledger.unusable",
        )


def total_without(
    users: Users | None,
    planned: Loss | None,
    history: Iterable[Promised] = (),
    delta: float | None = None,
    *,
    ledger: Path | None = None,
) -> PrivacyTotal:
    """Return the total of a planned run and of releases, without a ledger or with an empty one."""
    total = _composed(0.0, 0.0, [], planned, each_run(history), delta)
    n_users = len(users) if isinstance(users, np.ndarray) else 0
    return replace(total, ledger=ledger, n_users=n_users, is_new=ledger is not None)


class Recording:
    """The entry of one run in the ledger."""

    def __init__(
        self,
        ledger: PrivacyLedger,
        users: Users,
        ratings_sha256: str = "",
        *,
        cohort: str = "",
        plan: Plan | None = None,
    ) -> None:
        self._ledger, self._users, self._ratings_sha256 = ledger, users, ratings_sha256
        self._cohort, self._plan = cohort, plan
        self._token = b""

    def total(self, planned: Loss | None, history: Iterable[Promised] = ()) -> PrivacyTotal:
        """Return the total with a planned run, or raise if the plan or cohorts do not allow it."""
        delta = None if self._plan is None else self._plan.delta
        total = self._ledger.total(
            self._users, self._ratings_sha256, planned=planned, history=history, delta=delta
        )
        if self._cohort:
            _require_one_cohort(total, Cohort.of(self._cohort))
        if self._plan is not None:
            self._plan.require(total)
        return total

    def _begin(self, loss: Loss) -> bytes:
        return self._ledger.begin(self._users, self._ratings_sha256, loss, self._cohort)

    def _require_allowed(self) -> None:
        """Undo the entry of this run, and raise, if the plan or cohorts do not allow it."""
        try:
            self.total(None)  # of two runs at once, each counts the other
        except RecveilError:
            self._ledger.settle(self._token, "aborted", None)
            raise

    @contextmanager
    def run(self, planned: Loss, spent: Callable[[], Loss | None]) -> Iterator[None]:
        """Record a run around its queries: first all that is planned, then what was spent.

        If the latter fails, as the file may be gone, it warns, and the entry keeps what was
        planned, which is never less.
        """
        self._token = self._begin(planned)
        self._require_allowed()
        state: State = "aborted"
        try:
            yield
            state = "spent"
        finally:
            try:
                self._settle(state, spent())
            except RecveilError as error:
                warnings.warn(f"Privacy ledger: {error}", UserWarning, stacklevel=4)

    def _settle(self, state: State, loss: Loss | None) -> None:
        if not self._ledger.settle(self._token, state, loss) and loss is not None:
            # The file was replaced during the run.
            self._token = self._begin(loss)
            self._ledger.settle(self._token, state, loss)

    def place(self, folder: Path) -> None:
        """Record where the release was written; a failure changes no total."""
        with suppress(RecveilError, OSError):
            self._ledger.place(self._token, folder)


def _require_one_cohort(total: PrivacyTotal, cohort: Cohort) -> None:
    """Raise if a run on any of the users was of a disjoint cohort: their first dates differ."""
    for run in total.runs:
        if run.cohort and Cohort.of(run.cohort).is_disjoint(cohort):
            raise RecveilError(
                f"cohort (--cohort) is {cohort}, but users of it were in cohort {run.cohort} of "
                f"run {run.number} in the ledger, though each has one first date; no query was "
                f"answered; give a table with all their ratings, or name another ledger "
                f"(--ledger) if equal ids are other users",
                code="budget.cohorts",
            )


def warn_of_total(total: PrivacyTotal) -> None:
    """Warn of what earlier runs spent, and of a ledger that begins now."""
    if total.runs or total.n_unrecorded or total.is_new:
        warnings.warn(
            str(reporter_of(total).describe_total(total)), PrivacyLossWarning, stacklevel=4
        )


def most_exposed(runs: Sequence[tuple[Loss, Cohort]]) -> tuple[float, float, float]:
    """Return the largest sums of mu squared, parts of delta and deltas, of the users of any day.

    >>> january, february = Cohort.of("2026-01"), Cohort.of("2026-02")
    >>> most_exposed([(Loss(3.0, 1e-6), january), (Loss(2.0, 1e-6), february)])
    (9.0, 0.0, 1e-06)
    """
    square = threshold = delta = 0.0
    for _, cohort in runs:  # of any day, no more runs than of the first of some cohort
        day = np.array([_BEFORE if cohort.first is None else cohort.first])
        of_user = [loss for loss, other in runs if other.contains(day)[0]]
        square = max(square, math.fsum(loss.mu**2 for loss in of_user))
        threshold = max(threshold, math.fsum(loss.threshold_delta for loss in of_user))
        delta = max(delta, math.fsum(loss.delta for loss in of_user))
    return square, threshold, delta


# Settings that a model and its samples do not share
_OF_SAMPLES = "n_users", SAMPLED_FROM, "answers"


def _published_total(folders: Iterable[Path], delta: float | None) -> PrivacyTotal:
    """Return what releases spent on the most exposed user; disjoint cohorts do not add up."""
    # Their deltas add up alike, unless one is given.
    runs: dict[str, tuple[Run, Cohort]] = {}
    models: dict[str, object] = {}
    reused: dict[str, tuple[Loss, str]] = {}
    for folder in folders:
        manifest = known_manifest(folder)
        claim, cohort = manifest.claim, cohort_of(manifest.settings)
        if claim.ledger is None or claim.delta is None:
            raise RecveilError(
                f"{quoted(folder.name)} has no epsilon, so it spends no privacy budget; name only "
                f"releases with an epsilon",
                code="release.mismatch",
            )
        if wrong := verify(folder).violations:
            raise RecveilError(
                f"{quoted(folder.name)} does not hold, so that its release.json states no budget: "
                f"{wrong[0].where}: {wrong[0].problem}; name the folder as it was "
                f"written (recveil verify)",
                code="release.damaged",
            )
        loss = Loss.of(claim.ledger.of_itself, claim.delta / (1 + len(claim.ledger.earlier)))
        # Each release whose noisy sums it reuses has spent as much.
        reused |= dict.fromkeys(claim.ledger.earlier, (loss, f"reused by {folder.name}"))
        # Sampling from a model postprocesses it, and spends nothing more.
        sha256 = FileEntry.of(folder / MANIFEST).sha256
        source = manifest.settings.get(SAMPLED_FROM, sha256)
        settings = {
            name: value for name, value in manifest.settings.items() if name not in _OF_SAMPLES
        }
        model = claim, manifest.scale, settings  # noisy answers of the model among them
        if models.setdefault(source, model) != model:  # of another model
            source = sha256
        run = Run(len(runs) + 1, "", "spent", loss, 0, "", (), str(cohort or ""))
        run, days = runs.get(source, (run, cohort or Cohort(None, _AFTER)))
        outputs = tuple(dict.fromkeys([*run.outputs, str(folder)]))
        runs[source] = (run._replace(outputs=outputs), days)
    for sha256, (loss, place) in reused.items():
        run = Run(len(runs) + 1, "", "spent", loss, 0, "", (place,), "")
        runs.setdefault(sha256, (run, Cohort(None, _AFTER)))
    square, threshold, added = most_exposed([(run.loss, days) for run, days in runs.values()])
    total = _composed(square, threshold, [added], None, (), delta)
    return replace(total, runs=tuple(run for run, _ in runs.values()))


def budget(
    source: Any = None,
    *,
    ledger: str | PathLike[str] | None = None,
    delta: float | None = None,
    **reading: Unpack[ReadingOptions],
) -> PrivacyTotal:
    """Return what all recorded runs spent on the most exposed user of a table.

    Parameters
    ----------
    source : path, data frame, matrix, Ratings or list of paths, optional
        The table whose users are meant; by default all users of the ledger. Or the folders of
        releases, or one of them: the total then follows from their release.json alone, in which
        only releases of disjoint cohorts do not add up.
    ledger : path, optional
        The ledger; not for releases. By default the file that the environment variable
        RECVEIL_LEDGER names, or ``recveil/ledger.sqlite3`` in the folder for the user's state.
    delta : float, optional
        The delta of the total; by default the smallest one of the runs, and of releases the sum
        of the most exposed user.
    **reading
        Options of reading, passed to `understand`.

    Returns
    -------
    PrivacyTotal

    Raises
    ------
    RecveilError
        If the table or the ledger cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     budget(ledger=Path(folder, "ledger.sqlite3")).runs
    ()
    """
    if delta is not None and not 0 < delta < 1:
        raise RecveilError(
            f"delta (--delta) is {delta:g}; expected more than 0 and less than 1",
            code="option.value",
        )
    if folders := _release_folders(source):
        if ledger is not None:
            raise RecveilError(
                "ledger (--ledger): the total of releases follows from release.json; drop it",
                code="option.conflict",
            )
        return _published_total(folders, delta)
    path = ledger_path(ledger)
    if path is None:
        raise RecveilError(
            "ledger (--ledger) is none: nothing is recorded; name the file of a ledger",
            code="option.value",
        )
    if source is None:
        return PrivacyLedger(path).total(delta=delta)
    found = understand(source, times=False, **reading)
    warn_of_reading(found)
    digest = digest_of(found.ratings)
    return PrivacyLedger(path).total(found.ratings.users, digest, delta=delta)


def _release_folders(source: Any) -> list[Path]:
    """Return the folders of releases that were named; none for a table."""
    if isinstance(source, str | PathLike):
        return [Path(source)] if Path(source, MANIFEST).is_file() else []
    if not isinstance(source, list | tuple):
        return []
    is_paths = all(isinstance(each, str | PathLike) for each in source)
    return [Path(each) for each in source] if is_paths else []


def hash_users(ids: Iterable[Any], key: bytes) -> NDArray[np.uint64]:
    """Return the keyed hashes of the ids of users, in their order.

    Notations of one id (capitals, blanks, zeros in front of a number, ``.0``, exponents) have the
    same hash: different users of one hash share their losses, which is never less than each has.
    """
    keyed = hashlib.blake2b(key=key, digest_size=_HASH_BYTES)

    def hashed(user: Any) -> bytes:
        each, text = keyed.copy(), plain_number(fold(str(user).strip()))
        text = text.lstrip("0") or "0" if text.isdecimal() else text
        each.update(text.encode("utf-8", "surrogatepass"))
        return each.digest()

    return np.frombuffer(b"".join(map(hashed, ids)), _HASHES)


def _hashed(users: Users, key: bytes) -> NDArray[np.uint64]:
    hashes = users(key) if callable(users) else hash_users(users.tolist(), key)
    return sorted_unique(hashes.astype(_HASHES))


def _keyed(sha256: str, key: bytes) -> str:
    """Return a keyed digest of a table's digest; "" if there is none."""
    return hashlib.blake2b(sha256.encode(), key=key, digest_size=16).hexdigest() if sha256 else ""


def _is_ready(ledger: sqlite3.Connection) -> bool:
    """Return whether the tables exist; raise for a file of another kind or a later version."""
    (application,) = ledger.execute("PRAGMA application_id").fetchone()
    (version,) = ledger.execute("PRAGMA user_version").fetchone()
    (n_tables,) = ledger.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    if (application, version) == (_APPLICATION, _VERSION):
        return True
    if n_tables or (application, version) != (0, 0):
        raise ValueError("no ledger that this recveil knows")
    return False


def _prepare(ledger: sqlite3.Connection) -> None:
    """Create the tables in an empty file, and draw its key."""
    is_ready = _is_ready(ledger)
    ledger.execute(_COHORTS)
    if is_ready:
        return
    for table in _TABLES:
        ledger.execute(table)
    ledger.execute("INSERT INTO secret VALUES (?)", (secrets.token_bytes(_KEY_BYTES),))
    ledger.execute(f"PRAGMA application_id = {_APPLICATION}")
    ledger.execute(f"PRAGMA user_version = {_VERSION}")


def _key_of(ledger: sqlite3.Connection) -> bytes:
    (key,) = ledger.execute("SELECT key FROM secret").fetchone()
    if not isinstance(key, bytes) or len(key) != _KEY_BYTES:
        raise ValueError("its key is damaged")
    return key


def _runs_of(ledger: sqlite3.Connection) -> tuple[list[Run], list[int]]:
    outputs: dict[int, list[str]] = {}
    for number, folder in ledger.execute("SELECT run, folder FROM outputs ORDER BY rowid"):
        outputs.setdefault(number, []).append(folder)
    has_cohorts = ledger.execute("SELECT 1 FROM sqlite_master WHERE name = 'cohorts'").fetchone()
    cohorts = dict(ledger.execute("SELECT run, days FROM cohorts")) if has_cohorts else {}
    rows = ledger.execute(
        "SELECT number, began, state, mu, delta, threshold_delta, ratings, population,"
        " length(users) FROM runs LEFT JOIN populations ON population = id ORDER BY number"
    ).fetchall()
    for _, _, _, mu, delta, threshold, *_ in rows:
        if not (0 < mu < math.inf and 0 < delta < 1 and 0 <= threshold < 1):
            raise ValueError("the loss of a run is damaged")
    runs = [
        Run(
            number=number,
            began=began,
            state=state,
            loss=Loss(mu, delta, threshold),
            n_users=(n_bytes or 0) // _HASH_BYTES,
            ratings=ratings,
            outputs=tuple(outputs.get(number, ())),
            cohort=cohorts.get(number, ""),
        )
        for number, began, state, mu, delta, threshold, ratings, _, n_bytes in rows
    ]
    return runs, [row[-2] for row in rows]


def _composed(
    square: float,
    threshold: float,
    deltas: list[float],
    planned: Loss | None,
    history: Sequence[Promised],
    delta: float | None,
) -> PrivacyTotal:
    """Return a total of recorded sums, of releases, and of a planned run."""
    mus = [math.sqrt(square) * _ROUNDED_UP, *(each.mu or 0.0 for each in history)]
    thresholds = [threshold * _ROUNDED_UP, *(each.threshold_delta or 0.0 for each in history)]
    deltas = [*deltas, *(each.delta for each in history if each.delta)]
    epsilon_with_run = None
    if planned is not None:
        deltas = [*deltas, planned.delta]
        chosen = min(deltas) if delta is None else delta
        epsilon_with_run, chosen = compose_losses(
            [*mus, planned.mu], [*thresholds, planned.threshold_delta], chosen
        )
    else:
        chosen = (min(deltas) if deltas else 1e-6) if delta is None else delta
    epsilon, chosen = compose_losses(mus, thresholds, chosen)
    return PrivacyTotal(
        ledger=None,
        runs=(),
        n_users=0,
        n_shared=0,
        epsilon=epsilon,
        delta=chosen,
        epsilon_with_run=epsilon_with_run,
        n_unrecorded=len(history),
    )
