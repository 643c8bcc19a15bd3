"""Jobs, each in a process of its own, so that pages respond while work runs."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from recveil.runtime.errors import RecveilError, reason_of
from recveil.runtime.number_format import format_duration, percent
from recveil.runtime.progress import HowFar
from recveil.runtime.safe_repr import brief
from recveil.workbench.project import Job, Project, Settings

# Seconds after which a cancelled process is killed; the next run cleans up after it.
_PATIENCE = 20.0


@brief
class Running:
    """A running job and its progress."""

    def __init__(self, job: Job, process: "subprocess.Popen[bytes] | None" = None) -> None:
        self.job, self.process = job, process
        self.hear(HowFar(0.0, "", None))
        self.reports: list[tuple[str, Any]] = []
        self.is_cancelled = False
        self.has_ended = threading.Event()

    def hear(self, progress: HowFar) -> None:
        """Store what the worker reports."""
        self.progress, self._heard_at = progress, time.monotonic()

    @property
    def time_left(self) -> str:
        """The remaining time, which decreases with the clock between two reports."""
        _, _, seconds, is_late = self.progress
        left = None if seconds is None else seconds - (time.monotonic() - self._heard_at)
        about = f"about {format_duration(left)} left" if left is not None and left > 0 else ""
        is_late = is_late or (left is not None and not about)
        return ", ".join(filter(None, [about, "longer than estimated" * is_late]))

    def _facts(self) -> dict[str, object]:
        return {"task": self.job.task, "done": percent(self.progress.fraction)}


class Jobs:
    """The jobs of a project, of which at most one runs per slot."""

    def __init__(self, project: Project, *, has_spare: bool = False) -> None:
        self._project = project
        self._has_spare = has_spare
        self._spare = _open_worker() if has_spare else None
        self._running: dict[int, Running] = {}
        self._lock = threading.RLock()
        self._is_closed = False
        # State and error of ended jobs that could not be written, as on a full disk.
        self._unnoted: dict[int, tuple[str, str]] = {}
        # Errors with notes, such as the id of an erased user, which must not be written.
        self._errors_with_notes: dict[int, str] = {}

    def start(
        self,
        room: str,
        task: str,
        settings: Settings,
        *,
        command: str = "",
        input: int | None = None,
        then: Callable[[Job], object] | None = None,
        doing: str = "",
        release: int | None = None,
    ) -> Job:
        """Start a job; a running job of the same slot is cancelled, and ends first.

        The log states the start and the end of what it is `doing`.
        """
        with self._lock:
            if self._is_closed:
                raise RecveilError(
                    "the workbench is being closed: no job is started", code="workbench.closing"
                )
            self._retry_notes()
            earlier = [each for each in self._running.values() if each.job.room == room]
            self.cancel_room(room)
            job = self._project.begin_job(room, task, settings, command, input, doing, release)
            running = Running(job)
            if not earlier:
                running.process = self._start_process(job)
            self._running[job.id] = running
            threading.Thread(target=self._watch, args=(running, earlier, then), daemon=True).start()
        return job

    def running(self, number: int) -> Running | None:
        """Return the running state of a job; None if it has ended."""
        with self._lock:
            return self._running.get(number)

    def running_in(self, room: str) -> Running | None:
        """Return the running job of a slot; None if there is none."""
        with self._lock:
            running = [each for each in self._running.values() if each.job.room == room]
            return running[-1] if running else None

    def cancel(self, number: int) -> None:
        """Ask a job to end; it cleans up first."""
        with self._lock:
            running = self._running.get(number)
            if running is None or running.is_cancelled:
                return
            running.is_cancelled = True
        if running.process is None:  # it has not started
            return
        _close(running.process.stdin)
        killer = threading.Timer(_PATIENCE, running.process.kill)
        killer.daemon = True
        killer.start()

    def cancel_room(self, room: str) -> None:
        """Ask the running jobs of a slot to end."""
        with self._lock:
            for running in [each for each in self._running.values() if each.job.room == room]:
                self.cancel(running.job.id)

    def end_all_of(self, input: int) -> None:
        """Cancel the jobs on an input, and wait until they have ended."""
        self._end_all(lambda running: running.job.input == input)

    def end_room(self, room: str) -> None:
        """Cancel the jobs of a slot, and wait until they have ended."""
        self._end_all(lambda running: running.job.room == room)

    def _end_all(self, is_selected: Callable[[Running], bool]) -> None:
        while True:  # a job that ends may start the next one
            with self._lock:
                selected = [each for each in self._running.values() if is_selected(each)]
            if not selected:
                return
            for running in selected:
                self.cancel(running.job.id)
                running.has_ended.wait(2 * _PATIENCE)

    def close(self) -> None:
        """Cancel all jobs, and wait until they have cleaned up."""
        with self._lock:
            self._is_closed = True
            left = list(self._running.values())
            if self._spare is not None:
                _close(self._spare.stdin)
                self._spare.wait(_PATIENCE)
                _close(self._spare.stdout)
        begun = [each.process for each in left if each.process is not None]
        for process in begun:
            _close(process.stdin)
        for running in left:
            if not running.has_ended.wait(_PATIENCE):
                for process in begun:
                    process.kill()
                running.has_ended.wait(_PATIENCE)

    def unnoted(self) -> dict[int, str]:
        """Return the errors of jobs that are not, or not as a whole, in the project."""
        with self._lock:
            return self._errors_with_notes | {
                number: error
                or f"It is {state}, but that could not be written to the project: its disk may be "
                f"full. Make room, and run it again."
                for number, (state, error) in self._unnoted.items()
            }

    def _start_process(self, job: Job) -> "subprocess.Popen[bytes]":
        """Start a job's process, or record that it could not be started."""
        try:
            return self._assign_process(job)
        except OSError as error:
            reason = f"no process can work on it ({reason_of(error)}); make room, and run it again"
            self._note(job.id, "failed", reason)
            raise RecveilError(f"{job.task}: {reason}", code="workbench.process") from None

    def _note(self, number: int, state: str, error: str) -> bool:
        """Record how a job ended, at least in memory; return whether it was written."""
        try:
            self._project.end_job(number, state, error)
        except RecveilError:
            with self._lock:
                self._unnoted[number] = state, error
            return False
        with self._lock:
            self._unnoted.pop(number, None)
        return True

    def _retry_notes(self) -> None:
        for number, (state, error) in list(self._unnoted.items()):
            self._note(number, state, error)

    def _assign_process(self, job: Job) -> "subprocess.Popen[bytes]":
        """Give a job to the spare process, or to a new one."""
        folder = self._project.job_folder(job.id)
        request = {"task": job.task, "settings": job.settings, "folder": str(folder)}
        process, self._spare = self._spare or _open_worker(), None
        try:
            _send(process, request)
        except BrokenPipeError:  # the spare process has ended
            process.wait()
            process = _open_worker()
            _send(process, request)
        if self._has_spare:
            self._spare = _open_worker()
        return process

    def _watch(
        self, running: Running, earlier: list[Running], then: Callable[[Job], object] | None
    ) -> None:
        """Read a worker's reports until it ends, and record how it ended."""
        for each in earlier:  # so that many clicks start one process at a time
            each.has_ended.wait()
        try:
            state, error = self._wait_for_end(running)
            if state == "cancelled" and not running.is_cancelled:
                state = "stopped"
            is_noted = self._note(running.job.id, state, error)
            if state == "done" and is_noted and then is not None:
                with suppress(RecveilError):  # no job starts while the workbench closes
                    then(running.job)
        finally:
            with self._lock:
                del self._running[running.job.id]
            running.has_ended.set()

    def _wait_for_end(self, running: Running) -> tuple[str, str]:
        """Wait for a job to end; return its state and its error."""
        with self._lock:
            if running.process is None and not (running.is_cancelled or self._is_closed):
                try:
                    running.process = self._assign_process(running.job)
                except OSError as error:
                    reason = reason_of(error)
                    return (
                        "failed",
                        f"no process can work on it ({reason}); make room; run it again",
                    )
        process = running.process
        if process is None:
            return "cancelled", ""
        ended = _read_reports(running, process)
        process.wait()
        _close(process.stdin)
        _close(process.stdout)
        if ended is None:
            return self._describe_death(running, process.returncode)
        state, reason, *notes = ended
        if notes:
            with self._lock:
                self._errors_with_notes[running.job.id] = "; ".join([reason, *notes])
        return state, reason

    def _describe_death(self, running: Running, code: int) -> tuple[str, str]:
        """Describe the end of a worker that did not report one."""
        if running.is_cancelled or self._is_closed:
            return "cancelled", ""
        ending = f"by signal {-code}" if code < 0 else f"with code {code}"
        return "failed", (
            f"its process ended {ending} without a report; if memory is short, "
            f"close other programs; run it again"
        )


def _read_reports(running: Running, process: "subprocess.Popen[bytes]") -> list[str] | None:
    """Store a worker's reports; return its state and error, if it reports them."""
    ended: list[str] | None = None
    for line in process.stdout or ():
        try:
            report = json.loads(line)
        except ValueError:  # a line that was cut off
            continue
        if "progress" in report:
            running.hear(HowFar(*report["progress"]))
        elif "ended" in report:
            ended = ended or report["ended"]
        else:
            running.reports += report.items()
    return ended


def _open_worker() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        # -P: the current folder is not searched for modules.
        [sys.executable, "-P", "-m", "recveil.workbench.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C reaches the workbench alone, which ends its workers
    )


def _send(process: "subprocess.Popen[bytes]", request: Mapping[str, Any]) -> None:
    if process.stdin is not None:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()


def _close(stream: IO[bytes] | None) -> None:
    if stream is not None:
        try:
            stream.close()
        except BrokenPipeError:  # the worker has ended
            return
