"""Jobs: work that runs in processes of its own, while the pages stay quick."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from recveil.runtime.errors import RecveilError, reason_of
from recveil.runtime.progress import HowFar
from recveil.runtime.safe_repr import brief
from recveil.workbench.project import Job, Project

# Seconds after which a process that was asked to end is killed; what it had begun is settled by
# the next run.
_PATIENCE = 20.0


@brief
class Running:
    """A job that runs, and how far it is."""

    def __init__(self, job: Job, process: "subprocess.Popen[bytes] | None" = None) -> None:
        self.job, self.process = job, process
        self.far = HowFar(0.0, "", None)
        self.told: list[tuple[str, Any]] = []
        self.is_cancelled = False
        self.has_ended = threading.Event()

    def _facts(self) -> dict[str, object]:
        return {"task": self.job.task, "done": f"{self.far.fraction:.0%}"}


class Jobs:
    """All jobs of a project: at most one runs for each room."""

    def __init__(self, project: Project, *, has_spare: bool = False) -> None:
        self._project = project
        self._has_spare = has_spare
        self._spare = _open_worker() if has_spare else None
        self._running: dict[int, Running] = {}
        self._lock = threading.RLock()
        self._is_closed = False
        # How jobs ended that could not be noted in the project, as on a disk that is full.
        self._unnoted: dict[int, tuple[str, str]] = {}

    def start(
        self,
        room: str,
        task: str,
        settings: Mapping[str, Any],
        *,
        command: str = "",
        input: int | None = None,
        then: Callable[[Job], object] | None = None,
    ) -> Job:
        """Begin something; what still runs for the same room is cancelled, and ends first."""
        with self._lock:
            if self._is_closed:
                raise RecveilError(
                    "the workbench is being closed: nothing new is begun", code="workbench.closing"
                )
            self._note_the_rest()
            before = [each for each in self._running.values() if each.job.room == room]
            self.cancel_room(room)
            job = self._project.begin_job(room, task, dict(settings), command, input)
            running = Running(job)
            if not before:
                running.process = self._opened(job)
            self._running[job.id] = running
            threading.Thread(target=self._watch, args=(running, before, then), daemon=True).start()
        return job

    def running(self, number: int) -> Running | None:
        """Return a job that runs; None if it has ended."""
        with self._lock:
            return self._running.get(number)

    def running_in(self, room: str) -> Running | None:
        """Return the job that runs for a room; None if there is none."""
        with self._lock:
            found = [each for each in self._running.values() if each.job.room == room]
            return found[-1] if found else None

    def cancel(self, number: int) -> None:
        """Ask a job to end; it tidies up first."""
        with self._lock:
            running = self._running.get(number)
            if running is None or running.is_cancelled:
                return
            running.is_cancelled = True
        if running.process is None:  # it will not begin
            return
        _let_go(running.process.stdin)
        killer = threading.Timer(_PATIENCE, running.process.kill)
        killer.daemon = True
        killer.start()

    def cancel_room(self, room: str) -> None:
        """Ask what runs for a room to end."""
        with self._lock:
            for running in [each for each in self._running.values() if each.job.room == room]:
                self.cancel(running.job.id)

    def end_all_of(self, input: int) -> None:
        """Ask what runs for an input to end, and wait until it has."""
        while found := self._running_of(input):  # what was done last may have begun the next
            for running in found:
                self.cancel(running.job.id)
                running.has_ended.wait(2 * _PATIENCE)

    def end_room(self, room: str) -> None:
        """Ask what runs for a room to end, and wait until it has."""
        while (running := self.running_in(room)) is not None:
            self.cancel(running.job.id)
            running.has_ended.wait(2 * _PATIENCE)

    def _running_of(self, input: int) -> list[Running]:
        with self._lock:
            return [each for each in self._running.values() if each.job.input == input]

    def close(self) -> None:
        """Ask all jobs to end, and wait until they have tidied up."""
        with self._lock:
            self._is_closed = True
            left = list(self._running.values())
            if self._spare is not None:
                _let_go(self._spare.stdin)
                self._spare.wait(_PATIENCE)
                _let_go(self._spare.stdout)
        begun = [each.process for each in left if each.process is not None]
        for process in begun:
            _let_go(process.stdin)
        for running in left:
            if not running.has_ended.wait(_PATIENCE):
                for process in begun:
                    process.kill()
                running.has_ended.wait(_PATIENCE)

    def unnoted(self) -> dict[int, str]:
        """Return why jobs failed, or how else they ended, that could not be noted."""
        with self._lock:
            return {
                number: error
                or f"It is {state}, but that could not be noted in the project: its disk may be "
                f"full. Make room, and run it again."
                for number, (state, error) in self._unnoted.items()
            }

    def _opened(self, job: Job) -> "subprocess.Popen[bytes]":
        """Give a job its process, or note that there is none."""
        try:
            return self._open(job)
        except OSError as error:
            why = f"no process can work on it ({reason_of(error)}); make room, and run it again"
            self._note(job.id, "failed", why)
            raise RecveilError(f"{job.task}: {why}", code="workbench.process") from None

    def _note(self, number: int, state: str, error: str) -> bool:
        """Note how a job ended; keep it in mind where that cannot be written. Say whether it was.

        What ended is told in any case, and written when there is room again.
        """
        try:
            self._project.end_job(number, state, error)
        except RecveilError:
            with self._lock:
                self._unnoted[number] = state, error
            return False
        with self._lock:
            self._unnoted.pop(number, None)
        return True

    def _note_the_rest(self) -> None:
        for number, (state, error) in list(self._unnoted.items()):
            self._note(number, state, error)

    def _open(self, job: Job) -> "subprocess.Popen[bytes]":
        """Give a process its work: the one that waits, if there is one."""
        folder = self._project.job_folder(job.id)
        asked = {"task": job.task, "settings": job.settings, "folder": str(folder)}
        process, self._spare = self._spare or _open_worker(), None
        try:
            _ask(process, asked)
        except BrokenPipeError:  # whatever ended the one that waited
            process.wait()
            process = _open_worker()
            _ask(process, asked)
        if self._has_spare:
            self._spare = _open_worker()
        return process

    def _watch(
        self, running: Running, before: list[Running], then: Callable[[Job], object] | None
    ) -> None:
        """Hear what a worker tells until it ends, and note how it ended."""
        for each in before:  # so that many quick clicks are never many processes
            each.has_ended.wait()
        try:
            state, error = self._end_of(running)
            if state == "cancelled" and not running.is_cancelled:
                state = "stopped"
            is_noted = self._note(running.job.id, state, error)
            if state == "done" and is_noted and then is not None:
                with suppress(RecveilError):  # nothing new is begun while all is being closed
                    then(running.job)
        finally:
            with self._lock:
                del self._running[running.job.id]
            running.has_ended.set()

    def _end_of(self, running: Running) -> tuple[str, str]:
        """Wait for a job to end; return how it did, and why it failed."""
        with self._lock:
            if running.process is None and not (running.is_cancelled or self._is_closed):
                try:
                    running.process = self._open(running.job)
                except OSError as error:
                    why = reason_of(error)
                    return "failed", f"no process can work on it ({why}); make room; run it again"
        process = running.process
        if process is None:
            return "cancelled", ""
        ended = _hear(running, process)
        process.wait()
        _let_go(process.stdin)
        _let_go(process.stdout)
        if ended is None:
            return self._died(running, process.returncode)
        state, why = ended
        return state, why

    def _died(self, running: Running, code: int) -> tuple[str, str]:
        """Say how a worker ended that did not say it."""
        if running.is_cancelled or self._is_closed:
            return "cancelled", ""
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        return "failed", (
            f"the process that worked on it ended {how} and said nothing; if memory is short, "
            f"close other programs; run it again"
        )


def _hear(running: Running, process: "subprocess.Popen[bytes]") -> list[str] | None:
    """Note what a worker tells; return how it ended, if it says so."""
    ended: list[str] | None = None
    for line in process.stdout or ():
        try:
            told = json.loads(line)
        except ValueError:  # it was cut off in the middle of a line
            continue
        if "far" in told:
            running.far = HowFar(*told["far"])
        elif "ended" in told:
            ended = ended or told["ended"]
        else:
            running.told += told.items()
    return ended


def _open_worker() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        # -P: nothing that lies in the folder we were started in is taken for a library.
        [sys.executable, "-P", "-m", "recveil.workbench.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for us, and we let the worker end
    )


def _ask(process: "subprocess.Popen[bytes]", asked: Mapping[str, Any]) -> None:
    if process.stdin is not None:
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()


def _let_go(stream: IO[bytes] | None) -> None:
    """Close the stream that a worker holds on to."""
    if stream is not None:
        try:
            stream.close()
        except BrokenPipeError:  # it has ended meanwhile
            return
