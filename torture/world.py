"""World: inputs, older results and undisturbed ones, made once, and the folders of tries."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from torture.jobs import AT, IN, INPUTS_MADE, TMP, Job, lay_ground, remove, write_inputs
from torture.judge import WHOLE, Expected, problems, state_of
from torture.processes import Fork, Outcome

_LATER = 120.0
# The first runs of a fresh clone compile.
_UNDISTURBED = 900.0


class Measured(NamedTuple):
    """How long a job takes by itself, and how many operations on files it does."""

    seconds: float
    operations: int


class World:
    """What all tries share.

    Parameters
    ----------
    folder : Path
        An empty folder.
    keeps : bool
        Whether the folders of tries that did not survive are kept.
    """

    def __init__(self, folder: Path, *, keeps: bool = False) -> None:
        self.keeps = keeps
        self.folder = folder.resolve()
        self.inputs = self.folder / IN
        self.measured: dict[str, Measured] = {}

    def prepare(self, jobs: tuple[Job, ...]) -> None:
        """Make the inputs, and run every job once undisturbed.

        Raises
        ------
        RuntimeError
            If one does not do what it should; then there is nothing to torture.
        """
        write_inputs(self.inputs)
        (self.folder / TMP).mkdir()
        for arguments in INPUTS_MADE:
            _succeed(Fork(arguments, self.folder).ended(_UNDISTURBED), " ".join(arguments))
        for job in jobs:
            if job.replaces:
                old = self._kept(job, "old")
                lay_ground(old, self.inputs, None)
                _succeed(
                    Fork(job.command(seed=2), old, stdin=job.stdin).ended(_UNDISTURBED), job.name
                )
            self._run_alone(job)

    def _run_alone(self, job: Job) -> None:
        """Run a job, keep what it leaves, and note how long it took."""
        kept, expected = self._kept(job, "reference"), self.expected(job)
        lay_ground(kept, self.inputs, expected.old)
        outcome = Fork(job.command(force=job.replaces), kept, stdin=job.stdin).ended(_UNDISTURBED)
        _succeed(outcome, job.name)
        found = problems(kept, job, expected, may_leave=False)
        states = [state_of(kept / AT, each, expected, may_leave=False) for each in job.targets]
        if found or set(states) != {WHOLE}:
            raise RuntimeError(f"{job.name}, undisturbed: {found or states}")
        self.measured[job.name] = Measured(outcome.seconds, outcome.operations)

    def _kept(self, job: Job, part: str) -> Path:
        return self.folder / f"{part}-{job.name.replace(' ', '_').replace('-', '_')}"

    def expected(self, job: Job) -> Expected:
        """Return with what the state after a try of a job is compared."""
        old = self._kept(job, "old") / AT if job.replaces else None
        return Expected(self.inputs, old, self._kept(job, "reference") / AT)

    @contextmanager
    def ground(self, job: Job, name: str) -> Iterator[Path]:
        """Give a folder for a try; it is removed at the end."""
        folder = self.folder / name
        lay_ground(folder, self.inputs, self.expected(job).old)
        try:
            yield folder
        finally:
            if folder.exists():
                remove(folder)

    def next_command(self, folder: Path, job: Job) -> list[str]:
        """Return the command of the next run: the same, by force if anything stands there."""
        names = [name for each in job.targets for name in each.names]
        stands = any((folder / AT / name).exists() for name in names)
        return job.command(force=job.replaces or stands)

    def age(self, folder: Path) -> None:
        """Let two minutes pass, as far as files show: before, an empty lock may be just made."""
        make_older(folder / AT, _LATER)
        make_older(folder / TMP, _LATER)

    def again(self, folder: Path, job: Job) -> list[str]:
        """Run a job to the same place once more, two minutes later; report what is wrong then."""
        self.age(folder)
        outcome = Fork(self.next_command(folder, job), folder, stdin=job.stdin).ended()
        if outcome.code != 0:
            return [f"the next run ended with {outcome.code}: {last_line(outcome.said)}"]
        return self.in_the_end(folder, job)

    def in_the_end(self, folder: Path, job: Job) -> list[str]:
        """List what is wrong where a job came to its end: all is whole, and holds."""
        expected = self.expected(job)
        found = problems(folder, job, expected, may_leave=False)
        for target in job.targets:
            state = state_of(folder / AT, target, expected, may_leave=False)
            if state != WHOLE:
                found.append(f"{target.name} in the end: {state}")
            elif target.kind in ("release", "drawn"):
                found += self._unverified(folder, target.name, target.kind == "release")
        return found

    def _unverified(self, folder: Path, name: str, has_twin: bool) -> list[str]:
        command = ["verify", f"{AT}/{name}"]
        command += ["--private", f"{AT}/{name}.private"] if has_twin else []
        outcome = Fork(command, folder).ended()
        return [] if outcome.code == 0 else [f"{name} does not verify: {last_line(outcome.said)}"]


def _succeed(outcome: Outcome, name: str) -> None:
    if outcome.code != 0:
        raise RuntimeError(f"{name}, undisturbed, ended with {outcome.code}: {outcome.said[-500:]}")


def make_older(folder: Path, seconds: float) -> None:
    """Let files and folders look as if they had been written earlier."""
    for path in folder.rglob("*"):
        at = path.lstat().st_mtime - seconds
        os.utime(path, (at, at), follow_symlinks=False)


def last_line(said: str) -> str:
    r"""Return the last line that a process said.

    Examples
    --------
    >>> last_line("Reading\nerror: no room\n")
    'error: no room'
    """
    lines = said.strip().splitlines()
    return lines[-1] if lines else "(nothing said)"


def now() -> str:
    """Return the time of the day."""
    return time.strftime("%H:%M:%S")
